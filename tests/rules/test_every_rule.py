"""Every rule of docs/rules.md has a test that carries its identifier, and every identifier in a test is a rule."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
RULES = TESTS.parent / "docs" / "rules.md"

_ROW = re.compile(r"^\| ([A-Z]+[0-9]+) \|", re.MULTILINE)
_MARK = re.compile(r"@pytest\.mark\.rule\(([^)]*)\)")


def _rules() -> list[str]:
    return _ROW.findall(RULES.read_text(encoding="utf-8"))


def _tested() -> set[str]:
    found: set[str] = set()
    for path in sorted((TESTS / "rules").glob("test_*.py")):
        for arguments in _MARK.findall(path.read_text(encoding="utf-8")):
            found.update(re.findall(r'"([^"]+)"', arguments))
    return found


def test_every_rule_has_a_test() -> None:
    assert [rule for rule in _rules() if rule not in _tested()] == []


def test_every_identifier_in_a_test_is_a_rule() -> None:
    assert sorted(_tested() - set(_rules())) == []


def test_identifiers_are_unique() -> None:
    rules = _rules()
    assert len(rules) > 70
    assert sorted(rules) == sorted(set(rules))

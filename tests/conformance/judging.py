"""What is made of the results of played cases: a verdict on each, and the score of an area.

A step that differs is a known gap with a reason in `known_gaps.json`, or a failure; a known gap that agrees is one too,
so that the list stays true, and so that the score can be told from the list alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.kubectl_player import load_commands
from tests.conformance.player import Result, load_cases

KNOWN_GAPS: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).parent / "known_gaps.json").read_text(encoding="utf-8")
)
NO_GAP: dict[str, Any] = {"steps": [], "reason": ""}

Case = Mapping[str, Any]


def all_cases() -> dict[str, dict[str, Any]]:
    """Requests and commands, by ids `area/name`."""
    return load_cases() | load_commands()


def countable(case: Case) -> int:
    """How many steps of a case are compared."""
    steps = [inner for step in case["steps"] for inner in (step, *step.get("during", ()))]
    return sum("expect" in step and not step.get("unchecked") for step in steps)


def judge(identity: str, case: Case, result: Result) -> None:
    """The result must be the one that docs/compatibility.md tells: nothing differs but the known gaps."""
    gap = KNOWN_GAPS.get(identity, NO_GAP)
    new = [line for step, lines in result.differing.items() if step not in gap["steps"] for line in lines]
    assert not new, "\n     ".join([f"{identity}: {len(new)} differences", *new[:12]])
    agreeing = [step for step in gap["steps"] if step not in result.differing]
    assert not agreeing, f"{identity}: steps {agreeing} agree by now: take them out of known_gaps.json"
    assert result.compared == countable(case), f"{identity}: steps were left out"
    if gap["steps"]:
        pytest.xfail(f"{len(gap['steps'])} of {result.compared} steps: {gap['reason']}")


@dataclass
class Score:
    """Of an area: cases in which nothing differs, of how many; steps likewise."""

    passed: int = 0
    cases: int = 0
    agreeing: int = 0
    steps: int = 0

    def __add__(self, other: Score) -> Score:
        added = (getattr(self, name) + getattr(other, name) for name in ("passed", "cases", "agreeing", "steps"))
        return Score(*added)

    def count(self, case: Case, differing: int) -> None:
        self.passed += not differing
        self.cases += 1
        self.agreeing += countable(case) - differing
        self.steps += countable(case)


def scores() -> dict[str, Score]:
    """By area, as the known gaps have it; `judge` holds every run to that."""
    found: dict[str, Score] = {}
    for identity, case in all_cases().items():
        area = identity.partition("/")[0]
        found.setdefault(area, Score()).count(case, len(KNOWN_GAPS.get(identity, NO_GAP)["steps"]))
    return found

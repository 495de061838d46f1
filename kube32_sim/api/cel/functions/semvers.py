"""`kubernetes.Semver`: versions by semver.org, as github.com/blang/semver reads them."""

from __future__ import annotations

import json
import re

from kube32_sim.api.cel.functions.declaring import SEMVER, Overload, Special, function, method

_DIGITS, _WORD = re.compile(r"[0-9]+"), re.compile(r"[0-9A-Za-z-]+")
_GREATEST = 2**64 - 1


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _number(text: str, part: str) -> int:
    if not _DIGITS.fullmatch(text):
        raise ValueError(f"Invalid character(s) found in {part} number {_quoted(text)}")
    if len(text) > 1 and text[0] == "0":
        raise ValueError(f"{part.capitalize()} number must not contain leading zeroes {_quoted(text)}")
    if int(text) > _GREATEST:
        raise ValueError(f"strconv.ParseUint: parsing {_quoted(text)}: value out of range")
    return int(text)


def _before(text: str) -> str:
    if not text:
        raise ValueError("Prerelease is empty")
    if _DIGITS.fullmatch(text):
        if len(text) > 1 and text[0] == "0":
            raise ValueError(f"Numeric PreRelease version must not contain leading zeroes {_quoted(text)}")
    elif not _WORD.fullmatch(text):
        raise ValueError(f"Invalid character(s) found in prerelease {_quoted(text)}")
    return text


def _check_build(text: str) -> None:
    if not text:
        raise ValueError("Build meta data is empty")
    if not _WORD.fullmatch(text):
        raise ValueError(f"Invalid character(s) found in build meta data {_quoted(text)}")


def _parse(text: str) -> Special:
    """The version without its build metadata, which equality and order leave out."""
    if not text:
        raise ValueError("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise ValueError("No Major.Minor.Patch elements found")
    major, minor = _number(parts[0], "major"), _number(parts[1], "minor")
    rest, plus, build = parts[2].partition("+")
    patch, dash, before = rest.partition("-")
    number = _number(patch, "patch")
    words = [_before(word) for word in before.split(".")] if dash else []
    for word in build.split(".") if plus else ():
        _check_build(word)
    return Special(SEMVER, f"{major}.{minor}.{number}" + ("-" + ".".join(words) if words else ""))


def _normal(text: str) -> str:
    """Without a leading `v` and leading zeros, and with all three numbers."""
    parts = text.removeprefix("v").split(".", 2)
    for index, part in enumerate(parts):
        if len(part) > 1:
            short = part.lstrip("0")
            parts[index] = short if short[:1].isdigit() else f"0{short}"
    if len(parts) < 3:
        if re.search(r"[+-]", parts[-1]):
            raise ValueError("short version cannot contain PreRelease/Build meta data")
        parts += ["0"] * (3 - len(parts))
    return ".".join(parts)


def _semver(text: str, normalize: bool = False) -> Special:
    return _parse(_normal(text) if normalize else text)


def _is_semver(text: str, normalize: bool = False) -> bool:
    try:
        _semver(text, normalize)
    except ValueError:
        return False
    return True


def _part(value: Special, index: int) -> int:
    return int(value.text.partition("-")[0].split(".")[index])


def _order(value: Special) -> tuple[tuple[int, ...], bool, list[tuple[bool, int, str]]]:
    """Sorts as versions do: one with a prerelease before the one without, numbers before words."""
    numbers, dash, before = value.text.partition("-")
    words = (
        [(False, int(word), "") if word.isdigit() else (True, 0, word) for word in before.split(".")] if dash else []
    )
    return tuple(map(int, numbers.split("."))), not dash, words


def _compare(left: Special, right: Special) -> int:
    return (_order(left) > _order(right)) - (_order(left) < _order(right))


_PAIR = (SEMVER, SEMVER)

OVERLOADS: list[Overload] = [
    function("semver", "string_to_semver", ("string",), SEMVER, _semver),
    function("semver", "string_bool_to_semver", ("string", "bool"), SEMVER, _semver),
    function("isSemver", "is_semver_string", ("string",), "bool", _is_semver),
    function("isSemver", "is_semver_string_bool", ("string", "bool"), "bool", _is_semver),
    method("isGreaterThan", "semver_is_greater_than", _PAIR, "bool", lambda a, b: _compare(a, b) > 0),
    method("isLessThan", "semver_is_less_than", _PAIR, "bool", lambda a, b: _compare(a, b) < 0),
    method("compareTo", "semver_compare_to", _PAIR, "int", _compare),
    method("major", "semver_major", (SEMVER,), "int", lambda a: _part(a, 0)),
    method("minor", "semver_minor", (SEMVER,), "int", lambda a: _part(a, 1)),
    method("patch", "semver_patch", (SEMVER,), "int", lambda a: _part(a, 2)),
]

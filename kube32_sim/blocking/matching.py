"""Whether an object holds what is expected of it, and where not: path, expected, actual.

Expected are only the fields that are named:

- a dict: each of its fields; others may be there.  `None`: the field is not there, or is null.  `...`: it is there.
- a list of dicts that all have a `name`, or all a `type`: each is looked for by that; others may be there.
- any other list: as long, and item by item.
- anything else: equal.  Booleans are no numbers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

_ABSENT = object()
KEYS = ("name", "type")
"""By which items of lists are known."""
MOST = 20
"""Differences that are told one by one."""
WIDTH = 300
"""Characters of a value that are shown."""


class Difference(NamedTuple):
    path: str
    expected: str
    actual: str


class Matching:
    """Equal to every object that holds what is expected: `assert kube32.get("pod/x") == matching({...})`."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, expected: Any) -> None:
        self.expected = expected

    def __eq__(self, actual: object) -> bool:
        return not any(differences(self.expected, actual))

    def __repr__(self) -> str:
        return f"matching({self.expected!r})"


def matching(expected: Any) -> Matching:
    """Compare with `==` by the rules of this module; pytest shows where an object differs."""
    return Matching(expected)


def differences(expected: Any, actual: Any, path: str = "") -> Iterator[Difference]:
    """Where the actual value does not hold what is expected, in the order of what is expected."""
    if expected is ...:
        if actual is _ABSENT or actual is None:
            yield Difference(path or ".", "anything", _shown(actual))
    elif expected is None:
        if actual is not _ABSENT and actual is not None:
            yield Difference(path or ".", "nothing", _shown(actual))
    elif isinstance(expected, Mapping) and isinstance(actual, Mapping):
        for name, value in expected.items():
            yield from differences(value, actual.get(name, _ABSENT), f"{path}{_step(name)}")
    elif _is_list(expected) and _is_list(actual):
        yield from _of_lists(expected, actual, path)
    elif isinstance(expected, Matching):
        yield from differences(expected.expected, actual, path)
    elif expected != actual or isinstance(expected, bool) != isinstance(actual, bool):
        yield Difference(path or ".", _shown(expected), _shown(actual))


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _of_lists(expected: Sequence[Any], actual: Sequence[Any], path: str) -> Iterator[Difference]:
    key = next(
        (key for key in KEYS if expected and all(isinstance(one, Mapping) and key in one for one in expected)), ""
    )
    if key:
        found = {one[key]: one for one in actual if isinstance(one, Mapping) and isinstance(one.get(key), str)}
        for item in expected:
            place = f"{path}[{key}={item[key]}]"
            if item[key] in found:
                yield from differences(item, found[item[key]], place)
            else:
                yield Difference(place, _shown(item), f"not there; there are: {', '.join(found) or 'none'}")
        return
    if len(expected) != len(actual):
        yield Difference(path or ".", f"{len(expected)} items: {_shown(expected)}", f"{len(actual)}: {_shown(actual)}")
        return
    for number, (one, other) in enumerate(zip(expected, actual, strict=True)):
        yield from differences(one, other, f"{path}[{number}]")


def _step(name: object) -> str:
    text = str(name)
    return f".{text}" if text.replace("-", "").replace("_", "").isalnum() else f"[{text!r}]"


def _shown(value: Any) -> str:
    if value is _ABSENT:
        return "not there"
    text = json.dumps(value, default=repr, ensure_ascii=False)
    return text if len(text) <= WIDTH else f"{text[:WIDTH]}... ({len(text)} characters)"


def told(found: Sequence[Difference]) -> list[str]:
    """Three lines for each difference."""
    lines = []
    for one in found[:MOST]:
        lines += [one.path, f"  expected: {one.expected}", f"  actual:   {one.actual}"]
    if len(found) > MOST:
        lines.append(f"and {len(found) - MOST} more differences")
    return lines

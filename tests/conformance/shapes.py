"""Comparing an answer with a recorded one, in which placeholders such as `<uid:1>` or `<time>` stand for shapes.

A number makes a placeholder a variable: the same `<rv:2>` is the same value wherever it occurs in a case.
"""

from __future__ import annotations

import fnmatch
import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
SHAPES = {
    "uid": UUID,
    "rv": r"[1-9][0-9]*",
    "time": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ",
    "microtime": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z",
    "age": r"(?:(?:\d+[smhdy]){1,2}|<invalid>)",
    "ip": r"(?:\d{1,3}\.){3}\d{1,3}",
    "port": r"3[0-2]\d{3}",
    "rand": r"[bcdfghjklmnpqrstvwxz2456789]{5}",
    "continue": r"[A-Za-z0-9_\-+/=]{8,}",
    "token": r"[A-Za-z0-9_\-]+\.[A-Za-z0-9_\-]+\.[A-Za-z0-9_\-]+",
    "any": r"[\s\S]*",
}
PLACEHOLDER = re.compile(r"<(" + "|".join(SHAPES) + r")(?::(\d+))?>")
DISTINCT = ("uid", "rv", "ip")
"""`<uid:1>` and `<uid:2>` must be different values."""

TIME_WINDOW = 36 * 3600
"""Seconds that a `<time>` may be away from now."""


class Bindings:
    """The values of the numbered placeholders of one case, as far as they are known."""

    def __init__(self) -> None:
        self.values: dict[tuple[str, str], str] = {}

    def bind(self, kind: str, number: str, value: str) -> bool:
        """Whether the placeholder can have this value; from then on it has."""
        known = self.values.get((kind, number))
        if known is not None:
            return known == value
        if kind in DISTINCT and any(key[0] == kind and other == value for key, other in self.values.items()):
            return False
        self.values[kind, number] = value
        return True


class Comparison:
    """Collects how one answer differs from the recorded one, as `path: expected X, got Y`."""

    def __init__(self, bindings: Bindings, unordered: Sequence[str] = ()) -> None:
        self.differences: list[str] = []
        self._bindings = bindings
        self._unordered = unordered

    def compare(self, expected: Any, got: Any, path: str = "") -> None:
        """The order of fields does not matter, that of lists does; null and absent are the same."""
        if isinstance(expected, dict) and isinstance(got, dict):
            self._compare_maps(without_nulls(expected), without_nulls(got), path)
        elif isinstance(expected, list) and isinstance(got, list):
            self._compare_lists(expected, got, path)
        elif isinstance(expected, str) and PLACEHOLDER.search(expected):
            if not self._has_shape(expected, got):
                self._differs(path or "/", show(expected) + self._known_values(expected), show(got))
        elif not same_scalar(expected, got):
            self._differs(path or "/", show(expected), show(got))

    def _differs(self, path: str, expected: str, got: str) -> None:
        self.differences.append(f"{path}: expected {expected}, got {got}")

    def _compare_maps(self, expected: dict[str, Any], got: dict[str, Any], path: str) -> None:
        unused = dict(got)
        for key in sorted(expected):
            actual = key if key in got else next((k for k in got if k not in expected and self._fits(key, k)), None)
            here = f"{path}/{key.replace('~', '~0').replace('/', '~1')}"
            if actual is None:
                self._differs(here, show(expected[key]), "nothing")
            else:
                self.compare(expected[key], unused.pop(actual), here)
        for key in sorted(unused):
            self._differs(f"{path}/{key}", "nothing", show(unused[key]))

    def _compare_lists(self, expected: list[Any], got: list[Any], path: str) -> None:
        in_any_order = path.endswith("/managedFields") or any(fnmatch.fnmatchcase(path, p) for p in self._unordered)
        if in_any_order and len(expected) == len(got):
            self._compare_bags(expected, got, path)
            return
        for index, (one, other) in enumerate(zip(expected, got, strict=False)):
            self.compare(one, other, f"{path}/{index}")
        for index in range(len(got), len(expected)):
            self._differs(f"{path}/{index}", show(expected[index]), "nothing")
        for index in range(len(expected), len(got)):
            self._differs(f"{path}/{index}", "nothing", show(got[index]))

    def _compare_bags(self, expected: list[Any], got: list[Any], path: str) -> None:
        rest = list(got)
        for index, item in enumerate(expected):
            found = next((number for number, other in enumerate(rest) if self._agrees(item, other)), None)
            if found is None:
                self._differs(f"{path}/{index}", f"(in any order) {show(item)}", show(rest))
            else:
                del rest[found]

    def _agrees(self, expected: Any, got: Any) -> bool:
        trial = Comparison(self._bindings, self._unordered)
        saved = dict(self._bindings.values)
        trial.compare(expected, got)
        if trial.differences:
            self._bindings.values = saved
        return not trial.differences

    def _has_shape(self, expected: str, got: Any) -> bool:
        whole = PLACEHOLDER.fullmatch(expected)
        if whole and whole[1] == "port" and isinstance(got, int) and not isinstance(got, bool):
            got = str(got)
        return isinstance(got, str) and self._fits(expected, got)

    def _fits(self, expected: str, got: str) -> bool:
        placeholders = list(PLACEHOLDER.finditer(expected))
        texts = re.split(PLACEHOLDER.pattern, expected)[::3]
        pattern = "".join(re.escape(text) + f"({SHAPES[p[1]]})" for text, p in zip(texts, placeholders, strict=False))
        found = re.fullmatch(pattern + re.escape(texts[-1]), got)
        return found is not None and all(
            (p[1] not in ("time", "microtime") or is_recent(value))
            and (p[2] is None or self._bindings.bind(p[1], p[2], value))
            for p, value in zip(placeholders, found.groups(), strict=True)
        )

    def _known_values(self, expected: str) -> str:
        known = [
            f"{p[0]} = {self._bindings.values[p[1], p[2]]}"
            for p in PLACEHOLDER.finditer(expected)
            if (p[1], p[2]) in self._bindings.values
        ]
        return f" ({', '.join(known)})" if known else ""


def without_nulls(value: dict[str, Any]) -> dict[str, Any]:
    return {key: item for key, item in value.items() if item is not None}


def same_scalar(expected: Any, got: Any) -> bool:
    """Equal and of one JSON type: 1 and 1.0 are, 1 and true are not."""
    if isinstance(expected, bool) or isinstance(got, bool) or not isinstance(expected, int | float):
        return type(expected) is type(got) and expected == got
    return isinstance(got, int | float) and expected == got


def show(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    return text if len(text) <= 300 else f"{text[:140]} ... {text[-140:]}"


def is_recent(stamp: str) -> bool:
    return abs((datetime.now(UTC) - datetime.fromisoformat(stamp)).total_seconds()) < TIME_WINDOW

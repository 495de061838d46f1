"""Sequences of operations whose results are known, and how results are compared: as JSON text with sorted keys.

`golden/cases` are small, `golden/bulk` replay large clusters.  A file holds `ops`, `expected` and an `id`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).parent / "golden"

Run = Callable[[list[Any]], list[Any]]


@dataclass(frozen=True)
class Case:
    operations: list[Any]
    expected: list[Any]


def names(kind: str) -> list[str]:
    return sorted(file.stem for file in (GOLDEN / kind).glob("*.json"))


def load(kind: str, name: str) -> Case:
    content = json.loads((GOLDEN / kind / f"{name}.json").read_text(encoding="utf-8"))
    return Case(content["ops"], content["expected"])


def as_text(result: Any) -> str:
    """True and 1 differ, 1 and 1.0 too; a tuple is a list; the order of keys does not matter."""
    return json.dumps(result, sort_keys=True)


def first_difference(operations: list[Any], results: list[Any], expected: list[Any]) -> str:
    """What to tell of the first operation whose result is not the expected one; nothing if there is none."""
    for number, operation in enumerate(operations):
        got, wanted = (as_text(some[number]) if number < len(some) else "nothing" for some in (results, expected))
        if got != wanted:
            return f"operation {number}, {json.dumps(operation)}:\n  answered {got}\n  expected {wanted}"
    return "" if len(results) == len(expected) else f"{len(results)} results instead of {len(expected)}"

"""`kubernetes.lists`: isSorted, sum, min, max, indexOf, lastIndexOf; and what comprehensions that make maps need."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from kube32_sim.api.cel.functions.declaring import Overload, function, method

_TIMESTAMP, _DURATION = "google.protobuf.Timestamp", "google.protobuf.Duration"
_SUMMABLE = (("int", "int"), ("uint", "uint"), ("double", "double"), ("duration", _DURATION))
_COMPARABLE = (*_SUMMABLE, ("bool", "bool"), ("timestamp", _TIMESTAMP), ("string", "string"), ("bytes", "bytes"))
NO_OVERLOAD = "no such overload"
_GREATEST_INT = 2**63 - 1


def _family(value: Any) -> str:
    """Values of the same family can be compared: all numbers are one."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "number"
    for kind in (str, datetime, timedelta):
        if isinstance(value, kind):
            return kind.__name__
    return "bytes" if isinstance(value, bytes | bytearray) else ""


def equal(left: Any, right: Any) -> bool:
    """As CEL compares: 1 is 1.0, but true is not 1."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(equal(item, right[key]) for key, item in left.items())
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(equal, left, right))
    return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)


def _check_comparable(values: Sequence[Any]) -> None:
    families = {_family(value) for value in values}
    if len(families) > 1 or "" in families:
        raise ValueError(NO_OVERLOAD)


def _is_sorted(values: list[Any]) -> bool:
    _check_comparable(values)
    return all(before <= after for before, after in pairwise(values))


def _sum(values: list[Any]) -> Any:
    _check_comparable(values)
    if values and _family(values[0]) not in ("number", "timedelta"):
        raise ValueError(NO_OVERLOAD)
    total = sum(values[1:], values[0]) if values else 0
    if isinstance(total, int) and abs(total) > _GREATEST_INT:
        raise ValueError("integer overflow")
    return total


def _least(values: list[Any]) -> Any:
    _check_comparable(values)
    if not values:
        raise ValueError("min called on empty list")
    return min(values)


def _greatest(values: list[Any]) -> Any:
    _check_comparable(values)
    if not values:
        raise ValueError("max called on empty list")
    return max(values)


def _index_of(values: list[Any], wanted: Any) -> int:
    return next((index for index, value in enumerate(values) if equal(value, wanted)), -1)


def _last_index_of(values: list[Any], wanted: Any) -> int:
    return next((index for index in range(len(values) - 1, -1, -1) if equal(values[index], wanted)), -1)


OVERLOADS: list[Overload] = [
    *(method("isSorted", f"list_{name}_is_sorted_bool", (f"list<{kind}>",), "bool", _is_sorted)
      for name, kind in _COMPARABLE),
    *(method("sum", f"list_{name}_sum_{name}", (f"list<{kind}>",), kind, _sum) for name, kind in _SUMMABLE),
    *(method("min", f"list_{name}_min_{name}", (f"list<{kind}>",), kind, _least) for name, kind in _COMPARABLE),
    *(method("max", f"list_{name}_max_{name}", (f"list<{kind}>",), kind, _greatest) for name, kind in _COMPARABLE),
    method("indexOf", "list_a_index_of_int", ("list<~A>", "~A"), "int", _index_of),
    method("lastIndexOf", "list_a_last_index_of_int", ("list<~A>", "~A"), "int", _last_index_of),
]  # fmt: skip

RUNNING_OVERLOADS = [
    function("cel.@mapInsert", f"map_insert_{key}", ("map<dyn, dyn>", key, "~A"), "dyn", lambda m, k, v: {**m, k: v})
    for key in ("string", "int", "uint", "bool")
]
"""What `transformMap` and `transformMapEntry` come to: the library declares it, but cannot run it."""
RUNNING_OVERLOADS.append(
    function("cel.@mapInsert", "map_insert_map", ("map<dyn, dyn>", "map<dyn, dyn>"), "dyn", lambda m, n: {**m, **n})
)

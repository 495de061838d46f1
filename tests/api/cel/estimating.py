"""Expressions over schemas, compiled and estimated: what the tests of costs have in common."""

from __future__ import annotations

from itertools import count
from typing import Any

from kube32_sim.api.cel.cost import estimate
from kube32_sim.api.cel.cost_range import Range
from kube32_sim.api.cel.cost_sizes import SizedType, sized_type
from kube32_sim.api.cel.environment import Environment
from kube32_sim.api.cel.tree import Tree, decode
from kube32_sim.api.cel.types import (
    AUTHORIZER,
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    CelType,
    list_of,
    map_of,
    object_type,
)

_SIMPLE = {
    "bool": BOOL,
    "int": INT,
    "double": DOUBLE,
    "string": STRING,
    "bytes": BYTES,
    "timestamp": TIMESTAMP,
    "duration": DURATION,
    "dyn": DYN,
}
_numbers = count()


def tree_of(expression: str, schema: dict[str, Any] | None = None) -> Tree:
    """The tree of an expression about `self`, which is as a schema says, or of any type."""
    kind = _cel_type(_sized(schema)) if schema else DYN
    environment = Environment({"self": kind, "oldSelf": kind, "authorizer": AUTHORIZER})
    return decode(environment.checked(expression).serialize())


def estimated(expression: str, schema: dict[str, Any] | None = None) -> Range:
    return estimate(tree_of(expression, schema), _sized(schema) if schema else None)


def _sized(schema: dict[str, Any]) -> SizedType:
    kind = sized_type(schema)
    assert kind is not None
    return kind


def _cel_type(kind: SizedType) -> CelType:
    if kind.kind in _SIMPLE:
        return _SIMPLE[kind.kind]
    if kind.element:
        return list_of(_cel_type(kind.element)) if kind.kind == "list" else map_of(_cel_type(kind.element))
    return object_type(f"Object{next(_numbers)}", {name: _cel_type(inner) for name, inner in kind.fields.items()})

"""How properties are tried, and what they are tried with: JSON documents, and objects of real kinds from their schemas.

The examples are the same every time, so that nobody's run fails by chance; `PROPERTY_EXAMPLES=20` tries twenty times as
many, and others every time.
"""

from __future__ import annotations

import os
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from kube32_sim.api import schema
from kube32_sim.api.patch.strategic import fields

JsonObject = dict[str, Any]

_MORE = int(os.environ.get("PROPERTY_EXAMPLES", "1"))


def trying(examples: int) -> settings:
    """As decorator of a property: how often it is tried."""
    return settings(
        max_examples=examples * _MORE,
        derandomize=_MORE == 1,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


# documents

names = st.sampled_from(["a", "b", "c", "d"])
leaves = st.sampled_from(["", "x", "y", 2, 3.5, True, False])
"""None equals another in Python, as 1 and true do."""

values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3), max_leaves=8
)
documents = st.dictionaries(names, values, max_size=4)
patches = st.recursive(
    st.dictionaries(names, leaves | st.none() | st.lists(leaves, max_size=2), max_size=3),
    lambda inner: st.dictionaries(names, inner | leaves | st.none(), max_size=3),
    max_leaves=6,
)


# objects of kinds

MOST_DEPTH = 7
_PLAIN: dict[str, st.SearchStrategy[Any]] = {
    "string": st.sampled_from(["", "x", "y", "z"]),
    "integer": st.integers(2, 5),
    "number": st.sampled_from([2.5, 3]),
    "boolean": st.booleans(),
}


@st.composite
def objects(draw: st.DrawFn, key: str, lists: bool = True) -> JsonObject:
    """Objects that fit a definition, lists and all: those that merge name no key twice."""
    return _struct(draw, key, lists, 0)


def _struct(draw: st.DrawFn, key: str, lists: bool, depth: int) -> JsonObject:
    described = schema.definition(key).get("properties", {})
    chosen = draw(st.lists(st.sampled_from(sorted(described)), max_size=3, unique=True)) if described else []
    made = {name: _value(draw, described[name], key, name, lists, depth + 1) for name in chosen}
    return {name: value for name, value in made.items() if value is not None}


def _value(draw: st.DrawFn, described: JsonObject, key: str, name: str, lists: bool, depth: int) -> Any:
    if depth > MOST_DEPTH:
        return None
    inner = schema.reference(described)
    if inner is not None:
        return (
            _struct(draw, inner, lists, depth) if "properties" in schema.definition(inner) else draw(_PLAIN["string"])
        )
    kind = schema.json_type(described)
    if kind == "array":
        return _list(draw, described, key, name, depth) if lists else None
    if kind == "object":
        item = described.get("additionalProperties")
        made = {each: _value(draw, item or {}, "", "", lists, depth + 1) for each in draw(st.sets(names))}
        return None if item is None or None in made.values() else made
    return draw(_PLAIN[kind or "string"])


def _list(draw: st.DrawFn, described: JsonObject, key: str, name: str, depth: int) -> list[Any] | None:
    meta = fields(key).get(name)
    count = draw(st.integers(0, 3))
    made = [_value(draw, described["items"], "", "", True, depth + 1) for _ in range(count)]
    if None in made:
        return None
    if meta is None or not meta.merge:
        return made
    if not meta.merge_key:
        return [item for at, item in enumerate(made) if item not in made[:at]]
    return [
        item | {meta.merge_key: f"k{at}"} for at, item in zip(draw(st.permutations(range(count))), made, strict=True)
    ]

"""Pruning, defaulting and validating by structural schemas: what holds for all schemas and all objects."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from kube32_sim.api.structural import StructuralSchema
from kube32_sim.api.structural.checking import Checker
from kube32_sim.api.structural.explaining import explain
from kube32_sim.api.structural.values import copied, same
from tests.properties.making import trying

JsonObject = dict[str, Any]

names = st.sampled_from(["a", "b", "c", "k"])
scalars = st.sampled_from(["", "a", "ab", "1.2.3.4", 0, 1, 2, 7, 1 << 31, 1 << 63, 0.5, 1.0, 2.5, 1e300, True, False])
anything = st.recursive(
    scalars | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=9,
)
maybe = st.booleans


def some(**parts: st.SearchStrategy[Any]) -> st.SearchStrategy[JsonObject]:
    """Schemas with any of these parts."""
    return st.fixed_dictionaries({}, optional={name.replace("__", "-"): part for name, part in parts.items()})


counts = st.integers(0, 2)
enums = st.lists(scalars, min_size=1, max_size=4)
texts = some(maxLength=counts, minLength=counts, pattern=st.sampled_from(["^a", "b$", "(?=x)"]), enum=enums)
formats = some(format=st.sampled_from(["ipv4", "int32", "int64", "float", "date-time", "none", "byte"]))
bounds = st.sampled_from([0, 1, 2, 1.0, 0.5, 2.5, 1 << 40])
numbers = some(
    minimum=bounds, maximum=bounds, multipleOf=st.sampled_from([1, 2, 0.5]), exclusiveMinimum=maybe(), enum=enums
)
fields = some(required=st.lists(names, max_size=2, unique=True), minProperties=counts, maxProperties=counts)
lengths = some(minItems=counts, maxItems=counts, uniqueItems=maybe())
plain = st.builds(lambda *parts: {key: value for part in parts for key, value in part.items()}, texts, numbers, fields)
values = st.recursive(
    plain,
    lambda inner: st.builds(
        lambda base, logic: {**base, **logic},
        plain,
        some(
            anyOf=st.lists(inner, min_size=1, max_size=2),
            oneOf=st.lists(inner, min_size=1, max_size=2),
            allOf=st.lists(inner, min_size=1, max_size=2),
            properties=st.dictionaries(names, inner, max_size=2),
        )
        | st.builds(lambda one: {"not": one}, inner),
    ),
    max_leaves=4,
)


def typed(kind: str, *parts: st.SearchStrategy[JsonObject]) -> st.SearchStrategy[JsonObject]:
    more = some(default=anything.filter(lambda value: value is not None), nullable=maybe())
    return st.builds(
        lambda *each: {"type": kind} | {key: value for part in each for key, value in part.items()}, more, *parts
    )


leaves = (
    typed("string", texts, formats)
    | typed("integer", numbers, formats)
    | typed("number", numbers, formats)
    | typed("boolean")
    | st.builds(lambda base: {"x-kubernetes-int-or-string": True, **base}, plain)
    | typed("object", some(x__kubernetes__preserve__unknown__fields=st.just(True)))
)


def _around(inner: st.SearchStrategy[JsonObject]) -> st.SearchStrategy[JsonObject]:
    as_map = st.just({"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]})
    lists: st.SearchStrategy[JsonObject] = st.just({}) | as_map | st.just({"x-kubernetes-list-type": "set"})
    return (
        typed("object", some(properties=st.dictionaries(names, inner, max_size=3)), fields, values)
        | typed("object", st.builds(lambda item: {"additionalProperties": item}, inner), fields)
        | typed("array", st.builds(lambda item: {"items": item}, inner), lengths, lists)
    )


schemas = st.recursive(leaves, _around, max_leaves=6)
roots = st.builds(lambda spec: {"type": "object", "properties": {"spec": spec}}, schemas)
objects = st.builds(lambda spec: {"metadata": {"name": "a"}, "spec": spec}, anything)


@trying(100)
@given(roots, objects)
def test_pruning_is_done_once_and_changes_nothing_it_was_given(schema: JsonObject, obj: JsonObject) -> None:
    compiled, before = StructuralSchema(schema), copied(obj)
    made, _ = compiled.prune(obj)
    assert same(obj, before)
    again, unknown = compiled.prune(made)
    assert same(again, made)
    assert unknown == []


@trying(100)
@given(roots, objects)
def test_what_is_pruned_and_defaulted_stays_as_it_is(schema: JsonObject, obj: JsonObject) -> None:
    compiled = StructuralSchema(schema)
    made, _ = compiled.prune(obj)
    compiled.default(made)
    stored = json.loads(json.dumps(made))
    compiled.default(made)
    assert same(made, stored)
    pruned, _ = compiled.prune(stored)
    compiled.default(pruned)
    twice = copied(pruned)
    compiled.default(twice)
    assert same(twice, pruned)


@trying(100)
@given(roots, objects)
def test_nothing_is_shared_with_the_schema_or_the_object(schema: JsonObject, obj: JsonObject) -> None:
    compiled, before = StructuralSchema(schema), copied(schema)
    made, _ = compiled.prune(obj)
    compiled.default(made)
    _spoil(made["spec"]) if "spec" in made else None
    assert same(schema, before)
    fresh, _ = StructuralSchema(before).prune(obj)
    again, _ = compiled.prune(obj)
    assert same(fresh, again)


def _spoil(value: Any) -> None:
    """Changes every map and list in a value."""
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _spoil(item)
    if isinstance(value, dict):
        value["spoiled"] = True
    elif isinstance(value, list):
        value.append("spoiled")


@trying(250)
@given(schemas, anything)
def test_the_quick_check_refuses_what_can_be_explained(schema: JsonObject, value: Any) -> None:
    assert Checker(schema).valid(value) == (not explain(schema, value).faults)


@trying(100)
@given(roots, objects)
def test_an_object_that_did_not_change_is_valid(schema: JsonObject, obj: JsonObject) -> None:
    """As far as its fields have schemas, and its items keys: others count as changed."""
    assume(not any(kind in json.dumps(schema) for kind in ("preserve-unknown-fields", "list-map-keys")))
    compiled = StructuralSchema(schema)
    made, _ = compiled.prune(obj)
    assert compiled.validate(made, copied(made)) == []

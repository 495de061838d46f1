"""What is left of an object that a schema does not know all of, and what comes into it."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from kube32_sim.api.decode import DecodeError
from kube32_sim.api.structural import StructuralSchema

JsonObject = dict[str, Any]

STRING = {"type": "string"}
KEEPING = "x-kubernetes-preserve-unknown-fields"
EMBEDDED = {"type": "object", "x-kubernetes-embedded-resource": True}


def pruned(spec: JsonObject, value: Any) -> tuple[Any, list[str]]:
    """The `spec` that is left, by its schema."""
    made, unknown = StructuralSchema({"type": "object", "properties": {"spec": spec}}).prune({"spec": value})
    return made.get("spec"), unknown


PRUNED: list[tuple[JsonObject, Any, Any, list[str]]] = [
    ({"type": "object", "properties": {"a": STRING}}, {"a": "x", "b": 1}, {"a": "x"}, ["spec.b"]),
    ({"type": "object", "properties": {"a": STRING}}, {"a": {"b": 1}}, {"a": {}}, ["spec.a.b"]),
    (
        {"type": "array", "items": {"type": "object", "properties": {"a": STRING}}},
        [{"a": "x"}, {"b": [1]}, 5],
        [{"a": "x"}, {}, 5],
        ["spec[1].b"],
    ),
    ({"type": "object"}, {"b": 1, "a": 1}, {}, ["spec.a", "spec.b"]),
    ({"type": "object", KEEPING: True}, {"a": [{"b": None}]}, {"a": [{"b": None}]}, []),
    (
        {"type": "object", KEEPING: True, "properties": {"a": {"type": "object"}}},
        {"a": {"b": 1}, "c": {"d": 1}},
        {"a": {}, "c": {"d": 1}},
        ["spec.a.b"],
    ),
    (
        {"type": "object", "additionalProperties": {"type": "object", "properties": {"a": STRING}}},
        {"x": {"a": "s", "b": 1}, "": {"b": 1}},
        {"x": {"a": "s"}, "": {}},
        ["spec..b", "spec.x.b"],
    ),
    ({"type": "object", "additionalProperties": True}, {"x": {"a": 1}, "y": 5}, {"x": {}, "y": 5}, ["spec.x.a"]),
    ({"type": "object", "properties": {"a": STRING}}, {"a": None}, {}, []),
    ({"type": "object", "properties": {"a": {**STRING, "nullable": True}}}, {"a": None}, {"a": None}, []),
    ({"type": "object", "properties": {"a": {**STRING, "default": "x"}}}, {"a": None}, {"a": None}, []),
    ({"type": "object", "additionalProperties": STRING}, {"a": None, "b": "x"}, {"b": "x"}, []),
    ({"type": "array", "items": STRING}, [None], [None], []),
    (
        {**EMBEDDED, "properties": {"spec": STRING}},
        {"kind": "K", "apiVersion": "v1", "metadata": {"name": "a", "odd": 1}, "spec": "s", "more": 1},
        {"kind": "K", "apiVersion": "v1", "metadata": {"name": "a"}, "spec": "s"},
        ["spec.more", "spec.metadata.odd"],
    ),
    (
        {**EMBEDDED, KEEPING: True},
        {"kind": "K", "apiVersion": "v1", "metadata": {"creationTimestamp": None}, "data": {"a": 1}},
        {"kind": "K", "apiVersion": "v1", "metadata": {}, "data": {"a": 1}},
        [],
    ),
]


@pytest.mark.parametrize(("schema", "value", "left", "unknown"), PRUNED)
def test_what_is_left(schema: JsonObject, value: Any, left: Any, unknown: list[str]) -> None:
    assert pruned(schema, value) == (left, unknown)


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ({"kind": 1}, "spec.kind: Invalid value: 1: must be a string"),
        (
            {"metadata": {"name": 1}},
            'spec.metadata: Invalid value: {"name":1}: json: cannot unmarshal number into Go struct field'
            " ObjectMeta.name of type string",
        ),
    ],
)
def test_an_embedded_resource_that_cannot_be_decoded(value: JsonObject, why: str) -> None:
    with pytest.raises(DecodeError) as refused:
        pruned({**EMBEDDED, KEEPING: True}, value)
    assert str(refused.value) == why


def test_an_embedded_resource_that_was_stored_before_loses_what_cannot_be_decoded() -> None:
    schema = StructuralSchema({"type": "object", "properties": {"a": {**EMBEDDED, KEEPING: True}, "b": EMBEDDED}})
    bad = {"kind": 1, "apiVersion": "v1", "metadata": {"name": 1, "labels": {"a": "b"}}}
    made, unknown = schema.prune({"metadata": {}, "a": bad, "b": {"metadata": "x"}}, stored=True)
    assert made == {"metadata": {}, "a": {"apiVersion": "v1", "metadata": {"labels": {"a": "b"}}}, "b": {}}
    assert unknown == []


def test_metadata_stays_as_it_is_and_what_is_preserved_is_a_copy() -> None:
    obj: JsonObject = {"metadata": {"name": "a"}, "spec": {"a": [1]}, "other": {"b": 1}}
    made, unknown = StructuralSchema({"type": "object"}).prune(obj, preserve=True)
    assert made == obj
    assert unknown == []
    assert made["metadata"] is obj["metadata"]
    assert made["spec"]["a"] is not obj["spec"]["a"]
    made, unknown = StructuralSchema({"type": "object"}).prune(obj)
    assert made == {"metadata": {"name": "a"}}
    assert unknown == ["other", "spec"]


def test_an_object_that_is_too_deep_is_refused() -> None:
    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]
    with pytest.raises(DecodeError):
        pruned({"type": "object", KEEPING: True}, {"a": deep})


def defaulted(schema: JsonObject, value: Any) -> Any:
    obj = {"spec": value}
    StructuralSchema({"type": "object", "properties": {"spec": schema}}).default(obj)
    return obj["spec"]


DEFAULTED: list[tuple[JsonObject, Any, Any]] = [
    ({"properties": {"a": {**STRING, "default": "x"}}}, {}, {"a": "x"}),
    ({"properties": {"a": {**STRING, "default": "x"}}}, {"a": "y"}, {"a": "y"}),
    ({"properties": {"a": {**STRING, "default": "x"}}}, {"a": None}, {"a": "x"}),
    ({"properties": {"a": {**STRING, "default": "x", "nullable": True}}}, {"a": None}, {"a": None}),
    ({"properties": {"a": STRING, "b": {**STRING, "nullable": True}}}, {"a": None, "b": None}, {"b": None}),
    ({"properties": {"a": {"default": {}, "properties": {"b": {"default": 1}}}}}, {}, {"a": {"b": 1}}),
    ({"properties": {"a": {"properties": {"b": {"default": 1}}}}}, {}, {}),
    ({"items": {"properties": {"a": {"default": 1}}}}, [{}, {"a": 2}, 5], [{"a": 1}, {"a": 2}, 5]),
    ({"items": {**STRING, "default": "x"}}, [None, "y"], ["x", "y"]),
    ({"additionalProperties": {"properties": {"a": {"default": [1]}}}}, {"x": {}}, {"x": {"a": [1]}}),
    ({"additionalProperties": {**STRING, "default": "x"}}, {"x": None}, {"x": "x"}),
    ({"properties": {"a": {"default": 0}}}, {}, {"a": 0}),
]


@pytest.mark.parametrize(("schema", "value", "made"), DEFAULTED)
def test_what_comes_in(schema: JsonObject, value: Any, made: Any) -> None:
    assert defaulted(schema, value) == made


def test_a_default_in_metadata_does_not_change_the_metadata_that_others_hold() -> None:
    metadata = {"properties": {"name": {**STRING, "default": "x"}}}
    held: JsonObject = {}
    obj = {"metadata": held}
    StructuralSchema({"type": "object", "properties": {"metadata": metadata}}).default(obj)
    assert obj == {"metadata": {"name": "x"}}
    assert held == {}


def test_whether_a_schema_has_defaults() -> None:
    assert not StructuralSchema({"type": "object", "properties": {"a": STRING}}).has_defaults
    assert StructuralSchema({"type": "object", "properties": {"a": {"items": {"default": 1}}}}).has_defaults
    StructuralSchema({}).default({"metadata": {}})


@pytest.mark.parametrize(
    ("schema", "value", "text"),
    [
        ({"type": "integer"}, 1.0, "1"),
        ({"type": "number"}, -2.0, "-2"),
        ({"type": "number"}, 2.5, "2.5"),
        ({"x-kubernetes-int-or-string": True}, 1.0, "1"),
        ({"type": "integer"}, 1e18, "1e+18"),
        (STRING, 1.0, "1.0"),
        ({"type": "array", "items": {"type": "number"}}, [1.0, 1.5], "[1,1.5]"),
        ({"type": "array", "items": STRING}, [1.0], "[1.0]"),
        ({"type": "object", KEEPING: True}, {"a": [{"b": 1.0}], "c": 2.0}, '{"a":[{"b":1}],"c":2}'),
    ],
)
def test_numbers_have_no_fraction_that_says_nothing(schema: JsonObject, value: Any, text: str) -> None:
    """What Go has read it writes without: its clients refuse `1.0` for an integer."""
    assert orjson.dumps(pruned(schema, value)[0]).decode() == text

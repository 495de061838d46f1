"""Lists without repetitions, resources within resources, and what of an object is managed by itself."""

from __future__ import annotations

from typing import Any

import pytest

from kube32_sim.api.managed import shapes
from kube32_sim.api.structural import StructuralSchema

JsonObject = dict[str, Any]

STRING = {"type": "string"}
SET = {"type": "array", "items": STRING, "x-kubernetes-list-type": "set"}
KEEPING = {"x-kubernetes-preserve-unknown-fields": True}
EMBEDDED = {"type": "object", "x-kubernetes-embedded-resource": True}


def keyed(*keys: str) -> JsonObject:
    items = {"type": "object", "properties": {key: {} for key in keys}}
    kind = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys)}
    return {"type": "array", "items": items, **kind}


def texts(schema: JsonObject, value: Any) -> list[str]:
    found = StructuralSchema({"type": "object", "properties": {"spec": schema}}).validate({"spec": value})
    return [str(fault) for fault in found]


LISTS: list[tuple[JsonObject, Any, list[str]]] = [
    (SET, ["a", "b", "a", "a", "b"], ['spec[2]: Duplicate value: "a"', 'spec[4]: Duplicate value: "b"']),
    ({**SET, "items": {}}, [1, 1.0, True, "1"], []),
    ({**SET, "items": KEEPING}, [{"b": 1, "a": 2}, {"a": 2, "b": 1}], ['spec[1]: Duplicate value: {"a":2,"b":1}']),
    (keyed("k"), [{"k": "a"}, {"k": "b"}], []),
    (keyed("k"), [{"k": "a", "v": 1}, {"k": "a"}], ['spec[1]: Duplicate value: {"k":"a"}']),
    (keyed("k"), [{}, {"v": 1}], ["spec[1]: Duplicate value: {}"]),
    (keyed("p", "k"), [{"k": 1, "p": 2}, {"k": 1, "p": 2}], ['spec[1]: Duplicate value: {"k":1,"p":2}']),
    (
        {**keyed("k"), "items": KEEPING},
        ["a"],
        ['spec[0]: Invalid value: "a": must be an object for an array of list-type map'],
    ),
    (
        {"type": "object", "additionalProperties": SET},
        {"x": ["a", "a"]},
        ['spec[x][1]: Duplicate value: "a"'],
    ),
    ({"type": "array", "items": SET}, [["a"], ["b", "b"]], ['spec[1][1]: Duplicate value: "b"']),
]


@pytest.mark.parametrize(("schema", "value", "expected"), LISTS)
def test_a_list_with_repetitions(schema: JsonObject, value: Any, expected: list[str]) -> None:
    assert texts(schema, value) == expected


RESOURCES: list[tuple[JsonObject, list[str]]] = [
    ({"apiVersion": "v1", "kind": "Pod"}, []),
    ({"apiVersion": "apps/v1", "kind": "My-kind", "metadata": {"name": "a.b", "generateName": "x"}}, []),
    ({}, ["spec.apiVersion: Required value", "spec.kind: Required value"]),
    ({"apiVersion": "", "kind": ""}, ["spec.apiVersion: Required value", "spec.kind: Required value"]),
    (
        {"apiVersion": "a/b/c", "kind": "K"},
        ['spec.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c'],
    ),
    (
        {"apiVersion": "v1", "kind": "1K"},
        [
            'spec.kind: Invalid value: "1K": may have mixed case, but should otherwise match: a DNS-1035 label must '
            "consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an "
            "alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
            "'[a-z]([-a-z0-9]*[a-z0-9])?')"
        ],
    ),
    (
        {"apiVersion": "v1", "kind": "K", "metadata": {"name": "a/b"}},
        ["spec.metadata.name: Invalid value: \"a/b\": may not contain '/'"],
    ),
]


@pytest.mark.parametrize(("value", "expected"), RESOURCES)
def test_an_embedded_resource(value: JsonObject, expected: list[str]) -> None:
    assert texts({**EMBEDDED, **KEEPING}, value) == expected


def test_shapes_follow_list_types_and_map_types() -> None:
    atomic = {"type": "object", "additionalProperties": STRING, "x-kubernetes-map-type": "atomic"}
    spec = {
        "type": "object",
        "properties": {"set": SET, "map": keyed("k"), "list": {"type": "array", "items": STRING}, "atomic": atomic}
        | {"port": {"x-kubernetes-int-or-string": True}, "open": {"type": "object", **KEEPING}},
    }
    shape = StructuralSchema({"type": "object", "properties": {"spec": spec}}).shape()
    inner = shape.child("spec")
    assert inner is not None
    assert inner.kind == shapes.MAP
    assert inner.child("other") is None
    kinds = {name: child.kind for name, (_, child) in inner.fields.items()}
    assert kinds == {
        "set": shapes.SET,
        "map": shapes.KEYED,
        "list": shapes.LEAF,
        "atomic": shapes.LEAF,
        "port": shapes.LEAF,
        "open": shapes.MAP,
    }
    assert shape.child("other") is None
    assert shape.child("apiVersion") is not None
    typed, known = shape.child("metadata"), shapes.custom_shape().child("metadata")
    assert typed is known


def test_shapes_of_what_nobody_knows_and_of_embedded_resources() -> None:
    assert StructuralSchema({}).shape() is shapes.custom_shape()
    keeping = StructuralSchema({"type": "object", **KEEPING}).shape()
    assert keeping.child("anything") is shapes.FREE_SHAPE
    schema = {"type": "object", "properties": {"list": {"type": "array", "items": {**EMBEDDED, **KEEPING}}}}
    lists = StructuralSchema(schema).shape().child("list")
    assert lists is not None
    assert lists.item is not None
    assert lists.item.child("metadata") is shapes.custom_shape().child("metadata")
    assert lists.item.child("spec") is shapes.FREE_SHAPE

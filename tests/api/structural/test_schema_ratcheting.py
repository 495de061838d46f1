"""What did not change is not held against an update; what cannot be told apart from what was there before is."""

from __future__ import annotations

from typing import Any

import pytest

from kube32_sim.api.structural import StructuralSchema

JsonObject = dict[str, Any]

SHORT = {"type": "string", "maxLength": 2}
ITEM = {"type": "object", "properties": {"k": {"type": "string"}, "v": SHORT}, "required": ["v"]}
AS_MAP = {
    "type": "array",
    "items": ITEM,
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["k"],
}
AS_SET = {"type": "array", "items": SHORT, "x-kubernetes-list-type": "set"}
PLAIN = {"type": "array", "items": SHORT}


def faults(schema: JsonObject, new: Any, old: Any) -> list[str]:
    root = {"type": "object", "properties": {"spec": schema}}
    compiled = StructuralSchema(root)
    found = compiled.validate({"metadata": {"generation": 2}, "spec": new}, {"metadata": {}, "spec": old})
    return [fault.field for fault in found]


OBJECT = {"type": "object", "properties": {"a": SHORT, "b": SHORT}, "required": ["b"]}
CASES: list[tuple[JsonObject, Any, Any, list[str]]] = [
    (SHORT, "abc", "abc", []),
    (SHORT, "abc", "abd", ["spec"]),
    (OBJECT, {"a": "abc", "b": "x"}, {"a": "abc", "b": "y"}, []),
    (OBJECT, {"a": "abc"}, {"a": "abc"}, []),
    (OBJECT, {"a": "abc"}, {"a": "abd"}, ["spec.a", "spec.b"]),
    (OBJECT, {"a": "ab"}, {"a": "abc"}, ["spec.b"]),
    (OBJECT, {"a": "abc", "b": "x"}, {"b": "x"}, ["spec.a"]),
    (OBJECT, {"a": "x", "unknown": 1}, {"a": "x", "unknown": 1}, ["spec.b"]),
    ({"type": "object", "additionalProperties": SHORT}, {"x": "abc", "y": "abc"}, {"x": "abc"}, ["spec.y"]),
    (PLAIN, ["abc"], ["abc"], []),
    (PLAIN, ["abc", "x"], ["abc"], ["spec[0]"]),
    (AS_SET, ["abc", "x"], ["abc"], ["spec[0]"]),
    (AS_MAP, [{"k": "1", "v": "x"}, {"k": "2", "v": "abc"}], [{"k": "2", "v": "abc"}], []),
    (AS_MAP, [{"k": "2", "v": "abc"}], [{"k": "2", "v": "abd"}], ["spec[0].v"]),
    (AS_MAP, [{"k": "3", "v": "abc"}], [{"k": "2", "v": "abc"}], ["spec[0].v"]),
    (AS_MAP, [{"k": "1"}, {"k": "2", "v": "x"}], [{"k": "2", "v": "y"}, {"k": "1"}], []),
    (AS_MAP, [{"v": "abc"}, {"k": "1", "v": "x"}], [{"v": "abc"}], ["spec[0].v"]),
    ({**AS_MAP, "maxItems": 1}, [{"k": "1", "v": "x"}, {"k": "2", "v": "x"}], [{"k": "2", "v": "x"}], ["spec"]),
    (
        {**AS_MAP, "maxItems": 1},
        [{"k": "1", "v": "x"}, {"k": "2", "v": "x"}],
        [{"k": "2", "v": "x"}, {"k": "1", "v": "x"}],
        [],
    ),
    (
        {"type": "object", "properties": {"c": {"type": "integer"}}, "allOf": [{"properties": {"a": SHORT}}]}
        | {"properties": {"a": {"type": "string"}, "c": {"type": "integer"}}},
        {"a": "abc", "c": 1},
        {"a": "abc", "c": 2},
        ["spec.a", "<nil>"],
    ),
]


@pytest.mark.parametrize(("schema", "new", "old", "expected"), CASES)
def test_an_update(schema: JsonObject, new: Any, old: Any, expected: list[str]) -> None:
    assert faults(schema, new, old) == expected


def test_what_is_missing_at_the_root_is_never_pardoned() -> None:
    schema = StructuralSchema({"type": "object", "required": ["spec"], "properties": {"spec": {"type": "object"}}})
    assert [fault.field for fault in schema.validate({"metadata": {}}, {"metadata": {}})] == ["spec"]


def test_repetitions_are_pardoned_where_the_old_object_has_any() -> None:
    assert faults(AS_SET, ["a", "b", "b"], ["a", "a"]) == []
    assert faults(AS_SET, ["a", "b", "b"], ["a"]) == ["spec[2]"]

"""Defaults that a schema may not have."""

from __future__ import annotations

from typing import Any

import pytest

from kube32_sim.api.structural.defaults import default_faults

JsonObject = dict[str, Any]

STRING = {"type": "string"}
EMBEDDED = {"type": "object", "x-kubernetes-embedded-resource": True}
KEEPING = {"x-kubernetes-preserve-unknown-fields": True}


def spec(schema: JsonObject) -> JsonObject:
    return {"type": "object", "properties": {"spec": schema}}


def named(default: Any) -> JsonObject:
    return {"metadata": {"type": "object", "properties": {"name": {**STRING, "default": default}}}}


CASES: list[tuple[JsonObject, list[str]]] = [
    (spec({**STRING, "default": "a"}), []),
    (
        spec({"type": "integer", "default": "a"}),
        ['s.properties[spec].default: Invalid value: "string":  in body must be of type integer'],
    ),
    (
        spec({"type": "object", "default": {"a": 1}}),
        ['s.properties[spec].default: Invalid value: {"a":1}: must not have unknown fields'],
    ),
    (
        spec({"type": "object", "properties": {"a": {"type": "integer", "maximum": 1}}, "default": {"a": 2}}),
        ["s.properties[spec].default.a: Invalid value: 2: a in body should be less than or equal to 1"],
    ),
    (
        spec({"type": "array", "items": {"type": "object", "properties": {"b": {**STRING, "default": 5}}}}),
        ['s.properties[spec].items.properties[b].default: Invalid value: "integer":  in body must be of type string'],
    ),
    (spec({"type": "object", "additionalProperties": {**STRING, "default": 5}}), []),
    (
        spec({**EMBEDDED, **KEEPING, "default": {"kind": "K"}}),
        ["s.properties[spec].default.apiVersion: Required value"],
    ),
    (
        spec({**EMBEDDED, **KEEPING, "default": {"kind": 5}}),
        ["s.properties[spec].default.kind: Invalid value: 5: must be a string"],
    ),
    (spec({**EMBEDDED, **KEEPING, "properties": named("good")}), []),
    (
        spec({**EMBEDDED, **KEEPING, "properties": named("a/b")}),
        [
            's.properties[spec].properties[metadata].properties[name].default: Invalid value: "a/b": must result in '
            "valid metadata: metadata.name: Invalid value: \"a/b\": may not contain '/'"
        ],
    ),
    (
        {"type": "object", "properties": named(5)},
        [
            "s.properties[metadata].properties[name].default: Invalid value: 5: must result in valid metadata: "
            'metadata: Invalid value: {"name":5}: json: cannot unmarshal number'
        ],
    ),
]


@pytest.mark.parametrize(("schema", "expected"), CASES)
def test_the_defaults_of_a_schema(schema: JsonObject, expected: list[str]) -> None:
    found = [str(fault) for fault in default_faults(schema, "s")]
    assert len(found) == len(expected)
    for text, start in zip(found, expected, strict=True):
        assert text.startswith(start)

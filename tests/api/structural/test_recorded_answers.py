"""Answers of a Kubernetes 1.36 API server to custom resources, given by the schema alone."""

from __future__ import annotations

from typing import Any

import pytest

from kube32_sim.api.structural import StructuralSchema

JsonObject = dict[str, Any]
Cause = tuple[str, str, str]

WIDGET = StructuralSchema(
    {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "required": ["size"],
                "properties": {
                    "size": {"type": "integer", "minimum": 1, "maximum": 10},
                    "color": {"type": "string", "default": "red", "enum": ["red", "blue", "green"]},
                    "tags": {"type": "array", "items": {"type": "string", "maxLength": 5}},
                    "name": {"type": "string", "pattern": "^[a-z]+$"},
                    "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                    "port": {"x-kubernetes-int-or-string": True},
                },
            },
            "status": {"type": "object", "properties": {"ready": {"type": "integer"}, "phase": {"type": "string"}}},
        },
    }
)

INVALID, TYPE = "FieldValueInvalid", "FieldValueTypeInvalid"
REFUSED: list[tuple[JsonObject, list[Cause]]] = [
    ({}, [("spec.size", "Required value", "FieldValueRequired")]),
    ({"size": None}, [("spec.size", "Required value", "FieldValueRequired")]),
    (
        {"size": 0},
        [("spec.size", "Invalid value: 0: spec.size in body should be greater than or equal to 1", INVALID)],
    ),
    ({"size": 11}, [("spec.size", "Invalid value: 11: spec.size in body should be less than or equal to 10", INVALID)]),
    (
        {"size": "3"},
        [("spec.size", 'Invalid value: "string": spec.size in body must be of type integer: "string"', TYPE)],
    ),
    (
        {"size": 3.5},
        [
            ("spec.size", 'Invalid value: "number": spec.size in body must be of type integer: "number"', TYPE),
            (
                "<nil>",
                'Invalid value: "": Checked value must be of type integer (default format) in spec.size',
                INVALID,
            ),
        ],
    ),
    (
        {"size": 3, "color": "pink"},
        [
            (
                "spec.color",
                'Unsupported value: "pink": supported values: "red", "blue", "green"',
                "FieldValueNotSupported",
            )
        ],
    ),
    (
        {"size": 3, "tags": ["toolong"]},
        [("spec.tags[0]", "Too long: may not be more than 5 bytes", "FieldValueTooLong")],
    ),
    (
        {"size": 3, "tags": "x"},
        [("spec.tags", 'Invalid value: "string": spec.tags in body must be of type array: "string"', TYPE)],
    ),
    (
        {"size": 3, "name": "ABC"},
        [("spec.name", "Invalid value: \"ABC\": spec.name in body should match '^[a-z]+$'", INVALID)],
    ),
    (
        {"size": 3, "port": True},
        [("spec.port", 'Invalid value: "boolean": spec.port in body must be of type integer,string: "boolean"', TYPE)],
    ),
]
STORED: list[tuple[JsonObject, JsonObject, list[str]]] = [
    ({"size": 3, "unknown": 1}, {"color": "red", "size": 3}, ["spec.unknown"]),
    ({"size": 3, "open": {"any": {"thing": [1]}}}, {"color": "red", "open": {"any": {"thing": [1]}}, "size": 3}, []),
    ({"size": 3, "port": "http"}, {"color": "red", "port": "http", "size": 3}, []),
]


@pytest.mark.parametrize(("spec", "causes"), REFUSED)
def test_what_is_refused(spec: JsonObject, causes: list[Cause]) -> None:
    made, _ = WIDGET.prune({"metadata": {"name": "a"}, "spec": spec})
    WIDGET.default(made)
    assert [(fault.field, fault.message, fault.reason) for fault in WIDGET.validate(made)] == causes


@pytest.mark.parametrize(("spec", "stored", "unknown"), STORED)
def test_what_is_stored(spec: JsonObject, stored: JsonObject, unknown: list[str]) -> None:
    made, dropped = WIDGET.prune({"metadata": {"name": "a"}, "spec": spec})
    WIDGET.default(made)
    assert WIDGET.validate(made) == []
    assert (made["spec"], dropped) == (stored, unknown)


def test_no_spec_gets_no_defaults() -> None:
    made, dropped = WIDGET.prune({"metadata": {"name": "a"}, "zzz": 1})
    WIDGET.default(made)
    assert (made, dropped) == ({"metadata": {"name": "a"}}, ["zzz"])

"""What each keyword of a schema says of values that it refuses: upstream's words, reasons and paths."""

from __future__ import annotations

from typing import Any

import pytest

from kube32_sim.api.structural import StructuralSchema

JsonObject = dict[str, Any]

INVALID, REQUIRED, TYPE = "FieldValueInvalid", "FieldValueRequired", "FieldValueTypeInvalid"
STRING, INTEGER, NUMBER = ({"type": name} for name in ("string", "integer", "number"))


def found(schema: JsonObject, value: Any) -> list[tuple[str, str, str]]:
    """What is wrong with `spec.x`, whose schema this is: without `Invalid value: `, and with s for its path."""
    root = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"x": schema}}}}
    faults = StructuralSchema(root).validate({"metadata": {"name": "a"}, "spec": {"x": value}})
    return [(fault.reason, fault.field, fault.message.removeprefix("Invalid value: ")) for fault in faults]


def of_x(reason: str, message: str, path: str = "spec.x") -> list[tuple[str, str, str]]:
    return [(reason, path, message)]


ONE_FAULT: list[tuple[JsonObject, Any, list[tuple[str, str, str]]]] = [
    (STRING, 5, of_x(TYPE, '"integer": spec.x in body must be of type string: "integer"')),
    (STRING, None, of_x(TYPE, '"null": spec.x in body must be of type string: "null"')),
    (STRING, ["a"], of_x(TYPE, '"array": spec.x in body must be of type string: "array"')),
    (INTEGER, True, of_x(TYPE, '"boolean": spec.x in body must be of type integer: "boolean"')),
    (NUMBER, {}, of_x(TYPE, '"object": spec.x in body must be of type number: "object"')),
    ({"type": "object"}, 1.5, of_x(TYPE, '"number": spec.x in body must be of type object: "number"')),
    ({"type": "boolean"}, "a", of_x(TYPE, '"string": spec.x in body must be of type boolean: "string"')),
    (
        {"x-kubernetes-int-or-string": True},
        True,
        of_x(TYPE, '"boolean": spec.x in body must be of type integer,string: "boolean"'),
    ),
    ({**STRING, "maxLength": 2}, "äöü", of_x("FieldValueTooLong", "Too long: may not be more than 2 bytes")),
    ({**STRING, "minLength": 2}, "a", of_x(INVALID, '"a": spec.x in body should be at least 2 chars long')),
    ({**STRING, "pattern": "^a+$"}, "b", of_x(INVALID, "\"b\": spec.x in body should match '^a+$'")),
    ({**STRING, "format": "email"}, "b", of_x(TYPE, '"b": spec.x in body must be of type email: "b"')),
    ({**STRING, "format": "date-time"}, "b", of_x(TYPE, '"b": spec.x in body must be of type date-time: "b"')),
    ({**STRING, "format": "date"}, 5, of_x(TYPE, '"int64": spec.x in body must be of type date: "int64"')),
    ({**STRING, "format": "date"}, True, of_x(TYPE, '"": spec.x in body must be of type date: ""')),
    (
        {**STRING, "enum": ["b", "a"]},
        "c",
        of_x("FieldValueNotSupported", 'Unsupported value: "c": supported values: "b", "a"'),
    ),
    (
        {**NUMBER, "enum": [1, 2.5]},
        3,
        of_x("FieldValueNotSupported", 'Unsupported value: 3: supported values: "1", "2.5"'),
    ),
    (
        {**STRING, "nullable": True, "enum": ["a"]},
        None,
        of_x("FieldValueNotSupported", 'Unsupported value: null: supported values: "a"'),
    ),
    ({**INTEGER, "minimum": 2}, 1, of_x(INVALID, "1: spec.x in body should be greater than or equal to 2")),
    ({**INTEGER, "maximum": 2}, 3, of_x(INVALID, "3: spec.x in body should be less than or equal to 2")),
    (
        {**INTEGER, "minimum": 2, "exclusiveMinimum": True},
        2,
        of_x(INVALID, "2: spec.x in body should be greater than 2"),
    ),
    (
        {**NUMBER, "maximum": 2.5, "exclusiveMaximum": True},
        2.5,
        of_x(INVALID, "2.5: spec.x in body should be less than 2.5"),
    ),
    ({**NUMBER, "maximum": 10.0}, 11.0, of_x(INVALID, "11: spec.x in body should be less than or equal to 10")),
    ({**NUMBER, "maximum": 10.5}, 11, of_x(INVALID, "11: spec.x in body should be less than or equal to 10")),
    ({**INTEGER, "multipleOf": 3}, 4, of_x(INVALID, "4: spec.x in body should be a multiple of 3")),
    ({**NUMBER, "multipleOf": 0.5}, 0.7, of_x(INVALID, "0.7: spec.x in body should be a multiple of 0.5")),
    (
        {**INTEGER, "format": "int32"},
        1 << 31,
        of_x(INVALID, '"": Checked value must be of type integer with format int32 in spec.x', "<nil>"),
    ),
    (
        {**NUMBER, "format": "float"},
        3.5e38,
        of_x(INVALID, '"": Checked value must be of type number with format float in spec.x', "<nil>"),
    ),
    ({"type": "array", "minItems": 2}, [1], of_x(INVALID, "1: spec.x in body should have at least 2 items")),
    ({"type": "array", "maxItems": 1}, [1, 2], of_x("FieldValueTooMany", "Too many: 2: must have at most 1 item")),
    (
        {"type": "array", "uniqueItems": True},
        [1, 2, 1],
        of_x(INVALID, '"": spec.x in body shouldn\'t contain duplicates'),
    ),
    (
        {"type": "array", "items": STRING},
        ["a", 5],
        of_x(TYPE, '"integer": spec.x[1] in body must be of type string: "integer"', "spec.x[1]"),
    ),
    ({"type": "object", "minProperties": 1}, {}, of_x(INVALID, "0: spec.x in body should have at least 1 properties")),
    (
        {"type": "object", "maxProperties": 1},
        {"a": 1, "b": 2},
        of_x("FieldValueTooMany", "Too many: 2: must have at most 1 item"),
    ),
    ({"type": "object", "required": ["a"]}, {}, of_x(REQUIRED, "Required value", "spec.x.a")),
    (
        {"type": "object", "additionalProperties": STRING},
        {"a.b": 5},
        of_x(TYPE, '"integer": spec.x.a.b in body must be of type string: "integer"', "spec.x.a.b"),
    ),
    ({"not": {"required": ["a"]}}, {"a": 1}, of_x(INVALID, '"": "spec.x" must not validate the schema (not)', "<nil>")),
]


@pytest.mark.parametrize(("schema", "value", "expected"), ONE_FAULT)
def test_a_keyword_that_refuses_a_value(schema: JsonObject, value: Any, expected: list[tuple[str, str, str]]) -> None:
    assert found(schema, value) == expected


FINE: list[tuple[JsonObject, Any]] = [
    (INTEGER, 3.0),
    (NUMBER, 3),
    ({**STRING, "nullable": True}, None),
    ({**STRING, "format": "of-our-own"}, "x"),
    ({**STRING, "format": "date"}, ["a list", "passes where there is a format"]),
    ({**NUMBER, "enum": [3]}, 3.0),
    ({**NUMBER, "minimum": 0.5}, 0),
    ({**INTEGER, "format": "int64"}, (1 << 63) - 1),
    ({"x-kubernetes-int-or-string": True}, "80%"),
    ({}, None),
    ({"type": "object", "properties": {"a": STRING}}, {"b": 5}),
    ({"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, {"b": 1}),
    ({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, {"b": 1}),
]


@pytest.mark.parametrize(("schema", "value"), FINE)
def test_a_value_that_is_fine(schema: JsonObject, value: Any) -> None:
    assert found(schema, value) == []


def test_every_keyword_for_a_kind_of_value_speaks_even_if_the_type_is_wrong() -> None:
    faults = found({**INTEGER, "maxLength": 2, "enum": [1]}, "abc")
    assert [message for _, _, message in faults] == [
        '"string": spec.x in body must be of type integer: "string"',
        "Too long: may not be more than 2 bytes",
        'Unsupported value: "abc": supported values: "1"',
    ]


def test_a_number_beyond_its_range_is_told_of_beside_its_bounds() -> None:
    assert [message for _, _, message in found({**INTEGER, "maximum": 2}, 3.5)] == [
        '"number": spec.x in body must be of type integer: "number"',
        '"": Checked value must be of type integer (default format) in spec.x',
        "3.5: spec.x in body should be less than or equal to 2",
    ]
    assert [message for _, _, message in found({**INTEGER, "maximum": 2.5}, 3)] == [
        '"": Maximum boundary value must be of type integer (default format) in spec.x',
        "3: spec.x in body should be less than or equal to 2.5",
    ]


def test_any_of_tells_what_is_wrong_by_the_schema_that_fits_best() -> None:
    schema = {
        "anyOf": [
            {"required": ["a"], "properties": {"b": STRING}},
            {"required": ["a"], "properties": {"b": INTEGER, "c": INTEGER}},
        ]
    }
    assert found(schema, {"b": 5, "c": 5}) == [
        (INVALID, "<nil>", '"": "spec.x" must validate at least one schema (anyOf)'),
        (REQUIRED, "spec.x.a", "Required value"),
    ]
    assert found(schema, {"b": "s"})[1:] == [(REQUIRED, "spec.x.a", "Required value")]


def test_one_of_tells_how_many_fit() -> None:
    schema = {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}
    assert found(schema, {}) == [
        (INVALID, "<nil>", '"": "spec.x" must validate one and only one schema (oneOf). Found none valid'),
        (REQUIRED, "spec.x.a", "Required value"),
    ]
    assert found(schema, {"a": 1, "b": 1}) == [
        (INVALID, "<nil>", '"": "spec.x" must validate one and only one schema (oneOf). Found 2 valid alternatives'),
    ]


def test_all_of_tells_everything_that_is_missing() -> None:
    schema = {"allOf": [{"required": ["a"]}, {"required": ["b"]}]}
    assert found(schema, {}) == [
        (REQUIRED, "spec.x.a", "Required value"),
        (REQUIRED, "spec.x.b", "Required value"),
        (INVALID, "<nil>", '"": "spec.x" must validate all the schemas (allOf). None validated'),
    ]
    assert found(schema, {"a": 1})[1][2] == '"": "spec.x" must validate all the schemas (allOf)'


def test_paths_at_the_root() -> None:
    schema = StructuralSchema({"type": "object", "required": ["spec", "kind"], "properties": {"kind": STRING}})
    assert [str(fault) for fault in schema.validate({"metadata": {}})] == ["spec: Required value"]


def test_a_pattern_that_is_none_refuses_everything() -> None:
    (fault,) = found({**STRING, "pattern": "(?=a)"}, "a")
    assert fault[2].startswith('"a": spec.x in body should match \'(?=a), but pattern is invalid: ')


def test_a_value_that_is_too_deep() -> None:
    schema: JsonObject = STRING
    value: Any = 5
    for _ in range(900):
        schema, value = {"type": "object", "properties": {"a": schema}}, {"a": value}
    assert found(schema, value) == [(INVALID, "<nil>", '"": exceeded max depth')]

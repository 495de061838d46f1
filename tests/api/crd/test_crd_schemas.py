"""What schemas of CustomResourceDefinitions are refused for: structure, extensions, rules' fields."""

from __future__ import annotations

import pytest

from tests.api.crd_objects import AT, crd, one_version, refusals, version, with_fields

PRESERVES = "x-kubernetes-preserve-unknown-fields"
EMBEDDED = "x-kubernetes-embedded-resource"
EITHER = "x-kubernetes-int-or-string"
STRING = {"type": "string"}
INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]
TYPES = '"array", "boolean", "integer", "number", "object", "string"'
FIELDS = "must not be empty for specified object fields"


def of_field(schema):
    """Refusals of a definition whose field `a` has this schema, without the path of it."""
    return [each.removeprefix(f"{AT}.properties[a]").removeprefix(".") for each in refusals(with_fields(a=schema))]


def of_root(schema):
    return [each.removeprefix(AT).removeprefix(".") for each in refusals(crd({"type": "object"} | schema))]


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({}, f"type: Required value: {FIELDS}"),
        ({"type": "array"}, "items: Required value: must be specified"),
        ({"type": "array", "items": {}}, "items.type: Required value: must not be empty for specified array items"),
        ({"type": "object", "additionalProperties": {}}, f"additionalProperties.type: Required value: {FIELDS}"),
        ({"type": "odd"}, f'type: Unsupported value: "odd": supported values: {TYPES}'),
        ({PRESERVES: True}, None),
        ({EITHER: True}, None),
        ({"type": "object", "additionalProperties": True}, None),
        ({"type": "object", "additionalProperties": False}, None),
        ({"type": "string", "nullable": True, "enum": ["a"], "pattern": "^a+$", "maxLength": 3}, None),
        (
            {EITHER: True, PRESERVES: True},
            f"{PRESERVES}: Invalid value: true: must be false if {EITHER} is true",
        ),
        (
            {"type": "object", EITHER: True, EMBEDDED: True, PRESERVES: True},
            [
                f"{EMBEDDED}: Invalid value: true: must be false if {EITHER} is true",
                f"{PRESERVES}: Invalid value: true: must be false if {EITHER} is true",
            ],
        ),
        ({EMBEDDED: True, PRESERVES: True}, f"type: Required value: must be object if {EMBEDDED} is true"),
        (
            {"type": "string", EMBEDDED: True, PRESERVES: True},
            f'type: Invalid value: "string": must be object if {EMBEDDED} is true',
        ),
        (
            {"type": "object", EMBEDDED: True},
            f"properties: Required value: must not be empty if {EMBEDDED} is true without {PRESERVES}",
        ),
        (
            {"type": "object", EMBEDDED: True, PRESERVES: True, "additionalProperties": STRING},
            f"additionalProperties: Forbidden: must not be used if {EMBEDDED} is set",
        ),
        (
            {"type": "object", EMBEDDED: True, "properties": {"kind": {"type": "integer"}}},
            'properties[kind].type: Invalid value: "integer": must be string',
        ),
        (
            {"type": "object", EMBEDDED: True, "properties": {"metadata": STRING}},
            'properties[metadata].type: Invalid value: "string": must be object',
        ),
        (
            {"type": "string", "pattern": "a("},
            'pattern: Invalid value: "a(": must be a valid regular expression, but isn\'t: error parsing regexp: '
            "missing closing ): `a(`",
        ),
        ({"type": "string", PRESERVES: False}, f"{PRESERVES}: Invalid value: false: must be true or undefined"),
    ],
)
def test_structure(schema, expected) -> None:
    wanted = expected if isinstance(expected, list) else [expected] if expected else []
    assert of_field(schema) == wanted


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": ""}, ["type: Required value: must not be empty at the root"]),
        ({"type": "array", "items": STRING}, ['type: Invalid value: "array": must be object at the root']),
        ({"additionalProperties": STRING}, ["additionalProperties: Forbidden: must not be used at the root"]),
        ({"nullable": True}, ["nullable: Forbidden: nullable cannot be true at the root"]),
        (
            {"properties": {"kind": {"type": "integer"}, "apiVersion": {"type": "object"}}},
            [
                'properties[apiVersion].type: Invalid value: "object": must be string',
                'properties[kind].type: Invalid value: "integer": must be string',
            ],
        ),
        (
            {"properties": {"kind": {"type": "string", "default": "x"}}},
            ["properties[kind].default: Forbidden: must not be set in top-level kind"],
        ),
        (
            {"properties": {"metadata": {"type": "object", "properties": {"name": STRING | {"default": "x"}}}}},
            [
                "properties[metadata].properties[name].default: Forbidden: must not be set in top-level metadata",
            ],
        ),
        (
            {"oneOf": [{"properties": {"b": {"minLength": 1}}}], "properties": {"a": STRING}},
            ["properties[b]: Required value: because it is defined in " + AT + ".oneOf[0].properties[b]"],
        ),
        (
            {"not": {"properties": {"a": {"items": {"minLength": 1}}}}, "properties": {"a": STRING}},
            [
                "properties[a].items: Required value: because it is defined in " + AT + ".not.properties[a].items",
            ],
        ),
        ({"anyOf": [{"required": ["a"]}, {"required": ["b"]}], "properties": {"a": STRING, "b": STRING}}, []),
        ({"$schema": "x"}, [": Invalid value: \"\": OpenAPIV3Schema 'schema' is not supported"]),
    ],
)
def test_the_root(schema, expected) -> None:
    assert of_root(schema) == expected


@pytest.mark.parametrize(
    ("metadata", "good"),
    [
        ({"type": "object"}, True),
        ({"type": "object", "properties": {"name": {"type": "string", "maxLength": 9}}}, True),
        ({"type": "object", "properties": {"name": STRING, "generateName": STRING}}, True),
        ({"type": "object", "properties": {"labels": {"type": "object"}}}, False),
        ({"type": "object", "properties": {"name": STRING, "labels": {"type": "object"}}}, False),
        ({"type": "object", "description": "d"}, False),
        ({"type": "object", "minProperties": 0}, False),
        ({"type": "object", PRESERVES: True}, False),
    ],
)
def test_metadata_is_what_it_is_everywhere(metadata, good) -> None:
    why = "must not specify anything other than name and generateName, but metadata is implicitly specified"
    expected = [] if good else [f"properties[metadata]: Forbidden: {why}"]
    assert of_root({"properties": {"metadata": metadata}}) == expected


def test_defaults_and_embedded_resources_in_metadata() -> None:
    labels = {"type": "object", "additionalProperties": STRING | {"default": "x"}}
    embedded = {
        "type": "object",
        EMBEDDED: True,
        "properties": {"metadata": {"type": "object", "properties": {"labels": labels}}},
    }
    assert of_field(embedded) == [
        "properties[metadata].properties[labels].additionalProperties.default: Forbidden: must not be set inside "
        "additionalProperties applying to object metadata"
    ]
    embedded["properties"]["metadata"]["properties"] = {"x": {"type": "object", EMBEDDED: True, PRESERVES: True}}
    assert of_field(embedded) == [
        f"properties[metadata].properties[x].{EMBEDDED}: Forbidden: must not be used inside of resource meta"
    ]


@pytest.mark.parametrize(
    ("nested", "expected"),
    [
        ({"type": "string"}, "type: Forbidden: must be empty to be structural"),
        ({"title": "t"}, "title: Forbidden: must be empty to be structural"),
        ({"description": "d"}, "description: Forbidden: must be empty to be structural"),
        ({"nullable": True}, "nullable: Forbidden: must be false to be structural"),
        ({"default": "x"}, "default: Forbidden: must be undefined to be structural"),
        ({"additionalProperties": True}, "additionalProperties: Forbidden: must be undefined to be structural"),
        ({PRESERVES: True}, f"{PRESERVES}: Forbidden: must be false to be structural"),
        ({EITHER: True}, f"{EITHER}: Forbidden: must be false to be structural"),
        ({EMBEDDED: True}, f"{EMBEDDED}: Forbidden: must be false to be structural"),
        (
            {"properties": {"metadata": {}}},
            "properties[metadata]: Forbidden: must not be specified in a nested context",
        ),
        (
            {"pattern": "[a"},
            'pattern: Invalid value: "[a": must be a valid regular expression, but isn\'t: error '
            "parsing regexp: missing closing ]: `[a`",
        ),
        ({"minLength": 1, "required": ["x"], "enum": ["a"]}, None),
        ({"items": {"title": "t"}}, "items.title: Forbidden: must be empty to be structural"),
    ],
)
@pytest.mark.parametrize("at", ["allOf[0]", "anyOf[0]", "oneOf[0]", "not"])
def test_quantifiers_say_nothing_about_what_there_is(at, nested, expected) -> None:
    key = at.partition("[")[0]
    found = of_field({"type": "object", key: nested if key == "not" else [nested]})
    assert found == ([f"{at}.{expected}"] if expected else [])


def test_rules_lists_and_maps_are_not_nested() -> None:
    rules = [{"rule": "true"}]
    nested = {"x-kubernetes-validations": rules, "x-kubernetes-list-type": "map", "x-kubernetes-map-type": "atomic"}
    found = of_field({"type": "object", "allOf": [nested | {"x-kubernetes-list-map-keys": ["a"]}]})
    assert found[:4] == [
        "allOf[0].x-kubernetes-list-map-keys: Forbidden: must be empty to be structural",
        "allOf[0].x-kubernetes-list-type: Forbidden: must be undefined to be structural",
        "allOf[0].x-kubernetes-map-type: Forbidden: must be undefined to be structural",
        "allOf[0].x-kubernetes-validations: Forbidden: must be empty to be structural",
    ]


@pytest.mark.parametrize(
    ("schema", "count"),
    [
        ({EITHER: True, "anyOf": INT_OR_STRING}, 0),
        ({EITHER: True, "allOf": [{"anyOf": INT_OR_STRING}, {"pattern": "x"}]}, 0),
        ({EITHER: True, "anyOf": INT_OR_STRING[::-1]}, 2),
        ({EITHER: True, "allOf": [{"pattern": "x"}, {"anyOf": INT_OR_STRING}]}, 2),
        ({EITHER: True, "anyOf": [{"type": "integer"}, {"type": "string", "pattern": "x"}]}, 2),
    ],
)
def test_integer_or_string_has_two_forms(schema, count) -> None:
    assert [each.rpartition(": ")[2] for each in of_field(schema)] == ["must be empty to be structural"] * count


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (
            {"uniqueItems": True},
            "uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
        ),
        ({"id": "x"}, "id: Forbidden: id is not supported"),
        ({"$ref": "#/x"}, "$ref: Forbidden: $ref is not supported"),
        ({"additionalItems": False}, "additionalItems: Forbidden: additionalItems is not supported"),
        ({"patternProperties": {"a": STRING}}, "patternProperties: Forbidden: patternProperties is not supported"),
        ({"definitions": {"a": STRING}}, "definitions: Forbidden: definitions is not supported"),
        ({"dependencies": {"a": ["b"]}}, "dependencies: Forbidden: dependencies is not supported"),
        ({"type": "array", "items": [STRING]}, "items: Forbidden: items must be a schema object and not an array"),
        (
            {"type": "object", "properties": {"x": STRING}, "additionalProperties": STRING},
            "additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive",
        ),
    ],
)
def test_what_no_schema_may_have(schema, expected) -> None:
    assert of_field({"type": "object"} | schema) == [expected]


def test_null_is_no_type() -> None:
    assert of_field({"type": "null"}) == [
        f'type: Unsupported value: "null": supported values: {TYPES}',
        "type: Forbidden: type cannot be set to null, use nullable as an alternative",
    ]


LIST, KEYS, MAP = "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type"
ITEM = {"type": "object", "required": ["k"], "properties": {"k": STRING, "o": {"type": "object"}}}
KEY = "this property is in x-kubernetes-list-map-keys, so it"


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({LIST: "set", "items": STRING}, []),
        ({LIST: "map", KEYS: ["k"], "items": ITEM}, []),
        (
            {LIST: "odd", "items": STRING},
            [f'{LIST}: Unsupported value: "odd": supported values: "atomic", "set", "map"'],
        ),
        ({LIST: "set", "type": "string"}, [f'type: Invalid value: "string": must be array if {LIST} is specified']),
        ({KEYS: ["k"], "items": ITEM}, [f"{LIST}: Required value: must be map if {KEYS} is non-empty"]),
        (
            {LIST: "atomic", KEYS: ["k"], "items": ITEM},
            [f'{LIST}: Invalid value: "atomic": must be map if {KEYS} is non-empty'],
        ),
        ({LIST: "map", "items": ITEM}, [f"{KEYS}: Required value: must not be empty if {LIST} is map"]),
        (
            {LIST: "map", KEYS: ["k"], "items": STRING},
            ['items.type: Invalid value: "string": must be object if parent array\'s x-kubernetes-list-type is map'],
        ),
        (
            {LIST: "map", KEYS: ["k", "k", "z"], "items": ITEM},
            [
                f'{KEYS}: Invalid value: ["k","k","z"]: must not contain duplicate entries',
                f'{KEYS}: Invalid value: ["k","k","z"]: entries must all be names of item properties',
            ],
        ),
        (
            {LIST: "map", KEYS: ["k", "o"], "items": ITEM},
            [
                'items.properties[o].type: Invalid value: "object": must be a scalar type if parent array\'s '
                "x-kubernetes-list-type is map",
                f"items.properties[o].default: Required value: {KEY} must have a default or be a required property",
            ],
        ),
        (
            {LIST: "map", KEYS: ["k"], "items": ITEM | {"nullable": True}},
            ["items.nullable: Forbidden: cannot be nullable when x-kubernetes-list-type is map"],
        ),
        (
            {LIST: "map", KEYS: ["k"], "items": ITEM | {"properties": {"k": STRING | {"nullable": True}}}},
            [f"items.properties[k].nullable: Forbidden: {KEY} cannot be nullable"],
        ),
        (
            {LIST: "set", "items": {"type": "object"}},
            [f'items.{MAP}: Invalid value: "null": must be atomic as item of a list with {LIST}=set'],
        ),
        ({LIST: "set", "items": {"type": "object", MAP: "atomic"}}, []),
        (
            {LIST: "set", "items": {"type": "array", "items": STRING, LIST: "set"}},
            [f'items.{LIST}: Invalid value: "set": must be atomic as item of a list with {LIST}=set'],
        ),
        ({MAP: "atomic", "items": STRING}, [f'type: Invalid value: "array": must be object if {MAP} is specified']),
        (
            {"type": "object", MAP: "odd"},
            [f'{MAP}: Unsupported value: "odd": supported values: "atomic", "granular"'],
        ),
    ],
)
def test_lists_and_maps(schema, expected) -> None:
    assert of_field({"type": "array"} | schema) == expected


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ({"rule": " "}, ["rule: Required value: rule is not specified"]),
        ({"message": " "}, ['message: Invalid value: " ": message must be non-empty if specified']),
        ({"message": "a\nb"}, ['message: Invalid value: "a\\nb": message must not contain line breaks']),
        (
            {"rule": "true ||\ntrue"},
            ["message: Required value: message must be specified if rule contains line breaks"],
        ),
        (
            {"messageExpression": " "},
            ["messageExpression: Required value: messageExpression must be non-empty if specified"],
        ),
        (
            {"reason": "Odd"},
            [
                'reason: Unsupported value: "Odd": supported values: "FieldValueDuplicate", "FieldValueForbidden", '
                '"FieldValueInvalid", "FieldValueRequired"'
            ],
        ),
        ({"fieldPath": ".nope"}, ['fieldPath: Invalid value: ".nope": fieldPath must be a valid path']),
        (
            {"fieldPath": " \n"},
            [
                'fieldPath: Invalid value: " \\n": fieldPath must be non-empty if specified',
                'fieldPath: Invalid value: " \\n": fieldPath must not contain line breaks',
                'fieldPath: Invalid value: " \\n": fieldPath must be a valid path',
            ],
        ),
        ({"fieldPath": ".m['a.b\\'']"}, []),
        ({"fieldPath": "['m']['x'].y"}, ["fieldPath: Invalid value: \"['m']['x'].y\": fieldPath must be a valid path"]),
        (
            {"fieldPath": ".m['a"},
            ['fieldPath: Invalid value: ".m[\'a": fieldPath must be a valid path'],
        ),
    ],
)
def test_fields_of_rules(rule, expected) -> None:
    fields = {"m": {"type": "object", "additionalProperties": {"type": "string"}}, "x": STRING}
    found = of_field(
        {"type": "object", "properties": fields, "x-kubernetes-validations": [{"rule": "true"} | rule]},
    )
    assert found == [f"x-kubernetes-validations[0].{each}" for each in expected]


def test_schemas_are_not_nested_too_deep() -> None:
    schema = STRING | {"default": "x"}
    for _ in range(200):
        schema = {"type": "object", "properties": {"a": schema}}
    (found,) = refusals(crd(schema))
    assert found.endswith(".properties[a]: Forbidden: must not be nested deeper than 100 levels")


def test_each_version_is_looked_at() -> None:
    body = crd(
        versions=[version(schema={"type": "object", "properties": {"a": {}}}), version("v2", {"type": "string"})]
    )
    assert [each.partition(": ")[0] for each in refusals(body)] == [
        "spec.versions[0].schema.openAPIV3Schema.properties[a].type",
        "spec.versions[1].schema.openAPIV3Schema.type",
    ]


def test_messages_show_how_schemas_look_inside() -> None:
    schema = {
        "type": "object",
        "allOf": [{"required": ["a"]}],
        "properties": {"a": {"type": "array", "items": STRING, "maximum": 3.0}, "b": {"additionalProperties": STRING}},
        "additionalProperties": False,
    }
    (shown, *_) = refusals(one_version(schema=schema, subresources={"status": {}}))
    for part in (
        '"AdditionalProperties":{"Allows":false,"Schema":null}',
        '"Items":{"Schema":{"ID":"",',
        '"JSONSchemas":null}',
        '"Maximum":3,',
        '"Required":["a"]',
        '"AdditionalProperties":{"Allows":true,"Schema":{"ID":"",',
        '"XValidations":null}',
    ):
        assert part in shown

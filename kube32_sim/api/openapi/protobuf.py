"""The OpenAPI v2 document in the protobuf form that Go clients ask `/openapi/v2` for (package openapi.v2).

Definitions and paths are there, with Kubernetes' extensions (kubectl up to 1.26 asks the operations of a kind whether
they know `dryRun` and `fieldValidation`).  The messages are few and the document is only written, so it is written as
wire format directly: a field is its number and type, and for everything here but numbers a length and bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from struct import pack
from typing import Any

import orjson

JsonObject = dict[str, Any]

# Document
_SWAGGER, _INFO, _PATHS, _DEFINITIONS, _SECURITY, _SCHEMES = 1, 2, 8, 9, 12, 13
# SecurityRequirement: entries.  SecurityDefinitionsItem, ApiKeySecurity
_API_KEY = 2
_API_KEY_FIELDS = {"type": 1, "name": 2, "in": 3, "description": 4}
# Info
_TITLE, _VERSION = 1, 2
# Definitions, Properties: entries; NamedSchema, NamedAny: name and value
_ENTRY, _NAME, _VALUE = 1, 1, 2
# Schema
_SCHEMA_TEXTS = {"$ref": 1, "format": 2, "title": 3, "description": 4, "pattern": 13}
_SCHEMA_NUMBERS = {"multipleOf": 6, "maximum": 7, "minimum": 9}
_SCHEMA_FLAGS = {"exclusiveMaximum": 8, "exclusiveMinimum": 10, "uniqueItems": 16}
_SCHEMA_COUNTS = {
    "maxLength": 11,
    "minLength": 12,
    "maxItems": 14,
    "minItems": 15,
    "maxProperties": 17,
    "minProperties": 18,
}
_REQUIRED, _ENUM = 19, 20
_ADDITIONAL, _TYPE, _ITEMS, _PROPERTIES, _EXTENSION = 21, 22, 23, 25, 31
# Any: its text as YAML, which JSON is
_YAML = 2
# AdditionalPropertiesItem: a schema or a boolean
_SCHEMA, _BOOLEAN = 1, 2
# Paths: NamedPathItem
_PATH = 2
# PathItem: an Operation a method
_METHODS = {"get": 2, "put": 3, "post": 4, "delete": 5, "options": 6, "head": 7, "patch": 8}
_PATH_PARAMETERS, _PATH_EXTENSION = 9, 10
# Operation
_OPERATION_TEXTS = {"description": 3, "operationId": 5}
_OPERATION_LISTS = {"tags": 1, "produces": 6, "consumes": 7, "schemes": 10}
_PARAMETERS, _RESPONSES, _OPERATION_EXTENSION = 8, 9, 13
# ParametersItem, Parameter: what kind of parameter it is
_PARAMETER, _BODY, _NON_BODY = 1, 1, 2
# BodyParameter
_BODY_FIELDS = {"description": 1, "name": 2, "in": 3}
_BODY_REQUIRED, _BODY_SCHEMA = 4, 5
# NonBodyParameter: (which of its kinds, the number of the type there); the other fields of the kinds have one number
_KINDS = {"query": (3, 6), "path": (4, 5)}
_UNIQUE = {"query": 20, "path": 19}
_PARAMETER_FIELDS = {"in": 2, "description": 3, "name": 4}
_PARAMETER_REQUIRED = 1
# ResponseValue, Response, SchemaItem
_RESPONSE, _RESPONSE_DESCRIPTION, _RESPONSE_SCHEMA = 1, 1, 2


def _varint(number: int) -> bytes:
    encoded = bytearray()
    number &= 0xFFFF_FFFF_FFFF_FFFF  # negative ones are written as their two's complement
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def _field(number: int, value: bytes | str) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _any(value: Any) -> bytes:
    return _field(_YAML, orjson.dumps(value) + b"\n")


def _flag(number: int, value: bool) -> bytes:
    return _varint(number << 3) + _varint(int(value)) if value else b""


def _texts(numbers: Mapping[str, int], source: JsonObject) -> bytes:
    return b"".join(_field(number, source[name]) for name, number in numbers.items() if source.get(name))


def _extensions(number: int, source: JsonObject) -> bytes:
    return _named(((name, _any(value)) for name, value in source.items() if name.startswith("x-")), number)


def _named(entries: Iterable[tuple[str, bytes]], number: int = _ENTRY) -> bytes:
    return b"".join(_field(number, _field(_NAME, name) + _field(_VALUE, value)) for name, value in entries)


def _additional(value: JsonObject | bool) -> bytes:
    if isinstance(value, bool):
        return _varint(_BOOLEAN << 3) + _varint(int(value))
    return _field(_SCHEMA, _schema(value))


def _limits(schema: JsonObject) -> bytes:
    """What the values of a custom type's field are limited to."""
    doubles = (
        _varint(number << 3 | 1) + pack("<d", schema[name])
        for name, number in _SCHEMA_NUMBERS.items()
        if name in schema
    )
    counts = (_varint(number << 3) + _varint(schema[name]) for name, number in _SCHEMA_COUNTS.items() if name in schema)
    flags = (_flag(number, schema.get(name, False)) for name, number in _SCHEMA_FLAGS.items())
    return b"".join((*doubles, *counts, *flags))


def _schema(schema: JsonObject) -> bytes:
    parts = [_texts(_SCHEMA_TEXTS, schema), _limits(schema)]
    parts += (_field(_REQUIRED, name) for name in schema.get("required", ()))
    parts += (_field(_ENUM, _any(value)) for value in schema.get("enum", ()))
    if "additionalProperties" in schema:
        parts.append(_field(_ADDITIONAL, _additional(schema["additionalProperties"])))
    if "type" in schema:
        parts.append(_field(_TYPE, _field(1, schema["type"])))
    if "items" in schema:
        parts.append(_field(_ITEMS, _field(1, _schema(schema["items"]))))
    if "properties" in schema:
        properties: Mapping[str, JsonObject] = schema["properties"]
        parts.append(_field(_PROPERTIES, _named((name, _schema(value)) for name, value in properties.items())))
    parts.append(_extensions(_EXTENSION, schema))
    return b"".join(parts)


def _parameter(parameter: JsonObject) -> bytes:
    """A ParametersItem."""
    place = parameter["in"]
    required = parameter.get("required", False)
    if place == "body":
        body = _texts(_BODY_FIELDS, parameter) + _flag(_BODY_REQUIRED, required)
        return _field(_PARAMETER, _field(_BODY, body + _field(_BODY_SCHEMA, _schema(parameter["schema"]))))
    kind, type_ = _KINDS[place]
    told = (
        _flag(_PARAMETER_REQUIRED, required) + _texts(_PARAMETER_FIELDS, parameter) + _field(type_, parameter["type"])
    )
    told += _flag(_UNIQUE[place], parameter.get("uniqueItems", False))
    return _field(_PARAMETER, _field(_NON_BODY, _field(kind, told)))


def _response(response: JsonObject) -> bytes:
    """A ResponseValue."""
    told = _texts({"description": _RESPONSE_DESCRIPTION}, response)
    if "schema" in response:
        told += _field(_RESPONSE_SCHEMA, _field(_SCHEMA, _schema(response["schema"])))
    return _field(_RESPONSE, told)


def _operation(operation: JsonObject) -> bytes:
    lists = (_field(number, value) for name, number in _OPERATION_LISTS.items() for value in operation.get(name, ()))
    parameters = (_field(_PARAMETERS, _parameter(parameter)) for parameter in operation.get("parameters", ()))
    responses = _named((code, _response(response)) for code, response in operation["responses"].items())
    return b"".join(
        (
            _texts(_OPERATION_TEXTS, operation),
            *lists,
            *parameters,
            _field(_RESPONSES, responses),
            _extensions(_OPERATION_EXTENSION, operation),
        )
    )


def _path(item: JsonObject) -> bytes:
    """A PathItem."""
    operations = (_field(number, _operation(item[name])) for name, number in _METHODS.items() if name in item)
    parameters = (_field(_PATH_PARAMETERS, _parameter(parameter)) for parameter in item.get("parameters", ()))
    return b"".join((*operations, *parameters, _extensions(_PATH_EXTENSION, item)))


def _security(document: JsonObject) -> bytes:
    """What is required, and what it is: the one way in that documents tell of, tokens."""
    required = b"".join(
        _field(_SECURITY, _named((name, b"") for name in requirement)) for requirement in document["security"]
    )
    schemes = (
        (name, _field(_API_KEY, _texts(_API_KEY_FIELDS, scheme)))
        for name, scheme in document["securityDefinitions"].items()
    )
    return required + _field(_SCHEMES, _named(schemes))


def encode(document: JsonObject) -> bytes:
    """A swagger document (as JSON has it), paths and definitions, as a Document message."""
    info = document["info"]
    definitions: Mapping[str, JsonObject] = document["definitions"]
    paths: Mapping[str, JsonObject] = document["paths"]
    return b"".join(
        (
            _field(_SWAGGER, document["swagger"]),
            _field(_INFO, _field(_TITLE, info["title"]) + _field(_VERSION, info["version"])),
            _field(_PATHS, _named(((name, _path(item)) for name, item in paths.items()), _PATH)),
            _field(_DEFINITIONS, _named((name, _schema(value)) for name, value in definitions.items())),
            _security(document),
        )
    )

"""The OpenAPI v2 document in the protobuf form that Go clients ask `/openapi/v2` for (package openapi.v2).

Only what those clients read of it is there: the definitions, with Kubernetes' extensions; the paths are in the JSON
form.  The messages are few and the document is only written, so it is written as wire format directly: a field is its
number and type, and for everything here but booleans a length and bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import orjson

JsonObject = dict[str, Any]

# Document
_SWAGGER, _INFO, _DEFINITIONS = 1, 2, 9
# Info
_TITLE, _VERSION = 1, 2
# Definitions, Properties: entries; NamedSchema, NamedAny: name and value
_ENTRY, _NAME, _VALUE = 1, 1, 2
# Schema
_REF, _FORMAT, _DESCRIPTION, _DEFAULT, _REQUIRED, _ENUM = 1, 2, 4, 5, 19, 20
_ADDITIONAL, _TYPE, _ITEMS, _PROPERTIES, _EXTENSION = 21, 22, 23, 25, 31
# Any: its text as YAML, which JSON is
_YAML = 2
# AdditionalPropertiesItem: a schema or a boolean
_SCHEMA, _BOOLEAN = 1, 2


def _varint(number: int) -> bytes:
    encoded = bytearray()
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


def _named(entries: Iterable[tuple[str, bytes]], number: int = _ENTRY) -> bytes:
    return b"".join(_field(number, _field(_NAME, name) + _field(_VALUE, value)) for name, value in entries)


def _additional(value: JsonObject | bool) -> bytes:
    if isinstance(value, bool):
        return _varint(_BOOLEAN << 3) + _varint(int(value))
    return _field(_SCHEMA, _schema(value))


def _schema(schema: JsonObject) -> bytes:
    parts = [
        _field(number, schema[name])
        for number, name in ((_REF, "$ref"), (_FORMAT, "format"), (_DESCRIPTION, "description"))
        if schema.get(name)
    ]
    if "default" in schema:
        parts.append(_field(_DEFAULT, _any(schema["default"])))
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
    parts.append(_named(((name, _any(v)) for name, v in schema.items() if name.startswith("x-")), _EXTENSION))
    return b"".join(parts)


def encode(document: JsonObject) -> bytes:
    """The definitions of a swagger document (as JSON has it) as a Document message."""
    info = document["info"]
    definitions: Mapping[str, JsonObject] = document["definitions"]
    return b"".join(
        (
            _field(_SWAGGER, document["swagger"]),
            _field(_INFO, _field(_TITLE, info["title"]) + _field(_VERSION, info["version"])),
            _field(_DEFINITIONS, _named((name, _schema(value)) for name, value in definitions.items())),
        )
    )

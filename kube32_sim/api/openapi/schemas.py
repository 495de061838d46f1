"""Schema definitions in the form of an OpenAPI document.

The definitions (`api/schema`) are JSON schema: optional fields have type lists with "null", kinds have enums for
apiVersion and kind, references point into `$defs`.  OpenAPI 3.0 has plain types, references in `allOf` where something
stands beside them, `#/components/schemas`, and defaults; OpenAPI 2.0 has `#/definitions`, no `oneOf` and no defaults.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

from kube32_sim.api.decode.types import Struct, Type, struct
from kube32_sim.api.openapi import defaults, enums
from kube32_sim.api.resources import ResourceType
from kube32_sim.api.schema import all_definitions, json_type

JsonObject = dict[str, Any]
Flavour = Literal[2, 3]

PREFIX: dict[Flavour, str] = {2: "#/definitions/", 3: "#/components/schemas/"}
QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
INT_OR_STRING = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"

_OLD_PREFIX = len("#/$defs/")
_IDENTITY = ("apiVersion", "kind")
_QUANTITY: JsonObject = {
    "description": (
        "Quantity is an amount of something, such as memory or processing time: a decimal number with an optional "
        "unit behind it.\n\nUnits are powers of 1000 (n, u, m, k, M, G, T, P, E), powers of 1024 (Ki, Mi, Gi, Ti, Pi, "
        "Ei), or an exponent of ten (e3, E6). Amounts are kept in the shortest form that says the same: 1500m stays, "
        "1000m becomes 1. A plain number is taken like its text."
    )
}
_INT_OR_STRING: JsonObject = {
    "description": (
        "IntOrString is either a whole number of 32 bits or a text: a port by its number or by its name, an amount "
        'as a count or as a percentage. It is written as what it is, 80 or "http".'
    ),
    "format": "int-or-string",
}
_SPECIAL: dict[tuple[str, Flavour], JsonObject] = {
    (QUANTITY, 2): {**_QUANTITY, "type": "string"},
    (QUANTITY, 3): {**_QUANTITY, "oneOf": [{"type": "string"}, {"type": "number"}]},
    (INT_OR_STRING, 2): {**_INT_OR_STRING, "type": "string"},
    (INT_OR_STRING, 3): {**_INT_OR_STRING, "oneOf": [{"type": "integer"}, {"type": "string"}]},
}
"""The definitions that the schema package tells least of: what Go reads and writes in a way of its own."""
_NESTED = ("items", "additionalProperties")


class _Converter:
    """Converts definitions; every definition that one refers to is reported to `used`."""

    def __init__(self, flavour: Flavour, used: Callable[[str], None]) -> None:
        self._flavour: Flavour = flavour
        self._used = used

    def definition(self, key: str, schema: JsonObject) -> JsonObject:
        special = _SPECIAL.get((key, self._flavour), {})
        made = {name: value for name, value in schema.items() if name not in ("properties", "type", "oneOf")}
        kind = json_type(schema)
        if kind is not None and "oneOf" not in special:
            made["type"] = kind
        if "properties" in schema:
            of = struct(key)
            made["properties"] = {name: self._field(of, name, part) for name, part in schema["properties"].items()}
        return {**made, **special}

    def _field(self, of: Struct, name: str, schema: JsonObject) -> JsonObject:
        identity = of.whole and name in _IDENTITY
        found = of.field(name)
        converted = self._schema(schema, found.type if found else None)
        if identity:
            converted.pop("enum", None)
        else:
            _add_values(converted, of, name)
        return self._complete(converted, defaults.of_field(of, name))

    def _schema(self, schema: JsonObject, kind: Type | None) -> JsonObject:
        """A schema without its default; kind: what Go has for it."""
        made: JsonObject = {}
        for key, value in schema.items():
            if key in _NESTED and isinstance(value, dict):
                inner = kind.elem if kind is not None else None
                stated = defaults.of_element(inner) if inner is not None else None
                made[key] = self._complete(self._schema(value, inner), stated)
            elif key == "properties":
                made[key] = {name: self._complete(self._schema(part, None), None) for name, part in value.items()}
            elif key == "type":
                made[key] = json_type(schema)
            elif key == "$ref":
                made[key] = self._reference(value[_OLD_PREFIX:])
            else:
                made[key] = value
        return made

    def _reference(self, target: str) -> str:
        self._used(target)
        return PREFIX[self._flavour] + target

    def _complete(self, converted: JsonObject, default: Any) -> JsonObject:
        """With its default, and with the reference in the form that may have something beside it."""
        if self._flavour == 2:
            return converted
        if default is not None:
            converted["default"] = default
        if "$ref" in converted and len(converted) > 1:
            return {"allOf": [{"$ref": converted.pop("$ref")}], **converted}
        return converted


def _add_values(converted: JsonObject, of: Struct, name: str) -> None:
    """State the values of a field that has a fixed set of them, or of the items of a list."""
    values = enums.of_field(of.group, of.name, name)
    if values is not None:
        converted["enum"] = values
    else:
        values = enums.of_items(of.name, name)
        if values is None:
            return
        converted["items"]["enum"] = values
    told = "\n".join(f' - `"{value}"`' for value in values)
    text = f"Possible enum values:\n{told}"
    converted["description"] = f"{converted['description']}\n\n{text}" if converted.get("description") else text


def definitions(roots: Iterable[str], flavour: Flavour, custom: Mapping[str, JsonObject]) -> dict[str, JsonObject]:
    """The roots and everything they refer to, by key, in key order.

    custom: definitions by key, already in the form wanted, that built-in ones do not take the place of.  Roots that
    exist nowhere are left out.
    """
    known = all_definitions()
    found: dict[str, JsonObject] = {}
    pending = [*roots]
    converter = _Converter(flavour, pending.append)
    while pending:
        key = pending.pop()
        if key in found:
            continue
        if key in custom:
            found[key] = custom[key]
            pending.extend(references(custom[key]))
        elif key in known:
            found[key] = converter.definition(key, known[key])
    return dict(sorted(found.items()))


def references(schema: Any) -> list[str]:
    """Keys of the definitions that a converted schema, or anything with such in it, refers to."""
    if isinstance(schema, list):
        return [key for item in schema for key in references(item)]
    if not isinstance(schema, dict):
        return []
    reference = schema.get("$ref")
    own = [reference.rpartition("/")[2]] if isinstance(reference, str) else []
    return own + [key for value in schema.values() for key in references(value)]


def has_definition(row: ResourceType) -> bool:
    return row.schema in all_definitions()


def custom_key(group: str, version: str, kind: str) -> str:
    """The definition's name of a type without a built-in schema: its group reversed, `com.example.v1.Widget`."""
    return ".".join([*reversed(group.split(".")), version, kind])


def key_of(row: ResourceType) -> str:
    return row.schema if has_definition(row) else custom_key(row.group, row.version, row.kind)


def list_key(row: ResourceType) -> str:
    return f"{key_of(row)}List"

"""Schema definitions in the form of an OpenAPI document.

The definitions (`api/schema`) are JSON schema: optional fields have type lists with "null", kinds have enums for
apiVersion and kind, references point into `$defs`.  OpenAPI 3.0 has plain types, references in `allOf` where something
stands beside them, and `#/components/schemas`; OpenAPI 2.0 has `#/definitions` and no `oneOf`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

from kube32_sim.api.resources import ResourceType
from kube32_sim.api.schema import all_definitions

JsonObject = dict[str, Any]
Flavour = Literal[2, 3]

PREFIX: dict[Flavour, str] = {2: "#/definitions/", 3: "#/components/schemas/"}
OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
LIST_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta"
QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
INT_OR_STRING = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"

_OLD_PREFIX = len("#/$defs/")
_IDENTITY = ("apiVersion", "kind")
_SPECIAL: dict[tuple[str, Flavour], JsonObject] = {
    (QUANTITY, 2): {"type": "string"},
    (QUANTITY, 3): {"oneOf": [{"type": "string"}, {"type": "number"}]},
    (INT_OR_STRING, 2): {"type": "string", "format": "int-or-string"},
    (INT_OR_STRING, 3): {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]},
}


def _convert(schema: JsonObject, flavour: Flavour, used: Callable[[str], None]) -> JsonObject:
    """One schema; every definition it refers to is reported to `used`."""
    result: JsonObject = {}
    for key, value in schema.items():
        if key == "properties":
            result[key] = {name: _convert(part, flavour, used) for name, part in value.items()}
        elif key in ("items", "additionalProperties") and isinstance(value, dict):
            result[key] = _convert(value, flavour, used)
        elif key == "type" and isinstance(value, list):
            result[key] = value[0]
        elif key not in ("$ref", "oneOf"):
            result[key] = value
    if "$ref" in schema:
        target = schema["$ref"][_OLD_PREFIX:]
        used(target)
        reference = {"$ref": PREFIX[flavour] + target}
        result = {**result, "allOf": [reference]} if result and flavour == 3 else {**result, **reference}
    return result


def _definition(key: str, schema: JsonObject, flavour: Flavour, used: Callable[[str], None]) -> JsonObject:
    converted = _convert(schema, flavour, used)
    if "x-kubernetes-group-version-kind" in converted:
        for name in _IDENTITY:
            converted.get("properties", {}).get(name, {}).pop("enum", None)
    return {**converted, **_SPECIAL.get((key, flavour), {})}


def definitions(roots: Iterable[str], flavour: Flavour, custom: Mapping[str, JsonObject]) -> dict[str, JsonObject]:
    """The roots and everything they refer to, by key, in key order.

    custom: definitions by key, already in the form wanted, that take the place of built-in ones.  Roots that exist
    nowhere are left out.
    """
    known = all_definitions()
    found: dict[str, JsonObject] = {}
    pending = [*roots]
    while pending:
        key = pending.pop()
        if key in found:
            continue
        if key in custom:
            found[key] = custom[key]
            pending.extend(_references(custom[key]))
        elif key in known:
            found[key] = _definition(key, known[key], flavour, pending.append)
    return dict(sorted(found.items()))


def _references(schema: Any) -> list[str]:
    """Keys that a converted schema refers to."""
    if isinstance(schema, list):
        return [key for item in schema for key in _references(item)]
    if not isinstance(schema, dict):
        return []
    reference = schema.get("$ref")
    own = [reference.rpartition("/")[2]] if isinstance(reference, str) else []
    return own + [key for value in schema.values() for key in _references(value)]


def has_definition(row: ResourceType) -> bool:
    return row.schema in all_definitions()


def custom_key(row: ResourceType) -> str:
    """The definition's name of a type without a built-in schema: its group reversed, `com.example.v1.Widget`."""
    return ".".join([*reversed(row.group.split(".")), row.version, row.kind])


def key_of(row: ResourceType) -> str:
    return row.schema if has_definition(row) else custom_key(row)


def list_key(row: ResourceType) -> str:
    return f"{key_of(row)}List"


def custom_definitions(row: ResourceType, schema: JsonObject | None, flavour: Flavour) -> dict[str, JsonObject]:
    """Object and list definitions of a custom type; schema: that of its version, None where it has none."""
    prefix = PREFIX[flavour]
    kind = {"group": row.group, "version": row.version, "kind": row.kind}
    text: JsonObject = {"type": "string"}
    body: JsonObject = {"type": "object", **(schema or {})}
    own = body.get("properties", {})
    if own or schema is None:
        body["properties"] = {
            "apiVersion": text,
            "kind": text,
            **own,
            "metadata": {"allOf": [{"$ref": prefix + OBJECT_META}]} if flavour == 3 else {"$ref": prefix + OBJECT_META},
        }
    body["x-kubernetes-group-version-kind"] = [kind]
    items = {"type": "array", "items": {"$ref": prefix + key_of(row)}}
    listing: JsonObject = {
        "type": "object",
        "required": ["items"],
        "properties": {"apiVersion": text, "kind": text, "items": items, "metadata": {"$ref": prefix + LIST_META}},
        "x-kubernetes-group-version-kind": [{**kind, "kind": f"{row.kind}List"}],
    }
    return {key_of(row): body, list_key(row): listing}

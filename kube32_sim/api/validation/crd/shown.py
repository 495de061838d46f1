"""Values as Go prints them in messages: upstream's internal types, all fields by their Go names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

JsonObject = dict[str, Any]

_SCHEMA_FIELDS: tuple[tuple[str, str, Any], ...] = (
    ("ID", "id", ""),
    ("Schema", "$schema", ""),
    ("Ref", "$ref", None),
    ("Description", "description", ""),
    ("Type", "type", ""),
    ("Nullable", "nullable", False),
    ("Format", "format", ""),
    ("Title", "title", ""),
    ("Default", "default", None),
    ("Maximum", "maximum", None),
    ("ExclusiveMaximum", "exclusiveMaximum", False),
    ("Minimum", "minimum", None),
    ("ExclusiveMinimum", "exclusiveMinimum", False),
    ("MaxLength", "maxLength", None),
    ("MinLength", "minLength", None),
    ("Pattern", "pattern", ""),
    ("MaxItems", "maxItems", None),
    ("MinItems", "minItems", None),
    ("UniqueItems", "uniqueItems", False),
    ("MultipleOf", "multipleOf", None),
    ("Enum", "enum", None),
    ("MaxProperties", "maxProperties", None),
    ("MinProperties", "minProperties", None),
    ("Required", "required", None),
    ("Items", "items", None),
    ("AllOf", "allOf", None),
    ("OneOf", "oneOf", None),
    ("AnyOf", "anyOf", None),
    ("Not", "not", None),
    ("Properties", "properties", None),
    ("AdditionalProperties", "additionalProperties", None),
    ("PatternProperties", "patternProperties", None),
    ("Dependencies", "dependencies", None),
    ("AdditionalItems", "additionalItems", None),
    ("Definitions", "definitions", None),
    ("ExternalDocs", "externalDocs", None),
    ("Example", "example", None),
    ("XPreserveUnknownFields", "x-kubernetes-preserve-unknown-fields", None),
    ("XEmbeddedResource", "x-kubernetes-embedded-resource", False),
    ("XIntOrString", "x-kubernetes-int-or-string", False),
    ("XListMapKeys", "x-kubernetes-list-map-keys", None),
    ("XListType", "x-kubernetes-list-type", None),
    ("XMapType", "x-kubernetes-map-type", None),
    ("XValidations", "x-kubernetes-validations", None),
)
"""Go name, name in JSON, what the field is where it is missing; in the order of the struct."""

GO_NAMES = tuple((go, name) for go, name, _ in _SCHEMA_FIELDS)


def shown_version(version: JsonObject) -> JsonObject:
    """One of `InternalSpec.versions`."""
    schema = version.get("schema")
    return {
        "Name": version.get("name", ""),
        "Served": bool(version.get("served")),
        "Storage": bool(version.get("storage")),
        "Deprecated": bool(version.get("deprecated")),
        "DeprecationWarning": version.get("deprecationWarning"),
        "Schema": None if schema is None else {"OpenAPIV3Schema": _optional(schema.get("openAPIV3Schema"))},
        "Subresources": _subresources(version.get("subresources")),
        "AdditionalPrinterColumns": _columns(version.get("additionalPrinterColumns")),
        "SelectableFields": [{"JSONPath": each.get("jsonPath", "")} for each in version.get("selectableFields") or ()]
        or None,
    }


def _subresources(subresources: JsonObject | None) -> JsonObject | None:
    if subresources is None:
        return None
    scale = subresources.get("scale")
    return {
        "Status": subresources.get("status"),
        "Scale": None
        if scale is None
        else {
            "SpecReplicasPath": scale.get("specReplicasPath", ""),
            "StatusReplicasPath": scale.get("statusReplicasPath", ""),
            "LabelSelectorPath": scale.get("labelSelectorPath"),
        },
    }


def _columns(columns: list[JsonObject] | None) -> list[JsonObject] | None:
    return [
        {
            "Name": each.get("name", ""),
            "Type": each.get("type", ""),
            "Format": each.get("format", ""),
            "Description": each.get("description", ""),
            "Priority": each.get("priority", 0),
            "JSONPath": each.get("jsonPath", ""),
        }
        for each in columns or ()
    ] or None


def shown_schema(schema: JsonObject) -> JsonObject:
    """A whole openAPIV3Schema."""
    return {go: _shown(name, schema.get(name, missing)) for go, name, missing in _SCHEMA_FIELDS}


def _optional(schema: JsonObject | None) -> JsonObject | None:
    return None if schema is None else shown_schema(schema)


def _shown(name: str, value: Any) -> Any:
    make = _DEEPER.get(name)
    if value is None or make is None:
        return int(value) if isinstance(value, float) and value.is_integer() else value
    return make(value)


def _list(schemas: list[JsonObject]) -> list[JsonObject]:
    return [shown_schema(each) for each in schemas]


def _map(schemas: JsonObject) -> JsonObject:
    return {name: shown_schema(each) for name, each in sorted(schemas.items())}


def _or_list(value: JsonObject | list[JsonObject]) -> JsonObject:
    if isinstance(value, list):
        return {"Schema": None, "JSONSchemas": _list(value)}
    return {"Schema": shown_schema(value), "JSONSchemas": None}


def _or_bool(value: JsonObject | bool) -> JsonObject:
    if isinstance(value, bool):
        return {"Allows": value, "Schema": None}
    return {"Allows": True, "Schema": shown_schema(value)}


def _dependencies(value: JsonObject) -> JsonObject:
    return {
        name: {"Schema": None, "Property": each}
        if isinstance(each, list)
        else {"Schema": shown_schema(each), "Property": None}
        for name, each in sorted(value.items())
    }


_RULE_FIELDS = (
    ("Rule", "rule", ""),
    ("Message", "message", ""),
    ("MessageExpression", "messageExpression", ""),
    ("Reason", "reason", None),
    ("FieldPath", "fieldPath", ""),
    ("OptionalOldSelf", "optionalOldSelf", None),
)


def shown_rule(rule: JsonObject) -> JsonObject:
    """One of x-kubernetes-validations."""
    return {go: rule.get(name, missing) for go, name, missing in _RULE_FIELDS}


def _rules(rules: list[JsonObject]) -> list[JsonObject]:
    return [shown_rule(each) for each in rules]


def _docs(value: JsonObject) -> JsonObject:
    return {"Description": value.get("description", ""), "URL": value.get("url", "")}


_DEEPER: dict[str, Callable[[Any], Any]] = {
    "items": _or_list,
    "allOf": _list,
    "oneOf": _list,
    "anyOf": _list,
    "not": shown_schema,
    "properties": _map,
    "additionalProperties": _or_bool,
    "patternProperties": _map,
    "dependencies": _dependencies,
    "additionalItems": _or_bool,
    "definitions": _map,
    "externalDocs": _docs,
    "x-kubernetes-validations": _rules,
}

"""`x-kubernetes-list-type`, `-list-map-keys` and `-map-type` of one schema: what they ask of it and of its items."""

from __future__ import annotations

from typing import Any

from kube32_sim.api.errors import FieldError, forbidden_field, invalid_value, not_supported, required
from kube32_sim.api.validation.crd.nodes import LIST_TYPE, MAP_KEYS, MAP_TYPE

JsonObject = dict[str, Any]

_ATOMIC = "must be atomic as item of a list with x-kubernetes-list-type=set"
_KEY = "this property is in x-kubernetes-list-map-keys, so it"


def map_faults(schema: JsonObject, path: str) -> list[FieldError]:
    """Of `x-kubernetes-map-type`."""
    value = schema.get(MAP_TYPE)
    if value is None:
        return []
    found = _typed(schema, path, "object", "x-kubernetes-map-type")
    if value not in ("atomic", "granular"):
        found.append(not_supported(f"{path}.{MAP_TYPE}", value, ("atomic", "granular")))
    return found


def _typed(schema: JsonObject, path: str, kind: str, key: str) -> list[FieldError]:
    """The schema's type has to be `kind`, for it has `key`."""
    actual, why = schema.get("type", ""), f"must be {kind} if {key} is specified"
    if not actual:
        return [required(f"{path}.type", why)]
    return [] if actual == kind else [invalid_value(f"{path}.type", actual, why)]


def list_faults(schema: JsonObject, path: str, *, atomic_sets: bool, map_keys: bool) -> list[FieldError]:
    """Of `x-kubernetes-list-type` and `x-kubernetes-list-map-keys`; the flags are `Options`'."""
    value = schema.get(LIST_TYPE)
    found: list[FieldError] = []
    if value is not None:
        found = _typed(schema, path, "array", LIST_TYPE)
        if not found and atomic_sets and is_loose_set(schema):
            found = _loose_set(schema["items"], f"{path}.items")
        if value not in ("atomic", "set", "map"):
            found.append(not_supported(f"{path}.{LIST_TYPE}", value, ("atomic", "set", "map")))
    keys = schema.get(MAP_KEYS)
    why = "must be map if x-kubernetes-list-map-keys is non-empty"
    if keys and value is None:
        found.append(required(f"{path}.{LIST_TYPE}", why))
    elif keys and value != "map":
        found.append(invalid_value(f"{path}.{LIST_TYPE}", value, why))
    if value == "map":
        found += _map_list(schema, path, keys or [])
    return found + (key_faults(schema, path) if map_keys else [])


def is_loose_set(schema: JsonObject) -> bool:
    """Whether the schema is of a set whose items are merged, and so not the same or different as a whole."""
    items = schema.get("items")
    if schema.get(LIST_TYPE) != "set" or not isinstance(items, dict):
        return False
    if items.get("type") == "array":
        return items.get(LIST_TYPE) not in (None, "atomic")
    return items.get("type") == "object" and items.get(MAP_TYPE) != "atomic"


def _loose_set(items: JsonObject, path: str) -> list[FieldError]:
    """Upstream shows the list type of the items where it is about their map type; Go prints a missing one as "null"."""
    key = LIST_TYPE if items["type"] == "array" else MAP_TYPE
    return [invalid_value(f"{path}.{key}", items.get(LIST_TYPE, "null"), _ATOMIC)]


def _map_list(schema: JsonObject, path: str, keys: list[str]) -> list[FieldError]:
    found: list[FieldError] = []
    items = schema.get("items")
    if not keys:
        found.append(required(f"{path}.{MAP_KEYS}", "must not be empty if x-kubernetes-list-type is map"))
    if items is None:
        found.append(required(f"{path}.items", "must have a schema if x-kubernetes-list-type is map"))
    elif isinstance(items, list):
        why = "must only have a single schema if x-kubernetes-list-type is map"
        found.append(invalid_value(f"{path}.items", items, why))
    elif items.get("type") != "object":
        why = "must be object if parent array's x-kubernetes-list-type is map"
        found.append(invalid_value(f"{path}.items.type", items.get("type", ""), why))
    else:
        found += _keys(items, path, keys)
    return found


def _keys(items: JsonObject, path: str, keys: list[str]) -> list[FieldError]:
    found: list[FieldError] = []
    properties = items.get("properties") or {}
    for index, key in enumerate(keys):
        field = properties.get(key)
        if field is None:
            found.append(invalid_value(f"{path}.{MAP_KEYS}", keys, "entries must all be names of item properties"))
        elif field.get("type") in ("array", "object"):
            why = "must be a scalar type if parent array's x-kubernetes-list-type is map"
            found.append(invalid_value(f"{path}.items.properties[{key}].type", items["type"], why))
        if key in keys[:index]:
            found.append(invalid_value(f"{path}.{MAP_KEYS}", keys, "must not contain duplicate entries"))
    return found


def key_faults(schema: JsonObject, path: str) -> list[FieldError]:
    """Items of sets and maps are never null, and those of maps never without a key."""
    items, kind = schema.get("items"), schema.get(LIST_TYPE)
    if not isinstance(items, dict) or kind not in ("set", "map"):
        return []
    found: list[FieldError] = []
    if items.get("nullable"):
        why = f"cannot be nullable when x-kubernetes-list-type is {kind}"
        found.append(forbidden_field(f"{path}.items.nullable", why))
    properties, always = items.get("properties") or {}, items.get("required") or ()
    for key in (schema.get(MAP_KEYS) or ()) if kind == "map" else ():
        field = properties.get(key)
        if field is None:
            continue
        if key not in always and field.get("default") is None:
            why = f"{_KEY} must have a default or be a required property"
            found.append(required(f"{path}.items.properties[{key}].default", why))
        if field.get("nullable"):
            found.append(forbidden_field(f"{path}.items.properties[{key}].nullable", f"{_KEY} cannot be nullable"))
    return found

"""JSON values as Go has them: equality that tells 1, 1.0 and true apart, copies, and what schemas say of a value."""

from __future__ import annotations

from typing import Any

from kube32_sim.api.structural.formats import format_check

JsonObject = dict[str, Any]

MOST_INT64, LEAST_INT64 = (1 << 63) - 1, -(1 << 63)
_MOST_EXACT = (1 << 53) - 1
"""The largest float that go-openapi takes for an integer."""

_NUMERIC_FORMATS = {"integer": ("int32", "int64"), "number": ("float", "double")}


def copied(value: Any) -> Any:
    """A value that shares nothing which could change."""
    kind = type(value)
    if kind is dict:
        return {name: copied(item) for name, item in value.items()}
    return [copied(item) for item in value] if kind is list else value


def kept(value: Any) -> Any:
    """A copy of what no schema speaks of, as it is when it is read again."""
    kind = type(value)
    if kind is dict:
        return {name: kept(item) for name, item in value.items()}
    if kind is list:
        return [kept(item) for item in value]
    return reread(value, None) if kind is float else value


def reread(value: float, schema: JsonObject | None) -> float:
    """A float as it is when it is read again: an integer where it has no fraction, for Go writes none then.

    Go's clients could not read `1.0` into an integer.  Where the schema wants something else it stays what it is.
    """
    types = types_of(schema or {})
    return int(value) if whole(value) and (not types or not _NUMERIC_FORMATS.keys().isdisjoint(types)) else value


def same(left: Any, right: Any) -> bool:
    """Go's DeepEqual."""
    kind = type(left)
    if kind is not type(right):
        return False
    if kind is dict:
        return left.keys() == right.keys() and all(map(same, left.values(), map(right.__getitem__, left)))
    if kind is list:
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right)


def shown(value: Any) -> Any:
    """A value as Go's JSON has it: maps sorted, floats without a fraction where there is none."""
    if isinstance(value, dict):
        return {name: shown(value[name]) for name in sorted(value)}
    if isinstance(value, float) and abs(value) < 1e21 and value == int(value):
        return int(value)
    return [shown(item) for item in value] if isinstance(value, list) else value


def whole(value: float) -> bool:
    """Whether a float counts as an integer."""
    return -_MOST_EXACT <= value <= _MOST_EXACT and value == int(value)


def json_type(value: Any) -> tuple[str, str]:
    """The type and the format that a value has by itself; an integer that Go cannot hold is a float."""
    kind = type(value)
    if kind is int:
        return ("integer", "int64") if LEAST_INT64 <= value <= MOST_INT64 else ("number", "float64")
    if kind is float:
        return "number", "float64"
    return {str: "string", bool: "boolean", list: "array", dict: "object"}[kind], ""


def types_of(schema: JsonObject) -> tuple[str, ...]:
    """The types a schema allows; none: any."""
    if schema.get("x-kubernetes-int-or-string"):
        return ("integer", "string")
    return (schema["type"],) if schema.get("type") else ()


def format_of(schema: JsonObject) -> str:
    """The format of a schema, where upstream knows it for that type."""
    name = schema.get("format") or ""
    types = types_of(schema)
    if not name or (len(types) == 1 and types[0] in _NUMERIC_FORMATS):
        return name if name and name in _NUMERIC_FORMATS[types[0]] else ""
    if len(types) == 1 and types[0] != "string":
        return ""
    return name if format_check(name) is not None else ""


def additional(schema: JsonObject) -> JsonObject | None:
    """The schema of properties that have no name of their own."""
    found = schema.get("additionalProperties")
    return found if isinstance(found, dict) else None


def items_of(schema: JsonObject) -> JsonObject | None:
    found = schema.get("items")
    return found if isinstance(found, dict) else None


def child_of(schema: JsonObject, name: str) -> JsonObject | None:
    """The schema of what is under a name in an object."""
    properties = schema.get("properties")
    if properties and name in properties:
        found: JsonObject = properties[name]
        return found
    return additional(schema)


def must_go(schema: JsonObject | None) -> bool:
    """Whether a null is dropped: the schema allows none, and no default comes in its place."""
    return schema is not None and not schema.get("nullable") and schema.get("default") is None

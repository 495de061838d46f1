"""Small helpers on objects: identity, values of selectable fields."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kube32_sim.api.resources import ResourceType

JsonObject = dict[str, Any]


def object_key(row: ResourceType, namespace: str, name: str) -> str:
    """Where an object is kept: `namespace/name`, or the name alone for cluster-scoped types."""
    return f"{namespace}/{name}" if row.namespaced else name


def at(obj: Any, path: str) -> Any:
    """The value at a dotted path of field names, None where there is none."""
    for part in path.split("."):
        if not isinstance(obj, dict):
            return None
        obj = obj.get(part)
    return obj


_ZERO = {"spec.hostNetwork": "false", "spec.unschedulable": "false", "status.replicas": "0", "status.successful": "0"}
"""Selectable fields that are no strings in Go show their zero value where they are absent."""

_ELSEWHERE = {"status.successful": "status.succeeded"}
"""Selectable fields whose label is not their path."""


def field_text(value: Any) -> str:
    """A value as field selectors compare it; lists and objects have none."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else ""


def field_reader(row: ResourceType) -> Callable[[JsonObject], tuple[str, ...]]:
    """How to read the values of a row's selectable fields, in their order, off an object in the stored form.

    The kind's strategy has the first word (`Strategy.fields`); otherwise a value is at its path.
    """
    if not row.fields:
        return lambda _: ()
    own = row.strategy.fields
    paths = [(_ELSEWHERE.get(path, path).split("."), _ZERO.get(path, "")) for path in row.fields]
    readers = [(parts[0], parts[1:], zero) for parts, zero in paths]
    source = row.fields.index("source") if row.kind == "Event" and "source" in row.fields else None

    def read(obj: JsonObject) -> tuple[str, ...]:
        special = own(obj)
        if special is not None:
            return tuple(special.get(path, "") for path in row.fields)
        values = []
        for first, inner, zero in readers:
            value = obj.get(first)
            for part in inner:
                value = value.get(part) if isinstance(value, dict) else None
            values.append(value if value.__class__ is str else zero if value is None else field_text(value))
        if source is not None:
            values[source] = _event_source(obj)
        return tuple(values)

    return read


def _event_source(event: JsonObject) -> str:
    return field_text(at(event, "source.component")) or field_text(event.get("reportingComponent"))

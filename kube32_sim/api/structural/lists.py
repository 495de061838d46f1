"""Lists that are sets or maps: nothing may be in them twice (upstream's `schema/listtype`)."""

from __future__ import annotations

import json
from typing import Any

from kube32_sim.api.errors import FieldError, duplicate, invalid_value
from kube32_sim.api.structural.values import shown

JsonObject = dict[str, Any]


def is_set_or_map(schema: JsonObject) -> bool:
    return schema.get("x-kubernetes-list-type") in ("set", "map")


def list_faults(schema: JsonObject, value: Any, path: str) -> list[FieldError]:
    """Failures of one list, not of what is in it."""
    if not isinstance(value, list):
        return []
    if schema["x-kubernetes-list-type"] == "set":
        return [duplicate(f"{path}[{at}]", shown(value[at])) for at in _repeated(value)]
    for at, item in enumerate(value):
        if item is not None and not isinstance(item, dict):
            why = "must be an object for an array of list-type map"
            return [invalid_value(f"{path}[{at}]", shown(item), why)]
    keys = schema.get("x-kubernetes-list-map-keys") or ()
    found = [{name: item[name] for name in sorted(keys) if name in item} if item else {} for item in value]
    return [duplicate(f"{path}[{at}]", shown(found[at])) for at in _repeated(found)]


def _repeated(values: list[Any]) -> list[int]:
    """Where something is for the second time (not for the third)."""
    seen: dict[Any, int] = {}
    found = []
    for at, value in enumerate(values):
        key = (type(value), json.dumps(value, sort_keys=True) if isinstance(value, dict | list) else value)
        seen[key] = seen.get(key, 0) + 1
        if seen[key] == 2:
            found.append(at)
    return found

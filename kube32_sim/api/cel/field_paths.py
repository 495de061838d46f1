"""The `fieldPath` of a rule: a path below the place of the rule (`.spec.x`, `.labels['a.b']`), as errors show it."""

from __future__ import annotations

import re
from typing import Any

_STEP = re.compile(r"\.([^.\[\]]+)|\['((?:\\.|[^'\\])*)'\]", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_LETTERS = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def normalized(path: str, schema: dict[str, Any]) -> str:
    """`.labels['a.b']` of a map is `labels[a.b]`, of properties `labels.a.b`; "" for a path that leads nowhere."""
    made, at = "", 0
    while at < len(path):
        found = _STEP.match(path, at)
        if found is None:
            return ""
        at = found.end()
        name = found[1] or _ESCAPED.sub(lambda each: _LETTERS.get(each[1], each[1]), found[2])
        properties, values = schema.get("properties"), schema.get("additionalProperties")
        if properties:
            if name not in properties:
                return ""
            made, schema = f"{made}.{name}" if made else name, properties[name]
        elif isinstance(values, dict):
            made, schema = f"{made}[{name}]", values
        else:
            return ""
    return made

"""Going through schemas: which have nothing to look at, and all that are nested in one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

JsonObject = dict[str, Any]

PRESERVES = "x-kubernetes-preserve-unknown-fields"
EMBEDDED = "x-kubernetes-embedded-resource"
INT_OR_STRING = "x-kubernetes-int-or-string"
LIST_TYPE = "x-kubernetes-list-type"
MAP_TYPE = "x-kubernetes-map-type"
MAP_KEYS = "x-kubernetes-list-map-keys"
RULES = "x-kubernetes-validations"

DEEPEST = 100
"""Levels that a schema may be nested: as deep as the simulator's own recursion goes."""

QUANTIFIERS = ("allOf", "oneOf", "anyOf")
_MAPS = ("properties", "patternProperties", "definitions")
_PLAIN_TYPES = frozenset(("string", "integer", "boolean", "number", "object"))
_PLAIN_NAMES = (
    "type description title format minimum maximum exclusiveMinimum exclusiveMaximum minLength maxLength minItems"
    " maxItems multipleOf minProperties maxProperties enum required nullable example externalDocs"
)
_PLAIN = frozenset(_PLAIN_NAMES.split())


def is_plain(schema: JsonObject) -> bool:
    """Whether no rule about the schema of a field or an item can find anything; most schemas are so."""
    return schema.get("type") in _PLAIN_TYPES and schema.keys() <= _PLAIN


def nodes(schema: JsonObject) -> Iterator[JsonObject]:
    """The schema and all that are nested in it, wherever."""
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        yield node
        for key, value in node.items():
            if key in _MAPS:
                waiting += value.values()
            elif key in ("items", "additionalProperties", "additionalItems", "not") or key in QUANTIFIERS:
                waiting += (each for each in (value if isinstance(value, list) else [value]) if isinstance(each, dict))
            elif key == "dependencies":
                waiting += (each for each in value.values() if isinstance(each, dict))


def schemas_of(spec: JsonObject) -> Iterator[JsonObject]:
    """The openAPIV3Schema of every version of a definition that has one."""
    for version in spec.get("versions") or ():
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        if schema is not None:
            yield schema

"""All checks of one openAPIV3Schema, in upstream's order: what there may be at the root, that it is structural, that
its defaults are good, what no schema may have, and, where no more than defaults are wrong, its rules in CEL."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import orjson

from kube32_sim.api.errors import FieldError, forbidden_field, invalid_value
from kube32_sim.api.structural.defaults import default_faults
from kube32_sim.api.validation.crd.nodes import DEEPEST
from kube32_sim.api.validation.crd.openapi import OpenApiWalk, Options
from kube32_sim.api.validation.crd.shown import GO_NAMES, shown_schema
from kube32_sim.api.validation.crd.structural import structural_faults

JsonObject = dict[str, Any]

_AT_ROOT = (
    "Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern"
    " MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields"
    " XValidations"
)
_ALLOWED_AT_ROOT = frozenset(_AT_ROOT.split())
_ONLY_OBJECT = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled'
_ONLY_FIELDS = f"only [{_AT_ROOT}] fields are allowed at the root of the schema if the status subresource is enabled"
_LARGE = 32768
"""Bytes of a schema whose rules are not remembered."""
_TOO_DEEP = f"must not be nested deeper than {DEEPEST} levels"


def schema_faults(
    schema: JsonObject, path: str, *, status: bool, options: Options, old: JsonObject | None
) -> list[FieldError]:
    """status: the status subresource is there.  old: the schema that this version had before."""
    walk = OpenApiWalk(options)
    walk.visit(schema, path)
    if walk.too_deep:
        return [forbidden_field(walk.too_deep, _TOO_DEEP)]
    found = _root(schema, path) if status else []
    if schema.get("nullable"):
        found.append(forbidden_field(f"{path}.nullable", "nullable cannot be true at the root"))
    defaults: list[FieldError] = []
    if not walk.unconvertible:
        structural = structural_faults(schema, path)
        if not structural and walk.has_defaults:
            defaults = default_faults(schema, path)
        found += structural + defaults
    found += walk.found
    if walk.unconvertible and not found:
        found.append(invalid_value(path, "", walk.unconvertible))
    if walk.has_rules and len(found) == len(defaults):
        found += _rules(schema, path, old)
    return found


def _root(schema: JsonObject, path: str) -> list[FieldError]:
    """Where status is apart, a schema says nothing about the whole that would be lost for the status alone."""
    for go, name in GO_NAMES:
        if schema.get(name) in (None, "", False, [], {}):
            continue
        if name == "type":
            if schema["type"] != "object":
                return [invalid_value(f"{path}.type", schema["type"], _ONLY_OBJECT)]
        elif go not in _ALLOWED_AT_ROOT:
            return [invalid_value(path, shown_schema(schema), _ONLY_FIELDS)]
    return []


def _rules(schema: JsonObject, path: str, old: JsonObject | None) -> list[FieldError]:
    """What is wrong with the rules.  It takes long to find out, and tests store the same definition again and again."""
    before = None if old is None else orjson.dumps(old)
    given = orjson.dumps(schema)
    checked = _checked if len(given) < _LARGE else _checked.__wrapped__
    return list(checked(given, path, before))


@lru_cache(maxsize=64)
def _checked(schema: bytes, path: str, old: bytes | None) -> tuple[FieldError, ...]:
    """Of schemas in JSON.  Imported late: most definitions have no rules, and CEL takes its time to load."""
    from kube32_sim.api.validation.crd.expressions import check_schema_rules

    return tuple(check_schema_rules(orjson.loads(schema), path, None if old is None else orjson.loads(old)))

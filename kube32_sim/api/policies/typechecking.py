"""What the expressions of a ValidatingAdmissionPolicy get wrong about the types that it is for: its `typeChecking`.

A policy is for types that nobody may have looked at when it is written, so its expressions are compiled without knowing
them; this compiles them once more, against schemas, and finds fields that do not exist.  What is found is told in the
policy's status and changes nothing else.  Upstream's `validating/typechecking.go`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from kube32_sim.api import schema
from kube32_sim.api.cel.cost_sizes import escape, sized_type
from kube32_sim.api.cel.schema_types import checked_type
from kube32_sim.api.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    CelType,
    list_of,
    map_of,
    object_type,
)
from kube32_sim.api.groupkinds import split_version
from kube32_sim.api.policies.expressions import Scope
from kube32_sim.api.resources import ResourceTable, ResourceType

JsonObject = dict[str, Any]

MOST_TYPES = 10
"""Of one rule's, after which no more are looked at."""
_SIMPLE = {"boolean": BOOL, "integer": INT, "number": DOUBLE, "string": STRING}
_FORMATS = {"byte": BYTES, "date-time": TIMESTAMP}


def type_warnings(policy: JsonObject, table: ResourceTable) -> list[JsonObject]:
    """The ExpressionWarnings of a policy."""
    spec = policy["spec"]
    params = _params(spec.get("paramKind"), table)
    scopes = [(f"{row.group}/{row.version}, Kind={row.kind}", _scope(row, params, spec)) for row in _rows(spec, table)]
    found: list[JsonObject] = []
    for index, validation in enumerate(spec.get("validations") or ()):
        for field in ("expression", "messageExpression"):
            source = validation.get(field)
            faults = [(name, scope.compile(source).fault) for name, scope in scopes] if source else []
            told = [f"{name}: {fault.removeprefix('compilation failed: ')}\n" for name, fault in faults if fault]
            if told:
                found.append({"fieldRef": f"spec.validations[{index}].{field}", "warning": "\n".join(told)})
    return found


def _scope(row: ResourceType, params: CelType | None, spec: JsonObject) -> Scope:
    kind = _type_of(row)
    types = {"object": kind, "oldObject": kind, **({"params": params} if params is not None else {})}
    scope = Scope(params=params is not None, composed=True, types=types)
    for variable in spec.get("variables") or ():
        scope.add(variable["name"], variable["expression"])
    return scope


def _rows(spec: JsonObject, table: ResourceTable) -> list[ResourceType]:
    """The types that a policy names, by group, version and kind; none of a rule with wildcards."""
    found: dict[tuple[str, str, str], ResourceType] = {}
    for rule in (spec.get("matchConstraints") or {}).get("resourceRules") or ():
        count = 0
        for group, version, plural in _named(rule):
            row = table.by_path(group, version, plural)
            if row is not None:
                found[row.group, row.version, row.kind] = row
                count += 1
            if count == MOST_TYPES:
                return [found[key] for key in sorted(found)]
    return [found[key] for key in sorted(found)]


def _named(rule: JsonObject) -> Iterator[tuple[str, str, str]]:
    groups, versions = rule.get("apiGroups") or (), rule.get("apiVersions") or ()
    if any("*" in each for each in (*groups, *versions)):
        return
    plurals = [each for each in rule.get("resources") or () if "*" not in each and "/" not in each]
    for group in sorted(groups):
        for version in sorted(versions):
            for plural in sorted(plurals):
                yield group, version, plural


def _params(kind: JsonObject | None, table: ResourceTable) -> CelType | None:
    """The type of parameters: any where nobody knows it; None where the policy has none."""
    if kind is None:
        return None
    group, version = split_version(kind["apiVersion"])
    row = table.by_kind(group, version, kind["kind"])
    return DYN if row is None else _type_of(row)


def _type_of(row: ResourceType) -> CelType:
    if row.custom is not None:
        sized = sized_type(row.custom.declared, resource_root=True)
        return DYN if sized is None else checked_type(sized, f"{row.kind}_type")
    return _definition(row.schema) if row.schema else DYN


@cache
def _definition(key: str) -> CelType:
    return _object(key, ())


def _object(key: str, around: tuple[str, ...]) -> CelType:
    """The type of a definition.  around: the definitions that it is inside of; one that is inside itself is of any."""
    found = schema.definition(key)
    properties = found.get("properties")
    if key in around:
        return DYN
    if not properties:
        return _type(found, (*around, key))
    named = ((escape(name), inner) for name, inner in properties.items())
    fields = {name: _type(inner, (*around, key)) for name, inner in named if name is not None}
    return object_type(key.replace(".", "_").replace("-", "_"), fields)


def _type(found: Mapping[str, Any], around: tuple[str, ...]) -> CelType:
    key = schema.reference(dict(found))
    for part in found.get("allOf", ()):
        key = key or schema.reference(part)
    if key is not None:
        return _object(key, around)
    kind = schema.json_type(dict(found))
    if kind == "array":
        return list_of(_type(found.get("items") or {}, around))
    if kind == "object":
        values = found.get("additionalProperties")
        return map_of(_type(values, around)) if isinstance(values, dict) else DYN
    if kind == "string":
        return _FORMATS.get(found.get("format", ""), STRING)
    return _SIMPLE.get(kind or "", DYN)

"""Whether the defaults of a schema are good ones: known to it, valid, and proper metadata where they are metadata.

What upstream's ValidateDefaults finds when a CustomResourceDefinition is stored, but for CEL rules.
"""

from __future__ import annotations

from typing import Any

from kube32_sim.api.errors import FieldError, aggregate, invalid_value
from kube32_sim.api.structural.embedded import Malformed, coerce, embedded_faults, is_embedded
from kube32_sim.api.structural.explaining import explain
from kube32_sim.api.structural.pruning import META_FIELDS, Pruner
from kube32_sim.api.structural.values import copied, items_of, shown
from kube32_sim.api.structural.visiting import visitor_of

JsonObject = dict[str, Any]
Steps = tuple[str | int, ...]
"""Where a value is within its resource."""

_AS_RESOURCE = {"x-kubernetes-embedded-resource": True}


def default_faults(schema: JsonObject, path: str) -> list[FieldError]:
    """Failures of all defaults.  schema: of a whole object.  path: of the schema within what is validated."""
    root = {**schema, **_AS_RESOURCE}
    return _faults(root, path, root, (), inside_meta=False)


def _faults(schema: JsonObject, path: str, root: JsonObject, steps: Steps, *, inside_meta: bool) -> list[FieldError]:
    """root, steps: the resource that the value is in, the innermost one, and where."""
    if is_embedded(schema):
        root, steps, inside_meta = schema, (), False
    found: list[FieldError] = []
    if schema.get("default") is not None:
        default = schema["default"]
        check = _meta_faults(root, steps, default, f"{path}.default") if inside_meta else None
        found += _value_faults(schema, default, f"{path}.default") if check is None else check
        if check == []:
            found += _invalid(schema, default, f"{path}.default")
    items = items_of(schema)
    if items is not None:
        found += _faults(items, f"{path}.items", root, (*steps, 0), inside_meta=inside_meta)
    for name, each in (schema.get("properties") or {}).items():
        inside = inside_meta or (is_embedded(schema) and name in META_FIELDS)
        found += _faults(each, f"{path}.properties[{name}]", root, (*steps, name), inside_meta=inside)
    return found


def _value_faults(schema: JsonObject, default: Any, path: str) -> list[FieldError]:
    """Of a default outside of metadata."""
    found: list[FieldError] = []
    unknown: list[str] = []
    if isinstance(default, dict | list):
        Pruner(schema).prune(default, unknown, (None, "default"))
    if unknown:
        found.append(invalid_value(path, shown(default), "must not have unknown fields"))
    try:
        wrong = _resource_faults(schema, copied(default), path)
    except Malformed as error:
        return [*found, error.fault]
    return [*found, *(wrong or _invalid(schema, default, path))]


def _invalid(schema: JsonObject, default: Any, path: str) -> list[FieldError]:
    return [fault.error(path) for fault in explain(schema, default).faults.values()]


def _resource_faults(schema: JsonObject, value: Any, path: str) -> list[FieldError]:
    """Of the embedded resources in a value, whose metadata is typed in place; raises Malformed."""
    visitor = visitor_of(schema, is_embedded)
    found: list[FieldError] = []
    dropped: list[str] = []
    if visitor is not None:
        visitor.visit(value, path, lambda _, item, at: dropped.extend(coerce(item, at)))
        visitor.visit(value, path, lambda _, item, at: found.extend(embedded_faults(item, at)))
    return found


def _meta_faults(root: JsonObject, steps: Steps, default: Any, path: str) -> list[FieldError]:
    """Of a default that is a part of metadata: the resource around it must be a proper one."""
    value = copied(default)
    for step in reversed(steps):
        value = {step: value} if isinstance(step, str) else [value]
    value |= {"kind": "Validation", "apiVersion": "validation/v1"}
    try:
        found = [str(fault) for fault in _resource_faults({**root, **_AS_RESOURCE}, value, "")]
    except Malformed as error:
        found = [str(error)]
    if not found:
        return []
    return [invalid_value(path, shown(default), f"must result in valid metadata: {aggregate(found)}")]

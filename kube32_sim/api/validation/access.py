"""What SubjectAccessReview and its relatives must say (upstream's `pkg/apis/authorization/validation`)."""

from __future__ import annotations

from typing import Any

from kube32_sim.api.errors import FieldError, forbidden_field, invalid_value, required
from kube32_sim.api.validation.names import label_value, qualified_name

JsonObject = dict[str, Any]

_SYSTEM = frozenset(("uid", "creationTimestamp", "deletionTimestamp", "selfLink", "managedFields"))
"""Metadata that does not count: a server takes it off, or leaves it out of the question."""


def self_access_errors(obj: JsonObject) -> list[FieldError]:
    spec = obj.get("spec") or {}
    return [*_attributes(spec), *_selectors(spec), *_metadata(obj, "must be empty")]


def subject_access_errors(obj: JsonObject) -> list[FieldError]:
    spec = obj.get("spec") or {}
    return [*_attributes(spec), *_subject(spec), *_selectors(spec), *_metadata(obj, "must be empty")]


def local_access_errors(obj: JsonObject) -> list[FieldError]:
    spec, namespace = obj.get("spec") or {}, obj["metadata"].get("namespace", "")
    others = {**obj, "metadata": {key: value for key, value in obj["metadata"].items() if key != "namespace"}}
    errors = [*_attributes(spec), *_subject(spec), *_selectors(spec)]
    if _metadata(others, ""):
        errors += _metadata(obj, "must be empty except for namespace")
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None and resource.get("namespace", "") != namespace:
        where = "spec.resourceAttributes.namespace"
        errors.append(invalid_value(where, resource.get("namespace", ""), "must match metadata.namespace"))
    if path is not None:
        errors.append(invalid_value("spec.nonResourceAttributes", _shown(path), "disallowed on this kind of request"))
    return errors


def _shown(path: JsonObject) -> JsonObject:
    return {"Path": path.get("path", ""), "Verb": path.get("verb", "")}


def _attributes(spec: JsonObject) -> list[FieldError]:
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None and path is not None:
        why = "cannot be specified in combination with resourceAttributes"
        return [invalid_value("spec.nonResourceAttributes", _shown(path), why)]
    if resource is None and path is None:
        why = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        return [invalid_value("spec.resourceAttributes", None, why)]
    return []


def _subject(spec: JsonObject) -> list[FieldError]:
    if spec.get("user") or spec.get("groups"):
        return []
    return [invalid_value("spec.user", "", "at least one of user or group must be specified")]


def _metadata(obj: JsonObject, why: str) -> list[FieldError]:
    said = {key: value for key, value in obj["metadata"].items() if value and key not in _SYSTEM}
    return [invalid_value("metadata", said, why)] if said else []


def _selectors(spec: JsonObject) -> list[FieldError]:
    attributes = spec.get("resourceAttributes") or {}
    errors = []
    for kind in ("fieldSelector", "labelSelector"):
        selector = attributes.get(kind)
        if selector is not None:
            errors += _selector(selector, f"spec.resourceAttributes.{kind}", labels=kind == "labelSelector")
    return errors


def _selector(selector: JsonObject, path: str, *, labels: bool) -> list[FieldError]:
    errors = []
    raw, requirements = selector.get("rawSelector", ""), selector.get("requirements") or []
    if raw and requirements:
        errors.append(invalid_value(f"{path}.rawSelector", raw, "may not specified at the same time as requirements"))
    if not raw and not requirements:
        why = f"when {path} is specified, requirements or rawSelector is required"
        errors.append(required(f"{path}.requirements", why))
    for index, requirement in enumerate(requirements):
        errors += _requirement(requirement, f"{path}.requirements[{index}]", labels=labels)
    return errors


def _requirement(requirement: JsonObject, path: str, *, labels: bool) -> list[FieldError]:
    """Operators that nobody knows are of clients that are newer than the server."""
    errors = []
    key, operator = requirement.get("key", ""), requirement.get("operator", "")
    values = requirement.get("values") or []
    if not key and not labels:
        errors.append(required(f"{path}.key", "must be specified"))
    if operator in ("In", "NotIn") and not values:
        errors.append(required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
    if operator in ("Exists", "DoesNotExist") and values:
        why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        errors.append(forbidden_field(f"{path}.values", why))
    if labels:
        errors += [invalid_value(f"{path}.key", key, why) for why in qualified_name(key)]
        for index, value in enumerate(values):
            errors += [invalid_value(f"{path}.values[{index}]", value, why) for why in label_value(value)]
    return errors

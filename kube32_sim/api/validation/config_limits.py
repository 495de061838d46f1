"""Validation of LimitRange and ResourceQuota.  Rules, order and words are upstream's core validation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kube32_sim.api import quantity
from kube32_sim.api.errors import FieldError, duplicate, forbidden_field, invalid_value, required
from kube32_sim.api.validation import names
from kube32_sim.api.validation.workloads_common import NOT_NEGATIVE

JsonObject = dict[str, Any]

_BOUNDS = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")
_INTEGER = "must be an integer"
_STANDARD = frozenset(
    (
        "cpu",
        "memory",
        "ephemeral-storage",
        "requests.cpu",
        "requests.memory",
        "requests.ephemeral-storage",
        "limits.cpu",
        "limits.memory",
        "limits.ephemeral-storage",
        "pods",
        "resourcequotas",
        "services",
        "replicationcontrollers",
        "secrets",
        "persistentvolumeclaims",
        "configmaps",
        "services.nodeports",
        "services.loadbalancers",
        "requests.storage",
    )
)
_COUNTED = frozenset(
    (
        "pods",
        "resourcequotas",
        "services",
        "replicationcontrollers",
        "secrets",
        "persistentvolumeclaims",
        "configmaps",
        "services.nodeports",
        "services.loadbalancers",
    )
)
_SCOPES = (
    "BestEffort",
    "CrossNamespacePodAffinity",
    "NotBestEffort",
    "NotTerminating",
    "PriorityClass",
    "Terminating",
    "VolumeAttributesClass",
)


def nanos(text: Any) -> int:
    """A decoded quantity as a number that can be compared."""
    return quantity.parse(str(text)).nanos


def validate_resource_name(name: str, path: str) -> list[FieldError]:
    """A resource is one of Kubernetes' own or carries a domain."""
    found = [invalid_value(path, name, why) for why in names.qualified_name(name)]
    if found or "/" in name or name in _STANDARD or name.startswith("hugepages-") or name == "storage":
        return found
    return [invalid_value(path, name, "must be a standard resource type or fully qualified")]


def non_negative_quantity(value: Any, path: str) -> list[FieldError]:
    return [invalid_value(path, str(value), NOT_NEGATIVE)] if nanos(value) < 0 else []


def validate_limit_range(spec: JsonObject) -> list[FieldError]:
    found: list[FieldError] = []
    seen: set[str] = set()
    for index, limit in enumerate(spec.get("limits") or ()):
        path, kind = f"spec.limits[{index}]", limit.get("type", "")
        found += _limit_type(kind, f"{path}.type")
        if kind in seen:
            found.append(duplicate(f"{path}.type", kind))
        seen.add(kind)
        found += _limit(limit, kind, path)
    return found


def _limit_type(kind: str, path: str) -> list[FieldError]:
    found = [invalid_value(path, kind, why) for why in names.qualified_name(kind)]
    if not found and "/" not in kind and kind not in ("Container", "PersistentVolumeClaim", "Pod"):
        found.append(invalid_value(path, kind, "must be a standard limit type or fully qualified"))
    return found


def _limit(limit: JsonObject, kind: str, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    for bound in ("max", "min", "maxLimitRequestRatio"):
        for name in sorted(limit.get(bound) or ()):
            found += validate_resource_name(name, f"{path}.{bound}[{name}]")
    if kind == "Pod":
        why = "may not be specified when `type` is 'Pod'"
        found += [
            forbidden_field(f"{path}.{field}", why) for field in ("default", "defaultRequest") if limit.get(field)
        ]
    else:
        for bound in ("default", "defaultRequest"):
            for name in sorted(limit.get(bound) or ()):
                found += validate_resource_name(name, f"{path}.{bound}[{name}]")
    if kind == "PersistentVolumeClaim" and not any("storage" in (limit.get(bound) or {}) for bound in ("min", "max")):
        found.append(
            required(f"{path}.limits", "either minimum or maximum storage value is required, but neither was provided")
        )
    for name in sorted({name for bound in _BOUNDS for name in limit.get(bound) or ()}):
        found += _bounds_of(name, limit, path)
    return found


_ORDER = (
    ("min", "max"),
    ("defaultRequest", "default"),
    ("min", "defaultRequest"),
    ("defaultRequest", "max"),
    ("min", "default"),
    ("default", "max"),
)
_WORDS = {
    "min": "min value",
    "max": "max value",
    "default": "default value",
    "defaultRequest": "default request value",
}


def _bounds_of(name: str, limit: JsonObject, path: str) -> list[FieldError]:
    """The bounds of one resource have to be in order."""
    given: Mapping[str, Any] = {bound: limit[bound][name] for bound in _BOUNDS if name in (limit.get(bound) or {})}
    found: list[FieldError] = []
    for low, high in _ORDER:
        if low in given and high in given and nanos(given[low]) > nanos(given[high]):
            at = "defaultRequest" if high in ("default", "max") and low == "defaultRequest" else low
            at = "default" if (low, high) in (("min", "default"), ("default", "max")) else at
            why = f"{_WORDS[low]} {given[low]} is greater than {_WORDS[high]} {given[high]}"
            found.append(invalid_value(f"{path}.{at}[{name}]", str(given[low]), why))
    ratio = given.get("maxLimitRequestRatio")
    if ratio is not None and nanos(ratio) < quantity.NANO:
        why = f"ratio {ratio} is less than 1"
        found.append(invalid_value(f"{path}.maxLimitRequestRatio[{name}]", str(ratio), why))
    return found


def validate_quota(spec: JsonObject) -> list[FieldError]:
    found = _quantities(spec.get("hard") or {}, "spec.hard")
    scopes = spec.get("scopes") or []
    for scope in scopes:
        if scope not in _SCOPES:
            found.append(invalid_value("spec.scopes", scopes, "unsupported scope"))
    for index, each in enumerate((spec.get("scopeSelector") or {}).get("matchExpressions") or ()):
        found += _scope_expression(each, f"spec.scopeSelector.matchExpressions[{index}]")
    return found


def validate_quota_status(status: JsonObject) -> list[FieldError]:
    return _quantities(status.get("hard") or {}, "status.hard") + _quantities(status.get("used") or {}, "status.used")


def _quantities(values: JsonObject, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    for name in sorted(values):
        at, value = f"{path}[{name}]", values[name]
        found += _quota_name(name, at) + non_negative_quantity(value, at)
        counted = name in _COUNTED or name.startswith("count/")
        if counted and nanos(value) % quantity.NANO:
            found.append(invalid_value(at, str(value), _INTEGER))
    return found


def _quota_name(name: str, path: str) -> list[FieldError]:
    found = [invalid_value(path, name, why) for why in names.qualified_name(name)]
    if found or "/" in name or name in _STANDARD:
        return found
    if name.startswith(("hugepages-", "requests.hugepages-", "limits.hugepages-")):
        return []
    return [invalid_value(path, name, "must be a standard resource for quotas or fully qualified")]


def _scope_expression(each: JsonObject, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    scope, operator, values = each.get("scopeName", ""), each.get("operator", ""), each.get("values") or []
    if scope not in _SCOPES:
        found.append(invalid_value(f"{path}.scopeName", scope, "unsupported scope"))
    if operator in ("In", "NotIn"):
        if not values:
            why = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
            found.append(required(f"{path}.values", why))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            why = "must be no value when `operator` is 'Exists' or 'DoesNotExist' for scope selector"
            found.append(invalid_value(f"{path}.values", values, why))
    else:
        found.append(invalid_value(f"{path}.operator", operator, "not a valid selector operator"))
    return found


def quota_scopes_fixed(new: JsonObject, old: JsonObject) -> list[FieldError]:
    if sorted(new.get("scopes") or ()) == sorted(old.get("scopes") or ()):
        return []
    return [invalid_value("spec.scopes", new.get("scopes"), "field is immutable")]

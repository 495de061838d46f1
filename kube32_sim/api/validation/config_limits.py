"""Validation of LimitRange and ResourceQuota.  Rules, order and words are upstream's core validation."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from kube32_sim.api import quantity
from kube32_sim.api.errors import NOT_NEGATIVE, FieldError, duplicate, forbidden_field, invalid_value, required
from kube32_sim.api.validation import names

JsonObject = dict[str, Any]

_BOUNDS = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")
_INTEGER = "must be an integer"
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
_PLAIN = ("cpu", "memory", "ephemeral-storage")
_QUOTA = _COUNTED.union(
    _PLAIN, (f"{kind}.{name}" for kind in ("requests", "limits") for name in _PLAIN), ("requests.storage",)
)
"""What a quota may name without a domain (apart from huge pages)."""

_POD_COUNT = frozenset(("pods",))
_POD_SHARES = frozenset(("cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"))
_OF_SCOPE = dict.fromkeys(
    ("CrossNamespacePodAffinity", "NotBestEffort", "NotTerminating", "PriorityClass", "Terminating"),
    _POD_COUNT | _POD_SHARES,
) | {"BestEffort": _POD_COUNT, "VolumeAttributesClass": frozenset(("persistentvolumeclaims", "requests.storage"))}
"""Scope -> the standard resources that it can be about."""


def nanos(text: Any) -> int:
    """A decoded quantity as a number that can be compared."""
    return quantity.parse(str(text)).nanos


def validate_resource_name(name: str, path: str) -> list[FieldError]:
    """A resource is one of Kubernetes' own or carries a domain."""
    found = [invalid_value(path, name, why) for why in names.qualified_name(name)]
    huge = name.startswith(("hugepages-", "requests.hugepages-"))
    if found or "/" in name or name in _QUOTA or name == "storage" or huge:
        return found
    return [invalid_value(path, name, "must be a standard resource type or fully qualified")]


def _container_resource(name: str, path: str) -> list[FieldError]:
    """(As upstream, an unknown name is told of twice.)"""
    found = validate_resource_name(name, path)
    if "/" not in name:
        if name not in _PLAIN and not name.startswith("hugepages-"):
            found.append(invalid_value(path, name, "must be a standard resource for containers"))
    elif "kubernetes.io/" not in name and not _is_extended(name):
        found.append(invalid_value(path, name, "doesn't follow extended resource name standard"))
    return found


def _is_extended(name: str) -> bool:
    if "/" not in name or "kubernetes.io/" in name or name.startswith("requests."):
        return False
    return not names.qualified_name(f"requests.{name}")


def _is_whole(name: str) -> bool:
    return name in _COUNTED or _is_extended(name)


def _may_overcommit(name: str) -> bool:
    return ("/" not in name or "kubernetes.io/" in name) and not name.startswith("hugepages-")


def non_negative_quantity(value: Any, path: str) -> list[FieldError]:
    return [invalid_value(path, str(value), NOT_NEGATIVE)] if nanos(value) < 0 else []


# limit ranges


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
    check = _container_resource if kind in ("Pod", "Container") else validate_resource_name

    def names_of(*bounds: str) -> list[FieldError]:
        return [
            error
            for bound in bounds
            for name in sorted(limit.get(bound) or ())
            for error in check(name, f"{path}.{bound}[{name}]")
        ]

    found = names_of("max", "min")
    defaults = ("default", "defaultRequest")
    if kind == "Pod":
        why = "may not be specified when `type` is 'Pod'"
        found += [forbidden_field(f"{path}.{field}", why) for field in defaults if limit.get(field)]
    else:
        found += names_of(*defaults)
    if kind == "PersistentVolumeClaim" and not any("storage" in (limit.get(bound) or {}) for bound in ("min", "max")):
        why = "either minimum or maximum storage value is required, but neither was provided"
        found.append(required(f"{path}.limits", why))
    found += names_of("maxLimitRequestRatio")
    bounds = [bound for bound in _BOUNDS if kind != "Pod" or bound not in defaults]
    for name in sorted({name for bound in bounds for name in limit.get(bound) or ()}):
        given = {bound: limit[bound][name] for bound in bounds if name in (limit.get(bound) or {})}
        found += _out_of_order(name, given, path) + _ratio(name, given, path) + _unequal(name, given, path)
    return found


_ORDER = (
    ("min", "max", "min", "min"),
    ("min", "defaultRequest", "defaultRequest", "defaultRequest"),
    ("defaultRequest", "max", "defaultRequest", "defaultRequest"),
    ("defaultRequest", "default", "defaultRequest", "defaultRequest"),
    ("min", "default", "default", "min"),
    ("default", "max", "default", "max"),
)
"""What may not be greater than what; the field that is told of, and the bound whose value is shown."""

_WORDS = {"min": "min", "max": "max", "default": "default", "defaultRequest": "default request"}


def _out_of_order(name: str, given: Mapping[str, Any], path: str) -> list[FieldError]:
    found: list[FieldError] = []
    for low, high, at, shown in _ORDER:
        if low in given and high in given and nanos(given[low]) > nanos(given[high]):
            called = "default limit" if (low, high) == ("defaultRequest", "default") else _WORDS[high]
            why = f"{_WORDS[low]} value {given[low]} is greater than {called} value {given[high]}"
            found.append(invalid_value(f"{path}.{at}[{name}]", str(given[shown]), why))
    return found


def _ratio(name: str, given: Mapping[str, Any], path: str) -> list[FieldError]:
    ratio, at = given.get("maxLimitRequestRatio"), f"{path}.maxLimitRequestRatio[{name}]"
    if ratio is None:
        return []
    found: list[FieldError] = []
    if nanos(ratio) < quantity.NANO:
        found.append(invalid_value(at, str(ratio), f"ratio {ratio} is less than 1"))
    if "min" in given and "max" in given and nanos(given["min"]) > 0:
        most = nanos(given["max"]) / nanos(given["min"])
        if nanos(ratio) / quantity.NANO > most:
            found.append(invalid_value(at, str(ratio), f"ratio {ratio} is greater than max/min = {most:f}"))
    return found


def _unequal(name: str, given: Mapping[str, Any], path: str) -> list[FieldError]:
    """What cannot be given out more often than it is there is asked for as it is limited."""
    default, request = given.get("default"), given.get("defaultRequest")
    if default is None or request is None or _may_overcommit(name) or nanos(default) == nanos(request):
        return []
    why = f"default value {default} must equal to defaultRequest value {request} in {name}"
    return [invalid_value(f"{path}.defaultRequest[{name}]", str(request), why)]


# quotas


def validate_quota(spec: JsonObject) -> list[FieldError]:
    hard = spec.get("hard") or {}
    found = _quantities(hard, "spec.hard")
    scopes, selector = spec.get("scopes") or [], spec.get("scopeSelector")
    path = "spec.scopes"
    for scope in scopes:
        found += _scope(scope, scopes, hard, path, path, scopes)
    found += _conflicts(scopes, scopes, path)
    return found if selector is None else found + _scope_selector(selector, scopes, hard)


def _scope(scope: str, shown: Any, hard: JsonObject, at: str, applied_at: str, applied: Any) -> list[FieldError]:
    found = [] if scope in _OF_SCOPE else [invalid_value(at, shown, "unsupported scope")]
    for name in sorted(hard):
        known = name in _QUOTA or name.startswith(("hugepages-", "requests.hugepages-"))
        if known and scope in _OF_SCOPE and name not in _OF_SCOPE[scope]:
            found.append(invalid_value(applied_at, applied, "unsupported scope applied to resource"))
    return found


def _conflicts(scopes: Collection[str], shown: Any, path: str) -> list[FieldError]:
    pairs = (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating"))
    return [invalid_value(path, shown, "conflicting scopes") for pair in pairs if set(pair) <= set(scopes)]


_ONLY_EXISTS = (
    "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "
    "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
)


def _scope_selector(selector: JsonObject, scopes: list[str], hard: JsonObject) -> list[FieldError]:
    """(Upstream's paths leave out which expression it is.)"""
    path, expressions = "spec.scopeSelector.matchExpressions", selector.get("matchExpressions") or []
    shown = {
        "MatchExpressions": [
            {"ScopeName": e.get("scopeName", ""), "Operator": e.get("operator", ""), "Values": e.get("values")}
            for e in expressions
        ]
    }
    found: list[FieldError] = []
    for each in expressions:
        scope = each.get("scopeName", "")
        found += _scope(scope, scope, hard, f"{path}.scopeName", path, shown)
        found += _scope_expression(each, scope, path)
    return found + _conflicts([each.get("scopeName", "") for each in expressions], scopes or None, path)


def _scope_expression(each: JsonObject, scope: str, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    operator, values = each.get("operator", ""), each.get("values") or []
    if scope in _OF_SCOPE and scope not in ("PriorityClass", "VolumeAttributesClass") and operator != "Exists":
        found.append(invalid_value(f"{path}.operator", operator, _ONLY_EXISTS))
    if operator in ("In", "NotIn"):
        if not values:
            why = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
            found.append(required(f"{path}.values", why))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            why = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
            found.append(invalid_value(f"{path}.values", values, why))
    else:
        found.append(invalid_value(f"{path}.operator", operator, "not a valid selector operator"))
    return found


def validate_quota_status(status: JsonObject) -> list[FieldError]:
    return _quantities(status.get("hard") or {}, "status.hard") + _quantities(status.get("used") or {}, "status.used")


def _quantities(values: JsonObject, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    for name in sorted(values):
        at, value = f"{path}[{name}]", values[name]
        found += _quota_name(name, at) + non_negative_quantity(value, at)
        if _is_whole(name) and nanos(value) % quantity.NANO:
            found.append(invalid_value(at, str(value), _INTEGER))
    return found


def _quota_name(name: str, path: str) -> list[FieldError]:
    """(As upstream, an unknown name is told of twice.)"""
    found = validate_resource_name(name, path)
    if "/" not in name and name not in _QUOTA and not name.startswith(("hugepages-", "requests.hugepages-")):
        found.append(invalid_value(path, name, "must be a standard resource for quotas"))
    return found


def quota_scopes_fixed(new: JsonObject, old: JsonObject) -> list[FieldError]:
    scopes = new.get("scopes")
    if set(scopes or ()) == set(old.get("scopes") or ()):
        return []
    return [invalid_value("spec.scopes", scopes, "field is immutable")]

"""Validation of RBAC objects.  Rules, order and words are upstream's `pkg/apis/rbac/validation`."""

from __future__ import annotations

from typing import Any

from kube32_sim.api.errors import FieldError, forbidden_field, invalid_value, not_supported, required
from kube32_sim.api.validation import names
from kube32_sim.api.validation.workloads_common import validate_label_selector

JsonObject = dict[str, Any]

GROUP = "rbac.authorization.k8s.io"


def validate_rules(obj: JsonObject, namespaced: bool) -> list[FieldError]:
    found: list[FieldError] = []
    for index, rule in enumerate(obj.get("rules") or ()):
        found += _rule(rule, namespaced, f"rules[{index}]")
    return found


def _rule(rule: JsonObject, namespaced: bool, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    if not rule.get("verbs"):
        found.append(required(f"{path}.verbs", "verbs must contain at least one value"))
    urls = rule.get("nonResourceURLs") or []
    if urls:
        if namespaced:
            why = "namespaced rules cannot apply to non-resource URLs"
            found.append(invalid_value(f"{path}.nonResourceURLs", urls, why))
        if any(rule.get(field) for field in ("apiGroups", "resources", "resourceNames")):
            why = "rules cannot apply to both regular resources and non-resource URLs"
            found.append(invalid_value(f"{path}.nonResourceURLs", urls, why))
        return found
    if not rule.get("apiGroups"):
        found.append(required(f"{path}.apiGroups", "resource rules must supply at least one api group"))
    if not rule.get("resources"):
        found.append(required(f"{path}.resources", "resource rules must supply at least one resource"))
    return found


def validate_aggregation(obj: JsonObject) -> list[FieldError]:
    aggregation = obj.get("aggregationRule")
    if aggregation is None:
        return []
    selectors, path = aggregation.get("clusterRoleSelectors") or [], "aggregationRule.clusterRoleSelectors"
    if not selectors:
        return [required(path, "at least one clusterRoleSelector required if aggregationRule is non-nil")]
    found: list[FieldError] = []
    for index, selector in enumerate(selectors):
        broken = validate_label_selector(selector, f"{path}[{index}]")
        found += broken
        if broken:
            found.append(invalid_value(f"{path}[{index}]", None, "invalid label selector."))
    return found


def validate_binding(obj: JsonObject, namespaced: bool) -> list[FieldError]:
    reference = obj.get("roleRef") or {}
    group, kind, name = (reference.get(field, "") for field in ("apiGroup", "kind", "name"))
    found: list[FieldError] = []
    if group != GROUP:
        found.append(not_supported("roleRef.apiGroup", group, (GROUP,)))
    kinds = ("Role", "ClusterRole") if namespaced else ("ClusterRole",)
    if kind not in kinds:
        found.append(not_supported("roleRef.kind", kind, kinds))
    if not name:
        found.append(required("roleRef.name"))
    else:
        found += [invalid_value("roleRef.name", name, why) for why in names.path_segment(name)]
    for index, subject in enumerate(obj.get("subjects") or ()):
        found += _subject(subject, namespaced, f"subjects[{index}]")
    return found


def _subject(subject: JsonObject, namespaced: bool, path: str) -> list[FieldError]:
    kind, name, group = subject.get("kind", ""), subject.get("name", ""), subject.get("apiGroup", "")
    found = [] if name else [required(f"{path}.name")]
    if kind == "ServiceAccount":
        if name:
            found += [invalid_value(f"{path}.name", name, why) for why in names.dns1123_subdomain(name)]
        if group:
            found.append(not_supported(f"{path}.apiGroup", group, ("",)))
        if not namespaced and not subject.get("namespace"):
            found.append(required(f"{path}.namespace"))
    elif kind in ("User", "Group"):
        if group != GROUP:
            found.append(not_supported(f"{path}.apiGroup", group, (GROUP,)))
    else:
        found.append(not_supported(f"{path}.kind", kind, ("ServiceAccount", "User", "Group")))
    return found


def role_fixed(new: JsonObject, old: JsonObject) -> list[FieldError]:
    if new.get("roleRef") == old.get("roleRef"):
        return []
    reference = new.get("roleRef") or {}
    shown = {
        "APIGroup": reference.get("apiGroup", ""),
        "Kind": reference.get("kind", ""),
        "Name": reference.get("name", ""),
    }
    return [invalid_value("roleRef", shown, "cannot change roleRef")]


def reserved_name(name: str, value: int) -> list[FieldError]:
    """Names of PriorityClasses that start with `system-` are the system's own two."""
    if not name.startswith("system-") or (name, value) in _SYSTEM:
        return []
    why = "priority class names with 'system-' prefix are reserved for system use only. error: "
    known = next((number for own, number in _SYSTEM if own == name), None)
    if known is None:
        return [forbidden_field("metadata.name", f"{why}{name} is not a known system priority class")]
    return [forbidden_field("metadata.name", f"{why}value of {name} PriorityClass must be {known}")]


_SYSTEM = (("system-node-critical", 2_000_001_000), ("system-cluster-critical", 2_000_000_000))
_HIGHEST = 1_000_000_000


def validate_priority_class(obj: JsonObject) -> list[FieldError]:
    name, value = obj["metadata"].get("name", ""), obj.get("value", 0)
    found = reserved_name(name, value)
    if not name.startswith("system-") and value > _HIGHEST:
        why = f"maximum allowed value of a user defined priority is {_HIGHEST}"
        found.append(forbidden_field("value", why))
    policy = obj.get("preemptionPolicy")
    if policy not in ("Never", "PreemptLowerPriority"):
        supported = ("PreemptLowerPriority", "Never")
        found.append(not_supported("preemptionPolicy", policy, supported) if policy else required("preemptionPolicy"))
    return found

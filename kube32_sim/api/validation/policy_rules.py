"""Validation of PodDisruptionBudget, HorizontalPodAutoscaler, RuntimeClass and API priority and fairness.

Rules, order and words are upstream's.
"""

from __future__ import annotations

from typing import Any

from kube32_sim.api.errors import FieldError, forbidden_field, invalid_value, not_supported, required
from kube32_sim.api.validation import names
from kube32_sim.api.validation.workloads_common import (
    as_number,
    at_most_all,
    immutable,
    int_or_percent,
    non_negative,
    one_of,
    validate_label_selector,
)

JsonObject = dict[str, Any]


def validate_disruption_budget(spec: JsonObject) -> list[FieldError]:
    least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
    found: list[FieldError] = []
    if least is not None and most is not None:
        shown = {"MinAvailable": least, "Selector": None, "MaxUnavailable": most, "UnhealthyPodEvictionPolicy": None}
        found.append(invalid_value("spec", shown, "minAvailable and maxUnavailable cannot be both set"))
    for field, value in (("minAvailable", least), ("maxUnavailable", most)):
        if value is not None:
            found += int_or_percent(value, f"spec.{field}") + at_most_all(value, f"spec.{field}")
    found += validate_label_selector(spec.get("selector"), "spec.selector")
    policy = spec.get("unhealthyPodEvictionPolicy")
    policies = ("AlwaysAllow", "IfHealthyBudget")
    if policy is not None and policy not in policies:
        found.append(not_supported("spec.unhealthyPodEvictionPolicy", policy, policies))
    return found


_BUDGET_COUNTS = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")


def validate_disruption_status(status: JsonObject) -> list[FieldError]:
    found = non_negative(status, "status", *_BUDGET_COUNTS)
    for index, condition in enumerate(status.get("conditions") or ()):
        path = f"status.conditions[{index}]"
        found += [required(f"{path}.{field}") for field in ("type", "reason") if not condition.get(field)]
        found += one_of(condition, path, "status", ("False", "True", "Unknown"))
    return found


def validate_autoscaler(obj: JsonObject) -> list[FieldError]:
    spec, path = obj["spec"], "spec"
    least, most = spec.get("minReplicas"), spec.get("maxReplicas", 0)
    found: list[FieldError] = []
    if least is not None and least < 1:
        found.append(invalid_value(f"{path}.minReplicas", least, "must be greater than or equal to 1"))
    if most < 1:
        found.append(invalid_value(f"{path}.maxReplicas", most, "must be greater than 0"))
    if least is not None and most < least:
        found.append(invalid_value(f"{path}.maxReplicas", most, "must be greater than or equal to `minReplicas`"))
    found += _target(spec.get("scaleTargetRef") or {}, f"{path}.scaleTargetRef")
    for index, metric in enumerate(spec.get("metrics") or ()):
        found += _metric(metric, f"{path}.metrics[{index}]")
    behavior = spec.get("behavior") or {}
    for field in ("scaleUp", "scaleDown"):
        if behavior.get(field) is not None:
            found += _scaling_rules(behavior[field], f"{path}.behavior.{field}")
    return found


def _target(reference: JsonObject, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    for field in ("kind", "name"):
        value = reference.get(field, "")
        if not value:
            found.append(required(f"{path}.{field}"))
        else:
            found += [invalid_value(f"{path}.{field}", value, why) for why in names.path_segment(value)]
    return found


_SOURCES = {
    "ContainerResource": "containerResource",
    "External": "external",
    "Object": "object",
    "Pods": "pods",
    "Resource": "resource",
}


def _metric(metric: JsonObject, path: str) -> list[FieldError]:
    kind = metric.get("type", "")
    if not kind:
        return [required(f"{path}.type", "must specify a metric source type")]
    if kind not in _SOURCES:
        return [not_supported(f"{path}.type", kind, sorted(_SOURCES))]
    field = _SOURCES[kind]
    source = metric.get(field)
    if source is None:
        return [required(f"{path}.{field}", "must populate information for the given metric source")]
    found = [
        forbidden_field(f"{path}.{other}", "must populate the given metric source only")
        for other in _SOURCES.values()
        if other != field and metric.get(other) is not None
    ]
    if kind in ("Resource", "ContainerResource") and not source.get("name"):
        found.append(required(f"{path}.{field}.name", "must specify a resource name"))
    return found + _metric_target(source.get("target") or {}, f"{path}.{field}")


def _metric_target(target: JsonObject, path: str) -> list[FieldError]:
    kind = target.get("type", "")
    found: list[FieldError] = []
    if not kind:
        found.append(required(f"{path}.target.type", "must specify a metric target type"))
    elif kind not in ("AverageValue", "Utilization", "Value"):
        why = "must be either Utilization, Value, or AverageValue"
        found.append(invalid_value(f"{path}.target.type", kind, why))
    share = target.get("averageUtilization")
    if share is not None and share < 1:
        found.append(invalid_value(f"{path}.target.averageUtilization", share, "must be greater than 0"))
    return found


def _scaling_rules(rules: JsonObject, path: str) -> list[FieldError]:
    found = non_negative(rules, path, "stabilizationWindowSeconds")
    seconds = rules.get("stabilizationWindowSeconds") or 0
    if seconds > 3600:
        why = "must be less than or equal to 3600"
        found.append(invalid_value(f"{path}.stabilizationWindowSeconds", seconds, why))
    select = rules.get("selectPolicy")
    if select is not None and select not in ("Disabled", "Max", "Min"):
        found.append(not_supported(f"{path}.selectPolicy", select, ("Disabled", "Max", "Min")))
    if not rules.get("policies"):
        found.append(required(f"{path}.policies", "must specify at least one Policy"))
    for index, policy in enumerate(rules.get("policies") or ()):
        found += _scaling_policy(policy, f"{path}.policies[{index}]")
    return found


def _scaling_policy(policy: JsonObject, path: str) -> list[FieldError]:
    found = one_of(policy, path, "type", ("Percent", "Pods"))
    if policy.get("value", 0) <= 0:
        found.append(invalid_value(f"{path}.value", policy.get("value", 0), "must be greater than zero"))
    seconds = policy.get("periodSeconds", 0)
    if seconds <= 0:
        found.append(invalid_value(f"{path}.periodSeconds", seconds, "must be greater than zero"))
    elif seconds > 1800:
        found.append(invalid_value(f"{path}.periodSeconds", seconds, "must be less than or equal to 1800"))
    return found


def validate_runtime_class(obj: JsonObject) -> list[FieldError]:
    handler = obj.get("handler", "")
    return [invalid_value("handler", handler, why) for why in names.dns1123_label(handler)]


def runtime_class_fixed(new: JsonObject, old: JsonObject) -> list[FieldError]:
    return immutable(new.get("handler", ""), old.get("handler", ""), "handler")


def validate_flow_schema(spec: JsonObject) -> list[FieldError]:
    found: list[FieldError] = []
    precedence = spec.get("matchingPrecedence", 0)
    if precedence <= 0:
        found.append(invalid_value("spec.matchingPrecedence", precedence, "must be a positive value"))
    elif precedence > 10000:
        why = "must not be greater than 10000"
        found.append(invalid_value("spec.matchingPrecedence", precedence, why))
    method = (spec.get("distinguisherMethod") or {}).get("type")
    if method is not None and method not in ("ByNamespace", "ByUser"):
        found.append(not_supported("spec.distinguisherMethod", method, ("ByNamespace", "ByUser")))
    name = (spec.get("priorityLevelConfiguration") or {}).get("name", "")
    if name:
        found += [
            invalid_value("spec.priorityLevelConfiguration.name", name, why) for why in names.dns1123_subdomain(name)
        ]
    else:
        found.append(required("spec.priorityLevelConfiguration.name", "must reference a priority level"))
    return found


def validate_priority_level(spec: JsonObject, name: str) -> list[FieldError]:
    kind, path = spec.get("type", ""), "spec"
    limited, exempt = spec.get("limited"), spec.get("exempt")
    if kind == "Exempt":
        why = "must be nil if the type is not Limited"
        return [forbidden_field(f"{path}.limited", why)] if limited is not None else []
    if kind != "Limited":
        return [not_supported(f"{path}.type", kind, ("Exempt", "Limited"))]
    found: list[FieldError] = []
    if exempt is not None:
        found.append(forbidden_field(f"{path}.exempt", "must be nil if the type is Limited"))
    if limited is None:
        return [*found, required(f"{path}.limited", "must not be empty when type is Limited")]
    shares = limited.get("nominalConcurrencyShares")
    if shares is not None and as_number(shares) < 0:
        why = "must be a non-negative integer"
        found.append(invalid_value(f"{path}.limited.nominalConcurrencyShares", shares, why))
    response = limited.get("limitResponse") or {}
    if response.get("type") not in ("Queue", "Reject"):
        at = f"{path}.limited.limitResponse.type"
        found.append(not_supported(at, response.get("type", ""), ("Queue", "Reject")))
    return found

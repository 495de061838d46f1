"""Validation of PodDisruptionBudget and RuntimeClass.

Autoscalers are in `policy_autoscaler`, API priority and fairness in `policy_flow`.

Rules, order and words are upstream's.
"""

from __future__ import annotations

from typing import Any

from kube32_sim.api.errors import FieldError, duplicate, invalid_value, not_supported, required
from kube32_sim.api.validation import names
from kube32_sim.api.validation.conditions import validate_conditions
from kube32_sim.api.validation.meta import validate_labels
from kube32_sim.api.validation.pod_resources import validate_resources
from kube32_sim.api.validation.pod_scheduling import validate_tolerations
from kube32_sim.api.validation.workloads_common import (
    at_most_all,
    immutable,
    int_or_percent,
    non_negative,
    selector_value,
    validate_label_selector,
)

JsonObject = dict[str, Any]

_BUDGET_COUNTS = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")


def validate_disruption_budget(spec: JsonObject) -> list[FieldError]:
    least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
    found: list[FieldError] = []
    if least is not None and most is not None:
        shown = {
            "MinAvailable": least,
            "Selector": selector_value(spec.get("selector")),
            "MaxUnavailable": most,
            "UnhealthyPodEvictionPolicy": spec.get("unhealthyPodEvictionPolicy"),
        }
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


def validate_disruption_status(status: JsonObject) -> list[FieldError]:
    found = validate_conditions(status.get("conditions"), "status.conditions")
    return found + non_negative(status, "status", *_BUDGET_COUNTS)


def validate_runtime_class(obj: JsonObject) -> list[FieldError]:
    handler = obj.get("handler", "")
    found = [invalid_value("handler", handler, why) for why in names.dns1123_label(handler) if handler]
    found += [] if handler else [required("handler")]
    if obj.get("overhead") is not None:
        found += validate_resources({"limits": obj["overhead"].get("podFixed")}, (), "overhead")
    scheduling = obj.get("scheduling") or {}
    found += validate_labels(scheduling.get("nodeSelector") or {}, "scheduling.nodeSelector")
    tolerations, path = scheduling.get("tolerations") or [], "scheduling.tolerations"
    found += validate_tolerations(tolerations, path)
    keys = [tuple(each.get(field, "") for field in ("key", "operator", "value", "effect")) for each in tolerations]
    return found + [
        duplicate(f"{path}[{index}]", _shown(each))
        for index, each in enumerate(tolerations)
        if keys[index] in keys[:index]
    ]


def _shown(toleration: JsonObject) -> JsonObject:
    """A toleration as messages show it: Go's struct, whose names begin with a capital."""
    shown = {field.capitalize(): toleration.get(field, "") for field in ("key", "operator", "value", "effect")}
    return shown | {"TolerationSeconds": toleration.get("tolerationSeconds")}


def runtime_class_fixed(new: JsonObject, old: JsonObject) -> list[FieldError]:
    return immutable(new.get("handler", ""), old.get("handler", ""), "handler")

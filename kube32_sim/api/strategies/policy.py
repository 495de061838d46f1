"""Policies: PodDisruptionBudget, HorizontalPodAutoscaler, RuntimeClass, API priority and fairness."""

from __future__ import annotations

from typing import Any

from kube32_sim.api.errors import FieldError
from kube32_sim.api.strategies.base import Context, Strategy
from kube32_sim.api.strategies.spec import ALL_METADATA, SpecStrategy, Unversioned
from kube32_sim.api.validation import node_labels
from kube32_sim.api.validation import policy_flow as flow
from kube32_sim.api.validation import policy_rules as rules
from kube32_sim.api.validation.policy_autoscaler import validate_autoscaler, validate_autoscaler_status

JsonObject = dict[str, Any]


class PodDisruptionBudget(Unversioned):
    counters = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")

    def validate(self, obj: JsonObject, context: Context) -> list[FieldError]:
        return rules.validate_disruption_budget(obj["spec"])

    def validate_status_update(self, obj: JsonObject, old: JsonObject, context: Context) -> list[FieldError]:
        return rules.validate_disruption_status(obj.get("status") or {})


_CPU_USE = 80


class HorizontalPodAutoscaler(SpecStrategy):
    """Defaults of autoscaling/v2, which v1 is a view of: average CPU use of 80 % where no metric is named."""

    def default_spec(self, obj: JsonObject, spec: JsonObject) -> None:
        spec.setdefault("minReplicas", 1)
        if not spec.get("metrics") and "targetCPUUtilizationPercentage" not in spec:
            target = {"type": "Utilization", "averageUtilization": _CPU_USE}
            spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
        behavior = spec.get("behavior")
        if behavior is not None:
            _default_rules(behavior.setdefault("scaleUp", {}), _UP)
            _default_rules(behavior.setdefault("scaleDown", {}), _DOWN)

    def reset_status(self, obj: JsonObject) -> None:
        obj["status"] = {"currentMetrics": None, "desiredReplicas": 0}

    def validate(self, obj: JsonObject, context: Context) -> list[FieldError]:
        return validate_autoscaler(obj, None)

    def validate_update(self, obj: JsonObject, old: JsonObject, context: Context) -> list[FieldError]:
        return validate_autoscaler(obj, old)

    def validate_status_update(self, obj: JsonObject, old: JsonObject, context: Context) -> list[FieldError]:
        return validate_autoscaler_status(obj.get("status") or {})


_QUARTER_MINUTE = 15
_UP: JsonObject = {
    "stabilizationWindowSeconds": 0,
    "selectPolicy": "Max",
    "policies": (("Pods", 4), ("Percent", 100)),
}
_DOWN: JsonObject = {"selectPolicy": "Max", "policies": (("Percent", 100),)}


def _default_rules(rules: JsonObject, defaults: JsonObject) -> None:
    rules.setdefault("selectPolicy", defaults["selectPolicy"])
    if "stabilizationWindowSeconds" in defaults:
        rules.setdefault("stabilizationWindowSeconds", defaults["stabilizationWindowSeconds"])
    if rules.get("policies") is None:
        rules["policies"] = [
            {"type": kind, "value": value, "periodSeconds": _QUARTER_MINUTE} for kind, value in defaults["policies"]
        ]


class RuntimeClass(Strategy):
    create_on_update = True
    unconditional_update = False

    def validate(self, obj: JsonObject, context: Context) -> list[FieldError]:
        return rules.validate_runtime_class(obj)

    def validate_update(self, obj: JsonObject, old: JsonObject, context: Context) -> list[FieldError]:
        return self.validate(obj, context) + rules.runtime_class_fixed(obj, old)

    def warnings(self, obj: JsonObject, old: JsonObject | None, context: Context) -> list[str]:
        return node_labels.scheduling_warnings(obj)


class FlowSchema(SpecStrategy):
    status_locks = ALL_METADATA

    def default_spec(self, obj: JsonObject, spec: JsonObject) -> None:
        if not spec.get("matchingPrecedence"):
            spec["matchingPrecedence"] = 1000

    def validate(self, obj: JsonObject, context: Context) -> list[FieldError]:
        return flow.validate_flow_schema(obj)

    def validate_status_update(self, obj: JsonObject, old: JsonObject, context: Context) -> list[FieldError]:
        return flow.validate_flow_status(obj)


class PriorityLevelConfiguration(SpecStrategy):
    status_locks = ALL_METADATA

    def default_spec(self, obj: JsonObject, spec: JsonObject) -> None:
        exempt, limited = spec.get("exempt"), spec.get("limited")
        if exempt is not None:
            exempt.setdefault("nominalConcurrencyShares", 0)
            exempt.setdefault("lendablePercent", 0)
        if limited is not None:
            limited.setdefault("nominalConcurrencyShares", 30)
            limited.setdefault("lendablePercent", 0)
            queuing = (limited.get("limitResponse") or {}).get("queuing")
            if queuing is not None:
                for field, value in (("queues", 64), ("queueLengthLimit", 50), ("handSize", 8)):
                    if not queuing.get(field):
                        queuing[field] = value

    def validate(self, obj: JsonObject, context: Context) -> list[FieldError]:
        return flow.validate_priority_level(obj)

    def validate_status_update(self, obj: JsonObject, old: JsonObject, context: Context) -> list[FieldError]:
        return flow.validate_flow_status(obj)


_FLOW = "flowcontrol.apiserver.k8s.io"

STRATEGIES: dict[tuple[str, str], Strategy] = {
    ("policy", "PodDisruptionBudget"): PodDisruptionBudget(),
    ("autoscaling", "HorizontalPodAutoscaler"): HorizontalPodAutoscaler(),
    ("node.k8s.io", "RuntimeClass"): RuntimeClass(),
    (_FLOW, "FlowSchema"): FlowSchema(),
    (_FLOW, "PriorityLevelConfiguration"): PriorityLevelConfiguration(),
}

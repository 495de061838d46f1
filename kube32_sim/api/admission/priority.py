"""Priority: the number behind a pod's priority class, and at most one default class."""

from __future__ import annotations

from typing import Any

from kube32_sim.api.admission.config import AdmissionConfig
from kube32_sim.api.admission.refusal import refuse
from kube32_sim.api.strategies.base import Context

JsonObject = dict[str, Any]

PRIORITY_CLASSES = ("scheduling.k8s.io", "priorityclasses")
_LOWER = "PreemptLowerPriority"
_COMPUTED = "must not be provided in pod spec; priority admission controller computed"


def default_class(context: Context) -> JsonObject | None:
    """The class of pods that name none: of those marked as default, the one with the lowest value."""
    marked = [each for each in context.cluster.list(PRIORITY_CLASSES) if each.get("globalDefault")]
    return min(marked, key=lambda each: int(each.get("value", 0)), default=None)


def mutate(verb: str, obj: JsonObject, old: JsonObject | None, context: Context, config: AdmissionConfig) -> None:
    spec = obj["spec"]
    if old is not None:
        for field in ("priority", "preemptionPolicy"):
            if field in old["spec"]:
                spec.setdefault(field, old["spec"][field])
        return
    named = spec.get("priorityClassName")
    found = context.cluster.get(PRIORITY_CLASSES, "", named) if named else default_class(context)
    if named and found is None:
        raise refuse(context, obj, f"no PriorityClass with name {named} was found")
    if found is not None and not named:
        spec["priorityClassName"] = found["metadata"]["name"]
    value = found.get("value", 0) if found is not None else 0
    policy = found.get("preemptionPolicy", _LOWER) if found is not None else _LOWER
    _agree(spec, "priority", value, f"the integer value of priority ({spec.get('priority')})", obj, context)
    shown = f"the string value of PreemptionPolicy ({spec.get('preemptionPolicy')})"
    _agree(spec, "preemptionPolicy", policy, shown, obj, context)


def _agree(spec: JsonObject, field: str, value: Any, shown: str, obj: JsonObject, context: Context) -> None:
    if spec.setdefault(field, value) != value:
        raise refuse(context, obj, f"{shown} {_COMPUTED} {value} from the given PriorityClass name")


def validate(obj: JsonObject, context: Context) -> None:
    """403 for a second default class."""
    if obj.get("globalDefault"):
        other = default_class(context)
        if other is not None and other["metadata"]["name"] != obj["metadata"].get("name"):
            name = other["metadata"]["name"]
            why = f"PriorityClass {name} is already marked as default. Only one default can exist"
            raise refuse(context, obj, why)

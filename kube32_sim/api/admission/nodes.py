"""TaintNodesByCondition: nobody is scheduled to a new node before it has been seen ready."""

from __future__ import annotations

from typing import Any

from kube32_sim.api.admission.config import AdmissionConfig
from kube32_sim.api.strategies.base import Context

JsonObject = dict[str, Any]

_TAINT = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


def taint_new(verb: str, obj: JsonObject, old: JsonObject | None, context: Context, config: AdmissionConfig) -> None:
    if verb != "create" or not config.taint_new_nodes:
        return
    taints = obj["spec"].get("taints") or []
    if not any(all(taint.get(key) == value for key, value in _TAINT.items()) for taint in taints):
        obj["spec"]["taints"] = [*taints, dict(_TAINT)]

"""The quality-of-service class of a pod, from what its containers ask for."""

from __future__ import annotations

from typing import Any

from kube32_sim.api.quantity import parse

JsonObject = dict[str, Any]

COMPUTE = ("cpu", "memory")


def qos_class(spec: JsonObject) -> str:
    """BestEffort: nothing asked for.  Guaranteed: cpu and memory limited everywhere, and all of it asked for.

    Everything between is Burstable.

    Only cpu and memory count, and a quantity of zero counts as not given.  Resources of the pod as a whole, where
    given, stand for those of its containers.
    """
    whole = spec.get("resources") or {}
    if whole.get("requests") or whole.get("limits"):
        parts = [whole]
    else:
        containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
        parts = [container.get("resources") or {} for container in containers]
    if not any(parts):
        return "BestEffort"
    requests = [_amounts(part.get("requests")) for part in parts]
    limits = [_amounts(part.get("limits")) for part in parts]
    if not any(requests) and not any(limits):
        return "BestEffort"
    if all(len(limit) == len(COMPUTE) for limit in limits) and _total(requests) == _total(limits):
        return "Guaranteed"
    return "Burstable"


def _amounts(resources: JsonObject | None) -> dict[str, int]:
    if not resources:
        return {}
    amounts = {name: parse(resources[name]).nanos for name in COMPUTE if name in resources}
    return {name: amount for name, amount in amounts.items() if amount > 0}


def _total(parts: list[dict[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for part in parts:
        for name, amount in part.items():
            total[name] = total.get(name, 0) + amount
    return total

"""What state a pod is in, by its own account.  Pure questions about plain objects, shared by loops and Endpoints."""

from __future__ import annotations

from typing import Any

JsonObject = dict[str, Any]

SCHEDULER_NAMES = frozenset(("", "default-scheduler"))
"""Values of spec.schedulerName that mean the simulator's scheduler; other pods are left to others, as upstream does."""


def terminating(pod: JsonObject) -> bool:
    return "deletionTimestamp" in pod["metadata"]


def finished(pod: JsonObject) -> bool:
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")


def active(pod: JsonObject) -> bool:
    return not terminating(pod) and not finished(pod)


def ready_condition(pod: JsonObject) -> JsonObject | None:
    """Condition Ready, if it is True."""
    for condition in pod.get("status", {}).get("conditions", ()):
        if condition["type"] == "Ready":
            return condition if condition.get("status") == "True" else None
    return None


def ready(pod: JsonObject) -> bool:
    return ready_condition(pod) is not None

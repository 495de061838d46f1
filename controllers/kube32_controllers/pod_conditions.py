"""Conditions that loops write into the status of pods."""

from __future__ import annotations

from typing import Any

JsonObject = dict[str, Any]


def with_condition(status: JsonObject, condition: JsonObject) -> JsonObject:
    """A copy of a pod's status in which the condition stands in the place of the one of its type, or at the end.

    lastTransitionTime is the old one's where the condition's status stays the same.
    """
    conditions = list(status.get("conditions") or ())
    for place, old in enumerate(conditions):
        if old.get("type") == condition["type"]:
            if old.get("status") == condition["status"] and "lastTransitionTime" in old:
                condition = {**condition, "lastTransitionTime": old["lastTransitionTime"]}
            conditions[place] = condition
            break
    else:
        conditions.append(condition)
    return {**status, "conditions": conditions}


def disruption_target(reason: str, message: str, now: str) -> JsonObject:
    """The condition that tells why a pod is taken from where it runs; reason is of upstream's list."""
    return {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": reason,
        "message": message,
        "lastTransitionTime": now,
    }

"""What a workload's status may say: no count is negative, parts are no more than the whole.

Rules, order and words are upstream's `Validate…Status` of `pkg/apis/apps/validation` and `pkg/apis/core/validation`.
A Job's status has rules of its own, in `workloads_job_status.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kube32_sim.api.errors import FieldError, invalid_value
from kube32_sim.api.validation.workloads_common import non_negative

JsonObject = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Counts:
    """counts: all of them, in the order they are looked at.  parts: those that are at most `replicas`.

    ready: how the message calls the ready replicas, which the available ones are at most ("" where there are none).
    """

    counts: tuple[str, ...]
    parts: tuple[str, ...] = ()
    ready: str = ""


DEPLOYMENT = Counts(
    (
        "observedGeneration",
        "replicas",
        "updatedReplicas",
        "readyReplicas",
        "availableReplicas",
        "unavailableReplicas",
        "terminatingReplicas",
        "collisionCount",
    ),
    ("updatedReplicas", "readyReplicas", "availableReplicas"),
    "readyReplicas",
)
REPLICA_SET = Counts(
    (
        "replicas",
        "fullyLabeledReplicas",
        "readyReplicas",
        "availableReplicas",
        "terminatingReplicas",
        "observedGeneration",
    ),
    ("fullyLabeledReplicas", "readyReplicas", "availableReplicas"),
    "readyReplicas",
)
REPLICATION_CONTROLLER = Counts(
    ("replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "observedGeneration"),
    ("fullyLabeledReplicas", "readyReplicas", "availableReplicas"),
    "readyReplicas",
)
STATEFUL_SET = Counts(
    (
        "replicas",
        "readyReplicas",
        "currentReplicas",
        "updatedReplicas",
        "availableReplicas",
        "observedGeneration",
        "collisionCount",
    ),
    ("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"),
    "status.readyReplicas",
)
DAEMON_SET = Counts(
    (
        "currentNumberScheduled",
        "numberMisscheduled",
        "desiredNumberScheduled",
        "numberReady",
        "observedGeneration",
        "updatedNumberScheduled",
        "numberAvailable",
        "numberUnavailable",
        "collisionCount",
    )
)


def validate_counts(status: JsonObject, before: JsonObject, rules: Counts) -> list[FieldError]:
    """Failures of a changed status; before: the old one, whose count of collisions never goes back."""
    found = non_negative(status, "status", *rules.counts)
    whole, available = status.get("replicas", 0), status.get("availableReplicas", 0)
    found += [
        invalid_value(f"status.{part}", status.get(part, 0), "cannot be greater than status.replicas")
        for part in rules.parts
        if status.get(part, 0) > whole
    ]
    if rules.ready and available > status.get("readyReplicas", 0):
        found.append(invalid_value("status.availableReplicas", available, f"cannot be greater than {rules.ready}"))
    collisions = status.get("collisionCount", 0)
    if "collisionCount" in rules.counts and collisions < before.get("collisionCount", 0):
        found.append(invalid_value("status.collisionCount", collisions, "cannot be decremented"))
    return found

"""Status and conditions of a Deployment, as `kubectl rollout status` and `kubectl wait` read them.  Pure.

Reasons are Kubernetes'; where its messages speak of a ReplicaSet, which kube32 does not have, they speak of the
Deployment.  `deployment_controller.py` decides about pods.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kube32_controllers.pod_control import available, int_or_percent
from kube32_sim.api.pod_state import ready
from kube32_sim.clock import parse_time, rfc3339

JsonObject = dict[str, Any]

REPLICA_FAILURE = "ReplicaFailure"
"""Condition: pods are missing since the API refuses them."""
NO_DEADLINE = 2**31 - 1  # progressDeadlineSeconds of this value means: none


@dataclass(frozen=True, slots=True)
class Observed:
    """What the status tells of: pods are those of the Deployment that are neither finished nor terminating."""

    deployment: JsonObject
    pods: Sequence[JsonObject]
    fresh: Sequence[JsonObject]
    """Those of them that are made from the current template."""
    terminating: int
    started: str = ""
    """The pod-template-hash of a rollout that starts with this pass."""

    @property
    def spec(self) -> JsonObject:
        spec: JsonObject = self.deployment["spec"]
        return spec

    @property
    def status(self) -> JsonObject:
        status: JsonObject = self.deployment.get("status", {})
        return status

    @property
    def name(self) -> str:
        name: str = self.deployment["metadata"]["name"]
        return name

    @property
    def replicas(self) -> int:
        replicas: int = self.spec.get("replicas", 1)
        return replicas


def max_unavailable(spec: JsonObject) -> int:
    """How many pods may be missing during a rollout: rounded down, and at least 1, for there is no surge."""
    return max(1, _rolling(spec, "maxUnavailable", up=False))


def _rolling(spec: JsonObject, field: str, *, up: bool) -> int:
    rolling = spec.get("strategy", {}).get("rollingUpdate", {})
    return int_or_percent(rolling.get(field, "25%"), spec.get("replicas", 1), up=up)


def minimum_available(spec: JsonObject) -> int:
    """Pods that have to be available for condition Available.

    kube-controller-manager's rule: a maxUnavailable that comes to 0 stays 0 unless maxSurge comes to 0 as well, so that
    a Deployment of one pod is not Available without it.
    """
    replicas: int = spec.get("replicas", 1)
    if spec.get("strategy", {}).get("type") == "Recreate" or replicas == 0:
        return replicas
    unavailable = _rolling(spec, "maxUnavailable", up=False)
    if unavailable == 0 and _rolling(spec, "maxSurge", up=True) == 0:
        unavailable = 1
    return max(0, replicas - unavailable)


def new_status(seen: Observed, now: float) -> JsonObject:
    """The whole status after this pass's observation; counts of 0 are left out, as the API shows them."""
    min_ready = seen.spec.get("minReadySeconds", 0)
    usable = sum(available(pod, min_ready, now) for pod in seen.pods)
    counts = {
        "observedGeneration": seen.deployment["metadata"].get("generation", 0),
        "replicas": len(seen.pods),
        "updatedReplicas": len(seen.fresh),
        "readyReplicas": sum(ready(pod) for pod in seen.pods),
        "availableReplicas": usable,
        "unavailableReplicas": max(0, seen.replicas - usable),
    }
    status: JsonObject = {name: count for name, count in counts.items() if count}
    status["terminatingReplicas"] = seen.terminating
    if "collisionCount" in seen.status:
        status["collisionCount"] = seen.status["collisionCount"]
    conditions = _with_available(seen, usable, now)
    conditions = _with_rollout(seen, conditions, now)
    conditions = _with_progress(seen, conditions, status, now)
    if conditions:
        status["conditions"] = conditions
    return status


def replica_failure(seen: Observed, status: JsonObject, now: float) -> JsonObject:
    """`status` (as `new_status` made it) for the case that a pod is refused: `{error}` stands for why.

    A failure that has been told of stays as it is, with the words of the first time.
    """
    known = condition(seen.status, REPLICA_FAILURE)
    conditions = [*status.get("conditions", []), *([known] if known is not None else [])]
    return {**status, "conditions": _set(conditions, REPLICA_FAILURE, "True", "FailedCreate", "{error}", now)}


def condition(status: JsonObject, kind: str) -> JsonObject | None:
    return _find(status.get("conditions", []), kind)


def _find(conditions: Sequence[JsonObject], kind: str) -> JsonObject | None:
    return next((one for one in conditions if one["type"] == kind), None)


def _set(
    conditions: list[JsonObject], kind: str, value: str, reason: str, message: str, now: float
) -> list[JsonObject]:
    """Set a condition; one with the same status and reason stays as it is, lastUpdateTime included."""
    current = _find(conditions, kind)
    if current is not None and current["status"] == value and current.get("reason") == reason:
        return conditions
    return _replace(conditions, kind, value, reason, message, now)


def _replace(
    conditions: list[JsonObject], kind: str, value: str, reason: str, message: str, now: float
) -> list[JsonObject]:
    current = _find(conditions, kind)
    moment = rfc3339(now)
    since = current.get("lastTransitionTime", moment) if current is not None and current["status"] == value else moment
    changed = {
        "lastTransitionTime": since,
        "lastUpdateTime": moment,
        "message": message,
        "reason": reason,
        "status": value,
        "type": kind,
    }
    return [one for one in conditions if one["type"] != kind] + [changed]


def _with_available(seen: Observed, usable: int, now: float) -> list[JsonObject]:
    conditions = [one for one in seen.status.get("conditions", []) if one["type"] != REPLICA_FAILURE]
    if usable >= minimum_available(seen.spec):
        message = "Deployment has minimum availability."
        return _set(conditions, "Available", "True", "MinimumReplicasAvailable", message, now)
    message = "Deployment does not have minimum availability."
    return _set(conditions, "Available", "False", "MinimumReplicasUnavailable", message, now)


def deadline(spec: JsonObject) -> int | None:
    seconds: int | None = spec.get("progressDeadlineSeconds")
    return None if seconds is None or seconds >= NO_DEADLINE else seconds


def _with_rollout(seen: Observed, conditions: list[JsonObject], now: float) -> list[JsonObject]:
    """Paused, resumed, or a new template: the moments from which progress counts."""
    if deadline(seen.spec) is None:
        return [one for one in conditions if one["type"] != "Progressing"]
    current = _find(conditions, "Progressing")
    reason = current.get("reason") if current is not None else None
    paused = seen.spec.get("paused", False)
    if paused and reason not in ("DeploymentPaused", "ProgressDeadlineExceeded"):
        return _set(conditions, "Progressing", "Unknown", "DeploymentPaused", "Deployment is paused", now)
    if not paused and reason == "DeploymentPaused":
        conditions = _set(conditions, "Progressing", "Unknown", "DeploymentResumed", "Deployment is resumed", now)
    if seen.started:
        message = f'Created new pod template "{seen.name}-{seen.started}"'
        return _replace(conditions, "Progressing", "True", "NewReplicaSetCreated", message, now)
    return conditions


def _with_progress(seen: Observed, conditions: list[JsonObject], status: JsonObject, now: float) -> list[JsonObject]:
    """Complete, progressing, or past the deadline; a completed rollout is not looked at again until the next."""
    current = _find(conditions, "Progressing")
    if deadline(seen.spec) is None or seen.spec.get("paused"):
        return conditions
    replicas, updated = status.get("replicas", 0), status.get("updatedReplicas", 0)
    if current is not None and current.get("reason") == "NewReplicaSetAvailable" and replicas == updated:
        return conditions
    if updated == replicas == seen.replicas == status.get("availableReplicas", 0):
        message = f'Deployment "{seen.name}" has successfully progressed.'
        return _set(conditions, "Progressing", "True", "NewReplicaSetAvailable", message, now)
    if _progressed(seen.status, status):
        message = f'Deployment "{seen.name}" is progressing.'
        return _replace(conditions, "Progressing", "True", "ReplicaSetUpdated", message, now)
    due = times_out_at(seen.spec, current)
    if due is not None and due < now:
        message = f'Deployment "{seen.name}" has timed out progressing.'
        return _set(conditions, "Progressing", "False", "ProgressDeadlineExceeded", message, now)
    return conditions


def _progressed(old: JsonObject, new: JsonObject) -> bool:
    """More updated, ready or available pods than before, or fewer old ones."""
    rising = ("updatedReplicas", "readyReplicas", "availableReplicas")
    if any(new.get(count, 0) > old.get(count, 0) for count in rising):
        return True
    return _stale(new) < _stale(old)


def _stale(status: JsonObject) -> int:
    stale: int = status.get("replicas", 0) - status.get("updatedReplicas", 0)
    return stale


def times_out_at(spec: JsonObject, progressing: JsonObject | None) -> float | None:
    """After which moment a rollout without progress has failed; None where none is under way (or it has)."""
    seconds = deadline(spec)
    if seconds is None or progressing is None or spec.get("paused"):
        return None
    if progressing.get("reason") in ("NewReplicaSetAvailable", "ProgressDeadlineExceeded"):
        return None
    since = progressing.get("lastUpdateTime") or progressing.get("lastTransitionTime")
    return parse_time(since) + seconds if since else None

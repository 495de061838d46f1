"""Who has to leave an unreachable node, when, and what an evicted pod looks like.  Pure; part of node lifecycle.

Only the taint `node.kubernetes.io/unreachable:NoExecute` evicts.  An evicted pod is not deleted: it loses its node and
waits for the scheduler again.
"""

from __future__ import annotations

from math import inf
from typing import Any

from kube32_sim.client import PODS
from kube32_sim.clock import rfc3339
from kube32_sim.runtime.actions import Action, Delete, Emit, Update, reference

JsonObject = dict[str, Any]

UNREACHABLE = "node.kubernetes.io/unreachable"
NO_SCHEDULE, NO_EXECUTE = "NoSchedule", "NoExecute"
COMPONENT = "node-controller"
UNBIND = "unbind"
"""Subresource, of the in-process client only, that takes a bound pod off its node (the API itself cannot)."""

FINISHED = frozenset(("Succeeded", "Failed"))
_CLEARED = (
    "podIP",
    "podIPs",
    "hostIP",
    "hostIPs",
    "startTime",
    "containerStatuses",
    "initContainerStatuses",
    "ephemeralContainerStatuses",
)
_ENDED = frozenset(("Ready", "ContainersReady", "Initialized", "PodReadyToStartContainers"))


def _tolerates(toleration: JsonObject) -> bool:
    """Whether it matches the taint (which has no value), by upstream's rules."""
    if toleration.get("effect") not in (None, "", NO_EXECUTE):
        return False
    key, operator = toleration.get("key") or "", toleration.get("operator") or "Equal"
    if key not in ("", UNREACHABLE):
        return False
    return operator == "Exists" or (operator == "Equal" and key != "" and not toleration.get("value"))


def tolerated_seconds(pod: JsonObject) -> float:
    """How long after the taint's timeAdded the pod may stay: 0 without a toleration, infinite without a limit.

    As upstream the first toleration that matches decides.
    """
    for toleration in (pod.get("spec") or {}).get("tolerations") or ():
        if _tolerates(toleration):
            seconds = toleration.get("tolerationSeconds")
            return inf if seconds is None else max(0.0, float(seconds))
    return 0.0


def stays(pod: JsonObject) -> bool:
    """Pods that are never evicted for this taint: finished ones and those of DaemonSets."""
    if (pod.get("status") or {}).get("phase") in FINISHED:
        return True
    owners = pod["metadata"].get("ownerReferences") or ()
    return any(owner.get("kind") == "DaemonSet" and owner.get("controller") for owner in owners)


def leaves_at(pod: JsonObject, time_added: float) -> float:
    """When a pod on the node has to go (seconds since 1970); infinite where it may stay."""
    return inf if stays(pod) else time_added + tolerated_seconds(pod)


def evicted(pod: JsonObject, message: str, now: str) -> JsonObject:
    """The pod without its node: Pending, reason Evicted, and nothing left of its life there."""
    spec = {key: value for key, value in pod["spec"].items() if key != "nodeName"}
    status = {key: value for key, value in (pod.get("status") or {}).items() if key not in _CLEARED}
    conditions = [
        condition
        for condition in status.get("conditions") or ()
        if condition.get("type") not in _ENDED and condition.get("type") not in ("PodScheduled", "DisruptionTarget")
    ]
    disrupted = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "DeletionByTaintManager",
        "message": message,
        "lastTransitionTime": now,
    }
    unscheduled = {"type": "PodScheduled", "status": "False", "lastTransitionTime": now}
    status.update(phase="Pending", reason="Evicted", message=message, conditions=[*conditions, unscheduled, disrupted])
    return {**pod, "spec": spec, "status": status}


def evict_actions(pod: JsonObject, node: str, now: float) -> tuple[Action, ...]:
    """Take a pod off its unreachable node; one that is being deleted is removed for good, nobody else will do it."""
    metadata = pod["metadata"]
    namespace, name, uid = metadata["namespace"], metadata["name"], metadata["uid"]
    if "deletionTimestamp" in metadata:
        return (Delete(PODS, namespace, name, uid, grace_period_seconds=0),)
    message = f"Node {node} is unreachable and the pod does not tolerate {UNREACHABLE}:{NO_EXECUTE} any longer"
    return (
        Update(PODS, namespace, evicted(pod, message, rfc3339(now)), UNBIND),
        Emit(reference("v1", "Pod", pod), "Warning", "Evicted", message, COMPONENT),
    )

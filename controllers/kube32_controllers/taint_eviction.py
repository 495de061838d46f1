"""What becomes of the pods of an unreachable node.  Pure; part of node lifecycle.

    the node is given up      they are not Ready any longer, as upstream has it (their containers may well run on)
    their toleration is over  they are evicted: not deleted, but without a node, waiting for the scheduler again
    the node is back          those that are still there are Ready again

Only the taint `node.kubernetes.io/unreachable:NoExecute` evicts.
"""

from __future__ import annotations

from math import inf
from typing import Any

from kube32_controllers.pod_conditions import disruption_target, with_condition
from kube32_sim.api.pod_state import finished, ready_condition, terminating
from kube32_sim.causes import Cause, Ref
from kube32_sim.client import PODS
from kube32_sim.clock import parse_time, rfc3339
from kube32_sim.runtime.actions import Action, Delete, Emit, Update, reference

JsonObject = dict[str, Any]

UNREACHABLE = "node.kubernetes.io/unreachable"
NO_SCHEDULE, NO_EXECUTE = "NoSchedule", "NoExecute"
COMPONENT = "node-controller"
UNBIND = "unbind"
"""Subresource, of the in-process client only, that takes a bound pod off its node (the API itself cannot)."""

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
    """Pods that are never evicted for this taint: those of DaemonSets, and finished ones.

    A finished one that is being deleted has nothing to stay for, and goes as others do.
    """
    owners = pod["metadata"].get("ownerReferences") or ()
    return any(map(_is_daemonset, owners)) or (finished(pod) and not terminating(pod))


def _is_daemonset(owner: JsonObject) -> bool:
    """A controller of another group may be called DaemonSet too."""
    group = str(owner.get("apiVersion", "")).partition("/")[0]
    return bool(owner.get("controller")) and owner.get("kind") == "DaemonSet" and group == "apps"


def leaves_at(pod: JsonObject, time_added: float) -> float:
    """When a pod on the node has to go (seconds since 1970); infinite where it may stay."""
    return inf if stays(pod) else time_added + tolerated_seconds(pod)


# readiness


def lose_readiness(pod: JsonObject, lost_at: float, now: float) -> tuple[Action, ...]:
    """What makes a pod not Ready whose node was given up at `lost_at` (seconds since 1970).

    As upstream nothing else is changed, nor any other condition.  A pod that has become Ready since is left alone: who
    wrote that still hears of it.
    """
    old = ready_condition(pod)
    if old is None or _transition(old) > lost_at:
        return ()
    condition = {**old, "status": "False", "lastTransitionTime": rfc3339(now)}
    event = Emit(reference("v1", "Pod", pod), "Warning", "NodeNotReady", "Node is not ready", COMPONENT)
    return _status_update(pod, condition), event


def regain_readiness(pod: JsonObject, now: float) -> tuple[Action, ...]:
    """What makes a pod Ready again that `lose_readiness` has made not Ready, until its kubelet tells more.

    A kubelet gives a reason with every Ready=False; this one has none, although its containers were ready.
    """
    conditions = {one.get("type"): one for one in (pod.get("status") or {}).get("conditions") or ()}
    old, containers = conditions.get("Ready", {}), conditions.get("ContainersReady", {})
    if finished(pod) or old.get("status") != "False" or old.get("reason") or containers.get("status") != "True":
        return ()
    return (_status_update(pod, {**old, "status": "True", "lastTransitionTime": rfc3339(now)}),)


def _transition(condition: JsonObject) -> float:
    try:
        return parse_time(condition.get("lastTransitionTime") or "")
    except ValueError:
        return -inf


def _status_update(pod: JsonObject, condition: JsonObject) -> Update:
    status = with_condition(pod["status"], condition)
    return Update(PODS, pod["metadata"]["namespace"], {**pod, "status": status}, "status")


# eviction


def evicted(pod: JsonObject, message: str, now: str) -> JsonObject:
    """The pod without its node: Pending, reason Evicted, and nothing left of its life there."""
    spec = {key: value for key, value in pod["spec"].items() if key != "nodeName"}
    status = {key: value for key, value in (pod.get("status") or {}).items() if key not in _CLEARED}
    status["conditions"] = [one for one in status.get("conditions") or () if one.get("type") not in _ENDED]
    status |= {"phase": "Pending", "reason": "Evicted", "message": message}
    status = with_condition(status, {"type": "PodScheduled", "status": "False", "lastTransitionTime": now})
    status = with_condition(status, disruption_target("DeletionByTaintManager", message, now))
    return {**pod, "spec": spec, "status": status}


def evict_actions(pod: JsonObject, node: str, now: float) -> tuple[Action, ...]:
    """Take a pod off its unreachable node; one that is being deleted is removed for good, nobody else will do it.

    It may stay on for its finalizers; then there is nothing more to do.
    """
    metadata = pod["metadata"]
    namespace, name, uid = metadata["namespace"], metadata["name"], metadata["uid"]
    about = Ref("Node", "", node)
    if terminating(pod):
        over = metadata.get("deletionGracePeriodSeconds") == 0
        gone = Cause(COMPONENT, "NodeUnreachable", f"it was being deleted, and node {node} is unreachable", about)
        return () if over else (Delete(PODS, namespace, name, uid, grace_period_seconds=0, cause=gone),)
    message = f"Node {node} is unreachable and the pod does not tolerate {UNREACHABLE}:{NO_EXECUTE} any longer"
    return (
        Update(
            PODS, namespace, evicted(pod, message, rfc3339(now)), UNBIND, Cause(COMPONENT, "Evicted", message, about)
        ),
        Emit(reference("v1", "Pod", pod), "Warning", "Evicted", message, COMPONENT),
    )

"""DaemonSets: one pod on every node that the template's nodeSelector matches.  Pure.

A pod is made for its node: a `kubernetes.io/hostname` node selector leads the scheduler there, whether the node is
cordoned, not ready or neither (the pod waits then).  `workload_controller.py` runs this; `pod_control.py` knows pods.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kube32_controllers.pod_control import (
    BURST,
    available,
    available_at,
    controlled,
    create_pod,
    created,
    merge_patch,
    pod_from_template,
    template_hash,
    told_delete,
)
from kube32_controllers.pod_control import int_or_percent as scaled
from kube32_sim.api.pod_state import finished, ready, terminating
from kube32_sim.causes import Cause, Ref, ref
from kube32_sim.client import DAEMONSETS
from kube32_sim.runtime.actions import Action, Emit, Patch, Plan, reference

JsonObject = dict[str, Any]

COMPONENT = "daemonset-controller"
HASH_LABEL = "controller-revision-hash"
HOSTNAME = "kubernetes.io/hostname"
LONGEST_BACKOFF = 60.0
TOLERATED = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
"""NoExecute taints under which a daemon pod stays for ever."""


@dataclass(frozen=True, slots=True)
class NodePods:
    """The DaemonSet's pods of one node: `pod` is the one that counts, the others are too many or over."""

    node: str
    hostname: str
    pod: JsonObject | None
    leaving: bool
    """A terminating pod is still there; its successor waits for it to go."""
    surplus: Sequence[JsonObject]
    ended: Sequence[JsonObject]


def hostname_of(node: JsonObject) -> str:
    """The value that leads a pod to this node."""
    metadata = node["metadata"]
    return str(metadata.get("labels", {}).get(HOSTNAME, metadata["name"]))


def wanted_nodes(daemonset: JsonObject, nodes: Iterable[JsonObject]) -> list[JsonObject]:
    """Nodes whose labels match the template's nodeSelector, in order of their names.

    A template that names a node is for that one: pods for the others would all be bound to it.
    """
    spec = daemonset["spec"]["template"]["spec"]
    selector: Mapping[str, str] = spec.get("nodeSelector", {})
    only = spec.get("nodeName")
    found = [node for node in nodes if only in (None, "", node["metadata"]["name"]) and _matches(selector, node)]
    return sorted(found, key=lambda node: str(node["metadata"]["name"]))


def _matches(selector: Mapping[str, str], node: JsonObject) -> bool:
    labels = {HOSTNAME: node["metadata"]["name"], **node["metadata"].get("labels", {})}
    return all(labels.get(key) == value for key, value in selector.items())


def plan_daemonset(daemonset: JsonObject, pods: Iterable[JsonObject], nodes: Sequence[JsonObject], now: float) -> Plan:
    """Everything to do for one DaemonSet.  pods: those that name it as their owner; nodes: all of the cluster."""
    if "deletionTimestamp" in daemonset["metadata"]:
        return Plan()
    current = template_hash(daemonset["spec"]["template"])
    mine = controlled(pods, "DaemonSet", daemonset["metadata"])
    wanted = wanted_nodes(daemonset, nodes)
    places, elsewhere = _by_node(mine, wanted, current)
    about, owner = reference("apps/v1", "DaemonSet", daemonset), ref("DaemonSet", daemonset)
    doomed = [(pod, "NotWanted") for pod in elsewhere if not terminating(pod)]
    actions: list[Action] = []
    again: list[float] = []
    room = BURST
    for place in places:
        doomed += ((pod, "TooMany") for pod in place.surplus)
        over, due = _ended(daemonset, place, now)
        over = over[: max(0, BURST - len(doomed))]
        doomed += ((pod, "Finished") for pod in over)
        actions += _failures(about, place, over)
        if due is not None:
            again.append(due)
        if room and place.pod is None and not place.leaving and not place.ended:
            room -= 1
            pod, cause = daemon_pod(daemonset, place, current, about), _missing_on(owner, place.node)
            actions.append(create_pod(pod, about, COMPONENT, tell=True, cause=cause))
    doomed += ((pod, "OldTemplate") for pod in _replaced(daemonset, places, current, now))
    for pod, why in doomed[:BURST]:
        actions += told_delete(pod, about, COMPONENT, _not_wanted(owner, why))
    seconds = daemonset["spec"].get("minReadySeconds", 0)
    again += [at for pod in mine if (at := available_at(pod, seconds)) is not None]
    misplaced = {str(node["metadata"]["name"]) for node in nodes} & {_place_of(pod) for pod in elsewhere}
    status = new_status(daemonset, places, len(misplaced), current, now)
    patch = merge_patch(daemonset.get("status", {}), status)
    if patch:
        actions.append(Patch(DAEMONSETS, about["namespace"], about["name"], {"status": patch}, "status"))
    return Plan(tuple(actions), min((at for at in again if at > now), default=None))


# why

_WHY_NOT = {
    "NotWanted": "DaemonSet {name} is not for its node",
    "TooMany": "DaemonSet {name} has another pod on its node",
    "Finished": "it has ended, and DaemonSet {name} makes another one",
    "OldTemplate": "it is of an older template of DaemonSet {name}, and it is its turn to be replaced",
}


def _missing_on(owner: Ref, node: str) -> Cause:
    message = f"DaemonSet {owner.name} wants a pod on node {node} and has none there"
    return Cause(COMPONENT, "Missing", message, owner, (Ref("Node", "", node),))


def _not_wanted(owner: Ref, why: str) -> Cause:
    return Cause(COMPONENT, why, _WHY_NOT[why].format(name=owner.name), owner)


# which pod belongs where


def _by_node(
    pods: Sequence[JsonObject], wanted: Sequence[JsonObject], current: str
) -> tuple[list[NodePods], list[JsonObject]]:
    """The pods of each wanted node, and those that are on (or meant for) no such node."""
    by_hostname = {hostname_of(node): node["metadata"]["name"] for node in reversed(wanted)}
    held: dict[str, list[JsonObject]] = {node["metadata"]["name"]: [] for node in wanted}
    elsewhere: list[JsonObject] = []
    for pod in pods:
        spec = pod["spec"]
        place: str = spec.get("nodeName") or by_hostname.get(spec.get("nodeSelector", {}).get(HOSTNAME, ""), "")
        held.get(place, elsewhere).append(pod)
    places = [_place(node, held[node["metadata"]["name"]], current) for node in wanted]
    return places, elsewhere


def _place_of(pod: JsonObject) -> str:
    """The node that a pod is bound to, or else led to."""
    spec = pod["spec"]
    return str(spec.get("nodeName") or spec.get("nodeSelector", {}).get(HOSTNAME, ""))


def _place(node: JsonObject, pods: Sequence[JsonObject], current: str) -> NodePods:
    staying = [pod for pod in pods if not terminating(pod)]
    running = [pod for pod in staying if not finished(pod)]
    if len(running) > 1:
        running.sort(key=lambda pod: _keeping(pod, current))
    return NodePods(
        node["metadata"]["name"],
        hostname_of(node),
        running[0] if running else None,
        len(staying) < len(pods),
        running[1:],
        [pod for pod in staying if finished(pod)],
    )


def _keeping(pod: JsonObject, current: str) -> tuple[bool, bool, float, str]:
    """Of several pods of a node the first in this order stays: ready, up to date, oldest."""
    return not ready(pod), not _up_to_date(pod, current), created(pod), pod["metadata"]["name"]


def _up_to_date(pod: JsonObject, current: str) -> bool:
    return bool(pod["metadata"].get("labels", {}).get(HASH_LABEL) == current)


# making pods


def daemon_pod(daemonset: JsonObject, place: NodePods, current: str, about: JsonObject) -> JsonObject:
    name = daemonset["metadata"]["name"]
    pod = pod_from_template(daemonset["spec"]["template"], about, f"{name}-", {HASH_LABEL: current})
    spec = pod["spec"]
    spec["nodeSelector"] = {**spec.get("nodeSelector", {}), HOSTNAME: place.hostname}
    spec["tolerations"] = _tolerations(spec.get("tolerations", []))
    return pod


def _tolerations(given: Sequence[JsonObject]) -> list[JsonObject]:
    """Those of the template, and both node taints tolerated without an end, whatever the template says of them."""
    added = [{"key": key, "operator": "Exists", "effect": "NoExecute"} for key in TOLERATED]
    return [toleration for toleration in given if not _about_node_taint(toleration)] + added


def _about_node_taint(toleration: JsonObject) -> bool:
    return toleration.get("key") in TOLERATED and toleration.get("effect") == "NoExecute"


# pods that ended


def _ended(daemonset: JsonObject, place: NodePods, now: float) -> tuple[list[JsonObject], float | None]:
    """Finished pods whose time is up, and when the next one's is.

    A daemon pod should never end; one that did makes room for a new one, after a wait that grows with the time the
    DaemonSet has been there, up to a minute, so that one which cannot run does not keep everybody busy.
    """
    over, later = [], []
    for pod in place.ended:
        age = created(pod) - created(daemonset)
        until = created(pod) + min(LONGEST_BACKOFF, max(1.0, age))
        if until <= now:
            over.append(pod)
        else:
            later.append(until)
    return over, min(later, default=None)


def _failures(about: JsonObject, place: NodePods, over: Iterable[JsonObject]) -> list[Emit]:
    events = []
    for pod in over:
        phase = pod["status"]["phase"]
        where = f"{pod['metadata']['namespace']}/{pod['metadata']['name']} on node {place.node}"
        if phase == "Failed":
            message = f"Found failed daemon pod {where}, will try to kill it"
            events.append(Emit(about, "Warning", "FailedDaemonPod", message, COMPONENT))
        else:
            message = f"Found succeeded daemon pod {where}, will try to delete it"
            events.append(Emit(about, "Normal", "SucceededDaemonPod", message, COMPONENT))
    return events


# rolling update


def max_unavailable(spec: JsonObject, wanted: int) -> int:
    """Nodes that may be without a usable pod during an update: 1 by default and at least, percentages rounded up.

    maxSurge has no effect, for a successor waits until its predecessor has left: an update that should only surge goes
    one node after the other.
    """
    rolling = spec.get("updateStrategy", {}).get("rollingUpdate", {})
    return max(1, scaled(rolling.get("maxUnavailable", 1), wanted, up=True))


def _replaced(daemonset: JsonObject, places: Sequence[NodePods], current: str, now: float) -> list[JsonObject]:
    """Stale pods to delete: all that are not available anyway, then as many available ones as can be spared."""
    spec = daemonset["spec"]
    if spec.get("updateStrategy", {}).get("type") == "OnDelete":
        return []
    seconds = spec.get("minReadySeconds", 0)
    usable = [place for place in places if place.pod is not None and available(place.pod, seconds, now)]
    in_use = {place.node for place in usable}
    stale = [place for place in places if place.pod is not None and not _up_to_date(place.pod, current)]
    idle = [place.pod for place in stale if place.node not in in_use and place.pod is not None]
    spare = max(0, max_unavailable(spec, len(places)) - (len(places) - len(usable)))
    busy = [place.pod for place in stale if place.node in in_use and place.pod is not None]
    return idle + busy[:spare]


# status


def new_status(
    daemonset: JsonObject, places: Sequence[NodePods], misplaced: int, current: str, now: float
) -> JsonObject:
    """The whole status; the first four counts are always there, the others where they are not 0.

    misplaced: nodes that should have no pod and have one still.
    """
    seconds = daemonset["spec"].get("minReadySeconds", 0)
    pods = [place.pod for place in places if place.pod is not None]
    usable = sum(available(pod, seconds, now) for pod in pods)
    status: JsonObject = {
        "currentNumberScheduled": sum(place.pod is not None or place.leaving or bool(place.ended) for place in places),
        "numberMisscheduled": misplaced,
        "desiredNumberScheduled": len(places),
        "numberReady": sum(ready(pod) for pod in pods),
    }
    optional = {
        "observedGeneration": daemonset["metadata"].get("generation", 0),
        "updatedNumberScheduled": sum(_up_to_date(pod, current) for pod in pods),
        "numberAvailable": usable,
        "numberUnavailable": len(places) - usable,
    }
    status |= {name: count for name, count in optional.items() if count}
    for kept in ("conditions", "collisionCount"):
        if kept in daemonset.get("status", {}):
            status[kept] = daemonset["status"][kept]
    return status

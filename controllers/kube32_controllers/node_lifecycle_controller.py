"""Node lifecycle: what happens to a node whose board stops renewing its Lease, and when it renews again.

    lease duration without renewal   Ready=Unknown, taint unreachable:NoSchedule, event NodeNotReady
    + eviction timeout               taint unreachable:NoExecute with timeAdded
    + what each pod tolerates        eviction (`taint_eviction`)
    renewed                          both taints removed, event NodeReady

`reconcile` decides for one node, purely.  `NodeLifecycle` remembers when it saw each Lease change: that moment counts,
not the board's own clock.  A healthy node is looked at once per lease duration, not at each renewal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, NamedTuple

from kube32_controllers.taint_eviction import (
    COMPONENT,
    NO_EXECUTE,
    NO_SCHEDULE,
    UNREACHABLE,
    evict_actions,
    leaves_at,
    lose_readiness,
    regain_readiness,
)
from kube32_sim.causes import Cause, ref
from kube32_sim.client import LEASES, NODES, PODS, Resource
from kube32_sim.clock import parse_time, rfc3339
from kube32_sim.runtime.actions import Action, Emit, Patch, Plan, Update, View, reference

JsonObject = dict[str, Any]

LEASE_NAMESPACE = "kube-node-lease"
LEASE_SECONDS = 15.0
"""Where a node's Lease names no duration, or the node has no Lease."""
NOT_RENEWED = "NodeStatusUnknown"
PRESSURES = frozenset(("MemoryPressure", "DiskPressure", "PIDPressure"))
"""Conditions besides Ready that only the kubelet can tell."""
OVERSLEPT = 5.0
"""Seconds (besides two intervals) past a deadline after which the lateness is ours: the machine slept, say."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """not_ready: instead of the leases' durations.  eviction: from Unknown until NoExecute.  interval: of the loop."""

    not_ready: float | None = None
    eviction: float = 15.0
    interval: float = 0.5


class Renewal(NamedTuple):
    """A Lease as last seen.  at: when its renewTime was seen to change.  fresh: while we watched, not before."""

    time: str
    duration: float | None
    at: float
    fresh: bool


@dataclass(frozen=True, slots=True)
class Observed:
    """One node's circumstances.  expires: when it counts as lost.  unknown_since: None where it is not Unknown yet.

    pods: those bound to it, where it is lost or was.
    """

    node: JsonObject
    expires: float
    unknown_since: float | None
    pods: Sequence[JsonObject] = ()


def _seconds(text: object) -> float | None:
    try:
        return parse_time(text) if isinstance(text, str) and text else None
    except ValueError:
        return None


def _conditions(node: JsonObject) -> Sequence[JsonObject]:
    return (node.get("status") or {}).get("conditions") or ()


def _about_ready(condition: JsonObject) -> bool:
    return condition.get("type") == "Ready"


def ready_condition(node: JsonObject) -> JsonObject:
    return next(filter(_about_ready, _conditions(node)), {})


def unreachable_taint(node: JsonObject, effect: str) -> JsonObject | None:
    for taint in (node.get("spec") or {}).get("taints") or ():
        if taint.get("key") == UNREACHABLE and taint.get("effect") == effect:
            return taint  # type: ignore[no-any-return]
    return None


def is_unknown(node: JsonObject) -> bool:
    """Whether this controller has given the node up."""
    condition = ready_condition(node)
    return condition.get("status") == "Unknown" and condition.get("reason") == NOT_RENEWED


def is_down(node: JsonObject) -> bool:
    """Whether there is anything to take back when the node renews."""
    return is_unknown(node) or any(unreachable_taint(node, effect) for effect in (NO_SCHEDULE, NO_EXECUTE))


def time_added(node: JsonObject) -> float | None:
    """When the NoExecute taint was put on the node; None where it has none (or one without a time)."""
    return _seconds((unreachable_taint(node, NO_EXECUTE) or {}).get("timeAdded"))


# decisions


def _with_conditions(node: JsonObject, conditions: Sequence[JsonObject], cause: Cause) -> Update:
    status = {**(node.get("status") or {}), "conditions": list(conditions)}
    return Update(NODES, "", {**node, "status": status}, "status", cause)


def _because(node: JsonObject, reason: str, message: str) -> Cause:
    return Cause(COMPONENT, reason, message, ref("Node", node))


def _taint_patch(node: JsonObject, effects: dict[str, JsonObject], cause: Cause) -> tuple[Patch, ...]:
    """The node with these unreachable taints (by effect) and no others of that key; nothing where it has just them."""
    old = (node.get("spec") or {}).get("taints") or []
    others = [taint for taint in old if taint.get("key") != UNREACHABLE]
    new = [*others, *effects.values()]
    if sorted(map(repr, new)) == sorted(map(repr, old)):
        return ()
    return (Patch(NODES, "", node["metadata"]["name"], {"spec": {"taints": new or None}}, cause=cause),)


def _event(node: JsonObject, reason: str) -> Emit:
    message = f"Node {node['metadata']['name']} status is now: {reason}"
    return Emit(reference("v1", "Node", node), "Normal", reason, message, COMPONENT)


def _recover(seen: Observed, now: float) -> tuple[Action, ...]:
    """Back in time: as it was, until the kubelet reports."""
    node, moment = seen.node, rfc3339(now)
    actions: list[Action] = []
    cause = _because(node, "LeaseRenewed", f"node {node['metadata']['name']} renews its lease again")
    if is_unknown(node):
        message = "kubelet is renewing its lease again"
        ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": message}
        ready |= {"lastHeartbeatTime": moment, "lastTransitionTime": moment}
        actions.append(
            _with_conditions(node, [ready if _about_ready(one) else one for one in _conditions(node)], cause)
        )
    actions += (*_taint_patch(node, {}, cause), _event(node, "NodeReady"))
    for pod in seen.pods:
        actions += regain_readiness(pod, now)
    return tuple(actions)


def _give_up(node: JsonObject, expired: float, now: float) -> Action:
    """Ready is Unknown now, and so is whatever else the kubelet alone can know."""
    unknown = {"status": "Unknown", "reason": NOT_RENEWED, "message": "Kubelet stopped posting node status."}
    unknown["lastTransitionTime"] = rfc3339(now)
    conditions = [
        {**one, **unknown} if _about_ready(one) or one.get("type") in PRESSURES else one for one in _conditions(node)
    ]
    if not ready_condition(node):
        conditions.append({"type": "Ready", **unknown, "message": "Kubelet never posted node status."})
    when = f" at {rfc3339(expired)}" if expired > 0 else ""
    message = f"the lease of node {node['metadata']['name']} ran out{when} and was not renewed"
    return _with_conditions(node, conditions, _because(node, "LeaseExpired", message))


def _wanted_taints(node: JsonObject, execute: bool, now: float) -> dict[str, JsonObject]:
    """One that is there already stays as it is, unless it is dated later than now: then the clock was set back."""
    taints = {NO_SCHEDULE: unreachable_taint(node, NO_SCHEDULE) or {"key": UNREACHABLE, "effect": NO_SCHEDULE}}
    added = time_added(node)
    if added is not None and added <= now:
        taints[NO_EXECUTE] = unreachable_taint(node, NO_EXECUTE) or {}
    elif execute or added is not None:
        taints[NO_EXECUTE] = {"key": UNREACHABLE, "effect": NO_EXECUTE, "timeAdded": rfc3339(now)}
    return taints


def _time_added(taint: JsonObject | None, due: float, now: float) -> float:
    """Since when tolerations of the NoExecute taint count; infinite where there is none.

    timeAdded tells whole seconds only; `due`, when the taint was to come, is more exact where they mean the same.
    """
    if taint is None:
        return inf
    added = _seconds(taint.get("timeAdded"))
    if added is None:
        return now
    return due if added < due < added + 1 else added


def _pods(seen: Observed, added: float, lost_at: float, now: float) -> tuple[tuple[Action, ...], float]:
    """What to do about the pods of a lost node, and when the next of them has to go.

    Those whose time was over first go first, then by namespace and name.
    """
    actions: list[Action] = []
    following = inf
    name = seen.node["metadata"]["name"]
    due = [(leaves_at(pod, added), pod) for pod in seen.pods]
    for when, pod in sorted(due, key=lambda entry: entry[0]):
        if when <= now:
            actions += evict_actions(pod, name, now)
        else:
            actions += lose_readiness(pod, lost_at, now)
            following = min(following, when)
    return tuple(actions), following


def reconcile(seen: Observed, eviction_timeout: float, now: float) -> Plan:
    """What to do about one node now, and when to look again though nothing changes."""
    node = seen.node
    if now < seen.expires:
        return Plan(_recover(seen, now) if is_down(node) else (), seen.expires)
    unknown = is_unknown(node)
    since = now if seen.unknown_since is None else min(now, seen.unknown_since)
    due = since + eviction_timeout
    taints = _wanted_taints(node, now >= due, now)
    name, effects = node["metadata"]["name"], " and ".join(taints)
    cause = _because(node, "Tainted", f"node {name} is not Ready: it is tainted {UNREACHABLE}:{effects}")
    actions = (*(() if unknown else (_give_up(node, seen.expires, now),)), *_taint_patch(node, taints, cause))
    if not unknown:
        actions += (_event(node, "NodeNotReady"),)
    told = _seconds(ready_condition(node).get("lastTransitionTime")) if unknown else None
    added = _time_added(taints.get(NO_EXECUTE), due, now)
    of_pods, following = _pods(seen, added, now if told is None else told, now)
    again = following if NO_EXECUTE in taints else due
    return Plan(actions + of_pods, None if again == inf else again)


# the loop


@dataclass(slots=True)
class _Memory:
    """What is remembered of a node.  floor: silence before this moment does not count.  lost_at: when it was given up.

    deadline: when it would be lost without another renewal.  watched: anything that happens to it is of interest.
    """

    uid: str
    floor: float
    lost_at: float | None = None
    deadline: float = inf
    watched: bool = False


class NodeLifecycle:
    """now: the clock's; a Lease's change counts from when it is seen."""

    name = "node-lifecycle"
    watches: tuple[Resource, ...] = (NODES, LEASES, PODS)
    heartbeats: tuple[Resource, ...] = (LEASES,)

    def __init__(self, now: Callable[[], float], timeouts: Timeouts | None = None) -> None:
        self._now = now
        self._timeouts = timeouts or Timeouts()
        self._started = now()
        self._begun = False
        self._renewals: dict[str, Renewal] = {}
        self._nodes: dict[str, _Memory] = {}

    # what changed

    def keys(self, resource: Resource, obj: JsonObject, view: View) -> Iterable[str]:
        name: str = obj["metadata"]["name"]
        if resource == NODES:
            return (name,)
        if resource == PODS:
            memory = self._nodes.get((obj.get("spec") or {}).get("nodeName", ""))
            return (obj["spec"]["nodeName"],) if memory is not None and memory.watched else ()
        if obj["metadata"].get("namespace") != LEASE_NAMESPACE:
            return ()
        self._see(name, view.get(LEASES, LEASE_NAMESPACE, name))
        return (name,) if self._matters(name) else ()

    def _see(self, name: str, lease: JsonObject | None) -> None:
        """Remember a Lease's present state, and when its renewTime changed.

        One that is deleted, or loses its renewTime, was renewed nevertheless: that counts until its Node goes, too.
        """
        if lease is None:
            return
        spec = lease.get("spec") or {}
        time, duration = spec.get("renewTime") or "", spec.get("leaseDurationSeconds") or None
        old = self._renewals.get(name)
        if old is not None and time in ("", old.time):
            self._renewals[name] = old._replace(duration=duration)
        else:
            self._renewals[name] = Renewal(time, duration, self._moment(_seconds(time)), self._begun)

    def _moment(self, said: float | None) -> float:
        """When a renewal seen just now took place: as the board says, where that is plausible, for it is more exact."""
        now = self._now()
        return said if said is not None and now - self._timeouts.interval - 1.0 <= said <= now else now

    def _matters(self, name: str) -> bool:
        """Whether a Lease's change is of interest now; a healthy node's deadline only moves away."""
        memory, renewal = self._nodes.get(name), self._renewals.get(name)
        if memory is None or memory.watched or renewal is None:
            return True
        return renewal.at + self._duration(renewal) < memory.deadline

    def _duration(self, renewal: Renewal | None) -> float:
        if self._timeouts.not_ready is not None:
            return self._timeouts.not_ready
        return (renewal.duration if renewal is not None else None) or LEASE_SECONDS

    def heeds(self, event: Any) -> bool:
        """A renewal is noted; it is of interest where it is not just one more of a healthy node."""
        stored = event.stored
        if stored.namespace != LEASE_NAMESPACE:
            return False
        name: str = stored.name
        old = self._renewals.get(name)
        if old is None:
            self._see(name, stored.object())
        else:
            self._renewals[name] = Renewal(event.heartbeat, old.duration, event.time, self._begun)
        memory = self._nodes.get(name)
        return memory is None or memory.watched

    def postponed(self, key: str, now: float) -> float | None:
        """A healthy node that has renewed meanwhile is looked at when it could be lost now."""
        memory, renewal = self._nodes.get(key), self._renewals.get(key)
        if memory is None or memory.watched or renewal is None or not renewal.time:
            return None
        if not memory.deadline <= now <= memory.deadline + self._timeouts.interval or renewal.at > now:
            return None
        due = renewal.at + self._duration(renewal)
        if due > now:
            memory.deadline = due
        return due

    # deciding

    def plan(self, key: str, view: View, now: float) -> Plan:
        self._begun = True
        node = view.get(NODES, "", key)
        if node is None:
            self._nodes.pop(key, None)
            if view.get(LEASES, LEASE_NAMESPACE, key) is None:
                self._renewals.pop(key, None)
            return Plan()
        uid = node["metadata"].get("uid", "")
        memory = self._nodes.get(key)
        if memory is None or memory.uid != uid:
            memory = self._nodes[key] = _Memory(uid, self._started)
        down = is_down(node)
        expires = self._last_sign(memory, node, is_unknown(node), now) + self._duration(self._renewals.get(key))
        lost = now >= expires
        if not lost:
            memory.lost_at = None
        elif memory.lost_at is not None:
            memory.lost_at = min(memory.lost_at, now)  # the clock may have been set back
        elif not is_unknown(node):
            memory.lost_at = max(expires, now - self._timeouts.interval)
        since = memory.lost_at
        if since is None:
            since = _seconds(ready_condition(node).get("lastTransitionTime"))
        pods = view.by_field(PODS, "spec.nodeName", key) if lost or down else ()
        plan = reconcile(Observed(node, expires, since, pods), self._timeouts.eviction, now)
        memory.watched, memory.deadline = down or lost, inf if plan.again_at is None else plan.again_at
        return plan

    def _last_sign(self, memory: _Memory, node: JsonObject, unknown: bool, now: float) -> float:
        """When the node last showed that it is there: its creation, or a renewal of its Lease.

        A node that is not given up gets a whole lease duration from our own start, and again after we overslept or the
        clock was set back: we could not have seen its renewals.  One that is Unknown has to renew under our eyes.
        """
        name = node["metadata"]["name"]
        created = _seconds(node["metadata"].get("creationTimestamp"))
        signs = [] if created is None or created > now else [created]
        renewal = self._renewals.get(name)
        if not unknown:
            if renewal is not None and renewal.at > now:
                renewal = self._renewals[name] = renewal._replace(at=now)
            if memory.floor > now or now > memory.deadline + OVERSLEPT + 2 * self._timeouts.interval:
                memory.floor = now
            signs.append(memory.floor)
        if renewal is not None and renewal.time and renewal.at <= now and (renewal.fresh or not unknown):
            signs.append(renewal.at)
        return max(signs, default=-inf)

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
from dataclasses import dataclass, replace
from math import inf
from typing import Any

from kube32_controllers.taint_eviction import COMPONENT, NO_EXECUTE, NO_SCHEDULE, UNREACHABLE, evict_actions, leaves_at
from kube32_sim.client import LEASES, NODES, PODS, Resource
from kube32_sim.clock import parse_time, rfc3339
from kube32_sim.runtime.actions import Action, Emit, Patch, Plan, Update, View, reference

JsonObject = dict[str, Any]

LEASE_NAMESPACE = "kube-node-lease"
LEASE_SECONDS = 15.0
"""Where a node's Lease names no duration, or the node has no Lease."""
NOT_RENEWED = "NodeStatusUnknown"
OVERSLEPT = 5.0
"""Seconds (besides two intervals) past a deadline after which the lateness is ours: the machine slept, say."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """not_ready: instead of the leases' durations.  eviction: from Unknown until NoExecute.  interval: of the loop."""

    not_ready: float | None = None
    eviction: float = 15.0
    interval: float = 0.5


@dataclass(frozen=True, slots=True)
class Renewal:
    """A Lease as last seen.  at: when its renewTime was seen to change.  fresh: while we watched, not before."""

    time: str
    duration: float | None
    at: float
    fresh: bool


@dataclass(frozen=True, slots=True)
class Observed:
    """One node's circumstances.  expires: when it counts as lost.  unknown_since: None where it is not Unknown yet."""

    node: JsonObject
    expires: float
    unknown_since: float | None
    pods: Sequence[JsonObject] = ()


def _seconds(text: object) -> float | None:
    try:
        return parse_time(text) if isinstance(text, str) and text else None
    except ValueError:
        return None


def ready_condition(node: JsonObject) -> JsonObject:
    for condition in (node.get("status") or {}).get("conditions") or ():
        if condition.get("type") == "Ready":
            return condition  # type: ignore[no-any-return]
    return {}


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


def _status_update(node: JsonObject, status: str, reason: str, message: str, now: str) -> Update:
    old = ready_condition(node)
    condition = {**old, "type": "Ready", "status": status, "reason": reason, "message": message}
    condition["lastTransitionTime"] = now
    if status == "True":
        condition["lastHeartbeatTime"] = now
    whole = node.get("status") or {}
    conditions = [condition if entry is old else entry for entry in whole.get("conditions") or ()]
    if not old:
        conditions.append(condition)
    return Update(NODES, "", {**node, "status": {**whole, "conditions": conditions}}, "status")


def _taint_patch(node: JsonObject, effects: dict[str, JsonObject]) -> tuple[Patch, ...]:
    """The node with these unreachable taints (by effect) and no others of that key; nothing where it has just them."""
    old = (node.get("spec") or {}).get("taints") or []
    others = [taint for taint in old if taint.get("key") != UNREACHABLE]
    new = [*others, *effects.values()]
    if sorted(map(repr, new)) == sorted(map(repr, old)):
        return ()
    return (Patch(NODES, "", node["metadata"]["name"], {"spec": {"taints": new or None}}),)


def _event(node: JsonObject, reason: str) -> Emit:
    message = f"Node {node['metadata']['name']} status is now: {reason}"
    return Emit(reference("v1", "Node", node), "Normal", reason, message, COMPONENT)


def _recover(node: JsonObject, now: float) -> tuple[Action, ...]:
    actions: list[Action] = []
    if is_unknown(node):
        message = "kubelet is renewing its lease again"
        actions.append(_status_update(node, "True", "KubeletReady", message, rfc3339(now)))
    return (*actions, *_taint_patch(node, {}), _event(node, "NodeReady"))


def _give_up(node: JsonObject, now: float) -> tuple[Action, ...]:
    message = "Kubelet stopped posting node status." if ready_condition(node) else "Kubelet never posted node status."
    return (_status_update(node, "Unknown", NOT_RENEWED, message, rfc3339(now)),)


def _wanted_taints(node: JsonObject, execute: bool, now: float) -> dict[str, JsonObject]:
    taints = {NO_SCHEDULE: unreachable_taint(node, NO_SCHEDULE) or {"key": UNREACHABLE, "effect": NO_SCHEDULE}}
    if time_added(node) is not None:
        taints[NO_EXECUTE] = unreachable_taint(node, NO_EXECUTE) or {}
    elif execute:
        taints[NO_EXECUTE] = {"key": UNREACHABLE, "effect": NO_EXECUTE, "timeAdded": rfc3339(now)}
    return taints


def _evictions(seen: Observed, added: float, now: float) -> tuple[tuple[Action, ...], float]:
    """What to do about the pods of a node tainted since `added`, and when the next of them has to go."""
    actions: list[Action] = []
    following = inf
    for pod in seen.pods:
        due = leaves_at(pod, added)
        if due <= now:
            actions += evict_actions(pod, seen.node["metadata"]["name"], now)
        else:
            following = min(following, due)
    return tuple(actions), following


def reconcile(seen: Observed, eviction_timeout: float, now: float) -> Plan:
    """What to do about one node now, and when to look again though nothing changes."""
    node = seen.node
    if now < seen.expires:
        return Plan(_recover(node, now) if is_down(node) else (), seen.expires)
    unknown = is_unknown(node)
    actions: tuple[Action, ...] = () if unknown else _give_up(node, now)
    since = now if not unknown or seen.unknown_since is None else seen.unknown_since
    taints = _wanted_taints(node, now >= since + eviction_timeout, now)
    actions += _taint_patch(node, taints)
    if not unknown:
        actions += (_event(node, "NodeNotReady"),)
    if NO_EXECUTE not in taints:
        return Plan(actions, since + eviction_timeout)
    added = _seconds(taints[NO_EXECUTE]["timeAdded"])
    evictions, following = _evictions(seen, now if added is None else added, now)
    return Plan(actions + evictions, None if following == inf else following)


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
        """Remember a Lease's present state, and when its renewTime changed."""
        if lease is None:
            self._renewals.pop(name, None)
            return
        spec = lease.get("spec") or {}
        time, duration = spec.get("renewTime") or "", spec.get("leaseDurationSeconds") or None
        old = self._renewals.get(name)
        if old is not None and old.time == time:
            self._renewals[name] = replace(old, duration=duration)
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

    # deciding

    def plan(self, key: str, view: View, now: float) -> Plan:
        self._begun = True
        node = view.get(NODES, "", key)
        if node is None:
            self._nodes.pop(key, None)
            return Plan()
        uid = node["metadata"].get("uid", "")
        memory = self._nodes.get(key)
        if memory is None or memory.uid != uid:
            memory = self._nodes[key] = _Memory(uid, self._started)
        down = is_down(node)
        expires = self._last_sign(memory, node, down, now) + self._duration(self._renewals.get(key))
        lost = now >= expires
        if not lost:
            memory.lost_at = None
        elif not is_unknown(node):
            memory.lost_at = now
        since = memory.lost_at
        if since is None:
            since = _seconds(ready_condition(node).get("lastTransitionTime"))
        pods = view.by_field(PODS, "spec.nodeName", key) if lost else ()
        plan = reconcile(Observed(node, expires, since, pods), self._timeouts.eviction, now)
        memory.watched, memory.deadline = down or lost, inf if plan.again_at is None else plan.again_at
        return plan

    def _last_sign(self, memory: _Memory, node: JsonObject, down: bool, now: float) -> float:
        """When the node last showed that it is there: its creation, or a renewal of its Lease.

        A node that is up gets a whole lease duration from our own start, and again after we overslept or the clock was
        set back: we could not have seen its renewals.  A node that is down has to renew under our eyes.
        """
        name = node["metadata"]["name"]
        created = _seconds(node["metadata"].get("creationTimestamp"))
        signs = [] if created is None or created > now else [created]
        renewal = self._renewals.get(name)
        if not down:
            if renewal is not None and renewal.at > now:
                renewal = self._renewals[name] = replace(renewal, at=now)
            if memory.floor > now or now > memory.deadline + OVERSLEPT + 2 * self._timeouts.interval:
                memory.floor = now
            signs.append(memory.floor)
        if renewal is not None and renewal.time and renewal.at <= now and (renewal.fresh or not down):
            signs.append(renewal.at)
        return max(signs, default=-inf)

"""The scheduler's picture of the cluster: what is free on each node, and which pods wait for one.

Kept true by the store's events, one small record an object and revision, so that placing a pod reads no object but the
pod itself.  The nodes are in a Kestrel table, from which Kestrel chooses.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any, Protocol

from kube32_controllers.scheduler_figures import node_figures, pod_request
from kube32_sim.api.pod_state import SCHEDULER_NAMES, finished
from kube32_sim.causes import Placement
from kube32_sim.kestrel.choosing import Chooser
from kube32_sim.kestrel.filters import evaluate, no_fit
from kube32_sim.kestrel.models import Node, Request
from kube32_sim.kestrel.nodes import NodeTable
from kube32_sim.kestrel.profiles import KUBE32

JsonObject = dict[str, Any]

NODES, PODS = ("", "nodes"), ("", "pods")


class StoredObject(Protocol):
    @property
    def storage(self) -> tuple[str, str]: ...
    @property
    def key(self) -> str: ...
    @property
    def revision(self) -> int: ...
    def object(self) -> JsonObject: ...
    def copy(self) -> JsonObject: ...


class Event(Protocol):
    @property
    def type(self) -> str: ...
    @property
    def heartbeat(self) -> str: ...
    @property
    def stored(self) -> Any: ...


@dataclass(slots=True)
class PodRecord:
    """order: creation order.  unsettled: Pending or with a container waiting, so no report can include it yet.

    counted: its request is subtracted from its node's figures now.  message: of its PodScheduled=False condition.
    """

    key: str
    uid: str
    order: tuple[str, int]
    generation: int | None
    revision: int
    node: str
    request: Request
    unsettled: bool
    waits: bool
    message: str
    counted: bool = False

    @property
    def attempt(self) -> tuple[str, int | None]:
        """What is tried when a node is looked for: a change of the spec makes it another attempt."""
        return self.uid, self.generation


def key_of(pod: JsonObject) -> str:
    return f"{pod['metadata'].get('namespace', '')}/{pod['metadata']['name']}"


def waits_for_node(pod: JsonObject) -> bool:
    """Whether this scheduler is to find a node for the pod."""
    spec = pod.get("spec") or {}
    return (
        not spec.get("nodeName")
        and not spec.get("schedulingGates")
        and spec.get("schedulerName", "") in SCHEDULER_NAMES
        and "deletionTimestamp" not in pod["metadata"]
        and not finished(pod)
    )


def scheduled_condition(pod: JsonObject) -> JsonObject:
    """The pod's PodScheduled condition, or an empty one."""
    for condition in (pod.get("status") or {}).get("conditions") or ():
        if condition.get("type") == "PodScheduled":
            return condition  # type: ignore[no-any-return]
    return {}


def is_unsettled(status: JsonObject) -> bool:
    """Whether a pod is Pending, or has a container that waits: no report of its node can include it."""
    if status.get("phase", "Pending") == "Pending":
        return True
    statuses: list[JsonObject] = [
        *(status.get("containerStatuses") or ()),
        *(status.get("initContainerStatuses") or ()),
    ]
    return any("waiting" in (container.get("state") or ()) for container in statuses)


@dataclass(frozen=True, slots=True)
class Decision:
    """node: where the pod goes; None where it fits nowhere, and `message` then says why.

    nominated: a node where it will fit, once pods that are in its way have gone.  victims: keys of those that have to
    be told so, in the order in which they go.
    """

    node: str | None
    message: str = ""
    score: int = 0
    nominated: str = ""
    victims: tuple[str, ...] = ()

    def placement(self, second: tuple[int, str] | None) -> Placement:
        """second: what the next best node would have been."""
        return Placement(self.node or "", self.score if self.node else None, second, self.message)


class SchedulerCache:
    """table: the nodes, with what is free on them; chooser: chooses among them.  waiting: unbound pods by key."""

    def __init__(self) -> None:
        self.table = NodeTable(KUBE32)
        self.waiting: dict[str, PodRecord] = {}
        self.chooser = Chooser(self.table)
        self._revisions: dict[str, int] = {}
        self._pods: dict[str, PodRecord] = {}
        self._unreported: dict[str, dict[str, PodRecord]] = {}
        self._arrivals = count()

    @property
    def position(self) -> int:
        """How many changes of node figures there have been; it stands still while nothing that matters changes."""
        return self.table.position

    def record(self, key: str) -> PodRecord | None:
        return self._pods.get(key)

    def unreported(self, node: str) -> Mapping[str, PodRecord]:
        """The pods, by key, whose requests are subtracted from what a node reports."""
        return self._unreported.get(node) or {}

    def decide(self, request: Request) -> Decision:
        """Where a pod with this request goes now.  Binds nothing."""
        found = self.chooser.choose(request)
        if found is not None:
            score, node = found
            return Decision(node.name, score=score)
        return Decision(None, no_fit(self.chooser.reasons(request), len(self.table.nodes)))

    def second(self) -> tuple[int, str] | None:
        """(score, name) of the next best node; only right after `decide` has found one."""
        return self.chooser.second()

    def verdicts(self, request: Request) -> dict[str, str]:
        """Of each node by its name why a pod with this request does not fit there now; "" where it does."""
        found = ((name, evaluate(KUBE32, request, node)) for name, node in sorted(self.table.nodes.items()))
        return {name: verdict if isinstance(verdict, str) else "" for name, verdict in found}

    def misfit(self, request: Request, name: str) -> str:
        """Why a pod with this request does not fit on a node now; "" where it does."""
        node = self.table.nodes.get(name)
        if node is None:
            return "there is no such node"
        found = evaluate(KUBE32, request, node)
        return found if isinstance(found, str) else ""

    # feeding

    def load(self, nodes: Iterable[StoredObject], pods: Iterable[StoredObject]) -> None:
        """Start from what is stored; events from then on keep it true."""
        for stored in nodes:
            self.put_node(stored.object(), stored.revision)
        for stored in pods:
            self.put_pod(stored.copy(), stored.revision)  # each is looked at once: no reason to keep it decoded

    def observe(self, event: Event) -> None:
        """A store event; types other than Node and Pod are none of its business."""
        stored = event.stored
        if stored.storage == PODS:
            if event.type == "DELETED":
                self.drop_pod(stored.key)
            else:
                self.put_pod(stored.object(), stored.revision)
        elif stored.storage == NODES:
            if event.type == "DELETED":
                self.drop_node(stored.key)
            elif not event.heartbeat or stored.key in self._unreported or self._is_older(stored.key, stored.revision):
                self.put_node(stored.object(), stored.revision)
            else:
                self._revisions[stored.key] = stored.revision

    # nodes

    def put_node(self, obj: JsonObject, revision: int) -> None:
        node = node_figures(obj)
        if self._is_older(node.name, revision):  # a report was taken back, and no pod is known to be in this one
            pods = {key: pod for key, pod in self._pods.items() if pod.node == node.name}
            self._unreported[node.name] = pods
        self._settle(node, revision)
        self._revisions[node.name] = revision
        self.table.put(node)

    def _is_older(self, name: str, revision: int) -> bool:
        return revision < self._revisions.get(name, 0)

    def drop_node(self, name: str) -> None:
        self._revisions.pop(name, None)
        self.table.drop(name)

    def _settle(self, node: Node, revision: int) -> None:
        """Drop the pods that the node's new report includes, and subtract the others."""
        pods = self._unreported.pop(node.name, None)
        if not pods:
            return
        left = {key: pod for key, pod in pods.items() if pod.unsettled or pod.revision > revision}
        for key, pod in pods.items():
            pod.counted = key in left
        if left:
            self._unreported[node.name] = left
            for pod in left.values():
                node.free = tuple(map(int.__sub__, node.free, pod.request.amounts))

    # pods

    def put_pod(self, obj: JsonObject, revision: int) -> None:
        key = key_of(obj)
        if finished(obj):
            self.drop_pod(key)
            return
        old = self._pods.get(key)
        if old is not None and old.uid != obj["metadata"].get("uid", ""):
            self.drop_pod(key)
            old = None
        new = self._record(key, obj, revision, old)
        self._pods[key] = new
        self._place(old, new)

    def drop_pod(self, key: str) -> None:
        old = self._pods.pop(key, None)
        if old is not None:
            self._place(old, None)

    def _record(self, key: str, obj: JsonObject, revision: int, old: PodRecord | None) -> PodRecord:
        metadata, spec = obj["metadata"], obj.get("spec") or {}
        generation = metadata.get("generation")
        same_spec = old is not None and generation is not None and old.generation == generation
        waits = waits_for_node(obj)
        return PodRecord(
            key,
            metadata.get("uid", ""),
            (metadata.get("creationTimestamp", ""), old.order[1] if old is not None else next(self._arrivals)),
            generation,
            revision,
            spec.get("nodeName", ""),
            old.request if old is not None and same_spec else pod_request(spec),
            is_unsettled(obj.get("status") or {}),
            waits,
            scheduled_condition(obj).get("message", "") if waits else "",
        )

    def _place(self, old: PodRecord | None, new: PodRecord | None) -> None:
        """Let a pod's new state take the place of the old one in every index: the only way in and out."""
        if new is not None and new.node:
            revision = self._revisions.get(new.node)
            new.counted = new.unsettled or revision is None or new.revision > revision
        if old is not None and old.counted and new is not None and new.counted and _same_weight(old, new):
            self._unreported[new.node][new.key] = new
            return
        if old is not None:
            self.waiting.pop(old.key, None)
            if old.counted:
                self._uncount(old)
        if new is not None:
            if new.waits:
                self.waiting[new.key] = new
            if new.counted:
                self._unreported.setdefault(new.node, {})[new.key] = new
                node = self.table.nodes.get(new.node)
                if node is not None:
                    self.table.take(node, new.request.amounts)

    def _uncount(self, pod: PodRecord) -> None:
        pods = self._unreported[pod.node]
        del pods[pod.key]
        if not pods:
            del self._unreported[pod.node]
        node = self.table.nodes.get(pod.node)
        if node is not None:
            self.table.give(node, pod.request.amounts)


def _same_weight(old: PodRecord, new: PodRecord) -> bool:
    return old.node == new.node and old.request.amounts == new.request.amounts

"""The scheduler's picture of the cluster: what is free on each node, and which pods wait for one.

Kept true by the store's events, one small record an object and revision, so that placing a pod reads no object but the
pod itself.  A journal of the nodes whose figures changed lets rankings catch up instead of starting anew.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, Protocol

from kube32_controllers.scheduler_filters import Amounts, NodeFigures, PodRequest, node_figures, pod_request

JsonObject = dict[str, Any]

NODES, PODS = ("", "nodes"), ("", "pods")
SCHEDULER_NAMES = frozenset(("", "default-scheduler"))
"""Values of spec.schedulerName that mean this scheduler; other pods are left to others, as upstream does."""
FINISHED = frozenset(("Succeeded", "Failed"))


class StoredObject(Protocol):
    @property
    def storage(self) -> tuple[str, str]: ...
    @property
    def key(self) -> str: ...
    @property
    def revision(self) -> int: ...
    def object(self) -> JsonObject: ...


class Event(Protocol):
    @property
    def type(self) -> str: ...
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
    request: PodRequest
    unsettled: bool
    waits: bool
    message: str
    counted: bool = False


def waits_for_node(pod: JsonObject) -> bool:
    """Whether this scheduler is to find a node for the pod."""
    spec = pod.get("spec") or {}
    return (
        not spec.get("nodeName")
        and not spec.get("schedulingGates")
        and spec.get("schedulerName", "") in SCHEDULER_NAMES
        and "deletionTimestamp" not in pod["metadata"]
        and (pod.get("status") or {}).get("phase") not in FINISHED
    )


def scheduled_condition(pod: JsonObject) -> JsonObject:
    """The pod's PodScheduled condition, or an empty one."""
    for condition in (pod.get("status") or {}).get("conditions") or ():
        if condition.get("type") == "PodScheduled":
            return condition  # type: ignore[no-any-return]
    return {}


def _is_unsettled(status: JsonObject) -> bool:
    if status.get("phase", "Pending") == "Pending":
        return True
    statuses: list[JsonObject] = [
        *(status.get("containerStatuses") or ()),
        *(status.get("initContainerStatuses") or ()),
    ]
    return any("waiting" in (container.get("state") or ()) for container in statuses)


class SchedulerCache:
    """nodes: by name.  waiting: unbound pods by key.  barred: how many nodes the first filter bars, by its reason."""

    def __init__(self) -> None:
        self.nodes: dict[str, NodeFigures] = {}
        self.waiting: dict[str, PodRecord] = {}
        self.barred: Counter[str] = Counter()
        self._pods: dict[str, PodRecord] = {}
        self._unreported: dict[str, dict[str, PodRecord]] = {}
        self._labelled: dict[tuple[str, str], set[str]] = {}
        self._journal: list[str] = []
        self._forgotten = 0
        self._arrivals = count()

    # what changed

    @property
    def position(self) -> int:
        """How many changes of node figures there have been; it stands still while nothing that matters changes."""
        return self._forgotten + len(self._journal)

    def changed_since(self, position: int) -> Iterable[str] | None:
        """Names of the nodes whose figures changed after a position; None where that is no longer known."""
        if position < self._forgotten:
            return None
        return dict.fromkeys(self._journal[position - self._forgotten :])

    def _touch(self, name: str) -> None:
        if len(self._journal) > 4 * len(self.nodes) + 1024:
            half = len(self._journal) // 2
            del self._journal[:half]
            self._forgotten += half
        self._journal.append(name)

    # feeding

    def load(self, nodes: Iterable[StoredObject], pods: Iterable[StoredObject]) -> None:
        """Start from what is stored; events from then on keep it true."""
        for stored in nodes:
            self.put_node(stored.object(), stored.revision)
        for stored in pods:
            self.put_pod(stored.object(), stored.revision)

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
            else:
                self.put_node(stored.object(), stored.revision)

    # nodes

    def put_node(self, obj: JsonObject, revision: int) -> None:
        new = node_figures(obj, revision)
        old = self.nodes.get(new.name)
        self._settle(new)
        self.nodes[new.name] = new
        if old is not None and replace(old, revision=revision) == new:
            return
        self._reindex(old, new)
        self._touch(new.name)

    def drop_node(self, name: str) -> None:
        old = self.nodes.pop(name, None)
        if old is not None:
            self._reindex(old, None)
            self._touch(name)

    def _settle(self, node: NodeFigures) -> None:
        """Drop the pods that the node's new report includes, and subtract the others."""
        pods = self._unreported.pop(node.name, None)
        if not pods:
            return
        left = {key: pod for key, pod in pods.items() if pod.unsettled or pod.revision > node.revision}
        for key, pod in pods.items():
            pod.counted = key in left
        if left:
            self._unreported[node.name] = left
            for pod in left.values():
                node.free = _less(node.free, pod.request.amounts)

    def _reindex(self, old: NodeFigures | None, new: NodeFigures | None) -> None:
        if old is not None:
            if old.barred:
                self.barred[old.barred] -= 1
            for item in old.labels.items():
                self._labelled[item].discard(old.name)
                if not self._labelled[item]:
                    del self._labelled[item]
        if new is not None:
            if new.barred:
                self.barred[new.barred] += 1
            for item in new.labels.items():
                self._labelled.setdefault(item, set()).add(new.name)

    def labelled(self, selector: Sequence[tuple[str, str]]) -> set[str]:
        """Nodes that have the rarest of the labels: all that can match the selector are among them."""
        return min((self._labelled.get(item, set()) for item in selector), key=len)

    # pods

    def put_pod(self, obj: JsonObject, revision: int) -> None:
        metadata, status = obj["metadata"], obj.get("status") or {}
        key = f"{metadata.get('namespace', '')}/{metadata['name']}"
        if status.get("phase") in FINISHED:
            self.drop_pod(key)
            return
        old = self._pods.get(key)
        if old is not None and old.uid != metadata.get("uid", ""):
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
            _is_unsettled(obj.get("status") or {}),
            waits,
            scheduled_condition(obj).get("message", "") if waits else "",
        )

    def _place(self, old: PodRecord | None, new: PodRecord | None) -> None:
        """Let a pod's new state take the place of the old one in every index: the only way in and out."""
        if new is not None and new.node:
            node = self.nodes.get(new.node)
            new.counted = new.unsettled or node is None or new.revision > node.revision
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
                self._weigh(new.node, tuple(-value for value in new.request.amounts))

    def _uncount(self, pod: PodRecord) -> None:
        pods = self._unreported[pod.node]
        del pods[pod.key]
        if not pods:
            del self._unreported[pod.node]
        self._weigh(pod.node, pod.request.amounts)

    def _weigh(self, name: str, amounts: Amounts) -> None:
        node = self.nodes.get(name)
        if node is not None:
            node.free = tuple(map(int.__add__, node.free, amounts))
            self._touch(name)


def _less(free: Amounts, amounts: Amounts) -> Amounts:
    return tuple(map(int.__sub__, free, amounts))


def _same_weight(old: PodRecord, new: PodRecord) -> bool:
    return old.node == new.node and old.request.amounts == new.request.amounts

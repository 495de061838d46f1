"""What is known of the boards and pods of a cluster, with what is free as the scheduler counts it.

Pure: objects and events in, rows out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from kube32_controllers.scheduler_cache import SchedulerCache, key_of
from kube32_controllers.scheduler_figures import named

from kube32_sim.api.pod_state import finished
from kube32_sim.api.steering import FAULT
from kube32_sim.client import WatchEvent

JsonObject = dict[str, Any]

MEMORY, PSRAM, PINS = "memory", "esp32.io/psram", "esp32.io/gpio"
SHOWN = (MEMORY, PSRAM, PINS)
SORTS = ("name", "heap", "psram", "pins", "pods")
_RESOURCE = {"heap": MEMORY, "psram": PSRAM, "pins": PINS}


@dataclass(frozen=True, slots=True)
class Board:
    """One row.  free, capacity: of each resource of SHOWN that it has, in bytes or pieces.  pods, running: how many."""

    name: str
    kind: str
    status: str
    free: dict[str, int]
    capacity: dict[str, int]
    pods: int
    running: int

    @property
    def ready(self) -> bool:
        return self.status == "Ready"

    def used(self, resource: str) -> float:
        """The part that is not free, from 0 to 1; of what the board has not, 0."""
        capacity = self.capacity.get(resource, 0)
        return min(1.0, max(0.0, 1 - self.free[resource] / capacity)) if capacity else 0.0


@dataclass(frozen=True, slots=True)
class Pending:
    """A pod without a node, and why."""

    pod: str
    message: str


@dataclass(frozen=True, slots=True)
class _Node:
    kind: str
    status: str


@dataclass(frozen=True, slots=True)
class _Pod:
    node: str
    running: bool
    pending: Pending | None
    finished: bool


class Picture:
    """namespace: whose pods are counted and told of; "": all.  changes: how often something to be seen has changed."""

    def __init__(self, namespace: str = "") -> None:
        self._namespace = namespace
        self._cache = SchedulerCache()
        self._nodes: dict[str, _Node] = {}
        self._pods: dict[str, _Pod] = {}
        self.changes = 0

    # what is told

    def list_nodes(self, items: Iterable[JsonObject]) -> None:
        found = {item["metadata"]["name"]: item for item in items}
        for name in self._nodes.keys() - found.keys():
            self._drop_node(name)
        for item in found.values():
            self._put_node(item)
        self.changes += 1

    def list_pods(self, items: Iterable[JsonObject]) -> None:
        found = {key_of(item): item for item in items}
        for key in self._pods.keys() - found.keys():
            self._drop_pod(key)
        for item in found.values():
            self._put_pod(item)
        self.changes += 1

    def hear_node(self, event: WatchEvent) -> None:
        name = event.object["metadata"]["name"]
        before = self._seen(name)
        if event.type == "DELETED":
            self._drop_node(name)
        else:
            self._put_node(event.object)
        self.changes += self._seen(name) != before  # a heartbeat is another revision, and nothing to be drawn

    def hear_pod(self, event: WatchEvent) -> None:
        if event.type == "DELETED":
            self._drop_pod(key_of(event.object))
        else:
            self._put_pod(event.object)
        self.changes += 1

    def _seen(self, name: str) -> object:
        node = self._cache.table.nodes.get(name)
        return self._nodes.get(name), node and (node.free, node.capacity)

    def _put_node(self, node: JsonObject) -> None:
        metadata = node["metadata"]
        labels = metadata.get("labels") or {}
        kind = labels.get("esp32.io/board") or labels.get("node.kubernetes.io/instance-type") or ""
        self._nodes[metadata["name"]] = _Node(kind, _status(node))
        self._cache.put_node(node, int(metadata.get("resourceVersion") or 0))

    def _drop_node(self, name: str) -> None:
        self._nodes.pop(name, None)
        self._cache.drop_node(name)

    def _put_pod(self, pod: JsonObject) -> None:
        self._pods[key_of(pod)] = _pod(pod)
        self._cache.put_pod(pod, int(pod["metadata"].get("resourceVersion") or 0))

    def _drop_pod(self, key: str) -> None:
        self._pods.pop(key, None)
        self._cache.drop_pod(key)

    # what there is to see

    def _counted(self) -> Iterable[_Pod]:
        start = f"{self._namespace}/" if self._namespace else ""
        return (pod for key, pod in self._pods.items() if key.startswith(start))

    def boards(self, sort: str = "name") -> list[Board]:
        """By name, or what has least left first (of pods: most of them first)."""
        pods = [pod for pod in self._counted() if not pod.finished]
        count, running = Counter(pod.node for pod in pods), Counter(pod.node for pod in pods if pod.running)
        found = []
        for name in sorted(self._nodes, key=_by_number):
            node, figures = self._nodes[name], self._cache.table.nodes[name]
            capacity, free = named(figures.capacity), named(figures.free)
            has = [resource for resource in SHOWN if capacity[resource]]
            found.append(
                Board(
                    name,
                    node.kind,
                    node.status,
                    {resource: free[resource] for resource in has},
                    {resource: capacity[resource] for resource in has},
                    count[name],
                    running[name],
                )
            )
        if sort == "pods":
            found.sort(key=lambda board: -board.pods)
        elif sort in _RESOURCE:
            found.sort(key=lambda board: -board.used(_RESOURCE[sort]))
        return found

    def pending(self) -> list[Pending]:
        """By name."""
        found = [pod.pending for pod in self._counted() if pod.pending is not None]
        return sorted(found, key=lambda one: _by_number(one.pod))

    def pods(self) -> tuple[int, int]:
        """(how many run and are ready, how many there are)."""
        pods = [pod for pod in self._counted() if not pod.finished]
        return sum(pod.running for pod in pods), len(pods)


def _status(node: JsonObject) -> str:
    """As kubectl has it, and what is wrong with the board."""
    conditions = (node.get("status") or {}).get("conditions") or ()
    ready = next((one.get("status") for one in conditions if one.get("type") == "Ready"), "Unknown")
    parts = ["Ready" if ready == "True" else "NotReady"]
    if (node.get("spec") or {}).get("unschedulable"):
        parts.append("SchedulingDisabled")
    fault = (node["metadata"].get("annotations") or {}).get(FAULT)
    return ",".join([*parts, fault] if fault else parts)


def _pod(pod: JsonObject) -> _Pod:
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    node, done = spec.get("nodeName") or "", finished(pod)
    conditions = {one.get("type"): one for one in status.get("conditions") or ()}
    ready = conditions.get("Ready", {}).get("status") == "True"
    message = conditions.get("PodScheduled", {}).get("message") or status.get("message") or ""
    waits = not node and not done
    return _Pod(
        node, ready and status.get("phase") == "Running", Pending(key_of(pod), message) if waits else None, done
    )


def _by_number(name: str) -> tuple[object, ...]:
    """`esp32-2` before `esp32-10`."""
    head = name.rstrip("0123456789")
    number = name[len(head) :]
    return head, len(number.lstrip("0")), number

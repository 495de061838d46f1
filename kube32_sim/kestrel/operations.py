"""`run`: operations in, results out, against a cluster that starts empty and is forgotten afterwards.

An operation is a list of its name and arguments.  What is wrong with it is answered as text, never raised, and then
nothing has changed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kube32_sim.kestrel import generator
from kube32_sim.kestrel.cluster import Cluster
from kube32_sim.kestrel.generator import InvalidParams, fingerprint
from kube32_sim.kestrel.models import Pod
from kube32_sim.kestrel.specs import InvalidSpec, parse_node, parse_pod

Progress = Callable[[int], None]
"""Told how many pods, nodes or other operations have been worked on since it was last told."""

INVALID_ARGUMENTS = "error: invalid arguments"
UNKNOWN_OPERATION = "error: unknown operation"
INVALID_NODE, INVALID_POD = "error: invalid node spec", "error: invalid pod spec"
NODE_EXISTS, POD_EXISTS = "error: node exists", "error: pod exists"
NO_NODE, NO_POD = "error: no such node", "error: no such pod"
UNSCHEDULABLE = "error: unschedulable"

DIGITS = 4000
STEP = 256
"""Pods of a bulk operation between two reports of progress."""


class Refused(Exception):
    """An operation that changes nothing; the message is its result."""


def run(operations: Sequence[Any], progress: Progress | None = None) -> list[Any]:
    """One result for each operation, in order: plain JSON values, errors as strings `error: …`.

    operations: what `json.loads` gives; left as it is.
    """
    replay = Replay(progress or (lambda done: None))
    return [replay.perform(operation) for operation in operations]


def size(operations: Sequence[Any]) -> int:
    """How much `run` will report as progress in all."""
    return sum(_size(operation) for operation in operations)


def _size(operation: Any) -> int:
    """What will be refused counts as one."""
    if isinstance(operation, list) and len(operation) == 2:
        try:
            if operation[0] == "bulk_nodes":
                return max(1, generator.node_params(operation[1]).count)
            if operation[0] == "bulk_submit":
                return max(1, generator.pod_params(operation[1]).count)
        except InvalidParams:
            return 1
    return 1


class Replay:
    """The operations, each a method of its name."""

    def __init__(self, progress: Progress) -> None:
        self._cluster = Cluster()
        self._progress = progress

    def perform(self, operation: Any) -> Any:
        if not isinstance(operation, list) or not operation or not isinstance(operation[0], str):
            return INVALID_ARGUMENTS
        name, *arguments = operation
        if name not in OPERATIONS:
            return UNKNOWN_OPERATION
        work, count = OPERATIONS[name]
        if len(arguments) != count:
            return INVALID_ARGUMENTS
        try:
            result = work(self, *arguments)
        except Refused as refused:
            result = str(refused)
        if work not in BULK:
            self._progress(1)
        return result

    # nodes and pods

    def add_node(self, name: Any, spec: Any) -> bool:
        _check_name(name)
        try:
            node = parse_node(name, spec)
        except InvalidSpec:
            raise Refused(INVALID_NODE) from None
        if name in self._cluster.table.nodes:
            raise Refused(NODE_EXISTS)
        self._cluster.add_node(node)
        return True

    def submit(self, name: Any, spec: Any) -> str:
        _check_name(name)
        try:
            parsed = parse_pod(spec)
        except InvalidSpec:
            raise Refused(INVALID_POD) from None
        if name in self._cluster.pods:
            raise Refused(POD_EXISTS)
        outcome = self._cluster.submit(name, parsed)
        return outcome.node.name if outcome is not None else UNSCHEDULABLE

    def delete_pod(self, name: Any) -> bool:
        self._cluster.delete(self._pod(name))
        return True

    def retry_pending(self) -> list[list[str]]:
        return [list(placed) for placed in self._cluster.retry_pending()]

    # questions

    def where(self, name: Any) -> str:
        node = self._pod(name).node
        return node.name if node is not None else "pending"

    def node_status(self, name: Any) -> dict[str, Any]:
        node = self._cluster.table.nodes.get(name) if isinstance(name, str) else None
        if node is None:
            raise Refused(NO_NODE)
        cpu, mem = (capacity - free for capacity, free in zip(node.capacity, node.free, strict=True))
        return {"cpu_used": cpu, "mem_used": mem, "pods": sorted(self._cluster.pods_on(name))}

    def events(self, count: Any) -> list[str]:
        if type(count) is not int or count < 0:
            raise Refused(INVALID_ARGUMENTS)
        log = self._cluster.log
        return log[max(0, len(log) - count) :]

    def pending(self) -> list[str]:
        return [pod.name for pod in self._cluster.pending()]

    # many at once

    def bulk_nodes(self, value: Any) -> int:
        try:
            params = generator.node_params(value)
        except InvalidParams:
            raise Refused(INVALID_ARGUMENTS) from None
        if _any_taken(params.prefix, params.count, self._cluster.table.nodes):
            raise Refused(NODE_EXISTS)
        for node in generator.nodes(params):
            self._cluster.add_node(node)
        self._progress(max(1, params.count))
        return params.count

    def bulk_submit(self, value: Any) -> dict[str, Any]:
        try:
            params = generator.pod_params(value)
        except InvalidParams:
            raise Refused(INVALID_ARGUMENTS) from None
        cluster = self._cluster
        if _any_taken(params.prefix, params.count, cluster.pods):
            raise Refused(POD_EXISTS)
        evictions = cluster.evictions
        results = self._submit_all(params)
        bound = sum(result != UNSCHEDULABLE for _, result in results)
        return {
            "bound": bound,
            "unschedulable": params.count - bound,
            "evictions": cluster.evictions - evictions,
            "pending": len(cluster.pending()),
            "digest": fingerprint(results),
            "final": fingerprint((name, self._end(name, result)) for name, result in results),
        }

    def _submit_all(self, params: generator.PodParams) -> list[tuple[str, str]]:
        results = []
        for done, (name, spec) in enumerate(generator.pods(params), 1):
            outcome = self._cluster.submit(name, spec)
            results.append((name, outcome.node.name if outcome is not None else UNSCHEDULABLE))
            if done % STEP == 0:
                self._progress(STEP)
        self._progress(params.count % STEP if params.count else 1)
        return results

    def _end(self, name: str, result: str) -> str:
        return "-" if result == UNSCHEDULABLE else self.where(name)

    def _pod(self, name: Any) -> Pod:
        pod = self._cluster.pods.get(name) if isinstance(name, str) else None
        if pod is None:
            raise Refused(NO_POD)
        return pod


BULK = (Replay.bulk_nodes, Replay.bulk_submit)
OPERATIONS: dict[str, tuple[Callable[..., Any], int]] = {
    "add_node": (Replay.add_node, 2),
    "submit": (Replay.submit, 2),
    "delete_pod": (Replay.delete_pod, 1),
    "where": (Replay.where, 1),
    "node_status": (Replay.node_status, 1),
    "events": (Replay.events, 1),
    "pending": (Replay.pending, 0),
    "retry_pending": (Replay.retry_pending, 0),
    "bulk_nodes": (Replay.bulk_nodes, 1),
    "bulk_submit": (Replay.bulk_submit, 1),
}
"""By name: the method, and how many arguments it takes."""


def _check_name(name: Any) -> None:
    if not isinstance(name, str) or not name:
        raise Refused(INVALID_ARGUMENTS)


def _any_taken(prefix: str, count: int, names: dict[str, Any]) -> bool:
    """Whether one of the names `<prefix>-0` … `<prefix>-<count - 1>` is there."""
    if count <= len(names):
        return any(f"{prefix}-{index}" in names for index in range(count))
    start = len(prefix) + 1
    return any(
        name.startswith(f"{prefix}-") and _is_index(name[start:]) and _number(name[start:]) < count for name in names
    )


def _is_index(text: str) -> bool:
    """Whether a text is how Python writes an int of at least 0."""
    return text.isascii() and text.isdigit() and (text == "0" or text[0] != "0")


def _number(text: str) -> int:
    """`int(text)` of digits, also where there are more than Python converts at once."""
    number = 0
    for start in range(0, len(text), DIGITS):
        digits = text[start : start + DIGITS]
        number = number * 10 ** len(digits) + int(digits)
    return number

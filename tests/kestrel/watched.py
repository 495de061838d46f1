"""The reference, counting how often a sequence of operations gets to what is interesting."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from tests.kestrel.reference import Cluster, perform
from tests.kestrel.reference_specs import Node, Pod, Term


class Watched(Cluster):
    """`seen` counts pods; where it speaks of nodes or of exceptions, answers about one node."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: Counter[str] = Counter()

    def affinity_ok(self, pod: Pod, node: Node, gone: Iterable[Pod]) -> bool:
        ok = super().affinity_ok(pod, node, gone)
        self.seen["nodes refused by affinity"] += not ok
        return ok

    def repelled(self, pod: Pod, node: Node, gone: Iterable[Pod]) -> bool:
        repelled = super().repelled(pod, node, gone)
        self.seen["nodes that repel"] += repelled
        return repelled

    def starts_alone(self, pod: Pod, term: Term, gone: Iterable[Pod]) -> bool:
        alone = super().starts_alone(pod, term, gone)
        self.seen["exceptions"] += alone
        return alone

    def victims(self, pod: Pod, node: Node) -> set[Pod]:
        victims = super().victims(pod, node)
        lower = any(other.priority < pod.priority for other in node.pods)
        self.seen["nodes not viable"] += lower and not victims
        return victims

    def evict(self, victims: set[Pod], node: Node, preemptor: Pod) -> None:
        last_removed = max((victim.priority, -victim.seq) for victim in victims)
        removed = [pod for pod in node.pods if (pod.priority, -pod.seq) <= last_removed]
        self.seen["given back"] += len(removed) - len(victims)
        self.seen["evicted together"] += len(victims) > 1
        super().evict(victims, node, preemptor)


def watch(operations: list[Any]) -> Counter[str]:
    cluster = Watched()
    results = [perform(cluster, operation) for operation in operations]
    seen = cluster.seen
    seen["evicted"] = sum(event.startswith("evict ") for event in cluster.log)
    seen["left pending"] = sum(event.startswith("pending ") for event in cluster.log)
    seen["placed again"] = seen["evicted"] - seen["left pending"]
    retried = [r for operation, r in zip(operations, results, strict=True) if operation == ["retry_pending"]]
    seen["retried"] = sum(map(len, retried))
    seen["unschedulable"] = results.count("error: unschedulable")
    seen["invalid"] = sum(str(result).startswith("error: invalid") for result in results)
    return +seen

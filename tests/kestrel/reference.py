"""Kestrel as its rules read: slow, plain, and written without a look at `kube32_sim.kestrel`.

What the fast one is compared with and timed against.  Nothing is remembered that can be derived: usage is a sum over
the pods of a node, affinity a scan of bound pods, preemption a try of each node.  Specs are read and checked in
`reference_specs.py`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any

from tests.kestrel.reference_specs import (
    Invalid,
    Node,
    Pod,
    Taint,
    Term,
    Toleration,
    check_bulk_nodes,
    check_bulk_submit,
    is_int,
    read_node,
    read_pod,
)

INVALID_ARGUMENTS = "error: invalid arguments"
UNSCHEDULABLE = "error: unschedulable"
NOBODY: frozenset[Pod] = frozenset()


def run(operations: list[Any]) -> list[Any]:
    """One result for each operation, executed in order on an empty cluster."""
    cluster = Cluster()
    return [perform(cluster, operation) for operation in operations]


def perform(cluster: Cluster, operation: Any) -> Any:
    if not (isinstance(operation, list) and operation and isinstance(operation[0], str)):
        return INVALID_ARGUMENTS
    name, *arguments = operation
    if name not in OPERATIONS:
        return "error: unknown operation"
    wanted, method = OPERATIONS[name]
    if len(arguments) != wanted:
        return INVALID_ARGUMENTS
    try:
        return method(cluster, *arguments)
    except Invalid as invalid:
        return str(invalid)


def covers(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect not in ("", taint.effect):
        return False
    if toleration.operator == "Exists":
        return toleration.key in ("", taint.key)
    return (toleration.key, toleration.value) == (taint.key, taint.value)


def selector_matches(selector: dict[str, str], labels: dict[str, str]) -> bool:
    return all(key in labels and labels[key] == value for key, value in selector.items())


def static_ok(pod: Pod, node: Node) -> bool:
    """Selector and taints: what evicting cannot change."""
    tolerated = all(any(covers(toleration, taint) for toleration in pod.tolerations) for taint in node.taints)
    return tolerated and selector_matches(pod.selector, node.labels)


def same_domain(term: Term, one: Node, other: Node) -> bool:
    return one.name == other.name if term.topology == "node" else one.zone == other.zone


def score(pod: Pod, node: Node) -> int:
    """Before the pod is bound."""
    cpu_used, mem_used = usage(node.pods)
    cpu_pct = (node.cpu - cpu_used - pod.cpu) * 100 // node.cpu
    mem_pct = (node.mem - mem_used - pod.mem) * 100 // node.mem
    return (cpu_pct + mem_pct) // 2


def usage(pods: Iterable[Pod]) -> tuple[int, int]:
    pods = list(pods)
    return sum(pod.cpu for pod in pods), sum(pod.mem for pod in pods)


def cheapest_first(pods: Iterable[Pod]) -> list[Pod]:
    """As candidates are removed; of equal priority the newest goes first."""
    return sorted(pods, key=lambda pod: (pod.priority, -pod.seq))


def eviction_order(pods: Iterable[Pod]) -> list[Pod]:
    return sorted(pods, key=lambda pod: (pod.priority, pod.seq))


def dearest_first(pods: Iterable[Pod]) -> list[Pod]:
    """As pods are given back, re-placed, listed as pending and retried; of equal priority the oldest goes first."""
    return sorted(pods, key=lambda pod: (-pod.priority, pod.seq))


class Generator:
    """Of bulk workloads."""

    def __init__(self, seed: int) -> None:
        self.state = (seed * 2862933555777941757 + 3037000493) % 2**64

    def draw(self, n: int) -> int:
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % n


def generated_specs(params: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """(name, spec) of each pod of a bulk_submit."""
    generator = Generator(params["seed"])
    for i in range(params["count"]):
        group = generator.draw(params["groups"])
        cpu = 1 + generator.draw(params["cpu"])
        mem = 1 + generator.draw(params["mem"])
        priority = params["priorities"][generator.draw(len(params["priorities"]))]
        own = {"app": f"{params['prefix']}-g{group}"}
        affinity: list[dict[str, Any]] = [
            {},
            {"pod_anti_affinity": [{"match": own, "topology": "zone"}]},
            {"pod_anti_affinity": [{"match": own, "topology": "node"}]},
            {"pod_affinity": [{"match": own, "topology": "zone"}]},
        ]
        requests = {"cpu": cpu, "mem": mem}
        yield (
            f"{params['prefix']}-{i}",
            {
                "requests": requests,
                "limits": requests,
                "priority": priority,
                "labels": own,
                "affinity": affinity[group % 4],
            },
        )


def fingerprint(values: dict[str, str]) -> str:
    text = "".join(f"{pod}={value}\n" for pod, value in values.items())
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class Cluster:
    """`nodes` by name, each with the `pods` bound to it; `pods` by name, bound (`pod.node`) or pending (None)."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.pods: dict[str, Pod] = {}
        self.log: list[str] = []
        self.last_seq = 0

    # Operations

    def add_node(self, name: Any, spec: Any) -> bool:
        node = read_node(name, spec)
        if node.name in self.nodes:
            raise Invalid("error: node exists")
        self.nodes[node.name] = node
        return True

    def submit(self, name: Any, spec: Any) -> str:
        pod = read_pod(name, spec)
        if pod.name in self.pods:
            raise Invalid("error: pod exists")
        node = self.place(pod) or self.preempt_for(pod)
        return UNSCHEDULABLE if node is None else node.name

    def delete_pod(self, name: Any) -> bool:
        pod = self.pod(name)
        if pod.node is not None:
            pod.node.pods.remove(pod)
        del self.pods[pod.name]
        self.log.append(f"delete {pod.name}")
        return True

    def where(self, name: Any) -> str:
        node = self.pod(name).node
        return "pending" if node is None else node.name

    def node_status(self, name: Any) -> dict[str, Any]:
        if not isinstance(name, str) or name not in self.nodes:
            raise Invalid("error: no such node")
        pods = self.nodes[name].pods
        cpu_used, mem_used = usage(pods)
        return {"cpu_used": cpu_used, "mem_used": mem_used, "pods": sorted(pod.name for pod in pods)}

    def events(self, n: Any) -> list[str]:
        if not is_int(n, least=0):
            raise Invalid(INVALID_ARGUMENTS)
        return self.log[max(0, len(self.log) - n) :]

    def pending(self) -> list[str]:
        return [pod.name for pod in self.pending_pods()]

    def retry_pending(self) -> list[list[str]]:
        placed = [(pod.name, self.place(pod)) for pod in self.pending_pods()]
        return [[name, node.name] for name, node in placed if node is not None]

    def bulk_nodes(self, params: Any) -> int:
        check_bulk_nodes(params)
        if any(f"{params['prefix']}-{i}" in self.nodes for i in range(params["count"])):
            raise Invalid("error: node exists")
        for i in range(params["count"]):
            spec = {"cpu": params["cpu"], "mem": params["mem"], "zone": f"zone-{i % params['zones']}"}
            self.add_node(f"{params['prefix']}-{i}", spec)
        return params["count"]

    def bulk_submit(self, params: Any) -> dict[str, Any]:
        check_bulk_submit(params)
        if any(f"{params['prefix']}-{i}" in self.pods for i in range(params["count"])):
            raise Invalid("error: pod exists")
        logged = len(self.log)
        results = {name: self.submit(name, spec) for name, spec in generated_specs(params)}
        final = {name: self.where(name) if name in self.pods else "-" for name in results}
        unschedulable = sum(result == UNSCHEDULABLE for result in results.values())
        return {
            "bound": len(results) - unschedulable,
            "unschedulable": unschedulable,
            "evictions": sum(event.startswith("evict ") for event in self.log[logged:]),
            "pending": len(self.pending_pods()),
            "digest": fingerprint(results),
            "final": fingerprint(final),
        }

    # Pods

    def pod(self, name: Any) -> Pod:
        if not isinstance(name, str) or name not in self.pods:
            raise Invalid("error: no such pod")
        return self.pods[name]

    def pending_pods(self) -> list[Pod]:
        return dearest_first(pod for pod in self.pods.values() if pod.node is None)

    def bind(self, pod: Pod, node: Node) -> None:
        if not pod.seq:
            self.last_seq += 1
            pod.seq = self.last_seq
        self.pods[pod.name] = pod
        pod.node = node
        node.pods.append(pod)
        self.log.append(f"bind {pod.name} {node.name}")

    # Filter and score

    def place(self, pod: Pod) -> Node | None:
        """The normal path; the node the pod is bound to now."""
        feasible = [node for node in self.nodes.values() if static_ok(pod, node) and self.feasible(pod, node)]
        if not feasible:
            return None
        best = min(feasible, key=lambda node: (-score(pod, node), node.name))
        self.bind(pod, best)
        return best

    def feasible(self, pod: Pod, node: Node, gone: Iterable[Pod] = NOBODY) -> bool:
        """Whether resources and affinity allow the pod on the node, as if the pods in `gone` were not there."""
        cpu_used, mem_used = usage(other for other in node.pods if other not in gone)
        fits = cpu_used + pod.cpu <= node.cpu and mem_used + pod.mem <= node.mem
        return fits and self.affinity_ok(pod, node, gone)

    def affinity_ok(self, pod: Pod, node: Node, gone: Iterable[Pod]) -> bool:
        return (
            not any(self.matched_in_domain(term, node, gone) for term in pod.anti_terms)
            and not self.repelled(pod, node, gone)
            and all(
                self.matched_in_domain(term, node, gone) or self.starts_alone(pod, term, gone)
                for term in pod.affinity_terms
            )
        )

    def matched_in_domain(self, term: Term, node: Node, gone: Iterable[Pod]) -> bool:
        domain = [other for other in self.nodes.values() if same_domain(term, node, other)]
        return matched_in(domain, term, gone)

    def repelled(self, pod: Pod, node: Node, gone: Iterable[Pod]) -> bool:
        """Whether a bound pod's anti-affinity keeps the pod off the node."""
        return any(
            selector_matches(term.match, pod.labels) and same_domain(term, other.node, node)
            for home in self.nodes.values()
            for other in home.pods
            for term in other.anti_terms
            if other not in gone
        )

    def starts_alone(self, pod: Pod, term: Term, gone: Iterable[Pod]) -> bool:
        """The exception that lets a first replica start."""
        return selector_matches(term.match, pod.labels) and not matched_in(self.nodes.values(), term, gone)

    # Preemption

    def preempt_for(self, pod: Pod) -> Node | None:
        """The node that the pod is bound to now, after others were evicted from it."""
        if pod.preemption == "Never":
            return None
        victims = {node: self.victims(pod, node) for node in self.nodes.values() if static_ok(pod, node)}
        viable = [node for node in victims if victims[node]]
        if not viable:
            return None
        best = min(viable, key=lambda node: (max(v.priority for v in victims[node]), len(victims[node]), node.name))
        self.evict(victims[best], best, pod)
        self.bind(pod, best)
        for victim in dearest_first(victims[best]):
            if self.place(victim) is None:
                self.log.append(f"pending {victim.name}")
        return best

    def victims(self, pod: Pod, node: Node) -> set[Pod]:
        """What has to leave the node for the pod; nothing if the node is not viable."""
        gone: set[Pod] = set()
        for candidate in cheapest_first(other for other in node.pods if other.priority < pod.priority):
            gone.add(candidate)
            if self.feasible(pod, node, gone):
                break
        else:
            return set()
        for removed in dearest_first(gone):
            if self.feasible(pod, node, gone - {removed}):
                gone.remove(removed)
        return gone

    def evict(self, victims: set[Pod], node: Node, preemptor: Pod) -> None:
        for victim in eviction_order(victims):
            node.pods.remove(victim)
            victim.node = None
            self.log.append(f"evict {victim.name} {node.name} for {preemptor.name}")


def matched_in(nodes: Iterable[Node], term: Term, gone: Iterable[Pod]) -> bool:
    return any(selector_matches(term.match, pod.labels) and pod not in gone for node in nodes for pod in node.pods)


OPERATIONS = {
    "add_node": (2, Cluster.add_node),
    "submit": (2, Cluster.submit),
    "delete_pod": (1, Cluster.delete_pod),
    "where": (1, Cluster.where),
    "node_status": (1, Cluster.node_status),
    "events": (1, Cluster.events),
    "pending": (0, Cluster.pending),
    "retry_pending": (0, Cluster.retry_pending),
    "bulk_nodes": (1, Cluster.bulk_nodes),
    "bulk_submit": (1, Cluster.bulk_submit),
}

"""Which pods are on which nodes, and everything that is derived from it.

A pod enters a node in `enter` and leaves it in `leave`, whatever the reason: there the nodes' figures, the affinity
counts and the pods of the node are kept true together.
"""

from __future__ import annotations

from kube32_sim.kestrel.affinity import AffinityIndex
from kube32_sim.kestrel.models import Node, Pod, cheapest_first
from kube32_sim.kestrel.nodes import NodeTable
from kube32_sim.kestrel.profiles import Profile


class Bindings:
    """table: the nodes, with what pods leave free.  affinity: who is bound where, as far as affinity asks."""

    def __init__(self, profile: Profile) -> None:
        self.table = NodeTable(profile)
        self.affinity = AffinityIndex()
        self._pods_on: dict[str, dict[str, Pod]] = {}
        self._cheapest_first: dict[str, list[Pod]] = {}

    def add_node(self, node: Node) -> None:
        self.table.put(node)
        self._pods_on[node.name] = {}

    def put_node(self, node: Node) -> None:
        """Add a node with all that it has free, or let it take the place, and the pods, of the one of its name.

        The zone has to be the same: of another one the pods have to leave first.
        """
        pods = self._pods_on.setdefault(node.name, {}).values()
        for pod in pods:
            pod.node = node
            node.free = tuple(map(int.__sub__, node.free, pod.spec.request.amounts))
        self.table.put(node)

    def drop_node(self, name: str) -> None:
        """Of a node that no pod is on."""
        assert not self._pods_on.pop(name)
        self._cheapest_first.pop(name, None)
        self.table.drop(name)

    def pods_on(self, node: str) -> dict[str, Pod]:
        """The pods bound to a node, by name."""
        return self._pods_on[node]

    def cheapest_first(self, node: str) -> list[Pod]:
        """The same in the order in which preemption removes them; not to be changed."""
        found = self._cheapest_first.get(node)
        if found is None:
            found = self._cheapest_first[node] = sorted(self._pods_on[node].values(), key=cheapest_first)
        return found

    def enter(self, pod: Pod, node: Node) -> None:
        pod.node = node
        self._pods_on[node.name][pod.name] = pod
        self._cheapest_first.pop(node.name, None)
        self.affinity.add(pod.relations, node)
        self.table.take(node, pod.spec.request.amounts)

    def leave(self, pod: Pod) -> None:
        node = pod.node
        assert node is not None
        pod.node = None
        del self._pods_on[node.name][pod.name]
        self._cheapest_first.pop(node.name, None)
        self.affinity.remove(pod.relations, node)
        self.table.give(node, pod.spec.request.amounts)

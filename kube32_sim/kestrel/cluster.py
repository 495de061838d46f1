"""The state of a replay: nodes, bound and pending pods, the event log; filter, score, bind, evict, requeue, retry.

`bindings` keeps what follows from where pods are, `choosing` and `preemption` decide; here it happens.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from kube32_sim.kestrel.affinity import barrier
from kube32_sim.kestrel.bindings import Bindings
from kube32_sim.kestrel.choosing import Chooser
from kube32_sim.kestrel.models import Node, Pod, PodSpec, dearest_first, eviction_order
from kube32_sim.kestrel.preemption import Preemption
from kube32_sim.kestrel.profiles import KESTREL, Profile


class Outcome(NamedTuple):
    """What became of a submit.  victims: in the order of their eviction; each has its new node, or none."""

    node: Node
    victims: tuple[Pod, ...] = ()


class Cluster:
    """table, affinity, chooser: to ask, not to change.  pods: bound and pending ones, by name.  log: a line an event.

    Preconditions of its methods (a name is free, a pod exists) are the caller's to check.
    """

    def __init__(self, profile: Profile = KESTREL) -> None:
        self.profile = profile
        self._bindings = Bindings(profile)
        self.table = self._bindings.table
        self.affinity = self._bindings.affinity
        self.chooser = Chooser(self.table)
        self.pods: dict[str, Pod] = {}
        self.log: list[str] = []
        self.evictions = 0
        self._pending: dict[str, Pod] = {}
        self._binds = 0
        self._preemption = Preemption(self._bindings, self.chooser)

    # what there is

    def pods_on(self, node: str) -> Mapping[str, Pod]:
        """The pods bound to a node, by name."""
        return self._bindings.pods_on(node)

    def pending(self) -> list[Pod]:
        """Evicted pods that wait for a place: by priority, then by age."""
        return sorted(self._pending.values(), key=dearest_first)

    # what happens

    def add_node(self, node: Node) -> None:
        self._bindings.add_node(node)

    def enter(self, name: str, spec: PodSpec, node: Node) -> None:
        """Take in a pod that is on a node already, whatever the filters say of it; seq follows the order of calls."""
        pod = self.pods[name] = Pod(name, spec, self.affinity.relations(spec))
        self._bind(pod, node)

    def submit(self, name: str, spec: PodSpec) -> Outcome | None:
        """Bind a new pod, evicting others where it has to and may; None, and no trace, where it fits nowhere."""
        pod = Pod(name, spec, self.affinity.relations(spec))
        node = self.find(pod)
        if node is not None:
            self.pods[name] = pod
            self._bind(pod, node)
            return Outcome(node)
        if not (self.profile.preemption and spec.preempts):
            return None
        found = self._preemption.preempt_for(pod)
        if found is None:
            return None
        node, victims = found
        self.pods[name] = pod
        return Outcome(node, self._preempt(pod, node, victims))

    def delete(self, pod: Pod) -> None:
        if pod.node is not None:
            self._bindings.leave(pod)
        else:
            del self._pending[pod.name]
        del self.pods[pod.name]
        self.log.append(f"delete {pod.name}")

    def retry_pending(self) -> list[tuple[str, str]]:
        """One pass over the pending pods in their order; answers (pod, node) of those that have a place now."""
        placed = []
        for pod in self.pending():
            node = self.find(pod)
            if node is not None:
                del self._pending[pod.name]
                self._bind(pod, node)
                placed.append((pod.name, node.name))
        return placed

    def find(self, pod: Pod) -> Node | None:
        """The best feasible node, as things are: filter, then score."""
        found = self.chooser.choose(pod.spec.request, barrier(pod.relations) if self.profile.affinity else None)
        return None if found is None else found[1]

    # how it happens

    def _bind(self, pod: Pod, node: Node) -> None:
        if not pod.seq:
            self._binds += 1
            pod.seq = self._binds
        self._bindings.enter(pod, node)
        self.log.append(f"bind {pod.name} {node.name}")

    def _preempt(self, pod: Pod, node: Node, victims: Iterable[Pod]) -> tuple[Pod, ...]:
        """Evict, bind, and place the victims again where they fit without evicting others; answers them."""
        victims = sorted(victims, key=eviction_order)
        for victim in victims:
            self._bindings.leave(victim)
            self.log.append(f"evict {victim.name} {node.name} for {pod.name}")
        self.evictions += len(victims)
        self._bind(pod, node)
        for victim in sorted(victims, key=dearest_first):
            place = self.find(victim)
            if place is not None:
                self._bind(victim, place)
            else:
                self._pending[victim.name] = victim
                self.log.append(f"pending {victim.name}")
        return tuple(victims)

"""Affinity, anti-affinity and its symmetry, from counts that every bind and unbind keeps true.

No pod is ever looked for: pods with the same labels share one `LabelSet`, terms with the same match one `Selected`, and
both count their pods per zone and node (`Hosts`).  Which label sets a match selects is found by its rarest label, once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from kube32_sim.kestrel.filters import selector_matches
from kube32_sim.kestrel.models import NODE, TOPOLOGIES, ZONE, Labels, Node, PodSpec, Term

NO_AFFINITY = "node(s) didn't match pod affinity rules"
ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
REPELLED = "node(s) didn't satisfy existing pods anti-affinity rules"


class Hosts:
    """How many bound pods of one sort there are, by zone and node.  zones: without zones and nodes that have none."""

    __slots__ = ("total", "zones")

    def __init__(self) -> None:
        self.total = 0
        self.zones: dict[str, dict[str, int]] = {}

    def add(self, zone: str, node: str, count: int = 1) -> None:
        self.total += count
        nodes = self.zones.get(zone)
        if nodes is None:
            self.zones[zone] = {node: count}
        else:
            nodes[node] = nodes.get(node, 0) + count

    def remove(self, zone: str, node: str) -> None:
        self.total -= 1
        nodes = self.zones[zone]
        if nodes[node] > 1:
            nodes[node] -= 1
            return
        del nodes[node]
        if not nodes:
            del self.zones[zone]

    def include(self, other: Hosts) -> None:
        for zone, nodes in other.zones.items():
            for node, count in nodes.items():
                self.add(zone, node, count)

    def reach(self, topology: str, node: Node) -> bool:
        """Whether there is one in the node's domain."""
        nodes = self.zones.get(node.zone)
        return nodes is not None and (topology == ZONE or node.name in nodes)

    def nodes(self) -> Iterator[str]:
        return chain.from_iterable(self.zones.values())


class Selected:
    """Of one match.  hosts: of the pods that it selects.  repelling: by topology, of the pods that keep these away."""

    __slots__ = ("hosts", "match", "repelling")

    def __init__(self, match: Labels) -> None:
        self.match = match
        self.hosts = Hosts()
        self.repelling = {topology: Hosts() for topology in TOPOLOGIES}


class LabelSet:
    """Equal labels.  hosts: of the pods that have them.  selected_by: the matches that select them."""

    __slots__ = ("hosts", "labels", "selected_by")

    def __init__(self, labels: Labels) -> None:
        self.labels = dict(labels)
        self.hosts = Hosts()
        self.selected_by: list[Selected] = []


@dataclass(frozen=True, slots=True, eq=False)
class Bond:
    """An affinity term of a pod.  to_itself: whether the pod's own labels match it, so that a first pod may start."""

    topology: str
    selected: Selected
    to_itself: bool

    def rests_on(self, node: Node) -> bool:
        """Whether all that the term can find in the node's domain is on the node itself."""
        hosts = self.selected.hosts.zones.get(node.zone, {})
        return node.name in hosts and (self.topology == NODE or len(hosts) == 1)

    @property
    def holds_anywhere(self) -> bool:
        """The first-replica exception: nobody bound anywhere is matched, and the pod matches its own term."""
        return self.to_itself and not self.selected.hosts.total


@dataclass(frozen=True, slots=True, eq=False)
class Relations:
    """What a pod's labels and terms mean among the pods of a cluster; pods with the same ones share it.

    bonds: affinity terms.  rivals: anti-affinity terms, as (topology, pods they are about).
    """

    label_set: LabelSet
    bonds: tuple[Bond, ...]
    rivals: tuple[tuple[str, Selected], ...]


@dataclass(frozen=True, slots=True)
class Barrier:
    """Where the affinity rules let a pod go, at this moment.

    blocked: domains that are closed, and the reason; needed: domains of which the node has to be one.  of: the pod's
    relations.
    """

    of: Relations
    blocked: list[tuple[str, Hosts, str]]
    needed: list[tuple[str, Hosts]]

    def reason(self, node: Node) -> str:
        """Why a node will not do, or "" where it will."""
        for topology, hosts in self.needed:
            if not hosts.reach(topology, node):
                return NO_AFFINITY
        for topology, hosts, reason in self.blocked:
            if hosts.reach(topology, node):
                return reason
        return ""

    def closed_by(self, other: Relations) -> bool:
        """Whether a pod with these relations closes its own node, either way."""
        rivals, admirers = self.of.rivals, self.of.label_set.selected_by
        return any(rival in other.label_set.selected_by for _, rival in rivals) or any(
            rival in admirers for _, rival in other.rivals
        )


class AffinityIndex:
    """Who is bound where, as far as affinity asks.

    Label sets and terms that it has met once it keeps, so that a replay costs memory for what is different in it.
    """

    def __init__(self) -> None:
        self._relations: dict[tuple[Labels, tuple[Term, ...], tuple[Term, ...]], Relations] = {}
        self._label_sets: dict[Labels, LabelSet] = {}
        self._by_label: dict[tuple[str, str], list[LabelSet]] = {}
        self._selected: dict[Labels, Selected] = {}
        self._selecting: dict[tuple[str, str] | None, list[Selected]] = {}

    def relations(self, spec: PodSpec) -> Relations:
        key = (spec.labels, spec.affinity_terms, spec.anti_terms)
        found = self._relations.get(key)
        if found is None:
            label_set = self._label_set(spec.labels)
            bonds = (
                Bond(term.topology, self._select(term.match), selector_matches(term.match, label_set.labels))
                for term in spec.affinity_terms
            )
            rivals = tuple((term.topology, self._select(term.match)) for term in spec.anti_terms)
            found = self._relations[key] = Relations(label_set, tuple(bonds), rivals)
        return found

    def _label_set(self, labels: Labels) -> LabelSet:
        found = self._label_sets.get(labels)
        if found is None:
            found = self._label_sets[labels] = LabelSet(labels)
            for item in labels:
                self._by_label.setdefault(item, []).append(found)
            for key in (None, *labels):
                near = self._selecting.get(key, ())
                found.selected_by += (one for one in near if selector_matches(one.match, found.labels))
        return found

    def _select(self, match: Labels) -> Selected:
        found = self._selected.get(match)
        if found is None:
            found = self._selected[match] = Selected(match)
            rarest = min(match, key=lambda item: len(self._selecting.get(item, ())), default=None)
            self._selecting.setdefault(rarest, []).append(found)
            for label_set in self._candidates(match):
                if selector_matches(match, label_set.labels):
                    label_set.selected_by.append(found)
                    found.hosts.include(label_set.hosts)
        return found

    def _candidates(self, match: Labels) -> Iterable[LabelSet]:
        """Label sets among which are all that a match selects."""
        if not match:
            return self._label_sets.values()
        return min((self._by_label.get(item, []) for item in match), key=len)

    # a pod comes and goes

    def add(self, relations: Relations, node: Node) -> None:
        zone, name = node.zone, node.name
        relations.label_set.hosts.add(zone, name)
        for selected in relations.label_set.selected_by:
            selected.hosts.add(zone, name)
        for topology, rival in relations.rivals:
            rival.repelling[topology].add(zone, name)

    def remove(self, relations: Relations, node: Node) -> None:
        zone, name = node.zone, node.name
        relations.label_set.hosts.remove(zone, name)
        for selected in relations.label_set.selected_by:
            selected.hosts.remove(zone, name)
        for topology, rival in relations.rivals:
            rival.repelling[topology].remove(zone, name)


def barrier(relations: Relations) -> Barrier | None:
    """The rules that now restrict where a pod may go; None where there are none."""
    blocked = [(topology, rival.hosts, ANTI_AFFINITY) for topology, rival in relations.rivals if rival.hosts.total]
    for selected in relations.label_set.selected_by:
        for topology, hosts in selected.repelling.items():
            if hosts.total:
                blocked.append((topology, hosts, REPELLED))
    needed = [(bond.topology, bond.selected.hosts) for bond in relations.bonds if not bond.holds_anywhere]
    return Barrier(relations, blocked, needed) if blocked or needed else None


def affinity_ok(relations: Relations, node: Node) -> bool:
    """Whether a node's domains hold what the pod's affinity terms want, and nobody whom an anti-affinity term bars."""
    rules = barrier(relations)
    return rules is None or not rules.reason(node)


def swayed_by(pod: Barrier) -> set[str]:
    """Nodes where removing pods of the node itself can change what the affinity rules say of it.

    Anywhere else it cannot: what blocks or satisfies the domain is, at least in part, on other nodes.
    """
    swayed: set[str] = set()
    for topology, hosts in [(topology, hosts) for topology, hosts, _ in pod.blocked] + pod.needed:
        if topology == NODE:
            swayed.update(hosts.nodes())
        else:
            swayed.update(next(iter(nodes)) for nodes in hosts.zones.values() if len(nodes) == 1)
    return swayed

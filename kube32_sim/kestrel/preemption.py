"""Preemption: which pods of lower priority would have to go so that a pod fits, and on which node that costs least.

`Preemption.preempt_for` decides and changes nothing.  Nodes are judged exactly, but only while their bound leaves them
a chance to be better than the best one found: in a large cluster (`candidates`) few are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from kube32_sim.kestrel.affinity import Barrier, Relations, affinity_ok, barrier, swayed_by
from kube32_sim.kestrel.bindings import Bindings
from kube32_sim.kestrel.choosing import Chooser
from kube32_sim.kestrel.filters import static_ok
from kube32_sim.kestrel.models import Amounts, Cost, Node, Pod, Request

if TYPE_CHECKING:
    from kube32_sim.kestrel.candidates import Candidates


Best = tuple[Cost, list[Pod]]


class Preemption:
    def __init__(self, bindings: Bindings, chooser: Chooser) -> None:
        self._bindings = bindings
        self._chooser = chooser
        self._profile = bindings.table.profile
        self._candidates: Candidates | None = None

    def preempt_for(self, pod: Pod) -> tuple[Node, list[Pod]] | None:
        """The node where a pod that fits nowhere would evict least, and its victims; None where there is none.

        Best first: what is judged next is always what may cost least.
        """
        rules = barrier(pod.relations) if self._profile.affinity else None
        swayed = swayed_by(rules) if rules is not None else set()
        closed_by = cache(rules.closed_by) if rules is not None else _nobody
        later: list[Cost] = []
        best: Best | None = None
        for bound in self._bounds(pod, rules, swayed):
            best = self._best_until(bound, pod, later, best)
            if best is not None and bound >= best[0]:
                break
            if bound.node not in swayed:
                best = self._better(best, bound.node, self._victims_by_size(pod, bound.node))
                continue
            floor = self._floor(pod, closed_by, bound)
            if floor is not None:
                heappush(later, floor)
        best = self._best_until(None, pod, later, best)
        return None if best is None else (self._bindings.table.nodes[best[0].node], best[1])

    def _best_until(self, bound: Cost | None, pod: Pod, later: list[Cost], best: Best | None) -> Best | None:
        """Judge the nodes put off whose own bound is not above this one; None: whatever has a chance left."""
        while later and (bound is None or later[0] <= bound) and (best is None or later[0] < best[0]):
            node = heappop(later).node
            best = self._better(best, node, self._victims_among_friends(pod, node))
        return best

    @staticmethod
    def _better(best: Best | None, node: str, victims: list[Pod]) -> Best | None:
        if not victims:
            return best
        cost = Cost(max(victim.spec.priority for victim in victims), len(victims), node)
        return (cost, victims) if best is None or cost < best[0] else best

    # which nodes to look at

    def _bounds(self, pod: Pod, rules: Barrier | None, swayed: set[str]) -> Iterable[Cost]:
        """What the nodes that might do cost at least, in ascending order."""
        columns = self._chooser.columns(pod.spec.request)
        if columns is not None and self._candidates is None:
            from kube32_sim.kestrel.candidates import Candidates

            self._candidates = Candidates(self._bindings, columns)
        if columns is not None and self._candidates is not None and self._candidates.can_answer(pod):
            return self._candidates.bounds(pod, rules, swayed)
        return sorted(self._bounds_of_each(pod, rules, swayed))

    def _bounds_of_each(self, pod: Pod, rules: Barrier | None, swayed: set[str]) -> Iterable[Cost]:
        """One victim at least, and not one dearer than the cheapest pod of the node."""
        for name, node in self._bindings.table.nodes.items():
            pods = self._bindings.cheapest_first(name)
            if not pods or pods[0].spec.priority >= pod.spec.priority:
                continue
            if rules is not None and name not in swayed and rules.reason(node):
                continue
            if static_ok(self._profile, pod.spec.request, node):
                yield Cost(pods[0].spec.priority, 1, name)

    def _floor(self, pod: Pod, closed_by: Callable[[Relations], bool], bound: Cost) -> Cost | None:
        """A better bound: whoever closes the node has to go; None where that cannot be, or spoils what is needed."""
        if self._spoils(pod, bound.node):
            return None
        pods = self._bindings.cheapest_first(bound.node)
        closing = [one.spec.priority for one in pods if closed_by(one.relations)]
        if not closing:
            return bound
        dearest = max(closing)
        if dearest >= pod.spec.priority:
            return None
        return Cost(max(bound.priority, dearest), max(bound.victims, len(closing)), bound.node)

    def _spoils(self, pod: Pod, name: str) -> bool:
        """Whether the last of those whom an affinity term needs would have to go before there is room."""
        node, cheaper = self._bindings.table.nodes[name], self._cheaper(pod, name)
        pods = self._bindings.cheapest_first(name)
        for bond in pod.relations.bonds:
            if bond.to_itself or not bond.rests_on(node):
                continue
            needed = [place for place, one in enumerate(pods) if bond.selected in one.relations.label_set.selected_by]
            if needed[-1] >= len(cheaper):
                continue  # it stays
            sums = map(sum, zip(node.free, *(one.spec.request.amounts for one in cheaper[: needed[-1]]), strict=True))
            if not fits(pod.spec.request, tuple(sums)):
                return True
        return False

    # what one node would cost: the pods that have to go; none where their going would not do

    def _cheaper(self, pod: Pod, node: str) -> list[Pod]:
        return [one for one in self._bindings.cheapest_first(node) if one.spec.priority < pod.spec.priority]

    def _victims_by_size(self, pod: Pod, name: str) -> list[Pod]:
        """Where only requests matter."""
        return victims_by_size(pod, self._bindings.table.nodes[name], self._cheaper(pod, name))

    def _victims_among_friends(self, pod: Pod, name: str) -> list[Pod]:
        """Where the affinity rules may change with every pod removed: they really are, and put back in the end."""
        affinity, request = self._bindings.affinity, pod.spec.request
        node = self._bindings.table.nodes[name]
        removed: list[Pod] = []
        free = node.free
        for one in self._cheaper(pod, name):
            affinity.remove(one.relations, node)
            removed.append(one)
            free = _more(free, one)
            if fits(request, free) and affinity_ok(pod.relations, node):
                victims = self._give_back(pod, node, free, removed)
                self._put_back(victims, node)
                return victims
        self._put_back(removed, node)
        return []

    def _give_back(self, pod: Pod, node: Node, free: Amounts, removed: Sequence[Pod]) -> list[Pod]:
        """Put those of the removed pods back with which the pod still fits, the dearest first; answers the others."""
        affinity = self._bindings.affinity
        victims = []
        for one in reversed(removed):
            affinity.add(one.relations, node)
            left = _less(free, one)
            if fits(pod.spec.request, left) and affinity_ok(pod.relations, node):
                free = left
            else:
                affinity.remove(one.relations, node)
                victims.append(one)
        return victims

    def _put_back(self, pods: Iterable[Pod], node: Node) -> None:
        for pod in pods:
            self._bindings.affinity.add(pod.relations, node)


def _nobody(relations: Relations) -> bool:
    return False


def victims_by_size(pod: Pod, node: Node, cheaper: Sequence[Pod]) -> list[Pod]:
    """The pods that have to go where only their requests matter; empty where all of them are too little."""
    request, free = pod.spec.request, node.free
    removed = []
    for one in cheaper:
        removed.append(one)
        free = _more(free, one)
        if fits(request, free):
            break
    else:
        return []
    victims = []
    for one in reversed(removed):
        left = _less(free, one)
        if fits(request, left):
            free = left
        else:
            victims.append(one)
    return victims


def fits(request: Request, free: Amounts) -> bool:
    return all(check.least <= free[check.place] for check in request.checks)


def _more(free: Amounts, pod: Pod) -> Amounts:
    return tuple(map(int.__add__, free, pod.spec.request.amounts))


def _less(free: Amounts, pod: Pod) -> Amounts:
    return tuple(map(int.__sub__, free, pod.spec.request.amounts))

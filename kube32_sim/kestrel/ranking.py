"""A ranking of all nodes for one request, kept up to date: equal pods follow each other.

Brought up to date by looking only at the nodes that changed since it was last asked: after a binding that is one.
"""

from __future__ import annotations

from collections import Counter
from heapq import heapify, heappop, heappush

from kube32_sim.kestrel.filters import evaluate
from kube32_sim.kestrel.models import Node, Request
from kube32_sim.kestrel.nodes import NodeTable
from kube32_sim.kestrel.score import rank


class Ranking:
    """The verdict of every node on one request, and the best node on top of a heap.

    Entries of the heap that are no longer a node's verdict are skipped when they come up.
    """

    def __init__(self, table: NodeTable, request: Request) -> None:
        self.position = -1
        self._table = table
        self._request = request
        self._verdicts: dict[str, int | str] = {}
        self._reasons: Counter[str] = Counter()
        self._heap: list[tuple[int, str]] = []

    def best(self) -> tuple[int, Node] | None:
        """(score, node) of the best node; None where the request fits nowhere."""
        if self._table.position != self.position:
            self._catch_up()
        heap, verdicts = self._heap, self._verdicts
        while heap:
            minus, name = heap[0]
            if verdicts.get(name) == -minus:
                return -minus, self._table.nodes[name]
            heappop(heap)
        return None

    def second(self) -> tuple[int, str] | None:
        """(score, name) of the node after the best one; only right after `best` has found one."""
        heap, verdicts = self._heap, self._verdicts
        if len(heap) > 2:
            found = min(heap[1], heap[2])  # the second of a heap is one of these
            if verdicts.get(found[1]) == -found[0] and found != heap[0]:
                return -found[0], found[1]
        best = heappop(heap)
        while heap and (heap[0] == best or verdicts.get(heap[0][1]) != -heap[0][0]):
            heappop(heap)
        second = (-heap[0][0], heap[0][1]) if heap else None
        heappush(heap, best)
        return second

    def reasons(self) -> Counter[str]:
        """How many nodes fail, by the reason."""
        if self._table.position != self.position:
            self._catch_up()
        return +self._reasons

    def _catch_up(self) -> None:
        changed = self._table.changed_since(self.position)
        if changed is None:
            self._build()
        else:
            for name in changed:
                self._update(name)
        self.position = self._table.position

    def _build(self) -> None:
        profile, request = self._table.profile, self._request
        self._verdicts = {name: evaluate(profile, request, node) for name, node in self._table.nodes.items()}
        self._reasons = Counter(verdict for verdict in self._verdicts.values() if isinstance(verdict, str))
        self._order()

    def _order(self) -> None:
        self._heap = [rank(name, value) for name, value in self._verdicts.items() if not isinstance(value, str)]
        heapify(self._heap)

    def _update(self, name: str) -> None:
        old = self._verdicts.pop(name, None)
        if isinstance(old, str):
            self._reasons[old] -= 1
        node = self._table.nodes.get(name)
        if node is None:
            return
        new = self._verdicts[name] = evaluate(self._table.profile, self._request, node)
        if isinstance(new, str):
            self._reasons[new] += 1
        elif new != old:
            heappush(self._heap, rank(name, new))
            if len(self._heap) > 2 * len(self._verdicts) + 64:
                self._order()

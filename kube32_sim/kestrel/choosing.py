"""Which node is best for a request: the one question that scheduler, replays and previews ask.

Three ways give the same answer.  Few nodes are simply asked (`filters`); a request that keeps coming has a ranking
(`ranking`); all others are asked of all nodes at once (`columns`, which takes numpy: loaded when it begins to pay).
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from kube32_sim.kestrel.affinity import Barrier
from kube32_sim.kestrel.filters import MISMATCH, evaluate
from kube32_sim.kestrel.models import Node, Request
from kube32_sim.kestrel.nodes import NodeTable
from kube32_sim.kestrel.ranking import Ranking
from kube32_sim.kestrel.score import rank

if TYPE_CHECKING:
    from kube32_sim.kestrel.columns import Columns

FEW = 12
"""Up to so many nodes are asked one by one."""
PATIENCE = 24_000
"""So many nodes are asked one by one before numpy is loaded, which takes about as long."""
REMEMBERED = 1024
"""Of how many requests it is known how often they come."""
RANKINGS, ENTRIES = 256, 250_000
"""How many rankings are kept at most, and how many (request, node) verdicts in all of them."""
LAG = 16
"""A ranking so many changes behind is not worth catching up (in large clusters: 1/64 of the nodes)."""

Ranked = tuple[int, str]
"""What `score.rank` makes of a node: the smallest is the best."""


def numpy_loaded() -> bool:
    return "numpy" in sys.modules


class Uses:
    """Of a request: how often it came lately, and when last (position in the table's journal)."""

    __slots__ = ("count", "last", "ranking")

    def __init__(self) -> None:
        self.count = 0
        self.last = 0
        self.ranking: Ranking | None = None


class Chooser:
    def __init__(self, table: NodeTable) -> None:
        self._table = table
        self._profile = table.profile
        self._uses: dict[Request, Uses] = {}
        self._asked = 0
        self._columns: Columns | None = None
        self._by: Ranking | Columns | None = None
        self._second: Ranked | None = None

    def choose(self, request: Request, barrier: Barrier | None = None) -> tuple[int, Node] | None:
        """(score, node) of the best node for a request; None where it fits nowhere.

        barrier: what the affinity rules say of the nodes, if anything.
        """
        if request.selector:
            candidates = self._table.labelled(request.selector)
            if len(candidates) <= FEW:
                return self._among((self._table.nodes[name] for name in candidates), request, barrier)
        if barrier is None:
            ranking = self._ranking(request)
            if ranking is not None:
                self._by = ranking
                return ranking.best()
        columns = self.columns(request)
        if columns is not None:
            self._by = columns
            return columns.choose(request, barrier)
        return self._among(self._table.nodes.values(), request, barrier)

    def second(self) -> tuple[int, str] | None:
        """(score, name) of the node that would have been chosen next; only right after `choose` has found one."""
        if self._by is not None:
            return self._by.second()
        return None if self._second is None else (-self._second[0], self._second[1])

    def reasons(self, request: Request, barrier: Barrier | None = None) -> Counter[str]:
        """How many nodes fail, by the reason: that of the first filter that a node fails."""
        if request.selector:
            candidates = self._table.labelled(request.selector)
            if len(candidates) <= FEW:
                return self._reasons_of_few(candidates, request, barrier)
        uses = self._uses.get(request)
        if barrier is None and uses is not None and uses.ranking is not None:
            return uses.ranking.reasons()
        columns = self.columns(request)
        if columns is not None:
            return columns.reasons(request, barrier)
        return self._count(self._table.nodes.values(), request, barrier)

    def tied(self, request: Request, score: int, barrier: Barrier | None = None) -> list[str]:
        """The feasible nodes of a score, sorted: among those of the best one the name decides."""
        columns = self.columns(request)
        if columns is not None:
            return columns.tied(request, score, barrier)
        nodes = self._table.nodes.values()
        found = (node for node in nodes if evaluate(self._profile, request, node) == score)
        return sorted(node.name for node in found if barrier is None or not barrier.reason(node))

    # one by one

    def _among(self, nodes: Iterable[Node], request: Request, barrier: Barrier | None) -> tuple[int, Node] | None:
        best: tuple[Ranked, Node] | None = None
        second: Ranked | None = None
        for node in nodes:
            value = evaluate(self._profile, request, node)
            if isinstance(value, str) or (barrier is not None and barrier.reason(node)):
                continue
            ranked = rank(node.name, value)
            if best is None or ranked < best[0]:
                best, second = (ranked, node), best[0] if best is not None else None
            elif second is None or ranked < second:
                second = ranked
        self._by, self._second = None, second
        return None if best is None else (-best[0][0], best[1])

    def _count(self, nodes: Iterable[Node], request: Request, barrier: Barrier | None) -> Counter[str]:
        reasons: Counter[str] = Counter()
        for node in nodes:
            value = evaluate(self._profile, request, node)
            reason = value if isinstance(value, str) else barrier.reason(node) if barrier is not None else ""
            if reason:
                reasons[reason] += 1
        return reasons

    def _reasons_of_few(self, candidates: set[str], request: Request, barrier: Barrier | None) -> Counter[str]:
        """The other nodes fail on the selector, unless they take no pod at all or not this one by name."""
        nodes = self._table.nodes
        if request.node_name:
            return self._count(nodes.values(), request, barrier)
        reasons = self._count((nodes[name] for name in candidates), request, barrier)
        barred = self._table.barred - Counter(nodes[name].barred for name in candidates)
        reasons += barred
        reasons[MISMATCH] += len(nodes) - len(candidates) - barred.total()
        return +reasons

    # all at once

    def columns(self, request: Request) -> Columns | None:
        """The nodes as columns, up to date; None where it is better, or more exact, to ask one by one."""
        count = len(self._table.nodes)
        if count <= FEW:
            return None
        if self._columns is None:
            self._asked += count
            if self._asked < PATIENCE and not numpy_loaded():
                return None
            from kube32_sim.kestrel.columns import Columns

            self._columns = Columns(self._table)
        columns = self._columns
        columns.refresh()
        return columns if columns.can_answer(request) else None

    # what comes again and again

    def _ranking(self, request: Request) -> Ranking | None:
        """The ranking for a request that has come often enough to pay for it."""
        position, count = self._table.position, len(self._table.nodes)
        uses = self._uses.get(request)
        if uses is None:
            if len(self._uses) >= REMEMBERED:
                self._keep_rankings(RANKINGS)
            uses = self._uses[request] = Uses()
        elif position - uses.last > max(LAG, count // 64):
            uses.count, uses.ranking = 0, None
        uses.last = position
        uses.count += 1
        if uses.ranking is None and uses.count > 2 + count // 128:
            self._keep_rankings(max(4, min(RANKINGS, ENTRIES // (count + 1))) - 1)
            self._uses[request] = uses
            uses.ranking = Ranking(self._table, request)
        return uses.ranking

    def _keep_rankings(self, most: int) -> None:
        """Forget all requests but those whose rankings were used last."""
        ranked = [item for item in self._uses.items() if item[1].ranking is not None]
        ranked.sort(key=lambda item: item[1].last)
        self._uses = dict(ranked[-most:])

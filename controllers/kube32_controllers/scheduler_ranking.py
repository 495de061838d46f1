"""Which node is best for a request, without asking every node for every pod.

Equal pods follow each other.  So for each of the requests seen lately a ranking of the nodes is kept, and brought up
to date by looking only at the nodes whose figures have changed since: after a binding that is one.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from kube32_controllers.scheduler_cache import SchedulerCache
from kube32_controllers.scheduler_filters import MISMATCH, PodRequest, evaluate, no_fit
from kube32_sim.kestrel.score import choose, rank

FEW = 32
"""Up to so many candidates by label are simply asked: a ranking (of a DaemonSet's pod, say) would not pay."""
RANKINGS, ENTRIES = 256, 250_000
"""How many rankings are kept at most, and how many (request, node) verdicts in all of them."""


@dataclass(frozen=True, slots=True)
class Decision:
    """node: where the pod goes; None where it fits nowhere, and `message` then says why."""

    node: str | None
    message: str = ""


class Ranking:
    """The verdict of every node on one request, and the best node on top of a heap.

    Entries of the heap that are no longer a node's verdict are skipped when they come up.
    """

    def __init__(self, cache: SchedulerCache, request: PodRequest) -> None:
        self._cache = cache
        self._request = request
        self._verdicts: dict[str, int | str] = {}
        self._reasons: Counter[str] = Counter()
        self._heap: list[tuple[int, str]] = []
        self._position = -1
        self._decision = Decision(None)

    def decide(self) -> Decision:
        if self._cache.position != self._position:
            self._catch_up()
            self._decision = self._best()
        return self._decision

    def _best(self) -> Decision:
        heap, verdicts = self._heap, self._verdicts
        while heap:
            minus, name = heap[0]
            if verdicts.get(name) == -minus:
                return Decision(name)
            heappop(heap)
        return Decision(None, no_fit(self._reasons, len(verdicts)))

    def _catch_up(self) -> None:
        changed = self._cache.changed_since(self._position)
        if changed is None:
            self._build()
        else:
            for name in changed:
                self._update(name)
        self._position = self._cache.position

    def _build(self) -> None:
        request = self._request
        self._verdicts = {name: evaluate(node, request) for name, node in self._cache.nodes.items()}
        self._reasons = Counter(verdict for verdict in self._verdicts.values() if isinstance(verdict, str))
        self._order()

    def _order(self) -> None:
        self._heap = [rank(name, value) for name, value in self._verdicts.items() if not isinstance(value, str)]
        heapify(self._heap)

    def _update(self, name: str) -> None:
        old = self._verdicts.pop(name, None)
        if isinstance(old, str):
            self._reasons[old] -= 1
        node = self._cache.nodes.get(name)
        if node is None:
            return
        new = self._verdicts[name] = evaluate(node, self._request)
        if isinstance(new, str):
            self._reasons[new] += 1
        elif new != old:
            heappush(self._heap, rank(name, new))
            if len(self._heap) > 2 * len(self._verdicts) + 64:
                self._order()


class Rankings:
    """The rankings of the requests seen lately."""

    def __init__(self, cache: SchedulerCache) -> None:
        self._cache = cache
        self._rankings: dict[PodRequest, Ranking] = {}

    def decide(self, request: PodRequest) -> Decision:
        """Where a pod with this request goes now.  Changes nothing but the memory of this object."""
        if request.selector:
            candidates = self._cache.labelled(request.selector)
            if len(candidates) <= FEW:
                return self._among(request, candidates)
        ranking = self._rankings.pop(request, None) or Ranking(self._cache, request)
        self._rankings[request] = ranking
        if len(self._rankings) > max(4, min(RANKINGS, ENTRIES // (len(self._cache.nodes) + 1))):
            del self._rankings[next(iter(self._rankings))]
        return ranking.decide()

    def _among(self, request: PodRequest, candidates: set[str]) -> Decision:
        nodes, reasons = self._cache.nodes, Counter(self._cache.barred)
        verdicts = {name: evaluate(nodes[name], request) for name in candidates}
        best = choose((name, verdict) for name, verdict in verdicts.items() if not isinstance(verdict, str))
        if best is not None:
            return Decision(best[0])
        # The other nodes fail on the selector, unless the filter before it bars them.
        reasons[MISMATCH] = len(nodes) - sum(reasons.values()) - sum(1 for name in candidates if not nodes[name].barred)
        for name, verdict in verdicts.items():
            if isinstance(verdict, str) and not nodes[name].barred:
                reasons[verdict] += 1
        return Decision(None, no_fit(reasons, len(nodes)))

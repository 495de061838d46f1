"""The nodes' figures as columns of numbers: one request is asked of all nodes at once.

Rows are in the order of names, so that the first of the best rows is the one that `score.rank` puts first.  Numbers are
64-bit integers; where they might not do, nothing is asked here (`Columns.can_answer`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kube32_sim.kestrel.affinity import Barrier
from kube32_sim.kestrel.filters import MISMATCH, UNTOLERATED, WRONG_NAME, percentages, untolerated
from kube32_sim.kestrel.models import ZONE, Node, Request, Taint
from kube32_sim.kestrel.nodes import NodeTable
from kube32_sim.kestrel.score import mean, percent_of

LARGEST = 2**54
"""The difference of two figures up to this can be multiplied by 100 in 64 bits, and two of those be added.

Where a request does not fit, what would be left may be anything below 0; such nodes are struck out by their mask.
`candidates` adds up what pods take on one node, which is no more than its capacity.
"""
LEAST = np.iinfo(np.int64).min
FEW = 8
"""So many nodes at a time are given rows between the others; for more, all rows are made anew."""
KEPT = 512
"""For how many selectors and tolerations together, and for how many labels, the answers of all nodes are kept."""

Mask = NDArray[np.bool_]
Numbers = NDArray[np.int64]


def are_small(amounts: Iterable[int]) -> bool:
    return all(-LARGEST <= amount <= LARGEST for amount in amounts)


class Columns:
    """names: of the rows.  rows: by name.  free: a column for each fitted resource."""

    _zone_of: NDArray[np.intp]
    _capacity: list[Numbers]
    _barred: Mask
    _taints_of: NDArray[np.intp]
    _with_label: dict[tuple[str, str], Mask]
    _statics: dict[tuple[Any, ...], Mask]

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        self._profile = table.profile
        self._position = -1
        self.layout = -1
        self.names: list[str] = []
        self.rows: dict[str, int] = {}
        self.free: list[Numbers] = []
        self._last: Numbers = np.zeros(0, np.int64)
        """What nodes scored when one was chosen last."""
        self._large: set[str] = set()

    # keeping it true

    def refresh(self) -> None:
        """Catch up with the table."""
        table = self._table
        if table.position == self._position:
            return
        changed = table.changed_since(self._position)
        if changed is None or not self._make_room(changed):
            self._build()
        else:
            nodes, rows = table.nodes, self.rows
            for name in changed:
                self._write(rows[name], nodes[name])
        self._position = table.position

    def _make_room(self, changed: Iterable[str]) -> bool:
        """Rows for nodes that are new among those that changed; False where more than a few came, or some went."""
        table = self._table
        if self.layout == table.layout:
            return True
        added = sorted(name for name in changed if name not in self.rows)
        if len(added) > FEW or table.layout - self.layout != len(added):
            return False
        self.layout = table.layout
        places = [bisect_left(self.names, name) for name in added]
        zones = [self._zones.setdefault(table.nodes[name].zone, len(self._zones)) for name in added]
        self._zone_of = np.insert(self._zone_of, places, zones)
        self.free = [np.insert(column, places, 0) for column in self.free]
        self._capacity = [np.insert(column, places, 1) for column in self._capacity]
        self._barred = np.insert(self._barred, places, False)
        self._taints_of = np.insert(self._taints_of, places, 0)
        self._with_label = {item: np.insert(mask, places, False) for item, mask in self._with_label.items()}
        self._statics.clear()
        for name in added:
            row = bisect_left(self.names, name)
            self.names.insert(row, name)
            self._facts.insert(row, ())
        self.rows = {name: row for row, name in enumerate(self.names)}
        return True

    def _build(self) -> None:
        nodes = [node for _, node in sorted(self._table.nodes.items())]
        self.layout = self._table.layout
        self._large = set()
        self.names = [node.name for node in nodes]
        self.rows = {name: row for row, name in enumerate(self.names)}
        self._zones = {zone: place for place, zone in enumerate({node.zone for node in nodes})}
        self._zone_of = np.array([self._zones[node.zone] for node in nodes], np.intp)
        self.free = [np.zeros(len(nodes), np.int64) for _ in self._profile.fitted]
        self._capacity = [np.ones(len(nodes), np.int64) for _ in self._profile.scored]
        self._without: dict[str, Node] = {}
        self._barred = np.zeros(len(nodes), np.bool_)
        self._taints: dict[tuple[Taint, ...], int] = {}
        self._taints_of = np.zeros(len(nodes), np.intp)
        self._with_label = {}
        self._statics = {}
        self._facts: list[tuple[Any, ...]] = [()] * len(nodes)
        for row, node in enumerate(nodes):
            self._write(row, node)

    def _write(self, row: int, node: Node) -> None:
        if not (are_small(node.free) and are_small(node.capacity)):
            self._large.add(node.name)
            return
        self._large.discard(node.name)
        for column, amount in zip(self.free, node.free, strict=True):
            column[row] = amount
        facts = (node.barred, node.labels, node.taints, node.capacity)
        if facts != self._facts[row]:
            self._facts[row] = facts
            self._write_facts(row, node)

    def _write_facts(self, row: int, node: Node) -> None:
        self._without.pop(node.name, None)
        for column, place in zip(self._capacity, self._profile.scored_places, strict=True):
            column[row] = max(node.capacity[place], 1)
            if node.capacity[place] <= 0:
                self._without[node.name] = node
        self._barred[row] = bool(node.barred)
        self._taints_of[row] = self._taints.setdefault(node.taints, len(self._taints))
        for (key, value), mask in self._with_label.items():
            mask[row] = node.labels.get(key) == value
        self._statics.clear()

    # asking

    def can_answer(self, request: Request) -> bool:
        """Whether a request can be asked here: all numbers are small enough."""
        return not self._large and are_small(request.amounts)

    def choose(self, request: Request, barrier: Barrier | None = None) -> tuple[int, Node] | None:
        """(score, node) of the best node for a request; None where it fits nowhere."""
        scores = self._last = self._scores_of_feasible(request, barrier)
        row = int(scores.argmax())
        best = int(scores[row])
        return None if best == LEAST else (best, self._table.nodes[self.names[row]])

    def second(self) -> tuple[int, str] | None:
        """(score, name) of the node after the best one; only once after `choose` has found one."""
        scores = self._last
        scores[int(scores.argmax())] = LEAST
        row = int(scores.argmax())
        return None if scores[row] == LEAST else (int(scores[row]), self.names[row])

    def tied(self, request: Request, score: int, barrier: Barrier | None = None) -> list[str]:
        """The feasible nodes of a score, sorted."""
        return [self.names[row] for row in np.flatnonzero(self._scores_of_feasible(request, barrier) == score)]

    def _scores_of_feasible(self, request: Request, barrier: Barrier | None) -> Numbers:
        """Of each node, LEAST where it is not feasible."""
        bad = self._static(request).copy()
        if barrier is not None:
            self._close(bad, barrier)
        for place, least, _ in request.checks:
            bad |= self.free[place] < least
        scores = self._scores(request)
        scores[bad] = LEAST
        return scores

    def _scores(self, request: Request) -> Numbers:
        (first, second), amounts = self._profile.scored_places, request.amounts
        left = self.free[first] - amounts[first], self.free[second] - amounts[second]
        scores: Numbers = mean(percent_of(left[0], self._capacity[0]), percent_of(left[1], self._capacity[1]))
        for name, node in self._without.items():
            scores[self.rows[name]] = mean(*percentages(self._profile, request, node))
        return scores

    def reasons(self, request: Request, barrier: Barrier | None = None) -> Counter[str]:
        """How many nodes fail, by the reason: that of the first filter that a node fails."""
        reasons = Counter(self._table.barred)
        left = ~self._barred
        for reason, fails in self._static_filters(request):
            reasons[reason] += int(np.count_nonzero(left & fails))
            left &= ~fails
        for place, least, reason in request.checks:
            short = left & (self.free[place] < least)
            reasons[reason] += int(np.count_nonzero(short))
            left &= ~short
        if barrier is not None:
            nodes = self._table.nodes
            reasons.update(barrier.reason(nodes[self.names[row]]) for row in np.flatnonzero(left))
        return Counter({reason: count for reason, count in reasons.items() if reason and count})

    def static_ok(self, request: Request) -> Mask:
        mask: Mask = ~self._static(request)
        return mask

    def _static(self, request: Request) -> Mask:
        """Which nodes fail the filters that do not depend on the pods on them; kept, not to be changed."""
        key = request[2:]
        found = self._statics.get(key)
        if found is None:
            if len(self._statics) >= KEPT:
                self._statics.clear()
            found = self._barred.copy()
            for _, fails in self._static_filters(request):
                found |= fails
            self._statics[key] = found
        return found

    def _static_filters(self, request: Request) -> Iterator[tuple[str, Mask]]:
        """(reason, which nodes fail) of `filters.static_reason`, in its order, but for nodes that are barred."""
        if request.node_name:
            yield WRONG_NAME, ~self.mask_of(name for name in [request.node_name] if name in self.rows)
        for item in request.selector:
            yield MISMATCH, ~self._labelled(item)
        if self._profile.taints and self._taints.keys() != {()}:
            fails = [untolerated(taints, request.tolerations) is not None for taints in self._taints]
            yield UNTOLERATED, np.array(fails, np.bool_)[self._taints_of]

    def _labelled(self, item: tuple[str, str]) -> Mask:
        found = self._with_label.get(item)
        if found is None:
            if len(self._with_label) >= KEPT:
                self._with_label.clear()
            found = self._with_label[item] = self.mask_of(self._table.labelled([item]))
        return found

    def _close(self, bad: Mask, barrier: Barrier) -> None:
        for topology, hosts, _ in barrier.blocked:
            if topology == ZONE:
                bad |= self._in_zones(hosts.zones)
            else:
                bad[self._rows_of(hosts.nodes())] = True
        self._close_unmet(bad, barrier)

    def _close_unmet(self, bad: Mask, barrier: Barrier) -> None:
        for topology, hosts in barrier.needed:
            if topology == ZONE:
                bad |= ~self._in_zones(hosts.zones)
            else:
                bad |= ~self.mask_of(hosts.nodes())

    def beyond_help(self, barrier: Barrier) -> Mask:
        """Nodes closed by pods that are not all on the node itself: removing pods there does not open them."""
        bad = np.zeros(len(self.names), np.bool_)
        for topology, hosts, _ in barrier.blocked:
            if topology == ZONE:
                closed = self._in_zones(hosts.zones)
                alone = [self.rows[next(iter(nodes))] for nodes in hosts.zones.values() if len(nodes) == 1]
                closed[alone] = False
                bad |= closed
        self._close_unmet(bad, barrier)
        return bad

    def _in_zones(self, zones: Mapping[str, object]) -> Mask:
        flags = np.zeros(len(self._zones), np.bool_)
        flags[[self._zones[zone] for zone in zones]] = True
        mask: Mask = flags[self._zone_of]
        return mask

    def mask_of(self, names: Iterable[str]) -> Mask:
        mask = np.zeros(len(self.names), np.bool_)
        mask[self._rows_of(names)] = True
        return mask

    def _rows_of(self, names: Iterable[str]) -> list[int]:
        return list(map(self.rows.__getitem__, names))

"""What preempting costs at least, asked of all nodes at once.

A row a node, as in `columns`; in it the node's pods, cheapest first, with running sums of what removing them frees.
The first place where the sums are enough is the last pod that would have to go.  It is the dearest victim (nothing is
removed after it, and it cannot be given back), so its priority is exact unless affinity wants still more removed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from kube32_sim.kestrel.affinity import Barrier
from kube32_sim.kestrel.bindings import Bindings
from kube32_sim.kestrel.columns import FEW, Columns, Mask, are_small
from kube32_sim.kestrel.models import Cost, Pod

Matrix = NDArray[np.int64]
CELLS = 2**22
"""So many places are kept at most.  Of a node with more pods than its row holds the cheapest are known: they do for a
bound, as whoever else has to go is no cheaper."""
CROWD = 64
"""So many pods of each node are known at least, or four times as many as nodes have on average."""
NOBODY = np.iinfo(np.int64).max
"""The priority in the places of a row behind its last pod: no pod may preempt there."""


class Candidates:
    _priority: Matrix
    _sums: list[Matrix]
    _sizes: list[Matrix]
    _largest: list[Matrix]
    _cut: Mask

    def __init__(self, bindings: Bindings, columns: Columns) -> None:
        self._bindings = bindings
        self._columns = columns
        self._position = -1
        self._layout = -1
        self._width = self._most = 0
        self._large: set[str] = set()
        self._known: set[str] = set()

    # keeping it true

    def _refresh(self) -> None:
        table = self._bindings.table
        changed = table.changed_since(self._position)
        if changed is None or not self._make_room(changed):
            self._build(8)
        elif self._position != table.position:
            for name in changed:
                self._write(self._columns.rows[name], name)
        self._position = table.position

    def _make_room(self, changed: Iterable[str]) -> bool:
        """As `Columns` does: rows for a few nodes that are new."""
        layout, rows = self._columns.layout, self._columns.rows
        if self._layout == layout:
            return True
        added = sorted(rows[name] for name in changed if name in rows and name not in self._known)
        if len(added) > FEW or layout - self._layout != len(added):
            return False
        self._layout = layout
        self._known.update(self._columns.names[row] for row in added)
        places = [row - before for before, row in enumerate(added)]
        self._priority = np.insert(self._priority, places, NOBODY, axis=0)
        self._cut = np.insert(self._cut, places, False)
        for matrices in (self._sums, self._sizes, self._largest):
            matrices[:] = [np.insert(matrix, places, 0, axis=0) for matrix in matrices]
        return True

    def _build(self, width: int) -> None:
        self._layout = self._columns.layout
        self._known = set(self._columns.names)
        names, resources = self._columns.names, self._bindings.table.profile.fitted
        counts = [len(self._bindings.pods_on(name)) for name in names]
        crowded = max(CROWD, 4 * sum(counts) // len(names))
        self._most = max(1, min(crowded, CELLS // len(names)))
        self._width = min(max(width, *counts), self._most)
        shape = (len(names), self._width)
        self._priority = np.full(shape, NOBODY, np.int64)
        self._sums = [np.zeros(shape, np.int64) for _ in resources]
        self._sizes = [np.zeros(shape, np.int64) for _ in resources]
        self._largest = [np.zeros(shape, np.int64) for _ in resources]
        self._cut = np.zeros(len(names), np.bool_)
        self._large.clear()
        for row, name in enumerate(names):
            self._write(row, name)

    def _write(self, row: int, name: str) -> None:
        pods = self._bindings.cheapest_first(name)
        if self._width < len(pods) and self._width < self._most:
            self._build(2 * len(pods))
            return
        self._cut[row] = len(pods) > self._width
        pods = pods[: self._width]
        count = len(pods)
        priorities = [pod.spec.priority for pod in pods]
        if pods and not are_small((priorities[0], priorities[-1])):
            self._large.add(name)
            return
        self._large.discard(name)
        self._priority[row, count:] = NOBODY
        self._priority[row, :count] = priorities
        for place, (sizes, sums, largest) in enumerate(zip(self._sizes, self._sums, self._largest, strict=True)):
            amounts = [pod.spec.request.amounts[place] for pod in pods]
            sizes[row, :count] = amounts
            sums[row, :count] = list(accumulate(amounts))
            largest[row, :count] = list(accumulate(amounts, max))

    # asking

    def can_answer(self, pod: Pod) -> bool:
        """Catch up, and tell whether preemption by a pod can be asked here: all numbers are small enough."""
        self._refresh()
        return not self._large and are_small((pod.spec.priority,))

    def bounds(self, pod: Pod, rules: Barrier | None, swayed: set[str]) -> Iterator[Cost]:
        """The least that nodes would cost, cheapest first; nodes that are not named cannot help."""
        priority, request = pod.spec.priority, pod.spec.request
        hopeful = self._priority[:, 0] < priority
        if hopeful.any():
            hopeful &= self._columns.static_ok(request)
            if rules is not None:
                hopeful &= ~self._columns.beyond_help(rules)
        rows = np.flatnonzero(hopeful)
        if not len(rows):
            return iter(())
        enough = self._priority[rows] < priority
        lacking = [(place, least - self._columns.free[place][rows]) for place, least, _ in request.checks]
        for place, lack in lacking:
            enough &= self._sums[place][rows] >= lack[:, np.newaxis]
        last = enough.argmax(1)
        found = enough[np.arange(len(rows)), last]
        unknown = self._cut[rows] & ~found & (self._priority[rows, -1] < priority)
        last[unknown] = self._width - 1
        chosen = np.flatnonzero(found | unknown)
        rows, last = rows[chosen], last[chosen]
        counts = np.ones(len(rows), np.int64)
        for place, lack in lacking:
            left = lack[chosen]
            counts[(counts < 2) & (self._sizes[place][rows, last] < left)] = 2
            # So many of the largest there are would do, and no fewer.
            largest = np.maximum(self._largest[place][rows, last], 1)
            np.maximum(counts, -(-left // largest), out=counts)
        counts[unknown[chosen]] = 1
        if swayed:
            counts[self._columns.mask_of(swayed)[rows]] = 1
        return self._in_order(self._priority[rows, last], counts, rows)

    def _in_order(self, priorities: Matrix, counts: Matrix, rows: NDArray[np.intp]) -> Iterator[Cost]:
        """Sorted only as far as it is asked for: mostly the cheapest few decide."""
        if not len(rows):
            return
        names = self._columns.names
        lowest = priorities.min()
        fewest = counts[priorities == lowest].min()
        first = (priorities == lowest) & (counts == fewest)
        for row in rows[first]:
            yield Cost(int(lowest), int(fewest), names[row])
        for place in np.lexsort((rows, counts, priorities)):
            if not first[place]:
                yield Cost(int(priorities[place]), int(counts[place]), names[rows[place]])

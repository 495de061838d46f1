"""What preempting costs at least, asked of all nodes at once.

A row a node, as in `columns`; in it the node's pods, cheapest first, with running sums of what removing them frees.
The first place where the sums are enough is the last pod that would have to go.  It is the dearest victim (nothing is
removed after it, and it cannot be given back), so its priority is exact unless affinity wants still more removed.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from kube32_sim.kestrel.affinity import Barrier
from kube32_sim.kestrel.bindings import Bindings
from kube32_sim.kestrel.columns import Columns, are_small
from kube32_sim.kestrel.models import Cost, Pod

Matrix = NDArray[np.int64]
CELLS = 2**22
"""So many places are kept at most.  Of a node with more pods than its row holds the cheapest are known: they do for a
bound, as whoever else has to go is no cheaper."""
NOBODY = np.iinfo(np.int64).max
"""The priority in the places of a row behind its last pod: no pod may preempt there."""


class Candidates:
    def __init__(self, bindings: Bindings, columns: Columns) -> None:
        self._bindings = bindings
        self._columns = columns
        self._position = -1
        self._layout = -1
        self._width = 0
        self._large: set[int] = set()

    # keeping it true

    def _refresh(self) -> None:
        table = self._bindings.table
        changed = table.changed_since(self._position)
        if changed is None or self._layout != self._columns.layout:
            self._build(8)
        elif self._position != table.position:
            for name in changed:
                self._write(self._columns.rows[name], name)
        self._position = table.position

    def _build(self, width: int) -> None:
        self._layout = self._columns.layout
        names, resources = self._columns.names, self._bindings.table.profile.fitted
        longest = max(width, *(len(self._bindings.pods_on(name)) for name in names))
        self._width = min(longest, max(1, CELLS // len(names)))
        shape = (len(names), self._width)
        self._priority: Matrix = np.full(shape, NOBODY, np.int64)
        self._sums: list[Matrix] = [np.zeros(shape, np.int64) for _ in resources]
        self._sizes: list[Matrix] = [np.zeros(shape, np.int64) for _ in resources]
        self._cut = np.zeros(len(names), np.bool_)
        self._large.clear()
        for row, name in enumerate(names):
            self._write(row, name)

    def _write(self, row: int, name: str) -> None:
        pods = self._bindings.cheapest_first(name)
        if len(pods) > self._width and 2 * len(pods) * len(self._columns.names) <= CELLS:
            self._build(2 * len(pods))
            return
        self._cut[row] = len(pods) > self._width
        pods = pods[: self._width]
        count = len(pods)
        priorities = [pod.spec.priority for pod in pods]
        if pods and not are_small((priorities[0], priorities[-1])):
            self._large.add(row)
            return
        self._large.discard(row)
        self._priority[row, count:] = NOBODY
        self._priority[row, :count] = priorities
        for place, (sizes, sums) in enumerate(zip(self._sizes, self._sums, strict=True)):
            amounts = [pod.spec.request.amounts[place] for pod in pods]
            sizes[row, :count] = amounts
            sums[row, :count] = list(accumulate(amounts))

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
            counts[self._sizes[place][rows, last] < lack[chosen]] = 2
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
        for count in (1, 2):
            for row in rows[(priorities == lowest) & (counts == count)]:
                yield Cost(int(lowest), count, names[row])
        for place in np.lexsort((rows, counts, priorities)):
            if priorities[place] > lowest:
                yield Cost(int(priorities[place]), int(counts[place]), names[rows[place]])

"""What is due when, for a clock that stands still in between (`clock.VirtualClock`)."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable
from functools import partial

CALLED_OFF = 256
"""Entries that were cancelled and may lie about before somebody looks whether they are most of all."""

Callback = Callable[[], None]
Entry = list[Callback]
"""One callback; empty where it was cancelled, or has been taken."""


class Timetable:
    """Callbacks in order of their moments (seconds), and of registration at the same one."""

    def __init__(self) -> None:
        self._moments: list[float] = []
        """A heap, each moment once."""
        self._due: dict[float, deque[tuple[float, Entry]]] = {}
        """At each of them what is due, and the exact time."""
        self._lying, self._cancelled = 0, 0
        """How many entries there are, and how many of them are cancelled."""

    def __len__(self) -> int:
        """How many entries there are, cancelled ones among them: they go when their time comes, or are most of all."""
        return self._lying

    def add(self, moment: float, when: float, callback: Callback) -> Callback:
        """Note what is due at a moment, which stands for an exact time close to it; answers how to cancel."""
        due = self._due.get(moment)
        if due is None:
            due = self._due[moment] = deque()
            heapq.heappush(self._moments, moment)
        entry = [callback]
        due.append((when, entry))
        self._lying += 1
        return partial(self._cancel, entry)

    def take(self, until: float) -> tuple[float, Callback] | None:
        """The next that is due by a moment, taken off, and at what time it is; None: nothing is."""
        while self._moments and self._moments[0] <= until:
            moment = self._moments[0]
            due = self._due[moment]
            while due:
                when, entry = due.popleft()
                self._lying -= 1
                if entry:
                    return max(moment, when), entry.pop()
                self._cancelled -= 1
            heapq.heappop(self._moments)
            del self._due[moment]
        return None

    def _cancel(self, entry: Entry) -> None:
        if not entry:
            return
        entry.clear()
        self._cancelled += 1
        if self._cancelled > max(CALLED_OFF, self._lying // 2):
            self._sweep()

    def _sweep(self) -> None:
        """Take away what was cancelled: it may have been meant for a moment that is far off."""
        left = {moment: deque(each for each in due if each[1]) for moment, due in self._due.items()}
        self._due = {moment: due for moment, due in left.items() if due}
        self._moments = sorted(self._due)  # which is a heap
        self._lying, self._cancelled = sum(map(len, self._due.values())), 0

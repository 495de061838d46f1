"""Meters: counted up where things happen, for next to nothing.

Durations are seconds of the machine's time, whatever the cluster's clock does: they tell what the simulator costs.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from typing import Any, Protocol

from kube32_sim.clock import RealClock

stopwatch = RealClock().steady
"""Seconds since some moment, of the machine's time."""

REQUEST_SECONDS = (
    *(0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0),
    *(4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0),
)
"""Bounds of kube-apiserver's histogram of request durations."""
WORK_SECONDS = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0)
"""Of controllers' work queues (upstream has 1e-8 and 1e-7 too)."""
ATTEMPT_SECONDS = tuple(0.001 * 2**power for power in range(15))
"""Of kube-scheduler's attempts."""


class Histogram:
    """How many observations there were up to each bound.  counts: per bucket, not cumulated; the last is beyond all."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def observe(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value


class LoopMeter:
    """The work of one control loop, as a work queue tells it.

    adds: keys that became due.  retries: of them those that had failed.  depth: keys that wait now.
    """

    __slots__ = ("adds", "depth", "duration", "passes", "retries")

    def __init__(self) -> None:
        self.adds = self.retries = self.depth = self.passes = 0
        self.duration = Histogram(WORK_SECONDS)

    def note(self, actions: Sequence[object], seconds: float, *, done: bool) -> None:
        """A key was looked at, and these were the actions.  done: whether all of them were, and none was refused."""
        self.duration.observe(seconds)


class SchedulingMeter:
    """Attempts to find nodes for pods, by result: `scheduled`, `unschedulable` or `error`."""

    __slots__ = ("attempts", "durations")

    def __init__(self) -> None:
        self.attempts: Counter[str] = Counter()
        self.durations: dict[str, Histogram] = {}

    def note(self, result: str, seconds: float) -> None:
        self.attempts[result] += 1
        histogram = self.durations.get(result)
        if histogram is None:
            histogram = self.durations[result] = Histogram(ATTEMPT_SECONDS)
        histogram.observe(seconds)


class Waiting(Protocol):
    """A scheduler, as far as it is told of."""

    profile: str
    cache: Any
    """Its `waiting` are the pods without a node."""


class Meters:
    """Of one simulator.  loops: by name, as `--controllers` has them.  scheduler: None where it is switched off."""

    def __init__(self, scheduler: Waiting | None = None) -> None:
        self.scheduler = scheduler
        self.loops: dict[str, LoopMeter] = {}
        self.scheduling = SchedulingMeter()

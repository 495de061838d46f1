"""Kestrel's integer rule: how good a feasible node is, and which of the scored nodes wins.

A profile names the two resources the rule looks at; the arithmetic and the tie-break are the same for all of them.
Everything is an integer of any size: percentages are floored, nothing passes through a float.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Profile:
    """A way to schedule.  scored: the two resources whose free percentages make the score."""

    name: str
    scored: tuple[str, str]


KESTREL = Profile("kestrel", ("cpu", "mem"))
KUBE32 = Profile("kube32", ("memory", "esp32.io/gpio"))


def percent(free: int, capacity: int) -> int:
    """How much of a capacity is free, in whole percent rounded down; 0 of nothing."""
    return free * 100 // capacity if capacity > 0 else 0


def score(first_free: int, first_capacity: int, second_free: int, second_capacity: int) -> int:
    """The mean of the two scored resources' free percentages, rounded down.

    `free` is what would be left with the pod on the node; it is negative where a resource that the profile does not
    fit is overdrawn.
    """
    return (percent(first_free, first_capacity) + percent(second_free, second_capacity)) // 2


def rank(name: str, value: int) -> tuple[int, str]:
    """Sort key of a scored node: the best one is the smallest (highest score, ties by smallest name)."""
    return (-value, name)


def choose(scores: Iterable[tuple[str, int]]) -> tuple[str, int] | None:
    """The winner among (node, score) pairs, in whatever order they come; None where there are none."""
    best = min((rank(name, value) for name, value in scores), default=None)
    return None if best is None else (best[1], -best[0])

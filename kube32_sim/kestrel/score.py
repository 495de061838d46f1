"""Kestrel's integer rule: how good a feasible node is, and which of the scored nodes wins.

A profile names the two resources the rule looks at; the arithmetic and the tie-break are the same for all of them.
Everything is an integer of any size: percentages are floored, nothing passes through a float.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def mean_of_percentages(first_free: Any, first_capacity: Any, second_free: Any, second_capacity: Any) -> Any:
    """The rule itself, for numbers and for columns of numbers alike; capacities are positive."""
    return (first_free * 100 // first_capacity + second_free * 100 // second_capacity) // 2


def score(first_free: int, first_capacity: int, second_free: int, second_capacity: int) -> int:
    """The mean of the two scored resources' free percentages, each and in the end rounded down; of nothing, 0 is free.

    `free` is what would be left with the pod on the node; it is negative where a resource that the profile does not
    fit is overdrawn.
    """
    if first_capacity > 0 and second_capacity > 0:
        value: int = mean_of_percentages(first_free, first_capacity, second_free, second_capacity)
        return value
    return (percent(first_free, first_capacity) + percent(second_free, second_capacity)) // 2


def percent(free: int, capacity: int) -> int:
    """How much of a capacity is free, in whole percent rounded down; 0 of nothing."""
    return free * 100 // capacity if capacity > 0 else 0


def rank(name: str, value: int) -> tuple[int, str]:
    """Sort key of a scored node: the best one is the smallest (highest score, ties by smallest name)."""
    return (-value, name)


def choose(scores: Iterable[tuple[str, int]]) -> tuple[str, int] | None:
    """The winner among (node, score) pairs, in whatever order they come; None where there are none."""
    best = min((rank(name, value) for name, value in scores), default=None)
    return None if best is None else (best[1], -best[0])

"""Kestrel's integer rule: how good a feasible node is, and which of the scored nodes wins.

A profile names the two resources the rule looks at; the arithmetic and the tie-break are the same for all of them.
Everything is an integer of any size: percentages are floored, nothing passes through a float.
"""

from __future__ import annotations

from typing import Any


def percent_of(free: Any, capacity: Any) -> Any:
    """How much of a positive capacity is free, in whole percent rounded down: of numbers, or of columns of them."""
    return free * 100 // capacity


def mean(first: Any, second: Any) -> Any:
    """The score that two percentages make, rounded down: of numbers, or of columns of them."""
    return (first + second) // 2


def percent(free: int, capacity: int) -> int:
    """How much of a capacity is free, in whole percent rounded down; 0 of nothing.

    `free` is what would be left with the pod on the node; it is negative where a resource that the profile does not
    fit is overdrawn.
    """
    share: int = percent_of(free, capacity) if capacity > 0 else 0
    return share


def rank(name: str, value: int) -> tuple[int, str]:
    """Sort key of a scored node: the best one is the smallest (highest score, ties by smallest name)."""
    return (-value, name)

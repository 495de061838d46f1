"""From-to numbers that costs and sizes of CEL expressions are reckoned in: unsigned, 64 bits, and never overflowing.

The arithmetic is that of cel-go's `SizeEstimate` and `CostEstimate`, rounding included: whether a rule is accepted
depends on it.
"""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

MOST = (1 << 64) - 1


class Range(NamedTuple):
    """At least `min`, at most `max`: units of cost, or a size (characters, bytes, items, entries)."""

    min: int
    max: int

    def plus(self, other: Range) -> Range:
        return Range(min(self.min + other.min, MOST), min(self.max + other.max, MOST))

    def times(self, other: Range) -> Range:
        return Range(product(self.min, other.min), product(self.max, other.max))

    def scaled(self, factor: float) -> Range:
        """Each end multiplied and rounded up."""
        return Range(_scaled(self.min, factor), _scaled(self.max, factor))

    def union(self, other: Range) -> Range:
        return Range(min(self.min, other.min), max(self.max, other.max))


def product(one: int, other: int) -> int:
    return min(one * other, MOST)


def _scaled(number: int, factor: float) -> int:
    return min(ceil(float(number) * factor), MOST)


def fixed(number: int) -> Range:
    return Range(number, number)


NOTHING = Range(0, 0)
ONE = Range(1, 1)
UNKNOWN = Range(0, MOST)
NEVER = Range(MOST, 0)
"""What a union of ranges starts with."""

"""Completion indexes of Indexed Jobs, as runs: `0-999999999` is one pair of numbers, not a billion.  Pure.

What is read may come from anybody's status or spec, so it may be of any size and in any order.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

Run = tuple[int, int]
"""First and last index."""


@dataclass(frozen=True, slots=True)
class Indexes:
    """A set of indexes.  runs: in order, and neither overlapping nor touching."""

    runs: tuple[Run, ...] = ()

    def __contains__(self, index: object) -> bool:
        if not isinstance(index, int):
            return False
        place = bisect_right(self.runs, index, key=lambda run: run[0]) - 1
        return place >= 0 and index <= self.runs[place][1]

    def __len__(self) -> int:
        return sum(last - first + 1 for first, last in self.runs)

    def __or__(self, other: Indexes) -> Indexes:
        return _joined((*self.runs, *other.runs))

    def __and__(self, other: Indexes) -> Indexes:
        common = []
        mine, theirs = list(self.runs[::-1]), list(other.runs[::-1])
        while mine and theirs:
            first, last = max(mine[-1][0], theirs[-1][0]), min(mine[-1][1], theirs[-1][1])
            if first <= last:
                common.append((first, last))
            (mine if mine[-1][1] <= theirs[-1][1] else theirs).pop()
        return Indexes(tuple(common))

    def below(self, end: int) -> Indexes:
        return Indexes(tuple((first, min(last, end - 1)) for first, last in self.runs if first < end))

    def missing(self, end: int) -> Iterator[int]:
        """The indexes below `end` that are not in it, one after the other as they are asked for."""
        free = 0
        for first, last in self.below(end).runs:
            yield from range(free, first)
            free = last + 1
        yield from range(free, end)


NONE = Indexes()


def _joined(runs: Iterable[Run]) -> Indexes:
    joined: list[Run] = []
    for first, last in sorted(runs):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = joined[-1][0], max(last, joined[-1][1])
        else:
            joined.append((first, last))
    return Indexes(tuple(joined))


def indexes_of(numbers: Iterable[int | None]) -> Indexes:
    return _joined((number, number) for number in numbers if number is not None)


def parse_indexes(text: str) -> Indexes:
    """`0-2,5` -> 0, 1, 2 and 5; what is no number is left out."""
    runs: list[Run] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        if _number(first) and _number(last if dash else first):
            run = int(first), int(last if dash else first)
            runs += [run] if run[0] <= run[1] else []
    return _joined(runs)


def _number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 10


def format_indexes(indexes: Indexes) -> str:
    """0, 1, 2 and 5 -> `0-2,5`; two neighbours are `0,1`."""
    texts = []
    for first, last in indexes.runs:
        separator = "-" if last - first > 1 else ","
        texts.append(str(first) if first == last else f"{first}{separator}{last}")
    return ",".join(texts)

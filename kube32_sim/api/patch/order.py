"""The order of a list that a strategic merge patch has merged.

The items that the patch names come in the patch's order, all others in the order they had; where the two meet, the
order they had decides, and an item that is new comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any


def in_order(merged: Sequence[Any], wanted: Sequence[Any], before: Sequence[Any], merge_key: str) -> list[Any]:
    """`merged` put in order.

    wanted: the order that the patch gives.  before: the list as it was.  merge_key: of objects; "" for scalars.
    """
    wanted_at, before_at = _places(wanted, merge_key), _places(before, merge_key)
    identity = _identity(merge_key)
    named = [item for item in merged if identity(item) in wanted_at]
    others = [item for item in merged if identity(item) not in wanted_at]
    named.sort(key=lambda item: wanted_at[identity(item)])
    others.sort(key=lambda item: before_at.get(identity(item), len(before)))
    return _interleaved(others, named, lambda item: before_at.get(identity(item)))


def _identity(merge_key: str) -> Callable[[Any], Hashable]:
    def identity(item: Any) -> Hashable:
        value = item.get(merge_key) if merge_key and item.__class__ is dict else item
        # Booleans equal numbers in Python, and lists and objects cannot be looked up: these go by their text.
        return value if value.__class__ is str else (value.__class__, repr(value))

    return identity


def _places(items: Sequence[Any], merge_key: str) -> dict[Hashable, int]:
    identity = _identity(merge_key)
    places: dict[Hashable, int] = {}
    for at, item in enumerate(items):
        places.setdefault(identity(item), at)
    return places


def _interleaved(others: list[Any], named: list[Any], place: Callable[[Any], int | None]) -> list[Any]:
    made: list[Any] = []
    at = 0
    for item in named:
        mine = place(item)
        while at < len(others) and mine is not None:
            theirs = place(others[at])
            if theirs is None or theirs >= mine:
                break
            made.append(others[at])
            at += 1
        made.append(item)
    return [*made, *others[at:]]

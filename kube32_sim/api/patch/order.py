"""The order of a list that a strategic merge patch has merged.

The items that the patch names come in the patch's order, all others in the order they had; where the two meet, the
order they had decides, and an item that is new comes first.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from operator import itemgetter
from typing import Any


def in_order(merged: Sequence[Any], wanted: Sequence[Any], before: Sequence[Any], merge_key: str) -> list[Any]:
    """`merged` put in order.

    wanted: the order that the patch gives.  before: the list as it was.  merge_key: of objects; "" for scalars.
    """
    wanted_at, before_at = _places(wanted, merge_key), _places(before, merge_key)
    # Each item is looked at once: an identity may be as long as the item.
    keyed = [(identity_of(item, merge_key), item) for item in merged]
    named = [(wanted_at[mine], before_at.get(mine), item) for mine, item in keyed if mine in wanted_at]
    others = [(before_at.get(mine, len(before)), item) for mine, item in keyed if mine not in wanted_at]
    named.sort(key=itemgetter(0))
    others.sort(key=itemgetter(0))
    return _interleaved(others, [(place, item) for _, place, item in named])


def identity_of(item: Any, merge_key: str) -> Hashable:
    """What makes a list item the same as another: its merge key's value, or itself where there is no key."""
    return identity(item.get(merge_key) if merge_key and item.__class__ is dict else item)


def identity(value: Any) -> Hashable:
    """A value to look up by: booleans equal numbers in Python, and lists and objects cannot be looked up at all."""
    return value if value.__class__ is str else (value.__class__, repr(value))


def _places(items: Sequence[Any], merge_key: str) -> dict[Hashable, int]:
    places: dict[Hashable, int] = {}
    for at, item in enumerate(items):
        places.setdefault(identity_of(item, merge_key), at)
    return places


def _interleaved(others: list[tuple[int, Any]], named: list[tuple[int | None, Any]]) -> list[Any]:
    """Both in one list; each item comes with its place in the list as it was (new: None, or after all others)."""
    made: list[Any] = []
    at = 0
    for mine, item in named:
        while at < len(others) and mine is not None and others[at][0] < mine:
            made.append(others[at][1])
            at += 1
        made.append(item)
    made.extend(item for _, item in others[at:])
    return made

"""Enums of schemas: one lookup tells whether a value is in one, however long it is.

`checking` and `explaining` ask; both may ask for each of many values.
"""

from __future__ import annotations

import json
from functools import cached_property
from typing import Any

from kube32_sim.api.managed.gotext import plain

_MOST_KEPT = 256
_kept: dict[int, Enum] = {}


class Enum:
    """values: of a schema's enum; never changed."""

    def __init__(self, values: list[Any]) -> None:
        self.values = values
        self.texts = frozenset(value for value in values if isinstance(value, str))
        self._floats = frozenset(value for value in values if isinstance(value, float))
        self._integers = frozenset(value for value in values if type(value) is int)
        self._others = frozenset(_key(value) for value in values if isinstance(value, bool | dict | list))

    def __contains__(self, value: Any) -> bool:
        """A number is converted to the enum's kind of number first; null is never in it."""
        if isinstance(value, str):
            return value in self.texts
        if type(value) is int:
            return value in self._integers or (bool(self._floats) and float(value) in self._floats)
        if isinstance(value, float):
            return value in self._floats or (abs(value) < 1 << 63 and int(value) in self._integers)
        return value is not None and bool(self._others) and _key(value) in self._others

    @cached_property
    def shown(self) -> str:
        """As Go's `%v` has the list."""
        return plain(self.values)


def _key(value: Any) -> str:
    """The same for what Go's DeepEqual takes for the same: 1, 1.0 and true differ."""
    return json.dumps(value, sort_keys=True)


def enum_of(values: list[Any]) -> Enum:
    """The last ones asked for are kept: a list of wrong values asks for each of them."""
    found = _kept.get(id(values))
    if found is None or found.values is not values:
        if len(_kept) >= _MOST_KEPT:
            _kept.clear()
        found = _kept[id(values)] = Enum(values)
    return found

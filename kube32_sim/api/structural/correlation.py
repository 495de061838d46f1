"""Which part of an old object a part of the new one comes from, and whether it changed (upstream's CorrelatedObject).

Fields are told by their names, items of lists that are maps by their keys; items of other lists are not told apart.
"""

from __future__ import annotations

from typing import Any

from kube32_sim.api.structural.values import child_of, items_of, same

JsonObject = dict[str, Any]


class Pair:
    """A value, what it was, and its schema."""

    __slots__ = ("_equal", "_old_items", "_schema", "new", "old")

    def __init__(self, schema: JsonObject, new: Any, old: Any) -> None:
        self._schema, self.new, self.old = schema, new, old
        self._equal: bool | None = None
        self._old_items: dict[tuple[Any, ...], Any] | None = None

    def field(self, name: str) -> Pair | None:
        """None: it was not there, or has no schema."""
        new, old = self.new, self.old
        if not isinstance(new, dict) or not isinstance(old, dict) or name not in new or name not in old:
            return None
        schema = child_of(self._schema, name)
        return None if schema is None else Pair(schema, new[name], old[name])

    def item(self, at: int) -> Pair | None:
        """None: nothing in the old list has the same keys, or the list is no map."""
        schema = items_of(self._schema)
        if not self._is_map or schema is None or not isinstance(self.new, list) or not isinstance(self.old, list):
            return None
        if self._old_items is None:
            self._old_items = {}
            for old in self.old:
                if (key := self._key(old)) is not None:
                    self._old_items.setdefault(key, old)
        found = self._old_items.get(self._key(self.new[at]) or ())
        return None if found is None else Pair(schema, self.new[at], found)

    @property
    def _is_map(self) -> bool:
        return self._schema.get("x-kubernetes-list-type") == "map"

    def _key(self, item: Any) -> tuple[Any, ...] | None:
        keys = self._schema.get("x-kubernetes-list-map-keys") or ()
        if not isinstance(item, dict) or any(isinstance(item.get(key), dict | list | None) for key in keys):
            return None
        return tuple((type(item[key]), item[key]) for key in keys)

    @property
    def equal(self) -> bool:
        """Whether nothing changed; a field without a schema is taken for a change."""
        if self._equal is None:
            self._equal = self._compared()
        return self._equal

    def _compared(self) -> bool:
        new, old = self.new, self.old
        if isinstance(new, dict) and isinstance(old, dict):
            return len(new) == len(old) and all(_unchanged(self.field(name)) for name in new)
        if isinstance(new, list) and isinstance(old, list) and self._is_map and new and old:
            return len(new) == len(old) and all(_unchanged(self.item(at)) for at in range(len(new)))
        return same(new, old)


def _unchanged(pair: Pair | None) -> bool:
    return pair is not None and pair.equal

"""Defaults: what fills an object in, and the nulls that go because nothing may be null there."""

from __future__ import annotations

from typing import Any

from kube32_sim.api.jsontext import parts_of
from kube32_sim.api.structural.values import additional, child_of, copied, items_of, must_go

JsonObject = dict[str, Any]


class TooMuch(Exception):
    """An object that would be far too large with its defaults: each of many items gets many."""


class Room:
    """How many values defaults may still add to an object."""

    __slots__ = ("_left",)

    def __init__(self, values: int) -> None:
        self._left = values

    def take(self, values: int) -> None:
        self._left -= values
        if self._left < 0:
            raise TooMuch


def has_defaults(schema: JsonObject) -> bool:
    """Whether anything in a schema has a default, itself included."""
    inside = [*(schema.get("properties") or {}).values(), additional(schema), items_of(schema)]
    return schema.get("default") is not None or any(has_defaults(each) for each in inside if each is not None)


class Defaulter:
    """Fills in what is in a map or list; `defaulter_of` says where there is anything to do."""

    __slots__ = ("_children", "_constants", "_items", "_made", "_more", "_schema")

    def __init__(self, schema: JsonObject) -> None:
        self._schema = schema
        properties = schema.get("properties") or {}
        defaults = {name: each["default"] for name, each in properties.items() if each.get("default") is not None}
        self._constants = [(name, value) for name, value in defaults.items() if not isinstance(value, dict | list)]
        made = ((name, value) for name, value in defaults.items() if isinstance(value, dict | list))
        self._made = [(name, value, parts_of(value)) for name, value in made]
        found = {name: defaulter_of(each) for name, each in properties.items()}
        self._children = [(name, child) for name, child in found.items() if child is not None]
        more, items = additional(schema), items_of(schema)
        self._more = None if more is None else defaulter_of(more)
        self._items = None if items is None else Defaulter(items) if _takes_null(items) else defaulter_of(items)

    @property
    def idle(self) -> bool:
        return not (self._schema.get("properties") or additional(self._schema) is not None or self._items is not None)

    def fill(self, value: Any, room: Room) -> None:
        if type(value) is dict:
            self._fields(value, room)
        elif type(value) is list and self._items is not None:
            self._list(value, room)

    def _fields(self, value: JsonObject, room: Room) -> None:
        if None in value.values():
            self._nulls(value)
        before = len(value)
        for name, default in self._constants:
            if name not in value:
                value[name] = default
        if len(value) > before:
            room.take(len(value) - before)
        for name, default, parts in self._made:
            if name not in value:
                room.take(parts)
                value[name] = copied(default)
        for name, child in self._children:
            item = value.get(name)
            if item.__class__ is dict or item.__class__ is list:
                child.fill(item, room)
        if self._more is not None:
            properties = self._schema.get("properties") or {}
            for name, item in value.items():
                if name not in properties:
                    self._more.fill(item, room)

    def _nulls(self, value: JsonObject) -> None:
        """Drops nulls that may not be there, or puts the default in their place."""
        for name in [name for name, item in value.items() if item is None]:
            child = child_of(self._schema, name)
            if must_go(child):
                del value[name]
            elif child is not None and not child.get("nullable"):
                value[name] = copied(child["default"])

    def _list(self, value: list[Any], room: Room) -> None:
        items = items_of(self._schema) or {}
        for at, item in enumerate(value):
            if item is None and _takes_null(items):
                value[at] = copied(items["default"])
            if self._items is not None:
                self._items.fill(value[at], room)


def _takes_null(schema: JsonObject) -> bool:
    """Whether a null among items becomes the default."""
    return not schema.get("nullable") and schema.get("default") is not None


def defaulter_of(schema: JsonObject) -> Defaulter | None:
    """None: there is nothing to do."""
    made = Defaulter(schema)
    return None if made.idle else made

"""A walk to those values of an object whose schemas are of a wanted kind, and past everything else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kube32_sim.api.structural.values import additional, items_of

JsonObject = dict[str, Any]
Act = Callable[[JsonObject, Any, str], None]
"""What is done with (schema, value, path)."""


def child_path(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


class Visitor:
    """Of one schema; `visitor_of` makes it."""

    __slots__ = ("_children", "_items", "_more", "_properties", "_schema", "_wanted")

    def __init__(self, schema: JsonObject, wanted: Callable[[JsonObject], bool]) -> None:
        self._schema = schema
        self._wanted = wanted(schema)
        self._properties: JsonObject = schema.get("properties") or {}
        found = {name: visitor_of(each, wanted) for name, each in self._properties.items()}
        self._children = [(name, child) for name, child in found.items() if child is not None]
        self._more = visitor_of(additional(schema), wanted)
        self._items = visitor_of(items_of(schema), wanted)

    @property
    def idle(self) -> bool:
        return not (self._wanted or self._children or self._more is not None or self._items is not None)

    def visit(self, value: Any, path: str, act: Act) -> None:
        """The outer value first."""
        if self._wanted:
            act(self._schema, value, path)
        if isinstance(value, dict):
            for name, child in self._children:
                if name in value:
                    child.visit(value[name], child_path(path, name), act)
            if self._more is not None:
                for name in [name for name in value if name not in self._properties]:
                    self._more.visit(value[name], f"{path}[{name}]", act)
        elif isinstance(value, list) and self._items is not None:
            for at, item in enumerate(value):
                self._items.visit(item, f"{path}[{at}]", act)


def visitor_of(schema: JsonObject | None, wanted: Callable[[JsonObject], bool]) -> Visitor | None:
    """None: nothing in the schema is wanted."""
    if schema is None:
        return None
    made = Visitor(schema, wanted)
    return None if made.idle else made

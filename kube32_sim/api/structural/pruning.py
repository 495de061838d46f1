"""Pruning: a new object without what its schema does not know, and without nulls that may not be there.

Pruners of properties are made when first needed.
"""

from __future__ import annotations

from typing import Any

from kube32_sim.api.structural.values import additional, child_of, copied, items_of, kept, must_go, reread

JsonObject = dict[str, Any]
Path = tuple[Any, str | int] | None
"""The path of a value from the inside out: (path of what holds it, name or index)."""

META_FIELDS = frozenset(("apiVersion", "kind", "metadata"))


def path_text(path: Path, name: str) -> str:
    """`spec.items[0].name`."""
    steps = [f".{name}"]
    while path is not None:
        path, step = path
        steps.append(f".{step}" if isinstance(step, str) else f"[{step}]")
    return "".join(reversed(steps)).removeprefix(".")


class Pruner:
    """schema: None where nothing is known.  keeps: keep what the schema does not know, as it is.  root: of an object,
    whose metadata stays the same."""

    __slots__ = ("_children", "_embedded", "_items", "_keeps", "_more", "_properties", "_root", "_schema")

    def __init__(self, schema: JsonObject | None, *, keeps: bool = False, root: bool = False) -> None:
        found = schema or {}
        self._schema = schema
        self._keeps = keeps or bool(found.get("x-kubernetes-preserve-unknown-fields"))
        self._embedded = root or bool(found.get("x-kubernetes-embedded-resource"))
        self._root = root
        self._properties: JsonObject = found.get("properties") or {}
        self._more = found.get("additionalProperties") is not None
        self._children: dict[str, Pruner] = {}
        self._items: Pruner | None = None

    def prune(self, value: Any, unknown: list[str], path: Path) -> Any:
        """A pruned copy of a map or list; adds the paths of what was dropped to `unknown`."""
        if self._keeps and self._schema is None:
            return kept(value)
        return self._fields(value, unknown, path) if type(value) is dict else self._list(value, unknown, path)

    def _fields(self, value: JsonObject, unknown: list[str], path: Path) -> JsonObject:
        made: JsonObject = {}
        properties, embedded = self._properties, self._embedded
        for name, item in value.items():
            if embedded and name in META_FIELDS:
                made[name] = item if self._root else copied(item)
            elif self._more or name in properties:
                kind = type(item)
                if kind is dict or kind is list:
                    child = self._children.get(name) or self._child(name)
                    made[name] = child.prune(item, unknown, (path, name))
                elif kind is float:
                    made[name] = reread(item, child_of(self._schema or {}, name))
                elif item is not None or not must_go(child_of(self._schema or {}, name)):
                    made[name] = item
            elif self._keeps:
                made[name] = kept(item)
            elif path is not None or name not in META_FIELDS:
                unknown.append(path_text(path, name))
        return made

    def _list(self, value: list[Any], unknown: list[str], path: Path) -> list[Any]:
        schema = items_of(self._schema) if self._schema is not None else None
        items = self._items
        if items is None:
            items = self._items = Pruner(schema, keeps=self._keeps)
        made: list[Any] = []
        for at, item in enumerate(value):
            kind = type(item)
            if kind is dict or kind is list:
                made.append(items.prune(item, unknown, (path, at)))
            else:
                made.append(reread(item, schema) if kind is float else item)
        return made

    def _child(self, name: str) -> Pruner:
        """Of a property; all others have one in common, under a name that is none."""
        if name in self._properties:
            child = self._children[name] = Pruner(self._properties[name])
            return child
        rest = self._children.get("")
        if rest is None or "" in self._properties:
            rest = self._children[""] = Pruner(additional(self._schema or {}))
        return rest

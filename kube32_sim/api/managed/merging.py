"""Applying one object to another by their shape: merge, take fields out, and check what is to be applied."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from kube32_sim.api.managed.comparing import child_of, element_of, items_of, kind_of
from kube32_sim.api.managed.fieldset import MEMBER, FieldSet, field, text
from kube32_sim.api.managed.shapes import FREE_SHAPE, KEYED, LEAF, MAP, SET, Shape

JsonObject = dict[str, Any]
_SHOWN = {"number": "numeric (int or float)", "scalar": "any scalar", "": "anything"}
_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "number": (int, float),
    "scalar": (str, int, float, bool),
    "list": (list,),
    "map": (dict,),
    "": (object,),
}


def merged(shape: Shape, live: Any, config: Any) -> Any:
    """`live` with what `config` says: maps and lists with keys item by item, everything else as a whole."""
    kinds = {kind_of(shape, value) for value in (live, config) if value is not None}
    if len(kinds) != 1 or LEAF in kinds or not (live or config):
        return live if config is None else config
    if MAP in kinds:
        return _merged_maps(shape, live or {}, config or {})
    return _merged_lists(shape, live or [], config or [])


def _merged_maps(shape: Shape, live: JsonObject, config: JsonObject) -> JsonObject:
    made = dict(live)
    for name, value in config.items():
        made[name] = merged(child_of(shape, name), live[name], value) if name in live else value
    return made


def _merged_lists(shape: Shape, live: Sequence[Any], config: Sequence[Any]) -> list[Any]:
    """In the order of `config`; items that only the live object has stay behind the one they follow there."""
    item = shape.item or FREE_SHAPE
    there, wanted = items_of(shape, live), items_of(shape, config)
    applied = [(element_of(shape, one), one) for one in config]
    shared = [element for element, _ in applied if element in there]
    made: list[Any] = []
    done: set[str | None] = set()
    left = right = 0

    def take() -> None:
        nonlocal right
        element, value = applied[right]
        found = there.get(element or "", [])
        made.append(merged(item, found[0], value) if len(found) == 1 and len(wanted[element or ""]) == 1 else value)
        done.add(element)
        if shared and shared[0] == element:
            shared.pop(0)
        right += 1

    while left < len(live) or right < len(applied):
        if left < len(live):
            element = element_of(shape, live[left])
            if element not in wanted:
                made.append(live[left])
                left += 1
                continue
            if element in done:
                left += 1
                continue
            if right < len(applied) and applied[right][0] != element and shared and shared[0] != element:
                left += 1  # an item of both, whose turn comes later
                continue
        if right < len(applied):
            take()
        else:
            left += 1
    return made


def removed(shape: Shape, value: Any, fields: FieldSet) -> Any:
    """A map or list without the fields of a set; None where nothing is left of it."""
    kind = kind_of(shape, value)
    if not value:
        return value
    if kind == MAP:
        return _fields_left(shape, value, fields) or None
    if kind in (KEYED, SET):
        return _items_left(shape, value, fields) or None
    return value


def _goes(node: FieldSet) -> bool:
    return not node or MEMBER in node


def _fields_left(shape: Shape, value: JsonObject, fields: FieldSet) -> JsonObject:
    made = {}
    for name, item in value.items():
        node = fields.get(field(name))
        if node is None:
            made[name] = item
        elif not _goes(node):
            made[name] = removed(child_of(shape, name), item, node)
    return made


def _items_left(shape: Shape, value: Sequence[Any], fields: FieldSet) -> list[Any]:
    made = []
    for item in value:
        node = fields.get(element_of(shape, item) or "")
        if node is None:
            made.append(item)
        elif not _goes(node):
            made.append(removed(shape.item or FREE_SHAPE, item, node))
    return made


def faults(shape: Shape, value: Any, path: str = "") -> list[str]:
    """Why a value cannot be applied: fields that the schema has not, values of another type, items that repeat."""
    if value is None:
        return []
    kind = shape.kind
    if kind == LEAF:
        return _leaf_faults(shape.expects, value, path)
    if kind == MAP:
        if not isinstance(value, dict):
            return [_at(path, f"expected map, got {_go_type(value)}")]
        return [fault for name, item in value.items() for fault in _field_faults(shape, name, item, path)]
    if kind in (KEYED, SET):
        if not isinstance(value, list):
            return [_at(path, f"expected list, got {_go_type(value)}")]
        return _list_faults(shape, value, path)
    return []


def _at(path: str, why: str) -> str:
    return f"{path or '.'}: {why}"


def _field_faults(shape: Shape, name: str, value: Any, path: str) -> list[str]:
    child, path = shape.child(name), f"{path}.{name}"
    return [_at(path, "field not declared in schema")] if child is None else faults(child, value, path)


def _leaf_faults(expects: str, value: Any, path: str) -> list[str]:
    fits = isinstance(value, _TYPES[expects]) and not (expects == "number" and isinstance(value, bool))
    if fits:
        return []
    shown = _go_type(value) if expects in ("number", "list", "map") else _go_value(value)
    return [_at(path, f"expected {_SHOWN.get(expects, expects)}, got {shown}")]


def _list_faults(shape: Shape, values: Sequence[Any], path: str) -> list[str]:
    found: list[str] = []
    seen: set[str] = set()
    item = shape.item or FREE_SHAPE
    for index, value in enumerate(values):
        if value is None or (shape.kind == KEYED and not isinstance(value, dict)):
            found.append(_at(path, f"element {index}: associative list with keys may not have non-map elements"))
            continue
        if shape.kind == SET and isinstance(value, list | dict):
            found.append(_at(path, f"element {index}: sets can't have list or map elements"))
            continue
        element = element_of(shape, value)
        if element is None:
            named = ", ".join(f'"{name}"' for name in shape.keys)
            why = f"an element that omits key field {named} (and doesn't have default value)"
            found.append(_at(path, f"element {index}: associative list with keys has {why}"))
            continue
        shown = text((element,))
        if element in seen:
            found.append(_at(path, f"duplicate entries for key {shown}"))
        seen.add(element)
        found += faults(item, value, path + shown)
    return found


def _go_type(value: Any) -> str:
    names = {bool: "bool", str: "string", int: "int64", float: "float64", list: "[]interface {}"}
    return names.get(type(value), "map[string]interface {}")


def _go_value(value: Any) -> str:
    if isinstance(value, str):
        return value
    return orjson.dumps(value).decode()

"""Checking a configuration against the shape of what it is to be applied to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kube32_sim.api.managed import gotext
from kube32_sim.api.managed.comparing import element_of
from kube32_sim.api.managed.fieldset import text
from kube32_sim.api.managed.shapes import FREE_SHAPE, KEYED, MAP, SET, Shape

JsonObject = dict[str, Any]
_SCALARS: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "number": (int, float),
    "scalar": (str, int, float, bool),
}


def faults(shape: Shape, value: Any, path: str = "") -> list[str]:
    """Why a value cannot be applied: fields that the schema has not, values of another type, items that repeat.

    As upstream tells it: of a map up to the first field that is unknown, of a list up to the first item without keys.
    """
    if value is None:
        return []
    if shape.kind == MAP or shape.expects == "map":
        return _map_faults(shape, value, path)
    if shape.kind in (KEYED, SET) or shape.expects == "list":
        return _list_faults(shape, value, path)
    return _scalar_faults(shape.expects, value, path) if shape.expects else []


def _at(path: str, why: str) -> str:
    return f"{path}: {why}" if path else why


def _map_faults(shape: Shape, value: Any, path: str) -> list[str]:
    if not isinstance(value, dict):
        return [_at(path, f"expected map, got &{{{gotext.plain(value)}}}")]
    found: list[str] = []
    for name, item in value.items():
        child, inside = shape.child(name), f"{path}.{name}"
        if child is None:
            return [*found, _at(inside, "field not declared in schema")]
        found += faults(child, item, inside)
    return found


def _scalar_faults(expects: str, value: Any, path: str) -> list[str]:
    if isinstance(value, _SCALARS[expects]) and not (expects == "number" and isinstance(value, bool)):
        return []
    if expects == "number":
        return [_at(path, f"expected numeric (int or float), got {gotext.type_name(value)}")]
    if expects == "string":
        return [_at(path, f"expected string, got &value.valueUnstructured{{Value:{gotext.syntax(value)}}}")]
    what = "any scalar" if expects == "scalar" else expects
    return [_at(path, f"expected {what}, got &{{{gotext.plain(value)}}}")]


def _list_faults(shape: Shape, values: Any, path: str) -> list[str]:
    if not isinstance(values, list):
        return [_at(path, f"expected list, got &{{{gotext.plain(values)}}}")]
    if shape.kind not in (KEYED, SET):
        return _item_faults(shape, values, path)
    found: list[str] = []
    seen: set[str] = set()
    for index, value in enumerate(values):
        why = _not_an_item(shape, value)
        element = element_of(shape, value) if why is None else None
        if element is None:
            return [*found, _at(path, f"element {index}: {why or _without_keys(shape)}")]
        shown = text((element,))
        if element in seen:
            found.append(_at(path, f"duplicate entries for key {shown}"))
        seen.add(element)
        found += faults(shape.item or FREE_SHAPE, value, path + shown)
    return found


def _item_faults(shape: Shape, values: Sequence[Any], path: str) -> list[str]:
    item = shape.item or FREE_SHAPE
    return [fault for index, value in enumerate(values) for fault in faults(item, value, f"{path}[{index}]")]


def _not_an_item(shape: Shape, value: Any) -> str | None:
    if shape.kind == KEYED:
        if value is None:
            return "associative list with keys may not have a null element"
        return None if isinstance(value, dict) else "associative list with keys may not have non-map elements"
    if isinstance(value, dict):
        return "associative list without keys has an element that's a map type"
    if isinstance(value, list):
        return "not supported: associative list with lists as elements"
    return "associative list without keys has an element that's an explicit null" if value is None else None


def _without_keys(shape: Shape) -> str:
    named = " ".join(f'"{name}"' for name in shape.keys)
    what = f"an element that omits all key fields [{named}]"
    return f"associative list with keys has {what} (and doesn't have default values for any key fields)"

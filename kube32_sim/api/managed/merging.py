"""Applying one object to another by their shape: merge, and take fields out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kube32_sim.api.managed.comparing import child_of, element_of, items_of, kind_of
from kube32_sim.api.managed.fieldset import MEMBER, FieldSet, field
from kube32_sim.api.managed.shapes import FREE_SHAPE, KEYED, LEAF, MAP, SET, Shape

JsonObject = dict[str, Any]


def merged(shape: Shape, live: Any, config: Any) -> Any:
    """`live` with what `config` says: maps and lists with keys item by item, everything else as a whole.

    Null says nothing of a map or list whose fields or items are managed by themselves, and is a value elsewhere.
    """
    if config is None:
        return live if live and kind_of(shape, live) != LEAF else None
    kinds = {kind_of(shape, value) for value in (live, config) if value is not None}
    if len(kinds) != 1 or LEAF in kinds or not (live or config):
        return config
    if MAP in kinds:
        return _merged_maps(shape, live or {}, config)
    return _merged_lists(shape, live or [], config)


def _merged_maps(shape: Shape, live: JsonObject, config: JsonObject) -> JsonObject:
    made = dict(live)
    for name, value in config.items():
        made[name] = merged(child_of(shape, name), live[name], value) if name in live else value
    return made


def _merged_lists(shape: Shape, live: Sequence[Any], config: Sequence[Any]) -> list[Any]:
    """In the order of `config`; items that only the live object has stay behind the one they follow there.

    An item that the live list repeats counts for nothing: what is applied takes the place of all.
    """
    there = items_of(shape, live)
    ours, theirs = ([element_of(shape, one) for one in values] for values in (config, live))
    wanted, done = set(ours), set[str | None]()
    shared = [element for element in reversed(ours) if element in there]
    made: list[Any] = []
    left = right = 0
    while left < len(theirs) or right < len(ours):
        element = theirs[left] if left < len(theirs) else None
        turn = ours[right] if right < len(ours) else None
        if left < len(theirs) and element not in wanted:
            made.append(live[left])
            left += 1
            continue
        if element != turn and None not in (element, turn) and shared and shared[-1] != element:
            left += 1  # an item of both, whose turn comes later
            continue
        if element is not None and (element == turn or element in done):
            left += 1
        if turn is not None:
            found = there.get(turn, ())
            value = config[right]
            made.append(merged(shape.item or FREE_SHAPE, found[0], value) if len(found) == 1 else value)
            done.add(turn)
            right += 1
            if shared and shared[-1] == turn:
                shared.pop()
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
    return None if isinstance(value, list | dict) else value


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

"""Which fields an object has, and in which two objects differ, by their shape.

Absent is not null: a field that comes or goes counts with everything in it, a list or map that merely fills or empties
only with what comes or goes in it.
"""

from __future__ import annotations

from typing import Any

from kube32_sim.api.managed.fieldset import MEMBER, NOTHING, FieldSet, field, key_item, value_item
from kube32_sim.api.managed.shapes import FREE, FREE_SHAPE, KEYED, LEAF, MAP, SET, Shape

JsonObject = dict[str, Any]
Items = dict[str, list[Any]]
_PLAIN = frozenset((str, int))
"""Classes of key values by which elements are remembered: of others, one equals another that is written otherwise."""
ELEMENTS = 1024
"""How many elements a list's shape remembers."""
_ABSENT = object()
_NO_FIELDS: dict[str, tuple[str, Shape]] = {}


def element_of(shape: Shape, item: Any) -> str | None:
    """The path element of a list's item; None where it has nothing that tells it from others."""
    if shape.kind == SET:
        return value_item(item)
    if not isinstance(item, dict):
        return None
    names = shape.keys
    known: Any = item.get(names[0]) if len(names) == 1 else tuple(map(item.get, names))
    if known.__class__ is str or (known.__class__ is tuple and _PLAIN.issuperset(map(type, known))):
        found = shape.elements.get(known)
        if found is not None:
            return found
        made = _element(shape, item)
        if made is not None:
            if len(shape.elements) >= ELEMENTS:
                shape.elements.clear()
            shape.elements[known] = made
        return made
    return _element(shape, item)


def _element(shape: Shape, item: JsonObject) -> str | None:
    keys = {name: item[name] for name in shape.keys if name in item}
    for name, default in shape.defaults.items():
        keys.setdefault(name, default)
    return key_item(keys) if keys else None


def items_of(shape: Shape, values: Any) -> Items:
    """Path element -> the items of a list that it stands for: more than one where the list repeats itself."""
    found: Items = {}
    for item in values or ():
        element = element_of(shape, item)
        if element is not None:
            found.setdefault(element, []).append(item)
    return found


def _single_items(shape: Shape, values: Any) -> dict[str, Any] | None:
    """Path element -> item; None where the list repeats itself."""
    found: dict[str, Any] = {}
    for item in values or ():
        element = element_of(shape, item)
        if element is None or element in found:
            return None
        found[element] = item
    return found


def kind_of(shape: Shape, value: Any) -> int:
    """The kind by which a value is walked: that of its shape, where it is what its shape says."""
    kind = shape.kind
    if kind == FREE:
        return MAP if isinstance(value, dict) else LEAF
    if kind == MAP:
        return MAP if isinstance(value, dict) else LEAF
    if kind in (KEYED, SET):
        return kind if isinstance(value, list) else LEAF
    return kind


def child_of(shape: Shape, name: str) -> Shape:
    """What is under a name in a map; what nobody foresaw is free."""
    return (shape.child(name) if shape.kind == MAP else None) or FREE_SHAPE


def present(shape: Shape, value: Any) -> FieldSet:
    """Everything in a value that came or went as a whole, as what is below its path element; `{}`: it alone."""
    if not value:
        return NOTHING
    kind = kind_of(shape, value)
    if kind == LEAF:
        return NOTHING
    made: FieldSet = {MEMBER: NOTHING}
    if kind == MAP:
        fields = shape.fields if shape.kind == MAP else {}
        if not fields and shape.item is not None and shape.item.kind == LEAF:
            return made | {"f:" + name: NOTHING for name in value}
        for name, item in value.items():
            entry = fields.get(name)
            if entry is None:
                made[field(name)] = present(shape.item or FREE_SHAPE, item)
            elif entry[1].kind == LEAF:
                made[entry[0]] = NOTHING
            else:
                made[entry[0]] = present(entry[1], item)
        return made
    for element, items in items_of(shape, value).items():
        made[element] = present(shape.item or FREE_SHAPE, items[0]) if len(items) == 1 else NOTHING
    return made if len(made) > 1 else NOTHING


def compared(shape: Shape, old: Any, new: Any) -> tuple[FieldSet, FieldSet]:
    """(what is new or another in the second of two lists or maps, what only the first has), below their path."""
    changed: FieldSet = {}
    removed: FieldSet = {}
    if isinstance(new, dict) or isinstance(old, dict):
        _compare_maps(shape, old or {}, new or {}, changed, removed)
    else:
        _compare_lists(shape, old, new, changed, removed)
    return changed, removed


def _compare_maps(shape: Shape, old: JsonObject, new: JsonObject, changed: FieldSet, removed: FieldSet) -> None:
    fields = shape.fields if shape.kind == MAP else _NO_FIELDS
    for name, value in new.items():
        before = old.get(name, _ABSENT)
        if before is value or before == value:
            continue
        element, child = fields.get(name) or ("f:" + name, child_of(shape, name))
        if before is _ABSENT:
            changed[element] = present(child, value)
        elif child.kind == LEAF:
            changed[element] = NOTHING
        else:
            _compare(child, element, before, value, changed, removed)
    for name, value in old.items():
        if name not in new:
            removed[field(name)] = present(child_of(shape, name), value)


def _compare_lists(shape: Shape, old: Any, new: Any, changed: FieldSet, removed: FieldSet) -> None:
    before, after = _single_items(shape, old), _single_items(shape, new)
    if before is None or after is None:
        _compare_repeated(shape, items_of(shape, old), items_of(shape, new), changed, removed)
        return
    item = shape.item or FREE_SHAPE
    for element, value in after.items():
        there = before.get(element, _ABSENT)
        if there is _ABSENT:
            changed[element] = present(item, value)
        elif there is not value and there != value:
            _compare(item, element, there, value, changed, removed)
    for element, value in before.items():
        if element not in after:
            removed[element] = present(item, value)


def _compare_repeated(shape: Shape, old: Items, new: Items, changed: FieldSet, removed: FieldSet) -> None:
    """Lists of which one repeats itself: items of the same element are one, which changes as a whole."""
    item = shape.item or FREE_SHAPE
    for element, there in new.items():
        before = old.get(element, [])
        if len(before) <= 1 and len(there) == 1:
            if not before:
                changed[element] = present(item, there[0])
            elif before[0] != there[0]:
                _compare(item, element, before[0], there[0], changed, removed)
        elif len(there) == 1:
            changed[element] = present(item, there[0])
            removed[element] = NOTHING
        elif before != there:
            changed[element] = NOTHING
            if len(before) == 1:
                removed[element] = present(item, before[0])
    for element, before in old.items():
        if element not in new:
            removed[element] = present(item, before[0]) if len(before) == 1 else NOTHING


def _compare(shape: Shape, element: str, old: Any, new: Any, changed: FieldSet, removed: FieldSet) -> None:
    """Two values that are not the same."""
    kinds = {kind_of(shape, value) for value in (old, new) if value is not None}
    if len(kinds) != 1 or LEAF in kinds or not (old or new):
        changed[element] = NOTHING
        if len(kinds) == 2:
            _turned(shape, element, old, new, changed, removed)
        return
    more, less = compared(shape, old, new)
    if more:
        changed[element] = more
    if less:
        removed[element] = less


def _turned(shape: Shape, element: str, old: Any, new: Any, changed: FieldSet, removed: FieldSet) -> None:
    """What was in a map that became something else is gone, what is in one that came of something else is new."""
    if kind_of(shape, new) == MAP:
        changed[element] = present(shape, new)
    elif kind_of(shape, old) == MAP and old:
        removed[element] = {name: node for name, node in present(shape, old).items() if name != MEMBER}


def owned(shape: Shape, value: Any) -> FieldSet:
    """The fields that an applied list or map says something about, below its path."""
    made: FieldSet = {}
    if isinstance(value, dict):
        for name, item in value.items():
            named = shape.kind == MAP and name in shape.fields
            node = _owned_below(child_of(shape, name), item, member=item is None or item == {} or not named)
            if node is not None:
                made[field(name)] = node
        return made
    for element, items in items_of(shape, value).items():
        node = _owned_below(shape.item or FREE_SHAPE, items[0], member=True) if len(items) == 1 else None
        made[element] = NOTHING if node is None else node
    return made


def _owned_below(shape: Shape, value: Any, *, member: bool) -> FieldSet | None:
    if kind_of(shape, value) == LEAF:
        return NOTHING
    node = owned(shape, value)
    if not node:
        return NOTHING if member else None
    return {MEMBER: NOTHING, **node} if member else node


def with_structs(shape: Shape, fields: FieldSet) -> FieldSet:
    """The set, and of what it holds something of, the fields of structs themselves."""
    made: FieldSet = {}
    for element, node in fields.items():
        if not node:
            made[element] = node
            continue
        inner, named = FREE_SHAPE, False
        if element[:2] == "f:":
            name = element[2:]
            inner, named = child_of(shape, name), shape.kind == MAP and name in shape.fields
        elif shape.kind == KEYED and shape.item is not None:
            inner = shape.item
        made[element] = {MEMBER: NOTHING} if named else {}
        made[element] |= with_structs(inner, node)
    return made

"""Sets of fields of an object, in the form that FieldsV1 has as JSON.

A set is a dict from path elements to what is in the set below them: `f:NAME` is a field, `k:{…}` the item of a list
with those keys, `v:…` the item of a set, `i:N` the item of that index.  An element with nothing below it is a member;
one with something below is a member only if that has an entry `.`:

    {"f:spec": {"f:ports": {"k:{\"port\":80}": {".": {}, "f:port": {}}}}}

holds the item and its port, and neither the list nor the spec.  Sets are never changed: what they share stays shared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import orjson

FieldSet = dict[str, Any]

MEMBER = "."
NOTHING: FieldSet = {}
Path = tuple[str, ...]
_KINDS = MEMBER + "fkvi"


def field(name: str) -> str:
    return "f:" + name


def value_item(value: Any) -> str:
    return "v:" + orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()


def key_item(keys: dict[str, Any]) -> str:
    return "k:" + orjson.dumps(keys, option=orjson.OPT_SORT_KEYS).decode()


def below(node: FieldSet) -> FieldSet:
    """What an element stands for: itself where nothing is below it."""
    return node or {MEMBER: NOTHING}


def _folded(node: FieldSet) -> FieldSet:
    return NOTHING if len(node) == 1 and MEMBER in node else node


def union(one: FieldSet, other: FieldSet) -> FieldSet:
    if not one or not other or one is other:
        return one or other
    made = dict(one)
    for element, node in other.items():
        mine = made.get(element)
        made[element] = node if mine is None else _folded(_union_below(mine, node))
    return made


def _union_below(one: FieldSet, other: FieldSet) -> FieldSet:
    return one if one == other else union(below(one), below(other))


def difference(one: FieldSet, other: FieldSet) -> FieldSet:
    """What is in the first and not in the second; an element does not take along what is below it."""
    if not other or not one:
        return one
    made, changed = {}, False
    for element, node in one.items():
        away = other.get(element)
        if away is None:
            made[element] = node
            continue
        left = difference(below(node), below(away)) if element != MEMBER else NOTHING
        changed = changed or left != below(node)
        if left:
            made[element] = _folded(left)
    return made if changed else one


def without(one: FieldSet, other: FieldSet) -> FieldSet:
    """The first without the members of the second and everything below these."""
    if not other or not one:
        return one
    made = {}
    for element, node in one.items():
        away = other.get(element)
        if away is None:
            made[element] = node
        elif away and MEMBER not in away:
            left = without(below(node), away)
            if left:
                made[element] = _folded(left)
    return made


def intersection(one: FieldSet, other: FieldSet) -> FieldSet:
    made = {}
    for element, node in one.items():
        there = other.get(element)
        if there is None:
            continue
        both = {MEMBER: NOTHING} if element == MEMBER else intersection(below(node), below(there))
        if both:
            made[element] = _folded(both)
    return made


def has(one: FieldSet, path: Path) -> bool:
    node = one
    for element in path:
        found = node.get(element)
        if found is None:
            return False
        node = found
    return not node or MEMBER in node


def single(path: Path) -> FieldSet:
    made: FieldSet = NOTHING
    for element in reversed(path):
        made = {element: made}
    return made


def ordered(one: FieldSet) -> FieldSet:
    """The same set with its elements in the order in which FieldsV1 is written."""
    made = {}
    for element in _sorted(one):
        node = one[element]
        made[element] = ordered(node) if node else node
    return made


def _sorted(one: FieldSet) -> list[str]:
    """`.`, fields, items by keys, items by value (which is how the texts sort), items by index."""
    elements = sorted(one)
    if elements and elements[-1][0] != "f":
        elements.sort(key=_order)
    return elements


def _order(element: str) -> tuple[int, int]:
    kind = element[0]
    return (_KINDS.index(kind), int(element[2:]) if kind == "i" else 0)


def paths(one: FieldSet, prefix: Path = ()) -> Iterator[Path]:
    """The members: those of a level before those below it."""
    elements = [element for element in _sorted(one) if element != MEMBER]
    for element in elements:
        if not one[element] or MEMBER in one[element]:
            yield (*prefix, element)
    for element in elements:
        yield from paths(one[element], (*prefix, element))


def text(path: Path) -> str:
    """A path as messages show it: `.spec.ports[port=80,protocol="TCP"].name`, `.metadata.finalizers[="x"]`."""
    return "".join(map(_shown, path))


def _shown(element: str) -> str:
    kind, value = element[0], element[2:]
    if kind == "f":
        return "." + value
    if kind == "v":
        return f"[={value}]"
    if kind == "i":
        return f"[{value}]"
    keys = orjson.loads(value)
    return "[" + ",".join(f"{name}={orjson.dumps(given).decode()}" for name, given in sorted(keys.items())) + "]"


def checked(value: Any) -> FieldSet | None:
    """A FieldsV1 from outside as a set; None where it is none."""
    if not isinstance(value, dict):
        return None
    for element, node in value.items():
        if element == MEMBER:
            if node != {}:
                return None
        elif not _readable(element) or checked(node) is None:
            return None
    return value


def _readable(element: str) -> bool:
    reader = _READERS.get(element[:2])
    try:
        return reader is not None and reader(element[2:])
    except ValueError:
        return False


_READERS: dict[str, Callable[[str], bool]] = {
    "f:": lambda text: True,
    "k:": lambda text: isinstance(orjson.loads(text), dict),
    "v:": lambda text: orjson.loads(text) is not ...,
    "i:": lambda text: text.isascii() and text.isdigit(),
}

"""Sets of fields of an object, in the form that FieldsV1 has as JSON.

A set is a dict from path elements to what is in the set below them: `f:NAME` is a field, `k:{…}` the item of a list
with those keys, `v:…` the item of a set, `i:N` the item of that index.  An element with nothing below it is a member;
one with something below is a member only if that has an entry `.`:

    {"f:spec": {"f:ports": {"k:{\"port\":80}": {".": {}, "f:port": {}}}}}

holds the item and its port, and neither the list nor the spec.  Sets are never changed: what they share stays shared.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import orjson

from kube32_sim.api.managed import gotext

FieldSet = dict[str, Any]

MEMBER = "."
NOTHING: FieldSet = {}
_ITSELF: FieldSet = {MEMBER: NOTHING}
Path = tuple[str, ...]
_INDEX = re.compile("[+-]?[0-9]{1,18}", re.ASCII)
_HTML = re.compile("[<>&\u2028\u2029]")
ORDERS = 4096
"""How many elements' places among others are remembered."""


def field(name: str) -> str:
    return "f:" + name


def value_item(value: Any) -> str:
    return "v:" + _json(_whole(value))


def key_item(keys: dict[str, Any]) -> str:
    for value in keys.values():
        if value.__class__ is float:
            return "k:" + _json({name: _whole(given) for name, given in keys.items()})
    return "k:" + _json(keys)


def _whole(value: Any) -> Any:
    """2.0 is the item that 2 is."""
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 1e21 else value


def _json(value: Any) -> str:
    """As upstream writes it into an element: what HTML would take for its own is escaped."""
    try:
        text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    except TypeError:  # a number, or a text, that orjson does not know how to write
        text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return _HTML.sub(lambda found: f"\\u{ord(found[0]):04x}", text) if _HTML.search(text) else text


def below(node: FieldSet) -> FieldSet:
    """What an element stands for: itself where nothing is below it."""
    return node or {MEMBER: NOTHING}


def _folded(node: FieldSet) -> FieldSet:
    return NOTHING if len(node) == 1 and MEMBER in node else node


def union(one: FieldSet, other: FieldSet) -> FieldSet:
    """The first itself where the other adds nothing."""
    if not one or not other or one is other:
        return one or other
    made: FieldSet | None = None
    for element, node in other.items():
        mine = one.get(element)
        both = node if mine is None else _union_below(mine, node)
        if both is not mine:
            if made is None:
                made = dict(one)
            made[element] = both
    return one if made is None else made


def _union_below(one: FieldSet, other: FieldSet) -> FieldSet:
    if one and other:
        return union(one, other)
    if not other:
        return one if not one or MEMBER in one else {MEMBER: NOTHING, **one}
    return other if MEMBER in other else {MEMBER: NOTHING, **other}


def difference(one: FieldSet, other: FieldSet) -> FieldSet:
    """What is in the first and not in the second; an element does not take along what is below it.

    The first itself where nothing of it is in the second.
    """
    if not one or not other:
        return one
    made: FieldSet | None = None
    for element, away in other.items():
        node = one.get(element)
        if node is None:
            continue
        left = None if element == MEMBER else _difference_below(node, away)
        if left is node:
            continue
        if made is None:
            made = dict(one)
        if left is None:
            del made[element]
        else:
            made[element] = left
    return one if made is None else made


def _difference_below(node: FieldSet, away: FieldSet) -> FieldSet | None:
    """None where nothing is left."""
    if not node:
        return node if away and MEMBER not in away else None
    left = difference(node, away or _ITSELF)
    return left if left is node else _folded(left) if left else None


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


def within(one: FieldSet, pattern: FieldSet) -> FieldSet:
    """What a pattern leaves of a set: the elements that it names, all where it says `*`, everything below its ends."""
    if not pattern:
        return one
    made: FieldSet = {}
    for element, node in one.items():
        there = {} if element == MEMBER else pattern.get(element, pattern.get("*"))
        left = within(below(node), there) if there is not None else NOTHING
        if left:
            made[element] = _folded(left)
    return made


def intersection(one: FieldSet, other: FieldSet) -> FieldSet:
    made: FieldSet = {}
    fewer, more = (one, other) if len(one) < len(other) else (other, one)
    for element, node in fewer.items():
        there = more.get(element)
        if there is None:
            continue
        if element == MEMBER or not (node or there):
            made[element] = NOTHING
            continue
        both = intersection(node or _ITSELF, there or _ITSELF)
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
    """`.`, fields, items by keys, items by value, items by index; numbers as such, and before texts."""
    elements = sorted(one)
    if len(elements) > 1 and elements[-1][0] != "f":
        elements.sort(key=_order)
    return elements


@lru_cache(maxsize=ORDERS)
def _order(element: str) -> tuple[Any, ...]:
    kind, value = element[0], element[2:]
    if kind == "k":
        keys = _loads(value)
        if len(keys) == 1:
            ((name, given),) = keys.items()
            return (2, ((name, _rank(given)),))
        return (2, tuple((name, _rank(given)) for name, given in sorted(keys.items())))
    if kind == "v":
        return (3, _rank(json.loads(value)))
    if kind == "i":
        return (4, int(value))
    return (int(kind == "f"), value)


def _loads(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:  # which takes less than Go does
        return json.loads(text)


def _rank(value: Any) -> tuple[int, Any]:
    """The place of a value among all values: numbers, texts, true and false, lists, maps, null."""
    if isinstance(value, bool):
        return (2, value)
    if isinstance(value, int | float):
        return (0, value)
    if isinstance(value, str):
        return (1, value)
    return (3 if isinstance(value, list) else 4 if value is not None else 5, _json(value))


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
    if kind == "i":
        return f"[{value}]"
    given = json.loads(value)
    if kind == "v":
        return f"[={_shown_value(given)}]"
    return "[" + ",".join(f"{name}={_shown_value(item)}" for name, item in sorted(given.items())) + "]"


def _shown_value(value: Any) -> str:
    if isinstance(value, str):
        return gotext.quoted(value)
    if isinstance(value, list):
        return "[" + ",".join(map(_shown_value, value)) + "]"
    if isinstance(value, dict):
        return "".join(f"{name}={_shown_value(item)}" for name, item in value.items())
    return "null" if value is None else gotext.plain(value)


def read(value: Any) -> FieldSet | None:
    """A FieldsV1 from outside as a set, its elements as they are written here; None where it is none.

    Elements of kinds that nobody knows are left out (as upstream: a later version may know them).
    """
    try:
        made = _read(value)
    except ValueError:
        return None
    made.pop(MEMBER, None)
    return made


def _read(value: Any) -> FieldSet:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ValueError("no map")
    made: FieldSet = {}
    for element, node in value.items():
        if element == MEMBER:
            made[MEMBER] = NOTHING
            continue
        known = _element(element)
        if known is not None:
            made[known] = _folded(_read(node))
    return made


def _element(text: str) -> str | None:
    """A path element as it is written here; None where it is of no known kind.  Raises ValueError."""
    kind, value = text[:2], text[2:]
    if kind[1:] != ":":
        raise ValueError("no kind")
    if kind == "f:":
        return text
    if kind == "v:":
        return value_item(orjson.loads(value))
    if kind == "k:":
        keys = orjson.loads(value)
        if not isinstance(keys, dict):
            raise ValueError("no keys")
        return key_item(keys)
    if kind == "i:":
        if not _INDEX.fullmatch(value):
            raise ValueError("no index")
        return f"i:{int(value)}"
    return None

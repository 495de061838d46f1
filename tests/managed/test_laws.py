"""Laws of comparing, merging and applying, over documents of every shape."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kube32_sim.api.managed.applying import Conflict, applied
from kube32_sim.api.managed.checking import faults
from kube32_sim.api.managed.comparing import compared, owned, with_structs
from kube32_sim.api.managed.entries import Manager, Owners
from kube32_sim.api.managed.fieldset import difference, intersection, ordered, paths, read, union
from kube32_sim.api.managed.merging import merged, removed
from kube32_sim.api.managed.reconciling import reconciled
from kube32_sim.api.managed.resets import Told
from kube32_sim.api.managed.shapes import FREE, KEYED, MAP, SET, Shape, shape_of
from kube32_sim.api.managed.tracking import Write, updated
from tests.properties.making import trying

TEXT = {"type": "string"}
TEXTS = {"type": "object", "additionalProperties": TEXT}
NAMES = {"type": "array", "x-kubernetes-list-type": "set", "items": TEXT}
ITEM = {"type": "object", "properties": {"k": TEXT, "p": {**TEXT, "default": "T"}, "v": TEXT, "m": TEXTS, "s": NAMES}}
KEYS = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k", "p"]}
SHAPE = shape_of(
    {
        "type": "object",
        "properties": {
            "text": TEXT,
            "number": {"type": "integer"},
            "whole": {"type": "array", "items": TEXT},
            "wholeMap": {**TEXTS, "x-kubernetes-map-type": "atomic"},
            "map": TEXTS,
            "set": NAMES,
            "struct": {"type": "object", "properties": {"a": TEXT, "b": {"type": "object", "properties": {"c": TEXT}}}},
            "items": {"type": "array", "items": ITEM, **KEYS},
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
    }
)

letters = st.sampled_from("abc")
anything = st.recursive(
    letters | st.integers(2, 3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(letters, inner, max_size=2),
    max_leaves=4,
)


def values(shape: Shape) -> st.SearchStrategy[Any]:
    """Values of a shape, in which no item of a list comes twice."""
    if shape.kind == FREE:
        return anything
    if shape.kind == MAP or shape.expects == "map":
        if shape.fields:
            return st.fixed_dictionaries({}, optional={name: values(part) for name, (_, part) in shape.fields.items()})
        return st.dictionaries(letters, values(shape.item or shape), max_size=3)
    if shape.kind == SET:
        return st.lists(letters, max_size=3, unique=True)
    if shape.kind == KEYED and shape.item is not None:
        named = st.builds(lambda item, name: {**item, "k": name}, values(shape.item), letters)
        return st.lists(named, max_size=3, unique_by=lambda item: (item["k"], item.get("p", "T")))
    if shape.expects == "list":
        return st.lists(letters, max_size=2)
    return letters if shape.expects == "string" else st.integers(0, 1)


documents = values(SHAPE)


class OneVersion:
    def shape(self, version: str) -> Shape:
        return SHAPE

    def convert(self, obj: Any, source: str, target: str) -> Any:
        return obj


def write(manager: str) -> Write:
    return Write(manager, "", "now", "v1", SHAPE, Told({}), OneVersion())


@trying(150)
@given(documents, documents)
def test_what_differs(old, new):
    assert compared(SHAPE, old, json.loads(json.dumps(old))) == ({}, {})
    changed, gone = compared(SHAPE, old, new)
    back, lost = compared(SHAPE, new, old)
    assert set(paths(gone)) <= set(paths(back))
    assert set(paths(lost)) <= set(paths(changed))
    assert all(read(fields) == fields == ordered(fields) for fields in (changed, gone, back, lost))


@trying(150)
@given(documents, documents)
def test_what_is_merged_says_all_that_the_configuration_says(live, config):
    assert faults(SHAPE, config) == []
    made = merged(SHAPE, live, config)
    assert merged(SHAPE, made, config) == made
    assert merged(SHAPE, made, {}) == made
    assert merged(SHAPE, {}, config) == config
    said = owned(SHAPE, config)
    assert difference(said, owned(SHAPE, made)) == {} or any(value == {} for value in _maps(config))
    changed, gone = compared(SHAPE, live, made)
    assert difference(with_structs(SHAPE, changed), with_structs(SHAPE, union(said, changed))) == {}
    assert all(path[0] == "f:free" for path in paths(gone)), "only what turns into something else loses what was in it"


def _maps(value: Any) -> list[Any]:
    below = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [value, *(found for item in below for found in _maps(item))]


@trying(150)
@given(documents)
def test_without_all_that_it_says_nothing_is_left(value):
    left = removed(SHAPE, value, with_structs(SHAPE, owned(SHAPE, value)))
    assert owned(SHAPE, left or {}) == {}
    assert removed(SHAPE, value, {}) == value
    said = owned(SHAPE, value)
    assert reconciled(SHAPE, said) is said


steps = st.lists(st.tuples(st.sampled_from("ABC"), st.booleans(), documents), min_size=1, max_size=6)


@trying(150)
@given(steps, documents)
def test_histories(history, last):
    """Applies repeat themselves in vain, touch nothing of others unless forced, and may be given up again."""
    live: dict[str, Any] = {}
    owners: Owners = {}
    for name, update, value in history:
        if update:
            live, owners = value, updated(write(name), owners, live, value)
        else:
            made, owners = applied(write(name), owners, live, value, force=True)
            live = live if made is None else made
        assert all(one.fields for one in owners.values())
    try:
        made, left = applied(write("X"), owners, live, last, force=False)
    except Conflict as conflict:
        for manager, fields in conflict.conflicts.items():
            assert difference(fields, owners[manager].fields) == {} != fields
        return
    new = live if made is None else made
    changed, _ = compared(SHAPE, live, new)
    assert all(intersection(one.fields, changed) == {} for one in owners.values())
    again, same = applied(write("X"), left, new, last, force=False)
    assert again is None
    assert same == left
    back, without_it = applied(write("X"), left, new, {}, force=False)
    assert Manager("X", "Apply") not in without_it
    if back is not None:
        changed, _ = compared(SHAPE, new, back)
        assert changed == {}, "what is given up goes, or stays as it is"

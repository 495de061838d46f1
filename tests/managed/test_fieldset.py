"""Sets of fields: the arithmetic, held against plain sets of paths, and the texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube32_sim.api.managed.fieldset import (
    difference,
    has,
    intersection,
    ordered,
    paths,
    read,
    single,
    text,
    union,
    within,
    without,
)

ELEMENTS = ("f:a", "f:b", 'k:{"name":"x"}', 'v:"y"', "i:2", "i:10")
PATHS = st.lists(st.sampled_from(ELEMENTS), min_size=1, max_size=4).map(tuple)
MEMBERS = st.frozensets(PATHS, max_size=8)


def built(members):
    made = {}
    for path in sorted(members):
        made = union(made, single(path))
    return made


@given(MEMBERS)
def test_a_set_holds_the_paths_it_was_made_of(members):
    made = built(members)
    assert set(paths(made)) == members
    assert all(has(made, path) for path in members)
    assert read(made) == made
    assert ordered(made) == made


@given(MEMBERS, MEMBERS)
def test_sets_add_and_subtract_as_sets_of_paths_do(one, other):
    first, second = built(one), built(other)
    assert set(paths(union(first, second))) == one | other
    assert set(paths(difference(first, second))) == one - other
    assert set(paths(intersection(first, second))) == one & other
    assert (first, second) == (built(one), built(other)), "the operands are as they were"


@given(MEMBERS, MEMBERS)
def test_without_takes_along_what_is_below(one, other):
    left = {path for path in one if not any(path[: len(away)] == away for away in other)}
    assert set(paths(without(built(one), built(other)))) == left


def test_elements_are_written_in_upstreams_order():
    mixed = {"i:10": {}, 'v:"b"': {}, "f:b": {}, "i:9": {}, 'k:{"a":1}': {}, "f:a": {"f:z": {}, ".": {}}}
    assert list(ordered(mixed)) == ["f:a", "f:b", 'k:{"a":1}', 'v:"b"', "i:9", "i:10"]
    assert list(ordered(mixed)["f:a"]) == [".", "f:z"]


def test_members_of_a_level_come_before_those_below():
    fields = {"f:a": {"f:deep": {}}, "f:b": {}}
    assert list(paths(fields)) == [("f:b",), ("f:a", "f:deep")]


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        (("f:data", "f:a"), ".data.a"),
        (("f:spec", "f:containers", 'k:{"name":"app"}', "f:image"), '.spec.containers[name="app"].image'),
        (("f:ports", 'k:{"containerPort":80,"protocol":"TCP"}'), '.ports[containerPort=80,protocol="TCP"]'),
        (("f:finalizers", 'v:"a/b"'), '.finalizers[="a/b"]'),
        (("f:list", "i:3"), ".list[3]"),
        (("f:set", "v:1.5", 'v:"\\u0001\\"é"', "v:null", "v:true"), '.set[=1.5][="\\x01\\"é"][=null][=true]'),
    ],
)
def test_paths_read_as_upstream_writes_them(path, shown):
    assert text(path) == shown


@pytest.mark.parametrize(
    "value",
    [[], "f:a", 1, {"a": {}}, {"": {}}, {"ab": {}}, {"f:a": []}, {"f:a": "x"}, {"k:{": {}}, {"k:[1]": {}}, {"v:": {}},
     {"i:x": {}}, {"i:": {}}, {"i:1 ": {}}, {"i:99999999999999999999": {}}],
)  # fmt: skip
def test_what_is_no_set_is_told(value):
    assert read(value) is None


@pytest.mark.parametrize(
    ("value", "made"),
    [
        (None, {}),
        ({".": {}}, {}),
        ({"f:a": None}, {"f:a": {}}),
        ({"f:a": {".": {"f:b": {}}}}, {"f:a": {}}),
        ({"f:a": {"x:b": {}}}, {"f:a": {}}),
        ({"x:a": {}, "f:b": {}}, {"f:b": {}}),
        ({'k:{"protocol": "TCP", "port": 80}': {}}, {'k:{"port":80,"protocol":"TCP"}': {}}),
        ({'k:{"page":2.0}': {}, "v:1.0": {}, "i:+7": {}}, {'k:{"page":2}': {}, "v:1": {}, "i:7": {}}),
        ({'v:"a<b"': {}}, {'v:"a\\u003cb"': {}}),
        ({'v:"\\u00e9"': {}}, {'v:"é"': {}}),
    ],
)
def test_sets_from_outside_are_written_as_they_are_here(value, made):
    assert read(value) == made


def test_elements_are_ordered_by_what_they_say():
    """80 is before 443, `a` before `a b`, and a number before a text."""
    items = ['k:{"port":443}', 'k:{"port":80}', 'k:{"port":"a"}', 'k:{"a":1,"b":1}', 'k:{"a":1}', 'v:"a b"', 'v:"a"',
             "v:10", "v:9", "v:true", "v:null", "i:10", "i:9", "f:b", "f:B"]  # fmt: skip
    assert list(ordered({item: {} for item in items})) == [
        "f:B", "f:b", 'k:{"a":1}', 'k:{"a":1,"b":1}', 'k:{"port":80}', 'k:{"port":443}', 'k:{"port":"a"}',
        "v:9", "v:10", 'v:"a"', 'v:"a b"', "v:true", "v:null", "i:9", "i:10",
    ]  # fmt: skip


def test_a_pattern_says_what_is_left():
    fields = {
        "f:metadata": {"f:labels": {}},
        "f:spec": {".": {}, "f:c": {'k:{"n":1}': {".": {}, "f:n": {}, "f:r": {}}}},
    }
    assert within(fields, {"f:spec": {"f:c": {"*": {"f:r": {}}}}}) == {
        "f:spec": {".": {}, "f:c": {'k:{"n":1}': {".": {}, "f:r": {}}}}
    }
    assert within(fields, {"f:status": {}}) == {}


@given(MEMBERS, MEMBERS)
def test_what_does_not_change_is_the_same_object(one, other):
    first = built(one)
    assert union(first, built(one & other)) is first or not one & other
    assert difference(first, built(other - one)) is first


@given(MEMBERS, MEMBERS)
def test_results_are_as_they_are_written(one, other):
    """Nothing but members: no empty branches, and a member alone has nothing below it."""
    for made, members in (
        (union(built(one), built(other)), one | other),
        (difference(built(one), built(other)), one - other),
        (intersection(built(one), built(other)), one & other),
    ):
        assert made == built(members)

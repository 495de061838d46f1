"""Comparing, merging and taking out, by the shapes of real kinds."""

from __future__ import annotations

import pytest

from kube32_sim.api.managed.comparing import compared, owned
from kube32_sim.api.managed.merging import merged, removed
from kube32_sim.api.managed.reconciling import reconciled
from kube32_sim.api.managed.shapes import shape_of, shape_of_definition

POD = shape_of_definition("io.k8s.api.core.v1.PodSpec")
META = shape_of_definition("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")
A, B = 'k:{"name":"a"}', 'k:{"name":"b"}'


def env(*names, value=""):
    return {"containers": [{"name": "c", "env": [{"name": name, "value": value or name} for name in names]}]}


def changes(old, new, shape=POD):
    return compared(shape, old, new)


def in_env(fields):
    return fields["f:containers"]['k:{"name":"c"}']["f:env"]


@pytest.mark.parametrize(
    ("old", "new", "changed", "gone"),
    [
        ({}, {"labels": {"a": "1"}}, {"f:labels": {".": {}, "f:a": {}}}, {}),
        ({"labels": {}}, {"labels": {"a": "1"}}, {"f:labels": {"f:a": {}}}, {}),
        ({"labels": None}, {"labels": {"a": "1"}}, {"f:labels": {"f:a": {}}}, {}),
        ({"labels": {"a": "1"}}, {"labels": {"a": "2"}}, {"f:labels": {"f:a": {}}}, {}),
        ({"labels": {"a": "1"}}, {}, {}, {"f:labels": {".": {}, "f:a": {}}}),
        ({"labels": {"a": "1"}}, {"labels": {}}, {}, {"f:labels": {"f:a": {}}}),
        ({}, {"labels": {}}, {"f:labels": {}}, {}),
        ({"finalizers": ["a", "b"]}, {"finalizers": ["b", "a"]}, {}, {}),
        ({"finalizers": ["a"]}, {"finalizers": "b"}, {"f:finalizers": {}}, {}),
        ({"finalizers": "a"}, {"finalizers": ["a"]}, {"f:finalizers": {}}, {}),
        ({"finalizers": ["a"]}, {"finalizers": ["a", "b"]}, {"f:finalizers": {'v:"b"': {}}}, {}),
        ({"finalizers": ["a", "b"]}, {"finalizers": ["b"]}, {}, {"f:finalizers": {'v:"a"': {}}}),
    ],
)  # fmt: skip
def test_what_differs_in_metadata(old, new, changed, gone):
    assert changes(old, new, META) == (changed, gone)


def test_items_with_keys_are_compared_one_by_one():
    changed, gone = changes(env("a"), env("b", "a"))
    assert in_env(changed) == {B: {".": {}, "f:name": {}, "f:value": {}}}
    assert gone == {}


def test_an_atomic_list_changes_as_a_whole():
    assert changes({"tolerations": [{"key": "a"}]}, {"tolerations": [{"key": "b"}]})[0] == {"f:tolerations": {}}


def test_a_key_that_is_left_out_counts_as_its_default():
    before = {"containers": [{"name": "c", "ports": [{"containerPort": 80}]}]}
    after = {"containers": [{"name": "c", "ports": [{"containerPort": 80, "protocol": "TCP"}]}]}
    port = {'k:{"containerPort":80,"protocol":"TCP"}': {"f:protocol": {}}}
    assert changes(before, after)[0] == {"f:containers": {'k:{"name":"c"}': {"f:ports": port}}}


def test_items_that_repeat_are_managed_together():
    changed, gone = changes(env("a"), env("a", "a"))
    assert in_env(changed) == {A: {}}
    assert in_env(gone) == {A: {".": {}, "f:name": {}, "f:value": {}}}
    changed, gone = changes(env("a", "a"), env("a"))
    assert in_env(changed) == {A: {".": {}, "f:name": {}, "f:value": {}}}
    assert in_env(gone) == {A: {}}
    assert changes(env("a", "a"), env("a", "a", value="x"))[0] == {
        "f:containers": {'k:{"name":"c"}': {"f:env": {A: {}}}}
    }
    assert changes(env("a", "a"), env("a", "a")) == ({}, {})


def test_what_a_configuration_owns():
    config = {"containers": [{"name": "c", "command": ["x"], "resources": {"limits": {"cpu": "1"}}}], "hostAliases": []}
    container = {".": {}, "f:name": {}, "f:command": {}, "f:resources": {"f:limits": {"f:cpu": {}}}}
    assert owned(POD, config) == {"f:containers": {'k:{"name":"c"}': container}}
    assert owned(META, {"labels": {}, "annotations": {"k": "v"}, "finalizers": ["x"]}) == {
        "f:labels": {},
        "f:annotations": {"f:k": {}},
        "f:finalizers": {'v:"x"': {}},
    }


@pytest.mark.parametrize(
    ("live", "config", "made"),
    [
        ("ab", "ab", "ab"),
        ("ab", "ba", "ba"),
        ("ab", "c", "abc"),
        ("abc", "ca", "bca"),
        ("axb", "ba", "xba"),
        ("", "ab", "ab"),
        ("ab", "", "ab"),
        ("abcd", "dxa", "bcdxa"),
        ("aa", "a", "a"),
        ("xy", "ya", "xya"),
        ("aab", "ac", "acb"),
        ("aab", "c", "aabc"),
        ("aba", "ba", "ba"),
        ("abc", "cdb", "acdb"),
    ],
)
def test_the_order_of_merged_lists(live, config, made):
    done = merged(META, {"finalizers": list(live)}, {"finalizers": list(config)})
    assert "".join(done["finalizers"]) == made


def test_merging_goes_into_items_and_replaces_what_is_atomic():
    live = {"containers": [{"name": "a", "image": "1", "args": ["x"]}, {"name": "b"}], "nodeSelector": {"k": "v"}}
    config = {"containers": [{"name": "a", "args": ["y"]}], "nodeSelector": {"l": "w"}}
    assert merged(POD, live, config) == {
        "containers": [{"name": "a", "image": "1", "args": ["y"]}, {"name": "b"}],
        "nodeSelector": {"l": "w"},
    }


def test_what_is_taken_out_leaves_nothing_empty():
    value = {"labels": {"a": "1", "b": "2"}, "finalizers": ["x"]}
    assert removed(META, value, {"f:labels": {"f:a": {}}}) == {"labels": {"b": "2"}, "finalizers": ["x"]}
    assert removed(META, value, {"f:labels": {"f:a": {}, "f:b": {}}}) == {"labels": None, "finalizers": ["x"]}
    assert removed(META, value, {"f:labels": {".": {}, "f:a": {}}, "f:finalizers": {'v:"x"': {}}}) == {
        "finalizers": None
    }
    assert removed(META, value, {"f:labels": {}, "f:finalizers": {}}) is None


FREE = shape_of({"type": "object", "x-kubernetes-preserve-unknown-fields": True})
HELD = {"f:a": {}}


@pytest.mark.parametrize(
    ("old", "new", "changed", "gone"),
    [
        ({"x": {"a": 1}}, {"x": "s"}, {"f:x": {}}, {"f:x": HELD}),
        ({"x": {"a": 1}}, {"x": [1]}, {"f:x": {}}, {"f:x": HELD}),
        ({"x": "s"}, {"x": {"a": 1}}, {"f:x": {".": {}, **HELD}}, {}),
        ({"x": [1]}, {"x": {}}, {"f:x": {}}, {}),
        ({"x": None}, {"x": {"a": 1}}, {"f:x": HELD}, {}),
        ({"x": {"a": 1}}, {"x": None}, {}, {"f:x": HELD}),
        ({"x": None}, {"x": {}}, {"f:x": {}}, {}),
        ({"x": [1]}, {"x": None}, {"f:x": {}}, {}),
    ],
)
def test_what_becomes_of_another_kind_without_a_schema(old, new, changed, gone):
    assert compared(FREE, old, new) == (changed, gone)


@pytest.mark.parametrize(
    ("live", "config", "made"),
    [
        ({}, {"labels": None}, {"labels": None}),
        ({"labels": {}}, {"labels": None}, {"labels": None}),
        ({"labels": None}, {"labels": {}}, {"labels": {}}),
        ({"labels": {"a": "1"}}, {"labels": None}, {"labels": {"a": "1"}}),
        ({"labels": {"a": "1"}}, {"labels": {}}, {"labels": {"a": "1"}}),
        ({"labels": {"a": "1"}}, {"labels": {"a": None}}, {"labels": {"a": None}}),
        ({"finalizers": ["a"]}, {"finalizers": None}, {"finalizers": ["a"]}),
        ({"finalizers": ["a"]}, {"finalizers": []}, {"finalizers": ["a"]}),
        ({"name": "a"}, {"name": None}, {"name": None}),
    ],
)
def test_null_is_a_value_only_where_nothing_is_managed_below(live, config, made):
    assert merged(META, live, config) == made


def test_null_takes_the_place_of_what_is_managed_as_a_whole():
    live = {"tolerations": [{"key": "a"}], "nodeSelector": {"k": "v"}, "priority": 1}
    nothing = dict.fromkeys(live)
    assert merged(POD, live, nothing) == nothing
    assert merged(FREE, {"x": {"a": 1}, "y": [1], "z": 1}, dict.fromkeys("xyz")) == {
        "x": {"a": 1},
        "y": None,
        "z": None,
    }


def test_items_that_repeat_are_replaced_by_the_one_that_is_applied():
    live = {"containers": [{"name": "c", "env": [{"name": "a", "value": "1"}, {"name": "a", "valueFrom": {}}]}]}
    made = merged(POD, live, env("a", value="2"))
    assert made == env("a", value="2")
    assert owned(POD, live)["f:containers"]['k:{"name":"c"}']["f:env"] == {A: {}}


def test_structures_are_brought_in_line_with_the_schema():
    whole = {"f:nodeSelector": {}, "f:tolerations": {}, "f:hostname": {}}
    given = {"f:nodeSelector": {"f:k": {}}, "f:tolerations": {".": {}, "k:{}": {}}, "f:hostname": {}}
    assert reconciled(POD, given) == whole
    assert reconciled(POD, whole) is whole
    items = {"f:containers": {A: {".": {}, "f:args": {"i:0": {}}, "f:name": {}}}}
    assert reconciled(POD, items) == {"f:containers": {A: {".": {}, "f:args": {}, "f:name": {}}}}
    unknown = {"f:nope": {"f:a": {}}, "f:containers": {}}
    assert reconciled(POD, unknown) is unknown

"""Comparing, merging, taking out and checking, by the shapes of real kinds."""

from __future__ import annotations

import pytest

from kube32_sim.api.managed.comparing import compared, owned
from kube32_sim.api.managed.merging import faults, merged, removed
from kube32_sim.api.managed.shapes import shape_of_definition

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


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"nope": 1}, [".nope: field not declared in schema"]),
        ({"hostNetwork": "yes"}, [".hostNetwork: expected boolean, got yes"]),
        ({"priority": "5"}, [".priority: expected numeric (int or float), got string"]),
        ({"priority": True}, [".priority: expected numeric (int or float), got bool"]),
        ({"containers": {}}, [".containers: expected list, got map[string]interface {}"]),
        ({"nodeSelector": []}, [".nodeSelector: expected map, got []interface {}"]),
        ({"containers": [{"name": "a"}, {"name": "a"}]}, ['.containers: duplicate entries for key [name="a"]']),
        ({"containers": [{"image": "x"}]}, ['.containers: element 0: associative list with keys has an element that '
                                            'omits key field "name" (and doesn\'t have default value)']),
        ({"containers": [{"name": "a", "x": 1}]}, ['.containers[name="a"].x: field not declared in schema']),
        ({"containers": [None]}, [".containers: element 0: associative list with keys may not have non-map elements"]),
        ({"containers": None, "hostname": None}, []),
    ],
)  # fmt: skip
def test_what_cannot_be_applied(config, expected):
    assert faults(POD, config) == expected


def test_values_of_sets():
    assert faults(META, {"finalizers": ["a", "a"]}) == ['.finalizers: duplicate entries for key [="a"]']
    assert faults(META, {"finalizers": [{}]}) == [".finalizers: element 0: sets can't have list or map elements"]

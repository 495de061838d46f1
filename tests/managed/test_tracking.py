"""What creates, updates and patches do to managedFields."""

from __future__ import annotations

import orjson
import pytest

from kube32_sim.api.managed.comparing import compared
from kube32_sim.api.managed.fieldset import ordered
from kube32_sim.api.managed.resets import told
from kube32_sim.api.managed.shapes import shape_of_definition
from tests.managed.managing import T0, T1, T2, bare, changed, config_map, new, owners, row_of, times


def test_who_creates_owns_all_but_what_the_server_sets():
    obj = new("ConfigMap", {"metadata": {"name": "c", "generateName": "c-", "labels": {"l": "m"}}, "data": {"a": "1"}})
    assert owners(obj) == {
        "maker": [".data", ".data.a", ".metadata.generateName", ".metadata.labels", ".metadata.labels.l"]
    }
    assert times(obj) == {"maker": T0}


def test_a_status_that_is_sent_along_is_nobodys():
    obj = new("Deployment", {"metadata": {"name": "d"}, "spec": {"replicas": 1}, "status": {"replicas": 1}})
    assert owners(obj) == {"maker": [".spec.replicas"]}


def test_who_changes_a_field_takes_it_over():
    old = new("ConfigMap", config_map(a="1", b="2"))
    obj = changed("ConfigMap", old, {**old, "data": {"a": "9", "b": "2", "c": "3"}}, "other")
    assert owners(obj) == {"maker": [".data", ".data.b"], "other": [".data.a", ".data.c"]}
    assert times(obj) == {"maker": T0, "other": T1}


def test_what_is_removed_is_nobodys():
    old = changed(
        "ConfigMap", (first := new("ConfigMap", config_map(a="1"))), {**first, "data": {"a": "1", "b": "2"}}, "other"
    )
    obj = changed("ConfigMap", old, config_map(b="2"), "maker", T2)
    assert owners(obj) == {"maker": [".data"], "other": [".data.b"]}
    assert times(obj) == {"maker": T0, "other": T1}, "who has taken nothing has not written"


def test_the_same_again_changes_nothing():
    old = new("ConfigMap", config_map(a="1"))
    assert changed("ConfigMap", old, old, "other") == old
    assert changed("ConfigMap", old, bare(old), "other") == old


def test_managed_fields_that_are_sent_count():
    old = new("ConfigMap", config_map(a="1"))
    entry = {**old["metadata"]["managedFields"][0], "manager": "renamed"}
    obj = changed("ConfigMap", old, {**old, "metadata": {"name": "c", "managedFields": [entry]}}, "other")
    assert owners(obj) == {"renamed": [".data", ".data.a"]}


@pytest.mark.parametrize(
    "entry",
    [
        {"fieldsType": "FieldsV2"},
        {"operation": "Eat"},
        {"fieldsV1": {"what": {}}},
        {"fieldsV1": {"k:{": {}}},
    ],
)
def test_managed_fields_that_cannot_be_read_do_not(entry):
    old = new("ConfigMap", config_map(a="1"))
    broken = {**old["metadata"]["managedFields"][0], **entry}
    obj = changed("ConfigMap", old, {**old, "metadata": {"name": "c", "managedFields": [broken]}}, "other")
    assert owners(obj) == {"maker": [".data", ".data.a"]}


def test_managed_fields_are_not_written_through_a_subresource():
    old = new("Deployment", {"metadata": {"name": "d"}, "spec": {"replicas": 1}})
    obj = {**old, "metadata": {"name": "d", "managedFields": [{}]}, "status": {"replicas": 1}}
    made = changed("Deployment", old, obj, "ctl", subresource="status")
    assert owners(made) == {"maker": [".spec.replicas"], "ctl/status": [".status.replicas"]}


def test_an_empty_entry_forgets_all_and_nobody_is_tracked_from_then_on():
    old = new("ConfigMap", config_map(a="1"))
    obj = changed("ConfigMap", old, {**old, "metadata": {"name": "c", "managedFields": [{}]}}, "other")
    assert owners(obj) == {}
    assert owners(changed("ConfigMap", obj, {**obj, "data": {"a": "2"}}, "third")) == {}


def test_a_write_of_the_status_owns_neither_spec_nor_labels_of_a_deployment():
    old = new("Deployment", {"metadata": {"name": "d"}, "spec": {"replicas": 1}})
    obj = {"metadata": {"name": "d", "labels": {"x": "y"}}, "spec": {"replicas": 5}, "status": {"replicas": 1}}
    assert owners(changed("Deployment", old, obj, "ctl", subresource="status"))["ctl/status"] == [".status.replicas"]


def test_of_too_many_updaters_the_oldest_are_put_together():
    obj = new("ConfigMap", config_map(k0="0"), "m0")
    for number in range(1, 13):
        data = {**obj["data"], f"k{number}": "1"}
        obj = changed("ConfigMap", obj, {**obj, "data": data}, f"m{number}", f"2026-01-01T00:01:{number:02}Z")
    told = owners(obj)
    assert len(told) == 10
    assert told["ancient-changes"] == [".data", ".data.k0", ".data.k1", ".data.k2", ".data.k3"]
    assert times(obj)["ancient-changes"] == "2026-01-01T00:01:03Z"


def test_entries_are_appliers_first_then_by_time():
    old = new("ConfigMap", config_map(a="1"), "z", T1)
    obj = changed("ConfigMap", old, {**old, "data": {"a": "1", "b": "2"}}, "a", T2)
    assert [entry["manager"] for entry in obj["metadata"]["managedFields"]] == ["z", "a"]


def test_what_new_metadata_say_is_what_comparing_them_with_none_tells():
    """They are told without comparing, since many are made."""
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u", "controller": True}
    metadata = {
        "name": "c", "generateName": "c-", "namespace": "n", "uid": "u", "creationTimestamp": T0, "generation": 1,
        "labels": {"b": "", "a": "1"}, "annotations": {"x": "y"}, "finalizers": ["z", "a"], "ownerReferences": [owner],
        "deletionGracePeriodSeconds": 0,
    }  # fmt: skip
    (entry,) = new("ConfigMap", {"metadata": dict(metadata)})["metadata"]["managedFields"]
    fresh, _ = compared(shape_of_definition("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"), {}, metadata)
    said = told(row_of("ConfigMap"), "").of({"f:metadata": fresh})
    assert orjson.dumps(entry["fieldsV1"]) == orjson.dumps(ordered(said))
    assert new("ConfigMap", {"metadata": {"name": "c"}})["metadata"] == {"name": "c"}


def test_the_oldest_put_together_are_written_in_order():
    obj = new("ConfigMap", config_map(z="1"), "m0")
    for number in range(1, 13):
        obj = changed("ConfigMap", obj, {**obj, "data": {**obj["data"], f"k{12 - number}": "x"}}, f"m{number}")
    (ancient,) = (entry for entry in obj["metadata"]["managedFields"] if entry["manager"] == "ancient-changes")
    assert list(ancient["fieldsV1"]["f:data"]) == sorted(ancient["fieldsV1"]["f:data"])


def test_who_only_takes_away_owns_nothing_and_leaves_the_times():
    obj = new("ConfigMap", config_map(a="1", b="2"), "one", T0)
    obj = changed("ConfigMap", obj, config_map(a="1"), "two", T2)
    assert owners(obj) == {"one": [".data", ".data.a"]}
    assert times(obj) == {"one": T0}


def test_one_name_in_two_versions_is_two_managers_by_what_it_writes_and_one_by_what_it_applies():
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
    spec = {"scaleTargetRef": target, "maxReplicas": 5}
    obj = new("HorizontalPodAutoscaler", {"metadata": {"name": "h"}, "spec": spec}, "one", T0, version="autoscaling/v1")
    more = {**obj, "spec": {**spec, "minReplicas": 2}}
    obj = changed("HorizontalPodAutoscaler", obj, more, "one", T1)
    entries = obj["metadata"]["managedFields"]
    assert [(entry["manager"], entry["apiVersion"]) for entry in entries] == [
        ("one", "autoscaling/v1"), ("one", "autoscaling/v2")
    ]  # fmt: skip


@pytest.mark.parametrize("version", ["v9", "apps/v1", "nope"])
def test_managers_of_versions_that_are_not_served_are_forgotten_by_the_next_change(version):
    old = {"manager": "old", "operation": "Update", "apiVersion": version, "time": T0, "fieldsType": "FieldsV1"}
    entry = old | {"fieldsV1": {"f:data": {"f:a": {}}}}
    obj = new("ConfigMap", config_map(a="1"), "one", T0)
    obj["metadata"]["managedFields"].append(entry)
    obj = changed("ConfigMap", obj, {**obj, "data": {"a": "1", "b": "2"}}, "two")
    assert owners(obj) == {"one": [".data", ".data.a"], "two": [".data.b"]}

"""Server-side apply by itself: ownership, conflicts, what goes, several versions, kubectl's own way there."""

from __future__ import annotations

import json

import pytest

from kube32_sim.api.errors import ApiError
from kube32_sim.api.managed.manager import LAST_APPLIED, MOST_ANNOTATIONS, keep_times
from tests.managed.managing import T0, T1, T2, applied, bare, changed, config_map, new, owners, row_of, times


def conflicts(error: ApiError) -> list[tuple[str, str]]:
    assert error.code == 409
    return [(cause["message"], cause["field"]) for cause in error.details["causes"]]


def web(image="nginx:1", name="app", **spec):
    return {
        "metadata": {"name": "d"},
        "spec": {**spec, "template": {"spec": {"containers": [{"name": name, "image": image}]}}},
    }


def test_the_first_apply_makes_the_object():
    obj = applied("ConfigMap", None, config_map(a="1"), "one", T0)
    assert bare(obj) == config_map(a="1")
    assert owners(obj) == {"one+": [".data.a"]}


def test_the_same_again_changes_nothing():
    obj = applied("ConfigMap", None, config_map(a="1"), "one", T0)
    assert applied("ConfigMap", obj, config_map(a="1"), "one", T2) == obj


def test_what_is_no_longer_said_goes_unless_others_own_it():
    first = applied("ConfigMap", None, config_map(a="1", b="2", c="3"), "one", T0)
    both = applied("ConfigMap", first, config_map(b="2"), "two")
    third = changed("ConfigMap", both, {**both, "data": {**both["data"], "d": "4"}}, "patcher")
    obj = applied("ConfigMap", third, config_map(a="1"), "one", T2)
    assert obj["data"] == {"a": "1", "b": "2", "d": "4"}
    assert owners(obj) == {"one+": [".data.a"], "two+": [".data.b"], "patcher": [".data.d"]}


def test_what_nobody_says_any_more_leaves_no_empty_field():
    obj = applied("ConfigMap", None, config_map(a="1"), "one", T0)
    obj = applied("ConfigMap", obj, {"metadata": {"name": "c"}}, "one")
    assert bare(obj) == {"metadata": {"name": "c"}}
    assert owners(obj) == {}


def test_labels_go_and_the_rest_of_the_metadata_stays():
    labelled = {"metadata": {"name": "c", "labels": {"a": "b"}}}
    obj = applied("ConfigMap", None, labelled, "one", T0)
    obj["metadata"] |= {"uid": "u", "resourceVersion": "5"}
    made = applied("ConfigMap", obj, {"metadata": {"name": "c"}}, "one")
    assert bare(made)["metadata"] == {"name": "c", "uid": "u", "resourceVersion": "5"}


def test_the_same_value_is_shared():
    obj = applied("ConfigMap", applied("ConfigMap", None, config_map(a="1"), "one", T0), config_map(a="1"), "two")
    assert owners(obj) == {"one+": [".data.a"], "two+": [".data.a"]}
    assert times(obj) == {"one": T0, "two": None}


def test_another_value_conflicts_and_tells_with_whom():
    obj = applied("ConfigMap", None, config_map(a="1", b="2"), "one", T0)
    obj = changed("ConfigMap", obj, {**obj, "data": {"a": "1", "b": "3"}}, "patcher")
    with pytest.raises(ApiError) as refused:
        applied("ConfigMap", obj, config_map(a="9", b="9"), "two")
    assert conflicts(refused.value) == [
        ('conflict with "one"', ".data.a"),
        ('conflict with "patcher" using v1', ".data.b"),
    ]
    assert str(refused.value) == (
        'Apply failed with 2 conflicts: conflicts with "one":\n- .data.a\nconflicts with "patcher" using v1:\n- .data.b'
    )
    assert refused.value.reason == "Conflict"


def test_by_force_the_field_is_taken_over():
    obj = applied("ConfigMap", None, config_map(a="1", b="2"), "one", T0)
    obj = applied("ConfigMap", obj, config_map(a="9"), "two", force=True)
    assert obj["data"] == {"a": "9", "b": "2"}
    assert owners(obj) == {"one+": [".data.b"], "two+": [".data.a"]}


def test_one_does_not_conflict_with_what_one_did_through_another_way():
    obj = new("ConfigMap", config_map(a="1"), "one")
    with pytest.raises(ApiError) as refused:
        applied("ConfigMap", obj, config_map(a="2"), "one")
    assert conflicts(refused.value) == [('conflict with "one" using v1', ".data.a")], "an updater is another manager"


def test_items_with_keys_have_owners_of_their_own():
    obj = applied("Deployment", None, web(), "one", T0)
    obj = applied("Deployment", obj, web("sidecar:1", "side"), "two")
    containers = obj["spec"]["template"]["spec"]["containers"]
    assert [container["name"] for container in containers] == ["app", "side"]
    obj = applied("Deployment", obj, {"metadata": {"name": "d"}}, "one", T2)
    assert [one["name"] for one in obj["spec"]["template"]["spec"]["containers"]] == ["side"]


def test_an_item_goes_with_its_owner_though_others_added_to_it():
    """Who did not apply its key holds only what it added, and loses that too."""
    obj = applied("Deployment", None, web(), "one", T0)
    container = obj["spec"]["template"]["spec"]["containers"][0] | {"imagePullPolicy": "Always"}
    obj = changed("Deployment", obj, {**obj, "spec": {"template": {"spec": {"containers": [container]}}}}, "patcher")
    obj = applied("Deployment", obj, {"metadata": {"name": "d"}}, "one", T2)
    assert obj["spec"]["template"]["spec"] == {}
    assert owners(obj) == {}


def test_replicas_can_be_handed_over():
    """The documented way to leave them to an autoscaler."""
    obj = applied("Deployment", None, web(replicas=3), "one", T0)
    obj = applied("Deployment", obj, {"metadata": {"name": "d"}, "spec": {"replicas": 3}}, "handover")
    obj = applied("Deployment", obj, web(), "one", T2)
    assert obj["spec"]["replicas"] == 3
    assert owners(obj)["handover+"] == [".spec.replicas"]


def test_what_others_defaulted_stays():
    obj = applied("Deployment", None, web(), "one", T0)
    obj["spec"]["template"]["spec"]["containers"][0]["terminationMessagePath"] = "/dev/log"
    made = applied("Deployment", obj, web("nginx:2"), "one", T1)
    assert made["spec"]["template"]["spec"]["containers"][0] == {
        "name": "app", "image": "nginx:2", "terminationMessagePath": "/dev/log", "resources": {}
    }  # fmt: skip


def test_an_object_from_before_managed_fields_has_an_owner_for_all_it_is():
    obj = applied("ConfigMap", {**config_map(a="1")}, config_map(b="2"), "one")
    assert owners(obj) == {"one+": [".data.b"], "before-first-apply": [".data", ".data.a"]}


def test_the_status_by_its_own_way():
    obj = new("Deployment", web(replicas=1))
    config = {"metadata": {"name": "d"}, "spec": {"replicas": 7}, "status": {"replicas": 2}}
    made = applied("Deployment", obj, config, "ctl", subresource="status")
    assert owners(made)["ctl+/status"] == [".status.replicas"]
    both = applied("Deployment", made, config_of_status(3), "ctl", T2, subresource="status")
    assert both["status"]["replicas"] == 3


def config_of_status(replicas):
    return {"metadata": {"name": "d"}, "status": {"replicas": replicas}}


def test_what_does_not_fit_the_schema_is_told_at_once():
    with pytest.raises(ApiError) as refused:
        applied("Deployment", None, {"metadata": {"name": "d", "namespace": "n"}, "spec": {"replica": 1}}, "one")
    assert refused.value.code == 400
    what = "failed to create typed patch object (n/d; apps/v1, Kind=Deployment)"
    assert str(refused.value) == f"{what}: .spec.replica: field not declared in schema"
    with pytest.raises(ApiError) as refused:
        applied("ConfigMap", None, {"metadata": {"name": "c"}, "data": {"a": 1, "b": []}}, "one")
    assert str(refused.value) == (
        "failed to create typed patch object (/c; /v1, Kind=ConfigMap): errors:\n"
        "  .data.a: expected string, got &value.valueUnstructured{Value:1}\n"
        "  .data.b: expected string, got &value.valueUnstructured{Value:[]interface {}{}}"
    )
    with pytest.raises(ApiError, match=r"metadata\.managedFields must be nil"):
        applied("ConfigMap", None, {"metadata": {"name": "c", "managedFields": []}}, "one")


# several versions of one object


def hpa(version, **spec):
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
    return {"metadata": {"name": "h"}, "spec": {"scaleTargetRef": target, "maxReplicas": 5, **spec}}


def test_managers_of_two_versions_meet():
    from kube32_sim.api import conversion

    old = row_of("HorizontalPodAutoscaler", "autoscaling/v1")
    made = applied("HorizontalPodAutoscaler", None, hpa("v1", minReplicas=2), "one", T0, version="autoscaling/v1")
    stored = conversion.from_view(old, made)
    with pytest.raises(ApiError) as refused:
        applied("HorizontalPodAutoscaler", stored, hpa("v2", minReplicas=3), "two", version="autoscaling/v2")
    assert conflicts(refused.value) == [('conflict with "one"', ".spec.minReplicas")]
    again = applied("HorizontalPodAutoscaler", stored, hpa("v2"), "one", T1, version="autoscaling/v2")
    assert "minReplicas" not in again["spec"], "what was applied in another version goes too"
    assert [entry["apiVersion"] for entry in again["metadata"]["managedFields"]] == ["autoscaling/v2"]


# kubectl, from client-side to server-side apply


def client_side(**data):
    config = {"apiVersion": "v1", "kind": "ConfigMap", **config_map(**data)}
    obj = config_map(**data)
    obj["metadata"] |= {"annotations": {LAST_APPLIED: json.dumps(config) + "\n"}}
    return new("ConfigMap", obj, "kubectl-client-side-apply")


def test_kubectl_takes_over_what_it_applied_itself():
    obj = applied("ConfigMap", client_side(a="1"), config_map(a="2"), "kubectl")
    assert obj["data"] == {"a": "2"}
    assert owners(obj)["kubectl+"] == [".data.a"]
    assert json.loads(obj["metadata"]["annotations"][LAST_APPLIED]) == {
        "apiVersion": "v1", "kind": "ConfigMap", **config_map(a="2")
    }  # fmt: skip


def test_others_do_not():
    with pytest.raises(ApiError) as refused:
        applied("ConfigMap", client_side(a="1"), config_map(a="2"), "gitops")
    assert conflicts(refused.value) == [('conflict with "kubectl-client-side-apply" using v1', ".data.a")]


def test_kubectl_conflicts_about_what_others_changed_since():
    obj = client_side(a="1", b="2")
    obj = changed("ConfigMap", obj, {**obj, "data": {"a": "1", "b": "9"}}, "patcher")
    with pytest.raises(ApiError) as refused:
        applied("ConfigMap", obj, config_map(a="3", b="3"), "kubectl")
    assert conflicts(refused.value) == [('conflict with "patcher" using v1', ".data.b")]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"apiVersion": "v2"}', '{"apiVersion": "v1", "nope": 1}'])
def test_an_annotation_that_tells_nothing(text):
    obj = client_side(a="1")
    obj["metadata"]["annotations"][LAST_APPLIED] = text
    with pytest.raises(ApiError, match="Apply failed with 1 conflict"):
        applied("ConfigMap", obj, config_map(a="2"), "kubectl")


def test_last_applied_is_written_as_upstream_does():
    obj = applied("ConfigMap", client_side(a="1"), config_map(a="<é&>"), "kubectl")
    assert '"a":"\\u003cé\\u0026\\u003e"' in obj["metadata"]["annotations"][LAST_APPLIED]


def test_last_applied_goes_where_it_would_be_too_much():
    big = config_map(a="1", b="x" * MOST_ANNOTATIONS)
    assert "annotations" not in applied("ConfigMap", client_side(a="1"), big, "kubectl")["metadata"]


# times


def resources(cpu):
    config = web()
    config["spec"]["template"]["spec"]["containers"][0]["resources"] = {"limits": {"cpu": cpu}}
    return config


def test_the_same_in_other_words_keeps_the_times():
    """1000m and 1 are the same once they are read."""
    first = applied("Deployment", None, resources("1000m"), "one", T0)
    again = applied("Deployment", first, resources("1000m"), "one", T2)
    assert times(again) == {"one": T2}
    keep_times(again, first)
    assert times(again) == {"one": T0}
    other = applied("Deployment", first, resources("2"), "one", T2)
    keep_times(other, first)
    assert times(other) == {"one": T2}


def test_what_was_given_under_another_schema_is_brought_in_line():
    """A selector is managed as a whole; what says otherwise means all of it."""
    obj = applied("Deployment", None, web(), "one", T0)
    obj["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"]["f:selector"] = {"f:matchLabels": {"f:app": {}}}
    other = {"metadata": {"name": "d"}, "spec": {"selector": {"matchLabels": {"app": "x"}}}}
    with pytest.raises(ApiError) as refused:
        applied("Deployment", obj, other, "two")
    assert conflicts(refused.value) == [('conflict with "one"', ".spec.selector")]


def test_conflicts_are_told_by_what_they_are_about():
    """Ports by number, and managers as they come among all."""
    ports = [{"port": port, "name": f"p{port}"} for port in (8080, 443, 80)]
    service = {"metadata": {"name": "s"}, "spec": {"ports": ports}}
    obj = applied("Service", None, service, "one", T0)
    renamed = {"metadata": {"name": "s"}, "spec": {"ports": [port | {"name": "x"} for port in ports]}}
    with pytest.raises(ApiError) as refused:
        applied("Service", obj, renamed, "two")
    found = [field for _, field in conflicts(refused.value)]
    assert found == [f'.spec.ports[port={port},protocol="TCP"].name' for port in (80, 443, 8080)]


def test_of_very_many_conflicts_as_many_are_told_as_anybody_reads():
    obj = applied("ConfigMap", None, config_map(**{f"k{n}": "1" for n in range(1500)}), "one", T0)
    with pytest.raises(ApiError) as refused:
        applied("ConfigMap", obj, config_map(**{f"k{n}": "2" for n in range(1500)}), "two")
    assert len(conflicts(refused.value)) == 1000
    assert str(refused.value).startswith("Apply failed with at least 1000 conflicts: ")

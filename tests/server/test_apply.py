"""Server-side apply over HTTP: statuses, what is refused, subresources, dry runs, and who a writer is."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kube32_sim.client import Resource
from kube32_sim.cluster import Cluster
from tests.support.wire import Answer, Wire

APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
MAPS = "/api/v1/namespaces/default/configmaps"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"


def config_map(**data: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": data}


def deployment(replicas: int = 1) -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "d"}},
            "template": {
                "metadata": {"labels": {"app": "d"}},
                "spec": {"containers": [{"name": "app", "image": "nginx"}]},
            },
        },
    }


async def apply(wire: Wire, path: str, config: Any, manager: str = "one", **options: str) -> Answer:
    query = "".join(f"&{name}={value}" for name, value in options.items())
    return await wire("PATCH", f"{path}?fieldManager={manager}{query}", config, Content_Type=APPLY)


def entries(answer: Answer) -> list[tuple[str, str, str]]:
    found = answer.json()["metadata"].get("managedFields", [])
    return [(entry["manager"], entry["operation"], entry.get("subresource", "")) for entry in found]


async def test_an_apply_creates_changes_and_leaves_alone(wire: Wire) -> None:
    first = await apply(wire, f"{MAPS}/c", config_map(a="1"))
    again = await apply(wire, f"{MAPS}/c", config_map(a="1"))
    other = await apply(wire, f"{MAPS}/c", config_map(a="2"))
    assert (first.status, again.status, other.status) == (201, 200, 200)
    assert first.body == again.body
    assert other.json()["data"] == {"a": "2"}
    assert entries(other) == [("one", "Apply", "")]


async def test_yaml_is_what_the_media_type_says(wire: Wire) -> None:
    text = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  a: 'yes'\n"
    assert (await apply(wire, f"{MAPS}/c", text)).json()["data"] == {"a": "yes"}


TWICE = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  a: '1'\n  a: '2'\n"


async def test_a_key_that_comes_twice(wire: Wire) -> None:
    strict = await apply(wire, f"{MAPS}/c", TWICE, fieldValidation="Strict")
    assert (strict.status, strict.json()["reason"]) == (400, "BadRequest")
    why = 'error converting YAML to JSON: yaml: unmarshal errors:\n  line 6: key "a" already set in map'
    assert strict.json()["message"] == f"error strict decoding YAML: {why}"
    warned = await apply(wire, f"{MAPS}/c", TWICE, fieldValidation="Warn")
    assert (warned.status, warned.json()["data"]) == (201, {"a": "2"})
    assert 'key \\"a\\" already set in map' in warned.header("Warning")
    ignored = await apply(wire, f"{MAPS}/c", TWICE, fieldValidation="Ignore")
    assert ignored.header("Warning") == ""


@pytest.mark.parametrize(
    ("config", "code", "message"),
    [
        (b"[]", 400, "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmar"),
        (b"- a\n", 400, "json: cannot unmarshal array into Go value of type map[string]interface {}"),
        (b"'1'", 400, "json: cannot unmarshal string into Go value of type map[string]interface {}"),
        (b"1", 400, "json: cannot unmarshal number into Go value of type map[string]interface {}"),
        (b"yes", 400, "json: cannot unmarshal bool into Go value of type map[string]interface {}"),
        (b"{", 400, "error decoding YAML: error converting YAML to JSON: yaml: line "),
        (config_map() | {"kind": "Secret"}, 400, "invalid object type: /v1, Kind=Secret"),
        (config_map() | {"apiVersion": 1, "kind": []}, 400, "invalid object type: /, Kind="),
        (config_map() | {"apiVersion": "v2"}, 400, "invalid object type: /v2, Kind=ConfigMap"),
        (config_map() | {"apiVersion": "apps/v1"}, 400, "invalid object type: apps/v1, Kind=ConfigMap"),
        (config_map() | {"metadata": None}, 400, "the name of the object (c based on URL) was undeterminable"),
        (config_map() | {"metadata": {}}, 400, "the name of the object (c based on URL) was undeterminable"),
        (config_map() | {"metadata": {"name": "x"}}, 400, "the name of the object (x) does not match"),
        (config_map() | {"metadata": {"name": "c", "namespace": "x"}}, 400, "the namespace of the provided object"),
        (config_map() | {"metadata": {"name": "c", "uid": "u"}}, 409, "uid mismatch: the provided object"),
        (config_map() | {"metadata": "c"}, 400, ".metadata: expected map"),
        (config_map() | {"nope": 1}, 400, ".nope: field not declared in schema"),
        (config_map(a={}), 400, ".data.a: expected string"),
        (config_map() | {"metadata": {"name": "c", "creationTimestamp": "x"}}, 400, "cannot be handled as a ConfigMap"),
        (config_map() | {"metadata": {"name": "c", "labels": {"a b": ""}}}, 422, "metadata.labels: Invalid value"),
    ],
)  # fmt: skip
async def test_what_is_refused_leaves_nothing(wire: Wire, config: Any, code: int, message: str) -> None:
    answer = await apply(wire, f"{MAPS}/c", config)
    assert answer.status == code, answer.body
    assert message in answer.json()["message"]
    assert (await wire("GET", f"{MAPS}/c")).status == 404


async def test_deep_documents_are_refused(wire: Wire) -> None:
    deep = (
        b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},"data":' + b'{"a":' * 5000 + b"1" + b"}" * 5001
    )
    for levels in (5000, 300):
        told = await apply(wire, f"{MAPS}/c", b'{"a":' * levels + b"1" + b"}" * levels)
        assert (told.status, told.json()["message"]) == (400, "error decoding YAML: exceeded max depth")
    assert (await apply(wire, f"{MAPS}/c", deep)).status == 400
    entry: dict[str, Any] = {}
    for _ in range(230):
        entry = {"f:a": entry}
    fields = {"manager": "m", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": entry}
    sent = {**config_map(a="1"), "metadata": {"name": "c", "managedFields": [fields]}}
    assert (await wire("POST", MAPS, sent)).status == 201
    assert (await apply(wire, f"{MAPS}/c", config_map(b="2"))).status == 200


async def test_there_is_no_namespace(wire: Wire) -> None:
    answer = await apply(wire, "/api/v1/namespaces/away/configmaps/c", config_map(a="1"))
    assert (answer.status, answer.json()["message"]) == (404, 'namespaces "away" not found')


async def test_of_the_state_that_is_meant_or_not_at_all(wire: Wire) -> None:
    made = (await apply(wire, f"{MAPS}/c", config_map(a="1"))).json()["metadata"]
    stale = await apply(wire, f"{MAPS}/c", config_map(a="2") | {"metadata": {"name": "c", "resourceVersion": "1"}})
    assert (stale.status, stale.json()["reason"]) == (409, "Conflict")
    assert "the object has been modified" in stale.json()["message"]
    version = {"name": "c", "resourceVersion": made["resourceVersion"], "uid": made["uid"]}
    assert (await apply(wire, f"{MAPS}/c", config_map(a="2") | {"metadata": version})).status == 200


async def test_a_dry_run_tells_and_stores_nothing(wire: Wire) -> None:
    told = await apply(wire, f"{MAPS}/c", config_map(a="1"), dryRun="All")
    assert (told.status, entries(told)) == (201, [("one", "Apply", "")])
    assert (await wire("GET", f"{MAPS}/c")).status == 404


async def test_conflicts_and_force(wire: Wire) -> None:
    await apply(wire, f"{MAPS}/c", config_map(a="1"))
    refused = await apply(wire, f"{MAPS}/c", config_map(a="2"), "two")
    assert refused.status == 409
    assert refused.json()["details"]["causes"] == [
        {"reason": "FieldManagerConflict", "message": 'conflict with "one"', "field": ".data.a"}
    ]
    assert entries(await apply(wire, f"{MAPS}/c", config_map(a="2"), "two", force="true")) == [("two", "Apply", "")]


async def test_force_is_for_applies_only(wire: Wire) -> None:
    await apply(wire, f"{MAPS}/c", config_map(a="1"))
    answer = await wire("PATCH", f"{MAPS}/c?force=true", {"data": {"a": "2"}}, Content_Type=MERGE)
    assert (answer.status, answer.json()["details"]["kind"]) == (422, "PatchOptions")


async def test_the_status_of_what_is_not_there_is_not_made(wire: Wire) -> None:
    config = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "status": {"replicas": 1}}
    assert (await apply(wire, f"{DEPLOYMENTS}/d/status", config)).status == 404
    await wire("POST", DEPLOYMENTS, deployment(), User_Agent="maker/1")
    made = await apply(wire, f"{DEPLOYMENTS}/d/status", config, "ctl")
    assert made.json()["status"] == {"replicas": 1}
    assert entries(made) == [("ctl", "Apply", "status"), ("maker", "Update", "")]


def scale(replicas: int) -> dict[str, Any]:
    named = {"name": "d", "namespace": "default"}
    return {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": named, "spec": {"replicas": replicas}}


async def replicas_of(wire: Wire) -> dict[str, list[str]]:
    found = (await wire("GET", f"{DEPLOYMENTS}/d")).json()["metadata"]["managedFields"]
    return {
        f"{entry['manager']}/{entry.get('subresource', '')}": sorted(entry["fieldsV1"].get("f:spec", {}))
        for entry in found
        if "f:replicas" in entry["fieldsV1"].get("f:spec", {})
    }


async def test_scaling_takes_over_the_replicas_and_nothing_else(wire: Wire) -> None:
    await wire("POST", DEPLOYMENTS, deployment(), User_Agent="maker/1")
    await wire("PUT", f"{DEPLOYMENTS}/d/scale", scale(3), User_Agent="scaler/1")
    assert await replicas_of(wire) == {"scaler/scale": ["f:replicas"]}
    refused = await apply(wire, f"{DEPLOYMENTS}/d/scale", scale(4), "hpa")
    (cause,) = refused.json()["details"]["causes"]
    assert cause["message"] == 'conflict with "scaler" with subresource "scale" using autoscaling/v1'
    forced = await apply(wire, f"{DEPLOYMENTS}/d/scale", scale(4), "hpa", force="true")
    assert forced.json()["spec"] == {"replicas": 4}
    assert await replicas_of(wire) == {"hpa/scale": ["f:replicas"]}
    same = await apply(wire, f"{DEPLOYMENTS}/d/scale", scale(4), "hpa")
    assert same.json()["metadata"]["resourceVersion"] == forced.json()["metadata"]["resourceVersion"]
    bad = await apply(wire, f"{DEPLOYMENTS}/d/scale", scale(4) | {"kind": "Deployment"}, "hpa")
    assert (bad.status, bad.json()["message"]) == (400, "invalid object type: autoscaling/v1, Kind=Deployment")


@pytest.mark.parametrize(
    ("agent", "manager"),
    [("kubectl/v1.32.4 (linux/amd64)", "kubectl"), ("plain", "plain"), ("", "unknown"), ("x" * 200, "x" * 128)],
)
async def test_who_names_no_manager_is_the_program_that_asks(wire: Wire, agent: str, manager: str) -> None:
    await wire("POST", MAPS, config_map(a="1"), User_Agent=agent)
    assert entries(await wire("GET", f"{MAPS}/c")) == [(manager, "Update", "")]


async def test_the_manager_may_be_named(wire: Wire) -> None:
    await wire("POST", f"{MAPS}?fieldManager=me", config_map(a="1"), User_Agent="agent/1")
    assert entries(await wire("GET", f"{MAPS}/c")) == [("me", "Update", "")]


async def test_every_form_shows_managed_fields(wire: Wire) -> None:
    await apply(wire, f"{MAPS}/c", config_map(a="1"))
    partial = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
    assert entries(await wire("GET", f"{MAPS}/c", Accept=partial)) == [("one", "Apply", "")]
    table = await wire("GET", MAPS, Accept="application/json;as=Table;g=meta.k8s.io;v=v1")
    assert "managedFields" in json.dumps(table.json()["rows"])


async def test_what_runs_inside_is_told_apart() -> None:
    """The managers of upstream's components."""
    async with Cluster(nodes=1, clock="virtual", seed=1) as cluster:
        deployments = Resource("apps", "v1", "deployments")
        await cluster.client.of("me").create(deployments, "default", deployment())
        await cluster.advance("30s")
        found = {}
        for resource in (Resource("", "v1", "pods"), deployments, Resource("", "v1", "nodes")):
            for obj in (await cluster.client.list(resource)).items:
                told = {(entry["manager"], entry.get("subresource", "")) for entry in obj["metadata"]["managedFields"]}
                found[resource.plural] = told
    assert found["pods"] == {("kube-controller-manager", ""), ("kubelet", "status")}
    assert found["deployments"] == {("me", ""), ("kube-controller-manager", "status")}
    assert found["nodes"] == {("kubelet", ""), ("kubelet", "status")}


FORGOTTEN: list[tuple[str, str, Any]] = [
    ("PUT", "application/json", {**config_map(a="1"), "metadata": {"name": "c", "managedFields": []}}),
    ("PUT", "application/json", {**config_map(a="1"), "metadata": {"name": "c", "managedFields": [{}]}}),
    ("PATCH", MERGE, {"metadata": {"managedFields": []}}),
    ("PATCH", MERGE, {"metadata": {"managedFields": [{}]}}),
    ("PATCH", "application/strategic-merge-patch+json", {"metadata": {"managedFields": [{}]}}),
    ("PATCH", "application/json-patch+json", [{"op": "replace", "path": "/metadata/managedFields", "value": []}]),
    ("PATCH", "application/json-patch+json", [{"op": "replace", "path": "/metadata/managedFields", "value": [{}]}]),
]


@pytest.mark.parametrize(("method", "media", "body"), FORGOTTEN)
async def test_managers_may_be_forgotten(wire: Wire, method: str, media: str, body: Any) -> None:
    await apply(wire, f"{MAPS}/c", config_map(a="1"))
    answer = await wire(method, f"{MAPS}/c", body, Content_Type=media)
    assert (answer.status, entries(answer)) == (200, [])
    stays = await wire("PATCH", f"{MAPS}/c", {"data": {"b": "2"}}, Content_Type=MERGE)
    assert entries(stays) == [], "nobody is told of until somebody applies again"
    again = await apply(wire, f"{MAPS}/c", config_map(c="3"))
    assert entries(again) == [("one", "Apply", ""), ("before-first-apply", "Update", "")]


async def test_not_through_a_subresource(wire: Wire) -> None:
    await apply(wire, f"{DEPLOYMENTS}/d", deployment())
    for forgotten in ([], [{}]):
        body = {"metadata": {"managedFields": forgotten}}
        answer = await wire("PATCH", f"{DEPLOYMENTS}/d/status", body, Content_Type=MERGE)
        assert entries(answer) == [("one", "Apply", "")]


async def test_managers_that_cannot_be_read_are_left_as_they_were(wire: Wire) -> None:
    first = await apply(wire, f"{MAPS}/c", config_map(a="1"))
    good = {"manager": "x", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {}}
    for wrong in ({"operation": "Nope"}, {"apiVersion": ""}, {"fieldsType": ""}, {"fieldsV1": {"nope": {}}}):
        body = {"metadata": {"managedFields": [{**good, **wrong}]}}
        answer = await wire("PATCH", f"{MAPS}/c", body, Content_Type=MERGE)
        assert answer.status == 200
        assert answer.json()["metadata"] == first.json()["metadata"]


async def test_client_side_applies_are_taken_over_by_a_patch(wire: Wire) -> None:
    """As `kubectl apply --server-side` does it: its former self's entry is renamed, of the state that it has seen."""
    await wire("POST", f"{MAPS}?fieldManager=kubectl-client-side-apply", config_map(a="1"))
    seen = (await wire("GET", f"{MAPS}/c")).json()["metadata"]
    (entry,) = seen["managedFields"]
    renamed = entry | {"manager": "kubectl", "operation": "Apply"}
    patch = [
        {"op": "replace", "path": "/metadata/managedFields", "value": [renamed]},
        {"op": "replace", "path": "/metadata/resourceVersion", "value": seen["resourceVersion"]},
    ]
    media = "application/json-patch+json"
    assert entries(await wire("PATCH", f"{MAPS}/c", patch, Content_Type=media)) == [("kubectl", "Apply", "")]
    assert (await wire("PATCH", f"{MAPS}/c", patch, Content_Type=media)).status == 409
    assert (await apply(wire, f"{MAPS}/c", config_map(b="1"), "kubectl")).json()["data"] == {"b": "1"}


def quantified(**spec: Any) -> dict[str, Any]:
    made = deployment()
    made["spec"]["template"]["spec"]["containers"][0]["resources"] = {"limits": {"cpu": "1000m"}}
    made["spec"] |= spec
    return made


async def test_what_is_said_again_in_other_words_is_no_change(wire: Wire) -> None:
    """A quantity written otherwise, or null where the default is: neither a new revision nor a new time."""
    for config in (quantified(), quantified(replicas=None, revisionHistoryLimit=None)):
        first = await apply(wire, f"{DEPLOYMENTS}/d", config)
        again = await apply(wire, f"{DEPLOYMENTS}/d", config)
        assert again.json() == first.json()
        assert again.json()["spec"]["replicas"] == 1


async def test_null_values_of_a_map(wire: Wire) -> None:
    made = await apply(wire, f"{MAPS}/c", config_map(a=None, b="1"))
    assert made.json()["data"] == {"a": "", "b": "1"}
    assert (await apply(wire, f"{MAPS}/c", config_map(b="1"))).json()["data"] == {"b": "1"}
    nothing = await apply(wire, f"{MAPS}/c", config_map() | {"data": None}, "two")
    assert (nothing.status, nothing.json()["data"]) == (200, {"b": "1"})


EVERY_KIND = {
    "/api/v1/namespaces/default/pods/c": ("v1", "Pod"),
    "/api/v1/namespaces/default/services/c": ("v1", "Service"),
    "/api/v1/nodes/c": ("v1", "Node"),
    "/api/v1/namespaces/c": ("v1", "Namespace"),
    "/api/v1/namespaces/default/secrets/c": ("v1", "Secret"),
    "/api/v1/namespaces/default/events/c": ("v1", "Event"),
    f"{DEPLOYMENTS}/c": ("apps/v1", "Deployment"),
    "/apis/batch/v1/namespaces/default/jobs/c": ("batch/v1", "Job"),
    "/apis/batch/v1/namespaces/default/cronjobs/c": ("batch/v1", "CronJob"),
    "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers/c": ("autoscaling/v1", "HorizontalPodAutoscaler"),
    "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers/d": ("autoscaling/v2", "HorizontalPodAutoscaler"),
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/c.g.io": (
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
    ),
}


@pytest.mark.parametrize("path", EVERY_KIND)
@pytest.mark.parametrize("metadata", [None, {}, {"labels": None}])
@pytest.mark.parametrize("nothing", [None, {}])
async def test_nothing_at_all_is_answered(wire: Wire, path: str, metadata: Any, nothing: Any) -> None:
    version, kind = EVERY_KIND[path]
    config = {"apiVersion": version, "kind": kind, "metadata": metadata}
    parts = {} if kind in ("Secret", "Event") else {"spec": nothing, "status": nothing}
    assert (await apply(wire, path, config | parts)).status == 400
    named = config | {"metadata": {**(metadata or {}), "name": path.rpartition("/")[2]}}
    for part in ({}, parts):
        answer = await apply(wire, path, named | part, "two")
        assert answer.status in (200, 201, 409, 422), answer.body

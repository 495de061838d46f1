"""Subresources: binding and its races, scale; status and spec do not touch each other."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Awaitable
from typing import Any

import pytest

from kube32_sim.api.errors import ApiError
from kube32_sim.client import NODES, PODS, Resource
from kube32_sim.cluster import Cluster
from kube32_sim.registry import subresources
from kube32_sim.registry.asked import Asked
from tests.support.objects import REPLICASETS, pod, replica_set

JsonObject = dict[str, Any]


async def refused(work: Awaitable[Any]) -> ApiError:
    with pytest.raises(ApiError) as caught:
        await work
    return caught.value


def asked(cluster: Cluster, resource: Resource, name: str, subresource: str = "", namespace: str = "default") -> Asked:
    row = cluster.registry.table.by_path(resource.group, resource.version, resource.plural)
    assert row is not None
    return Asked(row, namespace if row.namespaced else "", name, subresource)


# binding


def binding(name: str, to: str, **metadata: Any) -> JsonObject:
    return {"metadata": {"name": name, **metadata}, "target": {"kind": "Node", "name": to}}


async def bind(cluster: Cluster, name: str, to: str, **metadata: Any) -> JsonObject:
    return await cluster.client.create(PODS, "default", binding(name, to, **metadata), subresource="binding", name=name)


async def test_of_many_bindings_one_wins(cluster: Cluster) -> None:
    await cluster.client.create(PODS, "default", pod("p"))

    async def attempt(number: int) -> int:
        try:
            await bind(cluster, "p", f"n{number}")
        except ApiError as error:
            return -1 if error.reason == "Conflict" else error.code
        return number

    outcomes = await asyncio.gather(*(attempt(number) for number in range(10)))
    winners = [number for number in outcomes if number >= 0]
    assert len(winners) == 1
    assert winners[0] < 10
    bound = await cluster.client.get(PODS, "default", "p")
    assert bound["spec"]["nodeName"] == f"n{winners[0]}"
    assert [c["type"] for c in bound["status"]["conditions"]] == ["PodScheduled"]
    assert [p.name for p in cluster.store.by_field(("", "pods"), "spec.nodeName", f"n{winners[0]}")] == ["p"]


ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"


async def test_a_pod_tells_the_zone_of_its_node(cluster: Cluster) -> None:
    client = cluster.client
    labels = {ZONE: "a", REGION: "r", "other": "x"}
    await client.create(NODES, "", {"metadata": {"name": "n1", "labels": labels}})
    await client.create(PODS, "default", pod("bound", labels={ZONE: "own"}))
    await bind(cluster, "bound", "n1", labels={"app": "new", REGION: "given"})
    assert (await client.get(PODS, "default", "bound"))["metadata"]["labels"] == {
        ZONE: "own",
        REGION: "given",
        "app": "new",
    }
    made = await client.create(PODS, "default", pod("placed", spec={"nodeName": "n1"}))
    assert made["metadata"]["labels"] == {ZONE: "a", REGION: "r"}
    assert "labels" not in (await client.create(PODS, "default", pod("lost", spec={"nodeName": "n2"})))["metadata"]


async def test_what_cannot_be_bound(cluster: Cluster) -> None:
    client = cluster.client
    await client.create(PODS, "default", pod("gated", spec={"schedulingGates": [{"name": "g"}]}))
    going = pod("going", finalizers=["x.example/one"])
    await client.create(PODS, "default", going)
    await client.delete(PODS, "default", "going")
    await client.create(PODS, "default", pod("p"))
    for name, metadata in (("gated", {}), ("going", {}), ("p", {"uid": "other"})):
        assert (await refused(bind(cluster, name, "n1", **metadata))).code == 409, name
    assert (await refused(bind(cluster, "none", "n1"))).code == 404
    error = await refused(bind(cluster, "p", ""))
    assert (error.code, error.message) == (422, 'Binding "p" is invalid: target.name: Required value')
    neither = {"metadata": {"name": "p"}, "target": {"kind": "Pod"}}
    error = await refused(client.create(PODS, "default", neither, subresource="binding", name="p"))
    assert [cause["field"] for cause in error.details["causes"]] == ["target.kind", "target.name"]
    for metadata in ({"name": "q"}, {}, {"name": "p", "namespace": "other"}):
        body = {**binding("p", "n1"), "metadata": metadata}
        wrong = cluster.client.create(PODS, "default", body, subresource="binding", name="p")
        assert (await refused(wrong)).code == 400, metadata
    assert [p.name for p in cluster.store.by_field(("", "pods"), "spec.nodeName", "n1")] == []


@pytest.mark.parametrize(("key", "shown"), [("uid", "UID"), ("resourceVersion", "ResourceVersion")])
async def test_a_binding_may_be_of_one_state_of_one_pod(cluster: Cluster, key: str, shown: str) -> None:
    made = (await cluster.client.create(PODS, "default", pod("p")))["metadata"]
    assert (await refused(bind(cluster, "p", "n1", **{key: "7777"}))).message == (
        'Operation cannot be fulfilled on pods "p": StorageError: invalid object, Code: 4, Key: /registry/pods/default/'
        f"p, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: {shown} in precondition: 7777, {shown} in "
        f"object meta: {made[key]}"
    )
    await bind(cluster, "p", "n1", **{key: made[key]})


async def test_a_binding_hands_labels_on(cluster: Cluster) -> None:
    await cluster.client.create(PODS, "default", pod("p", labels={"a": "1"}))
    await bind(cluster, "p", "n1", labels={"zone": "z"}, annotations={"why": "so"})
    metadata = (await cluster.client.get(PODS, "default", "p"))["metadata"]
    assert (metadata["labels"], metadata["annotations"]) == ({"a": "1", "zone": "z"}, {"why": "so"})


# scale


async def test_scale_is_the_replicas_of_its_object(cluster: Cluster) -> None:
    await cluster.client.create(REPLICASETS, "default", replica_set("web", 2))
    row = asked(cluster, REPLICASETS, "web", "scale")
    now = subresources.get_scale(cluster.registry, row)
    assert (now["spec"], now["status"]["replicas"]) == ({"replicas": 2}, 0)
    scaled = await subresources.put_scale(cluster.registry, row, lambda s: {**s, "spec": {"replicas": 5}})
    assert scaled["spec"] == {"replicas": 5}
    stored = await cluster.client.get(REPLICASETS, "default", "web")
    assert (stored["spec"]["replicas"], stored["metadata"]["generation"]) == (5, 2)
    error = await refused(subresources.put_scale(cluster.registry, row, lambda _: now))
    assert (error.code, error.reason) == (409, "Conflict")
    error = await refused(subresources.put_scale(cluster.registry, row, lambda s: {**s, "spec": {"replicas": -1}}))
    assert error.code == 422


# status

TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
JOB_TEMPLATE = {"spec": {**TEMPLATE["spec"], "restartPolicy": "Never"}}  # type: ignore[dict-item]
SELECTOR = {"matchLabels": {"a": "b"}}
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
HPA = {"scaleTargetRef": {"apiVersion": "x/v1", "kind": "X", "name": "x"}, "maxReplicas": 3}
CRD = {
    "group": "x.example",
    "names": {"plural": "things", "kind": "Thing"},
    "scope": "Namespaced",
    "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}],
}
CONDITION = {"type": "T", "status": "True", "reason": "R", "message": "m", "lastTransitionTime": "2026-01-01T00:00:00Z"}
CONDITIONS = {"conditions": [CONDITION]}
REPLICAS = {"replicas": 1, "observedGeneration": 1}
KINDS: list[tuple[str, str, JsonObject, JsonObject]] = [
    ("/v1", "namespaces", {"spec": {}}, {"phase": "Active", **CONDITIONS}),
    ("/v1", "nodes", {"spec": {}}, {"nodeInfo": {"kubeletVersion": "v9"}}),
    (
        "/v1",
        "persistentvolumes",
        {"spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}}},
        {"phase": "Available"},
    ),
    ("/v1", "persistentvolumeclaims", {"spec": CLAIM}, {"phase": "Bound"}),
    ("/v1", "pods", {"spec": TEMPLATE["spec"]}, {"phase": "Running", "podIP": "10.0.0.1"}),
    ("/v1", "replicationcontrollers", {"spec": {"selector": {"a": "b"}, "template": TEMPLATE}}, REPLICAS),
    ("/v1", "resourcequotas", {"spec": {"hard": {"pods": "3"}}}, {"used": {"pods": "1"}}),
    (
        "/v1",
        "services",
        {"spec": {"ports": [{"port": 1}], "type": "LoadBalancer"}},
        {"loadBalancer": {"ingress": [{"ip": "10.0.0.1", "ipMode": "VIP"}]}},
    ),
    (
        "apiregistration.k8s.io/v1",
        "apiservices",
        {
            "spec": {
                "group": "x.example",
                "version": "v1",
                "groupPriorityMinimum": 10,
                "versionPriority": 10,
                "service": {"name": "s", "namespace": "default"},
                "insecureSkipTLSVerify": True,
            }
        },
        CONDITIONS,
    ),
    ("apps/v1", "daemonsets", {"spec": {"selector": SELECTOR, "template": TEMPLATE}}, {"numberReady": 1}),
    ("apps/v1", "deployments", {"spec": {"selector": SELECTOR, "template": TEMPLATE}}, REPLICAS),
    ("apps/v1", "replicasets", {"spec": {"selector": SELECTOR, "template": TEMPLATE}}, REPLICAS),
    ("apps/v1", "statefulsets", {"spec": {"selector": SELECTOR, "template": TEMPLATE, "serviceName": "s"}}, REPLICAS),
    ("autoscaling/v2", "horizontalpodautoscalers", {"spec": HPA}, {"currentReplicas": 1, "desiredReplicas": 2}),
    ("autoscaling/v1", "horizontalpodautoscalers", {"spec": HPA}, {"currentReplicas": 1, "desiredReplicas": 2}),
    (
        "batch/v1",
        "cronjobs",
        {"spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": JOB_TEMPLATE}}}},
        {"lastScheduleTime": "2026-01-01T00:00:00Z"},
    ),
    ("batch/v1", "jobs", {"spec": {"template": JOB_TEMPLATE}}, {"active": 1, "startTime": "2026-01-01T00:00:00Z"}),
    (
        "networking.k8s.io/v1",
        "ingresses",
        {"spec": {"defaultBackend": {"service": {"name": "s", "port": {"number": 1}}}}},
        {"loadBalancer": {"ingress": [{"ip": "10.0.0.1"}]}},
    ),
    ("networking.k8s.io/v1", "servicecidrs", {"spec": {"cidrs": ["10.9.0.0/16"]}}, CONDITIONS),
    ("policy/v1", "poddisruptionbudgets", {"spec": {"selector": SELECTOR}}, {"disruptionsAllowed": 2}),
    (
        "storage.k8s.io/v1",
        "volumeattachments",
        {"spec": {"attacher": "x.example", "nodeName": "n", "source": {"persistentVolumeName": "v"}}},
        {"attached": True},
    ),
    ("apiextensions.k8s.io/v1", "customresourcedefinitions", {"spec": CRD}, {"storedVersions": ["v1"], **CONDITIONS}),
    (
        "flowcontrol.apiserver.k8s.io/v1",
        "flowschemas",
        {"spec": {"priorityLevelConfiguration": {"name": "x"}, "matchingPrecedence": 100}},
        CONDITIONS,
    ),
    (
        "flowcontrol.apiserver.k8s.io/v1",
        "prioritylevelconfigurations",
        {"spec": {"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}}}},
        CONDITIONS,
    ),
]


def test_every_kind_with_a_status_is_looked_at(cluster: Cluster) -> None:
    rows = {(row.api_version, row.plural) for row in cluster.registry.table if row.stored and row.subresource("status")}
    seen = {(version.lstrip("/"), plural) for version, plural, _, _ in KINDS}
    others = {"certificatesigningrequests", "validatingadmissionpolicies", "resourceclaims"}
    assert {plural for _, plural in rows - seen} <= others


@pytest.mark.parametrize(("version", "plural", "obj", "status"), KINDS, ids=[f"{kind[0]}-{kind[1]}" for kind in KINDS])
async def test_status_and_spec_do_not_touch_each_other(
    cluster: Cluster, version: str, plural: str, obj: JsonObject, status: JsonObject
) -> None:
    client = cluster.client
    resource = Resource(*version.rpartition("/")[::2], plural)
    row = asked(cluster, resource, "").row
    namespace = "default" if row.namespaced else ""
    name = {"customresourcedefinitions": "things.x.example", "apiservices": "v1.x.example"}.get(plural, "it")
    given = {
        "metadata": {"name": name, "annotations": {"a": "1"}},
        **copy.deepcopy(obj),
        "status": copy.deepcopy(status),
    }

    made = await client.create(resource, namespace, copy.deepcopy(given))
    if plural not in ("nodes",):  # a board tells its status when it registers
        assert_lacks(made.get("status") or {}, status)

    if plural == "customresourcedefinitions":  # its names are accepted within the create
        made = await client.get(resource, namespace, name)

    # by the main resource, status stays
    changed = copy.deepcopy(made)
    changed["status"] = copy.deepcopy(status)
    changed["metadata"]["annotations"] = {"a": "2"}
    updated = await client.update(resource, namespace, changed)
    assert updated["metadata"]["annotations"]["a"] == "2"
    assert updated.get("status") == made.get("status")
    patched = await client.patch(resource, namespace, name, {"status": copy.deepcopy(status)})
    assert patched.get("status") == made.get("status")

    # by status, the rest stays
    changed = copy.deepcopy(updated)
    changed.pop("spec", None)
    changed["status"] = {**(made.get("status") or {}), **copy.deepcopy(status)}
    changed["spec"] = spoiled(row.kind, made["spec"])
    told = await client.update(resource, namespace, changed, subresource="status")
    assert told["spec"] == made["spec"]
    assert told["metadata"].get("generation") == updated["metadata"].get("generation")
    for key, value in status.items():
        assert told["status"][key] == value or told["status"][key].items() >= value.items()
    patched = await client.patch(resource, namespace, name, {"spec": None, "status": {}}, subresource="status")
    assert patched["spec"] == made["spec"]
    kept = "storedVersions" if plural == "customresourcedefinitions" else None  # its conditions come back at once
    assert patched["status"] == told["status"] or patched["status"][kept] == told["status"][kept]


def assert_lacks(found: JsonObject, given: JsonObject) -> None:
    """What a client gave as status is not in what was made; a kind may have an initial one, the same for all."""
    for key, value in given.items():
        if key == "conditions":
            assert CONDITION["reason"] not in [c.get("reason") for c in found.get(key) or ()]
        elif key not in ("phase", "storedVersions"):
            assert found.get(key) in (None, 0, {}, False) or found[key] != value, key


def spoiled(kind: str, spec: JsonObject) -> JsonObject:
    """Another spec that decodes."""
    return {key: value for number, (key, value) in enumerate(sorted(spec.items())) if number % 2}

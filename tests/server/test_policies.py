"""Admission policies as their users meet them: stored, bound, and from then on in the way of every write."""

from __future__ import annotations

from typing import Any

import pytest

from kube32_sim.client import DEPLOYMENTS, NAMESPACES, PODS, Resource
from kube32_sim.cluster import Cluster
from kube32_sim.options import ServeOptions
from tests.support.definitions import CRDS, custom, definition, object_schema, served, version
from tests.support.objects import MAPS, config_map
from tests.support.policies import binding, deployment, mutating_policy, params_of, policy
from tests.support.wire import Answer, Wire

JsonObject = dict[str, Any]

GROUP = "admissionregistration.k8s.io"
VALIDATING = (
    Resource(GROUP, "v1", "validatingadmissionpolicies"),
    Resource(GROUP, "v1", "validatingadmissionpolicybindings"),
)
MUTATING = (
    Resource(GROUP, "v1", "mutatingadmissionpolicies"),
    Resource(GROUP, "v1", "mutatingadmissionpolicybindings"),
)
PATH = "/apis/apps/v1/namespaces/default/deployments"


def rules(plural: str, group: str = "apps", *operations: str) -> list[JsonObject]:
    wanted = list(operations or ("CREATE", "UPDATE"))
    return [{"operations": wanted, "apiGroups": [group], "apiVersions": ["*"], "resources": [plural]}]


async def put(cluster: Cluster, of: JsonObject, *bindings: JsonObject, kind: tuple[Resource, Resource]) -> None:
    for one in bindings:
        await cluster.client.create(kind[1], "", one)
    await cluster.client.create(kind[0], "", of)


async def post(wire: Wire, obj: JsonObject, path: str = PATH) -> Answer:
    return await wire("POST", path, obj)


async def test_a_limit_from_a_config_map_is_held(bare: Cluster, wire: Wire) -> None:
    limit = policy(
        {
            "expression": "object.spec.replicas <= int(params.data.most)",
            "messageExpression": "'at most ' + params.data.most",
            "reason": "Forbidden",
        },
        paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
        rules=rules("deployments"),
    )
    await put(bare, limit, binding(paramRef=params_of("limit")), kind=VALIDATING)
    refused = await post(wire, deployment(replicas=3))
    assert refused.status == 422
    assert "no params found for policy binding" in refused.json()["message"]
    await bare.client.create(MAPS, "default", config_map("limit", most="2"))
    refused = await post(wire, deployment(replicas=3))
    message = "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: at most 2"
    assert (refused.status, refused.json()["reason"]) == (403, "Forbidden")
    assert refused.json()["message"] == f'deployments.apps "web" is forbidden: {message}'
    assert (await post(wire, deployment(replicas=2))).status == 201
    patch = {"spec": {"replicas": 5}}
    changed = await wire("PATCH", f"{PATH}/web", patch, Content_Type="application/merge-patch+json")
    assert changed.status == 403
    assert (await bare.client.get(DEPLOYMENTS, "default", "web"))["spec"]["replicas"] == 2


async def test_a_limit_from_a_custom_resource_is_held_for_custom_resources(bare: Cluster, wire: Wire) -> None:
    sized = version(schema=object_schema(spec=object_schema(size={"type": "integer"})))
    limits = definition("limits", "Limit", sized, scope="Cluster")
    for each in (limits, definition("widgets", "Widget", sized)):
        await bare.client.create(CRDS, "", each)
    await bare.client.create(served("limits"), "", custom("small", "Limit", spec={"size": 3}))
    of = policy(
        "object.spec.size <= params.spec.size && params.kind == 'Limit'",
        paramKind={"apiVersion": "example.com/v1", "kind": "Limit"},
        rules=rules("widgets", "example.com"),
    )
    await put(bare, of, binding(paramRef=params_of("small")), kind=VALIDATING)
    path = "/apis/example.com/v1/namespaces/default/widgets"
    assert (await post(wire, custom("a", spec={"size": 3}), path)).status == 201
    assert (await post(wire, custom("b", spec={"size": 4}), path)).status == 422


async def test_warnings_come_with_what_is_stored(bare: Cluster, wire: Wire) -> None:
    of = policy({"expression": "has(object.metadata.labels)", "message": "unlabelled"}, rules=rules("deployments"))
    await put(bare, of, binding(actions=["Warn"]), kind=VALIDATING)
    answer = await post(wire, deployment())
    assert answer.status == 201
    text = "Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': unlabelled"
    assert answer.headers["warning"] == [f'299 - "{text}"']


async def test_a_deletion_is_seen_without_an_object(bare: Cluster, wire: Wire) -> None:
    guarded = policy(
        "!('keep' in oldObject.metadata.?labels.orValue({}))", "object == null", rules=rules("*", "*", "DELETE")
    )
    await put(bare, guarded, binding(), kind=VALIDATING)
    await bare.client.create(DEPLOYMENTS, "default", deployment(labels={"keep": "1"}))
    await bare.client.create(DEPLOYMENTS, "default", deployment("other"))
    assert (await wire("DELETE", f"{PATH}/web")).status == 422
    assert (await wire("DELETE", f"{PATH}/other")).status == 200
    assert [one["metadata"]["name"] for one in (await bare.client.list(DEPLOYMENTS, "default")).items] == ["web"]


async def test_the_label_of_a_namespace_decides(bare: Cluster, wire: Wire) -> None:
    match = {"matchPolicy": "Equivalent", "namespaceSelector": {"matchLabels": {"frozen": "yes"}}, "objectSelector": {}}
    await put(bare, policy("false", rules=rules("deployments")), binding(matchResources=match), kind=VALIDATING)
    for name, labels in (("ice", {"frozen": "yes"}), ("water", {})):
        await bare.client.create(NAMESPACES, "", {"metadata": {"name": name, "labels": labels}})
        obj = deployment()
        obj["metadata"]["namespace"] = name
        status = (await post(wire, obj, f"/apis/apps/v1/namespaces/{name}/deployments")).status
        assert status == (422 if labels else 201)


async def test_objects_are_changed_as_they_are_written(bare: Cluster, wire: Wire) -> None:
    labelling = mutating_policy(
        "Object{metadata: Object.metadata{labels: {'by': request.userInfo.username.replace(':', '.')}}}",
        "[JSONPatch{op: 'add', path: '/spec/template/spec/containers/-', value: "
        "Object.spec.template.spec.containers{name: 'side', image: 'envoy'}}]",
        rules=rules("deployments", "apps", "CREATE"),
    )
    await put(bare, labelling, binding(), kind=MUTATING)
    made = (await post(wire, deployment())).json()
    assert made["metadata"]["labels"] == {"by": "system.admin"}
    assert [one["name"] for one in made["spec"]["template"]["spec"]["containers"]] == ["main", "side"]
    assert made["spec"]["template"]["spec"]["containers"][1]["terminationMessagePolicy"] == "File"
    managed = {entry["manager"] for entry in made["metadata"]["managedFields"]}
    assert len(managed) == 1
    dry = await post(wire, deployment("dry"), f"{PATH}?dryRun=All")
    assert dry.json()["metadata"]["labels"] == {"by": "system.admin"}


async def test_a_custom_resource_is_merged_by_its_schema(bare: Cluster, wire: Wire) -> None:
    part = object_schema(name={"type": "string"}, n={"type": "integer"}) | {"required": ["name"]}
    parts = {"type": "array", "items": part, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
    schema = object_schema(spec=object_schema(parts=parts))
    await bare.client.create(CRDS, "", definition("widgets", "Widget", version(schema=schema)))
    of = mutating_policy(
        "Object{spec: Object.spec{parts: [Object.spec.parts{name: 'b', n: 2}]}}", rules=rules("widgets", "example.com")
    )
    await put(bare, of, binding(), kind=MUTATING)
    obj = custom("a", spec={"parts": [{"name": "a", "n": 1}, {"name": "b", "n": 1}]})
    answer = await post(wire, obj, "/apis/example.com/v1/namespaces/default/widgets")
    assert answer.json()["spec"]["parts"] == [{"name": "a", "n": 1}, {"name": "b", "n": 2}]


async def test_what_a_mutation_makes_is_validated(bare: Cluster, wire: Wire) -> None:
    growing = mutating_policy(
        "Object{spec: Object.spec{replicas: 9}}", rules=rules("deployments"), name="grow", again="IfNeeded"
    )
    await put(bare, growing, binding("grow"), kind=MUTATING)
    await put(bare, policy("object.spec.replicas < 9", rules=rules("deployments")), binding(), kind=VALIDATING)
    answer = await post(wire, deployment())
    assert (answer.status, answer.json()["message"].rpartition(": ")[2]) == (422, "object.spec.replicas < 9")
    assert not (await bare.client.list(DEPLOYMENTS, "default")).items


async def test_a_status_and_a_scale_are_subresources(bare: Cluster, wire: Wire) -> None:
    await bare.client.create(DEPLOYMENTS, "default", deployment())
    of = policy("object.spec.replicas < 3 && object.kind == 'Scale'", rules=rules("deployments/scale"))
    await put(bare, of, binding(), kind=VALIDATING)
    merge = "application/merge-patch+json"
    for replicas, status in ((2, 200), (4, 422)):
        patch = {"spec": {"replicas": replicas}}
        assert (await wire("PATCH", f"{PATH}/web/scale", patch, Content_Type=merge)).status == status
    plain = await wire("PATCH", f"{PATH}/web", {"spec": {"replicas": 5}}, Content_Type=merge)
    assert plain.status == 200
    frozen = policy("object.status == oldObject.status", name="s", rules=rules("deployments/status"))
    await put(bare, frozen, binding("s", "s"), kind=VALIDATING)
    patch = {"status": {"replicas": 5}}
    assert (await wire("PATCH", f"{PATH}/web/status", patch, Content_Type=merge)).status == 422


@pytest.mark.parametrize("what", ["policy", "binding"])
async def test_nothing_is_asked_once_it_is_gone(bare: Cluster, wire: Wire, what: str) -> None:
    await put(bare, policy("false", rules=rules("deployments")), binding(), kind=VALIDATING)
    assert (await post(wire, deployment())).status == 422
    gone, name = (VALIDATING[0], "p") if what == "policy" else (VALIDATING[1], "b")
    await bare.client.delete(gone, "", name)
    assert (await post(wire, deployment())).status == 201


async def test_a_policy_can_be_repaired_whatever_it_says(bare: Cluster, wire: Wire) -> None:
    everything = policy("false")
    await put(bare, everything, binding(), kind=VALIDATING)
    assert (await post(wire, deployment())).status == 422
    path = f"/apis/{GROUP}/v1/validatingadmissionpolicies/p"
    patch = {"spec": {"validations": [{"expression": "true"}]}}
    assert (await wire("PATCH", path, patch, Content_Type="application/merge-patch+json")).status == 200
    assert (await post(wire, deployment())).status == 201


async def test_pods_are_created_by_nobody_past_a_policy() -> None:
    """The loops of the cluster itself are refused like everybody else, and go on."""
    async with Cluster(ServeOptions(port=0, nodes=1, clock="virtual")) as cluster:
        of = policy("request.userInfo.username == 'nobody'", rules=rules("pods", "", "CREATE"))
        await put(cluster, of, binding(), kind=VALIDATING)
        status = (await cluster.client.get(VALIDATING[0], "", "p"))["status"]
        assert status == {"observedGeneration": 1, "typeChecking": {}}
        await cluster.client.create(DEPLOYMENTS, "default", deployment())
        await cluster.advance("30s")
        assert not (await cluster.client.list(PODS, "default")).items
        await cluster.client.delete(VALIDATING[1], "", "b")
        await cluster.advance("120s")
        assert (await cluster.client.list(PODS, "default")).items


async def test_the_status_tells_what_expressions_get_wrong() -> None:
    async with Cluster(ServeOptions(port=0, nodes=0, clock="virtual")) as cluster:
        sized = version(schema=object_schema(spec=object_schema(size={"type": "integer"})))
        await cluster.client.create(CRDS, "", definition("widgets", "Widget", sized))
        of = policy("object.spec.size > 1", "object.spec.sise > 1", rules=rules("widgets", "example.com"))
        of["spec"]["matchConstraints"]["resourceRules"][0]["apiVersions"] = ["v1"]
        made = await cluster.client.create(VALIDATING[0], "", of)
        stored = await cluster.client.get(VALIDATING[0], "", "p")
        (warning,) = stored["status"]["typeChecking"]["expressionWarnings"]
        assert warning["fieldRef"] == "spec.validations[1].expression"
        assert warning["warning"].startswith("example.com/v1, Kind=Widget: ERROR: <input>:1:12: undefined field 'sise'")
        assert stored["metadata"]["resourceVersion"] != made["metadata"]["resourceVersion"]
        stored["spec"]["validations"] = [{"expression": "object.spec.size > 1"}]
        await cluster.client.update(VALIDATING[0], "", stored)
        status = (await cluster.client.get(VALIDATING[0], "", "p"))["status"]
        assert status == {"observedGeneration": 2, "typeChecking": {}}


@pytest.mark.parametrize(
    "operation",
    [
        "{op: 'remove', path: '/metadata'}",
        "{op: 'remove', path: '/metadata/name'}",
        "{op: 'replace', path: '/metadata/name', value: 'other'}",
        "{op: 'replace', path: '/metadata/namespace', value: 'kube-system'}",
        "{op: 'add', path: '/metadata/uid', value: 'x'}",
        "{op: 'add', path: '/metadata/managedFields', value: [{}]}",
        "{op: 'add', path: '/metadata/resourceVersion', value: '1'}",
        "{op: 'add', path: '/metadata/deletionTimestamp', value: 'x'}",
        "{op: 'remove', path: '/spec'}",
        "{op: 'replace', path: '/spec', value: 3}",
        "{op: 'replace', path: '/apiVersion', value: 'v2'}",
    ],
)
async def test_no_mutation_breaks_the_server(bare: Cluster, wire: Wire, operation: str) -> None:
    await bare.client.create(DEPLOYMENTS, "default", deployment("before"))
    await put(bare, mutating_policy(f"[JSONPatch{operation}]", rules=rules("deployments")), binding(), kind=MUTATING)
    created = await post(wire, deployment())
    patch = {"spec": {"replicas": 2}}
    changed = await wire("PATCH", f"{PATH}/before", patch, Content_Type="application/merge-patch+json")
    path = f"{PATH}/before?fieldManager=me&force=true"
    applied = await wire(
        "PATCH",
        path,
        {"apiVersion": "apps/v1", "kind": "Deployment", **deployment("before")},
        Content_Type="application/apply-patch+yaml",
    )
    assert max(answer.status for answer in (created, changed, applied)) < 500

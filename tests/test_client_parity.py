"""Whoever holds a client cannot tell whether it is the one in process or the one over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import Any

import pytest
import pytest_asyncio

from kube32_sim.api.errors import ApiError
from kube32_sim.client import (
    CLOCKS,
    DEPLOYMENTS,
    EVENTS,
    FORKS,
    NAMESPACES,
    NODES,
    PODS,
    SERVICES,
    Client,
    Resource,
    WatchEvent,
)
from kube32_sim.cluster import Cluster
from kube32_sim.http_client import HttpClient
from kube32_sim.options import ServeOptions
from tests.support.objects import ENDPOINTS, MAPS, REPLICASETS, config_map, node, pod, replica_set, service

JsonObject = dict[str, Any]
NEW_EVENTS = Resource("events.k8s.io", "v1", "events")
SCALERS = [Resource("autoscaling", version, "horizontalpodautoscalers") for version in ("v1", "v2")]
REVIEWS = Resource("authorization.k8s.io", "v1", "selfsubjectaccessreviews")
FAULTS = Resource("sim.kube32.io", "v1alpha1", "faultscenarios")
SET_BY_CHANCE = ("uid", "creationTimestamp", "resourceVersion")


@pytest_asyncio.fixture
async def cluster() -> AsyncIterator[Cluster]:
    """A bare API server but for Endpoints."""
    options = ServeOptions(port=0, nodes=0, controllers="endpoints", clock="virtual")
    async with Cluster(options) as started:
        yield started
        started.store.check()


@pytest_asyncio.fixture(params=["in process", "over HTTP"])
async def client(cluster: Cluster, request: pytest.FixtureRequest) -> AsyncIterator[Client]:
    if request.param == "in process":
        yield cluster.client
        return
    async with HttpClient(cluster.access) as over_http:
        yield over_http


def plain(obj: JsonObject) -> JsonObject:
    """Without what differs between any two objects."""
    metadata = {key: value for key, value in obj["metadata"].items() if key not in SET_BY_CHANCE}
    return {**obj, "metadata": metadata}


async def outcome(work: Awaitable[Any]) -> Any:
    try:
        return await work
    except ApiError as error:
        return error.status()


async def take(events: AsyncIterator[WatchEvent], count: int) -> list[WatchEvent]:
    """The next events besides bookmarks, which only HTTP sends."""
    found: list[WatchEvent] = []
    async with asyncio.timeout(10):
        async for event in events:
            if event.type != "BOOKMARK":
                found.append(event)
            if len(found) == count:
                break
    return found


def told(events: Iterable[WatchEvent]) -> list[tuple[str, str]]:
    return [(event.type, event.object["metadata"]["name"]) for event in events]


# verbs


async def test_a_life(client: Client) -> None:
    made = await client.create(MAPS, "default", config_map("a", k="1"))
    assert (made["kind"], made["apiVersion"], made["data"]) == ("ConfigMap", "v1", {"k": "1"})
    assert await client.get(MAPS, "default", "a") == made
    listed = await client.list(MAPS, "default")
    assert [plain(item)["data"] for item in listed.items] == [{"k": "1"}]
    assert int(listed.resource_version) >= int(made["metadata"]["resourceVersion"])
    updated = await client.update(MAPS, "default", {**made, "data": {"k": "2"}})
    assert updated["data"] == {"k": "2"}
    merged = await client.patch(MAPS, "default", "a", {"data": {"l": "3", "k": None}})
    assert merged["data"] == {"l": "3"}
    done = await client.delete(MAPS, "default", "a")
    assert done == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {"name": "a", "kind": "configmaps", "uid": made["metadata"]["uid"]},
    }
    assert (await client.list(MAPS, "default")).items == []


async def test_a_strategic_patch_merges_lists_by_their_keys(client: Client) -> None:
    await client.create(PODS, "default", pod("p"))
    patch = {"spec": {"containers": [{"name": "c", "image": "other"}]}, "metadata": {"labels": {"a": "b"}}}
    patched = await client.patch(PODS, "default", "p", patch, kind="strategic")
    assert [c["image"] for c in patched["spec"]["containers"]] == ["other"]
    assert patched["spec"]["containers"][0]["terminationMessagePath"] == "/dev/termination-log"


async def test_subresources(client: Client) -> None:
    await client.create(PODS, "default", pod("p"))
    status = await client.patch(PODS, "default", "p", {"status": {"phase": "Running"}}, subresource="status")
    assert status["status"]["phase"] == "Running"
    put = await client.update(PODS, "default", {**status, "status": {"phase": "Failed"}}, subresource="status")
    assert put["status"]["phase"] == "Failed"
    binding = {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n1"}}
    bound = await client.create(PODS, "default", binding, subresource="binding", name="p")
    assert (bound["kind"], bound["status"], bound["code"]) == ("Status", "Success", 201)
    eviction = {"metadata": {"name": "p"}}
    evicted = await client.create(PODS, "default", eviction, subresource="eviction", name="p")
    assert (evicted["kind"], evicted["status"]) == ("Status", "Success")


async def test_scale(client: Client) -> None:
    await client.create(REPLICASETS, "default", replica_set("r", 1))
    scaled = await client.patch(REPLICASETS, "default", "r", {"spec": {"replicas": 4}}, subresource="scale")
    assert (scaled["kind"], scaled["spec"]) == ("Scale", {"replicas": 4})
    again = await client.update(REPLICASETS, "default", {**scaled, "spec": {"replicas": 2}}, subresource="scale")
    assert (again["kind"], again["spec"]) == ("Scale", {"replicas": 2})
    assert (await client.get(REPLICASETS, "default", "r"))["spec"]["replicas"] == 2


async def test_graceful_deletion_answers_the_object(client: Client) -> None:
    await client.create(PODS, "default", pod("p", spec={"nodeName": "n1"}))
    marked = await client.delete(PODS, "default", "p", options={"gracePeriodSeconds": 7})
    assert (marked["kind"], marked["metadata"]["deletionGracePeriodSeconds"]) == ("Pod", 7)
    pods_answer_themselves = await client.delete(PODS, "default", "p", options={"gracePeriodSeconds": 0})
    assert pods_answer_themselves["kind"] == "Pod"


async def test_cluster_scoped_objects(client: Client) -> None:
    await client.create(NODES, "", node("n1"))
    await client.patch(NODES, "", "n1", {"spec": {"unschedulable": True}})
    assert [item["spec"]["unschedulable"] for item in (await client.list(NODES)).items] == [True]


async def test_lists_can_be_of_the_past(client: Client) -> None:
    await client.create(MAPS, "default", config_map("a"))
    before = await client.list(MAPS, "default")
    await client.create(MAPS, "default", config_map("b"))
    past = await client.list(MAPS, "default", at=before.resource_version)
    assert past == before
    future = str(int(before.resource_version) + 1000)
    refused = await outcome(client.list(MAPS, "default", at=future))
    assert (refused["code"], refused["reason"]) == (504, "Timeout")


async def test_lists_select(client: Client) -> None:
    for name, labels in (("a", {"app": "x"}), ("b", {"app": "y"}), ("c", {})):
        await client.create(PODS, "default", pod(name, labels=labels, spec={"nodeName": "n-" + name}))

    async def names(**selectors: str) -> list[str]:
        return [item["metadata"]["name"] for item in (await client.list(PODS, **selectors)).items]

    assert await names(label_selector="app in (x,z)") == ["a"]
    assert await names(label_selector="app") == ["a", "b"]
    assert await names(field_selector="spec.nodeName=n-c") == ["c"]
    assert await names(field_selector="metadata.name!=a", label_selector="app!=y") == ["c"]


async def test_views_of_the_same_objects(client: Client) -> None:
    about = {"kind": "Pod", "namespace": "default", "name": "p"}
    event = {"metadata": {"name": "e"}, "involvedObject": about, "reason": "R", "message": "m", "type": "Normal"}
    await client.create(EVENTS, "default", {**event, "count": 3})
    new = await client.get(NEW_EVENTS, "default", "e")
    assert (new["apiVersion"], new["note"], new["deprecatedCount"]) == ("events.k8s.io/v1", "m", 3)
    assert "message" not in (await client.list(NEW_EVENTS, "default")).items[0]
    async with client.watch(NEW_EVENTS, "default") as events:
        assert (await take(events, 1))[0].object["note"] == "m"
    spec = {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, "maxReplicas": 5}
    target = {"targetCPUUtilizationPercentage": 70}
    await client.create(SCALERS[0], "default", {"metadata": {"name": "h"}, "spec": {**spec, **target}})
    metric = (await client.get(SCALERS[1], "default", "h"))["spec"]["metrics"][0]
    assert metric["resource"]["target"]["averageUtilization"] == 70
    patch = {"spec": {"targetCPUUtilizationPercentage": 50}}
    assert (await client.patch(SCALERS[0], "default", "h", patch))["spec"]["targetCPUUtilizationPercentage"] == 50


async def test_reviews_are_answered_and_not_stored(client: Client, cluster: Cluster) -> None:
    before = cluster.store.revision
    asked = {"metadata": {}, "spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}
    assert (await client.create(REVIEWS, "", asked))["status"]["allowed"] is True
    assert cluster.store.revision == before


# failures

Failing = Callable[[Client], Awaitable[Any]]
FAILURES: dict[str, Failing] = {
    "not found": lambda c: c.get(MAPS, "default", "none"),
    "exists": lambda c: c.create(MAPS, "default", config_map("there")),
    "invalid": lambda c: c.create(MAPS, "default", config_map("Not A Name")),
    "no name": lambda c: c.create(MAPS, "default", {"metadata": {}}),
    "wrong type": lambda c: c.create(MAPS, "default", {"metadata": {"name": "a"}, "data": {"k": 1}}),
    "wrong type of spec": lambda c: c.create(PODS, "default", {"metadata": {"name": "a"}, "spec": "x"}),
    "version on create": lambda c: c.create(MAPS, "default", {"metadata": {"name": "a", "resourceVersion": "1"}}),
    "other namespace": lambda c: c.create(MAPS, "default", {"metadata": {"name": "a", "namespace": "other"}}),
    "no namespace": lambda c: c.create(MAPS, "nowhere", config_map("a")),
    "stale": lambda c: c.update(MAPS, "default", {"metadata": {"name": "there", "resourceVersion": "1"}}),
    "update of none": lambda c: c.update(MAPS, "default", config_map("none")),
    "patch of none": lambda c: c.patch(MAPS, "default", "none", {"data": {}}),
    "patch of the name": lambda c: c.patch(MAPS, "default", "there", {"metadata": {"name": "b"}}),
    "patch of type": lambda c: c.patch(MAPS, "default", "there", {"data": {"k": 1}}),
    "bad strategic patch": lambda c: c.patch(PODS, "default", "pod", {"spec": {"containers": "x"}}, kind="strategic"),
    "immutable": lambda c: c.patch(PODS, "default", "pod", {"spec": {"nodeName": "n2"}}),
    "delete of none": lambda c: c.delete(MAPS, "default", "none"),
    "delete of another": lambda c: c.delete(MAPS, "default", "there", options={"preconditions": {"uid": "x"}}),
    "bad options": lambda c: c.delete(MAPS, "default", "there", options={"propagationPolicy": "Sometimes"}),
    "bad option type": lambda c: c.delete(MAPS, "default", "there", options={"gracePeriodSeconds": "5"}),
    "label selector": lambda c: c.list(MAPS, "default", label_selector="a in"),
    "field selector": lambda c: c.list(PODS, "default", field_selector="spec.image=x"),
    "unknown type": lambda c: c.list(Resource("", "v1", "nothings")),
    "status of none": lambda c: c.patch(PODS, "default", "none", {"status": {}}, subresource="status"),
    "binding twice": lambda c: c.create(
        PODS, "default", {"metadata": {"name": "pod"}, "target": {"name": "n2"}}, subresource="binding", name="pod"
    ),
    "eviction of none": lambda c: c.create(
        PODS, "default", {"metadata": {"name": "none"}}, subresource="eviction", name="none"
    ),
    "scale below 0": lambda c: c.patch(REPLICASETS, "default", "set", {"spec": {"replicas": -1}}, subresource="scale"),
    "computed": lambda c: c.create(ENDPOINTS, "default", {"metadata": {"name": "e"}}),
    "computed patch": lambda c: c.patch(ENDPOINTS, "default", "e", {"metadata": {}}),
    "computed delete": lambda c: c.delete(ENDPOINTS, "default", "e"),
    "system namespace": lambda c: c.delete(NAMESPACES, "", "default"),
    "review": lambda c: c.create(REVIEWS, "", {"spec": {}}),
    "no faults to change": lambda c: c.patch(FAULTS, "", "cluster", {"spec": {"seed": 1}}),
    "faults that are none": lambda c: c.update(FAULTS, "", {"metadata": {"name": "cluster"}, "spec": {}}),
    "faults of an unknown field": lambda c: c.create(FAULTS, "", {"metadata": {"name": "cluster"}, "spec": {"sed": 1}}),
    "a fork to change": lambda c: c.patch(FORKS, "", "f", {"metadata": {}}),
    "a clock to set": lambda c: c.update(CLOCKS, "", {"metadata": {"name": "cluster"}}),
    "previews to list": lambda c: c.list(Resource("sim.kube32.io", "v1alpha1", "schedulingpreviews")),
}


async def test_faults_of_the_api_are_set_and_changed(client: Client) -> None:
    rule = {"name": "r", "match": {"resources": ["nothings"]}, "effect": {"status": 429}}
    await client.create(FAULTS, "", {"metadata": {"name": "cluster"}, "spec": {"rules": [rule]}})
    patched = await client.patch(FAULTS, "", "cluster", {"spec": {"seed": 3}})
    assert (patched["kind"], patched["spec"]["seed"]) == ("FaultScenario", 3)
    updated = await client.update(FAULTS, "", {"metadata": {"name": "cluster"}, "spec": {"seed": 4, "rules": [rule]}})
    assert (updated["spec"]["seed"], updated["status"]["requests"]) == (4, 0)
    assert (await client.get(FAULTS, "", "cluster"))["spec"] == updated["spec"]


@pytest.mark.parametrize("failing", FAILURES.values(), ids=FAILURES)
async def test_failures_are_the_same(cluster: Cluster, failing: Failing) -> None:
    await cluster.client.create(MAPS, "default", config_map("there"))
    await cluster.client.create(PODS, "default", pod("pod", spec={"nodeName": "n1"}))
    await cluster.client.create(REPLICASETS, "default", replica_set("set"))
    before = cluster.store.revision
    async with HttpClient(cluster.access) as over_http:
        ours, theirs = await outcome(failing(cluster.client)), await outcome(failing(over_http))
    assert ours["status"] == "Failure"
    assert {key: value for key, value in ours.items() if value} == {
        key: value for key, value in theirs.items() if value
    }
    assert cluster.store.revision == before


# watches


async def test_a_watch_starts_with_what_is_there(client: Client) -> None:
    await client.create(MAPS, "default", config_map("a"))
    for since in ("", "0"):
        async with client.watch(MAPS, "default", resource_version=since) as events:
            assert told(await take(events, 1)) == [("ADDED", "a")]


async def test_a_watch_goes_on_from_a_list(client: Client) -> None:
    await client.create(MAPS, "default", config_map("a"))
    since = (await client.list(MAPS, "default")).resource_version
    await client.patch(MAPS, "default", "a", {"data": {"k": "v"}})
    async with client.watch(MAPS, "default", resource_version=since) as events:
        await client.create(MAPS, "default", config_map("b"))
        await client.delete(MAPS, "default", "a")
        found = await take(events, 3)
    assert told(found) == [("MODIFIED", "a"), ("ADDED", "b"), ("DELETED", "a")]
    revisions = [int(event.object["metadata"]["resourceVersion"]) for event in found]
    assert revisions == sorted(set(revisions))
    assert {(event.object["kind"], event.object["apiVersion"]) for event in found} == {("ConfigMap", "v1")}


async def test_a_watch_selects(client: Client) -> None:
    async with client.watch(PODS, field_selector="spec.nodeName=n1", label_selector="app=x") as events:
        await client.create(PODS, "default", pod("a", labels={"app": "x"}, spec={"nodeName": "n1"}))
        await client.create(PODS, "default", pod("b", labels={"app": "x"}, spec={"nodeName": "n2"}))
        await client.patch(PODS, "default", "a", {"metadata": {"labels": {"app": "y"}}})
        await client.patch(PODS, "default", "a", {"metadata": {"labels": {"app": "x"}}})
        assert told(await take(events, 3)) == [("ADDED", "a"), ("DELETED", "a"), ("ADDED", "a")]


async def test_too_old_a_watch_is_told_so_in_the_stream(client: Client, cluster: Cluster) -> None:
    await client.create(MAPS, "default", config_map("a"))
    cluster.store.compact(cluster.store.revision)
    async with client.watch(MAPS, "default", resource_version="2") as events:
        found = [event async for event in events]
    assert [event.type for event in found] == ["ERROR"]
    assert (found[0].object["code"], found[0].object["reason"]) == (410, "Expired")
    assert found[0].object["message"] == f"too old resource version: 2 ({cluster.store.revision})"


@pytest.mark.parametrize("since", ["x", "-1", "1.5", "999999999", "9" * 30])
async def test_a_revision_that_is_none_is_refused(cluster: Cluster, since: str) -> None:
    async def watch(client: Client) -> None:
        async with client.watch(MAPS, "default", resource_version=since):
            raise AssertionError("it started")

    async with HttpClient(cluster.access) as over_http:
        assert await outcome(watch(cluster.client)) == await outcome(watch(over_http))


async def test_a_watch_leaves_nothing_behind(client: Client, cluster: Cluster) -> None:
    async with client.watch(MAPS) as events:
        await client.create(MAPS, "default", config_map("a"))
        await take(events, 1)
        assert cluster.hub.count() == 1
    async with asyncio.timeout(10):
        while cluster.hub.count():  # noqa: ASYNC110
            await asyncio.sleep(0.001)


async def test_computed_objects_are_current_when_a_watch_begins(client: Client) -> None:
    await client.create(SERVICES, "default", service("s", {"app": "x"}))
    async with client.watch(ENDPOINTS, "default", field_selector="metadata.name=s") as events:
        assert told(await take(events, 1)) == [("ADDED", "s")]
        await client.create(PODS, "default", pod("p", labels={"app": "x"}, spec={"nodeName": "n1"}))
        status = {"phase": "Running", "podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}]}
        await client.patch(PODS, "default", "p", {"status": status}, subresource="status")
        changed = (await take(events, 1))[0]
    assert changed.object["subsets"][0]["notReadyAddresses"][0]["ip"] == "10.0.0.1"


async def test_an_answer_is_the_callers_own(client: Client) -> None:
    spec = {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}}
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    given: JsonObject = {"metadata": {"name": "d"}, "spec": {**spec, "template": template}}
    made = await client.create(DEPLOYMENTS, "default", given)
    got = await client.get(DEPLOYMENTS, "default", "d")
    listed = (await client.list(DEPLOYMENTS, "default")).items[0]
    async with client.watch(DEPLOYMENTS, "default") as events:
        watched = (await take(events, 1))[0].object
    copies: list[JsonObject] = [made, got, listed, watched, given]
    for copy in copies:
        copy["spec"]["template"]["spec"]["containers"][0]["image"] = "spoiled"
        copy["metadata"]["name"] = "spoiled"
    again = await client.get(DEPLOYMENTS, "default", "d")
    assert again["spec"]["template"]["spec"]["containers"][0]["image"] == "i"

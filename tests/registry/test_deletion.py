"""Deletion: finalizers, graceful ends of pods, whole collections while they change, and the races between."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

import pytest

from kube32_sim.api.errors import ApiError
from kube32_sim.api.options import DeleteOptions
from kube32_sim.client import NODES, PODS, Client
from kube32_sim.cluster import Cluster
from kube32_sim.registry.asked import Asked
from tests.support.objects import MAPS, config_map, node, pod

JsonObject = dict[str, Any]


async def refused(work: Awaitable[Any]) -> ApiError:
    with pytest.raises(ApiError) as caught:
        await work
    return caught.value


async def gone(client: Client, name: str, resource: Any = MAPS) -> bool:
    listed = await client.list(resource, "default", field_selector=f"metadata.name={name}")
    return not listed.items


def kinds(cluster: Cluster, since: int, plural: str) -> list[str]:
    return [event.type for event in cluster.store.events_since(("", plural), since)]


# finalizers


async def test_an_object_with_finalizers_stays_until_the_last_is_taken_off(cluster: Cluster) -> None:
    client = cluster.client
    obj = config_map("a")
    obj["metadata"]["finalizers"] = ["x.example/one", "x.example/two"]
    await client.create(MAPS, "default", obj)
    start = cluster.store.revision
    await client.delete(MAPS, "default", "a")
    marked = await client.get(MAPS, "default", "a")
    assert marked["metadata"]["deletionTimestamp"] == cluster.clock.timestamp()
    assert marked["metadata"]["deletionGracePeriodSeconds"] == 0
    again = cluster.store.revision
    await client.delete(MAPS, "default", "a")
    assert cluster.store.revision == again  # deleting it once more changes nothing
    await client.patch(MAPS, "default", "a", {"metadata": {"finalizers": ["x.example/two"]}})
    last = await client.patch(MAPS, "default", "a", {"metadata": {"finalizers": None}})
    assert "finalizers" not in last["metadata"]
    assert await gone(client, "a")
    assert kinds(cluster, start, "configmaps") == ["MODIFIED", "MODIFIED", "DELETED"]


async def test_no_finalizer_is_added_once_it_is_being_deleted(cluster: Cluster) -> None:
    obj = config_map("a")
    obj["metadata"]["finalizers"] = ["x.example/one"]
    await cluster.client.create(MAPS, "default", obj)
    await cluster.client.delete(MAPS, "default", "a")
    more = {"metadata": {"finalizers": ["x.example/one", "x.example/late"]}}
    error = await refused(cluster.client.patch(MAPS, "default", "a", more))
    assert error.code == 422
    assert "no new finalizers can be added if the object is being deleted" in error.message
    changed = await cluster.client.patch(MAPS, "default", "a", {"data": {"still": "writable"}})
    assert changed["data"] == {"still": "writable"}


async def test_the_name_of_an_object_that_is_going_is_taken(cluster: Cluster) -> None:
    obj = config_map("a")
    obj["metadata"]["finalizers"] = ["x.example/one"]
    await cluster.client.create(MAPS, "default", obj)
    await cluster.client.delete(MAPS, "default", "a")
    error = await refused(cluster.client.create(MAPS, "default", config_map("a")))
    assert (error.reason, error.message.partition(":")[0]) == ("AlreadyExists", "object is being deleted")


@pytest.mark.parametrize(("policy", "finalizer"), [("Foreground", "foregroundDeletion"), ("Orphan", "orphan")])
async def test_policies_are_finalizers_for_the_garbage_collector(cluster: Cluster, policy: str, finalizer: str) -> None:
    await cluster.client.create(MAPS, "default", config_map("a"))
    marked = await cluster.client.delete(MAPS, "default", "a", options={"propagationPolicy": policy})
    assert marked["metadata"]["finalizers"] == [finalizer]
    changed_mind = await cluster.client.delete(MAPS, "default", "a", options={"propagationPolicy": "Background"})
    assert changed_mind["kind"] == "Status"
    assert await gone(cluster.client, "a")


# graceful ends of pods


async def bound_pod(cluster: Cluster, **spec: Any) -> JsonObject:
    await cluster.client.create(NODES, "", node("n1"))
    return await cluster.client.create(PODS, "default", pod("p", spec={"nodeName": "n1", **spec}))


async def test_a_pod_without_a_node_goes_at_once(cluster: Cluster) -> None:
    await cluster.client.create(PODS, "default", pod("p"))
    await cluster.client.delete(PODS, "default", "p")
    assert await gone(cluster.client, "p", PODS)


async def test_a_bound_pod_is_given_its_grace(cluster: Cluster) -> None:
    await bound_pod(cluster, terminationGracePeriodSeconds=40)
    marked = await cluster.client.delete(PODS, "default", "p")
    assert marked["metadata"]["deletionGracePeriodSeconds"] == 40
    assert marked["metadata"]["deletionTimestamp"] == "2026-01-01T00:00:40Z"
    assert marked["metadata"]["generation"] == 2
    assert not await gone(cluster.client, "p", PODS)


async def test_grace_may_be_shortened_never_lengthened(cluster: Cluster) -> None:
    await bound_pod(cluster)
    client = cluster.client
    await client.delete(PODS, "default", "p")
    await cluster.clock.advance(3)  # type: ignore[attr-defined]
    shorter = await client.delete(PODS, "default", "p", options={"gracePeriodSeconds": 10})
    assert shorter["metadata"]["deletionGracePeriodSeconds"] == 10
    assert shorter["metadata"]["deletionTimestamp"] == "2026-01-01T00:00:10Z"
    before = cluster.store.revision
    for options in ({"gracePeriodSeconds": 20}, {"gracePeriodSeconds": 10}, None):
        same = await client.delete(PODS, "default", "p", options=options)
        assert same["metadata"] == shorter["metadata"]
    assert cluster.store.revision == before
    await client.delete(PODS, "default", "p", options={"gracePeriodSeconds": 0})
    assert await gone(client, "p", PODS)


@pytest.mark.parametrize("grace", [-1, -(2**63)])
async def test_a_negative_grace_is_one_second(cluster: Cluster, grace: int) -> None:
    await bound_pod(cluster)
    marked = await cluster.client.delete(PODS, "default", "p", options={"gracePeriodSeconds": grace})
    assert marked["metadata"]["deletionGracePeriodSeconds"] == 1


async def test_a_pod_that_has_ended_goes_at_once(cluster: Cluster) -> None:
    await bound_pod(cluster)
    await cluster.client.patch(PODS, "default", "p", {"status": {"phase": "Succeeded"}}, subresource="status")
    await cluster.client.delete(PODS, "default", "p")
    assert await gone(cluster.client, "p", PODS)


async def test_a_forced_end_still_waits_for_finalizers(cluster: Cluster) -> None:
    made = await bound_pod(cluster)
    await cluster.client.patch(PODS, "default", "p", {"metadata": {"finalizers": ["x.example/one"]}})
    await cluster.client.delete(PODS, "default", "p", options={"gracePeriodSeconds": 0})
    held = await cluster.client.get(PODS, "default", "p")
    assert held["metadata"]["uid"] == made["metadata"]["uid"]
    await cluster.client.patch(PODS, "default", "p", {"metadata": {"finalizers": []}})
    assert await gone(cluster.client, "p", PODS)


async def test_grace_beyond_all_time_is_cut_to_what_can_be_written(cluster: Cluster) -> None:
    await bound_pod(cluster)
    marked = await cluster.client.delete(PODS, "default", "p", options={"gracePeriodSeconds": 2**62})
    assert marked["metadata"]["deletionTimestamp"] == "9999-12-31T23:59:59Z"
    await cluster.clock.advance(5)  # type: ignore[attr-defined]
    shorter = await cluster.client.delete(PODS, "default", "p", options={"gracePeriodSeconds": 10})
    assert shorter["metadata"]["deletionTimestamp"] == "2026-01-01T00:00:15Z"


# collections


def everything(cluster: Cluster, storage: tuple[str, str]) -> Asked:
    return Asked(cluster.registry.table.by_storage(storage), "default")


async def test_a_collection_is_deleted_as_it_was_found(cluster: Cluster) -> None:
    """Objects that went meanwhile, or are new under an old name, are left alone."""
    client, storage = cluster.client, ("", "configmaps")
    for name in "abc":
        await client.create(MAPS, "default", config_map(name))
    found = cluster.store.list(storage, "default")
    await client.delete(MAPS, "default", "a")
    await client.delete(MAPS, "default", "b")
    await client.create(MAPS, "default", config_map("b", new="yes"))
    await client.create(MAPS, "default", config_map("d"))
    await client.patch(MAPS, "default", "c", {"data": {"changed": "meanwhile"}})
    await cluster.registry.delete_collection(everything(cluster, storage), found, DeleteOptions())
    left = await client.list(MAPS, "default")
    assert [obj["metadata"]["name"] for obj in left.items] == ["b", "d"]


async def test_a_collection_insists_on_what_it_is_told_to(cluster: Cluster) -> None:
    await cluster.client.create(MAPS, "default", config_map("a"))
    found = cluster.store.list(("", "configmaps"), "default")
    for options in (DeleteOptions(uid="other"), DeleteOptions(resource_version="1")):
        delete = cluster.registry.delete_collection(everything(cluster, ("", "configmaps")), found, options)
        assert (await refused(delete)).reason == "Conflict"
    assert not await gone(cluster.client, "a")


async def test_a_collection_of_pods_ends_gracefully(cluster: Cluster) -> None:
    await bound_pod(cluster)
    await cluster.client.create(PODS, "default", pod("unbound"))
    found = cluster.store.list(("", "pods"), "default")
    await cluster.registry.delete_collection(everything(cluster, ("", "pods")), found, DeleteOptions(grace=7))
    left = (await cluster.client.list(PODS, "default")).items
    assert [(p["metadata"]["name"], p["metadata"]["deletionGracePeriodSeconds"]) for p in left] == [("p", 7)]


async def test_deleting_while_others_write(cluster: Cluster) -> None:
    """Many deleters and writers of the same few names at once: every end is told once, and the store stays whole."""
    client = cluster.client
    start = cluster.store.revision

    async def write(number: int) -> None:
        for step in range(30):
            name = f"m{(number + step) % 3}"
            try:
                if (number + step) % 4 == 0:
                    await client.delete(MAPS, "default", name)
                elif (number + step) % 4 == 1:
                    await client.create(MAPS, "default", config_map(name))
                else:
                    await client.patch(MAPS, "default", name, {"data": {f"k{number}": str(step)}})
            except ApiError as error:
                if error.code not in (404, 409):
                    raise
            await asyncio.sleep(0)

    await asyncio.gather(*(write(number) for number in range(8)))
    cluster.store.check()
    alive: set[str] = set()
    for event in cluster.store.events_since(("", "configmaps"), start):
        name = event.stored.name
        assert (name in alive) == (event.type != "ADDED")
        if event.type == "DELETED":
            alive.discard(name)
        else:
            alive.add(name)
    assert alive == {stored.name for stored in cluster.store.list(("", "configmaps"))}


# preconditions


@pytest.mark.parametrize("condition", [DeleteOptions(uid=""), DeleteOptions(resource_version="")])
async def test_an_empty_precondition_is_met_by_nothing(cluster: Cluster, condition: DeleteOptions) -> None:
    await cluster.client.create(MAPS, "default", config_map("a"))
    asked = Asked(cluster.registry.table.by_storage(("", "configmaps")), "default", "a")
    error = await refused(cluster.registry.delete(asked, condition))
    assert error.code == 409
    assert "in the precondition ()" in error.message

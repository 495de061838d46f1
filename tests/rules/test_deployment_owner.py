"""Deployments: which pods are theirs, and what becomes of them when the Deployment goes (D1, D4)."""

from __future__ import annotations

from typing import Any

import pytest

from kube32_sim.api.errors import ApiError
from kube32_sim.client import DEPLOYMENTS, NAMESPACES, PODS, Resource
from tests.rules.deployments import create, deployment, get, live, names, patch, rolled_out
from tests.rules.world import JsonObject, World, pods_of
from tests.support.objects import pod


async def delete(world: World, policy: str = "") -> None:
    options = {"propagationPolicy": policy} if policy else {}
    await world.client.delete(DEPLOYMENTS, world.namespace, "web", options=options)


async def missing(world: World) -> bool:
    found = (await world.client.list(DEPLOYMENTS, world.namespace)).items
    return "web" not in [obj["metadata"]["name"] for obj in found]


@pytest.mark.rule("D4")
@pytest.mark.everywhere
async def test_d4_pods_of_a_deleted_deployment_go(world: World) -> None:
    await create(world, deployment(2))
    await rolled_out(world)
    await delete(world)
    assert await missing(world)

    async def gone() -> bool:
        return not await pods_of(world)

    await world.until(gone, "the pods are gone", 60)


@pytest.mark.rule("D4")
@pytest.mark.parametrize("without", ["garbage-collector", "deployment"])
async def test_d4_either_loop_is_enough_for_it(make_world, without) -> None:
    world = await make_world(controllers="*")
    await create(world, deployment(2))
    await rolled_out(world)
    other = await make_world(controllers=f"*,-{without}")
    made = await create(other, deployment(2))
    for one in await live(world):
        owner = one["metadata"]["ownerReferences"][0] | {"uid": made["metadata"]["uid"]}
        kept = {key: one["metadata"][key] for key in ("name", "labels")}
        await other.client.create(
            PODS, "default", {"metadata": kept | {"ownerReferences": [owner]}, "spec": one["spec"]}
        )
    await other.wait(10)
    await delete(other)
    await other.wait(60)
    assert await pods_of(other) == []


@pytest.mark.rule("D4")
async def test_d4_foreground_the_deployment_goes_after_its_pods(world: World) -> None:
    await create(world, deployment(2))
    await rolled_out(world)
    held, _ = await names(world)
    await world.client.patch(PODS, "default", held, {"metadata": {"finalizers": ["example.com/wait"]}})
    await delete(world, "Foreground")
    await world.wait(30)
    assert [one["metadata"]["name"] for one in await pods_of(world)] == [held]
    found = await get(world)
    assert found["metadata"]["finalizers"] == ["foregroundDeletion"]
    assert found["status"]["terminatingReplicas"] == 1
    await world.client.patch(PODS, "default", held, {"metadata": {"finalizers": None}})
    await world.wait(5)
    assert await pods_of(world) == []
    assert await missing(world)


@pytest.mark.rule("D4", "D1")
async def test_d4_orphaned_pods_stay_and_no_later_deployment_takes_them(world: World) -> None:
    await create(world, deployment(2))
    await rolled_out(world)
    orphans = await names(world)
    await delete(world, "Orphan")
    await world.wait(30)
    assert await missing(world)
    assert await names(world) == orphans
    assert [one["metadata"].get("ownerReferences") for one in await live(world)] == [None, None]
    await create(world, deployment(2))
    await rolled_out(world)
    assert len(await names(world)) == 4
    await delete(world)
    await world.wait(30)
    assert await names(world) == orphans


@pytest.mark.rule("D4", "D1")
async def test_d4_a_deployment_of_the_same_name_has_nothing_to_do_with_those_pods_that_are_still_going(world) -> None:
    await create(world, deployment(2))
    await rolled_out(world)
    held, old = await names(world)
    await world.client.patch(PODS, "default", held, {"metadata": {"finalizers": ["example.com/wait"]}})
    await delete(world)
    await create(world, deployment(1, image="i:2"))
    await world.wait(1)
    found = await get(world)
    assert found["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "1"
    assert (found["status"]["unavailableReplicas"], found["status"]["terminatingReplicas"]) == (1, 0)
    await rolled_out(world)
    left = [one["metadata"]["name"] for one in await pods_of(world)]
    assert held in left
    assert old not in left
    assert len(left) == 2


def referring(pod_name: str, **owner: Any) -> JsonObject:
    """A pod with the Deployment's labels and some other owner."""
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "x", "controller": True}
    return pod(pod_name, labels={"app": "web"}, ownerReferences=[reference | owner])


@pytest.mark.rule("D1")
async def test_d1_pods_that_only_look_like_its_own_are_neither_counted_nor_taken(world: World) -> None:
    await create(world, deployment(1))
    await world.client.create(PODS, "default", pod("alone", labels={"app": "web"}))
    config = {"apiVersion": "v1", "kind": "ServiceAccount", "name": "default", "uid": await account(world)}
    await world.client.create(PODS, "default", referring("accounts", **config))
    await world.wait(20)
    mine = (await get(world))["status"]
    assert (mine["replicas"], mine["readyReplicas"]) == (1, 1)
    assert {"alone", "accounts"} < set(await names(world))
    await patch(world, {"spec": {"replicas": 0}})
    await world.wait(20)
    assert await names(world) == ["accounts", "alone"]
    assert "ownerReferences" not in (await world.client.get(PODS, "default", "alone"))["metadata"]


async def account(world: World) -> str:
    found = await world.client.get(Resource("", "v1", "serviceaccounts"), "default", "default")
    uid: str = found["metadata"]["uid"]
    return uid


@pytest.mark.rule("D1", "D4")
@pytest.mark.parametrize(
    "wrong", [{"uid": "gone"}, {"name": "wbe"}, {"kind": "DaemonSet"}], ids=["uid", "name", "kind"]
)
async def test_d4_a_pod_whose_owner_is_not_there_goes_and_costs_no_other_pod_its_place(world, wrong) -> None:
    made = await create(world, deployment(2))
    await rolled_out(world)
    before = await names(world)
    await world.client.create(PODS, "default", referring("stray", **{"uid": made["metadata"]["uid"], **wrong}))
    await world.wait(40)
    assert await names(world) == before


@pytest.mark.rule("D1", "D4")
async def test_d4_an_owner_is_no_owner_in_another_namespace(world: World) -> None:
    made = await create(world, deployment(2))
    await rolled_out(world)
    before = await names(world)
    await world.client.create(NAMESPACES, "", {"metadata": {"name": "elsewhere"}})
    await world.client.create(PODS, "elsewhere", referring("stray", uid=made["metadata"]["uid"]))
    await world.wait(40)
    assert await names(world) == before
    assert await pods_of(world, "elsewhere") == []


@pytest.mark.rule("D1")
async def test_d1_ownership_goes_by_the_reference_and_not_by_labels(world: World) -> None:
    await create(world, deployment(2))
    await rolled_out(world)
    first, _ = before = await names(world)
    await world.client.patch(PODS, "default", first, {"metadata": {"labels": {"app": "debug"}}})
    await world.wait(20)
    assert sorted(one["metadata"]["name"] for one in await pods_of(world)) == before
    assert (await get(world))["status"]["readyReplicas"] == 2
    await world.client.patch(PODS, "default", first, {"metadata": {"ownerReferences": None}})
    await world.wait(20)
    assert len(await pods_of(world)) == 3, "a pod that was let go has a successor"
    assert len(await live(world)) == 2


@pytest.mark.rule("D4")
async def test_d4_deployments_of_a_namespace_go_with_it(world: World) -> None:
    await world.client.create(NAMESPACES, "", {"metadata": {"name": "short"}})
    await world.client.create(DEPLOYMENTS, "short", deployment(3))
    await world.wait(20)
    assert len(await pods_of(world, "short")) == 3
    await world.client.delete(NAMESPACES, "", "short")
    await world.wait(60)
    assert await pods_of(world, "short") == []
    with pytest.raises(ApiError):
        await world.client.get(NAMESPACES, "", "short")

"""Deployments: which pods there are, and which of them go first (D1–D3, D9)."""

from __future__ import annotations

import re

import pytest

from kube32_sim.client import DEPLOYMENTS, NODES, PODS
from tests.rules.deployments import (
    HASH,
    NEVER,
    TOO_LARGE,
    create,
    delete_pod,
    deployment,
    get,
    images,
    live,
    names,
    new_image,
    patch,
    rolled_out,
    rolling,
)
from tests.rules.world import World, events_of, pods_of
from tests.support.objects import REPLICASETS


@pytest.mark.rule("D1", "D2")
@pytest.mark.everywhere
async def test_d1_a_pod_deleted_by_hand_has_a_successor_within_a_second(world: World) -> None:
    await create(world, deployment(2))
    await rolled_out(world)
    first, second = await names(world)
    await delete_pod(world, first)

    async def replaced() -> list[str] | None:
        found = await names(world)
        return found if len(found) == 2 else None

    left = await world.until(replaced, "there are two pods again", world.timings.reconcile)
    assert second in left
    assert first not in left
    await rolled_out(world)


@pytest.mark.rule("D1")
async def test_d1_a_pass_comes_every_second_counted_from_the_first(world: World) -> None:
    await world.wait(0.25)
    await create(world, deployment(1))
    await world.wait(0.5)
    assert await names(world) == []
    await world.wait(0.25)
    (name,) = await names(world)
    await delete_pod(world, name)
    await world.wait(0.75)
    assert await names(world) == []
    await world.wait(0.25)
    assert len(await names(world)) == 1


@pytest.mark.rule("D1")
async def test_d1_the_interval_is_an_option(make_world) -> None:
    world = await make_world(reconcile_interval=5)
    await world.wait(1)
    await create(world, deployment(1))
    await world.wait(3.5)
    assert await names(world) == []
    await world.wait(0.5)
    assert len(await names(world)) == 1


@pytest.mark.rule("D2", "N13")
async def test_d2_pods_are_made_from_the_template_with_a_label_of_its_hash(world: World) -> None:
    made = await create(world, deployment(3, annotations={"team": "blue"}))
    await rolled_out(world)
    pods = await live(world)
    (value,) = {pod["metadata"]["labels"][HASH] for pod in pods}
    assert re.fullmatch("[bcdfghjklmnpqrstvwxz2456789]{1,10}", value)
    for pod in pods:
        assert re.fullmatch(f"web-{value}-[bcdfghjklmnpqrstvwxz2456789]{{5}}", pod["metadata"]["name"])
        assert pod["metadata"]["generateName"] == f"web-{value}-"
        assert pod["metadata"]["labels"] == {"app": "web", HASH: value}
        assert pod["metadata"]["annotations"] == {"team": "blue"}
        assert pod["metadata"]["ownerReferences"] == [
            {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "name": "web",
                "uid": made["metadata"]["uid"],
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ]
        assert [(one["key"], one["effect"], one["operator"]) for one in pod["spec"]["tolerations"]] == [
            ("node.kubernetes.io/not-ready", "NoExecute", "Exists"),
            ("node.kubernetes.io/unreachable", "NoExecute", "Exists"),
        ]


@pytest.mark.rule("N13", "N14")
async def test_n13_pods_of_a_deployment_tolerate_for_300_seconds_what_its_template_does_not_speak_of(world) -> None:
    own = {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 7}
    obj = deployment(1)
    obj["spec"]["template"]["spec"]["tolerations"] = [own]
    await create(world, obj)
    await world.wait(1)
    (pod,) = await live(world)
    added = own | {"key": "node.kubernetes.io/not-ready", "tolerationSeconds": 300}
    assert pod["spec"]["tolerations"] == [own, added]
    assert (await get(world))["spec"]["template"]["spec"]["tolerations"] == [own]


@pytest.mark.rule("D2")
async def test_d2_the_hash_tells_templates_apart_and_nothing_else(world: World) -> None:
    async def hashes() -> set[str]:
        await world.wait(20)
        return {pod["metadata"]["labels"][HASH] for pod in await live(world)}

    await create(world, deployment(2))
    first = await hashes()
    await patch(world, {"spec": {"replicas": 3}, "metadata": {"labels": {"a": "b"}, "annotations": {"a": "b"}}})
    assert await hashes() == first
    await patch(world, new_image("i:2"))
    second = await hashes()
    assert second != first
    await patch(world, new_image("i:1"))
    assert await hashes() == first
    await world.client.delete(DEPLOYMENTS, "default", "web")
    await create(world, deployment(1))
    assert await hashes() == first


@pytest.mark.rule("D2")
async def test_d2_a_long_name_is_cut_in_the_names_of_pods(world: World) -> None:
    name = "w" * 63
    await create(world, deployment(2, name=name))
    await rolled_out(world, name)
    first, second = await names(world, name)
    assert first[:58] == second[:58] == "w" * 58
    assert len(first) == 63
    assert first != second


@pytest.mark.rule("D2")
async def test_d2_a_deployment_with_a_finalizer_that_is_deleted_makes_no_pods(world: World) -> None:
    obj = deployment(2)
    obj["metadata"]["finalizers"] = ["example.com/wait"]
    await create(world, obj)
    await rolled_out(world)
    await world.client.delete(DEPLOYMENTS, "default", "web")
    before = await names(world)
    await delete_pod(world, before[0])
    await world.wait(5)
    assert await names(world) == before[1:]
    status = (await get(world))["status"]
    assert (status["replicas"], status["observedGeneration"]) == (1, 2)
    await patch(world, {"metadata": {"finalizers": None}})
    await world.wait(5)
    assert await names(world) == []


@pytest.mark.rule("D3")
async def test_d3_surplus_that_is_not_ready_goes_first_though_it_is_not_stale(world: World) -> None:
    await create(world, deployment(3))
    await rolled_out(world)
    await patch(world, new_image("i:2", NEVER))

    async def under_way() -> bool:
        return await images(world) == ["i:1", "i:1", "i:2"]

    await world.until(under_way, "one pod is replaced", 5 * world.timings.reconcile)
    await patch(world, {"spec": {"paused": True, "replicas": 2}})

    async def scaled() -> list[str] | None:
        left = await images(world)
        return left if len(left) < 3 else None

    left = await world.until(scaled, "one pod is deleted", 5 * world.timings.reconcile)
    assert left == ["i:1", "i:1"]


@pytest.mark.rule("D3")
async def test_d3_among_pods_alike_in_readiness_stale_ones_go_first_then_the_newest(world: World) -> None:
    await create(world, deployment(2, strategy=rolling(1)))
    await rolled_out(world)
    await patch(world, {"spec": {"paused": True, "replicas": 4}})
    await world.wait(20)
    await patch(world, {"spec": {"paused": False, **new_image("i:2")["spec"]}})

    async def half() -> bool:
        return await images(world, ready=True) == ["i:1", "i:1", "i:2", "i:2"]

    await world.until(half, "half of the pods are new", 100)
    await patch(world, {"spec": {"paused": True, "replicas": 3}})
    await world.wait(1)
    assert await images(world) == ["i:1", "i:2", "i:2"]
    await patch(world, {"spec": {"replicas": 2}})
    await world.wait(1)
    left = await live(world)
    assert await images(world) == ["i:2", "i:2"]
    oldest = min(left, key=lambda pod: pod["metadata"]["creationTimestamp"])
    await patch(world, {"spec": {"replicas": 1}})
    await world.wait(1)
    assert await names(world) == [oldest["metadata"]["name"]]


@pytest.mark.rule("D3")
async def test_d3_a_stale_pod_that_is_not_ready_goes_before_a_fresh_one_that_is_not(world: World) -> None:
    await create(world, deployment(3, annotations=NEVER))
    await world.wait(20)
    await patch(world, new_image("i:2"))
    await world.wait(1)
    await patch(world, {"spec": {"paused": True, "replicas": 2}})
    assert await images(world) == ["i:1", "i:1", "i:2"]
    await world.wait(1)
    assert await images(world) == ["i:1", "i:2"]
    await patch(world, {"spec": {"replicas": 1}})
    await world.wait(1)
    assert await images(world) == ["i:2"]


@pytest.mark.rule("D3")
async def test_d3_pods_that_are_going_or_have_ended_are_no_surplus_and_have_successors(world: World) -> None:
    await create(world, deployment(2, resources=TOO_LARGE))
    await world.wait(1)
    going, ended = await names(world)
    await world.client.patch(PODS, "default", going, {"metadata": {"finalizers": ["example.com/wait"]}})
    await world.client.delete(PODS, "default", going)
    await world.client.patch(PODS, "default", ended, {"status": {"phase": "Failed"}}, subresource="status")
    await world.wait(5)
    assert len(await pods_of(world)) == 4
    found = (await get(world))["status"]
    assert (found["replicas"], found["terminatingReplicas"]) == (2, 1)
    await patch(world, {"spec": {"replicas": 0}})
    await world.wait(5)
    assert sorted(pod["metadata"]["name"] for pod in await pods_of(world)) == sorted([going, ended])


@pytest.mark.rule("D3", "N20")
async def test_d3_evicted_pods_stay_the_deployments_and_are_not_replaced(world: World) -> None:
    await create(world, deployment(4))
    await rolled_out(world)
    before = {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in await live(world)}
    lost, other = world.nodes
    await world.client.patch(NODES, "", other, {"spec": {"unschedulable": True}})
    await world.unplug(lost)
    await world.wait(340)
    pods = await live(world)
    assert {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in pods} == before
    evicted = [pod for pod in pods if pod["status"].get("reason") == "Evicted"]
    assert 0 < len(evicted) < 4
    status = (await get(world))["status"]
    assert (status["replicas"], status["readyReplicas"]) == (4, 4 - len(evicted))
    await patch(world, {"spec": {"replicas": 4 - len(evicted)}})
    await world.wait(1)
    assert [pod for pod in await live(world) if not pod["spec"].get("nodeName")] == [], "they go first"


@pytest.mark.rule("D1")
async def test_d1_pods_that_a_board_refuses_are_replaced_ever_more_slowly_and_ten_are_kept(world: World) -> None:
    await create(world, deployment(1, resources={"limits": {"esp32.io/gpio-99": "1"}}))
    await world.wait(10)
    assert len(await pods_of(world)) == 5
    await world.wait(600)
    pods = await pods_of(world)
    assert len(pods) == 10
    assert {pod["status"]["phase"] for pod in pods} == {"Failed"}
    told = await events_of(world, "web", "SuccessfulCreate")
    assert sum(event["count"] for event in told) < 15
    await patch(world, new_image("i:2"))
    await world.wait(1)
    assert await images(world) == ["i:2"], "a new template is tried at once, and those of the old one are forgotten"


@pytest.mark.rule("D9")
async def test_d9_there_are_no_replica_sets(world: World) -> None:
    await create(world, deployment(1))
    await rolled_out(world)
    await patch(world, new_image("i:2"))
    await rolled_out(world)
    assert (await world.client.list(REPLICASETS, world.namespace)).items == []
    pods = await live(world)
    assert [pod["metadata"]["ownerReferences"][0]["kind"] for pod in pods] == ["Deployment"]


@pytest.mark.rule("D1")
async def test_d1_huge_numbers_of_replicas_come_in_bursts_and_go_when_they_are_not_wanted(world: World) -> None:
    await create(world, deployment(2_147_483_647, resources=TOO_LARGE))
    await world.wait(1)
    assert len(await live(world)) == 500
    await world.wait(1)
    assert (await get(world))["status"]["unavailableReplicas"] == 2_147_483_647
    await patch(world, {"spec": {"replicas": 3}})
    await world.wait(3)
    assert len(await pods_of(world)) == 3

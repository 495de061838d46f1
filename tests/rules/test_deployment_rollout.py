"""Deployments: how a changed template reaches the pods (D5, D7)."""

from __future__ import annotations

import pytest

from kube32_sim.client import DEPLOYMENTS, PODS
from tests.rules.deployments import (
    NEVER,
    READY_AFTER,
    REVISION,
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
from tests.rules.world import World, events_of, is_ready, pods_of

RECREATE = {"type": "Recreate", "rollingUpdate": None}


async def second_by_second(world: World, seconds: int) -> list[list[str]]:
    found = []
    for _ in range(seconds):
        await world.wait(1)
        found.append(await images(world))
    return found


@pytest.mark.rule("D5")
@pytest.mark.everywhere
async def test_d5_a_rollout_replaces_all_pods_and_keeps_enough_of_them_available(world: World) -> None:
    await create(world, deployment(4, annotations={READY_AFTER: "0.5"}))
    await rolled_out(world)
    old = await names(world)
    await patch(world, new_image("i:2"))
    least = 4

    async def done() -> bool:
        nonlocal least
        ready = await images(world, ready=True)
        least = min(least, len(ready))
        assert len(await live(world)) <= 4, "there is no surge"
        return ready == ["i:2"] * 4

    await world.until(done, "all pods are new", 100 * world.timings.reconcile)
    assert least == 3
    assert set(old).isdisjoint(await names(world))
    await rolled_out(world)


@pytest.mark.rule("D5")
async def test_d5_one_stale_pod_goes_in_each_pass_and_its_successor_comes_in_the_same(world: World) -> None:
    await create(world, deployment(4, strategy=rolling("100%")))
    await rolled_out(world)
    await patch(world, new_image("i:2"))
    assert await second_by_second(world, 4) == [
        ["i:1", "i:1", "i:1", "i:2"],
        ["i:1", "i:1", "i:2", "i:2"],
        ["i:1", "i:2", "i:2", "i:2"],
        ["i:2", "i:2", "i:2", "i:2"],
    ]


@pytest.mark.rule("D5")
async def test_d5_a_stale_pod_that_is_not_ready_goes_always(world: World) -> None:
    await create(world, deployment(3, resources=TOO_LARGE, strategy=rolling(1)))
    await world.wait(5)
    await patch(world, new_image("i:2"))
    found = await second_by_second(world, 3)
    assert found == [["i:1", "i:1", "i:2"], ["i:1", "i:2", "i:2"], ["i:2"] * 3]


@pytest.mark.rule("D5")
async def test_d5_a_stale_pod_that_is_not_ready_goes_first(world: World) -> None:
    await create(world, deployment(3, strategy=rolling(1)))
    await rolled_out(world)
    await patch(world, new_image("i:2", NEVER))
    await world.wait(30)
    assert await images(world) == ["i:1", "i:1", "i:2"], "no more may go than 1 of 3"
    await patch(world, new_image("i:3", {READY_AFTER: None}))
    await world.wait(1)
    assert await images(world) == ["i:1", "i:1", "i:3"]
    await rolled_out(world)


@pytest.mark.rule("D5", "D7")
@pytest.mark.parametrize(
    ("replicas", "unavailable", "stuck_at"),
    [
        (8, None, 2),  # 25 % unless set
        (7, None, 1),  # rounded down
        (3, None, 1),  # and at least 1
        (1, None, 1),
        (4, 3, 3),
        (4, "50%", 2),
        (3, 0, 1),
        (2, "100%", 2),
        (2, 5, 2),
    ],
)
async def test_d7_as_many_may_be_missing_as_max_unavailable_says(world, replicas, unavailable, stuck_at) -> None:
    extra = {} if unavailable is None else {"strategy": rolling(unavailable)}
    await create(world, deployment(replicas, **extra))
    await rolled_out(world)
    await patch(world, new_image("i:2", NEVER))
    await world.wait(30)
    found = await images(world)
    assert (found.count("i:2"), len(found)) == (stuck_at, replicas)


@pytest.mark.rule("D5")
async def test_d5_max_surge_makes_no_difference(world: World) -> None:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 3}}
    await create(world, deployment(2, strategy=strategy))
    await rolled_out(world)
    await patch(world, new_image("i:2"))
    assert {len(found) for found in await second_by_second(world, 20)} == {2}
    await rolled_out(world)


@pytest.mark.rule("D5")
async def test_d5_pods_count_as_available_min_ready_seconds_after_they_became_ready(world: World) -> None:
    await create(world, deployment(2, minReadySeconds=60))
    await world.wait(20)
    status = (await get(world))["status"]
    assert (status["readyReplicas"], status.get("availableReplicas")) == (2, None)
    await world.wait(60)
    assert (await get(world))["status"]["availableReplicas"] == 2
    await patch(world, new_image("i:2"))
    await world.wait(59)
    assert await images(world) == ["i:1", "i:2"]
    await world.wait(10)
    assert await images(world) == ["i:2", "i:2"]


@pytest.mark.rule("D5")
async def test_d5_strategy_recreate_starts_new_pods_when_all_old_ones_have_left(world: World) -> None:
    await create(world, deployment(3, strategy=RECREATE))
    await rolled_out(world)
    held, *_ = await names(world)
    await world.client.patch(PODS, "default", held, {"metadata": {"finalizers": ["example.com/wait"]}})
    await patch(world, new_image("i:2"))
    await world.wait(1)
    assert await live(world) == []
    await world.wait(30)
    assert [pod["metadata"]["name"] for pod in await pods_of(world)] == [held]
    await world.client.patch(PODS, "default", held, {"metadata": {"finalizers": None}})
    await world.wait(1)
    assert await images(world) == ["i:2"] * 3
    await rolled_out(world)


@pytest.mark.rule("D5")
async def test_d5_a_template_that_changes_back_makes_pods_fresh_again(world: World) -> None:
    await create(world, deployment(4))
    await rolled_out(world)
    old = await names(world)
    await patch(world, new_image("i:2", NEVER))
    await world.wait(5)
    await patch(world, new_image("i:1", {READY_AFTER: None}))
    found = await rolled_out(world)
    assert len(set(old) & set(await names(world))) == 3
    assert await images(world) == ["i:1"] * 4
    assert found["metadata"]["annotations"][REVISION] == "3"


@pytest.mark.rule("D5")
async def test_d5_a_pod_whose_hash_label_was_edited_away_is_stale(world: World) -> None:
    await create(world, deployment(2))
    await rolled_out(world)
    first, second = await names(world)
    await world.client.patch(PODS, "default", first, {"metadata": {"labels": {"pod-template-hash": None}}})
    await world.wait(20)
    left = await names(world)
    assert len(left) == 2
    assert first not in left
    assert second in left


@pytest.mark.rule("D5")
@pytest.mark.everywhere
async def test_d5_a_paused_deployment_holds_its_rollout_and_goes_on_when_it_is_resumed(world: World) -> None:
    await create(world, deployment(2))
    await rolled_out(world)
    await patch(world, {"spec": {"paused": True, **new_image("i:2")["spec"]}})

    async def seen() -> bool:
        found = await get(world)
        return bool(found["status"]["observedGeneration"] == found["metadata"]["generation"])

    await world.until(seen, "the pause is seen", 5 * world.timings.reconcile)
    await world.wait(3 * world.timings.reconcile)
    assert await images(world) == ["i:1", "i:1"]
    assert (await get(world))["metadata"]["annotations"][REVISION] == "1"
    await patch(world, {"spec": {"replicas": 3}})

    async def grown() -> bool:
        return await images(world, ready=True) == ["i:1"] * 3

    await world.until(grown, "a third pod of the old template", 60)
    await patch(world, {"spec": {"paused": False}})

    async def rolled() -> bool:
        return await images(world, ready=True) == ["i:2"] * 3

    await world.until(rolled, "all pods are new", 100 * world.timings.reconcile)
    assert (await get(world))["metadata"]["annotations"][REVISION] == "2"


@pytest.mark.rule("D5")
async def test_d5_while_paused_the_middle_of_a_rollout_stays_and_missing_pods_are_new(world: World) -> None:
    await create(world, deployment(4))
    await rolled_out(world)
    await patch(world, new_image("i:2", NEVER))
    await world.wait(5)
    await patch(world, {"spec": {"paused": True, "replicas": 5}})
    await world.wait(5)
    assert await images(world) == ["i:1"] * 3 + ["i:2"] * 2
    stale = next(pod for pod in await live(world) if is_ready(pod))
    await delete_pod(world, stale["metadata"]["name"])
    await world.wait(5)
    assert await images(world) == ["i:1"] * 2 + ["i:2"] * 3


@pytest.mark.rule("D5")
async def test_d5_a_deployment_that_is_created_paused_has_no_pods_until_it_is_resumed(world: World) -> None:
    await create(world, deployment(2, paused=True))
    await world.wait(10)
    assert await pods_of(world) == []
    assert REVISION not in (await get(world))["metadata"].get("annotations", {})
    await patch(world, {"spec": {"paused": False}})
    await rolled_out(world)


@pytest.mark.rule("D5")
async def test_d5_while_paused_and_without_a_pod_of_what_was_rolled_out_none_are_made(world: World) -> None:
    await create(world, deployment(2))
    await rolled_out(world)
    await patch(world, {"spec": {"paused": True, "replicas": 0, **new_image("i:2")["spec"]}})
    await world.wait(20)
    await patch(world, {"spec": {"replicas": 2}})
    await world.wait(20)
    assert await pods_of(world) == []
    await patch(world, {"spec": {"paused": False}})
    await rolled_out(world)
    assert await images(world) == ["i:2", "i:2"]


@pytest.mark.rule("D5")
async def test_d5_the_revision_counts_templates_and_survives_what_else_changes(world: World) -> None:
    async def revision() -> str:
        await rolled_out(world)
        found: str = (await get(world))["metadata"]["annotations"][REVISION]
        return found

    await create(world, deployment(1))
    assert await revision() == "1"
    await patch(world, {"spec": {"replicas": 2, "minReadySeconds": 1}})
    assert await revision() == "1"
    await patch(world, new_image("i:2"))
    assert await revision() == "2"
    for image, expected in (("i:3", "3"), ("i:4", "4"), ("i:4", "4")):  # as `kubectl replace` does it
        manifest = deployment(2, image=image)
        await world.client.update(DEPLOYMENTS, world.namespace, manifest)
        assert await revision() == expected
    copy = await get(world)
    copied = {"metadata": {"name": "copy", "annotations": copy["metadata"]["annotations"]}, "spec": copy["spec"]}
    await create(world, copied)
    await world.wait(1)
    assert (await get(world, "copy"))["metadata"]["annotations"][REVISION] == "1"


@pytest.mark.rule("D5")
async def test_d5_events_tell_of_each_step(world: World) -> None:
    await create(world, deployment(2))
    await rolled_out(world)
    await patch(world, new_image("i:2"))
    await rolled_out(world)
    await patch(world, {"spec": {"replicas": 0}})
    await world.wait(1)
    told = await events_of(world, "web")
    assert [(event["type"], event["reason"], event["message"]) for event in told] == [
        ("Normal", "ScalingReplicaSet", f"Scaled {what}")
        for what in (
            "up deployment web from 0 to 2",
            "down old pods of deployment web from 2 to 1",
            "up new pods of deployment web from 0 to 1",
            "down old pods of deployment web from 1 to 0",
            "up new pods of deployment web from 1 to 2",
            "down deployment web from 2 to 0",
        )
    ]


@pytest.mark.rule("D2")
async def test_d2_a_deployment_that_is_replaced_while_paused_can_still_be_scaled(world: World) -> None:
    await create(world, deployment(1))
    await rolled_out(world)
    await world.client.update(DEPLOYMENTS, world.namespace, deployment(3, image="i:2", paused=True))
    await world.wait(5)
    assert await images(world, ready=True) == ["i:1"] * 3

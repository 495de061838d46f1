"""The scheduler: when pods are bound, what becomes of those that fit nowhere, and whose pods it leaves alone."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kube32_sim.client import DEPLOYMENTS, EVENTS, NODES, PODS
from kube32_sim.clock import rfc3339
from tests.rules.conftest import MakeWorld
from tests.rules.scheduling import add_node, asking, get_pod, node_of, place
from tests.rules.world import JsonObject, VirtualWorld, World, condition, events_of, pods_of
from tests.support.objects import pod
from tests.support.wire import PATIENCE, connected

START = "2026-01-01T00:00:00Z"
NO_NODES = "no nodes available to schedule pods"
NO_MEMORY = "0/1 nodes are available: 1 Insufficient memory."


async def bare(make_world: MakeWorld, **options: Any) -> VirtualWorld:
    """The scheduler alone, and no boards."""
    made = await make_world(**{"nodes": 0, "controllers": "scheduler", **options})
    assert isinstance(made, VirtualWorld)
    return made


def at(seconds: float) -> str:
    return rfc3339(1_767_225_600.0 + seconds)


# binding in the create request


@pytest.mark.everywhere
@pytest.mark.rule("S1")
async def test_s1_the_answer_to_a_create_names_the_node(world: World) -> None:
    made = await world.client.create(PODS, world.namespace, asking("p", {"memory": "16Ki"}))
    assert made["spec"]["nodeName"]
    scheduled = condition(made, "PodScheduled")
    assert (scheduled["status"], scheduled["lastTransitionTime"]) == ("True", made["metadata"]["creationTimestamp"])

    async def told() -> list[JsonObject]:
        return await events_of(world, "p", "Scheduled")

    (event,) = await world.until(told, "the binding is told", world.timings.reconcile)
    where = f"{world.namespace}/p to {made['spec']['nodeName']}"
    assert (event["type"], event["message"]) == ("Normal", f"Successfully assigned {where}")
    assert event["source"] == {"component": "default-scheduler"}


@pytest.mark.rule("S1")
async def test_s1_pods_of_a_deployment_are_bound_when_they_first_appear(world: World) -> None:
    template = {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 4, "selector": {"matchLabels": {"app": "x"}}, "template": template}
    async with world.client.watch(PODS, world.namespace) as events:
        await world.client.create(DEPLOYMENTS, world.namespace, {"metadata": {"name": "d"}, "spec": spec})
        await world.wait(world.timings.reconcile)
        async with asyncio.timeout(PATIENCE):
            first = [await anext(events) for _ in range(4)]
    assert [event.type for event in first] == ["ADDED"] * 4
    assert sorted(event.object["spec"]["nodeName"] for event in first) == ["esp32-0"] * 2 + ["esp32-1"] * 2


@pytest.mark.rule("S1")
async def test_s1_a_pod_is_stored_once_already_bound(make_world: MakeWorld) -> None:
    world = await bare(make_world)
    await add_node(world, "n")
    made = await world.client.create(PODS, "default", pod("p"))
    assert await get_pod(world, "p") == made
    assert made["status"]["conditions"] == [{"type": "PodScheduled", "status": "True", "lastTransitionTime": START}]


@pytest.mark.rule("S1")
async def test_s1_a_dry_run_tells_the_node_and_takes_nothing(make_world: MakeWorld) -> None:
    world = await bare(make_world)
    await add_node(world, "n")
    async with connected(world.cluster.port) as wire:
        path = "/api/v1/namespaces/default/pods?dryRun=All"
        for _ in range(3):
            answer = await wire("POST", path, asking("p", {"memory": "60Ki"}))
            assert (answer.status, answer.json()["spec"].get("nodeName")) == (201, "n")
    await world.wait(5)
    assert await pods_of(world) == []
    assert await events_of(world, "p") == []
    assert await place(world, asking("p", {"memory": "60Ki"})) == "n"


@pytest.mark.rule("S1")
async def test_s1_a_create_that_is_refused_takes_nothing(make_world: MakeWorld) -> None:
    world = await bare(make_world)
    await add_node(world, "n")
    async with connected(world.cluster.port) as wire:
        path = "/api/v1/namespaces/default/pods"
        assert (await wire("POST", path, asking("p", {"memory": "60Ki"}))).status == 201
        assert (await wire("POST", path, asking("p", {"memory": "30Ki"}))).status == 409
    assert await place(world, asking("q", {"memory": "40Ki"})) == "n"


@pytest.mark.rule("S1")
async def test_s1_pods_created_one_after_the_other_never_share_the_same_memory(make_world: MakeWorld) -> None:
    world = await bare(make_world)
    await add_node(world, "n")
    places = [await place(world, asking(f"p{number}", {"memory": "30Ki"})) for number in range(5)]
    assert places == ["n", "n", "n", NO_MEMORY, NO_MEMORY]


# pods it leaves alone


@pytest.mark.rule("S3")
@pytest.mark.parametrize("where", ["cordoned", "unready", "full", "nowhere"])
async def test_s3_a_pod_that_names_its_node_never_meets_the_scheduler(make_world: MakeWorld, where: str) -> None:
    world = await bare(make_world)
    await add_node(world, "free")
    await add_node(world, "cordoned", spec={"unschedulable": True})
    await add_node(world, "unready", ready="False")
    await add_node(world, "full", {"memory": "0"})
    made = await world.client.create(PODS, "default", asking("p", nodeName=where, nodeSelector={"no": "such"}))
    await world.wait(10)
    assert made["spec"]["nodeName"] == where
    assert made["status"] == {"phase": "Pending", "qosClass": "BestEffort"}
    assert await get_pod(world, "p") == made
    assert await events_of(world, "p") == []


@pytest.mark.rule("S1")
async def test_s1_pods_of_other_schedulers_are_left_to_them(make_world: MakeWorld) -> None:
    world = await bare(make_world)
    await add_node(world, "n")
    made = await world.client.create(PODS, "default", asking("p", schedulerName="mine"))
    await world.wait(10)
    assert await get_pod(world, "p") == made
    assert "nodeName" not in made["spec"]
    assert await events_of(world, "p") == []
    assert await place(world, asking("q", schedulerName="default-scheduler")) == "n"


@pytest.mark.rule("S2")
async def test_s2_a_gated_pod_waits_until_its_gates_are_gone(make_world: MakeWorld) -> None:
    world = await bare(make_world)
    await add_node(world, "n")
    await world.client.create(PODS, "default", asking("p", schedulingGates=[{"name": "a"}]))
    await world.wait(2.5)
    gated = await get_pod(world, "p")
    assert condition(gated, "PodScheduled")["reason"] == "SchedulingGated"
    assert await events_of(world, "p") == []
    await world.client.patch(PODS, "default", "p", {"spec": {"schedulingGates": None}})
    await world.wait(0.5)
    bound = await get_pod(world, "p")
    assert bound["spec"]["nodeName"] == "n"
    assert condition(bound, "PodScheduled") == {
        "type": "PodScheduled",
        "status": "True",
        "lastTransitionTime": at(3),
    }


@pytest.mark.rule("S2")
async def test_s2_who_binds_a_waiting_pod_by_hand_has_the_last_word(make_world: MakeWorld) -> None:
    world = await bare(make_world)
    await add_node(world, "n", {"memory": "0"})
    assert await place(world, asking("p")) == NO_MEMORY
    binding = {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "elsewhere"}}
    await world.client.create(PODS, "default", binding, subresource="binding", name="p")
    await add_node(world, "free")
    await world.wait(5)
    assert await node_of(world, "p") == "elsewhere"


@pytest.mark.rule("S4")
async def test_s4_bound_pods_stay_where_they_are_whatever_becomes_of_their_node(make_world: MakeWorld) -> None:
    world = await bare(make_world)
    await add_node(world, "a")
    assert await place(world, asking("p")) == "a"
    await add_node(world, "b")
    await world.client.patch(NODES, "", "a", {"spec": {"unschedulable": True}})
    await world.wait(5)
    assert await node_of(world, "p") == "a"
    await world.client.delete(NODES, "", "a")
    await world.wait(5)
    assert await node_of(world, "p") == "a"
    assert await place(world, asking("q")) == "b"


# trying again


@pytest.mark.everywhere
@pytest.mark.rule("S2", "S6")
async def test_s2_a_pod_that_waits_is_bound_when_a_node_fits(world: World) -> None:
    label = world.namespace
    await world.client.create(PODS, world.namespace, asking("p", nodeSelector={"wanted": label}))
    await world.wait(2 * world.timings.reconcile)
    assert await node_of(world, "p") == ""
    await world.client.patch(NODES, "", world.nodes[1], {"metadata": {"labels": {"wanted": label}}})

    async def bound() -> str:
        return await node_of(world, "p")

    assert await world.until(bound, "the pod is bound", world.timings.reconcile) == world.nodes[1]


@pytest.mark.rule("S2")
@pytest.mark.parametrize(("interval", "bound_after"), [(1.0, 5.0), (3.0, 6.0)])
async def test_s2_pods_are_tried_again_every_reconcile_interval(
    make_world: MakeWorld, interval: float, bound_after: float
) -> None:
    world = await bare(make_world, reconcile_interval=interval)
    await world.client.create(PODS, "default", pod("p"))
    await world.wait(4.5)
    await add_node(world, "n")
    await world.wait(bound_after - 4.5 - 0.01)
    assert await node_of(world, "p") == ""
    await world.wait(0.01)
    bound = await get_pod(world, "p")
    assert bound["spec"]["nodeName"] == "n"
    assert condition(bound, "PodScheduled")["lastTransitionTime"] == at(bound_after)


@pytest.mark.rule("S2", "S23")
async def test_s2_each_try_counts_up_the_event(make_world: MakeWorld) -> None:
    world = await bare(make_world)
    await world.client.create(PODS, "default", pod("p"))
    for seconds in range(1, 20):
        await world.wait(1)
        (event,) = await events_of(world, "p", "FailedScheduling")
        assert event["lastTimestamp"] == at(seconds)
        assert event["firstTimestamp"] == START
        assert event["count"] in (seconds + 1, seconds + 2)


@pytest.mark.rule("S2")
async def test_s2_of_pods_that_wait_the_oldest_gets_the_room_first(make_world: MakeWorld) -> None:
    world = await bare(make_world)
    for name in ("z", "y", "x"):
        await world.client.create(PODS, "default", asking(name, {"memory": "60Ki"}))
        await world.wait(1)
    await add_node(world, "n")
    await world.wait(1)
    assert [await node_of(world, name) for name in ("x", "y", "z")] == ["", "", "n"]
    await world.client.delete(PODS, "default", "z", options={"gracePeriodSeconds": 0})
    await world.wait(1)
    assert [await node_of(world, name) for name in ("x", "y")] == ["", "n"]


@pytest.mark.rule("S2")
async def test_s2_a_pod_deleted_and_created_anew_under_its_name_is_a_new_one(make_world: MakeWorld) -> None:
    world = await bare(make_world)
    await add_node(world, "n")
    assert await place(world, asking("p", {"memory": "200Ki"})) == NO_MEMORY
    await world.wait(3)
    await world.client.delete(PODS, "default", "p")
    again = await world.client.create(PODS, "default", asking("p", {"memory": "300Ki"}))
    await world.wait(3)
    assert condition(await get_pod(world, "p"), "PodScheduled")["lastTransitionTime"] == at(3)
    by_uid = {event["involvedObject"]["uid"]: event["lastTimestamp"] for event in await events_of(world, "p")}
    assert len(by_uid) == 2
    assert by_uid[again["metadata"]["uid"]] == at(6)


@pytest.mark.rule("S2")
async def test_s2_nothing_is_written_for_pods_that_are_where_they_should_be(make_world: MakeWorld) -> None:
    world = await bare(make_world)
    await add_node(world, "n")
    await place(world, asking("p"))
    await world.wait(2)
    before = (await world.client.list(PODS)).resource_version
    await world.wait(100)
    assert (await world.client.list(PODS)).resource_version == before


# what fits nowhere


@pytest.mark.rule("S22")
async def test_s22_a_pod_that_fits_nowhere_stays_pending_and_unschedulable(make_world: MakeWorld) -> None:
    world = await bare(make_world)
    await add_node(world, "n")
    made = await world.client.create(PODS, "default", asking("p", {"memory": "200Ki"}))
    assert "nodeName" not in made["spec"]
    assert made["status"] == {
        "phase": "Pending",
        "qosClass": "Burstable",
        "conditions": [
            {
                "type": "PodScheduled",
                "status": "False",
                "reason": "Unschedulable",
                "message": NO_MEMORY,
                "lastTransitionTime": START,
                "observedGeneration": 1,
            }
        ],
    }
    await world.wait(10)
    assert await get_pod(world, "p") == made


@pytest.mark.rule("S22")
async def test_s22_the_transition_time_moves_only_when_the_status_does(make_world: MakeWorld) -> None:
    world = await bare(make_world)
    await place(world, pod("p"))
    await world.wait(3)
    await add_node(world, "a", ready="Unknown")
    await world.wait(3)
    waiting = condition(await get_pod(world, "p"), "PodScheduled")
    assert waiting["message"] == "0/1 nodes are available: 1 node(s) were not ready."
    assert waiting["lastTransitionTime"] == START
    await add_node(world, "b")
    await world.wait(3)
    assert condition(await get_pod(world, "p"), "PodScheduled") == {
        "type": "PodScheduled",
        "status": "True",
        "lastTransitionTime": at(7),
    }


@pytest.mark.rule("S23")
async def test_s23_failed_scheduling_in_kube_schedulers_words(make_world: MakeWorld) -> None:
    world = await bare(make_world)
    psram = {"memory": "300Ki", "esp32.io/psram": "2Mi"}
    await add_node(world, "small", psram, labels={"board": "s3"})
    await add_node(world, "other", labels={"board": "c3"})
    wanted = asking("oversized-pod", {"esp32.io/psram": "8Mi"}, nodeSelector={"board": "s3"})
    message = (
        "0/2 nodes are available: 1 Insufficient esp32.io/psram, 1 node(s) didn't match Pod's node affinity/selector."
    )
    made = await world.client.create(PODS, "default", wanted)
    assert condition(made, "PodScheduled")["message"] == message
    await world.cluster.settle()
    (event,) = await events_of(world, "oversized-pod")
    about = {"kind": "Pod", "apiVersion": "v1", "namespace": "default", "name": "oversized-pod"}
    assert about.items() <= event["involvedObject"].items()
    assert event["involvedObject"]["uid"] == made["metadata"]["uid"]
    said = {key: event[key] for key in ("type", "reason", "message", "source", "firstTimestamp", "lastTimestamp")}
    assert said == {
        "type": "Warning",
        "reason": "FailedScheduling",
        "message": message,
        "source": {"component": "default-scheduler"},
        "firstTimestamp": START,
        "lastTimestamp": START,
    }


@pytest.mark.rule("S23")
async def test_s23_one_event_while_the_message_stays_the_same(make_world: MakeWorld) -> None:
    world = await bare(make_world)
    await place(world, pod("p"))
    await world.wait(5)
    await add_node(world, "n", {"memory": "0"})
    await world.wait(5)
    await world.client.delete(NODES, "", "n")
    await world.wait(5)
    found = {event["message"]: event for event in (await world.client.list(EVENTS)).items}
    assert sorted(found) == [NO_MEMORY, NO_NODES]
    assert (found[NO_MEMORY]["firstTimestamp"], found[NO_MEMORY]["lastTimestamp"]) == (at(6), at(10))
    assert (found[NO_NODES]["firstTimestamp"], found[NO_NODES]["lastTimestamp"]) == (START, at(15))
    assert found[NO_MEMORY]["count"] == 5


@pytest.mark.rule("S23")
async def test_s23_reasons_are_sorted_with_their_counts(make_world: MakeWorld) -> None:
    world = await bare(make_world)
    for number in range(10):
        await add_node(world, f"full-{number}", {"memory": "0"}, labels={"kind": "mine"})
    for number in range(2):
        await add_node(world, f"cordoned-{number}", spec={"unschedulable": True})
    await add_node(world, "unready", ready="Unknown")
    await add_node(world, "wrong", labels={"kind": "other"})
    assert await place(world, asking("p", nodeSelector={"kind": "mine"})) == (
        "0/14 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, 1 node(s) were not ready, "
        "10 Insufficient memory, 2 node(s) were unschedulable."
    )

"""Rules DS5 to DS8, W1 for DaemonSets: how an update goes from node to node."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from kube32_sim.client import DAEMONSETS, PODS
from kube32_sim.clock import parse_time
from tests.rules.conftest import MakeWorld
from tests.rules.workloads import HASH, READY_AFTER, by_node, daemonset, get_daemonset, names, of_owner
from tests.rules.world import JsonObject, World, is_ready, pods_of

KEEP = "example.com/keep"


async def start(world: World, **fields: Any) -> JsonObject:
    """A DaemonSet whose pods run on all nodes."""
    owner = await world.client.create(DAEMONSETS, world.namespace, daemonset(**fields))
    await done(world, owner, "i:1")
    return owner


async def done(world: World, owner: JsonObject, image: str, within: float = 10) -> dict[str, JsonObject]:
    """Its pods by node, once there is a ready one with that image on every node, and nothing else."""

    async def all_there() -> dict[str, JsonObject] | None:
        pods = await of_owner(world, owner)
        settled = all(image_of(pod) == image and is_ready(pod) for pod in pods)
        found = await by_node(world, owner) if settled and len(pods) == len(world.nodes) else {}
        return found if found.keys() == set(world.nodes) else None

    return await world.until(all_there, f"{image} runs on every node", within)


def image_of(pod: JsonObject) -> str:
    return str(pod["spec"]["containers"][0]["image"])


async def update(world: World, image: str = "i:2", **spec: Any) -> JsonObject:
    change = {"template": {"spec": {"containers": [{"name": "c", "image": image}]}}, **spec}
    return await world.client.patch(DAEMONSETS, world.namespace, "agent", {"spec": change})


async def annotate(world: World, pod: JsonObject, **metadata: Any) -> None:
    await world.client.patch(PODS, world.namespace, pod["metadata"]["name"], {"metadata": metadata})


async def ready_nodes(world: World, owner: JsonObject) -> set[str]:
    return {name for name, pod in (await by_node(world, owner)).items() if is_ready(pod)}


# W1


@pytest.mark.rule("W1")
async def test_w1_a_daemonset_is_looked_at_every_second(world: World):
    await world.wait(0.25)
    await world.client.create(DAEMONSETS, world.namespace, daemonset())
    await world.wait(0.7)
    assert await pods_of(world) == []
    await world.wait(0.05)
    assert len(await pods_of(world)) == 2


# DS5: node by node


@pytest.mark.everywhere
@pytest.mark.rule("DS5", "DS7")
async def test_ds5_an_update_goes_node_by_node(make_world: MakeWorld):
    world = await make_world(nodes=3)
    owner = await start(world, pod={"annotations": {READY_AFTER: "1"}})
    await update(world)
    fewest = 3

    async def over() -> bool:
        nonlocal fewest
        pods = await by_node(world, owner)
        fewest = min(fewest, sum(map(is_ready, pods.values())))
        return len(pods) == 3 and all(image_of(pod) == "i:2" and is_ready(pod) for pod in pods.values())

    await world.until(over, "the update is over", 30)
    assert fewest == 2


@pytest.mark.rule("DS5", "DS7", "W1")
async def test_ds5_each_node_takes_the_passes_that_it_needs(make_world: MakeWorld):
    """A pass deletes, the next one creates, 3 s later the successor is ready; the pass after that goes on."""
    world = await make_world(nodes=3)
    owner = await start(world, pod={"annotations": {READY_AFTER: "3"}})
    begun = await world.now()
    await update(world)
    pods = await done(world, owner, "i:2", 60)
    made = [parse_time(pods[name]["metadata"]["creationTimestamp"]) - begun for name in world.nodes]
    assert [round(later - earlier) for earlier, later in pairwise(made)] == [5, 5]


@pytest.mark.rule("DS5")
@pytest.mark.parametrize(
    ("rolling", "at_once"),
    [
        ({}, 1),
        ({"maxUnavailable": 2}, 2),
        ({"maxUnavailable": "50%"}, 3),  # of 5 nodes, rounded up
        ({"maxUnavailable": "1%"}, 1),
        ({"maxUnavailable": "100%"}, 5),
        ({"maxUnavailable": 0, "maxSurge": 2}, 1),  # nothing surges
    ],
)
async def test_ds5_max_unavailable_says_how_many_nodes_go_at_once(make_world: MakeWorld, rolling, at_once):
    world = await make_world(nodes=5)
    strategy = {"type": "RollingUpdate", "rollingUpdate": rolling}
    owner = await start(world, updateStrategy=strategy, pod={"annotations": {READY_AFTER: "2"}})
    await update(world)
    fewest, most = 5, 0

    async def over() -> bool:
        nonlocal fewest, most
        pods = await of_owner(world, owner)
        fewest = min(fewest, sum(map(is_ready, pods)))
        most = max(most, len(pods))
        return len(pods) == 5 and all(image_of(pod) == "i:2" and is_ready(pod) for pod in pods)

    await world.until(over, "the update is over", 60)
    assert (5 - fewest, most) == (at_once, 5)


@pytest.mark.rule("DS5")
async def test_ds5_what_the_status_tells_meanwhile(make_world: MakeWorld):
    world = await make_world(nodes=3)
    await start(world, pod={"annotations": {READY_AFTER: "3"}})
    await world.wait(2)
    changed = await update(world)
    assert changed["metadata"]["generation"] == 2
    seen = []
    for _ in range(16):
        await world.wait(1)
        status = (await get_daemonset(world))["status"]
        assert (status["desiredNumberScheduled"], status["observedGeneration"]) == (3, 2)
        assert status["numberAvailable"] == status["numberReady"] == 3 - status.get("numberUnavailable", 0)
        figures = ("currentNumberScheduled", "updatedNumberScheduled", "numberUnavailable")
        seen.append(tuple(status.get(figure, 0) for figure in figures))
    one_node = [(2, 0, 1), (3, 1, 1), (3, 1, 1), (3, 1, 1), (3, 1, 0)]
    assert seen == [(3, 0, 0), *((now, done + nodes, idle) for nodes in range(3) for now, done, idle in one_node)]


@pytest.mark.rule("DS5")
async def test_ds5_pods_count_when_they_have_been_ready_for_min_ready_seconds(world: World):
    owner = await world.client.create(DAEMONSETS, world.namespace, daemonset(minReadySeconds=20))
    await world.wait(10)
    status = (await get_daemonset(world))["status"]
    assert (status["numberReady"], status.get("numberAvailable", 0), status["numberUnavailable"]) == (2, 0, 2)
    await world.wait(15)
    assert (await get_daemonset(world))["status"]["numberAvailable"] == 2
    begun = await world.now()
    await update(world)
    pods = await done(world, owner, "i:2", 60)
    first, second = (parse_time(pods[name]["metadata"]["creationTimestamp"]) for name in world.nodes)
    assert first - begun <= 2
    assert 20 <= second - first <= 23


@pytest.mark.rule("DS5")
async def test_ds5_a_change_back_takes_the_first_revision_up_again(make_world: MakeWorld):
    world = await make_world(nodes=3)
    owner = await start(world, pod={"annotations": {READY_AFTER: "3"}})
    before = await by_node(world, owner)
    await update(world)
    await world.wait(3)
    await update(world, "i:1")
    after = await done(world, owner, "i:1", 30)
    last = world.nodes[-1]
    assert after[last]["metadata"]["uid"] == before[last]["metadata"]["uid"]
    assert {pod["metadata"]["labels"][HASH] for pod in after.values()} == {before[last]["metadata"]["labels"][HASH]}


@pytest.mark.rule("DS5", "DS4")
async def test_ds5_an_update_waits_for_a_lost_node_and_ends_when_it_is_back(make_world: MakeWorld):
    world = await make_world(nodes=3)
    owner = await start(world)
    await world.unplug(world.nodes[0])
    await world.wait(400)
    await update(world)
    await world.wait(60)
    pods = await by_node(world, owner)
    assert [image_of(pods[name]) for name in world.nodes] == ["i:1", "i:1", "i:1"]
    assert "deletionTimestamp" in pods[world.nodes[0]]["metadata"]
    await world.plug_in(world.nodes[0])
    await done(world, owner, "i:2", 30)


# DS6: not-ready pods first


@pytest.mark.rule("DS6")
async def test_ds6_pods_that_are_not_ready_are_replaced_first_and_cost_nothing(make_world: MakeWorld):
    world = await make_world(nodes=4)
    owner = await start(world)
    pods = await by_node(world, owner)
    for name in world.nodes[2:]:
        await annotate(world, pods[name], annotations={READY_AFTER: "100000"})
    await world.wait(2)
    assert await ready_nodes(world, owner) == set(world.nodes[:2])
    await update(world)
    await world.wait(2)
    images = {name: image_of(pod) for name, pod in (await by_node(world, owner)).items()}
    assert [images[name] for name in world.nodes] == ["i:1", "i:1", "i:2", "i:2"]
    await done(world, owner, "i:2", 30)


@pytest.mark.rule("DS6")
async def test_ds6_an_update_that_never_gets_ready_stops_after_the_first_node(make_world: MakeWorld):
    world = await make_world(nodes=3)
    owner = await start(world)
    template = {"metadata": {"annotations": {READY_AFTER: "100000"}}}
    await world.client.patch(DAEMONSETS, world.namespace, "agent", {"spec": {"template": template}})
    await world.wait(300)
    assert await ready_nodes(world, owner) == set(world.nodes[1:])
    template = {"metadata": {"annotations": {READY_AFTER: None}}}
    await world.client.patch(DAEMONSETS, world.namespace, "agent", {"spec": {"template": template}})
    await world.wait(2)
    assert await ready_nodes(world, owner) == set(world.nodes)


# DS7: a successor waits


@pytest.mark.rule("DS7")
async def test_ds7_a_successor_waits_for_a_grace_period(world: World):
    spec = {"lifecycle": {"preStop": {"sleep": {"seconds": 20}}}}
    owner = await start(world, pod={"containers": [{"name": "c", "image": "i:1", **spec}]})
    await world.wait(0.5)
    before = await by_node(world, owner)
    await update(world)
    await world.wait(20)
    pods = await of_owner(world, owner)
    assert names(pods) == names(before.values())
    leaving = [pod for pod in pods if "deletionTimestamp" in pod["metadata"]]
    assert [pod["spec"]["nodeName"] for pod in leaving] == [world.nodes[0]]
    await world.wait(2)
    assert image_of((await by_node(world, owner))[world.nodes[0]]) == "i:2"


@pytest.mark.rule("DS7")
async def test_ds7_a_successor_waits_for_a_finalizer(world: World):
    owner = await start(world)
    pod = (await by_node(world, owner))[world.nodes[0]]
    await annotate(world, pod, finalizers=[KEEP])
    await world.client.delete(PODS, world.namespace, pod["metadata"]["name"])
    await world.wait(300)
    assert (await by_node(world, owner))[world.nodes[0]]["metadata"]["uid"] == pod["metadata"]["uid"]
    status = (await get_daemonset(world))["status"]
    assert (status["currentNumberScheduled"], status["numberReady"], status["numberUnavailable"]) == (2, 1, 1)
    await annotate(world, pod, finalizers=None)
    await world.wait(1)
    after = (await by_node(world, owner))[world.nodes[0]]
    assert after["metadata"]["uid"] != pod["metadata"]["uid"]


# DS8: OnDelete


@pytest.mark.rule("DS8")
async def test_ds8_on_delete_leaves_updates_to_the_user(world: World):
    owner = await start(world, updateStrategy={"type": "OnDelete"})
    before = await by_node(world, owner)
    await update(world)

    async def noticed() -> bool:
        return bool((await get_daemonset(world))["status"]["observedGeneration"] == 2)

    await world.until(noticed, "the controller has seen the change", 5)
    await world.wait(5 * world.timings.reconcile)
    assert names(await of_owner(world, owner)) == names(before.values())
    first, second = world.nodes
    await world.client.delete(PODS, world.namespace, before[first]["metadata"]["name"])

    async def replaced() -> dict[str, JsonObject] | None:
        pods = await by_node(world, owner)
        there = first in pods and image_of(pods[first]) == "i:2" and is_ready(pods[first])
        return pods if there else None

    after = await world.until(replaced, "the deleted pod has a successor", 10)
    assert after[second]["metadata"]["uid"] == before[second]["metadata"]["uid"]

    async def counted() -> bool:
        return (await get_daemonset(world))["status"].get("updatedNumberScheduled") == 1

    await world.until(counted, "one pod is up to date", 10)

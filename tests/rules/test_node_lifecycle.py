"""Node lifecycle, rules N1 to N10: stage by stage, to the second, and back."""

from __future__ import annotations

from itertools import pairwise

import pytest

from kube32_sim.client import DEPLOYMENTS, EVENTS, LEASES, NODES, PODS, SERVICES
from kube32_sim.clock import EPOCH, parse_time, rfc3339
from tests.rules.conftest import MakeWorld
from tests.rules.world import JsonObject, World, condition, events_of, is_ready, pods_of, taints
from tests.support.objects import ENDPOINTS, pod, pod_spec, service

UNREACHABLE = "node.kubernetes.io/unreachable"
NO_SCHEDULE = {"key": UNREACHABLE, "effect": "NoSchedule"}


async def node_of(world: World, name: str) -> JsonObject:
    return await world.client.get(NODES, "", name)


async def last_renewal(world: World, node: str) -> float:
    lease = await world.client.get(LEASES, "kube-node-lease", node)
    return parse_time(lease["spec"]["renewTime"])


async def unplugged(world: World, node: str = "") -> tuple[str, float]:
    """A board without a network, and when its lease was renewed for the last time."""
    name = node or world.nodes[0]
    await world.wait(20)
    await world.unplug(name)
    return name, await last_renewal(world, name)


async def wait_until(world: World, moment: float) -> None:
    await world.wait(moment - await world.now())


async def evicted(world: World, name: str, node: str) -> bool:
    return bool((await world.client.get(PODS, world.namespace, name))["spec"].get("nodeName") != node)


@pytest.mark.rule("N1")
async def test_n1_a_board_renews_its_lease_every_5_seconds(world: World) -> None:
    lease = await world.client.get(LEASES, "kube-node-lease", "esp32-0")
    assert (lease["spec"]["leaseDurationSeconds"], lease["spec"]["holderIdentity"]) == (15, "esp32-0")
    renewals = []
    for _ in range(20):
        await world.wait(2.5)
        renewals.append(await last_renewal(world, "esp32-0"))
    distinct = sorted(set(renewals))
    intervals = [round(later - sooner, 3) for sooner, later in pairwise(distinct[1:])]
    assert set(intervals) == {5.0}
    assert len(intervals) in (8, 9), "the board's first renewal is at a moment of its own"


@pytest.mark.rule("N2")
@pytest.mark.parametrize("interval", [0.5, 0.7, 4.0])
async def test_n2_leases_are_looked_at_at_the_interval(make_world: MakeWorld, interval: float) -> None:
    """Each stage comes with the first look at or after its moment, whatever the interval is."""
    world = await make_world(lease_check_interval=interval)
    node, renewed = await unplugged(world)

    async def stage() -> int:
        found = await node_of(world, node)
        return len(taints(found)) if condition(found, "Ready")["status"] == "Unknown" else 0

    for number, due in ((1, renewed + 15), (2, renewed + 30)):

        async def reached(number: int = number) -> bool:
            return await stage() == number

        await world.until(reached, f"stage {number}", 30)
        now = await world.now()
        looks = (now - EPOCH) / interval
        assert looks == pytest.approx(round(looks))
        assert due <= now < due + interval + 0.001


@pytest.mark.rule("N3", "N4", "N5")
async def test_n3_15_seconds_after_the_last_renewal_a_node_is_unknown(world: World) -> None:
    node, renewed = await unplugged(world)
    await wait_until(world, renewed + 14.9)
    healthy = await node_of(world, node)
    assert is_ready(healthy)
    assert taints(healthy) == {}
    assert await events_of(world, node, "NodeNotReady") == []
    await wait_until(world, renewed + 15.5)
    lost = await node_of(world, node)
    assert [(one["type"], one["status"], one["reason"], one["message"]) for one in lost["status"]["conditions"]] == [
        (kind, "Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status.")
        for kind in ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")
    ]
    ready = condition(lost, "Ready")
    assert ready["lastHeartbeatTime"] == condition(healthy, "Ready")["lastHeartbeatTime"]
    assert parse_time(ready["lastTransitionTime"]) == pytest.approx(renewed + 15, abs=1.0)
    assert lost["spec"]["taints"] == [NO_SCHEDULE]
    (event,) = await events_of(world, node, "NodeNotReady")
    assert (event["type"], event["message"]) == ("Normal", f"Node {node} status is now: NodeNotReady")
    assert (event["source"]["component"], event["involvedObject"]["kind"]) == ("node-controller", "Node")


@pytest.mark.rule("N6")
async def test_n6_15_seconds_later_no_execute_with_time_added(world: World) -> None:
    node, renewed = await unplugged(world)
    await wait_until(world, renewed + 29.9)
    assert (await node_of(world, node))["spec"]["taints"] == [NO_SCHEDULE]
    await wait_until(world, renewed + 30.5)
    no_schedule, no_execute = (await node_of(world, node))["spec"]["taints"]
    assert no_schedule == NO_SCHEDULE
    added = parse_time(no_execute.pop("timeAdded"))
    assert no_execute == {"key": UNREACHABLE, "effect": "NoExecute"}
    assert renewed + 29 < added <= renewed + 30.5


@pytest.mark.rule("N7")
async def test_n7_pods_leave_330_seconds_after_the_last_renewal(world: World) -> None:
    await world.client.create(PODS, "default", pod("p"))
    node, renewed = await unplugged(world)
    await wait_until(world, renewed + 329.9)
    stays = await world.client.get(PODS, "default", "p")
    assert (stays["spec"]["nodeName"], stays["status"]["phase"]) == (node, "Running")
    await wait_until(world, renewed + 330.5)
    assert await evicted(world, "p", node)


@pytest.mark.rule("N7")
async def test_n7_it_does_not_matter_in_how_many_steps_time_goes(make_world: MakeWorld) -> None:
    """A big jump comes to what many small ones come to, object by object."""
    outcomes = []
    for steps in (1, 500):
        world = await make_world(nodes=3)
        for name in ("a", "b", "c"):
            await world.client.create(PODS, "default", pod(name, spec={"nodeName": "esp32-0"}))
        await world.unplug("esp32-0")
        for _ in range(steps):
            await world.wait(400 / steps)
        outcomes.append([(await world.client.list(kind)).items for kind in (NODES, PODS, EVENTS, LEASES)])
    assert outcomes[0] == outcomes[1]


@pytest.mark.rule("N8")
@pytest.mark.parametrize("not_ready", [4.0, 40.0])
async def test_n8_the_timeouts_are_options(make_world: MakeWorld, not_ready: float) -> None:
    world = await make_world(not_ready_timeout=not_ready, eviction_timeout=3.0)
    await world.wait(20 if not_ready > 5 else 0.0)
    await world.unplug("esp32-0")
    renewed = await last_renewal(world, "esp32-0")
    for moment, effects in (
        (not_ready - 0.1, []),
        (not_ready + 0.5, ["NoSchedule"]),
        (not_ready + 2.9, ["NoSchedule"]),
        (not_ready + 3.5, ["NoSchedule", "NoExecute"]),
    ):
        await wait_until(world, renewed + moment)
        assert list(taints(await node_of(world, "esp32-0"))) == effects


@pytest.mark.rule("N8")
async def test_n8_no_execute_may_come_at_once(make_world: MakeWorld) -> None:
    world = await make_world(eviction_timeout=0.0, default_toleration_seconds=0)
    await world.client.create(PODS, "default", pod("p"))
    node, renewed = await unplugged(world)
    await wait_until(world, renewed + 14.9)
    assert not await evicted(world, "p", node)
    await wait_until(world, renewed + 15.5)
    assert list(taints(await node_of(world, node))) == ["NoSchedule", "NoExecute"]
    assert await evicted(world, "p", node)


@pytest.mark.rule("N9", "N10")
@pytest.mark.parametrize("silence", [16.0, 31.0, 329.0])
async def test_n9_a_node_that_comes_back_in_time_is_as_it_was(world: World, silence: float) -> None:
    await world.client.create(PODS, "default", pod("p"))
    await world.wait(20)
    before, ran = await node_of(world, "esp32-0"), await world.client.get(PODS, "default", "p")
    node, renewed = await unplugged(world)
    await wait_until(world, renewed + silence)
    assert await events_of(world, node, "NodeReady") == []
    await world.plug_in(node)
    back = await world.now()
    await world.wait(0.5)
    after = await node_of(world, node)
    assert is_ready(after)
    assert "taints" not in after["spec"]
    assert rfc3339(back) <= condition(after, "Ready")["lastTransitionTime"] <= rfc3339(back + 0.5)
    (event,) = await events_of(world, node, "NodeReady")
    assert (event["type"], event["message"]) == ("Normal", f"Node {node} status is now: NodeReady")
    await world.wait(20)
    steady = await node_of(world, node)
    changing = ("lastHeartbeatTime", "lastTransitionTime")
    shown = [
        [{key: value for key, value in one.items() if key not in changing} for one in each["status"]["conditions"]]
        for each in (before, steady)
    ]
    assert shown[0] == shown[1]
    runs = await world.client.get(PODS, "default", "p")
    assert runs["metadata"]["uid"] == ran["metadata"]["uid"]
    assert runs["spec"] == ran["spec"]
    assert runs["status"]["containerStatuses"] == ran["status"]["containerStatuses"]
    assert len(await events_of(world, node, "NodeNotReady")) == len(await events_of(world, node, "NodeReady")) == 1


@pytest.mark.rule("N9")
async def test_n9_who_has_left_does_not_come_back_and_who_has_not_stays(world: World) -> None:
    for name, seconds in (("short", 10), ("long", 300)):
        toleration = {"key": UNREACHABLE, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds}
        spec = {"tolerations": [toleration], "nodeName": "esp32-0"}
        await world.client.create(PODS, "default", pod(name, spec=spec))
    node, renewed = await unplugged(world)
    await wait_until(world, renewed + 60)
    await world.plug_in(node)
    await world.wait(400)
    placed = {each["metadata"]["name"]: each["spec"]["nodeName"] for each in await pods_of(world)}
    assert placed == {"short": "esp32-1", "long": "esp32-0"}
    assert all(map(is_ready, await pods_of(world)))


@pytest.mark.rule("N9")
async def test_n9_a_node_that_is_lost_twice_goes_through_all_of_it_again(world: World) -> None:
    for times in (1, 2):
        node, renewed = await unplugged(world)
        await wait_until(world, renewed + 14.9)
        assert taints(await node_of(world, node)) == {}
        await wait_until(world, renewed + 30.5)
        assert list(taints(await node_of(world, node))) == ["NoSchedule", "NoExecute"]
        await world.plug_in(node)
        await world.wait(0.5)
        assert taints(await node_of(world, node)) == {}
        told = [(await events_of(world, node, reason))[0]["count"] for reason in ("NodeNotReady", "NodeReady")]
        assert told == [times, times]


@pytest.mark.rule("N10")
async def test_n10_pods_of_a_lost_node_are_not_ready_until_it_is_back(world: World) -> None:
    """As upstream: their containers may well run on, but nobody knows."""
    await world.client.create(PODS, "default", pod("p", labels={"app": "p"}))
    await world.client.create(SERVICES, "default", service("s", {"app": "p"}))
    node, renewed = await unplugged(world)
    before = await world.client.get(PODS, "default", "p")
    await wait_until(world, renewed + 14.9)
    assert await world.client.get(PODS, "default", "p") == before
    await wait_until(world, renewed + 15.5)
    lost = await world.client.get(PODS, "default", "p")
    assert (lost["status"]["phase"], lost["spec"]["nodeName"]) == ("Running", node)
    assert lost["status"]["containerStatuses"] == before["status"]["containerStatuses"]
    statuses = {one["type"]: one["status"] for one in lost["status"]["conditions"]}
    assert statuses == {one["type"]: "True" for one in before["status"]["conditions"]} | {"Ready": "False"}
    assert parse_time(condition(lost, "Ready")["lastTransitionTime"]) == pytest.approx(renewed + 15, abs=1.0)
    assert condition(lost, "Ready").keys() == condition(before, "Ready").keys()
    (event,) = await events_of(world, "p", "NodeNotReady")
    assert (event["type"], event["message"]) == ("Warning", "Node is not ready")
    (subset,) = (await world.client.get(ENDPOINTS, "default", "s"))["subsets"]
    assert [each["ip"] for each in subset["notReadyAddresses"]] == [lost["status"]["podIP"]]
    await world.plug_in(node)
    await world.wait(0.5)
    again = await world.client.get(PODS, "default", "p")
    assert [(one["type"], one["status"]) for one in again["status"]["conditions"]] == [
        (one["type"], "True") for one in before["status"]["conditions"]
    ]
    (subset,) = (await world.client.get(ENDPOINTS, "default", "s"))["subsets"]
    assert [each["ip"] for each in subset["addresses"]] == [before["status"]["podIP"]]


@pytest.mark.rule("N10")
async def test_n10_a_deployment_tells_how_many_are_available(world: World) -> None:
    spec = {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "w"}},
        "template": {"metadata": {"labels": {"app": "w"}}, "spec": pod_spec()},
    }
    await world.client.create(DEPLOYMENTS, "default", {"metadata": {"name": "w"}, "spec": spec})
    node, renewed = await unplugged(world)
    placed = [each["metadata"]["name"] for each in await pods_of(world)]

    async def available() -> int:
        status = (await world.client.get(DEPLOYMENTS, "default", "w"))["status"]
        assert status["replicas"] == 2
        return int(status.get("availableReplicas", 0))

    assert await available() == 2
    await wait_until(world, renewed + 17)
    assert await available() == 1
    await wait_until(world, renewed + 200)
    await world.plug_in(node)
    await world.wait(2)
    assert await available() == 2
    assert [each["metadata"]["name"] for each in await pods_of(world)] == placed


@pytest.mark.everywhere
@pytest.mark.rule("N3", "N4", "N6", "N7", "N9", "N20")
async def test_n3_to_n9_the_whole_story_of_a_board_that_is_lost_and_found(world: World) -> None:
    node, timings = world.nodes[0], world.timings
    await world.client.create(PODS, world.namespace, pod("p", spec={"nodeName": node}))

    async def ready_on() -> str:
        found = await world.client.get(PODS, world.namespace, "p")
        return str(found["spec"].get("nodeName", "")) if is_ready(found) else ""

    async def runs_here() -> bool:
        return await ready_on() == node

    await world.until(runs_here, "the pod runs", 10)
    await world.unplug(node)
    since = await world.now()

    async def marked(effects: list[str], status: str) -> bool:
        found = await node_of(world, node)
        return (condition(found, "Ready")["status"], list(taints(found))) == (status, effects)

    async def runs_nowhere() -> bool:
        return await ready_on() == ""

    await world.until(lambda: marked(["NoSchedule"], "Unknown"), "the node is Unknown", timings.lease + 1)
    await world.until(runs_nowhere, "the pod is not Ready", 1)
    await world.until(lambda: marked(["NoSchedule", "NoExecute"], "Unknown"), "NoExecute", timings.eviction + 1)

    async def runs_elsewhere() -> bool:
        return await ready_on() not in ("", node)

    await world.until(runs_elsewhere, "the pod runs elsewhere", timings.toleration + timings.reconcile + 2)
    assert await world.now() - since >= timings.eviction + timings.toleration - 1
    assert [event["type"] for event in await events_of(world, "p", "Evicted")] == ["Warning"]
    await world.plug_in(node)
    await world.until(lambda: marked([], "True"), "the node is back", 5)
    assert await ready_on() not in ("", node)

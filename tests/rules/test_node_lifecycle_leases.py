"""Node lifecycle with Leases that are odd, nodes without boards, and control planes that are started anew."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from kube32_sim.client import LEASES, NODES, PODS
from kube32_sim.clock import parse_time, rfc3339_micro
from kube32_sim.loops import Loops
from tests.rules.conftest import MakeWorld
from tests.rules.test_node_lifecycle import NO_SCHEDULE, evicted, last_renewal, node_of, unplugged, wait_until
from tests.rules.world import VirtualWorld, World, condition, events_of, is_ready, taints
from tests.support.objects import node as node_object
from tests.support.objects import pod

LEASE_NAMESPACE = "kube-node-lease"


@pytest.fixture
async def bare(make_world: MakeWorld) -> World:
    """No boards: nodes are made and renewed by hand."""
    return await make_world(nodes=0)


async def add_node(world: World, name: str = "n") -> None:
    made = node_object(name)
    await world.client.create(NODES, "", made)
    await world.client.patch(NODES, "", name, {"status": made["status"]}, subresource="status")


async def add_lease(world: World, name: str = "n", *, said: float | None = None, **spec: Any) -> None:
    """said: when the board says that it renewed; now, unless given."""
    now = await world.now() if said is None else said
    spec = {"holderIdentity": name, "leaseDurationSeconds": 15, "renewTime": rfc3339_micro(now), **spec}
    body = {"metadata": {"name": name}, "spec": {key: value for key, value in spec.items() if value is not None}}
    await world.client.create(LEASES, LEASE_NAMESPACE, body)


async def renew(world: World, name: str = "n", *, said: float | None = None) -> None:
    now = await world.now() if said is None else said
    await world.client.patch(LEASES, LEASE_NAMESPACE, name, {"spec": {"renewTime": rfc3339_micro(now)}})


async def lost_after(world: World, seconds: float, name: str = "n") -> None:
    """The node is Ready until that many seconds from now, and lost with the next look at the leases."""
    await world.wait(seconds - 0.1)
    assert is_ready(await node_of(world, name))
    await world.wait(0.6)
    assert condition(await node_of(world, name), "Ready")["reason"] == "NodeStatusUnknown"


@pytest.mark.rule("N3")
@pytest.mark.parametrize("seconds", [1, 40, 3600])
async def test_n3_the_lease_says_how_long_it_lasts(bare: World, seconds: int) -> None:
    await add_node(bare)
    await add_lease(bare, leaseDurationSeconds=seconds)
    await lost_after(bare, seconds)


@pytest.mark.rule("N3")
async def test_n3_a_duration_that_changes_counts_from_the_last_renewal(bare: World) -> None:
    await add_node(bare)
    await add_lease(bare, leaseDurationSeconds=3600)
    await bare.wait(100)
    patch = {"spec": {"leaseDurationSeconds": 130}}
    await bare.client.patch(LEASES, LEASE_NAMESPACE, "n", patch)
    await lost_after(bare, 30)


@pytest.mark.rule("N3")
async def test_n3_without_a_lease_the_nodes_creation_counts_as_its_last_renewal(bare: World) -> None:
    await bare.wait(7)
    await add_node(bare)
    await lost_after(bare, 15)


@pytest.mark.rule("N3")
async def test_n3_a_lease_that_was_never_renewed_is_none(bare: World) -> None:
    await add_node(bare)
    await bare.wait(5)
    await add_lease(bare, renewTime=None)
    await lost_after(bare, 10)


@pytest.mark.rule("N3")
async def test_n3_a_lease_that_loses_its_time_was_renewed_nevertheless(bare: World) -> None:
    await add_node(bare)
    await bare.wait(10)
    await add_lease(bare)
    await bare.wait(6)
    await bare.client.patch(LEASES, LEASE_NAMESPACE, "n", {"spec": {"renewTime": None}})
    await lost_after(bare, 9)


@pytest.mark.rule("N3")
async def test_n3_a_lease_without_a_duration_lasts_15_seconds(bare: World) -> None:
    await add_node(bare)
    await bare.wait(5)
    await add_lease(bare, leaseDurationSeconds=None)
    await lost_after(bare, 15)


@pytest.mark.rule("N3")
async def test_n3_a_node_that_never_said_anything_is_unknown_too(bare: World) -> None:
    await bare.client.create(NODES, "", {"metadata": {"name": "n"}})
    await bare.wait(15)
    lost = await node_of(bare, "n")
    assert [(one["type"], one["status"], one["reason"], one["message"]) for one in lost["status"]["conditions"]] == [
        ("Ready", "Unknown", "NodeStatusUnknown", "Kubelet never posted node status.")
    ]
    assert lost["spec"]["taints"] == [NO_SCHEDULE]


@pytest.mark.rule("N3")
@pytest.mark.parametrize("offset", [-86400.0, 86400.0])
async def test_n3_a_boards_wrong_clock_neither_saves_nor_loses_it(bare: World, offset: float) -> None:
    await add_node(bare)
    await add_lease(bare, said=await bare.now() + offset)
    for _ in range(12):
        await bare.wait(5)
        await renew(bare, said=await bare.now() + offset)
    await lost_after(bare, 15)
    await renew(bare, said=await bare.now() + offset)
    await bare.wait(0.5)
    assert is_ready(await node_of(bare, "n"))


@pytest.mark.rule("N3")
async def test_n3_a_board_whose_clock_jumps_goes_on_renewing(bare: World) -> None:
    await add_node(bare)
    await add_lease(bare)
    for offset in (0.0, 0.0, 86400.0, 86400.0, -86400.0, -86400.0, 0.0):
        await bare.wait(10)
        await renew(bare, said=await bare.now() + offset)
        assert is_ready(await node_of(bare, "n"))
    await lost_after(bare, 15)


@pytest.mark.rule("N3")
async def test_n3_a_write_to_a_lease_that_is_no_renewal_is_none(bare: World) -> None:
    await add_node(bare)
    await add_lease(bare)
    for number in range(2):
        await bare.wait(5)
        labels = {"metadata": {"labels": {"look": str(number)}}}
        await bare.client.patch(LEASES, LEASE_NAMESPACE, "n", labels)
    await lost_after(bare, 5)


@pytest.mark.rule("N3")
async def test_n3_a_lease_that_is_deleted_was_renewed_nevertheless(world: World) -> None:
    await world.wait(60)
    for _ in range(10):
        await world.client.delete(LEASES, LEASE_NAMESPACE, "esp32-0")
        await world.wait(6)
    assert await events_of(world, "esp32-0", "NodeNotReady") == []
    node, renewed = await unplugged(world)
    await world.client.delete(LEASES, LEASE_NAMESPACE, node)
    await lost_after(world, renewed + 15 - await world.now(), node)


@pytest.mark.rule("N3")
async def test_n3_a_lease_of_no_node_and_one_of_another_namespace_are_nobodys(bare: World) -> None:
    await add_lease(bare, "ghost")
    await add_node(bare)
    await bare.wait(10)
    elsewhere = {"metadata": {"name": "n"}, "spec": {"renewTime": rfc3339_micro(await bare.now())}}
    await bare.client.create(LEASES, "default", elsewhere)
    await lost_after(bare, 5)
    assert [each["metadata"]["name"] for each in (await bare.client.list(NODES)).items] == ["n"]


@pytest.mark.rule("N3")
async def test_n3_a_lease_may_be_there_before_its_node(bare: World) -> None:
    await add_lease(bare, leaseDurationSeconds=60)
    await bare.wait(20)
    await add_node(bare)
    await lost_after(bare, 60)


@pytest.mark.rule("N3")
@pytest.mark.parametrize("lost", [False, True])
async def test_n3_a_node_made_anew_is_not_blamed_for_the_old_ones_silence(bare: World, lost: bool) -> None:
    await add_node(bare)
    await add_lease(bare)
    await bare.wait(40 if lost else 10)
    assert is_ready(await node_of(bare, "n")) is not lost
    await bare.client.delete(NODES, "", "n")
    await add_node(bare)
    assert taints(await node_of(bare, "n")) == {}
    await lost_after(bare, 15)


@pytest.mark.rule("N3")
async def test_n3_a_board_whose_node_is_made_anew_takes_it_over(world: World) -> None:
    await world.client.delete(NODES, "", "esp32-0")
    await world.wait(30)
    await world.client.create(NODES, "", {"metadata": {"name": "esp32-0"}})
    await world.wait(60)
    assert is_ready(await node_of(world, "esp32-0"))
    assert [event["reason"] for event in await events_of(world, "esp32-0")].count("NodeNotReady") == 0


@pytest.mark.rule("N6")
async def test_n6_a_ready_that_somebody_writes_is_no_renewal(bare: World) -> None:
    """It is set right with the next look, and postpones nothing."""
    await add_node(bare)
    await bare.wait(25)
    await bare.client.patch(NODES, "", "n", {"status": node_object("n")["status"]}, subresource="status")
    await bare.wait(0.5)
    assert condition(await node_of(bare, "n"), "Ready")["reason"] == "NodeStatusUnknown"
    await bare.wait(4)
    assert list(taints(await node_of(bare, "n"))) == ["NoSchedule"]
    await bare.wait(1)
    assert list(taints(await node_of(bare, "n"))) == ["NoSchedule", "NoExecute"]


@pytest.mark.rule("N6")
async def test_n6_taints_that_somebody_takes_off_a_lost_node_come_again(bare: World) -> None:
    await add_node(bare)
    await bare.wait(40)
    await bare.client.patch(NODES, "", "n", {"spec": {"taints": [{"key": "mine", "effect": "NoSchedule"}]}})
    await bare.wait(0.5)
    found = (await node_of(bare, "n"))["spec"]["taints"]
    assert [(taint["key"], taint["effect"]) for taint in found] == [
        ("mine", "NoSchedule"),
        (NO_SCHEDULE["key"], "NoSchedule"),
        (NO_SCHEDULE["key"], "NoExecute"),
    ]
    assert parse_time(found[2]["timeAdded"]) == pytest.approx(await bare.now(), abs=1.0)


@pytest.mark.rule("N10")
async def test_n10_pods_without_a_kubelet_are_ready_again_too(bare: World) -> None:
    await add_node(bare)
    await add_lease(bare)
    await bare.client.create(PODS, "default", pod("p", spec={"nodeName": "n"}))
    ready = [{"type": kind, "status": "True"} for kind in ("Ready", "ContainersReady")]
    status = {"status": {"phase": "Running", "conditions": ready}}
    await bare.client.patch(PODS, "default", "p", status, subresource="status")
    await bare.wait(20)
    assert not is_ready(await bare.client.get(PODS, "default", "p"))
    await renew(bare)
    await bare.wait(0.5)
    assert is_ready(await bare.client.get(PODS, "default", "p"))


# control planes that are started anew


@asynccontextmanager
async def restarted(world: World, down: float) -> AsyncIterator[None]:
    """The control plane stops now, and is started again over the same store after so many seconds."""
    assert isinstance(world, VirtualWorld)
    cluster = world.cluster
    await cluster.loops.stop()
    await world.wait(down)
    options = replace(cluster.options, controllers="*,-scheduler")
    table, store, client = cluster.registry.table, cluster.store, cluster.client
    loops = Loops(options, None, table, store, client, cluster.recorder, cluster.clock)
    loops.start()
    await cluster.settle()
    yield
    await loops.stop()


@pytest.mark.rule("N11")
@pytest.mark.parametrize("down", [3.0, 1000.0])
async def test_n11_after_a_restart_a_ready_node_gets_a_whole_lease_duration(world: World, down: float) -> None:
    node, renewed = await unplugged(world)
    await wait_until(world, renewed + 14)
    async with restarted(world, down):
        await lost_after(world, 15, node)
        await world.wait(14.4)
        assert list(taints(await node_of(world, node))) == ["NoSchedule"]
        await world.wait(0.1)
        assert list(taints(await node_of(world, node))) == ["NoSchedule", "NoExecute"]


@pytest.mark.rule("N11")
async def test_n11_a_node_that_was_lost_before_the_restart_stays_lost(world: World) -> None:
    node, renewed = await unplugged(world)
    await wait_until(world, renewed + 20)
    before = await node_of(world, node)
    async with restarted(world, 5):
        await world.wait(4)
        assert await node_of(world, node) == before
        await world.wait(2)
        assert list(taints(await node_of(world, node))) == ["NoSchedule", "NoExecute"]
        await world.plug_in(node)
        await world.wait(0.5)
        assert is_ready(await node_of(world, node))
        assert taints(await node_of(world, node)) == {}


@pytest.mark.rule("N11")
async def test_n11_a_node_that_came_back_while_nobody_looked_is_cleared_at_once(world: World) -> None:
    node, renewed = await unplugged(world)
    await wait_until(world, renewed + 40)
    async with restarted(world, 0):
        pass
    await world.plug_in(node)
    assert list(taints(await node_of(world, node))) == ["NoSchedule", "NoExecute"]
    async with restarted(world, 20):
        assert taints(await node_of(world, node)) == {}
        assert is_ready(await node_of(world, node))
        assert len(await events_of(world, node, "NodeReady")) == 1


@pytest.mark.rule("N12")
@pytest.mark.parametrize("down", [100.0, 1000.0])
async def test_n12_after_a_restart_tolerations_go_on_counting_from_time_added(world: World, down: float) -> None:
    await world.client.create(PODS, "default", pod("p", spec={"nodeName": "esp32-0"}))
    node, renewed = await unplugged(world)
    await wait_until(world, renewed + 40)
    added = parse_time(taints(await node_of(world, node))["NoExecute"]["timeAdded"])
    async with restarted(world, down):
        if down < 300:
            await wait_until(world, added + 299.9)
            assert not await evicted(world, "p", node)
            await world.wait(0.6)
        assert await evicted(world, "p", node)
        assert parse_time(taints(await node_of(world, node))["NoExecute"]["timeAdded"]) == added


# without the loop


async def test_without_the_loop_new_nodes_are_not_ready_and_nobody_is_lost(make_world: MakeWorld) -> None:
    world = await make_world(nodes=1, controllers="*,-node-lifecycle")
    await world.wait(20)
    await world.unplug("esp32-0")
    await world.wait(1000)
    found = await node_of(world, "esp32-0")
    assert is_ready(found)
    assert found["spec"]["taints"] == [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]
    assert await last_renewal(world, "esp32-0") < await world.now() - 900


async def test_with_the_loop_new_nodes_have_no_taints(world: World) -> None:
    assert "taints" not in (await node_of(world, "esp32-0"))["spec"]
    made = await world.client.create(NODES, "", {"metadata": {"name": "n"}})
    assert "taints" not in made["spec"]

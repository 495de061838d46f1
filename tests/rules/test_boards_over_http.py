"""What only boards in processes of their own go through: they are killed, end, hang, come back, lose their server."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from kube32_sim.client import LEASES, NODES, PODS
from kube32_sim.http_client import HttpClient
from kube32_sim.kubeconfig import Access
from tests.rules.processes import BOARD_OPTIONS, SERVER_OPTIONS, Boards, ProcessWorld, running_boards
from tests.rules.world import JsonObject, condition, events_of, is_ready, taints
from tests.support.objects import pod
from tests.support.servers import running_server

in_processes = pytest.mark.parametrize("make_world", ["processes"], indirect=True)

MEMORY = {"limits": {"memory": "32Ki"}}


async def run(world: ProcessWorld, name: str) -> JsonObject:
    """Create a pod; the pod once it is Ready."""
    spec = {"containers": [{"name": "c", "image": "i", "resources": MEMORY}]}
    await world.client.create(PODS, world.namespace, pod(name, spec=spec))
    return await running(world, name)


async def running(world: ProcessWorld, name: str, *, away_from: str = "") -> JsonObject:
    async def look() -> JsonObject | None:
        found = await world.client.get(PODS, world.namespace, name)
        return found if is_ready(found) and found["spec"].get("nodeName", "") != away_from else None

    found = await world.until(look, f"pod {name} is Ready", world.timings.reconcile)
    assert found is not None
    return found


async def ready_status(world: ProcessWorld, node: str, status: str) -> JsonObject:
    """The node once its condition Ready has this status."""

    async def look() -> JsonObject | None:
        found = await world.client.get(NODES, "", node)
        return found if condition(found, "Ready").get("status") == status else None

    found = await world.until(look, f"Ready of {node} is {status}", world.timings.lease)
    assert found is not None
    return found


async def reports(world: ProcessWorld, node: str, memory: str) -> bool:
    """Whether the board says that so much is free."""
    found = await world.client.get(NODES, "", node)
    return bool(found["status"]["allocatable"]["memory"] == memory)


async def reasons(world: ProcessWorld, name: str) -> list[str]:
    return [event["reason"] for event in await events_of(world, name)]


@in_processes
async def test_a_killed_board_loses_its_pods_and_is_ready_when_it_is_started_again(world: ProcessWorld) -> None:
    first = await run(world, "a")
    lost = first["spec"]["nodeName"]
    world.boards[lost].kill()

    node = await ready_status(world, lost, "Unknown")
    assert condition(node, "Ready")["reason"] == "NodeStatusUnknown"
    assert list(taints(node)) == ["NoSchedule"]
    there = await world.client.get(PODS, world.namespace, "a")
    assert (there["spec"]["nodeName"], there["status"]["phase"]) == (lost, "Running")

    moved = await running(world, "a", away_from=lost)
    assert moved["metadata"]["uid"] == first["metadata"]["uid"]
    assert condition(moved, "DisruptionTarget")["reason"] == "DeletionByTaintManager"
    node = await world.client.get(NODES, "", lost)
    assert list(taints(node)) == ["NoSchedule", "NoExecute"]

    world.boards[lost].start()
    node = await ready_status(world, lost, "True")

    async def clean() -> bool:
        return taints(await world.client.get(NODES, "", lost)) == {}

    await world.until(clean, "the taints are gone", world.timings.lease_check)
    assert (await world.client.get(PODS, world.namespace, "a"))["spec"] == moved["spec"]
    told = await reasons(world, lost)
    assert told.index("NodeNotReady") < told.index("NodeReady")


@in_processes
async def test_a_board_that_hung_leaves_a_pod_alone_that_was_moved_meanwhile(world: ProcessWorld) -> None:
    node = (await run(world, "a"))["spec"]["nodeName"]
    await world.until(lambda: reports(world, node, "256Ki"), "the pod is in the report", 1)
    await world.unplug(node)
    moved = await running(world, "a", away_from=node)
    await world.plug_in(node)
    await ready_status(world, node, "True")
    await world.until(lambda: reports(world, node, "288Ki"), "the board has ended the pod", 1)
    now = await world.client.get(PODS, world.namespace, "a")
    assert (now["spec"], now["status"]) == (moved["spec"], moved["status"])


@in_processes
async def test_a_board_that_is_asked_to_end_leaves_its_node_and_finds_its_pods_again(world: ProcessWorld) -> None:
    before = await run(world, "a")
    node = before["spec"]["nodeName"]
    uid = (await world.client.get(NODES, "", node))["metadata"]["uid"]
    world.boards[node].stop()
    assert is_ready(await world.client.get(NODES, "", node))
    lease = await world.client.get(LEASES, "kube-node-lease", node)
    assert lease["spec"]["leaseDurationSeconds"] == world.timings.lease

    world.boards[node].start()

    async def started() -> bool:
        return (await reasons(world, node)).count("Starting") == 2

    await world.until(started, "the board is back", 1)
    await ready_status(world, node, "True")
    assert (await world.client.get(NODES, "", node))["metadata"]["uid"] == uid
    after = await world.client.get(PODS, world.namespace, "a")
    assert (after["spec"], after["status"]) == (before["spec"], before["status"])


async def test_boards_register_again_with_a_server_that_takes_the_place_of_theirs(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    url, uids = f"http://127.0.0.1:{port}", set()
    with running_boards(url, tmp_path, ("bench-0", "bench-1"), *BOARD_OPTIONS) as boards:
        for start in ("first", "second"):
            (tmp_path / start).mkdir()
            with running_server(tmp_path / start, "--nodes", "0", "--port", str(port), *SERVER_OPTIONS):
                uids.add(await run_on_empty_boards(url, boards))
    assert len(uids) == 2


async def run_on_empty_boards(url: str, boards: Boards) -> str:
    """A server that has kept nothing knows of no pods, and its boards have none; answers the uid of the first node."""
    async with HttpClient(Access(url)) as client:
        world = ProcessWorld(client, "default", boards)
        await world.ready()
        assert (await client.list(PODS)).items == []
        assert [await reports(world, node, "288Ki") for node in world.nodes] == [True, True]
        assert (await run(world, "a"))["spec"]["nodeName"] == "bench-0"
        await world.until(lambda: reports(world, "bench-0", "256Ki"), "the pod is in the report", 1)
        uid: str = (await client.get(NODES, "", "bench-0"))["metadata"]["uid"]
        return uid

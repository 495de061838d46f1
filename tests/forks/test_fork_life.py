"""What lives in a fork: boards and loops go on where the original's were, whatever that ran on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kube32_sim.client import DEPLOYMENTS, EVENTS, LEASES, NODES, PODS, Client
from kube32_sim.clock import RealClock, VirtualClock
from kube32_sim.cluster import Cluster
from kube32_sim.http_client import HttpClient
from kube32_sim.ids import Ids
from kube32_sim.kubelet.process import Boards
from tests.support.etcd import Etcd, fresh_prefix
from tests.support.objects import MAPS, config_map, node, pod
from tests.support.scenario import FAULT, template, workload
from tests.support.waiting import eventually

JsonObject = dict[str, Any]
OWN = ("services", "endpoints", "endpointslices")


async def places(client: Client) -> dict[str, str]:
    return {each["metadata"]["name"]: each["spec"].get("nodeName", "") for each in (await client.list(PODS)).items}


async def break_board(client: Client, name: str, fault: str = "stopped") -> None:
    await client.patch(NODES, "", name, {"metadata": {"annotations": {FAULT: fault}}})


def written(cluster: Cluster, since: int) -> list[str]:
    """What was written after a revision, but for where the server itself is, and heartbeats."""
    events = (event for event in cluster.store._log if event.revision > since)  # type: ignore[attr-defined]
    return [event.stored.key for event in events if event.stored.storage[1] not in OWN and not event.heartbeat]


async def test_a_board_dies_in_the_fork_only() -> None:
    async with Cluster(nodes=4, clock="virtual") as cluster:
        await cluster.client.create(DEPLOYMENTS, "default", workload("web", template("web"), replicas=6))
        await cluster.advance("33s")
        before = await places(cluster.client)
        async with cluster.fork() as fork:
            assert await places(fork.client) == before
            await break_board(fork.client, "esp32-1")
            await fork.advance("345s")
            after = await places(fork.client)
            moved = {name for name in before if before[name] != after[name]}
            assert moved == {name for name, where in before.items() if where == "esp32-1"} != set()
            assert all(after.values())
        await cluster.advance("345s")
        assert await places(cluster.client) == before


async def test_nothing_is_written_for_going_on() -> None:
    async with Cluster(nodes=3, clock="virtual") as cluster:
        for number in range(9):
            await cluster.client.create(PODS, "default", pod(f"p{number}"))
        crashes = {"sim.kube32.io/run-seconds": "7", "sim.kube32.io/exit-code": "1"}
        await cluster.client.create(PODS, "default", pod("crashes", annotations=crashes))
        await cluster.advance("61s")
        async with cluster.fork() as fork:
            await fork.settle()
            assert written(fork, cluster.store.revision) == []
            await fork.advance("0.001s")
            assert written(fork, cluster.store.revision) == []


@pytest.mark.parametrize("seconds", ["47s", "61.7s", "10m"])
async def test_a_fork_goes_on_as_its_original_does(seconds: str) -> None:
    """Heartbeats, restarts and deletions come when they would have."""

    async def seen(cluster: Cluster) -> JsonObject:
        pods = {each["metadata"]["name"]: each["status"] for each in (await cluster.client.list(PODS)).items}
        leases = (await cluster.client.list(LEASES, "kube-node-lease")).items
        return pods | {each["metadata"]["name"]: each["spec"]["renewTime"] for each in leases}

    async with Cluster(nodes=2, clock="virtual") as cluster:
        crashes = {"sim.kube32.io/run-seconds": "7", "sim.kube32.io/exit-code": "1"}
        await cluster.client.create(PODS, "default", pod("crashes", annotations=crashes))
        await cluster.client.create(PODS, "default", pod("runs"))
        await cluster.client.create(PODS, "default", pod("goes"))
        await cluster.advance("31.3s")
        await cluster.client.delete(PODS, "default", "goes")
        async with cluster.fork() as fork:
            await fork.advance(seconds)
            await cluster.advance(seconds)
            assert await seen(fork) == await seen(cluster)


async def test_faults_come_along() -> None:
    async with Cluster(nodes=2, clock="virtual") as cluster:
        await cluster.client.create(PODS, "default", pod("p"))
        await cluster.advance("20s")
        where = (await places(cluster.client))["p"]
        await break_board(cluster.client, where, "partitioned")
        await cluster.advance("60s")
        async with cluster.fork() as fork:
            await fork.advance("300s")
            assert (await places(fork.client))["p"] not in ("", where)
            await break_board(fork.client, where, "")
            await fork.advance("30s")
            ready = (await fork.client.get(NODES, "", where))["status"]["conditions"]
            assert [one["status"] for one in ready if one["type"] == "Ready"] == ["True"]


async def test_a_node_that_nobody_runs_stays_lost() -> None:
    async with Cluster(nodes=1, clock="virtual") as cluster:
        await cluster.client.create(NODES, "", node("by-hand"))
        await cluster.advance("60s")
        async with cluster.fork() as fork:
            await fork.advance("60s")
            assert {each.name for each in fork.store.list(("coordination.k8s.io", "leases"))} == {"esp32-0"}


async def test_boards_of_other_processes_are_played_on() -> None:
    """Over HTTP, by the real clock; in the fork they go by its own."""
    async with Cluster(nodes=0) as cluster, HttpClient(cluster.access) as http:
        boards = Boards(lambda _: http, RealClock(), Ids(), [("far", "esp32-c3")])
        await boards.start()
        await cluster.client.create(PODS, "default", pod("p"))

        def runs() -> bool:
            stored = cluster.store.get(("", "pods"), "default/p")
            return stored is not None and stored.object()["status"]["phase"] == "Running"

        await eventually(runs, "the pod runs")
        async with cluster.fork() as fork:
            assert isinstance(fork.clock, VirtualClock)
            await boards.stop()
            await fork.advance("600s")
            far = await fork.client.get(NODES, "", "far")
            assert [one["status"] for one in far["status"]["conditions"] if one["type"] == "Ready"] == ["True"]
            await fork.client.create(PODS, "default", pod("later"))
            await fork.advance("30s")
            assert (await fork.client.get(PODS, "default", "later"))["status"]["phase"] == "Running"


async def test_the_clock_of_a_fork_begins_with_the_originals_time() -> None:
    async with Cluster(nodes=0) as cluster:
        earlier = cluster.clock.now()
        async with cluster.fork() as fork:
            assert earlier <= fork.clock.now() <= cluster.clock.now()
            assert fork.clock.mode == "Virtual"
            now = fork.clock.now()
            await fork.advance("1h")
            assert fork.clock.now() == pytest.approx(now + 3600, abs=1e-5)


async def test_a_fork_of_a_file_is_in_memory(tmp_path: Path) -> None:
    file = tmp_path / "cluster.db"
    async with Cluster(nodes=1, clock="virtual", store=f"sqlite:{file}") as cluster:
        await cluster.client.create(MAPS, "default", config_map("before"))
        async with cluster.fork() as fork:
            assert fork.options.store == "memory"
            await fork.client.create(MAPS, "default", config_map("after"))
            await fork.advance("1h")
            assert not fork.store.deferred
    async with Cluster(nodes=1, clock="virtual", store=f"sqlite:{file}") as again:
        names = {each["metadata"]["name"] for each in (await again.client.list(MAPS, "default")).items}
        assert "before" in names
        assert "after" not in names


async def test_events_of_the_original_are_not_told_again() -> None:
    async with Cluster(nodes=2, clock="virtual") as cluster:
        await cluster.client.create(PODS, "default", pod("p"))
        await cluster.advance("30s")
        async with cluster.fork() as fork:
            await fork.advance("30s")
            there = [each["reason"] for each in (await fork.client.list(EVENTS)).items]
        assert there == [each["reason"] for each in (await cluster.client.list(EVENTS)).items]


async def test_forks_of_forks() -> None:
    async with Cluster(nodes=1, clock="virtual") as cluster, cluster.fork() as fork:
        await fork.advance("30s")
        await fork.client.create(MAPS, "default", config_map("of-the-fork"))
        async with fork.fork() as deeper:
            assert deeper.clock.now() == fork.clock.now() > cluster.clock.now()
            await deeper.client.delete(MAPS, "default", "of-the-fork")
            await deeper.advance("30s")
        assert (await fork.client.get(MAPS, "default", "of-the-fork"))["metadata"]["name"] == "of-the-fork"


async def test_a_fork_of_a_replica_on_etcd_is_alone_and_in_memory(etcd: Etcd) -> None:
    store = f"{etcd.url}{fresh_prefix()}"
    async with Cluster(nodes=1, store=store) as cluster, HttpClient(cluster.access) as client:

        def runs() -> bool:
            return cluster.store.get(("coordination.k8s.io", "leases"), "kube-node-lease/esp32-0") is not None

        await eventually(runs, "the leader's board has registered")
        await client.create(MAPS, "default", config_map("before"))
        async with cluster.fork() as fork:
            assert not fork.store.optimistic
            await fork.client.create(PODS, "default", pod("p"))
            await fork.advance("60s")
            assert (await fork.client.get(PODS, "default", "p"))["status"]["phase"] == "Running"
            assert (await fork.client.get(MAPS, "default", "before"))["metadata"]["name"] == "before"
            fork.store.check()  # type: ignore[attr-defined]
        assert cluster.store.get(("", "pods"), "default/p") is None


async def test_a_node_that_is_loaded_into_a_fork_before_anything_runs_is_played() -> None:
    async with Cluster(nodes=0, clock="virtual") as cluster, cluster.fork() as fork:
        loaded = node("came")
        loaded["metadata"]["annotations"] = {"sim.kube32.io/runs-as": "esp32-c3"}
        await fork.client.create(NODES, "", loaded)
        await fork.advance("60s")
        came = await fork.client.get(NODES, "", "came")
        assert [one["status"] for one in came["status"]["conditions"] if one["type"] == "Ready"] == ["True"]
        assert fork.store.get(("coordination.k8s.io", "leases"), "kube-node-lease/came") is not None

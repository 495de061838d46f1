"""A board that is late: everything that it does and says takes longer, by as much as its fault says."""

from __future__ import annotations

from itertools import pairwise

import pytest

from kube32_sim.client import LEASES, NODES, PODS
from kube32_sim.clock import parse_time
from kube32_sim.cluster import Cluster

FAULT = "sim.kube32.io/fault"


async def annotate(cluster: Cluster, fault: str | None) -> None:
    await cluster.client.patch(NODES, "", "esp32-0", {"metadata": {"annotations": {FAULT: fault}}})
    await cluster.settle()


async def create(cluster: Cluster, name: str) -> None:
    pod = {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    await cluster.client.create(PODS, "default", pod)


async def running(cluster: Cluster) -> int:
    return sum(pod["status"]["phase"] == "Running" for pod in (await cluster.client.list(PODS, "default")).items)


async def ready(cluster: Cluster) -> str:
    node = await cluster.client.get(NODES, "", "esp32-0")
    return str(next(one["status"] for one in node["status"]["conditions"] if one["type"] == "Ready"))


@pytest.mark.parametrize(("fault", "delay"), [("slow", 5), ("slow:2s", 2)])
async def test_pods_start_one_after_the_other_each_so_much_later(fault: str, delay: int) -> None:
    async with Cluster(nodes=1, clock="virtual") as cluster:
        await cluster.advance(12)
        await annotate(cluster, fault)
        await cluster.advance(60)  # at rest
        started = cluster.clock.now()
        for name in ("a", "b", "c"):
            await create(cluster, name)
        await cluster.settle()
        assert await running(cluster) == 0
        await cluster.run_until(lambda: running(cluster), "1m")
        assert delay <= cluster.clock.now() - started <= 2 * delay  # it may have been busy with a report
        first = cluster.clock.now()

        async def all_run() -> bool:
            return await running(cluster) == 3

        await cluster.run_until(all_run, "1m")
        assert cluster.clock.now() - first == 2 * delay


async def test_a_node_that_is_late_within_its_lease_stays_ready() -> None:
    async with Cluster(nodes=1, clock="virtual") as cluster:
        await annotate(cluster, "slow")
        renewed = set()
        for _ in range(120):
            await cluster.advance(1)
            renewed.add((await cluster.client.get(LEASES, "kube-node-lease", "esp32-0"))["spec"]["renewTime"])
            assert await ready(cluster) == "True"
        assert 20 <= len(renewed) <= 26


async def test_a_node_that_is_later_than_its_lease_comes_and_goes() -> None:
    async with Cluster(nodes=1, clock="virtual") as cluster:
        await annotate(cluster, "slow:25s")
        seen = []
        for _ in range(300):
            await cluster.advance(1)
            seen.append(await ready(cluster))
        changes = [after for before, after in pairwise(seen) if before != after]
        assert changes.count("Unknown") > 2
        assert changes.count("True") > 2


async def test_a_board_that_is_well_again_is_quick_again() -> None:
    async with Cluster(nodes=1, clock="virtual") as cluster:
        await annotate(cluster, "slow:30s")
        await cluster.advance(60)
        await annotate(cluster, None)
        await cluster.advance(60)  # what it was late with
        await create(cluster, "p")
        await cluster.settle()
        assert await running(cluster) == 1
        before = cluster.clock.now()
        await cluster.advance(300)
        lease = await cluster.client.get(LEASES, "kube-node-lease", "esp32-0")
        assert parse_time(lease["spec"]["renewTime"]) >= before + 295


async def test_heartbeats_over_the_short_way_stop_and_come_back() -> None:
    """They wait for nobody, so a slow board must not use it, and a board that is well again has it again."""
    async with Cluster(nodes=1, clock="virtual") as cluster:
        await cluster.advance(60)
        renewals = []

        async def renewed() -> float:
            lease = await cluster.client.get(LEASES, "kube-node-lease", "esp32-0")
            return parse_time(lease["spec"]["renewTime"])

        for fault in ("slow:3s", None):
            await annotate(cluster, fault)
            await cluster.advance(60)
            times = set()
            for _ in range(60):
                await cluster.advance(1)
                times.add(await renewed())
            renewals.append(len(times))
        assert renewals == [12, 12] or all(11 <= many <= 13 for many in renewals)

"""What the node lifecycle loop makes of nodes after a restart of the control plane: the seed's rules, to the second.

The server is away while the nodes' boards are, too: then time does not stand still for it.  On a virtual clock that is
a run without loops and boards, in which only time passes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kube32_sim.client import EVENTS, LEASES, NODES, PODS
from kube32_sim.clock import parse_time, rfc3339_micro
from kube32_sim.cluster import Cluster
from tests.support.objects import node, pod
from tests.support.restarting import Manner, Outliving

JsonObject = dict[str, Any]
UNREACHABLE = "node.kubernetes.io/unreachable"
HERE: JsonObject = {"nodes": 0, "controllers": "*"}
AWAY: JsonObject = {"nodes": 0, "controllers": "none"}
"""Nothing happens but that time passes."""


async def begin(kept: Outliving) -> Cluster:
    """A node that others keep alive, and one more to move to."""
    cluster = kept.cluster
    for name in ("lost", "other"):
        await cluster.client.create(NODES, "", node(name))
    await renew(cluster, "lost")
    return cluster


async def renew(cluster: Cluster, name: str) -> None:
    spec = {"holderIdentity": name, "leaseDurationSeconds": 15, "renewTime": rfc3339_micro(cluster.clock.now())}
    lease = {"metadata": {"name": name, "namespace": "kube-node-lease"}, "spec": spec}
    found = (await cluster.client.list(LEASES, "kube-node-lease")).items
    if name in {each["metadata"]["name"] for each in found}:
        await cluster.client.patch(LEASES, "kube-node-lease", name, {"spec": spec})
    else:
        await cluster.client.create(LEASES, "kube-node-lease", lease)


async def ready(cluster: Cluster) -> JsonObject:
    found = await cluster.client.get(NODES, "", "lost")
    condition: JsonObject = next(each for each in found["status"]["conditions"] if each["type"] == "Ready")
    return condition


async def taints(cluster: Cluster) -> dict[str, JsonObject]:
    found = await cluster.client.get(NODES, "", "lost")
    return {each["effect"]: each for each in found["spec"].get("taints") or () if each["key"] == UNREACHABLE}


@pytest.mark.parametrize("manner", ["stop", "crash"])
async def test_a_ready_node_gets_a_full_lease_duration(tmp_path: Path, manner: Manner) -> None:
    """Though its lease has been over for hours."""
    async with Outliving(tmp_path, **HERE) as kept:
        await begin(kept)
        await kept.cluster.advance("10s")
        await (await kept.restart(manner, **AWAY)).advance("3h")
        cluster = await kept.restart(manner, **HERE)
        await cluster.advance("14s")
        assert (await ready(cluster))["status"] == "True"
        assert not await taints(cluster)
        await cluster.advance("2s")
        assert (await ready(cluster))["status"] == "Unknown"
        assert set(await taints(cluster)) == {"NoSchedule"}
        await cluster.advance("15s")
        assert set(await taints(cluster)) == {"NoSchedule", "NoExecute"}


async def test_one_without_a_lease_gets_as_much(tmp_path: Path) -> None:
    async with Outliving(tmp_path, **HERE) as kept:
        await kept.cluster.client.create(NODES, "", node("lost"))
        await kept.cluster.advance("10s")
        await (await kept.restart(**AWAY)).advance("3h")
        cluster = await kept.restart(**HERE)
        await cluster.advance("14s")
        assert (await ready(cluster))["status"] == "True"
        await cluster.advance("2s")
        assert (await ready(cluster))["status"] == "Unknown"


async def test_one_that_renews_within_that_is_never_lost(tmp_path: Path) -> None:
    async with Outliving(tmp_path, **HERE) as kept:
        await begin(kept)
        await kept.cluster.advance("10s")
        await (await kept.restart(**AWAY)).advance("3h")
        cluster = await kept.restart(**HERE)
        for _ in range(5):
            await cluster.advance("10s")
            await renew(cluster, "lost")
        assert (await ready(cluster))["status"] == "True"
        events = (await cluster.client.list(EVENTS)).items
        assert not [
            event for event in events if event["involvedObject"]["name"] == "lost" and event["reason"] == "NodeNotReady"
        ]


async def test_a_lost_node_stays_lost_and_its_taint_keeps_its_time(tmp_path: Path) -> None:
    async with Outliving(tmp_path, **HERE) as kept:
        await begin(kept)
        await kept.cluster.advance("40s")
        before = await kept.cluster.client.get(NODES, "", "lost")
        assert set(await taints(kept.cluster)) == {"NoSchedule", "NoExecute"}
        cluster = await kept.restart()
        await cluster.advance("60s")
        assert await cluster.client.get(NODES, "", "lost") == before
        await renew(cluster, "lost")
        await cluster.advance("1s")
        assert not await taints(cluster)
        assert (await ready(cluster))["status"] == "True"


@pytest.mark.parametrize("away", [0, 100, 10_000])
async def test_tolerations_count_on_from_the_taints_time(tmp_path: Path, away: int) -> None:
    """Those whose time was over meanwhile end at once."""
    async with Outliving(tmp_path, **HERE) as kept:
        cluster = await begin(kept)
        spec = {"nodeName": "lost"}
        stays = [{"key": UNREACHABLE, "operator": "Exists", "effect": "NoExecute"}]
        await cluster.client.create(PODS, "default", pod("moves", spec=spec))
        await cluster.client.create(PODS, "default", pod("stays", spec={**spec, "tolerations": stays}))
        await cluster.advance("40s")
        added = parse_time((await taints(cluster))["NoExecute"]["timeAdded"])
        if away:
            await (await kept.restart(**AWAY)).advance(away)
        cluster = await kept.restart(**HERE)
        left = added + 300 - cluster.clock.now()
        if left > 0:
            await cluster.advance(left - 1)
            assert (await cluster.client.get(PODS, "default", "moves"))["spec"]["nodeName"] == "lost"
        await cluster.advance("2s")
        moved = await cluster.client.get(PODS, "default", "moves")
        assert moved["spec"].get("nodeName") != "lost"
        assert "DisruptionTarget" in {each["type"] for each in moved["status"]["conditions"]}
        assert (await cluster.client.get(PODS, "default", "stays"))["spec"]["nodeName"] == "lost"


@pytest.mark.parametrize("away", [0, 3600])
async def test_the_eviction_timeout_counts_on_from_when_the_node_was_lost(tmp_path: Path, away: int) -> None:
    """A node that was Unknown without the NoExecute taint gets it 15 s after that, or at once."""
    async with Outliving(tmp_path, **HERE) as kept:
        await begin(kept)
        await kept.cluster.advance("20s")
        assert set(await taints(kept.cluster)) == {"NoSchedule"}
        lost = parse_time((await ready(kept.cluster))["lastTransitionTime"])
        if away:
            await (await kept.restart(**AWAY)).advance(away)
        cluster = await kept.restart(**HERE)
        left = lost + 15 - cluster.clock.now()
        if left > 0:
            await cluster.advance(left - 1)
            assert set(await taints(cluster)) == {"NoSchedule"}
        await cluster.advance("2s")
        added = parse_time((await taints(cluster))["NoExecute"]["timeAdded"])
        assert abs(added - max(lost + 15, cluster.clock.now() - 2)) <= 1
        assert parse_time((await ready(cluster))["lastTransitionTime"]) == lost

"""A node that is another kind of board after a restart: it says of itself what the new one is, as a kubelet does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kube32_sim.client import NODES, PODS
from kube32_sim.cluster import Cluster
from kube32_sim.kubelet.boards import profiles
from kube32_sim.kubelet.node_object import node_object, resources_gone
from kube32_sim.kubelet.played import description
from tests.support.objects import pod
from tests.support.restarting import Outliving

JsonObject = dict[str, Any]
PAIRS = [("esp32-s3-psram8", "esp32-c3"), ("esp32-c3", "esp32-s3"), ("esp32-s3", "esp32")]
MINE = {"example.com/laser": "1"}
NAME = "esp32-0"


async def told(cluster: Cluster) -> JsonObject:
    """What a Node says of the board, without conditions."""
    node = await cluster.client.get(NODES, "", NAME)
    return {"labels": node["metadata"]["labels"], **node["status"], "conditions": []}


@pytest.mark.parametrize(("before", "after"), PAIRS)
async def test_it_says_what_a_new_one_would_and_keeps_what_others_gave_it(
    tmp_path: Path, before: str, after: str
) -> None:
    async with Cluster(nodes=1, board=after, clock="virtual") as fresh:
        wanted = await told(fresh)
    async with Outliving(tmp_path, nodes=1, board=before) as kept:
        labels = {"team": "blue", "hardware.kube32.io/laser": "true", "hardware.kube32.io/ble": "broken"}
        client = kept.cluster.client
        await client.patch(NODES, "", NAME, {"metadata": {"labels": labels}})
        status = {"status": {"capacity": MINE, "allocatable": MINE}}
        await client.patch(NODES, "", NAME, status, subresource="status", kind="strategic")
        await client.patch(NODES, "", NAME, {"metadata": {"labels": {"hardware.kube32.io/ble": "true"}}})
        cluster = await kept.restart(board=after)
        labels.pop("hardware.kube32.io/ble")
        found = await told(cluster)
        assert found["labels"] == wanted["labels"] | labels
        for field in ("capacity", "allocatable"):
            assert found[field] == wanted[field] | MINE
        assert found["nodeInfo"] == wanted["nodeInfo"]
        assert description(await cluster.client.get(NODES, "", NAME)) == after  # though its providerID is the first's
        again = await kept.restart(board=after)
        assert await told(again) == found


async def test_pods_are_not_bound_to_what_it_has_no_more_and_those_that_run_run_on(tmp_path: Path) -> None:
    limits = {"limits": {"hardware.kube32.io/camera": "1"}}
    spec: JsonObject = {
        "containers": [{"name": "c", "image": "i", "resources": limits}],
        "nodeSelector": {"hardware.kube32.io/camera": "true"},
    }
    async with Outliving(tmp_path, nodes=1, board="esp32-s3") as kept:
        await kept.cluster.client.create(PODS, "default", pod("looks", spec=spec))
        await kept.cluster.advance("10s")
        cluster = await kept.restart(board="esp32-c3")
        await cluster.client.create(PODS, "default", pod("cannot", spec=spec))
        await cluster.advance("30s")
        phases = {each["metadata"]["name"]: each["status"]["phase"] for each in (await cluster.client.list(PODS)).items}
        assert phases == {"looks": "Running", "cannot": "Pending"}


def test_an_ordinary_node_has_nothing_of_a_board() -> None:
    board, linux = profiles()["esp32-s3-psram8"], profiles()["linux"]
    node = node_object("n", board, board.allocatable(), 0)
    gone = resources_gone(node, linux)["capacity"]
    assert gone == dict.fromkeys(board.capacity().keys() - linux.capacity().keys())

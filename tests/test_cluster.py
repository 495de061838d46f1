"""The embedded cluster on a virtual clock: nothing happens until time is advanced, then all that is due has."""

import asyncio
import logging

import pytest

from kube32_sim.client import DEPLOYMENTS, EVENTS, LEASES, NODES, PODS
from kube32_sim.cluster import Cluster
from kube32_sim.options import ServeOptions
from tests.support.http import Http


@pytest.fixture(autouse=True)
def quiet(caplog):
    """Nothing that happens here is worth a warning."""
    yield
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []


DEPLOYMENT = {
    "metadata": {"name": "web"},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "web", "image": "web:1"}]},
        },
    },
}


async def test_a_deployment_runs_after_the_time_it_takes(virtual_cluster):
    client, clock = virtual_cluster.client, virtual_cluster.clock
    started = clock.now()
    await client.create(DEPLOYMENTS, "default", DEPLOYMENT)
    await clock.advance(30)
    assert clock.now() == started + 30
    pods = (await client.list(PODS, "default")).items
    assert [pod["status"]["phase"] for pod in pods] == ["Running", "Running"]
    assert {pod["spec"]["nodeName"] for pod in pods} == {"esp32-0", "esp32-1"}
    assert (await client.get(DEPLOYMENTS, "default", "web"))["status"]["availableReplicas"] == 2


async def test_leases_follow_the_clock(virtual_cluster):
    client, clock = virtual_cluster.client, virtual_cluster.clock
    before = await client.get(LEASES, "kube-node-lease", "esp32-0")
    await clock.settle()
    assert await client.get(LEASES, "kube-node-lease", "esp32-0") == before
    await clock.advance(3600)
    renewed = (await client.get(LEASES, "kube-node-lease", "esp32-0"))["spec"]["renewTime"]
    assert renewed > before["spec"]["renewTime"]
    assert renewed.startswith(("2026-01-01T00:59:5", "2026-01-01T01:00:0"))
    nodes = (await client.list(NODES)).items
    assert all(ready(node) == "True" for node in nodes)


async def test_a_stopped_board_loses_its_pods_to_the_other(virtual_cluster):
    client, clock = virtual_cluster.client, virtual_cluster.clock
    await client.create(DEPLOYMENTS, "default", DEPLOYMENT)
    await clock.advance(10)
    fault = {"metadata": {"annotations": {"sim.kube32.io/fault": "stopped"}}}
    await client.patch(NODES, "", "esp32-0", fault)
    await clock.advance(60)
    assert ready(await client.get(NODES, "", "esp32-0")) == "Unknown"
    await clock.advance(600)
    pods = (await client.list(PODS, "default")).items
    assert [pod["spec"].get("nodeName") for pod in pods] == ["esp32-1", "esp32-1"]
    reasons = {event["reason"] for event in (await client.list(EVENTS)).items}
    assert {"NodeNotReady", "Evicted"} <= reasons


def ready(node):
    return next(condition["status"] for condition in node["status"]["conditions"] if condition["type"] == "Ready")


async def test_it_serves_http_and_leaves_nothing_behind():
    async with Cluster(ServeOptions(port=0, nodes=1, clock="virtual")) as cluster:
        client = Http(cluster.url)
        nodes = await asyncio.to_thread(client.get, "/api/v1/nodes")
        assert [node["metadata"]["name"] for node in nodes["items"]] == ["esp32-0"]
        client.close()
    others = asyncio.all_tasks() - {asyncio.current_task()}
    assert others == set(), others
    with pytest.raises(ConnectionRefusedError):
        await asyncio.to_thread(Http(cluster.url).get, "/api/v1/nodes")

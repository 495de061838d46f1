"""The embedded cluster on a virtual clock: nothing happens until time is advanced, then all that is due has."""

import asyncio
import logging
import subprocess
import sys

import pytest

from kube32_sim.api.errors import ApiError
from kube32_sim.client import DEPLOYMENTS, EVENTS, LEASES, NODES, PODS, SERVICES, Resource
from kube32_sim.cluster import Cluster
from kube32_sim.http_client import HttpClient
from kube32_sim.kubeconfig import Access
from kube32_sim.options import ServeOptions
from tests.support.http import Http
from tests.support.objects import ENDPOINTS


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


async def run(cluster, replicas):
    """Something to do, and what has come of it: pods by their names and nodes.  The boards start first."""
    await cluster.clock.rested()
    await cluster.client.create(
        DEPLOYMENTS, "default", DEPLOYMENT | {"spec": DEPLOYMENT["spec"] | {"replicas": replicas}}
    )
    await cluster.clock.advance(30)
    pods = (await cluster.client.list(PODS, "default")).items
    return [(pod["metadata"]["name"], pod["metadata"]["uid"], pod["spec"]["nodeName"]) for pod in pods]


async def test_two_clusters_in_one_process_do_not_know_of_each_other():
    options = ServeOptions(port=0, clock="virtual", seed=3)
    async with Cluster(options) as alone:
        expected = await run(alone, 3)
    async with Cluster(options) as one, Cluster(options) as other:
        await other.clock.advance(1000)
        first, second = await asyncio.gather(run(one, 3), run(other, 2))
        assert first == expected
        assert len(second) == 2
        assert other.clock.now() - one.clock.now() == 1000
        await other.client.patch(NODES, "", "esp32-0", {"spec": {"unschedulable": True}})
        assert "unschedulable" not in (await one.client.get(NODES, "", "esp32-0"))["spec"]
        one.store.check()
        other.store.check()


async def test_clusters_with_other_options_side_by_side():
    bare = ServeOptions(port=0, nodes=0, controllers="none", clock="virtual", service_cluster_ip_range="10.7.0.0/24")
    async with Cluster(ServeOptions(port=0, clock="virtual")) as full, Cluster(bare) as other:
        service = {"metadata": {"name": "s"}, "spec": {"selector": {"a": "b"}, "ports": [{"port": 80}]}}
        made = [await cluster.client.create(SERVICES, "default", service) for cluster in (full, other)]
        assert [obj["spec"]["clusterIP"].rpartition(".")[0] for obj in made][1] == "10.7.0"
        assert made[0]["spec"]["clusterIP"].startswith("10.96.")
        node = {"metadata": {"name": "n"}}
        tainted = [(await c.client.create(NODES, "", node))["spec"].get("taints") for c in (full, other)]
        assert tainted == [None, [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]]
        pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        placed = [(await c.client.create(PODS, "default", pod))["spec"].get("nodeName") for c in (full, other)]
        assert placed[0] in ("esp32-0", "esp32-1")
        assert placed[1] is None
        computed = [(await c.client.list(ENDPOINTS, "default")).items for c in (full, other)]
        assert [[e["metadata"]["name"] for e in found] for found in computed] == [["kubernetes", "s"], ["kubernetes"]]
        with pytest.raises(ApiError, match="not support"):
            await full.client.create(ENDPOINTS, "default", {"metadata": {"name": "e"}})
        await other.client.create(ENDPOINTS, "default", {"metadata": {"name": "e"}})


async def test_a_token_of_one_cluster_opens_no_other(tmp_path):
    tokens = tmp_path / "tokens.csv"
    tokens.write_text('root,admin,1,"system:masters"\n')
    accounts = Resource("", "v1", "serviceaccounts")
    options = [
        ServeOptions(
            port=0, nodes=0, controllers="none", token_file=tokens, seed=seed, authorization_mode="AlwaysAllow"
        )
        for seed in (1, 2)
    ]
    async with Cluster(options[0]) as one, Cluster(options[1]) as other:
        for cluster in (one, other):
            await cluster.client.create(accounts, "default", {"metadata": {"name": "robot"}})
        made = await one.client.create(accounts, "default", {"spec": {}}, subresource="token", name="robot")
        token = made["status"]["token"]
        async with HttpClient(Access(one.url, token)) as allowed, HttpClient(Access(other.url, token)) as refused:
            assert (await allowed.list(NODES)).items == []
            with pytest.raises(ApiError, match="Unauthorized"):
                await refused.list(NODES)


async def test_a_cluster_that_cannot_start_leaves_nothing_behind():
    async with Cluster(ServeOptions(port=0, nodes=0, controllers="none")) as first:
        before = asyncio.all_tasks()
        with pytest.raises(OSError, match="address already in use"):
            await Cluster(ServeOptions(port=first.port, nodes=2)).start()
        assert asyncio.all_tasks() == before
        assert (await first.client.list(NODES)).items == []


async def test_a_cluster_may_be_stopped_twice():
    cluster = Cluster(ServeOptions(port=0, nodes=1, clock="virtual"))
    await cluster.start()
    await cluster.stop()
    await cluster.stop()


START = """
import asyncio, sys
from kube32_sim.cluster import Cluster

async def start():
    async with Cluster(nodes=1, clock="virtual"):
        print(*sys.modules)

asyncio.run(start())
"""
LATE = {
    *("cel", "customs.version", "policies.compiled", "policies.expressions", "structural", "validation.crd"),
    *("cel_expr_python", "cryptography", "google.protobuf", "re2"),
    *("kube32_controllers.kestrel_scheduler", "kube32_controllers.kestrel_cache", "kube32_sim.translation"),
}
"""What custom resources, policies, patterns, tokens and the profile `kestrel` need; modules of `kube32_sim.api` without
that."""


def test_a_start_does_without_what_few_clusters_need():
    done = subprocess.run([sys.executable, "-c", START], check=True, capture_output=True, text=True)
    loaded = {name.removeprefix("kube32_sim.api.") for name in done.stdout.split()}
    assert "rbac.policy" in loaded
    assert loaded & LATE == set()

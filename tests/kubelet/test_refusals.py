"""The capability firewall as users meet it: in a whole cluster, where controllers replace what boards refuse."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest
import pytest_asyncio

from kube32_sim.client import DAEMONSETS, DEPLOYMENTS, EVENTS, JOBS, NODES, PODS, Resource
from kube32_sim.cluster import Cluster

JsonObject = dict[str, Any]
MakeCluster = Callable[..., Awaitable[Cluster]]


@pytest_asyncio.fixture
async def make_cluster() -> AsyncIterator[MakeCluster]:
    """On a virtual clock.  nodes: as `serve --nodes` has it."""
    async with AsyncExitStack() as stack:

        async def make(nodes: int | str, **options: Any) -> Cluster:
            return await stack.enter_async_context(Cluster(nodes=nodes, clock="virtual", **options))

        yield make


def template(limits: dict[str, str], restart: str = "Always", **spec: Any) -> JsonObject:
    container = {"name": "app", "image": "app:1", "resources": {"limits": limits}}
    return {"metadata": {"labels": {"app": "x"}}, "spec": {"restartPolicy": restart, "containers": [container], **spec}}


async def run_pod(cluster: Cluster, name: str, limits: dict[str, str], **spec: Any) -> None:
    made = template(limits, **spec)
    await cluster.client.create(PODS, "default", {**made, "metadata": {"name": name}})
    await cluster.settle()


async def status_of(cluster: Cluster, name: str) -> JsonObject:
    status: JsonObject = (await cluster.client.get(PODS, "default", name))["status"]
    return status


async def phases(cluster: Cluster) -> list[str]:
    return sorted(pod["status"]["phase"] for pod in (await cluster.client.list(PODS, "default")).items)


# what is refused


@pytest.mark.parametrize(
    ("resource", "used", "capacity"),
    [
        ("hardware.kube32.io/dac", 0, 0),
        ("esp32.io/gpio-11", 0, 0),  # wired to the flash's supply
        ("esp32.io/gpio-21", 0, 0),  # the console
        ("esp32.io/gpio-4", 1, 1),
        ("esp32.io/uart-0", 0, 0),
        ("example.com/laser", 0, 0),
    ],
)
async def test_a_pod_that_asks_for_what_is_not_there_fails_before_it_starts(
    make_cluster: MakeCluster, resource: str, used: int, capacity: int
) -> None:
    cluster = await make_cluster("esp32-c3=1")
    await run_pod(cluster, "first", {"esp32.io/gpio-4": "1"})
    await run_pod(cluster, "asks", {resource: "1"})
    status = await status_of(cluster, "asks")
    said = f"Node didn't have enough resource: {resource}, requested: 1, used: {used}, capacity: {capacity}"
    assert (status["phase"], status["reason"]) == ("Failed", f"OutOf{resource}")
    assert status["message"] == f"Pod was rejected: {said}"
    assert not {"containerStatuses", "podIP", "hostIP"} & status.keys()
    await cluster.advance(5)
    found = (await cluster.client.list(EVENTS, "default", field_selector="involvedObject.name=asks")).items
    told = [(event["type"], event["reason"], event["message"]) for event in found if event["reason"] != "Scheduled"]
    assert told == [("Warning", f"OutOf{resource}", said)]
    assert (await status_of(cluster, "first"))["phase"] == "Running"


async def test_memory_that_is_not_there_is_refused_to_pods_that_the_scheduler_never_saw(
    make_cluster: MakeCluster,
) -> None:
    cluster = await make_cluster("esp32-c3=1")
    for name in ("a", "b"):
        await run_pod(cluster, name, {"memory": "150Ki"}, nodeName="esp32-c3-0")
    assert (await status_of(cluster, "a"))["phase"] == "Running"
    status = await status_of(cluster, "b")
    assert (status["phase"], status["reason"]) == ("Failed", "OutOfmemory")
    assert status["message"].endswith("memory, requested: 153600, used: 153600, capacity: 229376")


async def test_a_pin_is_free_again_when_its_pod_has_gone(make_cluster: MakeCluster) -> None:
    cluster = await make_cluster(1)
    await run_pod(cluster, "a", {"esp32.io/gpio-5": "1"})
    await cluster.client.delete(PODS, "default", "a")
    await cluster.settle()
    await run_pod(cluster, "b", {"esp32.io/gpio-5": "1"})
    assert (await status_of(cluster, "b"))["phase"] == "Running"


async def test_a_deployment_waits_for_a_pin_and_gets_it(make_cluster: MakeCluster) -> None:
    cluster = await make_cluster(1)
    await run_pod(cluster, "holder", {"esp32.io/gpio-5": "1"})
    await make(cluster, DEPLOYMENTS, {"esp32.io/gpio-5": "1"}, replicas=1)
    await cluster.advance(120)
    assert set(await phases(cluster)) == {"Running", "Failed"}
    await cluster.client.delete(PODS, "default", "holder")
    await cluster.advance(300)
    assert (await phases(cluster)).count("Running") == 1


# its controllers


async def make(cluster: Cluster, resource: Resource, limits: dict[str, str], **spec: Any) -> None:
    """A Deployment, DaemonSet or Job called x."""
    kind = {DEPLOYMENTS: "Deployment", DAEMONSETS: "DaemonSet", JOBS: "Job"}[resource]
    restart = "Always" if resource.group == "apps" else "Never"
    selector = {"selector": {"matchLabels": {"app": "x"}}} if resource.group == "apps" else {}
    body = {
        "apiVersion": f"{resource.group}/v1",
        "kind": kind,
        "metadata": {"name": "x"},
        "spec": {"template": template(limits, restart), **selector, **spec},
    }
    await cluster.client.create(resource, "default", body)


async def made_within(cluster: Cluster, seconds: int) -> int:
    """How many pods of it there have been, by the events of its controller."""
    await cluster.advance(seconds)
    found = (await cluster.client.list(EVENTS, "default", field_selector="involvedObject.name=x")).items
    return sum(event["count"] for event in found if event["reason"] == "SuccessfulCreate")


@pytest.mark.parametrize(
    ("resource", "spec", "first_minute", "later"),
    [
        (DEPLOYMENTS, {"replicas": 1}, range(4, 11), range(10, 16)),
        (DAEMONSETS, {}, range(2, 11), range(2, 64)),
        (JOBS, {}, range(2, 8), range(7)),
    ],
    ids=["Deployment", "DaemonSet", "Job"],
)
async def test_a_pod_that_no_board_takes_is_made_again_without_haste(
    make_cluster: MakeCluster, resource: Resource, spec: JsonObject, first_minute: range, later: range
) -> None:
    """Pods of the first minute, and of the hour from the eleventh minute on (events of the first are gone by then)."""
    cluster = await make_cluster(1, controllers="*")
    await make(cluster, resource, {"hardware.kube32.io/laser": "1"}, **spec)
    assert await made_within(cluster, 60) in first_minute
    await cluster.advance(600)
    before = await made_within(cluster, 0)
    assert await made_within(cluster, 2900) - before in later
    assert len(await phases(cluster)) <= 10  # nor do they pile up


# boards of several kinds


async def test_boards_of_a_mix_are_what_they_are_called(make_cluster: MakeCluster) -> None:
    cluster = await make_cluster("esp32-s3=2,esp32-c3=1,esp32=1")
    nodes = (await cluster.client.list(NODES)).items
    told = {
        node["metadata"]["name"]: (node["metadata"]["labels"]["esp32.io/board"], node["status"]["capacity"]["memory"])
        for node in nodes
    }
    assert told == {
        "esp32-0": ("esp32", "296Ki"),
        "esp32-c3-0": ("esp32-c3", "320Ki"),
        "esp32-s3-0": ("esp32-s3", "384Ki"),
        "esp32-s3-1": ("esp32-s3", "384Ki"),
    }
    assert len({node["status"]["addresses"][0]["address"] for node in nodes}) == 4
    await run_pod(cluster, "p", {}, nodeSelector={"hardware.kube32.io/dac": "true"})
    pod = await cluster.client.get(PODS, "default", "p")
    assert (pod["spec"]["nodeName"], pod["status"]["phase"]) == ("esp32-0", "Running")

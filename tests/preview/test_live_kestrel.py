"""A cluster that schedules by Kestrel's rules does what a preview by these rules says, evictions included."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from kube32_sim import Cluster
from kube32_sim.client import NODES, PODS, Resource
from kube32_sim.commands.verify import differences
from kube32_sim.preview.kestrel import KestrelPlacer
from kube32_sim.preview.placements import ClusterState, Placement, WantedPod
from kube32_sim.preview.placing import place_all
from tests.kestrel.sequences import FLAVOURS, Writer
from tests.preview.translated import node_object, pod_object

JsonObject = dict[str, Any]

CLASSES = Resource("scheduling.k8s.io", "v1", "priorityclasses")
FLAVOURS_HERE = ("mixed", "preemption", "affinity", "repelled", "stacks", "lonely", "static")


def class_name(spec: JsonObject) -> str:
    return f"p{spec['priority']}-{spec['preemptionPolicy'].lower()}".replace("p-", "minus")


def classed(pod: JsonObject) -> JsonObject:
    """As admission leaves it: it has its priority, and whether it preempts, from a class."""
    spec = pod["spec"]
    spec["priorityClassName"] = class_name(spec)
    spec["containers"][0]["resources"].pop("limits", None)
    return pod


def classes(pods: list[JsonObject]) -> list[JsonObject]:
    made = {
        pod["spec"]["priorityClassName"]: {
            "metadata": {"name": pod["spec"]["priorityClassName"]},
            "value": pod["spec"]["priority"],
            "preemptionPolicy": pod["spec"]["preemptionPolicy"],
        }
        for pod in pods
    }
    return list(made.values())


def world(flavour: str, seed: int, many: int = 14) -> tuple[list[JsonObject], list[JsonObject]]:
    """(nodes, pods) at random."""
    writer = Writer(replace(FLAVOURS[flavour], odd=0.0, odd_names=0.0), random.Random(f"{flavour}:{seed}"))
    nodes = [node_object(f"n{number}", writer.node_spec()) for number in range(writer.rng.randint(1, 6))]
    for node in nodes:
        unique = {(taint["key"], taint["effect"]): taint for taint in node["spec"]["taints"]}
        node["spec"]["taints"] = list(unique.values())
    return nodes, [classed(pod_object(f"p{number}", writer.pod_spec())) for number in range(many)]


@pytest.mark.parametrize("flavour", FLAVOURS_HERE)
async def test_pods_fare_as_previewed(flavour: str) -> None:
    evicting = 0
    for seed in range(6):
        nodes, pods = world(flavour, seed)
        state = ClusterState(nodes, (), classes(pods))
        wanted = [WantedPod(pod) for pod in pods]
        placements = place_all(KestrelPlacer(state, wanted), wanted, details=False)
        assert await differences(placements, state, "kestrel") == [], (flavour, seed)
        evicting += any(placement.victims for placement in placements)
    assert evicting or flavour in ("static", "lonely")


async def step(cluster: Cluster, pod: JsonObject) -> Placement:
    """What a preview says of the pod as things are."""
    nodes = (await cluster.client.list(NODES)).items
    pods = (await cluster.client.list(PODS)).items
    wanted = [WantedPod(pod)]
    return KestrelPlacer(ClusterState(nodes, pods), wanted).place(wanted[0], details=False)


async def finish(cluster: Cluster, names: set[str]) -> None:
    for name in names:
        await cluster.client.delete(PODS, "default", name, options={"gracePeriodSeconds": 0})


@pytest.mark.parametrize("flavour", ["mixed", "preemption", "repelled"])
@pytest.mark.parametrize("seed", range(3))
async def test_each_pod_goes_where_it_would_at_this_moment(flavour: str, seed: int) -> None:
    nodes, pods = world(flavour, 100 + seed, many=24)
    options = {"nodes": 0, "clock": "virtual", "controllers": "scheduler", "scheduler_profile": "kestrel"}
    async with Cluster(**options) as cluster:
        client = cluster.client
        for obj in classes(pods):
            await client.create(CLASSES, "", obj)
        for obj in nodes:
            await client.create(NODES, "", obj)
            await client.patch(NODES, "", obj["metadata"]["name"], {"status": obj["status"]}, subresource="status")
            node = await client.get(NODES, "", obj["metadata"]["name"])
            await client.update(NODES, "", {**node, "spec": obj["spec"]})  # without the taint of one that is new
        for pod in pods:
            said, name = await step(cluster, pod), pod["metadata"]["name"]
            made = await client.create(PODS, "default", pod)
            where = made["spec"].get("nodeName") or made["status"].get("nominatedNodeName", "")
            assert where == said.node
            await cluster.advance("1s")
            going = {each["metadata"]["name"] for each in (await client.list(PODS)).items if gone(each)}
            assert going == {victim.pod.partition("/")[2] for victim in said.victims}
            await finish(cluster, going if where else {name})
            await cluster.advance("1s")
            if where:
                assert (await client.get(PODS, "default", name))["spec"]["nodeName"] == said.node


def gone(pod: JsonObject) -> bool:
    return "deletionTimestamp" in pod["metadata"]


# a crowd that comes, evicts and goes


async def check_room(cluster: Cluster) -> list[JsonObject]:
    """No node holds more than it has, those that are going included; answers the pods."""
    nodes = (await cluster.client.list(NODES)).items
    pods = (await cluster.client.list(PODS)).items
    for node in nodes:
        here = [pod for pod in pods if pod["spec"].get("nodeName") == node["metadata"]["name"]]
        asked = sum(int(pod["spec"]["containers"][0]["resources"]["requests"]["cpu"].rstrip("m")) for pod in here)
        assert asked <= 1000 * int(node["status"]["capacity"]["cpu"])
    return pods


@pytest.mark.parametrize("seed", range(4))
async def test_a_crowd_never_takes_more_than_there_is_and_comes_to_rest(seed: int) -> None:
    rng = random.Random(seed)
    options = {"nodes": 3, "board": "linux", "clock": "virtual", "scheduler_profile": "kestrel", "seed": seed}
    async with Cluster(**options) as cluster:
        for value in (10, 100, 1000):
            await cluster.client.create(CLASSES, "", {"metadata": {"name": f"p{value}"}, "value": value})
        for number in range(60):
            asked = {"cpu": f"{rng.choice((300, 700, 1500, 2500))}m", "memory": "16Mi"}
            spec: JsonObject = {"containers": [{"name": "c", "image": "i", "resources": {"requests": asked}}]}
            if rng.random() < 0.3:
                spec["containers"][0]["lifecycle"] = {"preStop": {"sleep": {"seconds": rng.randint(1, 5)}}}
            if rng.random() < 0.7:
                spec["priorityClassName"] = f"p{rng.choice((10, 100, 1000))}"
            body = {"metadata": {"name": f"w{number}", "labels": {"app": rng.choice("xy")}}, "spec": spec}
            await cluster.client.create(PODS, "default", body)
            if rng.random() < 0.2:
                there = [pod["metadata"]["name"] for pod in await check_room(cluster)]
                await cluster.client.delete(PODS, "default", rng.choice(there))
            if rng.random() < 0.5:
                await cluster.advance(f"{rng.choice((1, 2, 7))}s")
                await check_room(cluster)
        await cluster.advance("120s")
        pods = await check_room(cluster)
        waiting = [pod for pod in pods if not pod["spec"].get("nodeName")]
        assert waiting
        assert len(waiting) < len(pods)
        for pod in waiting:
            assert not pod["status"].get("nominatedNodeName")
            alone = {**pod, "metadata": {**pod["metadata"], "name": "again"}, "status": {}}
            assert (await step(cluster, alone)).node == ""

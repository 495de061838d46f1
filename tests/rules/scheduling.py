"""Nodes made by hand and pods that ask for something, as the tests of scheduler and Endpoints need them.

A node made by hand reports when its test says so, and only then: what is free on it is known to the byte.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kube32_sim.client import NODES, PODS
from tests.rules.world import JsonObject, World, condition
from tests.support.objects import node, pod

ROOM = {"memory": "100Ki", "esp32.io/gpio": "10"}


def container(
    requests: Mapping[str, str] | None = None, limits: Mapping[str, str] | None = None, **more: Any
) -> JsonObject:
    resources = {"requests": dict(requests or {}), "limits": dict(limits or {})}
    return {"name": "c", "image": "i", "resources": {key: value for key, value in resources.items() if value}, **more}


def asking(name: str, requests: Mapping[str, str] | None = None, **spec: Any) -> JsonObject:
    """A pod of one container.  Devices are limits, as the API wants it."""
    devices = {key: value for key, value in (requests or {}).items() if "/" in key}
    return pod(name, spec={"containers": [container(requests, devices)], **spec})


async def add_node(
    world: World,
    name: str,
    allocatable: Mapping[str, str] | None = ROOM,
    *,
    ready: str = "True",
    labels: Mapping[str, str] | None = None,
    spec: Mapping[str, Any] | None = None,
    **status: Any,
) -> JsonObject:
    """capacity is what is allocatable, unless given; None is what the node does not say."""
    reported = {
        "allocatable": allocatable,
        "capacity": allocatable,
        "conditions": [{"type": "Ready", "status": ready}],
        **status,
    }
    made = node(name, **reported)
    made["status"] = {key: value for key, value in made["status"].items() if value is not None}
    made["metadata"]["labels"] = dict(labels or {})
    return await world.client.create(NODES, "", {**made, "spec": dict(spec or {})})


async def report(world: World, name: str, **status: Any) -> None:
    """The node's next report."""
    await world.client.patch(NODES, "", name, {"status": status}, subresource="status")


async def place(world: World, wanted: JsonObject) -> str:
    """Where the answer to the create request says that the pod is, or why it is nowhere."""
    made = await world.client.create(PODS, world.namespace, wanted)
    return made["spec"].get("nodeName") or condition(made, "PodScheduled")["message"]


async def get_pod(world: World, name: str) -> JsonObject:
    return await world.client.get(PODS, world.namespace, name)


async def node_of(world: World, name: str) -> str:
    where: str = (await get_pod(world, name))["spec"].get("nodeName", "")
    return where


async def tell(world: World, name: str, **status: Any) -> None:
    """What a kubelet would say of the pod."""
    await world.client.patch(PODS, world.namespace, name, {"status": status}, subresource="status")


async def verdict(world: World, wanted: JsonObject) -> str:
    """What the one node says: its name where it takes the pod, else the reason.  The pod is gone again then."""
    said = await place(world, wanted)
    await world.client.delete(PODS, world.namespace, wanted["metadata"]["name"], options={"gracePeriodSeconds": 0})
    return said.removeprefix("0/1 nodes are available: 1 ").removesuffix(".")


async def fits(world: World, resource: str, most: int, unit: str = "") -> None:
    """Exactly so much of the resource is free on the one node."""
    assert await verdict(world, asking("fits", {resource: f"{most}{unit}"})) == "n"
    assert await verdict(world, asking("more", {resource: f"{most + 1}{unit}"})) == f"Insufficient {resource}"

"""Deployments as the tests of the rules need them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kube32_sim.client import DEPLOYMENTS, PODS
from tests.rules.world import JsonObject, World, is_ready, pods_of

READY_AFTER = "sim.kube32.io/ready-after-seconds"
HASH = "pod-template-hash"
REVISION = "deployment.kubernetes.io/revision"
NEVER = {READY_AFTER: "1000000"}
"""Annotations of pods that run and never get ready."""
TOO_LARGE = {"requests": {"memory": "1Gi"}}
"""Resources that no board has."""


def deployment(
    replicas: int | None = None,
    *,
    name: str = "web",
    image: str = "i:1",
    annotations: Mapping[str, str] | None = None,
    resources: JsonObject | None = None,
    **spec: Any,
) -> JsonObject:
    """annotations, resources: of its pods."""
    container: JsonObject = {"name": "c", "image": image} | ({"resources": resources} if resources else {})
    template = {
        "metadata": {"labels": {"app": name}, "annotations": dict(annotations or {})},
        "spec": {"containers": [container], "terminationGracePeriodSeconds": 1},
    }
    wanted: JsonObject = {} if replicas is None else {"replicas": replicas}
    selector = {"matchLabels": {"app": name}}
    return {"metadata": {"name": name}, "spec": {**wanted, "selector": selector, "template": template, **spec}}


def rolling(unavailable: int | str) -> JsonObject:
    return {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": unavailable}}


def new_image(image: str, annotations: Mapping[str, str | None] | None = None) -> JsonObject:
    """A patch of the template.  annotations: of the pods, changed."""
    metadata = {"metadata": {"annotations": dict(annotations)}} if annotations else {}
    return {"spec": {"template": {**metadata, "spec": {"containers": [{"name": "c", "image": image}]}}}}


async def create(world: World, obj: JsonObject) -> JsonObject:
    return await world.client.create(DEPLOYMENTS, world.namespace, obj)


async def get(world: World, name: str = "web") -> JsonObject:
    return await world.client.get(DEPLOYMENTS, world.namespace, name)


async def patch(world: World, change: JsonObject, name: str = "web") -> JsonObject:
    return await world.client.patch(DEPLOYMENTS, world.namespace, name, change)


async def delete_pod(world: World, name: str) -> None:
    await world.client.delete(PODS, world.namespace, name, options={"gracePeriodSeconds": 0})


async def rolled_out(world: World, name: str = "web") -> JsonObject:
    """The Deployment when all its pods are new and available, and no old one is left."""

    async def look() -> JsonObject | None:
        found = await get(world, name)
        status, wanted = found["status"], found["spec"]["replicas"]
        seen = status.get("observedGeneration") == found["metadata"]["generation"]
        counts = {status.get(count, 0) for count in ("replicas", "updatedReplicas", "availableReplicas")}
        return found if seen and counts == {wanted} and not status.get("terminatingReplicas") else None

    found = await world.until(look, f"Deployment {name} is rolled out", 100 * world.timings.reconcile)
    assert found is not None
    return found


async def live(world: World, name: str = "web") -> list[JsonObject]:
    """The pods of that label that are not being deleted, by name."""
    pods = [pod for pod in await pods_of(world) if pod["metadata"].get("labels", {}).get("app") == name]
    return [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]


async def names(world: World, name: str = "web") -> list[str]:
    return [pod["metadata"]["name"] for pod in await live(world, name)]


def image_of(pod: JsonObject) -> str:
    image: str = pod["spec"]["containers"][0]["image"]
    return image


async def images(world: World, *, ready: bool = False) -> list[str]:
    """Images of the live pods, sorted; ready: only of those."""
    return sorted(image_of(pod) for pod in await live(world) if is_ready(pod) or not ready)

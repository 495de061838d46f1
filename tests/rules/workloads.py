"""DaemonSets and Jobs as the tests of the rules need them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kube32_sim.client import DAEMONSETS, JOBS
from tests.rules.world import JsonObject, World, pods_of

RUN_SECONDS, EXIT_CODE = "sim.kube32.io/run-seconds", "sim.kube32.io/exit-code"
READY_AFTER = "sim.kube32.io/ready-after-seconds"
HOSTNAME = "kubernetes.io/hostname"
HASH = "controller-revision-hash"


def template(image: str = "i:1", *, annotations: Mapping[str, str] | None = None, **spec: Any) -> JsonObject:
    metadata = {"labels": {"app": "it"}, "annotations": dict(annotations or {})}
    return {"metadata": metadata, "spec": {"containers": [{"name": "c", "image": image}], **spec}}


def daemonset(
    name: str = "agent", *, image: str = "i:1", pod: Mapping[str, Any] | None = None, **spec: Any
) -> JsonObject:
    """pod: fields of the template's spec, and `annotations`."""
    made = template(image, **(pod or {}))
    return {"metadata": {"name": name}, "spec": {"selector": {"matchLabels": {"app": "it"}}, "template": made, **spec}}


def job(
    name: str = "sum", *, seconds: float = 5, code: int = 0, pod: Mapping[str, Any] | None = None, **spec: Any
) -> JsonObject:
    """A Job whose containers end after so many seconds, with that code."""
    steering = {RUN_SECONDS: f"{seconds:g}", EXIT_CODE: str(code)}
    made = template(annotations=steering, **{"restartPolicy": "Never", **(pod or {})})
    return {"metadata": {"name": name}, "spec": {"template": made, **spec}}


async def get_daemonset(world: World, name: str = "agent") -> JsonObject:
    return await world.client.get(DAEMONSETS, world.namespace, name)


async def get_job(world: World, name: str = "sum") -> JsonObject:
    return await world.client.get(JOBS, world.namespace, name)


async def of_owner(world: World, owner: JsonObject) -> list[JsonObject]:
    """The pods that name it as their controller, by name."""
    uid = owner["metadata"]["uid"]
    return [
        pod
        for pod in await pods_of(world)
        if any(one["uid"] == uid for one in pod["metadata"].get("ownerReferences") or ())
    ]


async def by_node(world: World, owner: JsonObject) -> dict[str, JsonObject]:
    """Its bound pods by their nodes: at most one each."""
    pods = [pod for pod in await of_owner(world, owner) if pod["spec"].get("nodeName")]
    found = {pod["spec"]["nodeName"]: pod for pod in pods}
    assert len(found) == len(pods), [(pod["metadata"]["name"], pod["spec"]["nodeName"]) for pod in pods]
    return found


def names(pods: Iterable[JsonObject]) -> list[str]:
    return sorted(pod["metadata"]["name"] for pod in pods)

"""Clusters of random nodes and pods, and pods that may come to them."""

from __future__ import annotations

import random
from typing import Any

from kube32_sim import Cluster, ServeOptions
from kube32_sim.client import NODES, PODS, Resource
from kube32_sim.preview.manifests import Manifest

JsonObject = dict[str, Any]
LIMIT_RANGES = Resource("", "v1", "limitranges")
ONLY_SCHEDULER = ServeOptions(port=0, nodes=0, controllers="scheduler", clock="virtual")


class World:
    """A cluster of random nodes and pods in all states, some of which the nodes' reports include."""

    def __init__(self, cluster: Cluster, seed: int) -> None:
        self.cluster, self.client = cluster, cluster.client
        self.rng = random.Random(seed)

    async def populate(self) -> None:
        for number in range(self.rng.randrange(1, 7)):
            await self.report(f"n{number}", create=True)
        if self.rng.random() < 0.4:
            limits = [{"type": "Container", "defaultRequest": {"memory": "30Ki"}}]
            await self.client.create(
                LIMIT_RANGES, "default", {"metadata": {"name": "defaults"}, "spec": {"limits": limits}}
            )
        for number in range(self.rng.randrange(12)):
            await self.live(f"old-{number}")
            if self.rng.random() < 0.3:
                await self.report(f"n{self.rng.randrange(3)}")

    async def report(self, name: str, *, create: bool = False) -> None:
        rng = self.rng
        if not create and name not in {node["metadata"]["name"] for node in (await self.client.list(NODES)).items}:
            return
        if create:
            labels = {"board": rng.choice(("s3", "c3"))}
            spec = {"unschedulable": True} if rng.random() < 0.1 else {}
            await self.client.create(NODES, "", {"metadata": {"name": name, "labels": labels}, "spec": spec})
        room = {"memory": f"{rng.choice((100, 150, 160))}Ki", "esp32.io/gpio": str(rng.choice((6, 7, 20)))}
        capacity = {"memory": "200Ki", "esp32.io/gpio": "20"}
        ready = {"type": "Ready", "status": "True" if rng.random() < 0.9 else "Unknown"}
        status = {"conditions": [ready], "allocatable": room, "capacity": capacity}
        await self.client.patch(NODES, "", name, {"status": status}, subresource="status")

    async def live(self, name: str) -> None:
        """A pod that is bound, and has come some way since."""
        rng = self.rng
        made = await self.client.create(PODS, "default", {"metadata": {"name": name}, "spec": self.spec()})
        if not made["spec"].get("nodeName"):
            return
        chance = rng.random()
        if chance < 0.3:
            return
        phase = "Running" if chance < 0.8 else "Succeeded"
        waiting = {"name": "c", "image": "i", "imageID": "", "ready": False, "restartCount": 1}
        waiting["state"] = {"waiting": {"reason": "CrashLoopBackOff"}} if chance < 0.45 else {"running": {}}
        status = {"phase": phase, "containerStatuses": [waiting]}
        await self.client.patch(PODS, "default", name, {"status": status}, subresource="status")

    def spec(self) -> JsonObject:
        rng = self.rng
        asked = {"esp32.io/gpio": str(rng.randrange(4)), "esp32.io/i2c-bus-0": "1"} if rng.random() < 0.5 else {}
        if rng.random() < 0.7:
            asked["memory"] = f"{rng.choice((7, 20, 45))}Ki"
        if rng.random() < 0.8:
            asked.pop("esp32.io/i2c-bus-0", None)
        spec: JsonObject = {"containers": [{"name": "c", "image": "i", "resources": {"requests": asked}}]}
        if rng.random() < 0.2:
            init = {"name": "i", "image": "i", "resources": {"requests": {"memory": "60Ki"}}}
            spec["initContainers"] = [init]
        if rng.random() < 0.3:
            spec["nodeSelector"] = {"board": "s3"}
        if rng.random() < 0.1:
            spec["nodeName"] = "n0"
        return spec

    def manifests(self) -> list[Manifest]:
        rng = self.rng
        made = []
        for number in range(rng.randrange(1, 6)):
            name = f"new-{number}"
            pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": self.spec()}
            made.append(Manifest(pod, "test", "default"))
        return made


def refusal(pod: JsonObject) -> str:
    conditions = pod.get("status", {}).get("conditions", ())
    return next((c["message"] for c in conditions if c["type"] == "PodScheduled" and c["status"] == "False"), "")

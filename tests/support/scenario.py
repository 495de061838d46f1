"""A story in which nearly everything happens once, and all that a store has of it: for comparing runs.

As a program, on the event loop that `serve` runs on, it prints that: `python -m tests.support.scenario MANNER SEED`.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from kube32_sim.client import CLOCKS, DAEMONSETS, DEPLOYMENTS, JOBS, NAMESPACES, NODES, PODS, SERVICES, Client
from kube32_sim.cluster import Cluster
from kube32_sim.http_client import HttpClient
from kube32_sim.running import _event_loop
from kube32_sim.storage.objects import Event
from tests.support.objects import BUDGETS, ENDPOINTS, SLICES, pod, pod_spec, service

JsonObject = dict[str, Any]
Advance = Callable[[str], Awaitable[object]]

FAULT = "sim.kube32.io/fault"
FINISHES = {"sim.kube32.io/run-seconds": "3"}


def template(app: str, image: str = "i", annotations: JsonObject | None = None, **spec: Any) -> JsonObject:
    """Of pods that are asked for by several labels, so that an order of labels would show."""
    labels = {"app": app, "tier": "back", "team": "blue"}
    return {
        "metadata": {"labels": labels, **({"annotations": annotations} if annotations else {})},
        "spec": pod_spec(**spec) | {"containers": [{"name": "c", "image": image}]},
    }


def workload(name: str, template: JsonObject, **spec: Any) -> JsonObject:
    labels = template["metadata"]["labels"]
    return {"metadata": {"name": name}, "spec": {"selector": {"matchLabels": labels}, "template": template, **spec}}


async def begin(client: Client, advance: Advance) -> None:
    await client.create(NAMESPACES, "", {"metadata": {"name": "shop"}})
    for app in ("web", "agent"):
        await client.create(SERVICES, "shop", service(app, {"app": app, "team": "blue"}))
    await client.create(DEPLOYMENTS, "shop", workload("web", template("web"), replicas=5))
    await client.create(DAEMONSETS, "shop", workload("agent", template("agent")))
    batch = template("batch", annotations=FINISHES, restartPolicy="Never")
    job = {"completions": 5, "parallelism": 2, "template": batch}
    await client.create(JOBS, "shop", {"metadata": {"name": "batch"}, "spec": job})
    budget = {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}
    await client.create(BUDGETS, "shop", {"metadata": {"name": "web"}, "spec": budget})
    for number in range(3):
        await client.create(PODS, "default", pod(f"lone-{number}"))
    await client.create(PODS, "default", pod("nowhere", spec={"nodeSelector": {"no": "where"}}))
    await advance("60s")
    for resource in (ENDPOINTS, SLICES):
        await client.list(resource)


async def suffer(client: Client, advance: Advance) -> None:
    """Two boards are lost, one after the other, while a rollout is under way; both come back."""
    await client.patch(NODES, "", "esp32-1", {"metadata": {"annotations": {FAULT: "stopped"}}})
    new = {"spec": {"replicas": 7, "template": template("web", "j")}}
    await client.patch(DEPLOYMENTS, "shop", "web", new)
    await advance("17s")
    await client.patch(NODES, "", "esp32-3", {"metadata": {"annotations": {FAULT: "partitioned"}}})
    await advance("400s")
    for node in ("esp32-1", "esp32-3"):
        await client.patch(NODES, "", node, {"metadata": {"annotations": {FAULT: None}}})
    await advance("1m")


async def end(client: Client, advance: Advance) -> None:
    await client.patch(DEPLOYMENTS, "shop", "web", {"spec": {"replicas": 2}}, subresource="scale")
    await advance("10s")
    await client.delete(JOBS, "shop", "batch", options={"propagationPolicy": "Foreground"})
    await client.delete(PODS, "default", "lone-1")
    await client.delete(NODES, "", "esp32-2")
    await advance("500ms")
    await client.list(ENDPOINTS)
    await client.delete(NAMESPACES, "", "shop")
    await advance("1h")


async def tell(client: Client, advance: Advance) -> None:
    for part in (begin, suffer, end):
        await part(client, advance)


async def in_process(cluster: Cluster) -> None:
    await tell(cluster.client, cluster.advance)
    await cluster.settle()


async def over_http(cluster: Cluster) -> None:
    """Requests, one at a time."""
    async with HttpClient(cluster.access) as client:

        async def advance(duration: str) -> None:
            await client.create(CLOCKS, "", {"spec": {"duration": duration}}, subresource="advance", name="cluster")

        await tell(client, advance)


MANNERS = {"in_process": in_process, "over_http": over_http}


async def run(manner: str, seed: int | None) -> list[str]:
    """A line for everything that happened, in order, then one for each object that is left."""
    lines = []

    def note(event: Event) -> None:
        lines.append(f"{event.type} {event.stored.storage} {event.stored.key} {event.stored.raw.decode()}")

    async with Cluster(nodes=4, clock="virtual", seed=seed) as cluster:
        cluster.store.subscribe(note)
        await MANNERS[manner](cluster)
        for storage in sorted(cluster.store.storages()):
            lines += [f"{storage} {stored.key} {stored.raw.decode()}" for stored in cluster.store.list(storage)]
        # The Service of the API itself and its endpoints lead to the port, which is a free one.
        for before, after in (('"targetPort":', "}"), ('"port":', ',"protocol":"TCP"}')):
            free, fixed = f"{before}{cluster.port}{after}", f"{before}6443{after}"
            lines = [line.replace(free, fixed) for line in lines]
        return lines


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=_event_loop()) as runner:
        print("\n".join(runner.run(run(sys.argv[1], int(sys.argv[2])))))

"""Pods that find their node: 1,000 created at 100, 1,000 and 5,000 nodes; a Deployment of 200 on boards."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from benchmarks.bodies import PODS, create, create_nodes, pod
from benchmarks.load import ask, drive, request
from benchmarks.measuring import BARE, Bench, Cost, Figure, cheapest, cost
from benchmarks.processes import Process

DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
BOARDS = 40
REPLICAS = 200
REAL = {100: "272/s", 1000: "242/s", 5000: "170/s"}


def schedule(nodes: int, profile: str = "") -> Callable[[Bench], Awaitable[list[Figure]]]:
    """The benchmark of 1,000 pods at so many nodes.  profile: of the scheduler, where it is not the usual one."""

    async def measure_all(bench: Bench) -> list[Figure]:
        count = bench.amount(1000)
        options = (*BARE, "--scheduler-profile", profile) if profile else ()
        async with bench.server(*options) as server:
            await drive(server.port, create_nodes(nodes), 8)
            await bench.settle(1.0)

            async def measure(run: int) -> Cost:
                wanted = [create(PODS, pod(f"pod-{run}-{number}")) for number in range(count)]
                return await cost(server, drive(server.port, wanted, 32))

            best = await cheapest(bench.runs, measure)
            answer = await ask(server.port, request("GET", f"{PODS}/pod-0-{count - 1}"))
            if b'"nodeName":"node-' not in answer:
                raise RuntimeError(f"the pod was not scheduled: {answer.decode()}")
        goal = 800 if nodes == 1000 else None
        by = f", profile {profile}" if profile else ""
        what = f"{count:,} pods created and scheduled, {nodes:,} nodes{by}"
        note = f"{best.each:.2f} ms CPU a pod; {best.note}"
        name, real = (f"schedule-{profile}", "") if profile else (f"schedule-{nodes}", REAL[nodes])
        return [Figure(name, what, best.load.rate, "pods/s", goal, True, real=real, note=note)]

    return measure_all


async def wait_for(port: int, path: str, holds: Callable[[bytes], bool], pause: float, limit: float = 90.0) -> None:
    """Look at an address until the answer is as wanted."""
    until = time.perf_counter() + limit
    while not holds(await ask(port, request("GET", path))):
        if time.perf_counter() > until:
            raise RuntimeError(f"{path} did not become as expected in {limit} s")
        await asyncio.sleep(pause)


async def boards_ready(server: Process, count: int) -> None:
    await wait_for(server.port, "/api/v1/nodes", lambda body: body.count(b'"KubeletReady"') >= count, 0.5)


def deployment_body(name: str) -> bytes:
    labels = {"app": name}
    containers = [{"name": "app", "image": "registry.example.org/firmware/app:v1"}]
    template = {"metadata": {"labels": labels}, "spec": {"containers": containers}}
    spec = {"replicas": REPLICAS, "selector": {"matchLabels": labels}, "template": template}
    return create(
        DEPLOYMENTS, {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}
    )


async def deployment(bench: Bench) -> list[Figure]:
    """A Deployment of 200 on 40 boards in another process: from its creation until all are available."""
    whole = b'"availableReplicas":%d' % REPLICAS
    used, times = [], []
    async with bench.server() as server:
        boards = await bench.processes.boards(server, BOARDS)
        await boards_ready(server, BOARDS)
        await bench.settle(3.0)
        for run in range(min(3, bench.runs)):
            before, start = server.cpu(), time.perf_counter()
            await ask(server.port, deployment_body(f"web-{run}"))
            await wait_for(server.port, f"{DEPLOYMENTS}/web-{run}", lambda body: whole in body, 0.1)
            used.append(1000 * (server.cpu() - before) / REPLICAS)
            times.append(time.perf_counter() - start)
        await bench.processes.stop(boards)
    note = f"available after {min(times):.1f} s"
    real = "2.2 s with limits lifted"
    return [
        Figure("deployment", "Deployment of 200 to available, CPU a pod", min(used), "ms", 1.5, real=real, note=note)
    ]

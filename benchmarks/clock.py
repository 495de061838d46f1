"""Driven time: what a simulated day costs, and a node's failure to the eviction of its pods."""

from __future__ import annotations

import json
import time

from benchmarks.bodies import create
from benchmarks.load import ask, request
from benchmarks.measuring import Bench, Figure
from benchmarks.processes import Process

ADVANCE = "/apis/sim.kube32.io/v1alpha1/clocks/cluster/advance"
NODES = "/api/v1/nodes"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
DAY = 24 * 3600
STORY = 331
"""Seconds from the last renewal until the pods of a lost node have left it, and one more."""


def deployment(replicas: int) -> dict[str, object]:
    labels = {"app": "web"}
    container = {"name": "web", "image": "web:1"}
    spec = {
        "replicas": replicas,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
    }
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}


async def advance(server: Process, seconds: int) -> float:
    """Real seconds that it took."""
    body = {
        "apiVersion": "sim.kube32.io/v1alpha1",
        "kind": "ClockAdvance",
        "spec": {"duration": f"{seconds}s"},
    }
    start = time.perf_counter()
    await ask(server.port, request("POST", ADVANCE, json.dumps(body).encode()))
    return time.perf_counter() - start


async def day(bench: Bench) -> list[Figure]:
    """100 boards that renew and report, and 500 pods that run; nothing else happens."""
    seconds = bench.amount(DAY)
    async with bench.server("--clock", "virtual", "--nodes", "100") as server:
        await ask(server.port, create(DEPLOYMENTS, deployment(500)))
        await advance(server, 700)  # the history is full from then on
        before = server.cpu()
        took = await advance(server, seconds)
        writes = seconds * 100 * (1 / 5 + 1 / 10)
        note = f"{1e6 * (server.cpu() - before) / writes:.1f} µs CPU a heartbeat; resident {server.memory()[0]:.0f} MB"
    what = "a simulated day of 100 boards and 500 pods"
    return [Figure("day", what, took, "s", 60 * seconds / DAY, real="24 h", note=note)]


async def failure(bench: Bench) -> list[Figure]:
    """10 boards, 50 pods: a board is cut off until its pods run elsewhere."""
    times = []
    patch = json.dumps({"metadata": {"annotations": {"sim.kube32.io/fault": "partitioned"}}}).encode()
    for _ in range(bench.runs):
        async with bench.server("--clock", "virtual", "--nodes", "10") as server:
            await ask(server.port, create(DEPLOYMENTS, deployment(50)))
            await advance(server, 60)
            await ask(server.port, request("PATCH", f"{NODES}/esp32-0", patch, "application/merge-patch+json"))
            took = await advance(server, STORY)
            answer = await ask(server.port, request("GET", "/api/v1/pods?fieldSelector=spec.nodeName%3Desp32-0"))
            if json.loads(answer)["items"]:
                raise RuntimeError("the pods have not left the lost board")
            times.append(took)
    what = "a node's failure to the eviction of its pods, 10 boards"
    note = f"median of {len(times)}: {sorted(times)[len(times) // 2]:.2f} s"
    return [Figure("failure", what, min(times), "s", 1.0, real="330 s", note=note)]

"""Start and memory: what the simulator costs before anybody uses it, and for what is stored in it."""

from __future__ import annotations

import statistics
import time

from benchmarks.bodies import PODS, create, create_nodes, pod
from benchmarks.load import ask, drive, request
from benchmarks.measuring import BARE, Bench, Figure
from benchmarks.processes import Process

STORED = 4400


async def start(bench: Bench) -> list[Figure]:
    """From the start of the process to the first answered list."""
    listing = request("GET", "/api/v1/namespaces")
    times, used = [], []
    for _ in range(bench.runs + 1):
        async with bench.server("--nodes", "2") as server:
            await ask(server.port, listing)
            times.append(time.perf_counter() - server.started)
            used.append(server.cpu())
    bounds = []
    for _ in range(bench.runs + 1):
        process = await bench.processes.start("benchmarks.bound")
        await ask(process.port, request("GET", "/bytes/100"))
        bounds.append(time.perf_counter() - process.started)
        await bench.processes.stop(process)
    note = f"median {statistics.median(times):.2f} s of {len(times)}, {min(used):.2f} s CPU"
    what = "start to first answered list, two boards"
    return [Figure("start", what, min(times), "s", 0.7, bound=min(bounds), real="1.6 s", note=note)]


async def memory(bench: Bench) -> list[Figure]:
    """Resident memory once a server with two boards has come to rest."""
    async with bench.server("--nodes", "2") as server:
        await ask(server.port, request("GET", "/api/v1/namespaces"))
        await bench.settle(12.0)
        resident, proportional = server.memory()
    bound = (await bench.bound()).memory()[0]
    note = f"proportional {proportional:.0f} MB"
    return [Figure("memory", "resident at rest, two boards", resident, "MB", 90, bound=bound, real="335 MB", note=note)]


async def bulk_for(server: Process, size: int = STORED) -> int:
    """How much bulk makes a pod this large as stored: about half of it."""
    guess = size // 2
    await ask(server.port, create(PODS, pod("probe", node="node-0000", bulk=guess)))
    found = len(await ask(server.port, request("GET", f"{PODS}/probe")))
    await ask(server.port, request("DELETE", f"{PODS}/probe?gracePeriodSeconds=0"))
    return guess + size - found


async def pod_memory(bench: Bench) -> list[Figure]:
    """Resident memory that 10,000 pods add, each of 4.4 KB as JSON; half of it bulk in an annotation, since the
    simulator keeps no managedFields."""
    count = bench.amount(10_000)
    async with bench.server(*BARE) as server:
        await drive(server.port, create_nodes(100), 8)
        bulk = await bulk_for(server)
        before = server.memory()[0]
        bodies = (create(PODS, pod(f"pod-{n:05}", node=f"node-{n % 100:04}", bulk=bulk)) for n in range(count))
        await drive(server.port, bodies, 8)
        await bench.settle(3.0)
        added = 1024 * (server.memory()[0] - before) / count
    note = f"{count:,} pods of {STORED / 1000} KB"
    bound = STORED / 1024
    return [Figure("pod-memory", "memory per stored pod", added, "KB", 14, bound=bound, real="55 KB", note=note)]

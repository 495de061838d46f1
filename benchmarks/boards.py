"""1,000 simulated boards in another process, at rest: each renews its lease every 5 s and reports every 10 s."""

from __future__ import annotations

import asyncio
import time

from benchmarks.bodies import NODES
from benchmarks.load import ask, request
from benchmarks.measuring import Bench, Figure
from benchmarks.processes import Process
from benchmarks.scheduling import boards_ready


async def boards(bench: Bench) -> list[Figure]:
    count = bench.amount(1000)
    async with bench.server("--nodes", "0") as server:
        start = time.perf_counter()
        process = await bench.processes.boards(server, count)
        await boards_ready(server, count)
        registered = time.perf_counter() - start
        await bench.settle(12.0)
        share, latencies = await watch_share(server, 2.0 if bench.quick else 25.0)
        memory = server.memory()[0]
        await bench.processes.stop(process)
    p99 = 1000 * latencies[int(0.99 * len(latencies))]
    note = f"all registered after {registered:.1f} s; a GET meanwhile: p99 {p99:.1f} ms; resident {memory:.0f} MB"
    what = f"{count:,} boards at rest: one core's share"
    return [Figure("boards", what, share, "%", 40, real="66 %", note=note)]


async def watch_share(server: Process, seconds: float) -> tuple[float, list[float]]:
    """(CPU in per cent of one core over so many seconds, sorted latencies of ten small requests a second)."""
    wanted = request("GET", f"{NODES}/board-0")
    latencies = []
    before, start = server.cpu(), time.perf_counter()
    while time.perf_counter() < start + seconds:
        sent = time.perf_counter()
        await ask(server.port, wanted)
        latencies.append(time.perf_counter() - sent)
        await asyncio.sleep(0.1)
    share = 100 * (server.cpu() - before) / (time.perf_counter() - start)
    return share, sorted(latencies)

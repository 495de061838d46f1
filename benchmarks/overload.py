"""How long others wait while a crowd writes: one client that asks for one object, from a process of its own.

Calm is ten writers, a crowd two hundred; each creates ConfigMaps as fast as it is answered.  Beside them a thousand
watchers of another namespace hold on, and two hundred connections that never finish a request's head.
"""

from __future__ import annotations

import asyncio
import sys
import time
from itertools import count

from benchmarks.bodies import CONFIG_MAPS, config_map, create
from benchmarks.load import Load, Source, connect, request
from benchmarks.measuring import Bench, Figure
from benchmarks.processes import ROOT, Process
from benchmarks.watchers import Crowd

CALM, CROWD = 10, 200
WATCHERS, HALF_OPEN = 1000, 200
PATH = "/api/v1/namespaces/default"


def _writer(name: str, end: float) -> Source:
    numbers = count()

    def source(body: bytes) -> bytes | None:
        return create(CONFIG_MAPS, config_map(f"{name}-{next(numbers)}")) if time.perf_counter() < end else None

    return source


async def _waits(server: Process, writers: int, name: str, seconds: float) -> tuple[list[float], Load]:
    """(p50 and p99 of the other client, in ms; what the writers did)."""
    probe = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "benchmarks.probe", str(server.port), str(seconds), PATH),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
    )
    end = time.perf_counter() + seconds + 1.0
    crowd = await connect(server.port, [_writer(f"{name}-{number}", end) for number in range(writers)])
    (out, _), load = await asyncio.gather(probe.communicate(), crowd.run())
    return [1000 * float(text) for text in out.split()[:2]], load


async def _half_open(port: int) -> list[asyncio.StreamWriter]:
    writers = []
    for _ in range(HALF_OPEN):
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /api HTTP/1.1\r\nHost: 127.0.0.1\r\nX-")
        writers.append(writer)
    return writers


async def overload(bench: Bench) -> list[Figure]:
    seconds = 1.0 if bench.quick else 5.0
    calm, crowded, loads = [], [], []
    async with bench.server() as server:
        watchers = Crowd()
        wanted = request("GET", "/api/v1/namespaces/kube-system/configmaps?watch=1")
        await watchers.open(server.port, [wanted] * bench.amount(WATCHERS))
        for run in range(max(2, bench.runs)):
            calm.append((await _waits(server, CALM, f"calm-{run}", seconds))[0])
            half = await _half_open(server.port)
            waits, load = await _waits(server, CROWD, f"crowd-{run}", seconds)
            crowded.append(waits)
            loads.append(load)
            for writer in half:
                writer.close()
        memory = server.memory()[0]
        watchers.close()
    usual, most = min(calm, key=lambda one: one[1]), min(crowded, key=lambda one: one[1])
    note = f"{most[1]:.1f} ms (p50 {most[0]:.1f}); calm {usual[1]:.1f} ms (p50 {usual[0]:.1f}); {memory:.0f} MB"
    rate = max(load.rate for load in loads)
    what = f"p99 of another client's GET beside {CROWD} writers / beside {CALM}"
    return [Figure("overload", what, most[1] / usual[1], "x", 5.0, note=f"{note}; {rate:,.0f} writes/s")]

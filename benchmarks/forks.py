"""Forks: from the request to the answer, what one takes until it diverges, and its first answer."""

from __future__ import annotations

import json
import time
from urllib.parse import urlsplit

from benchmarks.bodies import CONFIG_MAPS, config_map, create
from benchmarks.clock import DEPLOYMENTS, advance, deployment
from benchmarks.load import ask, drive, request
from benchmarks.measuring import Bench, Figure
from benchmarks.processes import Process

FORKS = "/apis/sim.kube32.io/v1alpha1/forks"
SIZES = (1_000, 10_000)
BOARDS, PODS = 100, 500
AT_A_TIME = 12
"""Forks that are held together, to see what one takes."""
MOST_MILLISECONDS, MOST_MEGABYTES = 100.0, 10.0


async def _fill(server: Process, count: int) -> int:
    """Boards, pods that run, and ConfigMaps up to a number of objects; answers how many."""
    pods = min(PODS, count // 4)
    await ask(server.port, create(DEPLOYMENTS, deployment(pods)))
    await advance(server, 120)
    made = BOARDS * 2 + pods * 6  # Nodes and Leases; pods and the events of each
    names = (f"config-{number}" for number in range(max(0, count - made)))
    await drive(server.port, (create(CONFIG_MAPS, config_map(name)) for name in names), 8)
    return max(count, made)


async def _fork(server: Process, name: str) -> tuple[float, int]:
    """(milliseconds until the answer, port)."""
    body = {"apiVersion": "sim.kube32.io/v1alpha1", "kind": "Fork", "metadata": {"name": name}}
    start = time.perf_counter()
    answer = await ask(server.port, create(FORKS, body))
    took = 1000 * (time.perf_counter() - start)
    return took, urlsplit(json.loads(answer)["status"]["server"]).port or 0


async def _figures(bench: Bench, size: int) -> list[Figure]:
    async with bench.server("--clock", "virtual", "--nodes", str(BOARDS)) as server:
        objects = await _fill(server, bench.amount(size))
        await _fork(server, "first")  # which imports what forks are made of
        resident, used = server.memory()[0], server.cpu()
        made = [await _fork(server, f"fork-{number}") for number in range(AT_A_TIME)]
        each = (server.memory()[0] - resident) / AT_A_TIME
        cpu = 1000 * (server.cpu() - used) / AT_A_TIME
        start = time.perf_counter()
        await ask(made[0][1], request("GET", "/api/v1/nodes"))
        first = 1000 * (time.perf_counter() - start)
        before = server.memory()[0]
        start = time.perf_counter()
        await ask(made[0][1], create(CONFIG_MAPS, config_map("diverges")))
        await ask(made[0][1], request("GET", f"{CONFIG_MAPS}/diverges"))  # which waits for all that came of it
        living = 1000 * (time.perf_counter() - start)
        grown = server.memory()[0] - before
    what, took = f"a fork of {objects:,} objects and {BOARDS} boards", min(each_ for each_, _ in made)
    note = f"{cpu:.1f} ms CPU; its first answer {first:.0f} ms, until it lives {living:.0f} ms and {grown:.0f} MB more"
    return [
        Figure(f"fork-{size}", f"{what}: request to answer", took, "ms", MOST_MILLISECONDS, note=note),
        Figure(f"fork-{size}-memory", f"{what}: memory until it diverges", each, "MB", MOST_MEGABYTES),
    ]


async def forks(bench: Bench) -> list[Figure]:
    return [figure for size in SIZES for figure in await _figures(bench, size)]

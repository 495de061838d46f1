"""What it costs that nothing is lost: the store in a SQLite file beside the one in memory.

Two servers run at the same time and are loaded in turns, so that both see the same machine.  A ratio is how the best
runs of both compare; CPU is that of the whole server, its threads and the kernel's work on the file among it.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.bodies import CONFIG_MAPS, MERGE, PODS, config_map, create, create_nodes, pod, status_patch
from benchmarks.load import Load, ask, connect, drive, request
from benchmarks.measuring import BARE, Bench, Cost, Figure, cost
from benchmarks.processes import Process
from benchmarks.requests import renewals

OBJECTS = 100_000
WRITERS = 32
PAIR = ("memory", "sqlite")

Work = Callable[[str, int, int], Awaitable[Load]]
"""(store, port, number of the run) -> the load."""


async def _in_turns(bench: Bench, servers: dict[str, Process], work: Work) -> dict[str, list[Cost]]:
    found: dict[str, list[Cost]] = {store: [] for store in servers}
    for run in range(max(2, bench.runs)):
        for store, server in servers.items():
            found[store].append(await cost(server, work(store, server.port, run)))
    return found


def _beside(name: str, what: str, found: dict[str, list[Cost]]) -> list[Figure]:
    """Rate and CPU in the file, as parts of those in memory."""
    rates = {store: max(costs, key=lambda one: one.load.rate) for store, costs in found.items()}
    cheap = {store: min(one.each for one in costs) for store, costs in found.items()}
    memory, sqlite = rates["memory"], rates["sqlite"]
    note = f"sqlite {sqlite.note}; memory {memory.note}"
    cpu = f"sqlite {cheap['sqlite']:.3f} ms, memory {cheap['memory']:.3f} ms"
    rate = sqlite.load.rate / memory.load.rate
    return [
        Figure(f"durable-{name}", f"{what}: rate with sqlite / in memory", rate, "x", 0.5, True, note=note),
        Figure(f"durable-{name}-cpu", "the same: CPU", cheap["sqlite"] / cheap["memory"], "x", 1.5, note=cpu),
    ]


async def durable(bench: Bench) -> list[Figure]:
    """Creating ConfigMaps over 32 connections and over one, patching pods, renewing leases."""
    with tempfile.TemporaryDirectory(prefix="benchmarks-") as folder:
        async with bench.server() as plain, bench.server(*BARE, "--store", f"sqlite:{folder}/state") as kept:
            servers = dict(zip(PAIR, (plain, kept), strict=True))
            figures = await _creating(bench, servers)
            figures += await _patching(bench, servers)
            return figures + await _renewing(bench, servers)


async def _creating(bench: Bench, servers: dict[str, Process]) -> list[Figure]:
    def creating(connections: int, count: int) -> Work:
        async def work(store: str, port: int, run: int) -> Load:
            names = (f"map-{connections}-{run}-{number}" for number in range(count))
            return await drive(port, [create(CONFIG_MAPS, config_map(name)) for name in names], connections)

        return work

    many = await _in_turns(bench, servers, creating(WRITERS, bench.amount(4000)))
    one = await _in_turns(bench, servers, creating(1, bench.amount(500)))
    best = {store: min(costs, key=lambda cost: cost.load.quantile(0.5)) for store, costs in one.items()}
    p50 = 1000 * best["sqlite"].load.quantile(0.5)
    note = f"{best['sqlite'].note}; memory {best['memory'].note}"
    alone = Figure("durable-create-1", "create ConfigMap with sqlite, 1 connection, p50", p50, "ms", note=note)
    return [*_beside("create", "create ConfigMap, 32 connections", many), alone]


async def _patching(bench: Bench, servers: dict[str, Process]) -> list[Figure]:
    pods, count = 500, bench.amount(3000)
    for server in servers.values():
        await drive(server.port, create_nodes(10), 8)
        await drive(server.port, (create(PODS, pod(f"pod-{n}", node=f"node-{n % 10:04}")) for n in range(pods)), 8)

    async def work(store: str, port: int, run: int) -> Load:
        def bodies() -> Iterator[bytes]:
            for number in range(count):
                body = status_patch(run * count + number)
                yield request("PATCH", f"{PODS}/pod-{number % pods}/status", body, MERGE)

        return await drive(port, list(bodies()), WRITERS)

    return _beside("patch", "merge patch of a pod's status, 32 connections", await _in_turns(bench, servers, work))


async def _renewing(bench: Bench, servers: dict[str, Process]) -> list[Figure]:
    names = [f"node-{number}" for number in range(bench.amount(960))]
    versions: dict[str, dict[str, str]] = {store: {} for store in servers}

    async def renew(store: str, port: int, seconds: range) -> Load:
        sources = [renewals(versions[store], names[place::WRITERS], seconds) for place in range(WRITERS)]
        return await (await connect(port, sources)).run()

    for store, server in servers.items():
        await renew(store, server.port, range(1))

    async def work(store: str, port: int, run: int) -> Load:
        return await renew(store, port, range(1 + 3 * run, 4 + 3 * run))

    return _beside("lease", "renew a Lease, 32 connections", await _in_turns(bench, servers, work))


# many objects


async def durable_start(bench: Bench) -> list[Figure]:
    """Start with 100,000 ConfigMaps in the file, and serving them afterwards, beside a server that has them anyhow."""
    count = OBJECTS // 20 if bench.quick else OBJECTS
    with tempfile.TemporaryDirectory(prefix="benchmarks-") as folder:
        options = (*BARE, "--store", f"sqlite:{folder}/state")
        async with bench.server() as plain:
            async with bench.server(*options) as kept:
                for server in (plain, kept):
                    bodies = (create(CONFIG_MAPS, config_map(f"map-{number:06}")) for number in range(count))
                    await drive(server.port, bodies, WRITERS)
            size = _size(folder)
            started = time.perf_counter()
            async with bench.server(*options) as again:
                await ask(again.port, request("GET", f"{CONFIG_MAPS}?limit=500"))
                lasted = time.perf_counter() - started
                note = f"file of {size / 1e6:.0f} MB, CPU {again.cpu():.1f} s, {again.memory()[0]:.0f} MB of memory"
                what = f"start with {count:,} objects in the file, to the first list answered"
                figures = [Figure("durable-start", what, lasted, "s", 5.0, note=note)]
                return figures + await _serving(bench, dict(zip(PAIR, (plain, again), strict=True)), count)


def _size(folder: str) -> int:
    return sum(file.stat().st_size for file in Path(folder).iterdir())


async def _serving(bench: Bench, servers: dict[str, Process], count: int) -> list[Figure]:
    figures = []
    for name, what, paths, times in (
        ("get", "GET one object", [f"{CONFIG_MAPS}/map-{n:06}" for n in range(0, count, 97)], bench.amount(4000)),
        ("list", "list 500 of them", [f"{CONFIG_MAPS}?limit=500"], bench.amount(400)),
    ):
        wanted = [request("GET", paths[number % len(paths)]) for number in range(times)]

        async def work(store: str, port: int, run: int, wanted: Sequence[bytes] = wanted) -> Load:
            return await drive(port, wanted, WRITERS)

        found = await _in_turns(bench, servers, work)
        cpu = _beside(name, what, found)[1]
        figures.append(replace(cpu, what=f"{what} after the start: CPU with sqlite / in memory"))
    return figures

"""One event to each of 500 watchers: of everything, and of one node's pods each."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

from benchmarks.bodies import CONFIG_MAPS, MERGE, PODS, config_map, create, create_nodes, pod
from benchmarks.load import ask, drive, request
from benchmarks.measuring import Bench, Figure, cost
from benchmarks.processes import Process
from benchmarks.watchers import Crowd

WATCHERS = 500
ONE_DELIVERY = 0.05
"""CPU milliseconds that one delivery may cost, with its own write to a socket; to try 500 selectors takes longer."""


async def deliver(
    process: Process, crowd: Crowd, wanted: list[bytes], each: int, writers: int = 32
) -> tuple[float, float]:
    """(CPU seconds, seconds) until every watcher has seen what these writes caused; each: deliveries a write."""
    crowd.expect(len(wanted) * each)
    before, start = process.cpu(), time.perf_counter()
    await drive(process.port, wanted, writers)
    await crowd.wait()
    seconds = time.perf_counter() - start
    if crowd.cut or crowd.marks != crowd.expected:
        raise RuntimeError(f"{crowd.cut} streams were cut, {crowd.marks} of {crowd.expected} events arrived")
    return process.cpu() - before, seconds


@dataclass(frozen=True, slots=True)
class Fan:
    """One write's event to every watcher.  each: CPU microseconds a delivery, beyond the writes; rate: deliveries/s."""

    each: float
    rate: float


async def fan_out(
    process: Process, wanted: Callable[[], list[bytes]], watch: bytes, writers: int, runs: int, watchers: int = WATCHERS
) -> Fan:
    """The best of some runs: the same kind of writes without watchers, then with them."""
    alone, seen, seconds = [], [], []
    for _ in range(runs):
        requests = wanted()
        alone.append((await cost(process, drive(process.port, requests, writers))).cpu)
        crowd = Crowd()
        await crowd.open(process.port, [watch] * watchers)
        used, took = await deliver(process, crowd, wanted(), watchers, writers)
        crowd.close()
        seen.append(used)
        seconds.append(took)
    deliveries = len(requests) * watchers
    return Fan(1e6 * (min(seen) - min(alone)) / deliveries, deliveries / min(seconds))


async def watch_all(bench: Bench) -> list[Figure]:
    """500 watchers of all ConfigMaps while others are created: by 32 writers at once, and by one."""
    events = bench.amount(400)
    numbers = count()

    def bodies() -> list[bytes]:
        return [create(CONFIG_MAPS, config_map(f"map-{next(numbers)}")) for _ in range(events)]

    async with bench.server() as server:
        probe = await ask(server.port, bodies()[0])
        watch = request("GET", f"{CONFIG_MAPS}?watch=true&sendInitialEvents=false&resourceVersionMatch=NotOlderThan")
        bound_process = await bench.bound()
        emit, stream = request("POST", "/emit", probe), request("GET", "/stream")
        found = []
        for writers in (32, 1):
            bound = await fan_out(bound_process, lambda: [emit] * events, stream, writers, bench.runs)
            found.append((await fan_out(server, bodies, watch, writers, bench.runs), bound))
    (many, many_bound), (one, one_bound) = found
    size = f"{len(probe) / 1000:.1f} KB an event"
    note = f"{size}; {many.rate:,.0f} deliveries/s, none cut"
    what = "an event to one of 500 watchers of all"
    return [
        Figure("watch-all", f"{what}, 32 writers", many.each, "µs", 3, bound=many_bound.each, real="15 µs", note=note),
        Figure(
            "watch-all-1",
            f"{what}, 1 writer",
            one.each,
            "µs",
            3,
            bound=one_bound.each,
            note=f"{size}; {one.rate:,.0f} deliveries/s, none cut",
        ),
        Figure(
            "watch-rate",
            "deliveries to 500 watchers of all",
            many.rate,
            "/s",
            200_000,
            True,
            bound=many_bound.rate,
            real="89,000/s, cut",
        ),
    ]


async def watch_node(bench: Bench) -> list[Figure]:
    """500 watchers of one node's pods each: what a write costs then, of which one of them hears."""
    writes = bench.amount(3000)
    numbers = count()

    def bodies() -> list[bytes]:
        marks = (next(numbers) for _ in range(writes))
        body = b'{"metadata":{"annotations":{"mark":"~%d"}}}'
        return [request("PATCH", f"{PODS}/pod-{mark % WATCHERS}", body % mark, MERGE) for mark in marks]

    async with bench.server() as server:
        await drive(server.port, create_nodes(WATCHERS), 8)
        pods = (create(PODS, pod(f"pod-{n}", node=f"node-{n:04}")) for n in range(WATCHERS))
        await drive(server.port, pods, 8)
        await drive(server.port, bodies(), 32)
        alone, watched = [], []
        for _ in range(bench.runs):
            alone.append((await cost(server, drive(server.port, bodies(), 32))).cpu)
            now = version(await ask(server.port, request("GET", f"{PODS}?limit=1")))
            path = f"{PODS}?watch=true&resourceVersion={now}&fieldSelector=spec.nodeName%3Dnode-"
            crowd = Crowd()
            await crowd.open(server.port, [request("GET", f"{path}{number:04}") for number in range(WATCHERS)])
            watched.append((await deliver(server, crowd, bodies(), 1))[0])
            crowd.close()
    value, bound = 1000 * min(watched) / writes, 1000 * min(alone) / writes
    what = "a write while 500 watch one node's pods each"
    note = "bound: the same write without watchers"
    goal = bound + ONE_DELIVERY
    return [Figure("watch-node", what, value, "ms", goal, bound=bound, real="found by index", note=note)]


def version(body: bytes) -> str:
    return body.split(b'"resourceVersion":"', 1)[1].split(b'"', 1)[0].decode()

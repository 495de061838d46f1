"""One event to each of 500 watchers: of everything, and of one node's pods each."""

from __future__ import annotations

import time
from collections.abc import Iterable

from benchmarks.bodies import CONFIG_MAPS, MERGE, PODS, config_map, create, create_nodes, pod
from benchmarks.load import ask, drive, request
from benchmarks.measuring import Bench, Figure, cheapest, cost
from benchmarks.processes import Process
from benchmarks.watchers import Crowd

WATCHERS = 500


async def bound_delivery(bench: Bench, frame: bytes, events: int) -> float:
    """CPU microseconds per delivery of a prepared frame, less what the requests themselves cost."""
    process = await bench.bound()
    wanted = [request("POST", "/emit", frame)] * events
    alone = await cheapest(3, lambda run: cost(process, drive(process.port, wanted, 32)))
    crowd = Crowd()
    await crowd.open(process.port, [request("GET", "/stream")] * WATCHERS)
    best = min([await deliver(process, crowd, wanted, WATCHERS) for _ in range(bench.runs)])[0]
    crowd.close()
    return 1e6 * (best - alone.cpu) / (events * WATCHERS)


async def deliver(process: Process, crowd: Crowd, wanted: list[bytes], each: int) -> tuple[float, float]:
    """(CPU seconds, seconds) until every watcher has seen what these writes caused; each: deliveries a write."""
    crowd.expect(len(wanted) * each)
    before, start = process.cpu(), time.perf_counter()
    await drive(process.port, wanted, 32)
    await crowd.wait()
    seconds = time.perf_counter() - start
    if crowd.cut or crowd.marks != crowd.expected:
        raise RuntimeError(f"{crowd.cut} streams were cut, {crowd.marks} of {crowd.expected} events arrived")
    return process.cpu() - before, seconds


async def watch_all(bench: Bench) -> list[Figure]:
    """500 watchers of all ConfigMaps; 32 connections create some."""
    events = bench.amount(400)

    def bodies(run: str) -> list[bytes]:
        return [create(CONFIG_MAPS, config_map(f"map-{run}-{number}")) for number in range(events)]

    async with bench.server() as server:
        probe = await ask(server.port, bodies("probe")[0])
        bound = await bound_delivery(bench, probe, events)
        alone = await bench.repeated(server, lambda run: bodies(f"alone-{run}"))
        crowd = Crowd()
        now = version(await ask(server.port, create(CONFIG_MAPS, config_map("now"))))
        await crowd.open(server.port, [request("GET", f"{CONFIG_MAPS}?watch=true&resourceVersion={now}")] * WATCHERS)
        runs = [await deliver(server, crowd, bodies(f"seen-{run}"), WATCHERS) for run in range(bench.runs)]
        crowd.close()
    deliveries = events * WATCHERS
    cpu, seconds = min(cpu for cpu, _ in runs), min(seconds for _, seconds in runs)
    each, rate = 1e6 * (cpu - alone.cpu) / deliveries, deliveries / seconds
    note = f"none cut; {len(probe) / 1000:.1f} KB an event, creates at {events / seconds:,.0f}/s meanwhile"
    return [
        Figure(
            "watch-all", "an event to one of 500 watchers of all", each, "µs", 3, bound=bound, real="15 µs", note=note
        ),
        Figure("watch-rate", "deliveries to 500 watchers of all", rate, "/s", 200_000, True, real="89,000/s, cut"),
    ]


def version(body: bytes) -> str:
    return body.split(b'"resourceVersion":"', 1)[1].split(b'"', 1)[0].decode()


async def watch_node(bench: Bench) -> list[Figure]:
    """500 watchers of one node's pods each; what they add to the cost of a write."""
    count = bench.amount(3000)

    def bodies(run: int) -> Iterable[bytes]:
        for number in range(count):
            body = b'{"metadata":{"annotations":{"mark":"~%d"}}}' % (run * count + number)
            yield request("PATCH", f"{PODS}/pod-{number % WATCHERS}", body, MERGE)

    async with bench.server() as server:
        await drive(server.port, create_nodes(WATCHERS), 8)
        pods = (create(PODS, pod(f"pod-{n}", node=f"node-{n:04}")) for n in range(WATCHERS))
        await drive(server.port, pods, 8)
        alone = await bench.repeated(server, bodies)
        now = version(await ask(server.port, request("GET", f"{PODS}?limit=1")))
        crowd = Crowd()
        path = f"{PODS}?watch=true&resourceVersion={now}&fieldSelector=spec.nodeName%3Dnode-"
        await crowd.open(server.port, [request("GET", f"{path}{number:04}") for number in range(WATCHERS)])
        runs = [await deliver(server, crowd, list(bodies(10 + run)), 1) for run in range(bench.runs)]
        crowd.close()
    extra = 1e6 * (min(cpu for cpu, _ in runs) / count) - 1000 * alone.each
    what = "what 500 one-node watchers add to a write"
    note = f"a write alone: {alone.each:.3f} ms; 500 looks at a selector would be over 100 µs"
    return [Figure("watch-node", what, extra, "µs", 50, real="found by index", note=note)]

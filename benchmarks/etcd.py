"""The store on etcd: writes beside what its client library alone puts, how far a replica lags, reads of three replicas.

etcd runs on this machine, too, and takes more CPU than we do; so of the writes their share of the library's own counts.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.bodies import CONFIG_MAPS, config_map, create
from benchmarks.load import ask, drive, request
from benchmarks.measuring import BARE, Bench, Figure

if TYPE_CHECKING:
    from kube32_sim.storage.etcd.store import EtcdStore
    from kube32_sim.storage.objects import Event

MAPS = ("", "configmaps")
AT_ONCE = 32
"""Writers, or connections."""
SIZE = 1300
"""Bytes of an object's value, about a ConfigMap with its managedFields."""
RATE = 500
"""Writes a second at which the lag is measured."""
REPLICAS = 3
CORES = REPLICAS + 2
"""So many, and three servers, what drives them and etcd do not get in each other's way."""


@asynccontextmanager
async def _etcd() -> AsyncIterator[Any]:
    from tests.support.etcd import running_etcd

    with tempfile.TemporaryDirectory(prefix="benchmarks-etcd-") as folder, running_etcd(Path(folder)) as running:
        yield running


async def _store(etcd: Any, prefix: str) -> EtcdStore:
    from kube32_sim.api.builtin import builtin_table
    from kube32_sim.clock import RealClock
    from kube32_sim.storage.etcd.store import EtcdStore

    return await EtcdStore.open(builtin_table(), RealClock(), [etcd.endpoint], prefix)


def _object(name: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default", "uid": name, "labels": {"app": "web"}}
    return {"metadata": metadata, "data": {"key": "x" * (SIZE - 120)}}


async def _rate(count: int, write: Callable[[str], Awaitable[object]]) -> float:
    """Writes a second by so many writers, each under a name of its own."""
    names = iter([f"{number:06}" for number in range(count)])

    async def writer() -> None:
        for name in names:
            await write(name)

    start = time.perf_counter()
    await asyncio.gather(*(writer() for _ in range(AT_ONCE)))
    return count / (time.perf_counter() - start)


async def writes(bench: Bench) -> list[Figure]:
    """Creates of the store, and POSTs to a server on etcd, beside what aetcd puts."""
    import aetcd

    count, found = bench.amount(4000), []
    async with _etcd() as etcd:
        client = aetcd.Client(*etcd.endpoint)
        await client.connect()
        for run in range(2 * bench.runs - 1):

            async def put(name: str, run: int = run) -> None:
                await client.put(f"/alone/{run}/{name}".encode(), b"x" * SIZE)

            alone = await _rate(count, put)
            store = await _store(etcd, f"/writes-{run}")

            async def make(name: str, store: EtcdStore = store) -> None:
                await store.create(MAPS, f"default/{name}", _object(name))

            ours = await _rate(count, make)
            await store.close()
            found.append((100 * ours / alone, ours, alone))
        await client.close()
        async with bench.server("--store", f"{etcd.url}/served", *BARE) as server:
            bodies = [create(CONFIG_MAPS, config_map(f"c-{number}")) for number in range(count)]
            served = await drive(server.port, bodies, AT_ONCE)
    share, ours, alone = sorted(found)[len(found) // 2]  # both sides vary with what else the machine does
    note = f"{ours:,.0f}/s beside {alone:,.0f}/s of aetcd alone; " + ", ".join(f"{one[0]:.0f} %" for one in found)
    percentiles = f"p50 {1000 * served.quantile(0.5):.1f} ms, p99 {1000 * served.quantile(0.99):.1f} ms"
    return [
        Figure("etcd-writes", f"etcd: creates, {AT_ONCE} at once", share, "% of puts", 60, True, note=note),
        Figure("etcd-served", f"etcd: POST ConfigMap, {AT_ONCE} connections", served.rate, "/s", note=percentiles),
    ]


async def lag(bench: Bench) -> list[Figure]:
    """From the answer to a write until another store has heard of it, at a steady rate."""
    count = bench.amount(3 * RATE)
    written, lags = {}, []
    async with _etcd() as etcd:
        one, other = await _store(etcd, "/lag"), await _store(etcd, "/lag")
        await one.create(MAPS, "default/first", _object("first"))
        await other.heard(one.revision, 10)  # etcd takes a tenth of a second to know a watcher
        heard: dict[str, float] = {}

        def hear(event: Event) -> None:
            heard[event.stored.name] = time.perf_counter()

        other.subscribe(hear, [MAPS])

        async def make(name: str) -> None:
            await one.create(MAPS, f"default/{name}", _object(name))
            written[name] = time.perf_counter()

        start, tasks = time.perf_counter(), []
        for number in range(count):
            tasks.append(asyncio.create_task(make(f"{number:06}")))
            await asyncio.sleep(max(0.0, start + (number + 1) / RATE - time.perf_counter()))
        await asyncio.gather(*tasks)
        await other.heard(one.revision, 10)
        lags = sorted(max(0.0, heard[name] - at) for name, at in written.items())
        await one.close()
        await other.close()
    at = {part: 1000 * lags[min(count - 1, int(part * count))] for part in (0.5, 0.99)}
    what = f"etcd: a replica behind a write, at {RATE} writes/s, p99"
    return [Figure("etcd-lag", what, at[0.99], "ms", 50, note=f"p50 {at[0.5]:.2f} ms, most {1000 * lags[-1]:.1f} ms")]


async def reads(bench: Bench) -> list[Figure]:
    """GETs of one server on etcd, and of three at once."""
    count, wanted = bench.amount(6000), request("GET", f"{CONFIG_MAPS}/one")
    options = ("--controllers", "none", *BARE)
    async with _etcd() as etcd:
        place = ("--store", f"{etcd.url}/reads")
        async with (
            bench.server(*place, *options) as first,
            bench.server(*place, *options) as second,
            bench.server(*place, *options) as third,
        ):
            ports = [first.port, second.port, third.port]
            await ask(first.port, create(CONFIG_MAPS, config_map("one")))
            revision = (await ask(first.port, wanted)).partition(b'"resourceVersion":"')[2].partition(b'"')[0].decode()
            for port in ports:
                await ask(port, request("GET", f"{CONFIG_MAPS}?resourceVersion={revision}"))
            alone = await _together([first.port], wanted, count)
            together = await _together(ports, wanted, count)
    cores = len(os.sched_getaffinity(0))
    goal = 2.4 if cores >= CORES else None
    note = f"{together:,.0f}/s beside {alone:,.0f}/s; {cores} cores for servers, load and etcd"
    return [
        Figure("etcd-reads", f"etcd: reads of {REPLICAS} replicas", together / alone, "x one", goal, True, note=note)
    ]


async def _together(ports: Sequence[int], wanted: bytes, count: int) -> float:
    """Answers a second of all of them."""
    start = time.perf_counter()
    await asyncio.gather(*(drive(port, [wanted] * count, AT_ONCE) for port in ports))
    return len(ports) * count / (time.perf_counter() - start)

"""Three replicas on one etcd: CPU of a read, how far one is behind another, boards beside them, and a new leader.

Everything is seen from outside, over HTTP; `etcd.py` looks at the store alone.  All share this machine's cores, so CPU
time says more than rates do.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import orjson

from benchmarks.bodies import CONFIG_MAPS, config_map, create
from benchmarks.load import LENGTH, ask, drive, request
from benchmarks.measuring import Bench, Figure, cost
from benchmarks.processes import Process

COUNT = 3
RATE = 500
"""Writes a second at which the lag is measured."""
BOARDS = 1000
"""In two processes."""
SECONDS = 10.0
"""For how long CPU at rest is measured."""
LEASE = 15
"""Seconds, by default; it counts from the last renewal, which was at most 2 s before the leader was killed."""
NAME = re.compile(rb'"name":"(lag-\d+)"')


async def _until(condition: Callable[[], bool]) -> None:
    deadline = time.perf_counter() + 60
    while not condition():
        if time.perf_counter() > deadline:
            raise TimeoutError("nothing happens")
        await asyncio.sleep(0.005)


@dataclass
class Group:
    """etcd's CPU clock, and the replicas on it."""

    etcd: int
    replicas: list[Process]

    async def leader(self) -> tuple[Process, list[Process]]:
        """(who leads, the others): by their logs."""
        await _until(lambda: any(map(_leads, self.replicas)))
        (leader,) = filter(_leads, self.replicas)
        return leader, [each for each in self.replicas if each is not leader]


def _leads(replica: Process) -> bool:
    return "became leader" in replica.log()


@asynccontextmanager
async def _group(bench: Bench, count: int, *options: str) -> AsyncIterator[Group]:
    from tests.support.etcd import running_etcd

    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="benchmarks-etcd-")))
        etcd = stack.enter_context(running_etcd(folder))
        wanted = ("--store", etcd.url, "--nodes", "0", *options)
        replicas = [await stack.enter_async_context(bench.server(*wanted)) for _ in range(count)]
        group = Group((~etcd.pid << 3) | 2, replicas)
        await group.leader()
        yield group


async def reads(bench: Bench) -> list[Figure]:
    """CPU of a GET, of one replica alone and of all three at once."""
    count, wanted = bench.amount(6000), request("GET", f"{CONFIG_MAPS}/one")
    async with _group(bench, COUNT) as group:
        await ask(group.replicas[0].port, create(CONFIG_MAPS, config_map("one")))
        await bench.settle(1)
        alone = await bench.repeated(group.replicas[0], lambda run: [wanted] * count)
        each = await asyncio.gather(*(cost(one, drive(one.port, [wanted] * count, 32)) for one in group.replicas))
    together = sum(one.cpu for one in each) / (COUNT * count) * 1000
    rate = COUNT * count / max(one.load.seconds for one in each)
    what = f"GET one ConfigMap, {COUNT} replicas at once: CPU of a read"
    note = f"one alone: {alone.each:.3f} ms, {alone.load.rate:,.0f}/s; {rate:,.0f}/s on {_cores()} cores with the load"
    return [Figure("replicas-read", what, together, "ms", note=note)]


def _cores() -> int:
    return len(os.sched_getaffinity(0))


class _Writer(asyncio.Protocol):
    """A connection for one write at a time, each when its time has come."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[float] | None = None
        self._read = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    async def write(self, wanted: bytes) -> float:
        """When the answer was there."""
        assert self._transport is not None
        self._answer, self._read = asyncio.get_running_loop().create_future(), b""
        self._transport.write(wanted)
        return await self._answer

    def data_received(self, data: bytes) -> None:
        self._read += data
        head, found, body = self._read.partition(b"\r\n\r\n")
        length = LENGTH.search(head + b"\r\n")
        if found and length is not None and len(body) >= int(length[1]) and self._answer is not None:
            self._answer.set_result(time.perf_counter())

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()


class _Watch(asyncio.Protocol):
    """When each object was told of."""

    def __init__(self) -> None:
        self.heard: dict[bytes, float] = {}

    def data_received(self, data: bytes) -> None:
        now = time.perf_counter()
        for name in NAME.findall(data):
            self.heard.setdefault(name, now)


async def lag(bench: Bench) -> list[Figure]:
    """From the answer to a write at one replica until a watch at another tells of it, at a steady rate."""
    count, writers = bench.amount(3 * RATE), 32
    async with _group(bench, 2) as group:
        one, other = group.replicas
        loop = asyncio.get_running_loop()
        transport, watch = await loop.create_connection(_Watch, "127.0.0.1", other.port)
        transport.write(request("GET", f"{CONFIG_MAPS}?watch=1"))
        written: dict[bytes, float] = {}
        start, numbers = time.perf_counter(), iter(range(count))

        async def writer() -> None:
            _, connection = await loop.create_connection(_Writer, "127.0.0.1", one.port)
            for number in numbers:
                await asyncio.sleep(max(0.0, start + number / RATE - time.perf_counter()))
                body = create(CONFIG_MAPS, config_map(f"lag-{number}"))
                written[b"lag-%d" % number] = await connection.write(body)
            connection.close()

        await asyncio.gather(*(writer() for _ in range(writers)))
        rate = count / (time.perf_counter() - start)
        await _until(lambda: len(watch.heard) == count)
        transport.close()
    lags = sorted(max(0.0, watch.heard[name] - at) for name, at in written.items())
    p99 = 1000 * lags[int(0.99 * count)]
    note = f"at {rate:,.0f} writes/s; p50 {1000 * lags[count // 2]:.2f} ms, most {1000 * lags[-1]:.1f} ms"
    return [
        Figure("replicas-lag", "a watch at another replica behind the answer to a write, p99", p99, "ms", 50, note=note)
    ]


async def boards(bench: Bench) -> list[Figure]:
    """1,000 boards at rest in two processes, at two of three replicas: who needs how much of a core."""
    count = bench.amount(BOARDS)
    async with _group(bench, COUNT) as group:
        leader, others = await group.leader()
        started = time.perf_counter()
        boards = [
            await bench.processes.boards(at, count // 2, name=name)
            for at, name in zip(others, ("left", "right"), strict=True)
        ]
        while _listed(await ask(leader.port, request("GET", "/api/v1/nodes?limit=1"))) < count // 2 * 2:
            await bench.settle(0.2)
        registered = time.perf_counter() - started
        await bench.settle(20)
        shares = await _shares(bench, group, [leader, *others, *boards])
        for process in boards:
            await bench.processes.stop(process)
    of_etcd, lead, *rest = shares
    names = (*("follower" for _ in others), *("boards" for _ in boards))
    told = ", ".join(f"{name} {share:.0f} %" for name, share in zip(names, rest, strict=True))
    note = f"etcd {of_etcd:.0f} %, {told}; all registered after {registered:.1f} s"
    return [
        Figure(
            "replicas-boards", f"{count:,} boards in two processes: the leader's share of a core", lead, "%", note=note
        )
    ]


def _listed(body: bytes) -> int:
    """How many there are, of a list of one."""
    found = orjson.loads(body)
    return len(found["items"]) + int(found["metadata"].get("remainingItemCount", 0))


async def _shares(bench: Bench, group: Group, processes: Sequence[Process]) -> list[float]:
    """Per cent of a core: of etcd, and of each process."""
    before = [time.clock_gettime(group.etcd), *(one.cpu() for one in processes)]
    seconds = 1.0 if bench.quick else SECONDS
    await asyncio.sleep(seconds)
    after = [time.clock_gettime(group.etcd), *(one.cpu() for one in processes)]
    return [100 * (late - early) / seconds for early, late in zip(before, after, strict=True)]


async def takeover(bench: Bench) -> list[Figure]:
    """The leader ends, by SIGTERM or by kill -9, until another has its lease."""
    figures = []
    for name, number, goal in (("stopped", signal.SIGTERM, 1.0), ("killed", signal.SIGKILL, LEASE + 1)):
        if bench.quick and number == signal.SIGKILL:
            continue
        async with _group(bench, 2) as group:
            leader, (other,) = await group.leader()
            started = time.perf_counter()
            leader.send(number)
            await _until(lambda log=other.log: "became leader" in log())  # type: ignore[misc]
            seconds = time.perf_counter() - started
            figures.append(Figure(f"takeover-{name}", f"the leader is {name}, until another leads", seconds, "s", goal))
    return figures

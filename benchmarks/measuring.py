"""How a figure is come by: several short runs, the cheapest counts, the platform's bound measured beside it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from benchmarks.load import Load, drive, request
from benchmarks.processes import Process, Processes

BARE = ("--nodes", "0", "--not-ready-timeout", "24h")
"""A server with all its loops and no boards; nodes that nobody renews stay Ready."""
POD_BYTES = 2500


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table.

    value and bound are in `unit`; goal is the bound of acceptance, from below where more is better; None: no figure.
    real: what the real control plane does, in words.  note: throughput, latency and whatever else was seen.
    """

    name: str
    what: str
    value: float
    unit: str
    goal: float | None = None
    more_is_better: bool = False
    bound: float | None = None
    real: str = ""
    note: str = ""

    @property
    def met(self) -> bool | None:
        if self.goal is None:
            return None
        return self.value >= self.goal if self.more_is_better else self.value <= self.goal

    @property
    def ratio(self) -> float | None:
        """How many times the platform's bound this is."""
        if not self.bound:
            return None
        return self.bound / self.value if self.more_is_better else self.value / self.bound


@dataclass(frozen=True, slots=True)
class Cost:
    """One load and the server's CPU for it."""

    load: Load
    cpu: float

    @property
    def each(self) -> float:
        """CPU milliseconds per operation."""
        return 1000 * self.cpu / self.load.count

    @property
    def note(self) -> str:
        load = self.load
        return f"{load.rate:,.0f}/s, p50 {1000 * load.quantile(0.5):.2f} ms, p99 {1000 * load.quantile(0.99):.2f} ms"


async def cost(process: Process, work: Awaitable[Load]) -> Cost:
    before = process.cpu()
    load = await work
    return Cost(load, process.cpu() - before)


async def cheapest(runs: int, measure: Callable[[int], Awaitable[Cost]]) -> Cost:
    """The best of several runs; `measure` is handed the number of the run."""
    return min([await measure(run) for run in range(runs)], key=lambda one: one.each)


@dataclass
class Bench:
    """What every benchmark is handed.  scale: part of the usual amount of work."""

    quick: bool
    processes: Processes = field(default_factory=Processes)
    _bound: Process | None = None

    @property
    def runs(self) -> int:
        return 1 if self.quick else 4

    def amount(self, usual: int) -> int:
        """How many operations: a twentieth of the usual number where it should be quick."""
        return max(64, usual // 20) if self.quick else usual

    @asynccontextmanager
    async def server(self, *options: str) -> AsyncIterator[Process]:
        process = await self.processes.serve(*(options or BARE))
        try:
            yield process
        finally:
            await self.processes.stop(process)

    async def bound(self) -> Process:
        if self._bound is None:
            self._bound = await self.processes.start("benchmarks.bound")
        return self._bound

    async def _bound_cost(self, wanted: bytes, count: int, connections: int) -> float:
        process = await self.bound()

        async def measure(run: int) -> Cost:
            return await cost(process, drive(process.port, [wanted] * count, connections))

        return (await cheapest(max(2, self.runs), measure)).each

    async def bound_get(self, size: int, *, count: int = 2000, connections: int = 32) -> float:
        """CPU milliseconds of an answer with so many prepared bytes."""
        return await self._bound_cost(request("GET", f"/bytes/{size}"), count, connections)

    async def bound_post(self, size: int = POD_BYTES, *, connections: int = 32) -> float:
        """CPU milliseconds of reading, decoding and encoding a body of about this size and answering with it."""
        body = b'{"items":[' + b",".join([b'{"name":"x","value":"0123456789"}'] * (size // 34)) + b"]}"
        return await self._bound_cost(request("POST", "/json", body), 2000, connections)

    async def repeated(
        self, server: Process, requests: Callable[[int], Iterable[bytes]], connections: int = 32
    ) -> Cost:
        """The cheapest run of these requests; `requests` is handed the number of the run."""

        async def measure(run: int) -> Cost:
            prepared = list(requests(run))
            return await cost(server, drive(server.port, prepared, connections))

        return await cheapest(self.runs, measure)

    async def settle(self, seconds: float) -> None:
        """Let what was set in motion come to rest."""
        await asyncio.sleep(0.2 if self.quick else seconds)

    async def close(self) -> None:
        await self.processes.close()

"""Thousands of spoiled requests: none makes a 500, an error in the log, a watcher lose its way or a store disagree."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest

from kube32_sim.client import NAMESPACES as NAMESPACE_TYPE
from kube32_sim.clock import VirtualClock
from kube32_sim.cluster import Cluster
from kube32_sim.options import ServeOptions
from tests.server.test_bounds_requests import handler_of
from tests.support.fuzzing import NAMESPACES, Attempt, Fuzzer
from tests.support.objects import MAPS, config_map
from tests.support.wire import Answer, Wire, connected, head

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
METADATA = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
ADVANCE_EVERY = 50
FINE = (501, 504)
"""Not implemented, and a resourceVersion that is still to come: said on purpose."""


def on_the_wire(made: Attempt) -> bytes:
    headers = {"Host": "localhost", **made.headers}
    if made.body is not None:
        headers["Content-Length"] = str(len(made.body))
    clean = {name: value.encode().decode("latin-1") for name, value in headers.items()}
    return head(f"{made.method} {made.path} HTTP/1.1", clean) + (made.body or b"")


def check(made: Attempt, answer: Answer) -> None:
    told = (
        f"{made.method} {made.path} {made.headers} {(made.body or b'')[:400]!r}: {answer.status} {answer.body[:400]!r}"
    )
    assert answer.status < 500 or answer.status in FINE, told
    if answer.status >= 400 and answer.body and answer.header("content-type") == "application/json":
        status = json.loads(answer.body)
        assert (status["kind"], status["code"], status["status"]) == ("Status", answer.status, "Failure"), told


class Talk:
    """A conversation that goes on whatever happens to its connection."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._stack = AsyncExitStack()
        self._wire: Wire | None = None

    async def ask(self, made: Attempt) -> Answer | None:
        """None where the server has hung up (it may, on what is no HTTP)."""
        if self._wire is None:
            self._wire = await self._stack.enter_async_context(connected(self._port))
        try:
            await self._wire.send(on_the_wire(made))
            answer = await self._wire.begin()
            while answer.status == 100:
                answer = await self._wire.begin()
            await self._finish(made, answer)
        except (ConnectionError, asyncio.IncompleteReadError):
            await self.close()
            return None
        return answer

    async def _finish(self, made: Attempt, answer: Answer) -> None:
        chunked = answer.header("transfer-encoding") == "chunked"
        if chunked and made.watches and answer.status == 200:
            return await self.close()
        if chunked:
            assert self._wire is not None
            answer.body = b"".join([chunk async for chunk in self._wire.chunks()])
        elif made.method != "HEAD" and answer.status not in (204, 304):
            assert self._wire is not None
            answer.body = await self._wire._exactly(int(answer.header("content-length")))
        if answer.header("connection") == "close":
            await self.close()
        return None

    async def close(self) -> None:
        await self._stack.aclose()
        self._wire = None


@asynccontextmanager
async def watched(cluster: Cluster) -> AsyncIterator[list[Wire]]:
    """Every type with objects of its own is watched in each form by somebody who reads all of it."""
    async with AsyncExitStack() as stack:
        wires: list[Wire] = []
        for row in cluster.registry.table:
            if "watch" not in row.verbs:
                continue
            prefix = f"/apis/{row.group}/{row.version}" if row.group else f"/api/{row.version}"
            accept = ("application/json", TABLE, METADATA)[len(wires) % 3]
            for form in {accept, TABLE}:
                wire = await stack.enter_async_context(connected(cluster.port))
                await wire.ask("GET", f"{prefix}/{row.plural}?watch=true", Accept=form)
                assert (await wire.begin()).status == 200
                wires.append(wire)
        yield wires


async def drain(wire: Wire, counts: dict[str, int]) -> None:
    wire.patience = None  # many types are quiet for long
    async for event in wire.events():
        counts[event["type"]] = counts.get(event["type"], 0) + 1


async def fuzz(seed: int, count: int, controllers: str, caplog: Any) -> None:
    caplog.set_level(logging.ERROR)
    nodes = 0 if controllers == "none" else 1
    options = ServeOptions(port=0, nodes=nodes, controllers=controllers, clock="virtual", seed=seed)
    async with Cluster(options) as cluster, watched(cluster) as wires:
        assert isinstance(cluster.clock, VirtualClock)
        for name in NAMESPACES:
            await cluster.client.create(NAMESPACE_TYPE, "", {"metadata": {"name": name}})
            await cluster.client.create(MAPS, name, config_map("kept", k="v"))
        counts: dict[str, int] = {}
        readers = [asyncio.create_task(drain(wire, counts)) for wire in wires]
        fuzzer, talk, unanswered = Fuzzer(seed), Talk(cluster.port), 0
        for number in range(count):
            made = fuzzer.attempt()
            answer = await talk.ask(made)
            if answer is None:
                unanswered += 1
            else:
                check(made, answer)
            if number % ADVANCE_EVERY == 0:
                await cluster.clock.advance(1.0)
        await talk.close()
        await cluster.clock.advance(60.0)
        cluster.store.check()
        inflight = handler_of(cluster).inflight
        assert (inflight.reads.free, inflight.writes.free, len(inflight.deadlines)) == (400, 200, 0)
        assert cluster.hub.count() >= len(wires), "a watcher was cut off"
        assert not any(reader.done() for reader in readers)
        await cluster.stop()
        await asyncio.gather(*readers)
    assert unanswered < count / 20
    assert counts["ADDED"] > count / 50
    errors = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert not errors, "\n".join(logging.Formatter().format(record) for record in errors[:3])


@pytest.mark.parametrize(("seed", "controllers"), [(1, "none"), (3, "*")])
async def test_spoiled_requests_are_answered(seed: int, controllers: str, caplog: Any) -> None:
    await fuzz(seed, 1800, controllers, caplog)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(100, 110))
async def test_many_spoiled_requests_are_answered(seed: int, caplog: Any) -> None:
    await fuzz(seed, 10_000, "none" if seed % 2 else "*", caplog)

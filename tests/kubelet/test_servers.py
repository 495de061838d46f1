"""Several servers as one client: which failures make boards go on with the next, and which do not.  On servers that
are played, and a clock that is driven; `tests/replicas` has the real ones."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest

from kube32_sim.api.errors import ApiError, conflict
from kube32_sim.client import LEASES, PODS, Unreachable, WatchEvent
from kube32_sim.clock import VirtualClock
from kube32_sim.http_client import HttpClient
from kube32_sim.kubelet.servers import LONG_PATIENCE, PATIENCE, Servers

LEASE = {"metadata": {"name": "board", "resourceVersion": "5"}}
AWAY = ApiError(503, "ServiceUnavailable", "etcd does not answer")
TIMEOUT = 5.0


def refused() -> Unreachable:
    error = Unreachable("Connection refused")
    error.__cause__ = OSError("refused")
    return error


class Played:
    """A server.  reads, writes: what it fails with.  silent: it fails with that, but only after the time of a call."""

    def __init__(self, url: str, clock: VirtualClock) -> None:
        self.url, self.clock = url, clock
        self.reads: Exception | None = None
        self.writes: Exception | None = None
        self.silent = False
        self.asked = self.ended = 0
        self.events: list[WatchEvent] = []

    async def _answer(self, failure: Exception | None) -> Any:
        self.asked += 1
        if self.silent:
            await self.clock.advance(TIMEOUT)
            raise Unreachable("no answer in time") from TimeoutError()
        if failure is not None:
            raise failure
        return {"from": self.url}

    async def get(self, *_: Any) -> Any:
        return await self._answer(self.reads)

    async def update(self, *_: Any, **__: Any) -> Any:
        return await self._answer(self.writes)

    @asynccontextmanager
    async def watch(self, *_: Any, **__: Any) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        await self._answer(self.reads)
        yield self._stream()

    async def _stream(self) -> AsyncIterator[WatchEvent]:
        for event in self.events:
            yield event
        raise refused()

    def end_watches(self) -> None:
        self.ended += 1


class Row:
    def __init__(self, count: int) -> None:
        self.clock = VirtualClock()
        self.played = [Played(f"http://{number}", self.clock) for number in range(count)]
        self.client = Servers([cast(HttpClient, each) for each in self.played], self.clock)

    async def get(self) -> str:
        return str((await self.client.get(PODS, "default", "a"))["from"])

    async def update(self) -> str:
        return str((await self.client.update(LEASES, "default", LEASE))["from"])


async def test_one_that_cannot_be_reached_is_left_in_the_same_call(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    row = Row(3)
    assert await row.update() == "http://0"
    row.played[0].reads = row.played[0].writes = refused()
    assert [await row.update(), await row.get()] == ["http://1", "http://1"]
    assert (row.played[0].asked, row.played[0].ended) == (3, 1)
    assert caplog.messages == ["http://0 is lost: Connection refused; going on with http://1"]
    row.played[1].reads = refused()
    row.played[0].reads = None
    assert await row.get() == "http://2"


async def test_a_connection_that_breaks_by_itself_is_no_loss() -> None:
    row = Row(2)
    failures = iter([refused(), None])
    server = row.played[0]

    async def once(*_: Any) -> Any:
        return await server._answer(next(failures))

    server.get = once  # type: ignore[method-assign]
    assert await row.get() == "http://0"
    assert server.ended == 0


async def test_what_the_server_refuses_is_an_answer() -> None:
    row = Row(2)
    row.played[0].writes = conflict("coordination.k8s.io", "leases", "board", "it has changed")
    for _ in range(5):
        with pytest.raises(ApiError):
            await row.update()
        await row.clock.advance(PATIENCE)
    assert row.played[1].asked == 0


async def test_one_that_cannot_write_for_a_while_is_left_though_it_can_read() -> None:
    row = Row(2)
    row.played[0].writes = AWAY
    with pytest.raises(ApiError):
        await row.update()
    await row.clock.advance(PATIENCE / 2)
    assert await row.get() == "http://0"
    with pytest.raises(ApiError):
        await row.update()
    await row.clock.advance(PATIENCE / 2)
    assert await row.update() == "http://1"


async def test_a_short_trouble_is_forgotten() -> None:
    row = Row(2)
    for _ in range(4):
        row.played[0].writes = AWAY
        with pytest.raises(ApiError):
            await row.update()
        await row.clock.advance(PATIENCE / 2)
        row.played[0].writes = None
        assert await row.update() == "http://0"
        await row.clock.advance(PATIENCE)


async def test_one_that_is_silent_is_left_when_the_time_of_a_call_is_over() -> None:
    row = Row(2)
    row.played[0].silent = True
    before = row.clock.now()
    assert await row.update() == "http://1"
    assert row.clock.now() - before == TIMEOUT


async def test_where_none_can_write_they_are_not_asked_in_turns(caplog: pytest.LogCaptureFixture) -> None:
    """etcd is away: boards do not open all their watches again every few seconds."""
    caplog.set_level(logging.INFO)
    row = Row(2)
    for played in row.played:
        played.writes = AWAY
    seconds = 0.0
    while seconds < LONG_PATIENCE:
        with pytest.raises(ApiError, match="etcd does not answer"):
            await row.update()
        await row.clock.advance(1)
        seconds += 1
    assert [played.ended for played in row.played] == [1, 0]
    while row.played[1].ended == 0:
        with pytest.raises(ApiError):
            await row.update()
        await row.clock.advance(1)
    row.played[0].writes = None
    assert await row.update() == "http://0"
    assert [message.partition(":")[0] for message in caplog.messages] == ["http", "none of 2 servers answers", "http"]
    assert caplog.messages[-1] == "http://0 answers"


async def test_nobody_is_there() -> None:
    row = Row(3)
    for played in row.played:
        played.reads = refused()
    with pytest.raises(Unreachable, match="refused"):
        await row.get()
    assert all(played.asked for played in row.played)


async def test_a_watch_that_breaks_ends_and_may_be_taken_up() -> None:
    row = Row(2)
    row.played[0].events = [WatchEvent("ADDED", {"n": 1})]
    async with row.client.watch(PODS) as events:
        assert [event.object async for event in events] == [{"n": 1}]
    row.played[0].reads = refused()
    row.played[1].events = [WatchEvent("ADDED", {"n": 2})]
    async with row.client.watch(PODS, resource_version="1") as events:
        assert [event.object async for event in events] == [{"n": 2}]

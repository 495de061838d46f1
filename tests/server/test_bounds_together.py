"""Bounds of what many do together: seats, times, watches, connections, what slow readers leave."""

from __future__ import annotations

import asyncio
import socket
from contextlib import AsyncExitStack
from typing import Any

import pytest

from kube32_sim.api.errors import ApiError
from kube32_sim.cluster import Cluster
from kube32_sim.limits import Limits
from kube32_sim.server import streaming
from kube32_sim.server.app import ApiServer
from kube32_sim.server.inflight import Seats, asked_timeout
from tests.server.test_bounds_requests import MAPS, bounded, filled, handler_of, refused
from tests.support.objects import MAPS as MAPS_TYPE
from tests.support.objects import config_map
from tests.support.waiting import eventually
from tests.support.wire import Wire, connected, head

SLOW = head(f"POST {MAPS} HTTP/1.1", {"Host": "localhost", "Content-Length": "1000"}) + b"{"

# seats


async def test_requests_beyond_the_seats_wait_their_turn() -> None:
    seats = Seats(2, patience=60.0, option="--x")
    seats.free -= 2
    order: list[int] = []

    async def request(number: int) -> None:
        await seats.wait()
        order.append(number)
        seats.leave()

    waiting = [asyncio.create_task(request(number)) for number in range(4)]
    await asyncio.sleep(0)
    waiting[1].cancel()
    seats.leave()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert order == [0, 2, 3]
    assert seats.free == 1
    seats.leave()
    assert seats.free == 2


async def test_who_waits_too_long_or_behind_too_many_is_to_come_again() -> None:
    seats = Seats(1, patience=0.01, option="--max-requests-inflight")
    seats.free -= 1
    with pytest.raises(ApiError) as refusal:
        await seats.wait()
    status = refusal.value.status()
    assert (status["code"], status["reason"], status["details"]) == (429, "TooManyRequests", {"retryAfterSeconds": 1})
    assert "1 are worked on (--max-requests-inflight)" in status["message"]
    assert refusal.value.headers == (("Retry-After", "1"),)
    patient = Seats(1, patience=60.0, option="--x")
    patient.free -= 1
    waiting = [asyncio.create_task(patient.wait()) for _ in range(25)]
    await asyncio.sleep(0)
    with pytest.raises(ApiError):
        await patient.wait()
    patient.leave()
    await waiting[0]
    for task in waiting[1:]:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    patient.leave()
    assert patient.free == 1


async def test_a_seat_that_is_given_back_in_the_moment_in_which_somebody_gives_up_is_there_for_the_next() -> None:
    seats = Seats(1, patience=60.0, option="--x")
    seats.free -= 1
    first = asyncio.create_task(seats.wait())
    await asyncio.sleep(0)
    first.cancel()
    seats.leave()  # before the task that was called off has had a turn
    with pytest.raises(asyncio.CancelledError):
        await first
    assert seats.free == 1


async def test_bodies_that_do_not_come_keep_no_seat_and_end() -> None:
    async with bounded(max_mutating_requests_inflight=1, request_timeout=0.4) as (cluster, wire):
        async with connected(cluster.port) as one, connected(cluster.port) as two:
            await one.send(SLOW)
            await two.send(SLOW)
            await eventually(lambda: len(handler_of(cluster).inflight.deadlines) == 2, "two bodies under way")
            assert (await wire("POST", MAPS, filled("a", 500))).status == 201
            for late in (one, two):
                refused(
                    await late.answer(), 504, "Timeout", "Timeout: request did not complete within the allotted timeout"
                )
        inflight = handler_of(cluster).inflight
        assert (inflight.writes.free, len(inflight.deadlines)) == (1, 0)


# times


async def test_a_client_may_want_its_answer_sooner() -> None:
    async with bounded() as (cluster, wire):
        for query in ("?timeout=50ms", "?timeout=%2B0.05s"):
            async with connected(cluster.port) as other:
                await other.send(SLOW.replace(b" HTTP", query.encode() + b" HTTP"))
                refused(await other.answer(), 504, "Timeout", "within the allotted timeout")
        for query in ("?timeout=1ns", "?timeout=50us"):
            refused(await wire("GET", MAPS + query), 504, "Timeout", "within the allotted timeout")
        for query in ("?timeout=", "?timeout=0", "?timeout=-1s", "?timeout=9000h"):
            assert (await wire("GET", MAPS + query)).status == 200


@pytest.mark.parametrize(
    ("text", "why"), [("x", "invalid duration"), ("5", "missing unit in duration"), ("1.5", "missing unit in duration")]
)
def test_a_timeout_that_is_none_is_refused(text: str, why: str) -> None:
    with pytest.raises(ApiError) as refusal:
        asked_timeout({"timeout": [text]})
    assert refusal.value.message == f'invalid timeout specified in the request URL - time: {why} "{text}"'


async def test_who_does_not_read_a_long_list_is_left() -> None:
    async with bounded(request_timeout=0.4) as (cluster, _):
        for number in range(12):
            await cluster.client.create(MAPS_TYPE, "default", config_map(f"m{number}", k="x" * 900_000))
        async with connected(cluster.port, room=4096) as lazy:
            await lazy.ask("GET", MAPS)
            await eventually(lambda: len(handler_of(cluster).inflight.deadlines) == 1, "a list under way")
            await eventually(lambda: len(handler_of(cluster).inflight.deadlines) == 0, "its end")
            with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
                await lazy.answer()
        assert handler_of(cluster).inflight.reads.free == 400


async def test_watches_last_longer_than_requests_may() -> None:
    async with bounded(request_timeout=0.1) as (_, wire):
        events = await wire.watch(f"{MAPS}?watch=true&timeoutSeconds=1&allowWatchBookmarks=true")
        assert [event["type"] async for event in events][-1] == "BOOKMARK"


async def test_an_advance_of_the_clock_may_last() -> None:
    async with Cluster(port=0, nodes=1, clock="virtual", limits=Limits(request_timeout=0.1)) as cluster:
        start = cluster.clock.now()
        async with connected(cluster.port) as wire:
            advance = {"spec": {"duration": "8760000h"}}
            await wire.ask("POST", "/apis/sim.kube32.io/v1alpha1/clocks/cluster/advance", advance)
            await eventually(lambda: cluster.clock.now() > start + 60, "a minute of a thousand years")
            assert len(handler_of(cluster).inflight.deadlines) == 0
            async with connected(cluster.port) as other:
                assert (await other("GET", "/api/v1/nodes")).status == 200
        await eventually(lambda: not connections_of(cluster), "it is given up")


def test_watches_without_a_timeout_end_at_different_times() -> None:
    streams = streaming.Streams(Limits(min_request_timeout=100))
    lasting = [streams.lasting() for _ in range(50)]
    assert all(100 <= seconds < 200 for seconds in lasting)
    assert len({int(seconds / 10) for seconds in lasting}) == 10


async def test_heads_have_their_time_and_idle_connections_more() -> None:
    async with bounded(read_header_timeout=0.3) as (cluster, idle):
        assert (await idle("GET", "/healthz")).status == 200
        async with connected(cluster.port) as silent, connected(cluster.port) as slow:
            await slow.send(b"GET / HT")
            answer = await slow.answer()
            refused(answer, 408, "Timeout", "head of the request did not arrive in time")
            assert answer.header("connection") == "close"
            assert await silent.rest() == b""
        await idle.send(b"GET /healthz HTTP/1.1\r\nHost: lo")
        await idle.send(b"calhost\r\n\r\n")
        assert (await idle.answer()).status == 200
        await idle.send(b"GET")
        assert (await idle.answer()).status == 408


# numbers


async def test_there_may_be_so_many_watches() -> None:
    async with bounded(max_watches=2) as (cluster, wire), AsyncExitStack() as stack:
        wires = [await stack.enter_async_context(connected(cluster.port)) for _ in range(2)]
        for one in wires:
            await one.watch(f"{MAPS}?watch=true")
        answer = await wire("GET", f"{MAPS}?watch=true")
        refused(answer, 429, "TooManyRequests", "too many watches: 2 are open (--max-watches)")
        assert answer.header("retry-after") == "1"
        assert (await wire("GET", MAPS)).status == 200
        wires[0].abort()
        await eventually(lambda: len(handler_of(cluster).streams) == 1, "one watch less")
        await wire.watch(f"{MAPS}?watch=true")


async def test_there_may_be_so_many_connections() -> None:
    async with bounded(max_connections=2) as (cluster, wire), connected(cluster.port) as second:
        assert (await wire("GET", "/healthz")).status == (await second("GET", "/healthz")).status == 200
        async with connected(cluster.port) as third:
            told = "too many connections: 2 are open (--max-connections)"
            refused(await third.answer(), 429, "TooManyRequests", told)
        second.abort()
        await eventually(lambda: len(connections_of(cluster)) == 1, "one connection less")
        async with connected(cluster.port) as fresh:
            assert (await fresh("GET", "/healthz")).status == 200


def connections_of(cluster: Cluster) -> list[Any]:
    server = next(part for part in cluster._stack if isinstance(part, ApiServer))
    assert server._runner is not None
    assert server._runner.server is not None
    return server._runner.server.connections


async def test_the_kernel_asks_whether_silent_peers_are_still_there(wire: Wire, bare: Cluster) -> None:
    assert (await wire("GET", "/healthz")).status == 200
    (connection,) = connections_of(bare)
    peer = connection.transport.get_extra_info("socket")
    assert peer.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) != 0
    if hasattr(socket, "TCP_KEEPIDLE"):
        assert peer.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 15


# what slow readers leave


class Reader:
    """A stream as `Streams` sees it."""

    storage = ("", "configmaps")

    def __init__(self, unread: int) -> None:
        self.left = unread
        self.was_cut = False

    def unread(self) -> int:
        return self.left

    def cut(self) -> None:
        self.was_cut = True


def test_what_all_leave_unread_has_a_sum_and_the_furthest_behind_go_first() -> None:
    streams: Any = streaming.Streams(Limits(max_total_backlog_bytes=10 << 20))
    readers = [Reader((number + 1) << 20) for number in range(4)]
    for reader in readers:
        streams.behind(reader, reader.left)
    assert not any(reader.was_cut for reader in readers), "10 MiB are allowed"
    streams.behind(readers[0], (1 << 20) + 1)
    assert [reader.was_cut for reader in readers] == [False, False, False, True]
    quick = Reader(9 << 20)
    streams.behind(quick, 9 << 20)
    assert quick.was_cut
    assert not readers[2].was_cut


def test_who_has_read_meanwhile_does_not_count() -> None:
    streams: Any = streaming.Streams(Limits(max_total_backlog_bytes=10 << 20))
    readers = [Reader(4 << 20) for _ in range(3)]
    for reader in readers[:2]:
        streams.behind(reader, reader.left)
        reader.left = 0
    streams.behind(readers[2], 4 << 20)
    assert not any(reader.was_cut for reader in readers)
    streams.discard(readers[2])
    assert streams._unread == 0


async def test_many_slow_readers_are_cut_off_though_none_has_left_too_much() -> None:
    async with bounded(max_total_backlog_bytes=6 << 20) as (cluster, wire), AsyncExitStack() as stack:
        slow = [await stack.enter_async_context(connected(cluster.port, room=4096)) for _ in range(6)]
        for reader in slow:
            await reader.watch(f"{MAPS}?watch=true&resourceVersion={cluster.store.revision}")
        for number in range(20):
            await cluster.client.create(MAPS_TYPE, "default", config_map(f"m{number}", k="x" * 400_000))
            await asyncio.sleep(0)
            held = sum(stream.unread() for stream in handler_of(cluster).streams._open)  # type: ignore[attr-defined]
            assert held < 7 << 20
        assert len(handler_of(cluster).streams) < 6
        assert (await wire("GET", "/healthz")).status == 200


async def test_who_does_not_read_the_past_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "STALLED", 0.2)
    async with bounded() as (cluster, _):
        for number in range(12):
            await cluster.client.create(MAPS_TYPE, "default", config_map(f"m{number}", k="x" * 900_000))
        async with connected(cluster.port, room=4096) as lazy:
            await lazy.ask("GET", f"{MAPS}?watch=true")
            await eventually(lambda: len(handler_of(cluster).streams) == 1, "an open watch")
            await eventually(lambda: len(handler_of(cluster).streams) == 0, "its end")
            with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
                await lazy.answer()

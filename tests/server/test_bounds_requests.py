"""Bounds of single requests: at the bound they are served, beyond it they are told so in a Status."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from kube32_sim.clock import RealClock
from kube32_sim.cluster import Cluster
from kube32_sim.limits import Limits
from kube32_sim.server import inflight
from kube32_sim.server.app import ApiServer
from kube32_sim.server.handler import Handler
from tests.support.waiting import eventually
from tests.support.wire import Answer, Wire, connected, head

MAPS = "/api/v1/namespaces/default/configmaps"


def handler_of(cluster: Cluster) -> Handler:
    return next(part._handler for part in cluster._stack if isinstance(part, ApiServer))


@asynccontextmanager
async def bounded(**limits: Any) -> AsyncIterator[tuple[Cluster, Wire]]:
    async with (
        Cluster(port=0, nodes=0, controllers="none", limits=Limits(**limits)) as cluster,
        connected(cluster.port) as wire,
    ):
        yield cluster, wire


def refused(answer: Answer, code: int, reason: str, words: str) -> None:
    status = answer.json()
    assert (answer.status, status["code"], status["reason"]) == (code, code, reason), status
    assert words in status["message"]


def filled(name: str, size: int, **more: Any) -> bytes:
    """A ConfigMap of exactly so many bytes."""
    obj = {"metadata": {"name": name}, "data": {"text": ""}, **more}
    obj["data"]["text"] = "x" * (size - len(json.dumps(obj)))
    return json.dumps(obj).encode()


# bodies


@pytest.mark.parametrize("chunked", [False, True], ids=["length", "chunked"])
async def test_a_body_may_be_as_large_as_the_bound(chunked: bool) -> None:
    async with bounded(max_request_body_bytes=5000) as (cluster, _):
        for beyond in (0, 1):
            data = filled(f"b{beyond}", 5000 + beyond)
            async with connected(cluster.port) as wire:
                headers = {"Host": "localhost", "Content-Type": "application/json"}
                if chunked:
                    headers["Transfer-Encoding"] = "chunked"
                    data = b"%x\r\n%b\r\n0\r\n\r\n" % (len(data), data)
                else:
                    headers["Content-Length"] = str(len(data))
                await wire.send(head(f"POST {MAPS} HTTP/1.1", headers) + data)
                answer = await wire.answer()
            if beyond:
                refused(
                    answer,
                    413,
                    "RequestEntityTooLarge",
                    "Request entity too large: limit is 5000 (--max-request-body-bytes)",
                )
            else:
                assert answer.status == 201


async def test_who_asks_first_is_not_told_to_send_what_is_too_large() -> None:
    async with bounded(max_request_body_bytes=5000) as (cluster, _):
        for size, first in ((5001, 413), (5000, 100)):
            async with connected(cluster.port) as wire:
                headers = {"Host": "localhost", "Expect": "100-continue", "Content-Length": str(size)}
                await wire.send(head(f"POST {MAPS} HTTP/1.1", headers))
                assert (await wire.begin()).status == first


async def test_a_body_that_is_said_to_be_too_large_is_refused_before_it_comes() -> None:
    async with bounded() as (_, wire):
        await wire.send(
            head(f"POST {MAPS} HTTP/1.1", {"Host": "localhost", "Content-Length": str((3 << 20) + 1)}) + b"{"
        )
        refused(await wire.answer(), 413, "RequestEntityTooLarge", "Request entity too large: limit is 3145728")


async def test_bodies_that_come_by_and_by_have_a_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inflight, "BODIES", 4000)
    async with bounded(max_request_body_bytes=3000) as (cluster, wire), connected(cluster.port) as slow:
        begun = head(f"POST {MAPS} HTTP/1.1", {"Host": "localhost", "Content-Length": "3000"}) + b"{"
        await slow.send(begun)
        await eventually(lambda: len(handler_of(cluster).inflight.deadlines) == 1, "a body under way")
        await wire.send(begun)
        answer = await wire.answer()
        refused(answer, 429, "TooManyRequests", "too many bodies")
        assert answer.header("retry-after") == "1"
        slow.abort()
        await eventually(lambda: handler_of(cluster).inflight.bodies.free == 4000, "room again")


# objects


async def test_an_object_may_be_as_large_as_the_bound_however_it_grows(wire: Wire) -> None:
    async with bounded(max_object_bytes=4000) as (_, wire):
        made = await wire("POST", MAPS, filled("a", 3000))
        assert made.status == 201
        there = len(made.body) - len('"kind":"ConfigMap","apiVersion":"v1",')
        refused(
            await wire("POST", MAPS, filled("b", 4000)),
            413,
            "RequestEntityTooLarge",
            "limit is 4000 (--max-object-bytes)",
        )
        assert (await wire("POST", f"{MAPS}?dryRun=All", filled("b", 4000))).status == 413
        wide = {"metadata": {"annotations": {"a": "x" * (4200 - there)}}}
        for media in ("merge-patch+json", "strategic-merge-patch+json", "apply-patch+yaml"):
            query = "?fieldManager=x" if media.startswith("apply") else ""
            body = json.dumps({"apiVersion": "v1", "kind": "ConfigMap", **wide}).encode()
            answer = await wire("PATCH", f"{MAPS}/a{query}", body, Content_Type=f"application/{media}")
            refused(answer, 413, "RequestEntityTooLarge", "limit is 4000 (--max-object-bytes)")
        assert (await wire("PUT", f"{MAPS}/a", filled("a", 4000))).status == 413
        assert (await wire("PUT", f"{MAPS}/a", filled("a", 3200))).status == 200


async def test_an_object_that_is_too_large_by_now_may_shrink_and_go() -> None:
    async with bounded(max_object_bytes=6000) as (cluster, wire):
        assert (await wire("POST", MAPS, filled("a", 5000))).status == 201
        config = cluster.registry.steps._config
        object.__setattr__(config, "object_bytes", 3000)
        assert (await wire("PUT", f"{MAPS}/a", filled("a", 5200))).status == 413
        assert (await wire("PUT", f"{MAPS}/a", filled("a", 4500))).status == 200
        assert (await wire("DELETE", f"{MAPS}/a")).status == 200


# heads


async def test_a_url_may_be_as_long_as_the_bound() -> None:
    async with bounded(max_url_bytes=2000) as (_, wire):
        path = f"{MAPS}?other="
        assert (await wire("GET", path + "a" * (2000 - len(path)))).status == 200
        refused(
            await wire("GET", path + "a" * (2001 - len(path))),
            414,
            "RequestEntityTooLarge",
            "limit is 2000 (--max-url-bytes)",
        )


async def test_all_headers_together_may_be_as_large_as_the_bound() -> None:
    async with bounded(max_header_bytes=5000) as (cluster, wire):
        assert (await wire("GET", MAPS, A="x" * 2000, B="x" * 2000)).status == 200
        answer = await wire("GET", MAPS, A="x" * 2000, B="x" * 2000, C="x" * 2000)
        refused(answer, 431, "RequestEntityTooLarge", "request headers: limit is 5000 (--max-header-bytes)")
        async with connected(cluster.port) as other:
            answer = await other("GET", MAPS, A="x" * 6000)
            refused(answer, 431, "RequestEntityTooLarge", "request headers: limit is 5000 (--max-header-bytes)")


async def test_headers_that_come_without_end_come_to_one() -> None:
    async with bounded(max_header_bytes=5000) as (_, wire):
        await wire.send(b"GET / HTTP/1.1\r\n")
        for number in range(26):
            await wire.send(b"H%d: %b\r\n" % (number, b"x" * 200))
        refused(
            await wire.answer(), 431, "RequestEntityTooLarge", "request headers: limit is 5000 (--max-header-bytes)"
        )
        assert await wire.rest() == b""


async def test_there_may_be_so_many_headers(wire: Wire) -> None:
    answer = await wire("GET", MAPS, **{f"H{number}": "x" for number in range(300)})
    refused(answer, 431, "RequestEntityTooLarge", "number of request headers: limit is 256")


async def test_what_is_no_http_is_told_so_in_a_status(wire: Wire) -> None:
    await wire.send(b"HELLO\r\n\r\n")
    refused(await wire.answer(), 400, "BadRequest", "the request is no HTTP: ")


# who is told


async def test_a_bound_that_is_met_is_counted_and_told_once_in_a_while(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = RealClock().now()
    monkeypatch.setattr(RealClock, "now", lambda clock: now)
    async with bounded(max_object_bytes=3000, max_url_bytes=2000) as (cluster, wire):
        assert "terminations" not in (await wire("GET", "/metrics")).body.decode()
        for wait in (0, 1, 58, 2):
            now += wait
            assert (await wire("POST", MAPS, filled("a", 4000))).status == 413
        async with connected(cluster.port) as other:
            assert (await other("GET", "/" + "a" * 2000)).status == 414
        counted = [line for line in (await wire("GET", "/metrics")).body.decode().splitlines() if "_termin" in line]
    name = "apiserver_request_terminations_total"
    assert counted[1:] == [
        f"# TYPE {name} counter",
        f'{name}{{code="413",component="apiserver"}} 4',
        f'{name}{{code="414",component="apiserver"}} 1',
    ]
    told = [record.getMessage() for record in caplog.records if record.name.endswith("refusals")]
    assert [line.partition(":")[0] for line in told] == ["--max-object-bytes"] * 2 + ["--max-url-bytes"]
    assert told[1].endswith("limit is 3000 (--max-object-bytes) (2 more since this was last told)")

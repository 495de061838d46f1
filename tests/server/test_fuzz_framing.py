"""HTTP that is framed wrongly, cut anywhere, sent in any pieces: answered or refused, no 500, and nothing stays."""

from __future__ import annotations

import asyncio
import logging
import random
import re
from itertools import pairwise
from typing import Any

import pytest

from kube32_sim.cluster import Cluster
from kube32_sim.limits import Limits
from tests.server.test_bounds_requests import handler_of
from tests.server.test_bounds_together import connections_of
from tests.support.waiting import eventually
from tests.support.wire import connected, head

MAPS = "/api/v1/namespaces/default/configmaps"
BODY = b'{"metadata":{"generateName":"m"}}'
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "CONNECT", "PRI", "get", "M-SEARCH", "", "GE T")
TARGETS = (
    *(
        MAPS,
        f"{MAPS}?watch=true&timeoutSeconds=1",
        "/",
        "*",
        "http://localhost/api",
        "//x/api",
        "/%00",
        "/\x00",
        "/\xff",
    ),
    *("/api/v1/pods?watch=1&timeoutSeconds=1", "/" + "a" * 5000, "/healthz", "", " /", "/a b", f"{MAPS}?limit=1#x"),
)
VERSIONS = ("HTTP/1.1", "HTTP/1.0", "HTTP/0.9", "HTTP/2.0", "HTTP/1.", "HTTP/11.1", "http/1.1", "", "HTTPS/1.1")
HEADERS = (
    *("Content-Length: 33", "Content-Length: 0", "Content-Length: -1", "Content-Length: 33, 33", "Content-Length: 1e3"),
    *("Content-Length: 99999999999999999999", "Content-Length: +5", "Content-Length : 5", "content-length: 3145729"),
    *("Transfer-Encoding: chunked", "Transfer-Encoding: gzip, chunked", "Transfer-Encoding: identity"),
    *("Transfer-Encoding: chunked, chunked", "Transfer-Encoding:\x0bchunked", "TE: trailers", "Trailer: x"),
    *("Expect: 100-continue", "Expect: x", "Connection: close", "Connection: keep-alive", "Connection: Upgrade"),
    *("Upgrade: websocket", "Upgrade: SPDY/3.1", "Upgrade: h2c", "HTTP2-Settings: AAMAAABk", "Accept-Encoding: gzip"),
    *("Content-Type: application/json", "Content-Encoding: gzip", "Content-Encoding: br", "Host: localhost", "Host:"),
    *(" folded: yes", "no colon", ": no name", "X-\x00: y", "X: \x00", "X: " + "y" * 9000, "A\xe9: \xff", "X:y\rZ: a"),
)
CHUNKS = (
    b"21\r\n" + BODY + b"\r\n0\r\n\r\n",
    b"0\r\n\r\n",
    b"zz\r\n",
    b"fffffffffffffffff\r\n",
    b"-1\r\n",
    b"5;x=y\r\nabc",
)
ENDS = (b"\r\n", b"\r\n", b"\r\n", b"\n", b"\r", b"\r\r\n")
WELL_FRAMED = (
    head(
        f"POST {MAPS} HTTP/1.1",
        {"Host": "localhost", "Content-Type": "application/json", "Content-Length": str(len(BODY))},
    )
    + BODY
)
LONGEST = 1.5
"""Seconds after which heads and bodies are overdue, and watches have ended."""
FINE = (501, 504, 505)


class Talker:
    """What is sent over one connection."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)

    def _likely(self, options: Any, chance: float) -> Any:
        """The first of them by that chance, else any."""
        return options[0] if self._rng.random() < chance else self._rng.choice(options)

    def request(self) -> bytes:
        rng = self._rng
        if rng.random() < 0.2:
            return WELL_FRAMED
        line = f"{self._likely(('POST', *METHODS), 0.6)} {self._likely(TARGETS, 0.5)} {self._likely(VERSIONS, 0.8)}"
        headers = ["Host: localhost", "Content-Type: application/json"] if rng.random() < 0.9 else []
        headers += [self._likely(HEADERS, 0.4)] if rng.random() < 0.9 else []
        headers += rng.sample(HEADERS, rng.choice((0, 0, 1, 2)))
        end = self._likely(ENDS, 0.9)
        lines = end.join(part.encode("latin-1") for part in (line, *headers, "", ""))
        body = rng.choice((BODY, BODY, b"", *CHUNKS, rng.randbytes(rng.choice((5, 500)))))
        return lines + body

    def pieces(self) -> list[bytes]:
        """Some requests, perhaps cut short or spoiled, in pieces."""
        rng = self._rng
        data = bytearray(b"".join(self.request() for _ in range(rng.choice((1, 1, 2, 5)))))
        for _ in range(rng.choice((0, 0, 1, 3))):
            data[rng.randrange(len(data))] = rng.randrange(256)
        if rng.random() < 0.3:
            del data[rng.randrange(len(data)) :]
        cuts = sorted({0, len(data), *(rng.randrange(len(data) + 1) for _ in range(rng.choice((0, 1, 4))))})
        return [bytes(data[start:end]) for start, end in pairwise(cuts)]

    @property
    def hangs_up(self) -> bool:
        return self._rng.random() < 0.3


async def talk(port: int, seed: int) -> list[int]:
    """The codes of the answers until the server hangs up or waits for more: whatever is overdue by then has ended."""
    talker = Talker(seed)
    async with connected(port) as wire:
        try:
            for piece in talker.pieces():
                await wire.send(piece)
                await asyncio.sleep(0)
            if talker.hangs_up:
                wire.abort()
                return []
            answered = b""
            async with asyncio.timeout(LONGEST):
                while data := await wire._reader.read(1 << 16):
                    answered += data
        except ConnectionError:
            return []
        except TimeoutError:
            pass  # it waits for another request
    return [int(code) for code in re.findall(rb"HTTP/1\.[01] (\d{3}) ", answered)]


async def fuzz(seeds: range, caplog: Any) -> None:
    caplog.set_level(logging.ERROR)
    limits = Limits(request_timeout=0.5, read_header_timeout=0.5)
    options = {"port": 0, "nodes": 0, "controllers": "none", "limits": limits}
    async with Cluster(**options) as cluster:
        await asyncio.sleep(0)
        tasks, seen = len(asyncio.all_tasks()), set()
        for start in range(seeds.start, seeds.stop, 200):
            batch = [talk(cluster.port, seed) for seed in range(start, min(start + 200, seeds.stop))]
            for codes in await asyncio.gather(*batch):
                seen |= set(codes)
                assert not [code for code in codes if code >= 500 and code not in FINE], codes
        handler = handler_of(cluster)
        await eventually(lambda: not connections_of(cluster), "no connection left")
        await eventually(lambda: len(asyncio.all_tasks()) <= tasks, "no task left")
        inflight = handler.inflight
        assert (len(handler.streams), len(inflight.deadlines), cluster.hub.count()) == (0, 0, 0)
        assert (inflight.reads.free, inflight.writes.free, inflight.bodies.free) == (400, 200, 256 << 20)
    assert {200, 201, 400} <= seen
    assert not [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]


async def test_what_is_framed_wrongly_leaves_nothing_behind(caplog: Any) -> None:
    await fuzz(range(400), caplog)


@pytest.mark.soak
@pytest.mark.parametrize("start", range(1000, 21_000, 5000))
async def test_much_that_is_framed_wrongly_leaves_nothing_behind(start: int, caplog: Any) -> None:
    await fuzz(range(start, start + 5000), caplog)

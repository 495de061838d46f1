"""A light load generator: prepared bytes out, just enough of HTTP parsed to know where an answer ends.

It shares the machine's cores with the server it measures, so it does as little as it can: one protocol object a
connection, no tasks, no headers beyond the length.  A `Source` gives each connection its next request when the answer
to the last one is complete (closed loop).
"""

from __future__ import annotations

import asyncio
import gc
import re
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import cast

Source = Callable[[bytes], bytes | None]
"""From the body of the last answer (empty at first) to the next request; None: no more."""

KEPT = 8 << 20
"""Bodies up to this size are handed to the source; larger ones are counted and thrown away."""
LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
CHUNKED = re.compile(rb"\r\ntransfer-encoding: *chunked", re.IGNORECASE)


def request(
    method: str, path: str, body: bytes = b"", content_type: str = "application/json", accept: str = ""
) -> bytes:
    """The bytes of a request."""
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", "User-Agent: benchmarks"]
    if accept:
        lines.append(f"Accept: {accept}")
    if body:
        lines += [f"Content-Type: {content_type}", f"Content-Length: {len(body)}"]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def share(requests: Iterable[bytes]) -> Source:
    """A source that any number of connections draw from."""
    remaining = iter(requests)
    return lambda body: next(remaining, None)


class Connection(asyncio.Protocol):
    """One keep-alive connection.  latencies: seconds from request to whole answer.  refused: answers not 2xx."""

    def __init__(self, source: Source, ended: Callable[[], None]) -> None:
        self._source = source
        self._ended = ended
        self._transport: asyncio.Transport | None = None
        self._parts: list[bytes] = []
        self._head = b""
        self._left: int | None = None
        self._chunked = False
        self._kept = True
        self._good = True
        self._sent = 0.0
        self.exhausted = False
        self.latencies: list[float] = []
        self.refused: list[bytes] = []
        self.bytes = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's own class

    def connection_lost(self, error: Exception | None) -> None:
        self._ended()

    def begin(self) -> None:
        self._next(b"")

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def _next(self, body: bytes) -> None:
        wanted = self._source(body)
        if wanted is None or self._transport is None:
            self.exhausted = wanted is None
            self._ended()
            return
        self._sent = time.perf_counter()
        self._transport.write(wanted)

    def data_received(self, data: bytes) -> None:
        self.bytes += len(data)
        if self._left is None:
            data = self._read_head(data)
            if self._left is None:
                return
        if self._kept:
            self._parts.append(data)
        self._left -= len(data)
        if data.endswith(b"0\r\n\r\n") if self._chunked else self._left <= 0:
            self._complete(b"".join(self._parts))

    def _read_head(self, data: bytes) -> bytes:
        """What follows the head; `_left` says whether the head is there."""
        self._head += data
        head, found, rest = self._head.partition(b"\r\n\r\n")
        if not found:
            return b""
        self._head = b""
        length = LENGTH.search(head)
        self._chunked = length is None and CHUNKED.search(head) is not None
        self._left = int(length[1]) if length is not None else 0
        self._kept = self._left <= KEPT
        self._good = head[9:10] == b"2"
        return rest

    def _complete(self, body: bytes) -> None:
        self.latencies.append(time.perf_counter() - self._sent)
        if not self._good:
            self.refused.append(body[:500])
        self._parts, self._left = [], None
        self._next(body)


@dataclass(frozen=True, slots=True)
class Load:
    """What a load came to.  seconds: from the first request to the last answer; latencies sorted."""

    seconds: float
    latencies: Sequence[float]
    bytes: int

    @property
    def count(self) -> int:
        return len(self.latencies)

    @property
    def rate(self) -> float:
        return self.count / self.seconds

    def quantile(self, part: float) -> float:
        """Seconds."""
        return self.latencies[min(self.count - 1, int(part * self.count))]


class Connections:
    """Open connections to one port, ready to begin."""

    def __init__(self, connections: Sequence[Connection], ended: asyncio.Event) -> None:
        self._connections = connections
        self._all_ended = ended

    async def run(self) -> Load:
        """Drive every connection until its source is exhausted; raises where an answer was not 2xx."""
        gc.collect()
        gc.disable()
        try:
            start = time.perf_counter()
            for connection in self._connections:
                connection.begin()
            await self._all_ended.wait()
            seconds = time.perf_counter() - start
        finally:
            gc.enable()
            for connection in self._connections:
                connection.close()
        if not all(connection.exhausted for connection in self._connections):
            raise RuntimeError("the server closed a connection")
        refused = [body for connection in self._connections for body in connection.refused]
        if refused:
            raise RuntimeError(f"{len(refused)} requests were refused, one of them: {refused[0].decode()}")
        latencies = sorted(one for connection in self._connections for one in connection.latencies)
        return Load(seconds, latencies, sum(connection.bytes for connection in self._connections))


async def connect(port: int, sources: Sequence[Source]) -> Connections:
    """One connection for each source."""
    running = len(sources)
    all_ended = asyncio.Event()
    over: set[int] = set()

    def ended(number: int) -> None:
        over.add(number)
        if len(over) == running:
            all_ended.set()

    loop = asyncio.get_running_loop()
    made = []
    for number, source in enumerate(sources):
        connection = Connection(source, lambda number=number: ended(number))  # type: ignore[misc]
        await loop.create_connection(lambda connection=connection: connection, "127.0.0.1", port)  # type: ignore[misc]
        made.append(connection)
    return Connections(made, all_ended)


async def drive(port: int, requests: Iterable[bytes], connections: int) -> Load:
    """Send all requests over so many connections."""
    source = share(requests)
    return await (await connect(port, [source] * connections)).run()


async def ask(port: int, wanted: bytes) -> bytes:
    """The body of one answer."""
    bodies: list[bytes] = []
    remaining = iter([wanted])

    def source(body: bytes) -> bytes | None:
        bodies.append(body)
        return next(remaining, None)

    await (await connect(port, [source])).run()
    return bodies[-1]

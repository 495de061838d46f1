"""Connections that only listen: watch streams of which the load generator counts the events.

Events are counted by a byte that each of them carries once, so that nothing has to be parsed or put together.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import cast

MARK = b"~"


class Watcher(asyncio.Protocol):
    """One stream.  count: marks seen; opened: the answer's head was there; cut: the server ended the stream."""

    def __init__(self, wanted: bytes, crowd: Crowd) -> None:
        self._wanted = wanted
        self._crowd = crowd
        self._transport: asyncio.Transport | None = None
        self.opened = False
        self.cut = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's own class
        self._transport.write(self._wanted)

    def data_received(self, data: bytes) -> None:
        if not self.opened:
            self.opened = True
            self._crowd.one_opened(data)
        self._crowd.marks += data.count(MARK)
        if self._crowd.marks >= self._crowd.expected:
            self._crowd.all_seen.set()

    def connection_lost(self, error: Exception | None) -> None:
        self.cut = True
        self._crowd.all_seen.set()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()


class Crowd:
    """Many streams, counted together."""

    def __init__(self) -> None:
        self.watchers: list[Watcher] = []
        self.marks = 0
        self.expected = 1
        self.all_seen = asyncio.Event()
        self._all_open = asyncio.Event()
        self._opened = 0
        self._wanted = 0

    async def open(self, port: int, requests: Sequence[bytes]) -> None:
        loop = asyncio.get_running_loop()
        self._wanted = len(requests)
        for wanted in requests:
            watcher = Watcher(wanted, self)
            await loop.create_connection(lambda watcher=watcher: watcher, "127.0.0.1", port)  # type: ignore[misc]
            self.watchers.append(watcher)
        await asyncio.wait_for(self._all_open.wait(), 60.0)

    def one_opened(self, head: bytes) -> None:
        if b" 200 " not in head[:20]:
            raise RuntimeError(f"a watch was refused: {head[:500].decode()}")
        self._opened += 1
        if self._opened == self._wanted:
            self._all_open.set()

    def expect(self, events: int) -> None:
        """From now on so many are to come."""
        self.marks, self.expected = 0, events
        self.all_seen.clear()

    async def wait(self) -> None:
        """Until all that was expected has come, or a stream was cut."""
        await asyncio.wait_for(self.all_seen.wait(), 120.0)

    @property
    def cut(self) -> int:
        return sum(watcher.cut for watcher in self.watchers)

    def close(self) -> None:
        for watcher in self.watchers:
            watcher.close()

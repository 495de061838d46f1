"""A log that is followed (`kubectl logs -f`): its text, and then an open answer until the container's run is over.

What the text is, and which run may still write to it, is `registry/logs.py`'s business.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from aiohttp import HttpVersion11, web

from kube32_sim.registry.asked import Asked
from kube32_sim.registry.logs import Log, Run, current_run
from kube32_sim.server.documents import TEXT
from kube32_sim.server.streaming import Streams
from kube32_sim.storage.objects import StoredObject
from kube32_sim.storage.watching import Hub, Objects, Selection


class LogStream:
    def __init__(self, request: web.BaseRequest, asked: Asked, log: Log, run: Run) -> None:
        self._request = request
        self._asked = asked
        self.storage = asked.row.storage
        self._log = log
        self._run = run
        self._sent = False
        self._done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def run(self, hub: Hub, streams: Streams) -> web.StreamResponse:
        """Answer to the end.  Call it in the same turn in which the log was read, so that no end is missed."""
        selection = Selection(namespace=self._asked.namespace, name=self._asked.name)
        member = hub.join(self._asked.row.storage, selection, Objects(), self._look, self.end)
        member.go_live()
        streams.add(self)
        try:
            response = web.StreamResponse(headers={"Content-Type": TEXT, "Cache-Control": "no-cache, private"})
            if self._request.version >= HttpVersion11:
                response.enable_chunked_encoding()
            await response.prepare(self._request)
            await response.write(self._log.body)
            self._sent = True
            await self._done
            await response.write_eof()
            return response
        finally:
            streams.discard(self)
            member.stop()

    def close(self) -> None:
        """The server stops: end, and wait for no reader who is behind."""
        self.end()
        if not self._sent and self._request.transport is not None:
            self._request.transport.abort()

    def _look(self, events: Sequence[tuple[str, StoredObject]]) -> None:
        for kind, stored in events:
            if kind == "DELETED" or current_run(stored.object(), self._run.container) != self._run:
                self.end()

    def end(self) -> None:
        if not self._done.done():
            self._done.set_result(None)

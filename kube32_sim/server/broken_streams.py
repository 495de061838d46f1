"""Watches that end as a fault wants it: after so many events or seconds, quietly, with an error, or cut off.

What a real server would not do is not done either: no event is left out before the end, and the bookmark that ends the
initial events always comes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import orjson
from aiohttp import web

from kube32_sim.api import errors
from kube32_sim.api.fault_scenarios import Breaking
from kube32_sim.server.forms import Frames
from kube32_sim.server.streaming import Stream
from kube32_sim.storage.interface import Compacted, JsonObject
from kube32_sim.storage.objects import StoredObject

WATCH_TOO_OLD = "The resourceVersion for the provided watch is too old."


class ExpiredStream(Stream):
    """A watch whose start is not in the history any more."""

    def _past(self) -> list[tuple[str, StoredObject]]:
        raise Compacted(self._options.since or 0, self._hub.position)


class _Counting:
    """Frames of one stream, of which there are only so many: then nothing more is made of events."""

    def __init__(self, frames: Frames, most: int, enough: Callable[[], None]) -> None:
        self._frames = frames
        self._left = most
        self._enough = enough
        self.key: Any = (frames.key, id(self))
        self.frame, self.bookmark, self.begin = frames.frame, frames.bookmark, frames.begin

    def encode(self, kind: str, stored: StoredObject) -> bytes:
        return self._counted(self._frames.encode, kind, stored)

    def first(self, kind: str, stored: StoredObject) -> bytes:
        return self._counted(self._frames.first, kind, stored)

    def _counted(self, make: Callable[[str, StoredObject], bytes], kind: str, stored: StoredObject) -> bytes:
        if self._left == 0:
            return b""
        self._left -= 1
        if self._left == 0:
            self._enough()
        return make(kind, stored)

    def join(self, frames: Sequence[bytes]) -> bytes:
        """Nothing of nothing: an empty chunk would be the end of the answer."""
        return self._frames.join(frames) if any(frames) else b""


class BrokenStream(Stream):
    """A watch that ends as `breaking` says."""

    def __init__(self, breaking: Breaking, *args: Any) -> None:
        super().__init__(*args)
        self._breaking = breaking
        self._due = False
        if breaking.drops_bookmarks:
            self._options = replace(self._options, bookmarks=False)
        if breaking.events is not None:
            self._frames = _Counting(self._frames, breaking.events, self._enough)  # type: ignore[assignment]

    def _enough(self) -> None:
        self._due = True
        if self._live:
            asyncio.get_running_loop().call_soon(self._break)

    async def _catch_up(self, response: web.StreamResponse, past: list[tuple[str, StoredObject]]) -> None:
        await super()._catch_up(response, past)
        seconds = self._breaking.seconds
        if self._due:
            self._break()
        elif seconds is not None:
            # before the others: the last one is that of the bookmarks
            self._timers.insert(0, self._patience.call_at(self._patience.now() + seconds, self._break))

    def _break(self) -> None:
        if self._done.done():
            return
        self._hub.flush()  # what has happened until now is told before the end
        if self._breaking.ending == "Reset":
            from kube32_sim.server.faults import reset

            reset(self._request)
        elif self._breaking.ending == "Expired":
            status: JsonObject = errors.expired(WATCH_TOO_OLD).status()
            self._deliver(self._frames.join([self._frames.frame("ERROR", orjson.dumps(status))]))
        self.end()

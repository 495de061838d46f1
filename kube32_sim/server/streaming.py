"""Watches over HTTP: one stream from its first event to its end.

The stream registers with the hub, sends what is past (the present state, or events since a revision), then goes live:
from there on the hub's joined chunks go straight to the transport, without a task or a queue in between.  Who does not
read is cut off when too much waits for him, so that nobody else pays for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import orjson
from aiohttp import HttpVersion11, web

from kube32_sim.api import errors
from kube32_sim.api.resources import ResourceType
from kube32_sim.clock import RealClock, turn
from kube32_sim.limits import DEFAULTS, Limits
from kube32_sim.option_fields import flag
from kube32_sim.registry.reading import list_page
from kube32_sim.registry.registry import Registry
from kube32_sim.server.forms import Form, frames_of
from kube32_sim.server.refusals import Refusals
from kube32_sim.storage.interface import Compacted, Storage
from kube32_sim.storage.objects import StoredObject
from kube32_sim.storage.watching import Hub, Member, Selection

BATCH_BYTES = 256 << 10
"""Past events are sent in pieces of about this size, waiting for the reader in between."""
NOTICED = 256 << 10
"""Bytes unread from which a reader is counted among those who are behind."""
UNREAD = f"{flag('max_watch_backlog_bytes')} or {flag('max_total_backlog_bytes')}"
RELIEF = 0.75
"""What may be left of the bound on what all leave unread once it was passed, so that it is not soon passed again."""
STALLED = 60.0
"""Seconds that one piece of the past may take to be read."""
SPREAD = 0.618034
"""Watches that begin together end apart: each so much further round between the shortest and the longest one."""
BOOKMARK_SECONDS = 60.0
INITIAL_END = "k8s.io/initial-events-end"
GONE_SECONDS = 1.0
"""How long watches outlive their type, from upstream's handler of custom resources."""


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """since: replay events after this revision; None: start with the present state as ADDED events (or, with
    `initial` False, just from now on).  timeout: seconds."""

    since: int | None
    initial: bool
    initial_end: bool
    bookmarks: bool
    timeout: float


class Closable(Protocol):
    """An answer that goes on until something ends it.  storage: of the type it is about."""

    storage: Storage

    def end(self) -> None: ...

    def close(self) -> None: ...


class Streams:
    """All open watches and followed logs of a server: closing it ends them."""

    def __init__(self, limits: Limits = DEFAULTS, refusals: Refusals | None = None) -> None:
        self.refusals = refusals or Refusals()
        self._open: set[Closable] = set()
        self._patience = RealClock()  # of the clients, whatever time it is in here
        self._limits = limits
        self._begun = 0
        self._behind: dict[Stream, int] = {}
        """Who has left how much unread, when that was last looked at."""
        self._unread = 0

    def add(self, stream: Closable) -> None:
        self._open.add(stream)

    def discard(self, stream: Closable) -> None:
        self._open.discard(stream)
        if self._behind:
            self._unread -= self._behind.pop(stream, 0)  # type: ignore[call-overload]

    def __len__(self) -> int:
        return len(self._open)

    def about(self, storage: Storage) -> int:
        """How many are about this type."""
        return sum(stream.storage == storage for stream in self._open)

    def admit(self) -> None:
        """Raises ApiError 429 where there are as many as there may be."""
        most = self._limits.max_watches
        if len(self._open) >= most:
            raise errors.too_many_requests(
                f"too many watches: {most} are open ({flag('max_watches')}); try again later",
                bound=flag("max_watches"),
            )

    def lasting(self) -> float:
        """Seconds that a watch lasts whose client does not say: between the least and twice that, as upstream."""
        self._begun += 1
        return self._limits.min_request_timeout * (1.0 + self._begun * SPREAD % 1.0)

    @property
    def most_unread(self) -> int:
        """Bytes that one reader may leave unread."""
        return self._limits.max_watch_backlog_bytes

    def behind(self, stream: Stream, unread: int) -> None:
        """A reader has left so much unread, which may be more than all together may."""
        self._unread += unread - self._behind.get(stream, 0)
        self._behind[stream] = unread
        if self._unread > self._limits.max_total_backlog_bytes:
            self._relieve()

    def _relieve(self) -> None:
        """Look at all of them again; cut off who is furthest behind, and the next, until there is room."""
        self._behind = {stream: unread for stream in self._behind if (unread := stream.unread()) > NOTICED}
        self._unread = sum(self._behind.values())
        for stream in sorted(self._behind, key=lambda one: self._behind[one], reverse=True):
            if self._unread <= RELIEF * self._limits.max_total_backlog_bytes:
                break
            self._unread -= self._behind.pop(stream)
            stream.cut()

    def end_of(self, storage: Storage, gone: bool) -> None:
        """End what is about a type that is another one now: clients ask anew.

        gone: there is no such type any more.  Then they end a little later, as upstream's do: clients that watch the
        definitions too have heard of it by then, and ask no more; kopf's operators would fail if they did.
        """
        about = [stream for stream in self._open if stream.storage == storage]
        if gone:
            self._patience.call_at(self._patience.now() + GONE_SECONDS, partial(_end, about))
        else:
            _end(about)

    def close(self) -> None:
        for stream in tuple(self._open):
            stream.close()


def _end(streams: Iterable[Closable]) -> None:
    for stream in streams:
        stream.end()


class Stream:
    def __init__(
        self,
        request: web.BaseRequest,
        registry: Registry,
        hub: Hub,
        row: ResourceType,
        selection: Selection,
        form: Form,
        options: WatchOptions,
        protobuf: bool = False,
    ) -> None:
        self._request = request
        self._store = registry.store
        self._hub = hub
        self._row = row
        self.storage = row.storage
        self._selection = selection
        self._frames = frames_of(row, form, request.version >= HttpVersion11, protobuf)
        self._options = options
        self._done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._member: Member | None = None
        self._patience = RealClock()  # of the client, which asks to be told within its own time
        self._timers: list[Callable[[], None]] = []
        self._live = False
        self._start = 0
        self._streams = Streams()

    async def run(self, response: web.StreamResponse, streams: Streams) -> None:
        """Send the stream to its end.  The response is not prepared yet."""
        self._streams = streams
        most = streams.most_unread
        self._member = self._hub.join(
            self._row.storage, self._selection, self._frames, self._deliver, self.cut, limit=most
        )
        streams.add(self)
        try:
            past = self._past()
            await response.prepare(self._request)
            await self._catch_up(response, past)
            await self._done
            self._member.stop()  # the end may have to wait for its reader: nothing may be written after it
            await response.write_eof()
        finally:
            streams.discard(self)
            self._member.stop()
            for cancel in self._timers:
                cancel()

    def end(self) -> None:
        if not self._done.done():
            self._done.set_result(None)

    def close(self) -> None:
        """The server stops: end, and wait for no reader who is behind."""
        self.end()
        transport = self._request.transport
        if transport is not None and (not self._live or _behind(transport)):
            transport.abort()

    def expired(self, error: Compacted) -> bytes:
        """What a watch from before the kept history is told, in its stream."""
        return self._frames.frame("ERROR", orjson.dumps(errors.too_old(error.requested, error.oldest).status()))

    # the past

    def _past(self) -> list[tuple[str, StoredObject]]:
        """What to send before going live, from one instant (raises Compacted before anything was sent)."""
        since = self._options.since
        self._start = at = self._hub.position
        if since is None:
            present = self._options.initial and list_page(self._store, self._row, self._selection, revision=at).items
            return [("ADDED", stored) for stored in present or ()]
        events = self._store.events_since(self._row.storage, since)
        seen = (self._selection.transition(event) for event in events if event.revision <= at)
        return [step for step in seen if step is not None]

    async def _catch_up(self, response: web.StreamResponse, past: list[tuple[str, StoredObject]]) -> None:
        self._frames.begin(bool(past))
        waiting, size, first = [], 0, True
        for kind, stored in past:
            data = self._frames.first(kind, stored) if first else self._frames.encode(kind, stored)
            first = False
            waiting.append(data)
            size += len(data)
            if size >= BATCH_BYTES:
                await self._write(response, b"".join(waiting))
                await turn()  # a quick reader does not keep us waiting
                waiting, size = [], 0
        if self._options.initial_end:
            waiting.append(self._bookmark(self._start, {INITIAL_END: "true"}))
        if waiting:
            await self._write(response, b"".join(waiting))
        timeout = self._options.timeout
        self._after(timeout, self._time_out)
        if self._options.bookmarks:
            # as upstream: every minute, and shortly before the end
            first_at = min(BOOKMARK_SECONDS, max(timeout - 2.0, 0.0))
            self._after(first_at, self._send_bookmark)
        self._live = True
        if self._member is not None:
            self._member.go_live()

    async def _write(self, response: web.StreamResponse, data: bytes) -> None:
        """One piece; who does not read it keeps neither the past nor what happens meanwhile waiting for ever."""
        try:
            async with asyncio.timeout(STALLED):
                await response.write(data)
        except TimeoutError:
            self.cut()
            raise ConnectionResetError("the past of a watch was not read in time") from None

    # live

    def _deliver(self, data: bytes) -> None:
        transport = self._request.transport
        if transport is None or transport.is_closing():
            self.end()
            return
        transport.write(data)
        unread = transport.get_write_buffer_size()
        if unread > NOTICED:
            if unread > self._streams.most_unread:
                self.cut()
            else:
                self._streams.behind(self, unread)

    def unread(self) -> int:
        """Bytes that wait for the reader."""
        transport = self._request.transport
        return 0 if transport is None else transport.get_write_buffer_size()

    def cut(self) -> None:
        """Cut off a reader that has fallen behind: it will list and watch anew."""
        self._streams.refusals.tell(UNREAD, "a watcher that does not read was cut off")
        transport = self._request.transport
        if transport is not None:
            transport.abort()
        self.end()

    def _bookmark(self, revision: int, annotations: dict[str, str] | None = None) -> bytes:
        """Says that everything up to a revision has been sent."""
        metadata: dict[str, object] = {"resourceVersion": str(revision)}
        if annotations:
            metadata["annotations"] = annotations
        return self._frames.bookmark(metadata)

    def _bookmark_now(self) -> None:
        self._hub.flush()  # what has happened in this turn comes before the bookmark that covers it
        self._deliver(self._frames.join([self._bookmark(self._hub.position)]))

    def _send_bookmark(self) -> None:
        self._bookmark_now()
        self._timers.pop()
        self._after(BOOKMARK_SECONDS, self._send_bookmark)

    def _after(self, seconds: float, callback: Callable[[], None]) -> None:
        self._timers.append(self._patience.call_at(self._patience.now() + seconds, callback))

    def _time_out(self) -> None:
        if self._options.bookmarks:
            self._bookmark_now()
        self.end()


def _behind(transport: asyncio.WriteTransport) -> bool:
    """Whether so much waits for the reader that writing has to wait."""
    return transport.get_write_buffer_size() > transport.get_write_buffer_limits()[1]

"""Several servers of one cluster as one client: when the one in use is lost, boards go on with the next.

Only replicas on one etcd are servers of one cluster.  A resourceVersion means the same to all of them, so a watch is
taken up at the next where it ended at the last; one that has not come so far yet waits until it has.

What is lost: a server that cannot be reached, that has been silent for as long as a call may take, or that could
answer no write (or no read) for a while: that one may be cut off from etcd.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any, Self, TypeVar

from kube32_sim.api.errors import ApiError
from kube32_sim.client import JsonObject, ListResult, Resource, Unreachable, WatchEvent
from kube32_sim.clock import Clock
from kube32_sim.storage.interface import Heartbeat, Pulse

if TYPE_CHECKING:
    from kube32_sim.http_client import HttpClient

T = TypeVar("T")

PATIENCE = 3.0
"""Seconds for which a server may answer that it cannot, before the next is asked."""
LONG_PATIENCE = 30.0
"""The same where no other could either: etcd is away, and boards that go round would be more to do for all."""

log = logging.getLogger(__name__)


class Servers:
    """A `client.Client`.  A server is used until it is lost, then the next of the row, the first after the last.

    A call that fails because a server is lost is made again at the next, and may so be done twice, with which boards
    live anyway.  Where a connection breaks, the same server is asked once more before it counts as lost.  Failures are
    those of the server that was asked last.
    """

    def __init__(self, clients: Sequence[HttpClient], clock: Clock) -> None:
        self._clients, self._clock = clients, clock
        self._lost: set[int] = set()
        """Since the last write that went well."""
        self._use(0)

    def _use(self, at: int) -> None:
        now = self._clock.steady()
        self._at = at
        self._heard = now
        """When it last answered anything."""
        self._good = {True: now, False: now}
        """When it last did what it was asked: of reads, and of writes."""
        self._failing: dict[bool, float] = {}
        """Since when it does not: of reads, and of writes."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for client in self._clients:
            await client.close()

    # which one

    async def _ask(self, call: Callable[[HttpClient], Awaitable[T]], *, reads: bool = False) -> T:
        broken: set[int] = set()
        for _ in range(2 * len(self._clients) - 1):
            at, since = self._at, self._clock.steady()
            try:
                answer = await call(self._clients[at])
            except (ApiError, Unreachable) as error:
                if not self._failed(at, reads, since, error, broken):
                    raise
            else:
                self._answered(at, reads, good=True)
                return answer
        return await call(self._clients[self._at])

    def _failed(self, at: int, reads: bool, since: float, error: ApiError | Unreachable, broken: set[int]) -> bool:
        """Whether the call is to be made again.  since: when it was made.  broken: where a connection broke in it."""
        if isinstance(error, ApiError):
            self._answered(at, reads, good=error.code < 500)
            if error.code < 500:
                return False
        if at != self._at:
            return True  # another call has found that it is lost
        if isinstance(error, ApiError):
            lost = self._too_long(reads, since)
        elif _in_time(error):
            lost = at in broken
            broken.add(at)
            if not lost:
                return True
        else:
            lost = self._heard < since or self._too_long(reads, since)
        if lost:
            self._leave(_why(error))
        return lost

    def _answered(self, at: int, reads: bool, *, good: bool) -> None:
        if at != self._at:
            return
        self._heard = self._clock.steady()
        if not good:
            return
        self._good[reads] = self._heard
        self._failing.pop(reads, None)
        if self._lost and not reads:
            if len(self._lost) == len(self._clients):
                log.info("%s answers", self._clients[at].url)
            self._lost.clear()

    def _too_long(self, reads: bool, since: float) -> bool:
        begun = self._failing.setdefault(reads, max(since, self._good[reads]))
        nobody_could = len(self._lost | {self._at}) == len(self._clients)
        return self._clock.steady() - begun >= (LONG_PATIENCE if nobody_could else PATIENCE)

    def _leave(self, why: str) -> None:
        """The one in use, for the next; watches of it end."""
        at, after = self._at, (self._at + 1) % len(self._clients)
        if at not in self._lost:
            self._lost.add(at)
            if len(self._lost) < len(self._clients):
                log.warning("%s is lost: %s; going on with %s", self._clients[at].url, why, self._clients[after].url)
            else:
                log.warning("none of %d servers answers: %s; they are asked again and again", len(self._clients), why)
        self._use(after)
        self._clients[at].end_watches()

    # the verbs

    async def get(self, resource: Resource, namespace: str, name: str) -> JsonObject:
        return await self._ask(lambda client: client.get(resource, namespace, name), reads=True)

    async def list(
        self,
        resource: Resource,
        namespace: str = "",
        *,
        label_selector: str = "",
        field_selector: str = "",
        at: str = "",
    ) -> ListResult:
        selectors = {"label_selector": label_selector, "field_selector": field_selector}
        return await self._ask(lambda client: client.list(resource, namespace, **selectors, at=at), reads=True)

    @asynccontextmanager
    async def watch(
        self,
        resource: Resource,
        namespace: str = "",
        *,
        resource_version: str = "",
        label_selector: str = "",
        field_selector: str = "",
        heartbeats: bool = True,
    ) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        """One that breaks just ends: it may be taken up where it ended."""

        async def opened(client: HttpClient) -> tuple[HttpClient, AsyncIterator[WatchEvent]]:
            stream = client.watch(
                resource,
                namespace,
                resource_version=resource_version,
                label_selector=label_selector,
                field_selector=field_selector,
                heartbeats=heartbeats,
            )
            return client, await stack.enter_async_context(stream)

        async with AsyncExitStack() as stack:
            client, events = await self._ask(opened, reads=True)
            yield _until_broken(events) if client is self._clients[self._at] else _nothing()

    async def create(
        self, resource: Resource, namespace: str, obj: JsonObject, *, subresource: str = "", name: str = ""
    ) -> JsonObject:
        return await self._ask(
            lambda client: client.create(resource, namespace, obj, subresource=subresource, name=name)
        )

    async def update(self, resource: Resource, namespace: str, obj: JsonObject, *, subresource: str = "") -> JsonObject:
        return await self._ask(lambda client: client.update(resource, namespace, obj, subresource=subresource))

    def pulse(self, resource: Resource, namespace: str, name: str, version: str, heartbeat: Heartbeat) -> Pulse | None:
        return None

    async def patch(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        patch: JsonObject,
        *,
        subresource: str = "",
        kind: str = "merge",
    ) -> JsonObject:
        return await self._ask(
            lambda client: client.patch(resource, namespace, name, patch, subresource=subresource, kind=kind)
        )

    async def delete(
        self, resource: Resource, namespace: str, name: str, *, options: Mapping[str, Any] | None = None
    ) -> JsonObject:
        return await self._ask(lambda client: client.delete(resource, namespace, name, options=options))


def _why(error: ApiError | Unreachable) -> str:
    """Without what was asked: it is lost for everything."""
    return error.message if isinstance(error, ApiError) else str(error).partition(": ")[2] or str(error)


def _in_time(error: Unreachable) -> bool:
    """Whether it was known before the time for a call was over: a connection that was refused, or broke."""
    return not isinstance(error.__cause__, TimeoutError)


async def _until_broken(events: AsyncIterator[WatchEvent]) -> AsyncIterator[WatchEvent]:
    try:
        async for event in events:
            yield event
    except Unreachable as error:
        if error.__cause__ is None:
            raise  # it said what makes no sense
        log.debug("%s", error)


async def _nothing() -> AsyncIterator[WatchEvent]:
    """Of a server that was lost meanwhile."""
    return
    yield

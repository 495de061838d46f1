"""Follows etcd's watch: hands on what it tells, and begins again by itself whenever it ends."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from aetcd import rpc
from grpc import aio

from kube32_sim.api.errors import ApiError
from kube32_sim.storage.etcd import requests, waiting
from kube32_sim.storage.etcd.connection import Connection
from kube32_sim.storage.etcd.keys import Keys
from kube32_sim.storage.etcd.requests import Message
from kube32_sim.storage.interface import StoreError

log = logging.getLogger(__name__)

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 2.0
"""Seconds between two attempts: twice as long each time."""


class _Ended(Exception):
    """The watch has ended; the message says why."""


class Following:
    """position: the revision up to which everything is known.  hear: called with each response that tells of events.

    begin_anew: awaited where etcd no longer knows what happened after the position.
    """

    def __init__(
        self,
        connection: Connection,
        keys: Keys,
        position: Callable[[], int],
        hear: Callable[[Message], None],
        begin_anew: Callable[[], Awaitable[None]],
    ) -> None:
        self.trouble = ""
        """Why nothing is heard now; "" while all is well."""
        self.origin = b""
        """What etcd holds at the key of that name: anything else is another history."""
        self._connection = connection
        self._keys = keys
        self._position = position
        self._hear = hear
        self._begin_anew = begin_anew
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run(), name="following etcd")

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _run(self) -> None:
        pause = FIRST_PAUSE
        while True:
            before = self._position()
            try:
                await self._follow()
            except rpc.AioRpcError as error:
                self._lost(self._connection.failure(error).message)
            except ApiError as error:
                self._lost(error.message)
            except StoreError as error:
                self._lost(str(error))
            except _Ended as error:
                self._lost(f"etcd at {self._connection.name} is not followed: {error}")
            except Exception as error:
                log.exception("a fault while following etcd")
                self._lost(f"etcd at {self._connection.name} is not followed: {error!r}")
            pause = FIRST_PAUSE if self._position() > before else min(2 * pause, LONGEST_PAUSE)
            self._connection.next()
            await waiting.pause(pause)

    def _lost(self, why: str) -> None:
        if not self.trouble:
            log.warning("%s; reads go on from what is known", why)
        self.trouble = why

    async def _follow(self) -> None:
        """Until the watch ends, which is always an exception."""
        position = self._position()
        await self._check(position)
        stream: Any = self._connection.watch()
        try:
            await stream.write(requests.watch(self._keys.root, self._keys.end, position + 1))
            while True:
                response = await stream.read()
                if response is aio.EOF:
                    raise _Ended("it has ended the watch")
                if response.created:
                    self._well()
                if response.compact_revision:
                    log.warning("etcd's history begins after what is known here: everything is read anew")
                    await self._begin_anew()
                    raise _Ended("its history was compacted")
                if response.canceled:
                    raise _Ended(response.cancel_reason or "it has ended the watch")
                self._hear(response)
        finally:
            stream.cancel()

    async def _check(self, position: int) -> None:
        """That etcd is there, with everything that is known here (a member alone may be behind the others)."""
        found = await self._connection.range(requests.one(self._keys.origin, whole=True))
        revision = found.header.revision
        if revision < position:
            raise _Ended(
                f"it is at revision {revision}, but {position} was seen here before, so it has lost data; "
                "restart kube32-sim"
            )
        if [kv.value for kv in found.kvs] != [self.origin]:
            raise _Ended("what was seen here before has gone from it, so it has lost data; restart kube32-sim")

    def _well(self) -> None:
        if self.trouble:
            log.warning("etcd at %s is followed again", self._connection.name)
        self.trouble = ""

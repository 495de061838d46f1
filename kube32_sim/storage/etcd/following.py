"""Follows etcd's watch: hands on what it tells, and begins again by itself whenever it ends, or is dumb.

A process that hangs keeps its connections, and a watch of which nothing comes looks like one of which nothing is to be
told.  So etcd is asked whether it is there wherever nothing was heard for a while.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
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

SILENCE, QUESTIONS = 1.0, 3
"""After so many seconds without a word it is asked whether it is there, at most so often; then it counts as away."""


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
        self._waiting: set[asyncio.Future[None]] = set()
        self._silent = 0
        """Looks at which nothing had been heard since the one before."""

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run(), name="following etcd")

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def comes_back(self, seconds: float) -> bool:
        """Of an etcd that is not followed: whether it is again within so many seconds."""
        back: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.add(back)
        try:
            return await waiting.patient(back, seconds)
        finally:
            self._waiting.discard(back)

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
        stream: Any = self._connection.watch()
        try:
            async with asyncio.timeout(self._connection.patience) as patience:
                await stream.write(requests.watch(self._keys.root, self._keys.end, position + 1))
                patience.reschedule(None)
                asking = asyncio.get_running_loop().create_task(self._ask(stream, patience), name="asking etcd")
                try:
                    await self._listen(stream, position)
                finally:
                    asking.cancel()
        except TimeoutError:
            raise _Ended("it does not answer") from None
        finally:
            stream.cancel()
        log.warning("etcd's history begins after what is known here: everything is read anew")
        await self._begin_anew()
        raise _Ended("its history was compacted")

    async def _listen(self, stream: Any, position: int) -> None:
        """Hand on what is told after a position.  Answers when etcd no longer knows what comes next."""
        while True:
            response = await stream.read()
            self._silent = 0
            if response is aio.EOF:
                raise _Ended("it has ended the watch")
            if response.created:  # not before: the watch could have been taken by one that came after who was checked
                await self._check(position)
                self._well()
            if response.compact_revision:
                return
            if response.canceled:
                raise _Ended(response.cancel_reason or "it has ended the watch")
            self._hear(response)

    async def _ask(self, stream: Any, patience: asyncio.Timeout) -> None:
        """End the patience where etcd is silent.  Looks are counted, not seconds: this process may be slow, too.

        A question may wait for room in a connection that nobody reads from, so nothing waits for the question.
        """
        self._silent, question = 0, None
        try:
            while self._silent <= QUESTIONS:
                if self._silent and (question is None or question.done()):
                    question = asyncio.get_running_loop().create_task(_put_question(stream), name="a question to etcd")
                self._silent += 1
                await waiting.pause(SILENCE)
        finally:
            if question is not None:
                question.cancel()
        patience.reschedule(asyncio.get_running_loop().time())

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
        for back in self._waiting:
            if not back.done():
                back.set_result(None)


async def _put_question(stream: Any) -> None:
    with suppress(rpc.AioRpcError, asyncio.InvalidStateError):  # whoever listens is told of it
        await stream.write(requests.are_you_there())

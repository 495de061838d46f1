"""The event loop that clusters of blocking programs run in: one thread for all of them, while anybody needs it."""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")

NAME = "kube32-sim"
"""Of the thread."""
PATIENCE = 1.0
"""Seconds that tasks which nobody has ended get at the end of the loop."""


def _new_loop() -> asyncio.AbstractEventLoop:
    with suppress(ImportError):
        import uvloop

        return uvloop.new_event_loop()
    return asyncio.new_event_loop()


class BackgroundLoop:
    """Runs from the moment it is made until `stop`."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self._loop = _new_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=NAME, daemon=True)
        self._thread.start()

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Start it there.  Cancelling the future cancels the work."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait for its answer.  RuntimeError within the loop itself, which would wait for ever."""
        if threading.current_thread() is self._thread:
            work.close()
            raise RuntimeError("this runs in the cluster's own event loop, which it would hold up: await what it needs")
        future = self.submit(work)
        try:
            return future.result()
        finally:
            future.cancel()  # where the wait was broken off; nothing otherwise

    def stop(self) -> None:
        if self._loop.is_closed():
            return
        self.run(self._end_tasks())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _end_tasks(self) -> None:
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=PATIENCE)  # some ask themselves whether to end
        await self._loop.shutdown_asyncgens()
        await self._loop.shutdown_default_executor()


_lock = threading.Lock()
_shared: BackgroundLoop | None = None
_users = 0


def lease() -> BackgroundLoop:
    """The loop of this process, begun for the first who wants it; each `lease` needs its `release`."""
    global _shared, _users  # noqa: PLW0603
    with _lock:
        if _shared is None or _shared.process != os.getpid():  # a fork has no threads but one
            _shared, _users = BackgroundLoop(), 0
            atexit.register(_shared.stop)
        _users += 1
        return _shared


def release() -> None:
    """The last one ends the loop and its thread."""
    global _shared, _users  # noqa: PLW0603
    with _lock:
        _users -= 1
        if _users == 0 and _shared is not None:
            atexit.unregister(_shared.stop)
            _shared.stop()
            _shared = None

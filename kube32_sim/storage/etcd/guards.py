"""Decisions that rest on more than one object: one at a time here, and only if nobody elsewhere decided meanwhile.

Each subject has a key in etcd.  A write within `deciding` is made only if the key was last written as far as this
process has heard, and writes it too: so of two processes that decide on the same subject at once, one is outrun.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from contextvars import ContextVar
from weakref import WeakValueDictionary

from kube32_sim.storage.etcd.connection import PATIENCE
from kube32_sim.storage.etcd.keys import Keys
from kube32_sim.storage.interface import Unavailable


class Block:
    """One decision under way.  at: of each guard's key, the revision of the last write that the decision rests on.

    rests: whether it rests on them at all, or is only one that others have to know of.
    """

    def __init__(self, at: dict[bytes, int], *, rests: bool = True) -> None:
        self.at = at
        self.rests = rests
        self.open = True

    def written(self, revision: int) -> None:
        """The decision's own write."""
        self.at = dict.fromkeys(self.at, revision)


_BLOCK: ContextVar[Block | None] = ContextVar("block", default=None)


def block() -> Block | None:
    """The decision under way in this task; tasks that it has started are not part of it once it is over."""
    found = _BLOCK.get()
    return found if found is not None and found.open else None


async def _turn(lock: asyncio.Lock, subject: str) -> None:
    """Wait for it, but not behind all those who wait for an etcd that does not answer."""
    try:
        async with asyncio.timeout(PATIENCE):
            await lock.acquire()  # here and in no other task: who is called off in this moment must not keep it
    except TimeoutError:
        why = f"too many decide on {subject} at once, or etcd does not answer; nothing was written"
        raise Unavailable(why) from None


class Guards:
    """heard: the revision of the last write of each guard's key that this process has heard of."""

    def __init__(self, keys: Keys) -> None:
        self.heard: dict[bytes, int] = {}
        self._keys = keys
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def deciding(self, subjects: Iterable[str]) -> AsyncIterator[None]:
        """Not within itself: who decides on "a" and "b" says so at once.  Raises Unavailable."""
        async with AsyncExitStack() as stack:
            wanted = sorted(set(subjects))
            for subject in wanted:
                lock = self._locks.setdefault(subject, asyncio.Lock())
                await _turn(lock, subject)
                stack.callback(lock.release)
            made = Block({})
            self.look_again(made, map(self._keys.guard, wanted))
            token = _BLOCK.set(made)
            try:
                yield
            finally:
                made.open = False
                _BLOCK.reset(token)

    @asynccontextmanager
    async def affecting(self, subjects: Iterable[str]) -> AsyncIterator[None]:
        """Writes that others' decisions may not overlook; there may be many at once."""
        made = Block(dict.fromkeys(map(self._keys.guard, subjects), 0), rests=False)
        token = _BLOCK.set(made)
        try:
            yield
        finally:
            made.open = False
            _BLOCK.reset(token)

    def look_again(self, made: Block, names: Iterable[bytes] | None = None) -> None:
        """The decision is made anew, on what is known now."""
        made.at = {name: self.heard.get(name, 0) for name in (made.at if names is None else names)}

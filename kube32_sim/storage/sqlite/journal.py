"""Group commit: what was written in one turn of the event loop, and while the disk was busy, is committed at once.

Rows are staged in the loop's thread, where that takes microseconds; only the commit, which waits for the disk, has a
thread of its own.  While a commit fails nothing can be written: what was not committed is undone, and every second
somebody tries whether it works again.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as TooLate
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from kube32_sim.clock import Clock, RealClock
from kube32_sim.storage.interface import JsonObject, Unavailable
from kube32_sim.storage.objects import Event
from kube32_sim.storage.sqlite.file import Moved, StoreFile
from kube32_sim.storage.sqlite.ledger import Entries, Ledger
from kube32_sim.storage.sqlite.rows import row_of

log = logging.getLogger(__name__)

MOST_BYTES = 16 << 20
MOST_WRITES = 20_000
"""What may wait for a commit; who wants to write more than that waits for the one under way."""
PATIENCE = 10.0
"""Seconds for which he does, and all others with him."""
RETRY = 1.0
"""Seconds between two tries of a file that cannot be written."""

TRIED_AGAIN = "; it is tried again every second"


class Keeper(Protocol):
    """Whose writes these are."""

    revision: int

    def history(self) -> JsonObject:
        """`oldest`: by type, after which revision a watch may start; `compacted`: of types that are not there."""

    def now_kept(self, events: Sequence[Event]) -> None:
        """They are kept for good."""

    def undo(self, events: Sequence[Event], private: Iterable[str]) -> None:
        """They cannot be kept, and are the newest; nor can what is private by these names."""


@dataclass(slots=True)
class _Batch:
    """What is committed at once.  written, forgotten: events, oldest first.  waiting: for its end."""

    written: list[Event] = field(default_factory=list)
    forgotten: list[Event] = field(default_factory=list)
    private: dict[str, bytes] = field(default_factory=dict)
    waiting: list[asyncio.Future[None]] = field(default_factory=list)
    size: int = 0
    revision: int = 0
    entries: Entries | None = None
    state: JsonObject = field(default_factory=dict)
    commit: Future[None] | None = None


class Journal:
    """durable: see `Store`.  failing: why nothing can be written now, or "".

    state: what the file says besides its rows.
    """

    def __init__(self, file: StoreFile, ledger: Ledger, state: JsonObject, keeper: Keeper, clock: Clock) -> None:
        self._file, self._ledger, self._state, self._keeper, self._clock = file, ledger, state, keeper, clock
        self.durable: int = state["revision"]
        self.failing = ""
        self._next = _Batch()
        self._under_way: _Batch | None = None
        self._scheduled = self._closed = self._together = False
        self._torn = ""
        """Why what is written together cannot be kept any more."""
        self._thread = ThreadPoolExecutor(1, "sqlite")
        self._real = RealClock()
        self._cancel_retry: Callable[[], object] | None = None

    # what is written

    def admit(self) -> None:
        """Before every write: raises Unavailable where it could not be kept.  Bounds what waits."""
        if self.failing or self._torn:
            raise Unavailable(self.failing or self._torn)
        batch = self._next
        if self._together:
            return
        if batch.size > MOST_BYTES or len(batch.written) > MOST_WRITES:
            self._catch_up()

    @contextmanager
    def together(self) -> Iterator[None]:
        """All that is written meanwhile is one commit, however much it is: kept as a whole, or undone."""
        self._together = True
        try:
            yield
        finally:
            self._together, self._torn = False, ""
            self.schedule()

    def write(self, event: Event) -> None:
        self._next.written.append(event)
        self._next.size += event.stored.size
        if not self._scheduled:
            self.schedule()

    def forget(self, event: Event) -> None:
        self._next.forgotten.append(event)

    def keep(self, name: str, value: bytes) -> None:
        self._next.private[name] = value
        self.schedule()

    def is_keeping(self, name: str) -> bool:
        """Whether that is not on disk yet."""
        return any(batch is not None and name in batch.private for batch in (self._next, self._under_way))

    async def flushed(self, revision: int | None = None) -> None:
        """Wait for the commit that a revision (None: everything so far) is part of; raises Unavailable."""
        if self.failing:
            raise Unavailable(self.failing)
        under_way = self._under_way
        batch = self._next if under_way is None or revision is None or revision > under_way.revision else under_way
        done = asyncio.get_running_loop().create_future()
        batch.waiting.append(done)
        self.schedule()
        await done

    # commits

    def schedule(self) -> None:
        """Commit what there is at the end of the loop's turn."""
        if not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._turn)

    def _turn(self) -> None:
        self._scheduled = False
        if self._under_way is None and not self.failing and not self._together:
            self._begin()

    def _begin(self) -> None:
        batch, self._next = self._next, _Batch()
        self._under_way = batch
        batch.revision = self._keeper.revision
        try:
            self._stage(batch)
        except Exception as error:
            self._end(batch, error)
            return
        self._commit(batch, self._file.commit)

    def _stage(self, batch: _Batch) -> None:
        entries = batch.entries = self._ledger.entries(batch.written, batch.forgotten)
        gone = self._file.stage(map(row_of, entries.written), entries.gone, batch.private.items())
        if gone != len(entries.gone):
            raise RuntimeError(f"{len(entries.gone)} rows should go, and {gone} were there")
        batch.state = {
            **self._keeper.history(),
            "revision": batch.revision,
            "time": max(self._clock.now(), self._state["time"]),
            "forgotten": batch.forgotten[-1].revision if batch.forgotten else self._state["forgotten"],
            "rows": entries.rows,
            "total": entries.total,
            "private": self._state["private"] + len(batch.private),
        }
        self._file.stage_state(batch.state)

    def _commit(self, batch: _Batch, work: Callable[[], None]) -> None:
        loop = asyncio.get_running_loop()
        commit = batch.commit = self._thread.submit(work)
        commit.add_done_callback(lambda done: loop.call_soon_threadsafe(self._arrived, batch))

    def _arrived(self, batch: _Batch) -> None:
        """A commit has ended, and may have been waited for already."""
        if self._under_way is batch and batch.commit is not None and not self._closed:
            self._end(batch, batch.commit.exception())

    def _end(self, batch: _Batch, error: BaseException | None) -> None:
        if error is not None:
            self._fail(batch, error)
            return
        self._under_way = None
        if batch.entries is not None:
            self._ledger.done(batch.entries)
            self._state = batch.state
        self.durable = batch.revision
        self._recovered()
        self._keeper.now_kept(batch.written)
        for waiter in batch.waiting:
            if not waiter.done():
                waiter.set_result(None)
        if self._next.written or self._next.waiting or self._next.forgotten:
            self.schedule()

    def _catch_up(self) -> None:
        """Hold everything up until the disk has caught up: what waits must not grow without end."""
        batch = self._under_way
        if batch is not None and batch.commit is not None:
            try:
                error = batch.commit.exception(PATIENCE)
            except TooLate:
                raise Unavailable(f"the store is not written as fast as it should be ({self._file.path})") from None
            self._end(batch, error)
        if not self.failing:
            self._begin()
        if self.failing:
            raise Unavailable(self.failing)

    # failure

    def _fail(self, batch: _Batch, error: BaseException) -> None:
        self._file.rollback()
        self._under_way = None
        lost, self._next = self._next, _Batch()
        why = f"the store cannot be written: {error} ({self._file.path}){TRIED_AGAIN}"
        if why != self.failing:
            self.failing = why
            log.error(
                "%s",
                why.removesuffix(TRIED_AGAIN),
                exc_info=None if isinstance(error, (sqlite3.Error, Moved)) else error,
            )
        self._torn = why if self._together else ""
        forgotten = [*batch.forgotten, *lost.forgotten]
        self._next.forgotten = [event for event in forgotten if event.revision <= self.durable]
        self._keeper.undo([*batch.written, *lost.written], [*batch.private, *lost.private])
        for waiter in (*batch.waiting, *lost.waiting):
            if not waiter.done():
                waiter.set_exception(Unavailable(self.failing))
        self._cancel_retry = self._real.call_at(self._real.now() + RETRY, self._retry)

    def _retry(self) -> None:
        self._cancel_retry = None
        self._under_way = _Batch(revision=self.durable)
        self._commit(self._under_way, self._file.probe)

    def _recovered(self) -> None:
        if self.failing:
            self.failing = ""
            log.warning("the store can be written again (%s)", self._file.path)

    # the end

    async def close(self) -> None:
        """Commit everything, and let go of the file."""
        if self._closed:
            return
        while not self.failing:
            try:
                await self.flushed()
            except Unavailable:
                break
            if not self._next.written:
                break
        if self._closed:
            return
        self._closed = True
        if self._cancel_retry is not None:
            self._cancel_retry()
        self.failing = f"the store is closed ({self._file.path})"
        await asyncio.get_running_loop().run_in_executor(self._thread, self._file.close)
        self._thread.shutdown()

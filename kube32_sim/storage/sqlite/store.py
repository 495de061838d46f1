"""The store in memory whose writes a SQLite file keeps.

Everything in the process sees a write at once; `kept`, and those who subscribed to what is kept, wait for its commit.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kube32_sim.api.resources import ResourceTable
from kube32_sim.clock import Clock, VirtualClock, rfc3339
from kube32_sim.storage.interface import (
    Change,
    Compacted,
    EventType,
    Heartbeat,
    JsonObject,
    Storage,
    Store,
    Unavailable,
    Updater,
)
from kube32_sim.storage.listeners import Listener, Listeners
from kube32_sim.storage.memory import MemoryStore
from kube32_sim.storage.memory_bucket import Bucket
from kube32_sim.storage.memory_pulse import MemoryPulse
from kube32_sim.storage.objects import Event, Ready, StoredObject
from kube32_sim.storage.sqlite.file import StoreFile
from kube32_sim.storage.sqlite.journal import Journal
from kube32_sim.storage.sqlite.ledger import Ledger
from kube32_sim.storage.sqlite.loading import load
from kube32_sim.storage.sqlite.rows import place_of
from kube32_sim.storage.sqlite.undoing import opposite

log = logging.getLogger(__name__)

_AHEAD = 60.0
"""Seconds that clocks of machines may differ by."""
MOST_UNDONE = 1000
"""Failures whose undone revisions are remembered, for those who still wait for one."""


class SqlitePulse(MemoryPulse):
    """Over, where nothing can be written now: an ordinary write is told why."""

    __slots__ = ()
    _store: SqliteStore

    def beat(self, text: str) -> bool:
        try:
            self._store.journal.admit()
        except Unavailable:
            return False
        return super().beat(text)


class SqliteStore(MemoryStore):
    """See `interface.Store`, and `MemoryStore` for the bounds of the history.  Raises StoreError."""

    deferred = True

    def __init__(self, path: Path, table: ResourceTable, clock: Clock, **history: Any) -> None:
        super().__init__(table, clock, **history)
        self._told_late = Listeners()
        self._undone_ranges: list[range] = []
        file, ledger = StoreFile(path), Ledger()
        state = load(self, table, file, ledger)
        self.journal = Journal(file, ledger, state, self, clock)
        if isinstance(clock, VirtualClock):
            clock.resume(state["time"])
        elif state["time"] > clock.now() + _AHEAD:
            log.warning(
                "the time in %s is %s, and this machine's is %s: until it is as late here, nothing gets older and "
                "run-seconds wait; --clock virtual goes on from there",
                file.path,
                rfc3339(state["time"]),
                clock.timestamp(),
            )
        self._trim(clock.now())

    # durability

    @property
    def durable(self) -> int:
        return self.journal.durable

    @property
    def trouble(self) -> str:
        return self.journal.failing

    async def kept(self, revision: int) -> None:
        if self.was_undone(revision):
            raise Unavailable(self.journal.failing or "the store could not be written, and what was written is undone")
        if revision > self.journal.durable:
            await self.journal.flushed(revision)

    async def keep(self, name: str, make: Callable[[], bytes]) -> bytes:
        if name not in self._private:
            self.journal.admit()
            self._private[name] = make()
            self.journal.keep(name, self._private[name])
        value = self._private[name]
        if self.journal.is_keeping(name):  # whoever made it
            await self.journal.flushed()
        return value

    def together(self) -> AbstractContextManager[None]:
        return self.journal.together()

    async def keep_time(self, now: float) -> None:
        await self.journal.flushed()

    async def close(self) -> None:
        await self.journal.close()

    # the past

    def events_since(self, storage: Storage, revision: int) -> Sequence[Event]:
        self._refuse_undone(revision)
        return super().events_since(storage, revision)

    def _undone(self, bucket: Bucket, revision: int) -> dict[str, StoredObject | None]:
        self._refuse_undone(revision)
        return super()._undone(bucket, revision)

    def _refuse_undone(self, revision: int) -> None:
        """Nobody who knows such a revision knows what has been."""
        if self.was_undone(revision):
            raise Compacted(revision, self.durable)

    def compact(self, revision: int) -> None:
        undone = (before.start - 1 for before in self._undone_ranges if revision in before)
        super().compact(next(undone, revision))  # nobody may start a watch at what never was
        self.journal.schedule()

    # writes

    async def create(self, storage: Storage, key: str, obj: JsonObject) -> Change:
        self.journal.admit()
        return await super().create(storage, key, obj)

    async def create_ready(self, storage: Storage, key: str, known: Ready) -> Change:
        self.journal.admit()
        return await super().create_ready(storage, key, known)

    async def update(self, storage: Storage, key: str, change: Updater, *, always: bool = False) -> Change:
        self.journal.admit()
        return await super().update(storage, key, change, always=always)

    async def delete(self, storage: Storage, key: str, check: Callable[[Any], None]) -> Change:
        self.journal.admit()
        return await super().delete(storage, key, check)

    def pulse(self, storage: Storage, key: str, revision: int, heartbeat: Heartbeat) -> MemoryPulse | None:
        if super().pulse(storage, key, revision, heartbeat) is None:
            return None
        bucket = self.bucket(storage)
        return SqlitePulse(self, bucket, bucket.objects[key], heartbeat)

    def renew(self, bucket: Bucket, stored: StoredObject, previous: StoredObject, text: str) -> Event:
        event = super().renew(bucket, stored, previous, text)
        self.journal.write(event)
        return event

    def _append(self, bucket: Bucket, kind: EventType, stored: StoredObject, previous: StoredObject | None) -> Event:
        event = super()._append(bucket, kind, stored, previous)
        self.journal.write(event)
        return event

    def _drop_oldest(self) -> Event:
        event = super()._drop_oldest()
        self.journal.forget(event)
        return event

    def history(self) -> JsonObject:
        """See `journal.Keeper`."""
        oldest = {place_of(storage): bucket.oldest for storage, bucket in self._buckets.items() if bucket.oldest}
        return {"oldest": oldest, "compacted": self._buckets.oldest}

    # listeners

    def subscribe(
        self,
        listener: Listener,
        storages: Iterable[Storage] | None = None,
        heartbeats: Iterable[Storage] = (),
        *,
        kept: bool = False,
    ) -> Callable[[], None]:
        if not kept:
            return super().subscribe(listener, storages, heartbeats)
        return self._told_late.add(listener, storages, heartbeats)

    def now_kept(self, events: Sequence[Event]) -> None:
        """See `journal.Keeper`."""
        _tell(events, self._told_late)

    # undoing

    def was_undone(self, revision: int) -> bool:
        return any(revision in undone for undone in self._undone_ranges)

    def undo(self, events: Sequence[Event], private: Iterable[str]) -> None:
        """See `journal.Keeper`."""
        for name in private:
            del self._private[name]
        if not events:
            return
        self._undone_ranges = [*self._undone_ranges[-MOST_UNDONE:], range(self.durable + 1, self.last + 1)]
        self.revision = self.durable
        for bucket in self._buckets.values():
            bucket.oldest = min(bucket.oldest, self.durable)
        _tell([self._take_back(event) for event in reversed(events)], self._listeners)

    def _take_back(self, event: Event) -> Event:
        bucket = self.bucket(event.stored.storage)
        if self._log and self._log[-1] is event:
            self._log.pop()
            bucket.events.pop()
            self._log_bytes -= event.weight
        current: StoredObject | None = bucket.objects.get(event.stored.key)
        made = opposite(event, current)
        if event.previous is not None:
            bucket.put(event.previous, current)
            self._remember(event.previous, current)
        elif current is not None:
            bucket.drop(current)
            self._forget(current)
        return made


def _tell(events: Sequence[Event], listeners: Listeners) -> None:
    for event in events:
        if event.heartbeat:
            listeners.tell_of(event)
        else:
            listeners.tell(event)


if TYPE_CHECKING:
    _held_to: type[Store] = SqliteStore

"""The store in memory: ordered objects per type, indexes, one log of events.

`MemoryStore` is also the read side of durable stores: they add where bytes go, not how they are found.
Everything here but the coroutines' signature is synchronous: nothing runs between reading and appending.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import orjson

from kube32_sim.api.resources import ResourceTable, ResourceType
from kube32_sim.clock import Clock
from kube32_sim.storage.interface import (
    Change,
    Compacted,
    EventType,
    Heartbeat,
    JsonObject,
    KeyExists,
    KeyMissing,
    Remove,
    Storage,
    Store,
    Updater,
)
from kube32_sim.storage.listeners import Listener, Listeners
from kube32_sim.storage.memory_bucket import Bucket, Buckets
from kube32_sim.storage.memory_pulse import MemoryPulse
from kube32_sim.storage.objects import Decoded, Event, Ready, StoredObject

TRIM_STRIDE = 16
"""Heartbeats after which the history is looked at."""
_SORTED = orjson.OPT_SORT_KEYS
_ALONE: AbstractAsyncContextManager[None] = nullcontext()
_APART: AbstractContextManager[None] = nullcontext()


class MemoryStore:
    """See `interface.Store`.

    history_events, history_bytes, history_seconds bound the log: beyond any of them the oldest events are forgotten,
    and a watch that wants to start before them is told `Compacted`.
    """

    optimistic = False
    deferred = False

    def __init__(
        self,
        table: ResourceTable,
        clock: Clock,
        *,
        history_events: int = 50_000,
        history_bytes: int = 64 << 20,
        history_seconds: float = 600.0,
    ) -> None:
        self.revision = self.last = 1
        """last: the newest that was given out; what was undone had one too."""
        self._clock = clock
        self._limits = (history_events, history_bytes, history_seconds)
        self._buckets = Buckets(table)
        self._log: deque[Event] = deque()
        self._log_bytes = 0
        self._uids: dict[str, StoredObject] = {}
        self._owned: dict[str, dict[tuple[Storage, str], StoredObject]] = {}
        self._listeners = Listeners()
        self._decoded = Decoded()
        self._private: dict[str, bytes] = {}

    # durability

    @property
    def durable(self) -> int:
        return self.revision

    @property
    def trouble(self) -> str:
        return ""

    async def kept(self, revision: int) -> None:
        return

    def was_undone(self, revision: int) -> bool:
        return False

    async def reached(self, revision: int) -> bool:
        return revision <= self.revision

    async def keep(self, name: str, make: Callable[[], bytes]) -> bytes:
        found = self._private.get(name)
        if found is None:
            found = self._private[name] = make()
        return found

    async def keep_time(self, now: float) -> None:
        return

    async def close(self) -> None:
        return

    def together(self) -> AbstractContextManager[None]:
        return _APART

    def deciding(self, *subjects: str) -> AbstractAsyncContextManager[None]:
        return _ALONE

    def affecting(self, *subjects: str) -> AbstractAsyncContextManager[None]:
        return _ALONE

    # reading

    def bucket(self, storage: Storage) -> Bucket:
        return self._buckets[storage]

    def storages(self) -> Sequence[Storage]:
        """Types of which something is or was stored."""
        return tuple(self._buckets)

    def get(self, storage: Storage, key: str) -> StoredObject | None:
        return self.bucket(storage).objects.get(key)  # type: ignore[no-any-return]

    def indexed(self, storage: Storage) -> Sequence[str]:
        return self.bucket(storage).row.indexed

    def count(self, storage: Storage) -> int:
        return len(self.bucket(storage).objects)

    def count_after(self, storage: Storage, namespace: str, after: str) -> int:
        """How many objects there are beyond a key (of the namespace, if any)."""
        return self.bucket(storage).count_after(namespace, after)

    def count_in(self, storage: Storage, namespace: str) -> int:
        """How many objects there are in a namespace, or in all."""
        return self.bucket(storage).count_after(namespace, f"{namespace}/") if namespace else self.count(storage)

    def unordered(self, storage: Storage) -> Iterable[StoredObject]:
        """All objects in no order of their keys: quicker to go through than `list`."""
        return dict.values(self.bucket(storage).objects)

    def list(self, storage: Storage, namespace: str = "") -> Sequence[StoredObject]:
        bucket = self.bucket(storage)
        if not bucket.objects:
            return []
        return list(map(bucket.objects.__getitem__, bucket.keys(namespace)))

    def by_field(self, storage: Storage, field: str, value: str) -> Sequence[StoredObject]:
        """In key order; the field must be one of the row's `indexed`."""
        entries = self.bucket(storage).indexes.get((field, value), {})
        return [entries[key] for key in sorted(entries)]

    def by_owner(self, uid: str) -> Sequence[StoredObject]:
        return list(self._owned.get(uid, {}).values())

    def by_uid(self, uid: str) -> StoredObject | None:
        return self._uids.get(uid)

    def oldest(self, storage: Storage) -> int:
        """A watch of the type may start after this revision, or any later one."""
        return self.bucket(storage).oldest

    def page(self, storage: Storage, namespace: str, revision: int, after: str | None = None) -> Iterator[StoredObject]:
        """Objects as of a revision in key order, from beyond the key `after`; raises Compacted."""
        bucket = self.bucket(storage)
        past = self._undone(bucket, revision)
        if not past:
            return map(bucket.objects.__getitem__, bucket.keys(namespace, after))
        prefix = f"{namespace}/" if namespace else ""
        wanted = [
            k for k, old in past.items() if old is not None and k.startswith(prefix) and (after is None or k > after)
        ]
        keys = sorted({key for key in bucket.keys(namespace, after) if key not in past}.union(wanted))
        return (past.get(key) or bucket.objects[key] for key in sorted(keys))

    def snapshot(self, storage: Storage, namespace: str, revision: int) -> Sequence[StoredObject]:
        return list(self.page(storage, namespace, revision))

    def _undone(self, bucket: Bucket, revision: int) -> dict[str, StoredObject | None]:
        """What the keys changed since a revision held then."""
        if revision >= self.revision:
            return {}
        if revision < bucket.oldest:
            raise Compacted(revision, bucket.oldest)
        past: dict[str, StoredObject | None] = {}
        for event in reversed(bucket.events):
            if event.revision <= revision:
                break
            past[event.stored.key] = event.previous
        return past

    def events_since(self, storage: Storage, revision: int) -> Sequence[Event]:
        bucket = self.bucket(storage)
        if revision < bucket.oldest:
            raise Compacted(revision, bucket.oldest)
        found = []
        for event in reversed(bucket.events):
            if event.revision <= revision:
                break
            found.append(event)
        found.reverse()
        return found

    # writing

    async def create(self, storage: Storage, key: str, obj: JsonObject) -> Change:
        bucket = self.bucket(storage)
        if key in bucket.objects:
            raise KeyExists(key)
        return self._added(bucket, self._new(bucket, key, obj))

    async def create_ready(self, storage: Storage, key: str, known: Ready) -> Change:
        bucket = self.bucket(storage)
        if key in bucket.objects:
            raise KeyExists(key)
        stored = StoredObject.of(storage, key, self.last + 1, known, bucket.row.fields, self._decoded)
        self.revision = self.last = stored.revision
        return self._added(bucket, stored)

    def _added(self, bucket: Bucket, stored: StoredObject) -> Change:
        bucket.put(stored, None)
        self._remember(stored, None)
        self._append(bucket, "ADDED", stored, None)
        return Change(stored, None, True)

    async def update(self, storage: Storage, key: str, change: Updater, *, always: bool = False) -> Change:
        bucket = self.bucket(storage)
        current: StoredObject | None = bucket.objects.get(key)
        if current is None:
            raise KeyMissing(key)
        result = change(current)
        if isinstance(result, Remove):
            return self._remove(bucket, current)
        if result is None:
            return Change(current, current, False)
        result["metadata"]["resourceVersion"] = str(current.revision)
        if not always and same(result, current.object()):
            return Change(current, current, False)
        stored = self._new(bucket, key, result)
        bucket.put(stored, current)
        self._remember(stored, current)
        self._append(bucket, "MODIFIED", stored, current)
        return Change(stored, current, True)

    async def delete(self, storage: Storage, key: str, check: Callable[[Any], None]) -> Change:
        bucket = self.bucket(storage)
        current: StoredObject | None = bucket.objects.get(key)
        if current is None:
            raise KeyMissing(key)
        check(current)
        return self._remove(bucket, current)

    def retype(self, storage: Storage, row: ResourceType, change: Callable[[JsonObject], JsonObject]) -> None:
        bucket = self._buckets.get(storage)
        if bucket is None:
            return
        bucket.retype(row)
        for old in list(dict.values(bucket.objects)):
            obj = change(old.copy())
            stored = StoredObject(storage, old.key, obj, old.revision, row.fields, bucket.values(obj), self._decoded)
            bucket.put(stored, None)
            self._remember(stored, old)
        self._buckets.tidy(bucket)

    def pulse(self, storage: Storage, key: str, revision: int, heartbeat: Heartbeat) -> MemoryPulse | None:
        bucket = self.bucket(storage)
        current: StoredObject | None = bucket.objects.get(key)
        if current is None or current.revision != revision or not current.tells(heartbeat):
            return None
        return MemoryPulse(self, bucket, current, heartbeat)

    def renew(self, bucket: Bucket, stored: StoredObject, previous: StoredObject, text: str) -> Event:
        """Store what only a heartbeat makes another."""
        self.revision = self.last = revision = stored.revision
        bucket.renew(stored)
        self._uids[stored.uid] = stored
        for uid in stored.owners:
            self._owned[uid][stored.storage, stored.key] = stored
        event = Event("MODIFIED", stored, previous, self._clock.now(), text)
        bucket.events.append(event)
        self._log.append(event)
        self._log_bytes += previous.size
        if revision % TRIM_STRIDE == 0:
            self._trim(event.time)
        if bucket.storage in self._listeners.attentive:
            self._listeners.tell_of(event)
        return event

    def _new(self, bucket: Bucket, key: str, obj: JsonObject) -> StoredObject:
        values = bucket.values(obj)
        stored = StoredObject(bucket.storage, key, obj, self.last + 1, bucket.row.fields, values, self._decoded)
        self.last += 1
        self.revision = self.last
        return stored

    def _remove(self, bucket: Bucket, current: StoredObject) -> Change:
        self.last += 1
        self.revision = self.last
        final = current.at_revision(self.revision)
        bucket.drop(current)
        self._forget(current)
        self._append(bucket, "DELETED", final, current)
        return Change(final, current, True)

    def _remember(self, stored: StoredObject, previous: StoredObject | None) -> None:
        if previous is not None and previous.owners != stored.owners:
            self._disown(previous)
        self._uids[stored.uid] = stored
        for uid in stored.owners:
            self._owned.setdefault(uid, {})[stored.storage, stored.key] = stored

    def _forget(self, stored: StoredObject) -> None:
        self._uids.pop(stored.uid, None)
        self._disown(stored)

    def _disown(self, stored: StoredObject) -> None:
        for uid in set(stored.owners):
            owned = self._owned[uid]
            del owned[stored.storage, stored.key]
            if not owned:
                del self._owned[uid]

    def _append(self, bucket: Bucket, kind: EventType, stored: StoredObject, previous: StoredObject | None) -> Event:
        event = Event(kind, stored, previous, self._clock.now())
        bucket.events.append(event)
        self._log.append(event)
        self._log_bytes += event.weight
        self._trim(event.time)
        self._listeners.tell(event)
        return event

    # history

    def subscribe(
        self,
        listener: Listener,
        storages: Iterable[Storage] | None = None,
        heartbeats: Iterable[Storage] = (),
        *,
        kept: bool = False,
    ) -> Callable[[], None]:
        return self._listeners.add(listener, storages, heartbeats)

    def _trim(self, now: float) -> None:
        events, size, seconds = self._limits
        entries, horizon = self._log, now - seconds
        while entries and (entries[0].time < horizon or len(entries) > events or self._log_bytes > size):
            self._drop_oldest()

    def _drop_oldest(self) -> Event:
        event = self._log.popleft()
        bucket = self._buckets[event.stored.storage]
        bucket.events.popleft()
        bucket.oldest = event.revision
        self._log_bytes -= event.weight
        if not bucket.events:
            self._buckets.tidy(bucket)
        return event

    def compact(self, revision: int) -> None:
        """Forget events up to and with a revision."""
        while self._log and self._log[0].revision <= revision:
            self._drop_oldest()
        self._buckets.compact(min(revision, self.revision))

    def check(self) -> None:
        """Assert that indexes, uids, owners and log agree with the objects (for tests)."""
        for storage, bucket in self._buckets.items():
            for key, stored in bucket.objects.items():
                assert (stored.storage, stored.key) == (storage, key)
                assert self._uids[stored.uid] is stored
                assert stored.object()["metadata"]["resourceVersion"] == str(stored.revision)
                assert stored.object() == orjson.loads(stored.raw), "somebody has changed a stored object"
                for field in bucket.row.indexed:
                    assert bucket.indexes[field, stored.value(field)][key] is stored
                for uid in stored.owners:
                    assert self._owned[uid][storage, key] is stored
            indexed = sum(len(entries) for entries in bucket.indexes.values())
            assert indexed == len(bucket.objects) * len(bucket.row.indexed)
            revisions = [event.revision for event in bucket.events]
            assert revisions == sorted(set(revisions))
            assert all(revision > bucket.oldest for revision in revisions)
        assert len(self._uids) == sum(len(bucket.objects) for bucket in self._buckets.values())
        assert [event.revision for event in self._log] == sorted(event.revision for event in self._log)
        assert self._log_bytes == sum(event.weight for event in self._log)


def same(one: JsonObject, other: JsonObject) -> bool:
    """Whether two objects are the same JSON; to Python alone, true equals 1."""
    return one == other and orjson.dumps(one, option=_SORTED) == orjson.dumps(other, option=_SORTED)


if TYPE_CHECKING:
    _held_to: type[Store] = MemoryStore

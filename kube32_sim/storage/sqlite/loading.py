"""The memory of a store, made of its file: the log is read once, in order, and nothing is decoded."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any

import orjson
from sortedcontainers import SortedDict

from kube32_sim.api.resources import ResourceTable
from kube32_sim.storage.collector import without_collector
from kube32_sim.storage.interface import Heartbeat, JsonObject, StoreError
from kube32_sim.storage.memory_bucket import Bucket
from kube32_sim.storage.objects import Event, Facts, StoredObject
from kube32_sim.storage.sqlite.file import Moved, StoreFile, damaged
from kube32_sim.storage.sqlite.ledger import Ledger
from kube32_sim.storage.sqlite.rows import Damaged, read, storage_of

if TYPE_CHECKING:
    from kube32_sim.storage.sqlite.store import SqliteStore


def load(store: SqliteStore, table: ResourceTable, file: StoreFile, ledger: Ledger) -> JsonObject:
    """Fill an empty store; answers the state that the file is in.  Raises StoreError, and closes the file then."""
    state = _begin(store) if file.fresh else _read(store, table, file, ledger)
    try:
        file.probe()
        file.stage((), (), ())
        file.stage_state(state)
        file.commit()
    except (sqlite3.Error, Moved) as error:
        file.close()
        raise StoreError(f"--store: {file.path} cannot be written: {error}; make room, or name another file") from error
    return state


def _read(store: SqliteStore, table: ResourceTable, file: StoreFile, ledger: Ledger) -> JsonObject:
    try:
        with without_collector():
            state = file.state()
            _Loading(store, table, ledger, state).read(file)
            store._private = file.private()
            if len(store._private) != state["private"]:
                raise Damaged("something is missing of what is kept besides objects")
            return state
    except (Damaged, sqlite3.Error, orjson.JSONDecodeError, UnicodeDecodeError) as error:
        file.close()
        raise StoreError(damaged(file.path, str(error))) from error


def _begin(store: SqliteStore) -> JsonObject:
    state: JsonObject = {"revision": store.revision, "time": store._clock.now(), "compacted": 0, "forgotten": 0}
    return {**state, "oldest": {}, "rows": 0, "total": 0, "private": 0}


class _Place:
    """A type, while it is loaded.  present: its objects so far, by key."""

    __slots__ = ("bucket", "known", "paths", "present")

    def __init__(self, bucket: Bucket, known: bool) -> None:
        self.bucket, self.known = bucket, known
        self.present: dict[str, StoredObject] = {}
        self.paths = bucket.row.fields


class _Loading:
    def __init__(self, store: SqliteStore, table: ResourceTable, ledger: Ledger, state: JsonObject) -> None:
        self._store, self._table, self._ledger, self._state = store, table, ledger, state
        self._forgotten: int = state["forgotten"]
        self._places: dict[str, _Place] = {}
        self._states: dict[int, StoredObject] = {}
        """All of them, for heartbeats that lean on one."""

    def read(self, file: StoreFile) -> None:
        store, state = self._store, self._state
        store.revision = store.last = state["revision"]
        store._buckets.compact(state["compacted"])
        for revision, about, raw, crc in file.log():
            self._take(revision, raw, read(revision, about, raw, crc))
        ledger = self._ledger
        if (ledger.rows, ledger.total) != (state["rows"], state["total"]):
            raise Damaged(f"there are {ledger.rows} rows where there should be {state['rows']}")
        for place, oldest in state["oldest"].items():
            bucket = self._place(place).bucket
            bucket.oldest = max(bucket.oldest, oldest)
        for loaded in self._places.values():
            self._settle(loaded)
        for event in store._log:
            ledger.needs(event.stored)
            if event.previous is not None:
                ledger.needs(event.previous)

    def _take(self, revision: int, raw: bytes, about: list[Any]) -> None:
        kind, name, key, time, *more = about
        place = self._place(name)
        previous = place.present.get(key)
        self._ledger.found(revision)
        if kind == "D":
            if previous is None:
                raise Damaged(f"the row before revision {revision} is missing")
            stored = previous.at_revision(revision)
            del place.present[key]
        else:
            stored = self._beaten(revision, more) if kind == "H" else self._stored(place, key, revision, raw, more)
            place.present[key] = self._states[revision] = stored
        if revision > self._forgotten:
            self._remember(place.bucket, Event(_TYPES[kind], stored, previous, time, more[1] if kind == "H" else ""))

    def _remember(self, bucket: Bucket, event: Event) -> None:
        if (event.type == "ADDED") != (event.previous is None):
            raise Damaged(f"the row before revision {event.revision} is missing")
        bucket.events.append(event)
        self._store._log.append(event)
        self._store._log_bytes += event.weight

    def _stored(self, place: _Place, key: str, revision: int, raw: bytes, more: list[Any]) -> StoredObject:
        facts = Facts(*more)
        paths = tuple(facts.fields)
        if paths == place.paths:
            paths = place.paths
        elif place.known:  # an earlier version of this program knew other ones
            paths = place.paths
            values = place.bucket.values(orjson.loads(raw))
            facts = facts._replace(fields=dict(zip(paths, values, strict=True)))
        storage = place.bucket.storage
        return StoredObject.restored(storage, key, revision, raw, facts, paths, self._store._decoded)

    def _beaten(self, revision: int, more: list[Any]) -> StoredObject:
        base, text, field, told, times = more
        found = self._states.get(base)
        if found is None:
            raise Damaged(f"the row of revision {base} is missing")
        self._ledger.leans(found)
        return found.beaten(revision, Heartbeat(field, told, times), text)

    def _place(self, name: str) -> _Place:
        found = self._places.get(name)
        if found is None:
            storage = storage_of(name)
            known = self._table.expect(storage)
            found = self._places[name] = _Place(self._store.bucket(storage), known)
        return found

    def _settle(self, place: _Place) -> None:
        """All rows are read: what is there is there."""
        store, bucket = self._store, place.bucket
        bucket.objects = SortedDict(place.present)
        for stored in place.present.values():
            self._ledger.needs(stored)
            store._uids[stored.uid] = stored
            for uid in stored.owners:
                store._owned.setdefault(uid, {})[stored.storage, stored.key] = stored
            for field in bucket.row.indexed:
                bucket.indexes.setdefault((field, stored.value(field)), {})[stored.key] = stored


_TYPES: Any = {"A": "ADDED", "M": "MODIFIED", "D": "DELETED", "H": "MODIFIED"}

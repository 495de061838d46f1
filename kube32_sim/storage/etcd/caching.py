"""The cache: objects in memory under etcd's revisions, changed only by what etcd tells.

Nothing here speaks to etcd.  `load` and `learn_anew` take in what was read at one revision, `hear` what a watch tells,
and `written` what etcd answers to a write of our own: where that is the very next revision there is nothing else to
wait for, and the watch, which tells of it too, comes second.
"""

from __future__ import annotations

import asyncio
import heapq
import logging
from collections.abc import Callable, Collection, Iterable
from contextvars import copy_context
from itertools import count
from typing import Any, NamedTuple

import orjson

from kube32_sim.api.resources import ResourceTable, ResourceType
from kube32_sim.clock import Clock
from kube32_sim.storage.etcd import waiting
from kube32_sim.storage.etcd.guards import Guards
from kube32_sim.storage.etcd.keys import Keys
from kube32_sim.storage.etcd.renewal import Found, Place, missed
from kube32_sim.storage.etcd.requests import Message
from kube32_sim.storage.interface import JsonObject, Storage, StoreError
from kube32_sim.storage.memory import MemoryStore
from kube32_sim.storage.memory_bucket import Bucket
from kube32_sim.storage.objects import Decoded, StoredObject

log = logging.getLogger(__name__)

DELETE = 1
"""The type of an event of etcd's that tells of an end."""


_NO_OBJECT = (ValueError, KeyError, TypeError, AttributeError)
"""What comes of decoding something else."""


class _Nowhere(Decoded):
    """Keeps no count: the object has no revision yet, and may never have one."""

    def keep(self, stored: StoredObject, obj: JsonObject) -> None:
        stored.decoded = obj


class Pending:
    """A write under way.  stored: becomes the cache's object, which spares decoding what etcd tells of it.

    name: its key in etcd.
    """

    __slots__ = ("content", "name", "place", "settled", "stored")

    def __init__(self, name: bytes, stored: StoredObject) -> None:
        self.name = name
        self.place: Place = stored.storage, stored.key
        self.stored = stored
        self.content = stored.content()
        self.settled = False


class Written(NamedTuple):
    """A write of our own that etcd has made.  stored: None where the object has gone.  guards: written with it."""

    place: Place
    stored: StoredObject | None
    guards: Collection[bytes]


class Cache(MemoryStore):
    """revision: up to which everything is known that has happened under the prefix."""

    optimistic = True

    def __init__(self, table: ResourceTable, clock: Clock, keys: Keys, **history: Any) -> None:
        super().__init__(table, clock, **history)
        self._types = table
        self.keys = keys
        self.guards = Guards(keys)
        self._pending: dict[bytes, list[Pending]] = {}
        self._written: dict[int, Written] = {}
        """By revision, those that the cache has not come to yet."""
        self._context = copy_context()
        self._nowhere = _Nowhere()
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        """For revisions to be heard of: a heap."""
        self._numbers = count()
        self._curious: list[asyncio.Future[None]] = []
        """Those who wait for anything to be heard."""

    def bucket(self, storage: Storage) -> Bucket:
        try:
            return self._buckets[storage]
        except KeyError:  # objects of a custom type may be known before its definition is served
            self._types.expect(storage)
            return super().bucket(storage)

    # what etcd tells

    def load(self, kvs: Iterable[Message], revision: int) -> None:
        """Begin with everything there is as of a revision.  Raises StoreError for what is no object."""
        for (storage, key), kv in self._objects(kvs):
            bucket = self.bucket(storage)
            try:
                stored = self._decode(bucket, key, kv.value, kv.mod_revision)
            except _NO_OBJECT as error:
                raise _no_object(kv, error) from None
            bucket.put(stored, None)
            self._remember(stored, None)
        self._at(revision)

    def learn_anew(self, kvs: Iterable[Message], revision: int) -> None:
        """Be told everything anew as of a revision; what was missed becomes events, history begins there."""
        found = {place: Found(kv.value, kv.create_revision, kv.mod_revision) for place, kv in self._objects(kvs)}
        known: dict[Place, int] = {
            (storage, key): stored.revision
            for storage in self.storages()
            for key, stored in self.bucket(storage).objects.items()
        }
        for event in missed(known, found, self.revision):
            self.revision = event.revision
            self._take(*event.place, event.content, event.revision)
        self._at(revision)

    def _at(self, revision: int) -> None:
        self.revision = revision
        self.compact(revision)
        self._written = {later: write for later, write in self._written.items() if later > revision}
        self._go_on()

    def _objects(self, kvs: Iterable[Message]) -> Iterable[tuple[Place, Message]]:
        """The objects among keys; what is of guards is remembered."""
        for kv in kvs:
            if kv.key.startswith(self.keys.objects):
                try:
                    place = self.keys.place(kv.key)
                except ValueError as error:
                    raise _no_object(kv, error) from None
                yield place, kv
            elif kv.key.startswith(self.keys.guards):
                self.guards.heard[kv.key] = kv.mod_revision

    def hear(self, response: Message) -> None:
        """Events of a watch, in order; all of one revision come together.  Raises StoreError where all has an end."""
        before = self.revision
        if response.header.revision <= before:  # it tells of nothing later: most often of writes of our own
            return
        for event in response.events:
            kv = event.kv
            revision = kv.mod_revision
            if revision <= before:
                continue
            self.revision = revision
            self._written.pop(revision, None)
            name = kv.key
            if name.startswith(self.keys.objects):
                try:
                    self._take_key(name, None if event.type == DELETE else kv.value, revision)
                except _NO_OBJECT:
                    log.exception("what etcd holds at %s is no object", name.decode(errors="replace"))
            elif name.startswith(self.keys.guards):
                self.guards.heard[name] = 0 if event.type == DELETE else revision  # by whom soever: no key, no revision
            elif name == self.keys.origin:
                raise StoreError(
                    f"somebody has deleted what etcd held under {self.keys.root.decode()}; restart kube32-sim"
                )
        self._go_on()

    def written(self, write: Written, revision: int) -> None:
        """A write of our own was made.  (What it sets off is not the writer's, so it runs in a context of its own.)"""
        if revision > self.revision:
            self._written[revision] = write
            if revision == self.revision + 1:
                self._context.run(self._go_on)

    def _go_on(self) -> None:
        """With our own writes that come next."""
        while (write := self._written.pop(self.revision + 1, None)) is not None:
            self.revision += 1
            for name in write.guards:
                self.guards.heard[name] = self.revision
            storage, key = write.place
            if write.stored is None:
                self._take(storage, key, None, self.revision)
            else:
                self._put(self.bucket(storage), write.stored)
        self._tell_waiting()

    def _take_key(self, name: bytes, content: bytes | None, revision: int) -> None:
        storage, key = self.keys.place(name)
        pending = self._pending.get(name)
        if pending is not None and content is not None:
            for write in pending:
                if write.content == content and not write.settled:
                    write.settled = True
                    write.stored.settle(revision, self._decoded)
                    self._put(self.bucket(storage), write.stored)
                    return
        self._take(storage, key, content, revision)

    def _take(self, storage: Storage, key: str, content: bytes | None, revision: int) -> None:
        bucket = self.bucket(storage)
        if content is not None:
            self._put(bucket, self._decode(bucket, key, content, revision))
            return
        current: StoredObject | None = bucket.objects.get(key)
        if current is not None:
            bucket.drop(current)
            self._forget(current)
            self._append(bucket, "DELETED", current.at_revision(revision), current)

    def _put(self, bucket: Bucket, stored: StoredObject) -> None:
        current: StoredObject | None = bucket.objects.get(stored.key)
        bucket.put(stored, current)
        self._remember(stored, current)
        self._append(bucket, "MODIFIED" if current is not None else "ADDED", stored, current)

    def _decode(self, bucket: Bucket, key: str, content: bytes, revision: int) -> StoredObject:
        obj = orjson.loads(content)
        _check_shape(obj, key, bucket.row)
        return StoredObject(bucket.storage, key, obj, revision, bucket.row.fields, bucket.values(obj), self._decoded)

    # writes under way

    def begin(self, bucket: Bucket, key: str, obj: JsonObject) -> Pending:
        """obj: the store's from now on."""
        values = bucket.values(obj)
        stored = StoredObject(bucket.storage, key, obj, self.revision + 1, bucket.row.fields, values, self._nowhere)
        made = Pending(self.keys.object(bucket.storage, key), stored)
        self._pending.setdefault(made.name, []).append(made)
        return made

    def settle(self, write: Pending, revision: int) -> None:
        """It was made, whether the cache has heard of it or not."""
        if not write.settled:
            write.settled = True
            write.stored.settle(revision, self._decoded)

    def end(self, write: Pending) -> None:
        pending = self._pending[write.name]
        pending.remove(write)
        if not pending:
            del self._pending[write.name]

    # waiting

    async def heard(self, revision: int, seconds: float) -> bool:
        """Wait until everything up to a revision is known; False where it is not in time."""
        if revision <= self.revision:
            return True
        future = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (revision, next(self._numbers), future))
        if await waiting.patient(future, seconds):
            return True
        self._waiting = [entry for entry in self._waiting if not entry[2].done()]
        heapq.heapify(self._waiting)
        return False

    async def until(self, condition: Callable[[], bool], seconds: float) -> bool:
        """Wait until something has been heard that makes a condition true; False where it is not in time."""
        end = waiting.now() + seconds
        while not condition():
            future = asyncio.get_running_loop().create_future()
            self._curious.append(future)
            if not await waiting.patient(future, end - waiting.now()):
                self._curious = [other for other in self._curious if not other.done()]
                return condition()
        return True

    def _tell_waiting(self) -> None:
        while self._waiting and self._waiting[0][0] <= self.revision:
            _release(heapq.heappop(self._waiting)[2])
        curious, self._curious = self._curious, []
        for future in curious:
            _release(future)


def _check_shape(obj: JsonObject, key: str, row: ResourceType) -> None:
    """That it is an object as this program writes them, at its own key.  Raises what is in `_NO_OBJECT`."""
    metadata = obj["metadata"]
    namespace, _, name = key.rpartition("/")
    if metadata["name"] != name or metadata.get("namespace", "") != namespace:
        raise ValueError("metadata.name or metadata.namespace is not that of the key")
    if metadata["uid"].__class__ is not str:
        raise ValueError("metadata.uid is no text")
    _check_objects(metadata, "labels", "annotations")
    if row.schema:  # those of custom types, which have none here, may be anything
        _check_objects(obj, "spec", "status")


def _check_objects(of: JsonObject, *names: str) -> None:
    for name in names:
        if not isinstance(of.get(name, {}), dict):
            raise ValueError(f"{name} is no object")


def _no_object(kv: Message, error: Exception) -> StoreError:
    return StoreError(f"--store: what etcd holds at {kv.key.decode(errors='replace')} is no object: {_told(error)}")


def _told(error: Exception) -> str:
    return f"there is no {error}" if isinstance(error, KeyError) else str(error)


def _release(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)

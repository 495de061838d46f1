"""The store on etcd: a cache that etcd's watch feeds, and writes as transactions.

The cache changes only when etcd tells of a change, in etcd's order, under etcd's revisions; so every process that
follows the same prefix sees the same history.  A write is decided on what the cache holds, and made only if the object
was last written at the revision that the decision rests on; otherwise the cache waits for what outran it, and it is
decided anew.  It is answered when the cache has heard of it: who writes reads what he wrote.

What is decided on the cache and needs no write (a refusal, a change that changes nothing) is answered when etcd has
confirmed that the cache knew the object's last state.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

import orjson

from kube32_sim.api.resources import ResourceTable
from kube32_sim.clock import Clock, VirtualClock
from kube32_sim.etcd_access import PLAIN, EtcdAccess
from kube32_sim.ids import Ids
from kube32_sim.storage.etcd import requests, waiting
from kube32_sim.storage.etcd.caching import Cache, Pending, Written
from kube32_sim.storage.etcd.connection import Connection
from kube32_sim.storage.etcd.following import Following
from kube32_sim.storage.etcd.guards import Block, block
from kube32_sim.storage.etcd.keys import FORMAT, ORIGIN, Keys
from kube32_sim.storage.etcd.renewal import Place
from kube32_sim.storage.etcd.requests import Message, Transaction
from kube32_sim.storage.fencing import LEADING, TAKING, Deposed
from kube32_sim.storage.interface import (
    Change,
    Heartbeat,
    JsonObject,
    KeyExists,
    KeyMissing,
    Outrun,
    Remove,
    Storage,
    Store,
    StoreError,
    Unavailable,
    Updater,
)
from kube32_sim.storage.memory import same
from kube32_sim.storage.objects import Ready, StoredObject

log = logging.getLogger(__name__)

PAGE = 500
"""Keys that are read at once."""
RETURN = 1.0
"""Seconds that a write waits for an etcd that is away: another member answers well before that."""
REACH = 3.0
"""Seconds that a request waits for a revision that others were told of (as upstream)."""
COMPACTION = 300.0
"""Seconds between two compactions; each forgets what is older than the last one (as upstream)."""


class EtcdStore(Cache):
    """Made by `open`."""

    def __init__(self, table: ResourceTable, clock: Clock, connection: Connection, prefix: str, **history: Any) -> None:
        super().__init__(table, clock, Keys(prefix), **history)
        self._etcd = connection
        self._if_same_history = b""
        """Of every write's transaction: encoded, as it is the same for all."""
        self._following = Following(connection, self.keys, lambda: self.revision, self.hear, self._begin_anew)
        self._compacting: asyncio.Task[None] | None = None

    @classmethod
    async def open(
        cls,
        table: ResourceTable,
        clock: Clock,
        endpoints: Sequence[tuple[str, int]],
        prefix: str,
        *,
        access: EtcdAccess = PLAIN,
        compaction: float = COMPACTION,
        **history: Any,
    ) -> EtcdStore:
        """endpoints: (host, port) of each member.  prefix: see `Keys`.  history: see `MemoryStore`.

        Raises StoreError.
        """
        connection = Connection(endpoints, access)
        store = cls(table, clock, connection, prefix, **history)
        try:
            connection.open()
            await store._check_format()
            origin = store._following.origin = await store.keep(ORIGIN, lambda: Ids().uid().encode())
            store._if_same_history = Transaction().if_says(store.keys.origin, origin).encoded()
            kvs, revision = await store._read()
            store.load(kvs, revision)
        except Unavailable as error:
            await connection.close()
            raise StoreError(f"--store: {error.message}") from None
        except BaseException:
            await connection.close()
            raise
        if isinstance(clock, VirtualClock):
            for kv in kvs:
                if kv.key == store.keys.clock:
                    clock.resume(float(kv.value))
        store._following.start()
        store._compacting = asyncio.get_running_loop().create_task(store._compact(compaction), name="compacting etcd")
        return store

    @property
    def trouble(self) -> str:
        """Why etcd's changes are not heard now; "" while all is well."""
        return self._following.trouble

    async def close(self) -> None:
        if self._compacting is not None:
            self._compacting.cancel()
            await asyncio.wait([self._compacting])
        await self._following.stop()
        await self._etcd.close()

    # following

    async def _check_format(self) -> None:
        name = self.keys.format
        begun = Transaction().if_at(name, 0).put(name, FORMAT).else_look(name)
        response = await self._etcd.txn(begun.message)
        kv = None if response.succeeded else requests.found(response, 0)
        if kv is not None and kv.value != FORMAT:
            place, found = self.keys.root.decode(), kv.value.decode(errors="replace")
            raise StoreError(
                f"--store: what etcd at {self._etcd.name} holds under {place} has the format {found}, and this version "
                f"knows {FORMAT.decode()} only: use the version that wrote it, or another prefix"
            )

    async def _read(self) -> tuple[list[Message], int]:
        """(everything under the prefix, as of which revision).

        The revision is that of a write of our own, which the others hear of too: a client that was told of it here may
        ask them for it.
        """
        opened = await self._etcd.txn(Transaction().put(self.keys.opened, b"").message)
        revision, kvs, start = int(opened.header.revision), [], self.keys.root
        while True:
            page = await self._etcd.range(requests.page(start, self.keys.end, revision, PAGE))
            kvs.extend(page.kvs)
            if not page.more:
                return kvs, revision
            start = page.kvs[-1].key + b"\0"

    async def _begin_anew(self) -> None:
        self.learn_anew(*await self._read())

    async def _compact(self, period: float) -> None:
        """Every process does: that another was quicker does not matter."""
        while True:
            revision = self.revision
            await waiting.pause(period)
            try:
                await self._etcd.compact(requests.compaction(revision))
            except Unavailable as error:
                log.debug("not compacted: %s", error.message)

    async def reached(self, revision: int) -> bool:
        return await self.heard(revision, REACH)

    # besides objects

    async def keep(self, name: str, make: Callable[[], bytes]) -> bytes:
        key = self.keys.private(name)
        kvs = (await self._etcd.range(requests.one(key, whole=True))).kvs
        if kvs:
            return bytes(kvs[0].value)
        made = make()
        first = Transaction().if_at(key, 0).put(key, made).else_look(key)
        response = await self._etcd.txn(first.message)
        kv = None if response.succeeded else requests.found(response, 0)
        return made if kv is None else bytes(kv.value)

    async def keep_time(self, now: float) -> None:
        await self._etcd.txn(Transaction().put(self.keys.clock, repr(now).encode()).message)

    def deciding(self, *subjects: str) -> AbstractAsyncContextManager[None]:
        return self.guards.deciding(subjects) if subjects else super().deciding()

    def affecting(self, *subjects: str) -> AbstractAsyncContextManager[None]:
        return self.guards.affecting(subjects) if subjects else super().affecting()

    # writes

    async def create(self, storage: Storage, key: str, obj: JsonObject) -> Change:
        bucket = self.bucket(storage)
        while True:
            current: StoredObject | None = bucket.objects.get(key)
            if current is not None:
                if await self._is_last(storage, key, current):
                    raise KeyExists(key)
                continue
            write = self.begin(bucket, key, obj)
            if await self._made(write, None):
                return Change(write.stored, None, True)
            obj = write.stored.copy() if write.settled else write.stored.object()

    async def create_ready(self, storage: Storage, key: str, known: Ready) -> Change:
        return await self.create(storage, key, orjson.loads(known.content))

    async def update(self, storage: Storage, key: str, change: Updater, *, always: bool = False) -> Change:
        bucket = self.bucket(storage)
        while True:
            current: StoredObject | None = bucket.objects.get(key)
            if current is None:
                if await self._is_last(storage, key, None):
                    raise KeyMissing(key)
                continue
            try:
                result = change(current)
            except Exception:
                if await self._is_last(storage, key, current):
                    raise
                continue
            if isinstance(result, Remove):
                if (final := await self._removed(current)) is not None:
                    return Change(final, current, True)
                continue
            if result is not None:
                result["metadata"]["resourceVersion"] = str(current.revision)
            if result is None or (not always and same(result, current.object())):
                if await self._is_last(storage, key, current):
                    return Change(current, current, False)
                continue
            write = self.begin(bucket, key, result)
            if await self._made(write, current):
                return Change(write.stored, current, True)

    async def delete(self, storage: Storage, key: str, check: Callable[[StoredObject], None]) -> Change:
        def removing(current: StoredObject) -> Remove:
            check(current)
            return Remove()

        return await self.update(storage, key, removing)

    def pulse(self, storage: Storage, key: str, revision: int, heartbeat: Heartbeat) -> None:
        """A write waits here, always."""
        return

    async def _made(self, write: Pending, current: StoredObject | None) -> bool:
        """Make a create or update; False where it was outrun, and the cache has heard of what outran it."""
        wanted = Transaction().put(write.name, write.content)
        if term := TAKING.get():
            wanted.put(self.keys.leader, term.encode())
        try:
            return await self._transact(write.name, write.place, current, wanted, write) > 0
        finally:
            self.end(write)

    async def _removed(self, current: StoredObject) -> StoredObject | None:
        """The last state of an object that has gone; None where that was outrun."""
        place = current.storage, current.key
        name = self.keys.object(*place)
        revision = await self._transact(name, place, current, Transaction().delete(name), None)
        return current.at_revision(revision) if revision else None

    async def _transact(
        self, name: bytes, place: Place, current: StoredObject | None, wanted: Transaction, write: Pending | None
    ) -> int:
        """The revision of a write; 0 where it was outrun.  Raises Outrun, Deposed, Unavailable.

        An etcd that is known not to answer is sent nothing: it might store that long after we said that it has failed.
        """
        if self.trouble and not await self._following.comes_back(RETURN):
            raise Unavailable(f"{self.trouble}; nothing was written")
        before, decision, term = self.revision, block(), LEADING.get()
        wanted.if_at(name, current.revision if current is not None else 0)
        guards = decision.at if decision is not None else {}
        for guard, last in guards.items():
            if decision is not None and decision.rests:
                wanted.if_at(guard, last)
            wanted.put(guard, b"")
        if term:
            wanted.if_says(self.keys.leader, term.encode())
        response = await self._etcd.txn(wanted.merge(self._if_same_history).message)
        if not response.succeeded:
            await self._not_made(name, place, current, decision, term)
            return 0
        revision = int(response.header.revision)
        if revision <= before:
            raise Unavailable(f"{self._lost()}; what was to be written has been stored there")
        if decision is not None:
            decision.written(revision)
        if write is not None:
            self.settle(write, revision)
        self.written(Written(place, write.stored if write is not None else None, guards), revision)
        if revision > self.revision:
            await self.heard(revision, self._etcd.patience)
        return revision

    async def _not_made(
        self, name: bytes, place: Place, current: StoredObject | None, decision: Block | None, term: str
    ) -> None:
        """Find out why, and catch up with what outran a write.  Raises Outrun, Deposed, Unavailable.

        It is asked afterwards: few writes are outrun, and all of them would carry the question.  What stood in the way
        may have gone again by then; then there is nothing to catch up with, and the write may be tried anew.
        """
        guards = decision.at if decision is not None else {}
        asked = Transaction().look(self.keys.origin, whole=True).look(self.keys.leader, whole=True).look(name)
        for guard in guards:
            asked.look(guard)
        try:
            response = await self._etcd.look(asked.message)
        except Unavailable as error:
            raise Unavailable(f"{error.message}; nothing was written") from None
        origin, leader = requests.found(response, 0), requests.found(response, 1)
        if origin is None or origin.value != self._following.origin:
            raise Unavailable(f"{self._lost()}; nothing was written")
        if term and (leader is None or leader.value != term.encode()):
            raise Deposed(term)
        at, found = current.revision if current is not None else 0, requests.revision_found(response, 2)
        if found != at:
            await self._moved(place, at, found)
        if decision is not None and decision.rests:
            last = {guard: requests.revision_found(response, number) for number, guard in enumerate(guards, 3)}
            await self._decided_elsewhere(decision, last, anew=current is None)

    async def _decided_elsewhere(self, decision: Block, at: Mapping[bytes, int], *, anew: bool) -> None:
        """Catch up with decisions of others, the last of which were made at such revisions.

        anew: they are to be heeded by whoever decides.
        """
        if at == decision.at:
            return
        heard = self.guards.heard
        caught_up = await self.until(
            lambda: all(heard.get(name, 0) >= revision for name, revision in at.items()), self._etcd.patience
        )
        if not caught_up:
            raise self._behind()
        self.guards.look_again(decision)
        if anew:
            raise Outrun

    async def _is_last(self, storage: Storage, key: str, current: StoredObject | None) -> bool:
        """Whether that is the object's last state; where it is not, the cache has heard of a later one."""
        at = current.revision if current is not None else 0
        kvs = (await self._etcd.range(requests.one(self.keys.object(storage, key)))).kvs
        found = kvs[0].mod_revision if kvs else 0
        if found == at:
            return True
        await self._moved((storage, key), at, found)
        return False

    async def _moved(self, place: Place, at: int, found: int) -> None:
        """Wait until the cache has heard that an object it knows at one revision is at another; 0: it is not there."""

        def gone() -> bool:
            there = self.get(*place)
            return there is None or there.revision != at

        patience = self._etcd.patience
        if not await (self.heard(found, patience) if found else self.until(gone, patience)):
            raise self._behind()

    def _lost(self) -> str:
        return f"etcd at {self._etcd.name} has lost data that was seen here before; restart kube32-sim"

    def _behind(self) -> Unavailable:
        why = f": {self.trouble}" if self.trouble else ""
        return Unavailable(f"this server has not heard yet of what others have written to etcd{why}")


if TYPE_CHECKING:
    _held_to: type[Store] = EtcdStore

"""A store that begins with what another has at this moment, and goes its own way from there.

Objects and events never change, so both hold the same ones; only the containers in which they are found are copied:
some hundred bytes an object.  Whatever kept the bytes of the first, the branch is in memory.
"""

from __future__ import annotations

from collections.abc import Callable

from kube32_sim.api.resources import ResourceTable, ResourceType
from kube32_sim.clock import Clock
from kube32_sim.storage.interface import JsonObject, Storage
from kube32_sim.storage.memory import MemoryStore
from kube32_sim.storage.memory_bucket import Bucket


class BranchedStore(MemoryStore):
    """Made by `branched`.  Its listeners are its own, and so is the room for decoded objects."""

    def __init__(self, table: ResourceTable, clock: Clock) -> None:
        super().__init__(table, clock)
        self._as_they_are: dict[Storage, tuple[str, ...]] = {}
        """Types whose rows the table of the branch may not have yet, by the fields that are read: objects fit them."""

    def take(self, other: MemoryStore, table: ResourceTable) -> None:
        """All that another store holds: once, before anything else."""
        self.revision = self.last = other.revision
        self._limits = other._limits
        self._buckets.oldest = other._buckets.oldest
        for storage, bucket in other._buckets.items():
            table.expect(storage)
            self._buckets[storage] = _copied(bucket)
            self._as_they_are[storage] = (*bucket.row.fields, *bucket.row.indexed)
        self._log = other._log.copy()
        self._log_bytes = other._log_bytes
        self._uids = other._uids.copy()
        self._owned = {uid: owned.copy() for uid, owned in other._owned.items()}

    def retype(self, storage: Storage, row: ResourceType, change: Callable[[JsonObject], JsonObject]) -> None:
        """The first time the row is the one that the objects are made for: a definition's that came with them."""
        bucket = self._buckets.get(storage)
        if bucket is not None and self._as_they_are.pop(storage, None) == (*row.fields, *row.indexed):
            indexes = bucket.indexes
            bucket.retype(row)
            bucket.indexes = indexes
            return
        super().retype(storage, row, change)


def branched(store: MemoryStore, table: ResourceTable, clock: Clock) -> BranchedStore:
    """What a store holds now, at once: no turn of anybody else comes between.

    table: of the branch, for types come and go on either side.  clock: as late as that of the store.
    """
    made = BranchedStore(table, clock)
    made.take(store, table)
    return made


def _copied(bucket: Bucket) -> Bucket:
    made = Bucket(bucket.storage, bucket.row)
    made.objects.update(bucket.objects)
    made.indexes = {place: entries.copy() for place, entries in bucket.indexes.items()}
    made.events = bucket.events.copy()
    made.oldest = bucket.oldest
    return made

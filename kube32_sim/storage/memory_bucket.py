"""The objects of one type in the memory store, and all types of which it has or had some."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from sortedcontainers import SortedDict

from kube32_sim.api.meta import field_reader
from kube32_sim.api.resources import ResourceTable, ResourceType
from kube32_sim.storage.interface import Storage
from kube32_sim.storage.objects import Event, StoredObject


class Bucket:
    """The objects of one type: in key order, by indexed field, and their part of the log."""

    def __init__(self, storage: Storage, row: ResourceType) -> None:
        self.storage = storage
        self.row = row
        self.values = field_reader(row)
        self.objects: SortedDict = SortedDict()
        self.indexes: dict[tuple[str, str], dict[str, StoredObject]] = {}
        self.events: deque[Event] = deque()
        self.oldest = 0

    def retype(self, row: ResourceType) -> None:
        """The row is another one: whatever is here is to be put anew."""
        self.row, self.values, self.indexes = row, field_reader(row), {}

    def put(self, stored: StoredObject, previous: StoredObject | None) -> None:
        self.objects[stored.key] = stored
        for field in self.row.indexed:
            value = stored.value(field)
            if previous is not None and previous.value(field) != value:
                self._unindex(previous, field)
            self.indexes.setdefault((field, value), {})[stored.key] = stored

    def renew(self, stored: StoredObject) -> None:
        """In the place of the one of its key, which has the same metadata and fields."""
        dict.__setitem__(self.objects, stored.key, stored)  # the order of keys stays
        for field in self.row.indexed:
            self.indexes[field, stored.value(field)][stored.key] = stored

    def drop(self, stored: StoredObject) -> None:
        del self.objects[stored.key]
        for field in self.row.indexed:
            self._unindex(stored, field)

    def _unindex(self, stored: StoredObject, field: str) -> None:
        entries = self.indexes[field, stored.value(field)]
        del entries[stored.key]
        if not entries:
            del self.indexes[field, stored.value(field)]

    def count_after(self, namespace: str, after: str) -> int:
        end = self.objects.bisect_left(f"{namespace}0") if namespace else len(self.objects)
        return int(end - self.objects.bisect_right(after))

    def keys(self, namespace: str, after: str | None = None) -> Iterator[str]:
        if not namespace:
            return iter(self.objects if after is None else self.objects.irange(after, None, (False, True)))
        low = f"{namespace}/" if after is None else after
        return iter(self.objects.irange(low, f"{namespace}0", (False, False)))  # "0" follows "/"


class Buckets(dict[Storage, Bucket]):
    """By type; one is made when it is asked for, and forgotten with the last that is known of a type that has gone."""

    def __init__(self, table: ResourceTable) -> None:
        super().__init__()
        self._table = table
        self.oldest = 0
        """Of types that nothing is known of: what happened up to then may have been forgotten."""

    def __missing__(self, storage: Storage) -> Bucket:
        made = self[storage] = Bucket(storage, self._table.by_storage(storage))
        made.oldest = self.oldest
        return made

    def compact(self, revision: int) -> None:
        """What happened up to a revision is forgotten, whatever the type."""
        self.oldest = max(self.oldest, revision)
        for bucket in tuple(self.values()):
            bucket.oldest = max(bucket.oldest, self.oldest)
            self.tidy(bucket)

    def tidy(self, bucket: Bucket) -> None:
        """Types come and go, under ever new names: one that is not served any more, and of which nothing is left."""
        if bucket.objects or bucket.events or self._table.serves(bucket.storage):
            return
        self.oldest = max(self.oldest, bucket.oldest)
        self.pop(bucket.storage, None)

"""What every store promises, whatever keeps the bytes: memory, a SQLite file, etcd.

A store holds immutable `Stored` objects under (storage, key), hands out one monotonic revision over all of them, and
keeps the most recent events so that a watch can start in the past.  Reads are answered at once from memory; writes are
coroutines, because a durable store waits before it answers.  The functions passed to `update` and `delete` are plain
functions: between reading the current object and appending the new one nothing else runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

JsonObject = dict[str, Any]
Storage = tuple[str, str]
"""(group, plural) of a type, such as ("", "pods")."""

EventType = Literal["ADDED", "MODIFIED", "DELETED"]


class KeyExists(Exception):
    """create: something is stored under that key already."""


class KeyMissing(Exception):
    """update, delete: nothing is stored under that key."""


class Compacted(Exception):
    """The history asked for is no longer kept.  `oldest`: the oldest revision a watch may start after."""

    def __init__(self, requested: int, oldest: int) -> None:
        super().__init__(f"revision {requested} is compacted; oldest kept is {oldest}")
        self.requested = requested
        self.oldest = oldest


class Remove:
    """Returned by an `update` function: the object goes, in the state it was last stored in."""


class Stored(Protocol):
    """One revision of one object.  Never changes."""

    storage: Storage
    key: str
    namespace: str
    name: str
    uid: str
    revision: int
    raw: bytes
    """JSON without apiVersion and kind, metadata first, resourceVersion first in it."""
    labels: dict[str, str]
    fields: dict[str, str]
    """Selectable fields besides metadata.name and metadata.namespace."""
    owners: tuple[str, ...]
    """uids of the ownerReferences."""
    deleting: bool

    def object(self) -> JsonObject:
        """The object, shared: never change it."""

    def copy(self) -> JsonObject:
        """The object, a fresh copy that the caller owns."""


@dataclass(frozen=True, slots=True)
class Change:
    """What a write did.  `changed` is False for an update that changed nothing."""

    stored: Any
    previous: Any | None
    changed: bool


Updater = Callable[[Any], JsonObject | Remove | None]
"""(current Stored) -> the new object, `Remove`, or None for no change; raises to refuse."""


class Store(Protocol):
    revision: int
    """Of the newest event; 0 only before the very first."""
    oldest: int
    """A watch may start after this revision, or any later one."""

    def get(self, storage: Storage, key: str) -> Any | None: ...

    def list(self, storage: Storage, namespace: str = "") -> Sequence[Any]: ...

    def by_field(self, storage: Storage, field: str, value: str) -> Sequence[Any]: ...

    def by_owner(self, uid: str) -> Sequence[Any]: ...

    def snapshot(self, storage: Storage, namespace: str, revision: int) -> Sequence[Any]:
        """The state as of a revision; raises Compacted."""

    def events_since(self, storage: Storage, revision: int) -> Sequence[Any]:
        """Events of a type with a greater revision, oldest first; raises Compacted."""

    async def create(self, storage: Storage, key: str, obj: JsonObject) -> Change: ...

    async def update(self, storage: Storage, key: str, change: Updater) -> Change: ...

    async def delete(self, storage: Storage, key: str, check: Callable[[Any], None]) -> Change: ...

    def subscribe(self, listener: Callable[[Any], None]) -> Callable[[], None]:
        """Call `listener(event)` at every append, in order, before the write returns; answers how to stop."""

    def compact(self, revision: int) -> None: ...

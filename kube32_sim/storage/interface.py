"""What every store promises, whatever keeps the bytes: memory, a SQLite file, etcd.

A store holds immutable `Stored` objects under (storage, key), hands out one monotonic revision over all of them, and
keeps the most recent events so that a watch can start in the past.  Reads are answered at once from memory; writes are
coroutines, because a durable store waits before it answers.  The functions passed to `update` and `delete` are plain
functions: between reading the current object and appending the new one nothing else runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

if TYPE_CHECKING:
    from kube32_sim.api.resources import ResourceType
    from kube32_sim.storage.objects import Event, StoredObject

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


class Heartbeat(NamedTuple):
    """A field outside of the metadata that tells the time of an object's last heartbeat, so many times the same."""

    field: str
    text: str
    times: int = 1


class Pulse(Protocol):
    """Writes the heartbeats of one object, at once and without a word to those who subscribed to changes that matter.

    revision: of the object after the last beat.
    """

    revision: int

    def beat(self, text: str) -> bool:
        """Write a new time.  False where anybody else has written the object meanwhile: this pulse is over then."""


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

    stored: StoredObject
    previous: StoredObject | None
    changed: bool


Updater = Callable[["StoredObject"], JsonObject | Remove | None]
"""(current Stored) -> the new object, `Remove`, or None for no change; raises to refuse."""


class Store(Protocol):
    """Types are named by their storage, objects by key: `namespace/name`, or `name` where cluster-scoped."""

    revision: int
    """Of the newest event, whatever its type."""

    # the present

    def get(self, storage: Storage, key: str) -> StoredObject | None: ...

    def list(self, storage: Storage, namespace: str = "") -> Sequence[StoredObject]:
        """In key order."""

    def unordered(self, storage: Storage) -> Iterable[StoredObject]:
        """Everywhere, in no order, as quickly as can be."""

    def by_field(self, storage: Storage, field: str, value: str) -> Sequence[StoredObject]:
        """In key order; the field is one of `indexed`."""

    def by_owner(self, uid: str) -> Sequence[StoredObject]:
        """Objects of any type that name the uid among their ownerReferences."""

    def by_uid(self, uid: str) -> StoredObject | None: ...

    def indexed(self, storage: Storage) -> Sequence[str]:
        """The fields by which objects of a type are found."""

    def storages(self) -> Sequence[Storage]:
        """Types of which something is or was stored."""

    def count(self, storage: Storage) -> int: ...

    def count_in(self, storage: Storage, namespace: str) -> int: ...

    def count_after(self, storage: Storage, namespace: str, after: str) -> int: ...

    # the past

    def page(self, storage: Storage, namespace: str, revision: int, after: str | None = None) -> Iterator[StoredObject]:
        """Objects as of a revision in key order, from beyond the key `after`; raises Compacted."""

    def events_since(self, storage: Storage, revision: int) -> Sequence[Event]:
        """Events of a type with a greater revision, oldest first; raises Compacted."""

    def oldest(self, storage: Storage) -> int:
        """A watch of the type may start after this revision, or any later one."""

    def compact(self, revision: int) -> None:
        """Forget the events up to and with a revision."""

    # writes

    async def create(self, storage: Storage, key: str, obj: JsonObject) -> Change:
        """Raises KeyExists."""

    async def update(self, storage: Storage, key: str, change: Updater, *, always: bool = False) -> Change:
        """Raises KeyMissing, and what `change` raises.  always: a write that changes nothing is a new revision too."""

    async def delete(self, storage: Storage, key: str, check: Callable[[StoredObject], None]) -> Change:
        """Raises KeyMissing, and what `check` raises."""

    def retype(self, storage: Storage, row: ResourceType, change: Callable[[JsonObject], JsonObject]) -> None:
        """A type's row is another one now: fields are read anew.

        change: what an object is from now on, of a copy of what it was; this is no write, and no revision.
        """

    def pulse(self, storage: Storage, key: str, revision: int, heartbeat: Heartbeat) -> Pulse | None:
        """The pulse of an object that is of this revision and tells of its last heartbeat in this way.

        None where that is not so, or the store cannot write without waiting: an `update` can always.
        """

    def subscribe(
        self,
        listener: Callable[[Event], None],
        storages: Iterable[Storage] | None = None,
        heartbeats: Iterable[Storage] = (),
    ) -> Callable[[], None]:
        """Call `listener(event)` at every append (of these types), before the write returns; answers how to stop.

        heartbeats: the types at whose heartbeats (see `pulse`) too.
        """

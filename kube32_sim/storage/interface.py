"""What every store promises, whatever keeps the bytes: memory, a SQLite file, etcd.

A store holds immutable `Stored` objects under (storage, key), hands out one monotonic revision over all of them, and
keeps the most recent events so that a watch can start in the past.  Reads are answered at once from memory.

There are two kinds.  In one, a write is done the moment it is decided, and whoever is told outside waits until it is
kept for good (`kept`); between reading the current object and appending the new one nothing else runs.  The other
(`optimistic`) shares its objects with other processes: a write is decided on what this process knows, and where that
was outrun it is decided anew, so the functions passed to `update` and `delete` may be called again; decisions that rest
on more than the one object are made while nobody else makes them (`deciding`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from kube32_sim.api.errors import ApiError

if TYPE_CHECKING:
    from kube32_sim.api.resources import ResourceType
    from kube32_sim.storage.objects import Event, Ready, StoredObject

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


class Unavailable(ApiError):
    """What is written cannot be kept now, and is not done; the message says why."""

    def __init__(self, why: str) -> None:
        super().__init__(503, "ServiceUnavailable", why)


class StoreError(Exception):
    """A store that cannot be opened; the message names it, says why and what to do.  Nothing in it was changed."""


class Outrun(Exception):
    """Others have decided on the same things meanwhile: decide anew.  Nothing was written."""


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
    optimistic: bool
    """Others write to it too (see above)."""
    deferred: bool
    """A write is done before it is kept for good, and may be undone until then."""

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

    # durability

    @property
    def durable(self) -> int:
        """The newest revision that is kept for good; what is later may still be undone, as if it had never been."""

    @property
    def trouble(self) -> str:
        """What keeps it from working at the moment; "" while it does."""

    async def kept(self, revision: int) -> None:
        """Wait until everything up to a revision is kept for good; raises Unavailable where that was undone."""

    def was_undone(self, revision: int) -> bool:
        """Whether it could not be kept, so that it is as if it had never been."""

    async def reached(self, revision: int) -> bool:
        """Wait (not for long) until the store has heard of a revision; False where it has not."""

    async def keep(self, name: str, make: Callable[[], bytes]) -> bytes:
        """What is kept under a name besides the objects (keys, certificates), made at the first time.

        Kept for good when this answers.
        """

    async def keep_time(self, now: float) -> None:
        """Keep the time that a virtual clock has reached (seconds since 1970); raises Unavailable."""

    async def close(self) -> None:
        """Everything written is kept when this answers; nothing is written any more."""

    # writes

    def together(self) -> AbstractContextManager[None]:
        """What is written meanwhile is kept for good as a whole or undone, where writes are `deferred`.

        Nothing else may have its turn before the end.
        """

    def deciding(self, *subjects: str) -> AbstractAsyncContextManager[None]:
        """While it lasts nobody else in this process decides on these (say "nodes"), where writes can be outrun.

        What is written meanwhile is written only if nobody elsewhere has written about the same subjects since.
        """

    def affecting(self, *subjects: str) -> AbstractAsyncContextManager[None]:
        """What is written meanwhile rests on nothing, but whoever decides on these without knowing it is outrun."""

    async def create(self, storage: Storage, key: str, obj: JsonObject) -> Change:
        """Raises KeyExists."""

    async def create_ready(self, storage: Storage, key: str, known: Ready) -> Change:
        """The same, of an object that is encoded already.  Its values are those of the type's selectable fields."""

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
        *,
        kept: bool = False,
    ) -> Callable[[], None]:
        """Call `listener(event)` at every append (of these types), before the write returns; answers how to stop.

        heartbeats: the types at whose heartbeats (see `pulse`) too.  kept: not before it is kept for good.  Others are
        told of writes that are undone by events that do the opposite.
        """

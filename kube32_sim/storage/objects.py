"""Stored objects and events: immutable, each carrying its encoded bytes, made once and shared by every reader.

`raw` is the object's JSON without apiVersion and kind, `metadata` first and `resourceVersion` first in that:

    {"metadata":{"resourceVersion":"42","name":"web",…},"spec":…}

so a new revision of unchanged content (a DELETED event) and the metadata alone (PartialObjectMetadata) are slices.
Decoded objects are kept only for the most recently used (`Decoded`): a dict takes several times the room of its bytes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from sys import intern
from typing import Any, NamedTuple

import orjson

from kube32_sim.storage.interface import EventType, Heartbeat, JsonObject, Storage

_HEAD = b'{"metadata":{"resourceVersion":"%d",'
_BARE_HEAD = b'{"metadata":{'
_META_START = len(b'{"metadata":')
_MANAGED, _TIME = b'"managedFields":[', b'"time":"'
"""Before the entries, which come last in metadata, and before the time of each: quotes in texts are escaped."""
BEAT_SIZE = 256
"""Bytes that a heartbeat in the history takes, roughly."""


def _stamp(raw: bytes, end: int) -> int:
    """Where the time of the last write that managedFields tell of begins; 0 where they tell of none.

    end: of the metadata.
    """
    entries = raw.rfind(_MANAGED, 0, end)
    place = -1 if entries < 0 else raw.rfind(_TIME, entries, end)
    return 0 if place < 0 else place + len(_TIME)


def _second(text: str) -> bytes:
    """An RFC 3339 time as managedFields give it: to the second."""
    return text.encode()[:19] + b"Z"


NO_LABELS: dict[str, str] = {}


class Decoded:
    """Bounds how many stored objects keep their decoded form: the oldest decoded one forgets it first.

    limit: how many.  limit_bytes: of their encoded forms together (the newest one may be larger alone).
    """

    def __init__(self, limit: int = 1024, limit_bytes: int = 16 << 20) -> None:
        self._limit = limit
        self._limit_bytes = limit_bytes
        self._bytes = 0
        self._kept: deque[StoredObject] = deque()

    def keep(self, stored: StoredObject, obj: JsonObject) -> None:
        stored.decoded = obj
        self._kept.append(stored)
        self._bytes += len(stored.raw)
        while len(self._kept) > self._limit or (self._bytes > self._limit_bytes and len(self._kept) > 1):
            oldest = self._kept.popleft()
            oldest.decoded = None
            self._bytes -= len(oldest.raw)


class Facts(NamedTuple):
    """What is known of a stored object without a look at its bytes.

    fields: the selectable ones.  end: of the metadata in the bytes.
    """

    uid: str
    labels: dict[str, str]
    fields: dict[str, str]
    owners: Sequence[str]
    deleting: bool
    end: int


class Ready(NamedTuple):
    """An object that is encoded, and what is known of it: ready to be stored under a revision.

    content: see `StoredObject.content`; metadata have the order that `ready` gives them.  values: of the selectable
    fields.  end: of the metadata in the content.
    """

    content: bytes
    uid: str
    labels: dict[str, str]
    values: tuple[str, ...]
    owners: tuple[str, ...]
    deleting: bool
    end: int


def ready(
    obj: JsonObject, labels: dict[str, str], values: tuple[str, ...], encode: Callable[[JsonObject], bytes]
) -> Ready:
    """Of an object without apiVersion, kind and resourceVersion; its metadata may be put in another order."""
    metadata = obj["metadata"]
    entries = metadata.pop("managedFields", None)
    if entries:
        metadata["managedFields"] = entries
    content = encode(obj if next(iter(obj)) == "metadata" else {"metadata": metadata, **obj})
    owners = tuple([owner["uid"] for owner in metadata.get("ownerReferences") or ()])
    end = _META_START + len(orjson.dumps(metadata))
    return Ready(content, metadata.get("uid", ""), labels, values, owners, "deletionTimestamp" in metadata, end)


class StoredObject:
    """One revision of one object (see `interface.Stored`).

    values: the selectable fields' values, in the order of `paths`.  row: room for a printed row's template, filled by
    whoever prints Tables.
    """

    __slots__ = (
        "_cache",
        "_meta_end",
        "decoded",
        "deleting",
        "key",
        "labels",
        "name",
        "namespace",
        "owners",
        "paths",
        "raw",
        "revision",
        "row",
        "storage",
        "uid",
        "values",
    )

    def __init__(
        self,
        storage: Storage,
        key: str,
        obj: JsonObject,
        revision: int,
        paths: tuple[str, ...],
        values: tuple[str, ...],
        cache: Decoded,
    ) -> None:
        metadata = obj["metadata"]
        metadata.pop("resourceVersion", None)
        entries = metadata.pop("managedFields", None)
        if entries:
            metadata["managedFields"] = entries  # wherever they were put, they come last
        meta = orjson.dumps(metadata)
        rest = orjson.dumps({name: value for name, value in obj.items() if name != "metadata"})
        head = _HEAD % revision
        self._meta_end = len(head) + len(meta) - 1
        self.raw = b"".join((head, meta[1:], b"," if len(rest) > 2 else b"", rest[1:]))
        metadata["resourceVersion"] = str(revision)
        self.storage = storage
        self.key = key
        self.namespace: str = intern(metadata.get("namespace", ""))
        self.name: str = metadata["name"]
        self.uid: str = metadata.get("uid", "")
        self.revision = revision
        self.labels: dict[str, str] = metadata.get("labels") or NO_LABELS
        self.paths = paths
        self.values = values
        self.owners = tuple(owner["uid"] for owner in metadata.get("ownerReferences", ()))
        self.deleting = "deletionTimestamp" in metadata
        self.row: Any = None
        self._cache = cache
        self.decoded: JsonObject | None = None
        cache.keep(self, obj)

    @classmethod
    def restored(
        cls, storage: Storage, key: str, revision: int, raw: bytes, facts: Facts, paths: tuple[str, ...], cache: Decoded
    ) -> StoredObject:
        """As it was when its `facts` were taken, and not decoded.  paths: of the facts' fields."""
        made = object.__new__(cls)
        namespace, _, name = key.rpartition("/")
        made.storage, made.key, made.revision, made.raw = storage, key, revision, raw
        made.namespace, made.name = intern(namespace), name
        made.uid, labels, fields, owners, made.deleting, made._meta_end = facts
        made.labels = labels or NO_LABELS
        made.paths, made.values = paths, tuple(fields.values())
        made.owners = tuple(owners)
        made.row = made.decoded = None
        made._cache = cache
        return made

    @classmethod
    def of(
        cls, storage: Storage, key: str, revision: int, known: Ready, paths: tuple[str, ...], cache: Decoded
    ) -> StoredObject:
        """As if it were made of the decoded object, which nobody needs.  paths: of the values."""
        made = object.__new__(cls)
        namespace, _, name = key.rpartition("/")
        head = _HEAD % revision
        made.storage, made.key, made.revision = storage, key, revision
        made.raw = head + known.content[len(_BARE_HEAD) :]
        made._meta_end = known.end + len(head) - len(_BARE_HEAD)
        made.namespace, made.name = intern(namespace), name
        _, made.uid, made.labels, made.values, made.owners, made.deleting, _ = known
        made.paths = paths
        made.row = made.decoded = None
        made._cache = cache
        return made

    def facts(self) -> Facts:
        fields = dict(zip(self.paths, self.values, strict=True))
        return Facts(self.uid, self.labels, fields, self.owners, self.deleting, self._meta_end)

    @property
    def fields(self) -> dict[str, str]:
        fields = dict(zip(self.paths, self.values, strict=True))
        fields["metadata.name"] = self.name
        fields["metadata.namespace"] = self.namespace
        return fields

    def value(self, path: str) -> str:
        return self.values[self.paths.index(path)]

    def object(self) -> JsonObject:
        obj = self.decoded
        if obj is None:
            obj = orjson.loads(self.raw)
            self._cache.keep(self, obj)
        return obj

    def copy(self) -> JsonObject:
        obj: JsonObject = orjson.loads(self.raw)
        return obj

    def metadata_raw(self) -> bytes:
        return self.raw[_META_START : self._meta_end]

    def at_revision(self, revision: int) -> StoredObject:
        """The same content under a later revision, as the event that tells of its end shows it."""
        head, old_head = _HEAD % revision, len(_HEAD % self.revision)
        return self._successor(revision, head + self.raw[old_head:], len(head) - old_head)

    def content(self) -> bytes:
        """The bytes without the resourceVersion."""
        return b"".join((_BARE_HEAD, self.raw[len(_HEAD % self.revision) :]))

    def settle(self, revision: int, cache: Decoded) -> None:
        """The write has its revision now.  Only before anybody has seen the object."""
        head, old_head = _HEAD % revision, len(_HEAD % self.revision)
        self.raw = head + self.raw[old_head:]
        self._meta_end += len(head) - old_head
        self.revision = revision
        self._cache = cache
        if self.decoded is not None:
            self.decoded["metadata"]["resourceVersion"] = str(revision)
            cache.keep(self, self.decoded)

    def tells(self, heartbeat: Heartbeat) -> bool:
        """Whether a heartbeat stands in the content, outside of the metadata, as often as it should.

        In the metadata it is the last write that managedFields tell of.
        """
        text = f'"{heartbeat.field}":"{heartbeat.text}"'
        if self.raw.count(text.encode(), self._meta_end) != heartbeat.times:
            return False
        stamp = _stamp(self.raw, self._meta_end)
        return not stamp or self.raw.startswith(_second(heartbeat.text), stamp)

    def beaten(self, revision: int, told: Heartbeat, text: str) -> Beaten:
        """The content with another text, of the same length, in the place of a heartbeat that it tells of."""
        other = object.__new__(Beaten)
        other.base, other.told, other.text = self, told, text
        self._share(other, revision)
        return other

    def _successor(self, revision: int, raw: bytes, moved: int) -> StoredObject:
        """Other bytes with the same metadata, which ends so many bytes later."""
        other = object.__new__(StoredObject)
        other.raw = raw
        other._meta_end = self._meta_end + moved
        self._share(other, revision)
        return other

    def _share(self, other: StoredObject, revision: int) -> None:
        """Everything but the bytes is the same."""
        other.storage = self.storage
        other.key = self.key
        other.namespace = self.namespace
        other.name = self.name
        other.uid = self.uid
        other.labels = self.labels
        other.paths = self.paths
        other.values = self.values
        other.owners = self.owners
        other.deleting = self.deleting
        other._cache = self._cache
        other.revision = revision
        other.row = None
        other.decoded = None

    @property
    def size(self) -> int:
        """Bytes that it keeps alive."""
        return len(self.raw)


class Beaten(StoredObject):
    """A revision in which only the time of a heartbeat is another than in `base`.

    There are very many of them, and hardly one is ever looked at: their bytes are made when somebody asks.
    told: how the base tells of it.
    """

    __slots__ = ("base", "text", "told")

    base: StoredObject
    told: Heartbeat
    text: str

    @property
    def raw(self) -> bytes:  # type: ignore[override]
        base, field = self.base, self.told.field
        raw, end = base.raw, base._meta_end
        stamp = _stamp(raw, end)
        before, after = f'"{field}":"{self.told.text}"', f'"{field}":"{self.text}"'
        head, old_head = _HEAD % self.revision, len(_HEAD % base.revision)
        rest = raw[end:].replace(before.encode(), after.encode())
        if not stamp:
            return b"".join((head, raw[old_head:end], rest))
        second = _second(self.text)
        return b"".join((head, raw[old_head:stamp], second, raw[stamp + len(second) : end], rest))

    @property
    def _meta_end(self) -> int:  # type: ignore[override]
        return self.base._meta_end + len(str(self.revision)) - len(str(self.base.revision))

    def beaten(self, revision: int, told: Heartbeat, text: str) -> Beaten:
        """From the same base: one heartbeat upon another would make their bytes an ever deeper recursion."""
        if told.field != self.told.field:
            return super().beaten(revision, told, text)
        return self.base.beaten(revision, self.told, text)

    @property
    def size(self) -> int:
        return BEAT_SIZE


class Event:
    """One entry of the log.

    stored: the new state; for DELETED the last state, under the event's own revision.  previous: the state before, or
    None.  heartbeat: its time, where that is all there is to it (see `Store.pulse`).

    It keeps no encoded forms: the log holds events for long.
    """

    __slots__ = ("heartbeat", "previous", "revision", "stored", "time", "type")

    def __init__(
        self,
        kind: EventType,
        stored: StoredObject,
        previous: StoredObject | None,
        time: float,
        heartbeat: str = "",
    ) -> None:
        self.type: EventType = kind
        self.heartbeat = heartbeat
        self.stored = stored
        self.previous = previous
        self.revision = stored.revision
        self.time = time

    def gone(self) -> StoredObject:
        """What a watcher is shown whose selection the object has left: its state before, at this revision."""
        if self.type == "DELETED" or self.previous is None:
            return self.stored
        return self.previous.at_revision(self.revision)

    @property
    def weight(self) -> int:
        """Bytes that nothing but the log keeps alive."""
        last = self.stored.size if self.type == "DELETED" else 0
        return last + (self.previous.size if self.previous is not None else 0)

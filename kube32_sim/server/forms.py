"""How objects leave: as themselves, as rows of a Table, or as their metadata alone; in answers, lists and watches.

A `Form` turns stored objects into JSON.  Each stored revision carries its JSON, so the plain form is concatenation;
`StoredObject.row` keeps the printed row between Tables.  `Frames` are what watches send of it, as JSON or in protobuf;
all other answers are encoded at the end (`answers.finish`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Protocol

import orjson

from kube32_sim.api import conversion, tables
from kube32_sim.api.managed.manager import empty
from kube32_sim.api.resources import ResourceTable, ResourceType
from kube32_sim.clock import Clock
from kube32_sim.registry.reading import Page
from kube32_sim.server.encodings import Listing, protobuf_frame
from kube32_sim.storage.interface import JsonObject
from kube32_sim.storage.objects import StoredObject


@lru_cache(maxsize=4096)
def _opening(kind: str, api_version: str) -> bytes:
    return b'{"kind":"%b","apiVersion":"%b",' % (kind.encode(), api_version.encode())


class Shapes:
    """The JSON of stored objects as a row of the table shows them (two rows may show the same objects)."""

    def __init__(self, table: ResourceTable) -> None:
        self._table = table

    def native(self, row: ResourceType) -> bool:
        """Whether objects are stored in the row's own version, or look the same in it, or are not stored at all."""
        if row.custom is not None:
            return row.custom.as_stored
        return not row.stored or self._table.by_storage(row.storage) is row

    def item(self, row: ResourceType, stored: StoredObject) -> bytes:
        """As an item of a list: built-in kinds go without apiVersion and kind there."""
        if row.names_in_list:
            return self.whole(row, stored)
        if self.native(row):
            return stored.raw
        return orjson.dumps(conversion.to_view(row, stored.object()))

    def whole(self, row: ResourceType, stored: StoredObject) -> bytes:
        raw = stored.raw if self.native(row) else orjson.dumps(conversion.to_view(row, stored.object()))
        return _opening(row.kind, row.api_version) + raw[1:]

    def stored(self, row: ResourceType, obj: JsonObject) -> JsonObject:
        """An object given in the row's version in the form it is stored in."""
        return obj if self.native(row) else conversion.from_view(row, obj)

    def view(self, row: ResourceType, obj: JsonObject) -> JsonObject:
        """A plain object in the row's version, with apiVersion and kind."""
        shown = obj if self.native(row) else conversion.to_view(row, obj)
        return {"kind": row.kind, "apiVersion": row.api_version, **shown}


class Form(Protocol):
    key: Any
    """Equal for forms that encode alike."""
    first_differs: bool
    """Whether the first event of a stream is encoded differently."""
    array: str
    """What the objects of a list are called in this form."""

    def one(self, row: ResourceType, stored: StoredObject) -> bytes: ...

    def unstored(self, row: ResourceType, obj: JsonObject) -> bytes:
        """An object that is not stored: the outcome of a dry run, or one that is made when somebody asks."""

    def many(self, row: ResourceType, page: Page) -> bytes: ...

    def items(self, row: ResourceType, page: Page) -> Iterator[bytes]:
        """The objects of `many`, one by one."""

    def event(self, row: ResourceType, kind: str, stored: StoredObject, *, first: bool) -> bytes:
        """The object of a watch event; first: it is the first of its stream."""

    def bookmark(self, row: ResourceType, metadata: JsonObject) -> bytes:
        """The object of a bookmark, of which only the metadata says something."""


def listing(form: Form, row: ResourceType, page: Page) -> Listing:
    """The list that `many` makes, its objects one by one."""
    empty = form.many(row, replace(page, items=()))
    head = empty.removesuffix(b',"%b":[]}' % form.array.encode()) + b"}"
    return Listing(head, form.array, form.items(row, page))


def _marking(row: ResourceType, metadata: JsonObject) -> JsonObject:
    """An object with nothing in it, which Go writes with spec and status, and with null for lists."""
    obj: JsonObject = {"kind": row.kind, "apiVersion": row.api_version, "metadata": {}, **empty(row)}
    obj["metadata"] = metadata
    return obj


class JsonForm:
    key = "json"
    first_differs = False
    array = "items"

    def __init__(self, shapes: Shapes) -> None:
        self._shapes = shapes

    def one(self, row: ResourceType, stored: StoredObject) -> bytes:
        return self._shapes.whole(row, stored)

    def unstored(self, row: ResourceType, obj: JsonObject) -> bytes:
        return orjson.dumps(self._shapes.view(row, obj))

    def many(self, row: ResourceType, page: Page) -> bytes:
        return b",".join(self.parts(row, page))

    def parts(self, row: ResourceType, page: Page) -> list[bytes]:
        """What is to be sent with commas in between."""
        meta = tables.list_meta(str(page.revision), page.continue_token, page.remaining)
        if row.names_in_list and not page.continue_token:
            meta = b'{"continue":"",' + meta[1:]  # Go leaves it out of typed lists only
        head = _opening(row.list_kind, row.api_version) + b'"metadata":' + meta + b',"items":['
        if self._shapes.native(row) and not row.names_in_list:
            items = [stored.raw for stored in page.items]
        else:
            items = [self._shapes.item(row, stored) for stored in page.items]
        if not items:
            return [head + b"]}"]
        items[0] = head + items[0]
        items[-1] += b"]}"
        return items

    def items(self, row: ResourceType, page: Page) -> Iterator[bytes]:
        return (self._shapes.item(row, stored) for stored in page.items)

    def event(self, row: ResourceType, kind: str, stored: StoredObject, *, first: bool) -> bytes:
        return self._shapes.whole(row, stored)

    def bookmark(self, row: ResourceType, metadata: JsonObject) -> bytes:
        return orjson.dumps(_marking(row, metadata))


class MetadataForm:
    """PartialObjectMetadata; version: of meta.k8s.io, v1 or v1beta1."""

    first_differs = False
    array = "items"

    def __init__(self, version: str) -> None:
        self.key = ("metadata", version)
        self._version = version

    def one(self, row: ResourceType, stored: StoredObject) -> bytes:
        return tables.partial_object(stored.metadata_raw(), self._version)

    def unstored(self, row: ResourceType, obj: JsonObject) -> bytes:
        return tables.partial_object(orjson.dumps(obj["metadata"]), self._version)

    def many(self, row: ResourceType, page: Page) -> bytes:
        metadatas = [stored.metadata_raw() for stored in page.items]
        return tables.partial_list(metadatas, str(page.revision), page.continue_token, page.remaining, self._version)

    def items(self, row: ResourceType, page: Page) -> Iterator[bytes]:
        return (self.one(row, stored) for stored in page.items)

    def event(self, row: ResourceType, kind: str, stored: StoredObject, *, first: bool) -> bytes:
        return self.one(row, stored)

    def bookmark(self, row: ResourceType, metadata: JsonObject) -> bytes:
        return tables.partial_object(orjson.dumps(metadata), self._version)


class TableForm:
    """Rows as kubectl prints them; include: what each row carries of its object."""

    first_differs = True
    array = "rows"

    def __init__(self, shapes: Shapes, clock: Clock, include: tables.Include, version: str) -> None:
        self.key = ("table", include, version)
        self._shapes = shapes
        self._clock = clock
        self._include = include
        self._version = version

    def _columns(self, row: ResourceType) -> tables.Columns:
        if row.columns is None:
            raise ValueError(f"{row.plural} has no columns")
        return row.columns

    def _template(self, row: ResourceType, stored: StoredObject) -> tables.Template:
        """Printed is the object as it is stored, in whichever version it is asked for."""
        kept = stored.row
        if kept is not None and kept[0] is row:
            return kept[1]  # type: ignore[no-any-return]
        template = tables.row_template(self._columns(row), stored.object())
        stored.row = (row, template)
        return template

    def _part(self, row: ResourceType, stored: StoredObject) -> bytes:
        if self._include == "Metadata":
            return stored.metadata_raw()
        return self._shapes.whole(row, stored) if self._include == "Object" else b""

    def _table(self, row: ResourceType, stored: StoredObject, columns: tables.Columns | None) -> bytes:
        return tables.table_object(
            self._template(row, stored),
            self._part(row, stored),
            columns,
            str(stored.revision),
            self._include,
            self._clock.now(),
            self._version,
        )

    def one(self, row: ResourceType, stored: StoredObject) -> bytes:
        return self._table(row, stored, self._columns(row))

    def unstored(self, row: ResourceType, obj: JsonObject) -> bytes:
        columns = self._columns(row)
        part = orjson.dumps(obj["metadata"] if self._include == "Metadata" else self._shapes.view(row, obj))
        template, revision = tables.row_template(columns, obj), obj["metadata"].get("resourceVersion", "")
        return tables.table_object(template, part, columns, revision, self._include, self._clock.now(), self._version)

    def many(self, row: ResourceType, page: Page) -> bytes:
        rows = [(self._template(row, stored), self._part(row, stored)) for stored in page.items]
        return tables.table_list(
            rows,
            self._columns(row),
            str(page.revision),
            self._include,
            self._clock.now(),
            continue_=page.continue_token,
            remaining=page.remaining,
            version=self._version,
        )

    def items(self, row: ResourceType, page: Page) -> Iterator[bytes]:
        now = self._clock.now()
        for stored in page.items:
            template, part = self._template(row, stored), self._part(row, stored)
            yield tables.table_row(template, part, self._include, now, self._version)

    def event(self, row: ResourceType, kind: str, stored: StoredObject, *, first: bool) -> bytes:
        return self._table(row, stored, self._columns(row) if first else None)

    def bookmark(self, row: ResourceType, metadata: JsonObject) -> bytes:
        columns = self._columns(row)
        marking = _marking(row, metadata)
        part = orjson.dumps(metadata if self._include == "Metadata" else marking)
        template, revision = tables.row_template(columns, marking), metadata["resourceVersion"]
        return tables.table_object(template, part, None, revision, self._include, self._clock.now(), self._version)


class Frames:
    """Watch frames of one row in one form (a `watching.Encoder`): one JSON line an event, or a piece of protobuf.

    chunked: they are sent in HTTP/1.1's chunked transfer coding, else as they are.
    """

    def __init__(self, row: ResourceType, form: Form, chunked: bool, protobuf: bool = False) -> None:
        self.key: Any = (row.group, row.version, row.plural, form.key, chunked, protobuf)
        self._row = row
        self._form = form
        self._chunked = chunked
        self.frame = protobuf_frame if protobuf else frame
        """What is sent of an event and the JSON of its object."""

    def encode(self, kind: str, stored: StoredObject) -> bytes:
        return self.frame(kind, self._form.event(self._row, kind, stored, first=False))

    def first(self, kind: str, stored: StoredObject) -> bytes:
        return self.frame(kind, self._form.event(self._row, kind, stored, first=True))

    def bookmark(self, metadata: JsonObject) -> bytes:
        return self.frame("BOOKMARK", self._form.bookmark(self._row, metadata))

    def begin(self, anything: bool) -> None:
        """The stream's past has been sent; anything: there was something in it."""

    def join(self, frames: Sequence[bytes]) -> bytes:
        """The frames as they go on the wire, shared by every stream of the group."""
        data = b"".join(frames)
        return chunk(data) if self._chunked else data


class FirstFrames(Frames):
    """Frames of a form whose first event of a stream is special (a Table's carries the columns): one stream's own."""

    def __init__(self, row: ResourceType, form: Form, chunked: bool, protobuf: bool = False) -> None:
        super().__init__(row, form, chunked, protobuf)
        self.key = (*self.key, id(self))
        self._begun = False

    def encode(self, kind: str, stored: StoredObject) -> bytes:
        first, self._begun = not self._begun, True
        return self.frame(kind, self._form.event(self._row, kind, stored, first=first))

    def begin(self, anything: bool) -> None:
        self._begun = anything


def frames_of(row: ResourceType, form: Form, chunked: bool, protobuf: bool = False) -> Frames:
    return (FirstFrames if form.first_differs else Frames)(row, form, chunked, protobuf)


def frame(kind: str, obj: bytes) -> bytes:
    return b'{"type":"%b","object":%b}\n' % (kind.encode(), obj)


def chunk(data: bytes) -> bytes:
    """Data as a chunk of HTTP/1.1's chunked transfer coding."""
    return b"%x\r\n%b\r\n" % (len(data), data)

"""Tables: answers in the form that `kubectl get` prints, and metadata-only answers.

A kind's `Columns` (made in `columns/`) turn an object into cells.  Printing a row is dear and ages move on every
second, so a row is kept as a `Template`: the encoded row with holes where ages belong.  The caller keeps one template
per stored revision; answering then is joining bytes.  Nothing here knows the store or HTTP.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import orjson

from kube32_sim.api.errors import ApiError, bad_request
from kube32_sim.clock import parse_time

JsonObject = dict[str, Any]
Include = Literal["None", "Metadata", "Object"]

Template = tuple[Any, ...]
"""Encoded pieces (bytes) of a row up to and including `"object":`; at odd places a time (float, seconds since 1970)
whose age goes there.  Opaque to callers."""


@dataclass(frozen=True, slots=True)
class Age:
    """A cell that tells how long ago something was: `before`, the age at the time of the answer, `after`.

    since: RFC 3339, or empty where unknown.
    """

    since: str
    before: str = ""
    after: str = ""


Cell = Age | str | float | bool | None


@dataclass(frozen=True, slots=True)
class ColumnDefinition:
    """One column.  priority 0 is always shown, 1 only with `-o wide`.  format "name" marks the object's name."""

    name: str
    description: str = ""
    type: str = "string"
    format: str = ""
    priority: int = 0

    def json(self) -> JsonObject:
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        }


def _no_conditions(_: JsonObject) -> Sequence[JsonObject]:
    return ()


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """How objects of a kind are printed: the columns, and the cells of one object (as many as there are columns).

    conditions: what the row says about the object as a whole (`Completed` of a pod that has ended).
    """

    definitions: tuple[ColumnDefinition, ...]
    cells: Callable[[JsonObject], Sequence[Cell]]
    conditions: Callable[[JsonObject], Sequence[JsonObject]] = _no_conditions
    encoded: bytes = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "encoded", orjson.dumps([definition.json() for definition in self.definitions]))


def human_duration(seconds: float) -> str:
    """A span of time in at most two units, coarser as it grows (apimachinery's `duration.HumanDuration`)."""
    whole = int(seconds)  # towards zero: up to two seconds ahead of us still counts as now
    if whole < -1:
        return "<invalid>"
    if whole < 120:
        return f"{max(whole, 0)}s"
    minutes, hours, days = whole // 60, whole // 3600, whole // 86400
    if minutes < 10:
        return _two(minutes, "m", whole % 60, "s")
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return _two(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    if days < 8:
        return _two(days, "d", hours % 24, "h")
    if days < 730:
        return f"{days}d"
    if days < 2920:
        return _two(days // 365, "y", days % 365, "d")
    return f"{days // 365}y"


def _two(large: int, large_unit: str, small: int, small_unit: str) -> str:
    return f"{large}{large_unit}{small}{small_unit}" if small else f"{large}{large_unit}"


_ages: dict[int, bytes] = {}
"""Encoded durations by whole seconds: the objects of a list share few ages."""
_AGES_KEPT = 50_000


def _age(seconds: float) -> bytes:
    whole = int(seconds)
    text = _ages.get(whole)
    if text is None:
        if len(_ages) >= _AGES_KEPT:
            _ages.clear()
        text = _ages[whole] = human_duration(whole).encode()
    return text


def epoch_seconds(time: str) -> float | None:
    """Seconds since 1970; None for no time, for what is no time, and for Go's zero time."""
    try:
        seconds = parse_time(time)
    except (ValueError, OverflowError):
        return None
    return seconds if seconds > -62_135_596_800 else None


def row_template(columns: Columns, obj: JsonObject) -> Template:
    """The row of an object, to be kept with the object's revision and handed to the functions below."""
    pieces: list[Any] = []
    text = b'{"cells":['
    for index, cell in enumerate(columns.cells(obj)):
        if index:
            text += b","
        if not isinstance(cell, Age):
            text += orjson.dumps(cell)
            continue
        since = epoch_seconds(cell.since)
        if since is None:
            text += orjson.dumps(f"{cell.before}<unknown>{cell.after}")
            continue
        pieces += (text + orjson.dumps(cell.before)[:-1], since)
        text = orjson.dumps(cell.after)[1:]
    conditions = columns.conditions(obj)
    text += b'],"conditions":' + orjson.dumps(conditions) + b',"object":' if conditions else b'],"object":'
    return (*pieces, text)


def render(template: Template, now: float) -> bytes:
    """A row up to and including `"object":`, with ages as of `now`."""
    pieces = list(template)
    for index in range(1, len(pieces), 2):
        pieces[index] = _age(now - pieces[index])
    return b"".join(pieces)


def parse_include(value: str) -> Include:
    """The query parameter includeObject; empty means Metadata."""
    if value == "" or value == "Metadata":
        return "Metadata"
    if value == "None":
        return "None"
    if value == "Object":
        return "Object"
    raise bad_include(value)


def bad_include(value: str) -> ApiError:
    shown = orjson.dumps(value).decode()
    return bad_request(
        f"Unable to convert to Table as requested: includeObject: Invalid value: {shown}: "
        "must be 'Metadata', 'Object', 'None', or empty"
    )


def partial_object(metadata: bytes, version: str = "v1") -> bytes:
    """PartialObjectMetadata around an object's encoded metadata."""
    return b'{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/%b","metadata":%b}' % (
        version.encode(),
        metadata,
    )


def list_meta(resource_version: str, continue_: str = "", remaining: int | None = None) -> bytes:
    """Encoded ListMeta.  remaining: items left after this page, None where that is not told."""
    meta: JsonObject = {"resourceVersion": resource_version}
    if continue_:
        meta["continue"] = continue_
    if remaining is not None:
        meta["remainingItemCount"] = remaining
    return orjson.dumps(meta)


def partial_list(
    metadatas: Iterable[bytes],
    resource_version: str,
    continue_: str = "",
    remaining: int | None = None,
    version: str = "v1",
) -> bytes:
    """PartialObjectMetadataList of encoded metadatas."""
    head = b'{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/%b","metadata":%b,"items":[' % (
        version.encode(),
        list_meta(resource_version, continue_, remaining),
    )
    return head + b",".join([partial_object(metadata, version) for metadata in metadatas]) + b"]}"


def _head(columns: bytes, meta: bytes, version: str) -> bytes:
    return b'{"kind":"Table","apiVersion":"meta.k8s.io/%b","metadata":%b,"columnDefinitions":%b,"rows":[' % (
        version.encode(),
        meta,
        columns,
    )


def table_list(
    rows: Iterable[tuple[Template, bytes]],
    columns: Columns,
    resource_version: str,
    include: Include,
    now: float,
    *,
    continue_: str = "",
    remaining: int | None = None,
    version: str = "v1",
) -> bytes:
    """A Table of many objects.

    rows: each object's template and its encoded part: the metadata for include "Metadata", the whole object with
    apiVersion and kind for "Object", anything for "None".  version: of the group meta.k8s.io.
    """
    before, after = _around(include, version)
    pieces: list[bytes] = [_head(columns.encoded, list_meta(resource_version, continue_, remaining), version)]
    add = pieces.append
    between, comma = before, after + b","
    if include == "None":
        for template, _ in rows:
            add(render(template, now))
            add(between)
            add(comma)
    else:
        for template, part in rows:
            add(render(template, now))
            add(between)
            add(part)
            add(comma)
    if len(pieces) > 1:
        pieces[-1] = after
    add(b"]}")
    return b"".join(pieces)


def _around(include: Include, version: str) -> tuple[bytes, bytes]:
    """What stands before and after the encoded part in a row."""
    if include == "None":
        return b"null", b"}"
    if include == "Object":
        return b"", b"}"
    return b'{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/%b","metadata":' % version.encode(), b"}}"


def table_row(template: Template, part: bytes, include: Include, now: float, version: str = "v1") -> bytes:
    """One encoded TableRow; `part` as in `table_list`."""
    before, after = _around(include, version)
    return render(template, now) + before + (part if include != "None" else b"") + after


def table_object(
    template: Template,
    part: bytes,
    columns: Columns | None,
    resource_version: str,
    include: Include,
    now: float,
    version: str = "v1",
) -> bytes:
    """The Table of one object, as get, create and the like answer, and as watch events carry it.

    columns: None leaves the definitions out, as in all but the first event of a watch.  resource_version: "" for an
    object that is not stored.
    """
    encoded = columns.encoded if columns is not None else b"null"
    meta = b'{"resourceVersion":"%b"}' % resource_version.encode() if resource_version else b"{}"
    head = _head(encoded, meta, version)
    return head + table_row(template, part, include, now, version) + b"]}"

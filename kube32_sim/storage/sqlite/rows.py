"""What a row of the log says: one write, in bytes that are made once and checked when they are read.

A row is (revision, about, raw, crc).  `about` is a JSON list: the kind of write, the type's place (`apps/deployments`),
the key, the time, and then by kind

    A, M    uid, labels, {selectable field: value}, uids of owners, whether it is being deleted, where metadata end;
            raw is the object
    D       nothing: the last state is the one before, under this revision
    H       a heartbeat (`Beaten`): revision of the base, new text, field, text in the base, how often it is there

Nothing is decoded at a start that is not needed to find objects.
"""

from __future__ import annotations

from typing import Any
from zlib import crc32

import orjson

from kube32_sim.storage.interface import Storage
from kube32_sim.storage.objects import Beaten, Event

Row = tuple[int, bytes, bytes, int]
_KINDS = {"ADDED": "A", "MODIFIED": "M", "DELETED": "D"}
_MASK = 0xFFFFFFFF


class Damaged(Exception):
    """What is read is not what was written; the message says what."""


def place_of(storage: Storage) -> str:
    return f"{storage[0]}/{storage[1]}"


def storage_of(place: str) -> Storage:
    group, _, plural = place.partition("/")
    return group, plural


def sealed(revision: int, about: bytes, raw: bytes) -> int:
    """A checksum of a row; raises Damaged for what is no row."""
    if type(about) is not bytes or type(raw) is not bytes:
        raise Damaged("there is text where there should be bytes")
    return crc32(raw, crc32(about, revision & _MASK))


def row_of(event: Event) -> Row:
    stored, raw = event.stored, b""
    kind, more = _KINDS[event.type], tuple[Any, ...]()
    if kind != "D":
        if isinstance(stored, Beaten):
            told = stored.told
            kind, more = "H", (stored.base.revision, stored.text, told.field, told.text, told.times)
        else:
            raw, more = stored.raw, stored.facts()
    about = orjson.dumps((kind, place_of(stored.storage), stored.key, event.time, *more))
    return stored.revision, about, raw, sealed(stored.revision, about, raw)


def read(revision: int, about: bytes, raw: bytes, crc: int) -> list[Any]:
    """What a row is about; raises Damaged."""
    if sealed(revision, about, raw) != crc:
        raise Damaged(f"the row of revision {revision} is damaged")
    found: list[Any] = orjson.loads(about)
    return found

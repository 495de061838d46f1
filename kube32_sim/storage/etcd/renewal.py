"""What a cache has missed, told as events: for when etcd no longer knows the history that would tell it.

Each event needs a revision of its own.  What is there has one; what has gone went at a revision that nobody knows, but
it was one of those in between which no key that is there was last written at.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from kube32_sim.storage.interface import Storage

Place = tuple[Storage, str]


class Found(NamedTuple):
    """What etcd has now.  created, revision: of the key's first write since it is there, and of its last."""

    content: bytes
    created: int
    revision: int


class Missed(NamedTuple):
    """An event.  content: None where the object has gone."""

    revision: int
    place: Place
    content: bytes | None


def missed(known: Mapping[Place, int], found: Mapping[Place, Found], since: int) -> list[Missed]:
    """What has happened after the revision `since` so that from `known` (place -> revision) it came to `found`."""
    written = [Missed(new.revision, place, new.content) for place, new in found.items() if new.revision > since]
    free = _free(since, {event.revision for event in written})
    gone = [(math.inf, place) for place in known if place not in found]
    gone += [(found[place].created, place) for place in known if place in found and found[place].created > since]
    gone.sort()
    ended = [Missed(next(free), place, None) for _, place in gone]
    return sorted([*written, *ended])


def _free(since: int, taken: Iterable[int]) -> Iterator[int]:
    taken = set(taken)
    revision = since
    while True:
        revision += 1
        if revision not in taken:
            yield revision

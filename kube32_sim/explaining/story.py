"""The chain of causes of one pod, from what the journal has noted.  Pure.

A link is what one write did, or where a pod was put in it.  The chain has the links of the pod, their causes, and the
causes of those, in the order in which it all happened.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from kube32_sim.causes import Ref
from kube32_sim.explaining import wording
from kube32_sim.explaining.notes import KINDS, Notes, Placed
from kube32_sim.registry.journal import CHANGED, CREATED, PODS, Noted

RECORDED, EVENT, OBJECT = "Recorded", "Event", "Object"
"""Where a link is from: the journal, an event, or what the pod itself says."""


@dataclass(frozen=True, slots=True)
class Link:
    """One thing that happened.

    at: seconds since 1970.  revision: the resourceVersion that it made, 0 where that is not known.  actor: a component
    or a user; manager: the field manager it wrote as.  because: places of its causes in the chain, all of them earlier.
    node: the one that a pod was bound to by it.
    """

    at: float
    actor: str
    reason: str
    message: str
    about: Ref
    revision: int = 0
    manager: str = ""
    node: str = ""
    because: tuple[int, ...] = ()
    source: str = RECORDED


class _Part(NamedTuple):
    """A write (0), or where a pod was put in it (1)."""

    place: int
    part: int


def causes_of(notes: Notes, uid: str) -> list[Link]:
    """The chain of the pod with this uid, as far as it was noted; empty where nothing was.

    Its own links tell of it, by `about.uid`; a creation comes first among them, unless it was not noted.
    """
    parts: dict[_Part, Placed] = {}
    waiting = list(notes.of(uid))
    seen: set[int] = set()
    while waiting:
        placed = waiting.pop()
        if placed.place in seen:
            continue
        seen.add(placed.place)
        for part in _parts(placed.noted):
            parts[_Part(placed.place, part)] = placed
        waiting += notes.causes(placed)
    order = {part: number for number, part in enumerate(sorted(parts))}
    return [_link(notes, parts[part], part, order) for part in order]


def _parts(noted: Noted) -> Sequence[int]:
    put = noted.did == CREATED and (noted.placement is not None or (noted.storage == PODS and noted.node))
    return (0, 1) if put else (0,)


def _link(notes: Notes, placed: Placed, part: _Part, order: dict[_Part, int]) -> Link:
    noted = placed.noted
    about = Ref(KINDS[noted.storage], noted.namespace, noted.name, noted.uid, noted.revision)
    if part.part:
        because: tuple[int, ...] = (order[_Part(part.place, 0)],)
        actor, reason, message = wording.of_placement(noted)
        return Link(noted.at, actor, reason, message, about, noted.revision, "", noted.node, because)
    causes = notes.causes(placed)
    because = tuple(order[_Part(one.place, len(_parts(one.noted)) - 1)] for one in causes)
    predecessor = next((one.noted for one in causes if one.noted.storage == PODS and one.noted.uid != noted.uid), None)
    actor, reason, message = wording.of_write(noted, predecessor)
    bound = noted.node if noted.storage == PODS and noted.did == CHANGED and noted.node != noted.before else ""
    return Link(noted.at, actor, reason, message, about, noted.revision, noted.manager, bound, because)

"""Why something is done: said by whoever decides, noted with the write that follows (`registry/journal`).

A control loop gives its actions a `Cause`, and `runtime/apply` carries each out `because` of it.  Whoever binds pods in
their create request says where to by `placed`.  Nothing here looks at the cluster, waits, or remembers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, NamedTuple

JsonObject = dict[str, Any]


class Ref(NamedTuple):
    """An object, and the state of it that was looked at: its resourceVersion as a number, 0 where that is not known."""

    kind: str
    namespace: str
    name: str
    uid: str = ""
    revision: int = 0


def ref(kind: str, obj: JsonObject) -> Ref:
    """obj: as stored."""
    metadata = obj["metadata"]
    revision = metadata.get("resourceVersion", "")
    number = int(revision) if revision.isdecimal() else 0
    return Ref(kind, metadata.get("namespace", ""), metadata["name"], metadata.get("uid", ""), number)


class Placement(NamedTuple):
    """What a scheduler decided about a pod.

    node: "" where the pod fits nowhere; `message` then says why.  score: None where nobody tells.
    second: (score, node) of the next best one, None where it would fit on no other.  by: the scheduler, as its events
    name it.
    """

    node: str
    score: int | None = None
    second: tuple[int, str] | None = None
    message: str = ""
    by: str = "default-scheduler"


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a loop does something.

    by: the component that decides, as it is named in events.  reason: one CamelCase word.  message: one sentence
    without a full stop, about what is done; "" where `placement` says it.  about: the object on account of which, such
    as the Deployment that wants another pod.  also: what else it is about, such as the node that a daemon pod is for.
    """

    by: str
    reason: str
    message: str = ""
    about: Ref | None = None
    also: Sequence[Ref] = ()
    placement: Placement | None = None


BECAUSE: ContextVar[Cause | None] = ContextVar("because", default=None)
"""Of the write that is under way in this task."""
PLACED: ContextVar[tuple[str, Placement] | None] = ContextVar("placed", default=None)
"""(uid, where to) of the pod that was placed last in this task, inside its create request."""


@contextmanager
def because(cause: Cause | None) -> Iterator[None]:
    """What is written meanwhile, in this task, is written for this cause."""
    token = BECAUSE.set(cause)
    try:
        yield
    finally:
        BECAUSE.reset(token)


def placed(pod: JsonObject, placement: Placement) -> None:
    """Say where a pod goes, or why nowhere, that is about to be stored."""
    PLACED.set((pod["metadata"].get("uid", ""), placement))

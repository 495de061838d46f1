"""Fencing: who was the leader and is no longer writes nothing more, whatever it still believes.

A store that several processes share keeps beside its objects the term of the present leader: any text that is another
one each time (say, the holder's identity and a number that rises).  Who takes the lead writes its Lease `taking` the
term: Lease and term are stored in one transaction, or neither is.  What a leader writes, it writes `leading` under its
term: such a write is stored only if that term is still the present one in that moment; otherwise it raises `Deposed`.

Both hold for everything awaited within them, and for tasks started within them, which copy the context.  Stores that
belong to one process do not look.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from kube32_sim.storage.interface import Unavailable

LEADING: ContextVar[str] = ContextVar("leading", default="")
"""The term under which is written; "": under none, nothing is asked of the write."""
TAKING: ContextVar[str] = ContextVar("taking", default="")
"""The term that begins with the next write."""


class Deposed(Unavailable):
    """Another has taken the lead since; nothing was written."""

    def __init__(self, term: str) -> None:
        super().__init__(f"this process is no longer the leader (its term was {term!r}); nothing was written")
        self.term = term


@contextmanager
def leading(term: str) -> Iterator[None]:
    """Writes within are stored only while `term` is the one taken last; they raise Deposed then."""
    token = LEADING.set(term)
    try:
        yield
    finally:
        LEADING.reset(token)


@contextmanager
def taking(term: str) -> Iterator[None]:
    """Each create or update within (there should be one: the Lease) makes `term` the present one as it is stored."""
    token = TAKING.set(term)
    try:
        yield
    finally:
        TAKING.reset(token)

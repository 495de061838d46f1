"""Which rows the file needs: those of the history, of the states that it starts from, and of what is there now.

An event that is forgotten needs the state before it no more; nor anybody the end of an object, once that is forgotten.
A heartbeat is little more than its time, and needs the row that it leans on for as long as it is needed itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from kube32_sim.storage.objects import Beaten, Event, StoredObject

_WHOLE = (1 << 63) - 1


class Base(NamedTuple):
    """A row that heartbeats lean on.  alone: nobody else needs it."""

    stored: StoredObject
    beats: int
    alone: bool


@dataclass(slots=True)
class Entries:
    """Rows to come and to go.  rows, total: how many there are then, and the sum of their revisions."""

    written: list[Event]
    gone: list[int]
    rows: int
    total: int
    bases: dict[int, Base] = field(default_factory=dict)
    """Those that are others then."""


class Ledger:
    """rows, total: see `Entries`; by these a start knows that no row is missing."""

    def __init__(self) -> None:
        self.rows = 0
        self.total = 0
        self._bases: dict[int, Base] = {}

    def entries(self, written: Sequence[Event], forgotten: Iterable[Event]) -> Entries:
        """What there is to do for events that were written and others that were forgotten; nothing is another yet."""
        made = Entries(list(written), [], self.rows, self.total)
        for event in written:
            if isinstance(event.stored, Beaten):
                self._lean(made, event.stored.base, 1)
        for event in forgotten:
            if event.previous is not None:
                self._release(made, event.previous)
            if event.type == "DELETED":
                made.gone.append(event.revision)
        self._skip_both(made)
        for event in made.written:
            made.rows, made.total = made.rows + 1, (made.total + event.revision) & _WHOLE
        for revision in made.gone:
            made.rows, made.total = made.rows - 1, (made.total - revision) & _WHOLE
        return made

    def done(self, entries: Entries) -> None:
        self.rows, self.total = entries.rows, entries.total
        for revision, base in entries.bases.items():
            if base.beats:
                self._bases[revision] = base
            else:
                self._bases.pop(revision, None)

    def _lean(self, made: Entries, base: StoredObject, more: int) -> None:
        known = made.bases.get(base.revision) or self._bases.get(base.revision) or Base(base, 0, False)
        made.bases[base.revision] = known._replace(beats=known.beats + more)

    def _release(self, made: Entries, stored: StoredObject) -> None:
        while True:
            revision = stored.revision
            base = made.bases.get(revision) or self._bases.get(revision)
            if base is not None and base.beats:
                made.bases[revision] = base._replace(alone=True)
                return
            made.gone.append(revision)
            if not isinstance(stored, Beaten):
                return
            stored = stored.base
            self._lean(made, stored, -1)
            left = made.bases[stored.revision]
            if left.beats or not left.alone:
                return

    @staticmethod
    def _skip_both(made: Entries) -> None:
        """Rows that would come and go at once."""
        if made.gone and made.written and max(made.gone) >= made.written[0].revision:
            both = {event.revision for event in made.written}.intersection(made.gone)
            made.written = [event for event in made.written if event.revision not in both]
            made.gone = [revision for revision in made.gone if revision not in both]

    # at the start

    def found(self, revision: int) -> None:
        """There is a row."""
        self.rows, self.total = self.rows + 1, (self.total + revision) & _WHOLE

    def leans(self, base: StoredObject) -> None:
        known = self._bases.get(base.revision) or Base(base, 0, True)
        self._bases[base.revision] = known._replace(beats=known.beats + 1)

    def needs(self, stored: StoredObject) -> None:
        """The history or the present needs the state."""
        known = self._bases.get(stored.revision)
        if known is not None:
            self._bases[stored.revision] = known._replace(alone=False)

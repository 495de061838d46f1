"""Records what outside clients write, and where pods go, for those who ask: `POST …/recordings`.

A recording begins with the first POST under a name, which tells as of which revision its state is to be read, and goes
on as long as somebody asks for what comes next.  While nobody records nothing is kept.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from kube32_sim.api import errors
from kube32_sim.api.authorization import Attributes, Authorizer
from kube32_sim.api.own import API_VERSION, GROUP
from kube32_sim.clock import Clock, RealClock, rfc3339_micro
from kube32_sim.recording.audit import Entry, to_json
from kube32_sim.recording.history import Placements
from kube32_sim.registry.own import demand_reading
from kube32_sim.storage.interface import JsonObject, Store
from kube32_sim.storage.objects import Event

if TYPE_CHECKING:
    from kube32_sim.registry.asked import Asked

PATIENCE = 60.0
"""Seconds of real time after which who does not ask any more records no more."""
MOST_BYTES = 64 << 20
"""Of what is kept for readers who are behind; beyond it the oldest is lost, and they are told."""
PAGE, PAGE_BYTES = 1000, 4 << 20
MOST_RECORDINGS = 8
PODS = ("", "pods")


class _Line(NamedTuple):
    number: int
    raw: bytes


class _Reader:
    """One recording.  after: the number up to which it was read; asked: when it last asked."""

    __slots__ = ("after", "asked")

    def __init__(self, after: int, asked: float) -> None:
        self.after, self.asked = after, asked


class Tape:
    """on: whether somebody records, which is looked at with every write.

    options: those of the server that decide where pods go, as `serve` has them.
    """

    def __init__(
        self, store: Store, clock: Clock, authorizer: Authorizer, options: Callable[[], Mapping[str, Any]]
    ) -> None:
        self.on = False
        self._store, self._clock, self._authorizer, self._options = store, clock, authorizer, options
        self._real = RealClock()
        self._readers: dict[str, _Reader] = {}
        self._lines: deque[_Line] = deque()
        self._bytes = self._last = self._begun_at = 0
        self._placements: Placements | None = None
        self._unsubscribe: Callable[[], None] = lambda: None
        self._call_off: Callable[[], object] = lambda: None

    # what happens

    def note(self, entry: Entry) -> None:
        """A request of somebody outside was answered."""
        self._add({**to_json(entry)})

    def _heard(self, event: Event) -> None:
        if self._placements is None or event.revision <= self._begun_at:  # it was kept later than it was done
            return
        gone = event.type == "DELETED"
        step = self._placements.changed(event.stored.object(), event.time, gone=gone)
        if step is not None:
            self._add({"apiVersion": API_VERSION, "kind": "PlacementStep", "spec": step.to_json()})

    def _add(self, line: JsonObject) -> None:
        raw = orjson.dumps(line)
        self._last += 1
        self._lines.append(_Line(self._last, raw))
        self._bytes += len(raw)
        while self._bytes > MOST_BYTES:
            self._bytes -= len(self._lines.popleft().raw)
        if self._last % PAGE == 0:
            self._look()

    # who asks

    async def post(self, asked: Asked, obj: JsonObject) -> JsonObject:
        """Begin, or tell what has come since; a dry run tells what it would, and begins nothing.

        Raises ApiError 403, 422, 429, and Unavailable.
        """
        demand_reading(self._authorizer, asked, Attributes("list", "", "v1", "secrets"), "a recording")
        name = (obj.get("metadata") or {}).get("name") or ""
        spec = obj.get("spec") or {}
        if not name:
            wrong = errors.required("metadata.name", "any name, by which what comes next is asked for")
            raise errors.invalid(GROUP, "Recording", name, [wrong])
        await self._store.kept(self._store.revision)  # steps are heard of then
        self._look()
        known = self._readers.get(name)
        reader = _Reader(self._after(name, spec.get("after") or 0, known), self._real.now())
        if known is None and len(self._readers) >= MOST_RECORDINGS:
            raise errors.too_many_requests(f"{MOST_RECORDINGS} recordings are under way; end one of them")
        if not asked.dry_run:
            self._begin()
            self._readers[name] = reader
        status = self._status(reader, begins=known is None)
        if spec.get("end") and not asked.dry_run:
            del self._readers[name]
            self._look()
        metadata = {"name": name, "creationTimestamp": self._clock.timestamp()}
        return {"kind": "Recording", "apiVersion": API_VERSION, "metadata": metadata, "spec": spec, "status": status}

    def _after(self, name: str, after: int, known: _Reader | None) -> int:
        """Up to which number a recording was read.  Raises ApiError 422 for one that cannot be."""
        if known is None and not after:
            return self._last
        if known is None or not 0 <= after <= self._last:
            why = f"must be between 0 and {self._last}" if known else "nobody records under this name any more"
            raise errors.invalid(GROUP, "Recording", name, [errors.invalid_value("spec.after", after, why)])
        return after or known.after

    def _status(self, reader: _Reader, *, begins: bool) -> JsonObject:
        self._forget()
        first = self._lines[0].number if self._lines else self._last + 1
        lost = max(0, first - 1 - reader.after)
        lines = self._page(reader.after)
        status: JsonObject = {
            "now": rfc3339_micro(self._clock.now()),
            "lines": b"\n".join(line.raw for line in lines).decode(),
            "next": lines[-1].number if lines else self._last,
            "more": bool(lines) and lines[-1].number < self._last,
            "lost": lost,
        }
        if begins:
            status |= {"resourceVersion": str(self._store.revision), "options": dict(self._options())}
        return status

    def _page(self, after: int) -> list[_Line]:
        """The next lines: so many that an answer of them is no trouble to anybody, and one at least."""
        lines: list[_Line] = []
        size = 0
        for line in self._lines:
            if line.number <= after:
                continue
            size += len(line.raw)
            if lines and (size > PAGE_BYTES or len(lines) == PAGE):
                break
            lines.append(line)
        return lines

    def _begin(self) -> None:
        if self.on:
            return
        self.on = True
        self._look_again()
        self._placements, self._begun_at = Placements(self._clock.now()), self._store.revision
        for pod in sorted((stored.object() for stored in self._store.list(PODS)), key=creation):
            self._placements.there(pod)
        self._unsubscribe = self._store.subscribe(self._heard, [PODS], kept=True)

    def _look(self) -> None:
        """Who has not asked for long records no more; without anybody nothing is kept."""
        now = self._real.now()
        self._readers = {name: one for name, one in self._readers.items() if now - one.asked < PATIENCE}
        if not self._readers and self.on:
            self.on = False
            self._call_off()
            self._unsubscribe()
            self._placements = None
            self._lines.clear()
            self._bytes = 0

    def _look_again(self) -> None:
        self._call_off = self._real.call_at(self._real.now() + PATIENCE, self._give_up)

    def _give_up(self) -> None:
        self._look()
        if self.on:
            self._look_again()

    async def stop(self) -> None:
        self._readers.clear()
        self._look()

    def _forget(self) -> None:
        """What everybody has read."""
        read = min((one.after for one in self._readers.values()), default=self._last)
        while self._lines and self._lines[0].number <= read:
            self._bytes -= len(self._lines.popleft().raw)


def creation(pod: JsonObject) -> tuple[str, str, str]:
    """Order in which pods that are there are numbered."""
    metadata = pod["metadata"]
    return metadata.get("creationTimestamp") or "", metadata["namespace"], metadata["name"]

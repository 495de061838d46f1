"""Events as `kubectl describe` shows them: recorded without ever keeping the caller waiting, repeats counted.

The same thing said again about the same object raises the count of the event that is there.  Writes go through the
client, one after the other, in the order in which things were recorded.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict, deque
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from kube32_sim.api.errors import ApiError
from kube32_sim.client import EVENTS, Client, Unreachable
from kube32_sim.clock import Clock, rfc3339, turn
from kube32_sim.runtime.actions import Emit
from kube32_sim.storage.interface import Unavailable

log = logging.getLogger(__name__)

JsonObject = dict[str, Any]

TTL = 3600.0
"""Seconds after its last repeat that an event is kept."""
REMEMBERED = 20_000
"""Events of which the recorder knows that they are there: so many things can be told again and again as one event."""
QUEUED = 20_000
"""Writes that may wait; what is recorded beyond them is dropped."""
STRIDE = 16
"""Events written before others get their turn."""
LONGEST_NAME = 253

Key = tuple[str, ...]


@dataclass(slots=True, eq=False)
class _Entry:
    """One Event object.  first, last: seconds since 1970.  stored: it has been created."""

    key: Key
    emit: Emit
    name: str
    first: float
    last: float
    count: int = 1
    stored: bool = False
    queued: bool = False


def _key(emit: Emit) -> Key:
    """What makes two events the same: everything but when, and at which revision of the object."""
    about = emit.about
    parts = (str(about.get(name, "")) for name in ("kind", "namespace", "name", "uid", "fieldPath"))
    return (*parts, emit.type, emit.reason, emit.message, emit.component)


def _namespace(emit: Emit) -> str:
    """Events about cluster-scoped objects are kept in the namespace default."""
    return str(emit.about.get("namespace") or "default")


def event_object(emit: Emit, name: str, first: float, last: float, count: int, host: str = "") -> JsonObject:
    """The core/v1 Event.  host: of the kubelet that tells it."""
    source = {"component": emit.component, "host": host} if host else {"component": emit.component}
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": _namespace(emit)},
        "involvedObject": dict(emit.about),
        "reason": emit.reason,
        "message": emit.message,
        "source": source,
        "firstTimestamp": rfc3339(first),
        "lastTimestamp": rfc3339(last),
        "count": count,
        "type": emit.type,
        "reportingComponent": emit.component,
        "reportingInstance": host,
    }


class Recorder:
    """host: the node whose kubelet records, or "" for a control loop.

    others: components whose events another client writes, each with its client.
    """

    def __init__(
        self, client: Client, clock: Clock, host: str = "", others: Mapping[str, Client] = MappingProxyType({})
    ) -> None:
        self._client = client
        self._others = others
        self._clock = clock
        self._host = host
        self._entries: OrderedDict[Key, _Entry] = OrderedDict()
        self._queue: deque[_Entry] = deque()
        self._signal = clock.signal()
        self._stamp = 0
        self._dropped = 0
        self._lost = 0
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = self._clock.spawn(self._run(), "event recorder")

    async def stop(self) -> None:
        """Stop; what is not written yet is lost."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    def record(self, emit: Emit) -> None:
        """Take note of an event.  Never waits and never fails."""
        now = self._clock.now()
        key = _key(emit)
        entry = self._entries.get(key)
        if entry is not None and now < entry.last + TTL:
            entry.count += 1
            entry.last = now
        else:
            entry = self._entries[key] = _Entry(key, emit, self._name(emit, now), now, now)
        self._entries.move_to_end(key)
        self._forget_old(now)
        self._enqueue(entry)

    def _forget_old(self, now: float) -> None:
        """The first is the one that has not been told again for longest."""
        entries = self._entries
        while len(entries) > REMEMBERED or next(iter(entries.values())).last + TTL < now:
            entries.popitem(last=False)

    def _name(self, emit: Emit, now: float) -> str:
        """`<object>.<hex>`: the hex is the time in nanoseconds, one more where that is taken."""
        self._stamp = max(self._stamp + 1, int(now * 1e9))
        end = f".{self._stamp:x}"
        return str(emit.about.get("name", ""))[: LONGEST_NAME - len(end)].rstrip(".-") + end

    def _enqueue(self, entry: _Entry) -> None:
        if entry.queued:
            return
        if len(self._queue) >= QUEUED:
            self._dropped += 1
            if not entry.stored:
                self._forget(entry)
            return
        entry.queued = True
        self._queue.append(entry)
        if len(self._queue) == 1:
            self._signal.set()

    def _forget(self, entry: _Entry) -> None:
        if self._entries.get(entry.key) is entry:
            del self._entries[entry.key]

    async def _run(self) -> None:
        while True:
            written = 0
            while self._queue:
                entry = self._queue.popleft()
                entry.queued = False
                await self._write(entry)
                written += 1
                if written % STRIDE == 0:
                    await turn()
            if self._dropped:
                log.warning("%d events were dropped: more were recorded than could be written", self._dropped)
                self._dropped = 0
            await self._signal.wait()

    async def _write(self, entry: _Entry) -> None:
        try:
            if entry.stored and await self._repeat(entry):
                return
            await self._create(entry)
            entry.stored = True
            self._tell_lost()
        except Unavailable as error:  # the store has told of that itself
            log.debug("event %s about %s is lost: %s", entry.emit.reason, entry.name, error.message)
            self._lost += 1
            self._forget(entry)
        except ApiError as error:
            # A namespace that is going takes no more events; whatever else is refused is worth knowing.
            level = logging.DEBUG if error.reason in ("Forbidden", "NotFound") else logging.WARNING
            log.log(level, "event %s about %s is refused: %s", entry.emit.reason, entry.name, error.message)
            self._forget(entry)
        except Unreachable as error:
            log.info("event %s about %s is lost: %s", entry.emit.reason, entry.name, error)
            self._forget(entry)
        except Exception:
            log.exception("event %s about %s is lost", entry.emit.reason, entry.name)
            self._forget(entry)

    def _tell_lost(self) -> None:
        if self._lost:
            log.warning("%d events are lost: they could not be written while the store was away", self._lost)
            self._lost = 0

    def _writer(self, entry: _Entry) -> Client:
        return self._others.get(entry.emit.component, self._client)

    async def _create(self, entry: _Entry) -> None:
        """Under another name where another recorder took this one, in the same nanosecond of a virtual clock."""
        while True:
            obj = event_object(entry.emit, entry.name, entry.first, entry.last, entry.count, self._host)
            try:
                await self._writer(entry).create(EVENTS, _namespace(entry.emit), obj)
                return
            except ApiError as error:
                if error.reason != "AlreadyExists":
                    raise
            entry.name = self._name(entry.emit, entry.last)

    async def _repeat(self, entry: _Entry) -> bool:
        """Raise the count of the event that is there; False where it is not there any more."""
        patch = {"count": entry.count, "lastTimestamp": rfc3339(entry.last)}
        try:
            await self._writer(entry).patch(EVENTS, _namespace(entry.emit), entry.name, patch)
        except ApiError as error:
            if error.reason != "NotFound":
                raise
            entry.name = self._name(entry.emit, entry.last)
            entry.first, entry.count, entry.stored = entry.last, 1, False
            return False
        return True

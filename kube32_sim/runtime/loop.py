"""The one runner of all control loops: observes, asks the loop what to do, does it, and comes back when it is due.

A loop is pure (`actions.Loop`); everything that can go wrong around it is handled here: conflicts, objects that went
meanwhile, refusals, and the loop's own exceptions, none of which stops it.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Iterable, Iterator
from heapq import heapify, heappop, heappush
from math import ceil, floor
from typing import Any, Protocol

from kube32_sim.api.errors import ApiError
from kube32_sim.client import Client, Resource
from kube32_sim.clock import Clock, turn
from kube32_sim.metrics.meters import LoopMeter, stopwatch
from kube32_sim.runtime.actions import Loop, Plan, View
from kube32_sim.runtime.apply import Recorder, apply
from kube32_sim.runtime.view import Event, storage_of
from kube32_sim.storage.interface import Unavailable

log = logging.getLogger(__name__)

UNSEEN_STRIDE = 64
"""Objects that were there at the start looked at before others get their turn."""
STRIDE = 16
"""Keys reconciled before others get their turn."""
FIRST_DELAY, LONGEST_DELAY = 0.01, 60.0
"""Back-off of a key that failed: doubled from the first to the longest (seconds)."""
NAMED = re.compile('"[^"]*"')
"""The name in the message of a refusal: a generated one is another at every try."""
SET_BACK = 0.5
"""A clock that goes back by more (seconds) was set: all due times were reckoned by another."""
ROUNDING = 1e-5
"""Part of an interval by which times that mean the same may differ."""


class Source(View, Protocol):
    """The view a runner hands to its loop, and where it hears of changes (`view.StoreView`)."""

    def stored(self, resource: Resource) -> Iterable[Any]: ...
    def subscribe(
        self, resources: Iterable[Resource], listener: Callable[[Event], None], heartbeats: Iterable[Resource] = ()
    ) -> Callable[[], None]: ...
    async def read(self, resource: Resource, uid: str) -> View: ...


class SweepingLoop(Loop, Protocol):
    """A loop that knows by itself which keys need a look, instead of being told by `keys`.

    Changes of the types it watches only bring a pass about.
    """

    def sweep(self, view: View, now: float) -> Iterator[str | None]:
        """Keys to look at in this pass, in order; None where others may run.  Read step by step as the pass goes."""


class OwningLoop(Loop, Protocol):
    """A loop whose plans read all that an object owns, which may be very much."""

    def owned_by(self, key: str, view: View) -> tuple[Resource, str] | None:
        """What `plan` is going to ask `View.owned` for: it is read beforehand, while others get their turns."""


class HeedingLoop(Loop, Protocol):
    """A loop to which heartbeats matter."""

    @property
    def heartbeats(self) -> tuple[Resource, ...]:
        """Of which of the types it watches."""

    def heeds(self, event: Event) -> bool:
        """Take note of a heartbeat; answers whether there is anything to do about it."""


class PatientLoop(Loop, Protocol):
    """A loop whose keys are mostly not due after all when their time has come."""

    def postponed(self, key: str, now: float) -> float | None:
        """Until when a due key can wait, as far as that can be told at a glance; None: it is due."""


class Agenda:
    """When which key is due.  A key has one due time; setting it again replaces it."""

    def __init__(self) -> None:
        self._when: dict[str, float] = {}
        self._heap: list[tuple[float, str]] = []

    def set(self, key: str, when: float) -> None:
        self._when[key] = when
        heappush(self._heap, (when, key))
        if len(self._heap) > 2 * len(self._when) + 64:
            self._heap = [(when, key) for key, when in self._when.items()]
            heapify(self._heap)

    def drop(self, key: str) -> None:
        self._when.pop(key, None)

    def first(self) -> float | None:
        heap = self._heap
        while heap and self._when.get(heap[0][1]) != heap[0][0]:
            heappop(heap)
        return heap[0][0] if heap else None

    def hurry(self, now: float) -> None:
        """Whatever is due later is due now."""
        for key, when in tuple(self._when.items()):
            if when > now:
                self.set(key, now)

    def postpone(self, now: float, until: Callable[[str, float], float | None]) -> None:
        """Put off the keys due by now that can wait; it ends at the first that cannot."""
        while (when := self.first()) is not None and when <= now:
            key = self._heap[0][1]
            later = until(key, now)
            if later is None or later <= now:
                return
            self.set(key, later)

    def take(self, now: float) -> Iterator[str]:
        """Keys due by now, the longest due first; each is taken off."""
        while (when := self.first()) is not None and when <= now:
            key = heappop(self._heap)[1]
            del self._when[key]
            yield key


class Runner:
    """Runs one loop.  interval: seconds between passes, counted from the first; None: as soon as something changes."""

    def __init__(
        self,
        loop: Loop,
        view: Source,
        client: Client,
        recorder: Recorder,
        clock: Clock,
        interval: float | None,
        meter: LoopMeter | None = None,
    ) -> None:
        self._meter = meter or LoopMeter()
        self._loop = loop
        self._view = view
        self._client = client
        self._recorder = recorder
        self._clock = clock
        self._interval = interval
        self._sweep: Callable[[View, float], Iterator[str | None]] | None = getattr(loop, "sweep", None)
        self._owned_by: Callable[[str, View], tuple[Resource, str] | None] | None = getattr(loop, "owned_by", None)
        self._heeds: Callable[[Event], bool] | None = getattr(loop, "heeds", None)
        self._postponed: Callable[[str, float], float | None] | None = getattr(loop, "postponed", None)
        self._resources = {storage_of(resource): resource for resource in loop.watches}
        self._dirty: dict[str, None] = {}
        self._unseen: list[tuple[Resource, Any]] = []
        self._dirty_since: float | None = None
        self._agenda = Agenda()
        self._failures: dict[str, int] = {}
        self._told: dict[str, str] = {}
        self._signal = clock.signal()
        self._start = clock.now()
        self._passed = -1
        self._seen = self._start
        """The time as last looked at."""
        self._done = 0
        self._task: asyncio.Task[None] | None = None
        self._unsubscribe: Callable[[], None] = lambda: None
        self._unset: Callable[[], None] = lambda: None
        """Cancels the alarm that is set for the next pass."""

    def start(self) -> None:
        """Begin: the first pass, over everything there is, comes at once."""
        heartbeats: tuple[Resource, ...] = getattr(self._loop, "heartbeats", ())
        self._unsubscribe = self._view.subscribe(self._loop.watches, self._observe, heartbeats)
        if self._sweep is None:
            for resource in self._loop.watches:
                self._unseen += ((resource, stored) for stored in self._view.stored(resource))
        self._start = self._dirty_since = self._clock.now()
        self._task = self._clock.spawn(self._run(), f"loop {self._loop.name}")

    async def stop(self) -> None:
        self._unsubscribe()
        self._unsubscribe = lambda: None
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    # hearing

    def _observe(self, event: Event) -> None:
        """Note what a change concerns, inside the write that made it: the object's states are at hand now.

        Before and after, since an object may have moved away.
        """
        if event.heartbeat and not (self._heeds is not None and self._heeds(event)):
            return
        if self._sweep is None:
            resource = self._resources[event.stored.storage]
            keys = self._keys_of(resource, event.previous) if event.previous is not None else ()
            if event.type != "DELETED":  # its last state is the one before
                keys += self._keys_of(resource, event.stored)
            if not keys:
                return
            self._dirty.update(dict.fromkeys(keys))
            self._meter.depth = len(self._dirty)
        if self._dirty_since is None:
            self._dirty_since = self._clock.now()
            self._signal.set()

    def _keys_of(self, resource: Resource, stored: Any) -> tuple[str, ...]:
        try:
            return tuple(self._loop.keys(resource, stored.object(), self._view))
        except Exception:
            name = self._loop.name
            log.exception("%s: cannot tell what a change of %s %s concerns", name, resource.plural, stored.key)
            return ()

    async def _dirty_keys(self) -> Iterable[str]:
        """What the changes since the last pass concern; at the first pass, what there is."""
        unseen, self._unseen = self._unseen, []
        for number, (resource, stored) in enumerate(unseen, 1):
            self._dirty.update(dict.fromkeys(self._keys_of(resource, stored)))
            if number % UNSEEN_STRIDE == 0:
                await turn()
        keys, self._dirty = self._dirty, {}
        self._meter.depth = 0
        return keys

    # waiting

    async def _run(self) -> None:
        while True:
            await self._until_due()
            await self._pass()

    async def _until_due(self) -> None:
        while (when := self._next_pass()) is None or when > self._clock.now():
            if when is not None:
                self._unset = self._clock.call_at(when, self._alarm)
            try:
                await self._signal.wait()
            finally:
                self._unset()

    def _alarm(self) -> None:
        """The time of the next pass has come, unless what is due can wait."""
        now = self._clock.now()
        if self._postponed is not None and self._dirty_since is None:
            self._agenda.postpone(now, self._postponed)
        when = self._next_pass()
        if when is None or when <= now:
            self._signal.set()
        else:
            self._unset = self._clock.call_at(when, self._alarm)

    def _next_pass(self) -> float | None:
        """When the next pass is: None while nothing has changed and nothing is due."""
        now = self._look_at_the_clock()
        changed, due = self._dirty_since, self._agenda.first()
        wanted = [when for when in (changed, due) if when is not None]
        if not wanted or self._interval is None:
            return min(wanted, default=None)
        if now < self._start + (self._passed - 1) * self._interval:  # the clock was set back
            self._start, self._passed = now, -1
        places = []
        if changed is not None:  # the pass of this very moment, if any, is over
            places.append(0 if self._passed < 0 else floor(self._intervals(changed) + ROUNDING) + 1)
        if due is not None:
            places.append(ceil(self._intervals(due) - ROUNDING))
        return self._start + max(min(places), self._passed + 1) * self._interval

    def _look_at_the_clock(self) -> float:
        now = self._clock.now()
        if now < self._seen - SET_BACK:
            self._agenda.hurry(now)
            if self._dirty_since is not None:
                self._dirty_since = now
        self._seen = now
        return now

    def _intervals(self, when: float) -> float:
        return (when - self._start) / (self._interval or 1.0)

    # working

    async def _pass(self) -> None:
        now = self._clock.now()
        if self._interval is not None:
            self._passed = floor(self._intervals(now) + ROUNDING)
        self._dirty_since = None
        self._meter.passes += 1
        if self._sweep is not None:
            await self._swept(self._sweep(self._view, now))
        for keys in (await self._dirty_keys(), self._agenda.take(now)):
            for key in keys:
                await self._reconcile(key)

    async def _swept(self, keys: Iterator[str | None]) -> None:
        try:
            for key in keys:
                if key is None:
                    await turn()
                else:
                    await self._reconcile(key)
        except Exception:
            log.exception("%s: cannot tell what needs a look", self._loop.name)

    async def _reconcile(self, key: str) -> None:
        self._done += 1
        if self._done % STRIDE == 0:
            await turn()
        now, begun = self._clock.now(), stopwatch()
        self._meter.adds += 1
        plan, done = Plan(), False
        try:
            view = await self._read(key)
            now = self._clock.now()
            plan = self._loop.plan(key, view, now)
            del view  # it may hold very much
            surprised = await apply(plan.actions, self._client, self._recorder)
            done = True
        except ApiError as error:
            silent = _is_told_elsewhere(error) or not self._news(key, error.message)
            log.log(logging.DEBUG if silent else logging.WARNING, "%s: %s: %s", self._loop.name, key, error.message)
            self._again(key, now, plan.again_at)
        except Exception as error:
            level = logging.ERROR if self._news(key, repr(error)) else logging.DEBUG
            log.log(level, "%s: failed on %s", self._loop.name, key, exc_info=True)
            self._again(key, now)
        else:
            self._failures.pop(key, None)
            self._told.pop(key, None)
            due = now if surprised else plan.again_at
            if due is None:
                self._agenda.drop(key)
            else:
                # Never at once again: a loop that is due all the time would leave no rest in which time can move.
                self._agenda.set(key, max(due, now + FIRST_DELAY))
        finally:
            self._meter.note(plan.actions, stopwatch() - begun, done=done)

    async def _read(self, key: str) -> View:
        wanted = self._owned_by(key, self._view) if self._owned_by is not None else None
        return self._view if wanted is None else await self._view.read(*wanted)

    def _news(self, key: str, message: str) -> bool:
        """Whether a failure is another than the last one told of this key, which goes on until it succeeds."""
        told, self._told[key] = self._told.get(key), NAMED.sub('""', message, count=1)
        return told != self._told[key]

    def _again(self, key: str, now: float, due: float | None = None) -> None:
        """After a failure: the longer it lasts, the later, but not after the moment the loop itself asked for."""
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        self._meter.retries += 1
        when = now + min(FIRST_DELAY * 2.0 ** min(failures - 1, 20), LONGEST_DELAY)
        self._agenda.set(key, when if due is None else min(when, max(due, now + FIRST_DELAY)))


def _is_told_elsewhere(error: ApiError) -> bool:
    """What happens all the time, and a store that is away, which says so itself, once for everybody."""
    return isinstance(error, Unavailable) or error.reason in ("Conflict", "NotFound")

"""Time as an object: the only place that looks at the clock or waits on it.

`RealClock` follows the machine.  `VirtualClock` stands still until `advance` moves it: it then wakes what is due in
order of due time (and of registration, among equals), each wake-up run to rest before the next.

To know when things are at rest a clock counts the work under way (`Gauge`): a task started with `spawn` is busy unless
it is parked in `sleep`, or in something built on `park` (work queues, in-process watches).
"""

from __future__ import annotations

import asyncio
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from kube32_sim.timetable import Timetable

EPOCH = 1_767_225_600.0
"""Where a virtual clock starts: 2026-01-01T00:00:00Z."""
END = 253_402_300_799.0
"""The last moment that RFC 3339 can write: 9999-12-31T23:59:59Z."""
STRIDE = 64
"""Wake-ups on a virtual clock after which others get their turn though nothing is under way."""
GLANCE = 0.02
"""Seconds between two looks at a condition on a real clock."""


def rfc3339(seconds: float) -> str:
    """`2026-01-01T00:00:00Z`: whole seconds, as metav1.Time has them."""
    return _whole(int(seconds))


@lru_cache(maxsize=64)
def _whole(seconds: int) -> str:
    return f"{_minute(seconds // 60)}{seconds % 60:02d}Z"


@lru_cache(maxsize=64)
def _minute(minutes: int) -> str:
    return datetime.fromtimestamp(minutes * 60, UTC).strftime("%Y-%m-%dT%H:%M:")


@lru_cache(maxsize=16)
def rfc3339_micro(seconds: float) -> str:
    """`2026-01-01T00:00:00.000000Z`, as metav1.MicroTime has it."""
    micros = int(seconds * 1e6 + 0.5)
    whole = micros // 1_000_000
    return f"{_whole(whole)[:-1]}.{micros - whole * 1_000_000:06d}Z"


def parse_time(text: str) -> float:
    """Seconds since 1970 of an RFC 3339 time; ValueError where it is none."""
    return datetime.fromisoformat(text).timestamp()


def exact(seconds: float) -> float:
    """To the microsecond, so that a hundred steps of 0.1 s come to 10 s, and what is due then is due by then."""
    return int(seconds * 1e6 + 0.5) / 1e6


class NotVirtual(Exception):
    """Somebody wanted to move a clock that follows the machine's."""

    def __init__(self) -> None:
        super().__init__("the clock is real: time moves by itself; only a virtual clock can be advanced")


async def turn() -> None:
    """Let everything else that is ready run once; the caller stays busy."""
    await asyncio.sleep(0)


class Gauge:
    """Counts tasks that have something to do; `at_rest` waits until none has.

    Some of them may be waiting for programs outside (`away`): they are not at rest, but nobody in here has to wait for
    them, least of all those programs.
    """

    def __init__(self) -> None:
        self._busy = 0
        self._away = 0
        self._waiters: list[asyncio.Future[None]] = []
        self._patient: list[asyncio.Future[None]] = []
        """Those who wait for who is away too."""

    def up(self) -> None:
        self._busy += 1

    def down(self) -> None:
        self._busy -= 1
        self._wake()

    def leave(self) -> None:
        self._away += 1
        self._wake()

    def come_back(self) -> None:
        self._away -= 1

    def _wake(self) -> None:
        if self._busy <= self._away:
            _release(self._waiters)
        if self._busy == 0:
            _release(self._patient)

    @property
    def busy(self) -> bool:
        return self._busy > 0

    async def at_rest(self) -> None:
        while self._busy > 0:
            await _joined(self._patient)

    async def rested(self) -> None:
        """Wait until nothing has been busy in here once; by now something may be again."""
        if self._busy > self._away:
            await _joined(self._waiters)


def _release(waiters: list[asyncio.Future[None]]) -> None:
    for waiter in waiters:
        if not waiter.done():
            waiter.set_result(None)
    waiters.clear()


async def _joined(waiters: list[asyncio.Future[None]]) -> None:
    waiter = asyncio.get_running_loop().create_future()
    waiters.append(waiter)
    await waiter


class _Work:
    """What a task that counts is doing, and all that it has started for that.  away: how much of it waits outside."""

    __slots__ = ("away",)

    def __init__(self) -> None:
        self.away = 0


_WORK: ContextVar[_Work | None] = ContextVar("work", default=None)


class Signal:
    """One waiter's wake-up: `set` makes the parked task busy at once, before it runs."""

    def __init__(self, gauge: Gauge) -> None:
        self._gauge = gauge
        self._future: asyncio.Future[None] | None = None
        self._set = False

    def set(self) -> None:
        self._set = True
        if self._future is not None and not self._future.done():
            self._gauge.up()
            self._future.set_result(None)

    async def wait(self) -> None:
        """Wait for `set` (at most one waiter), and clear it."""
        if not self._set:
            future = self._future = asyncio.get_running_loop().create_future()
            self._gauge.down()
            try:
                await future
            finally:
                if not future.done() or future.cancelled():
                    self._gauge.up()
                self._future = None
        self._set = False


class Clock(ABC):
    """What all clocks have.  Times are seconds since 1970 (float), durations seconds."""

    mode: str

    def __init__(self) -> None:
        self.gauge = Gauge()

    @abstractmethod
    def now(self) -> float:
        """Seconds since 1970."""

    def timestamp(self) -> str:
        return rfc3339(self.now())

    def steady(self) -> float:
        """Seconds since some moment: for how long something has lasted, whoever sets the machine's clock meanwhile."""
        return self.now()

    @abstractmethod
    async def sleep(self, seconds: float) -> None:
        """Wait; only in tasks that `spawn` started."""

    @abstractmethod
    def call_at(self, when: float, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back at a time (at once in the next turn when past); answers how to cancel."""

    @abstractmethod
    async def rested(self) -> None:
        """Where time is virtual: let what is under way end, so that what comes next finds the same state every time."""

    @abstractmethod
    async def settle(self) -> None:
        """Run until nothing more is due now."""

    @abstractmethod
    async def advance(self, seconds: float) -> float:
        """Move time on, waking everything due by then; answers the time when all of it has run.

        Raises NotVirtual where time moves by itself, ValueError for what is no duration.
        """

    @abstractmethod
    async def step(self, until: float) -> bool:
        """Let the next thing happen that is due by `until` (seconds since 1970); False where nothing more is.

        On a real clock: let some time pass.
        """

    def signal(self) -> Signal:
        return Signal(self.gauge)

    def spawn(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        """Start a task whose activity counts: use for everything that lives on this clock."""
        self.gauge.up()
        context = copy_context()
        context.run(_WORK.set, _Work())
        task = asyncio.get_running_loop().create_task(work, name=name, context=context)
        task.add_done_callback(lambda _: self.gauge.down())
        return task

    @contextmanager
    def outside(self) -> Iterator[None]:
        """While it lasts, a program outside is waited for, which may ask for something in here meanwhile."""
        work = _WORK.get()
        if work is None:  # nobody counts this task
            yield
            return
        work.away += 1
        if work.away == 1:
            self.gauge.leave()
        try:
            yield
        finally:
            work.away -= 1
            if work.away == 0:
                self.gauge.come_back()


class RealClock(Clock):
    mode = "Real"

    def now(self) -> float:
        return time.time()

    def steady(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        self.gauge.down()
        try:
            await asyncio.sleep(seconds)
        finally:
            self.gauge.up()

    def call_at(self, when: float, callback: Callable[[], None]) -> Callable[[], None]:
        return asyncio.get_running_loop().call_later(max(0.0, when - time.time()), callback).cancel

    async def rested(self) -> None:
        return

    async def settle(self) -> None:
        await self.gauge.at_rest()

    async def advance(self, seconds: float) -> float:
        raise NotVirtual

    async def step(self, until: float) -> bool:
        if self.now() >= until:
            return False
        await asyncio.sleep(min(GLANCE, until - self.now()))
        return True


def _nothing() -> None: ...


class VirtualClock(Clock):
    mode = "Virtual"

    def __init__(self, start: float = EPOCH) -> None:
        super().__init__()
        self._now = start
        self._due = Timetable()
        self._turn = asyncio.Lock()
        self._woken = 0

    def now(self) -> float:
        return self._now

    def set_on(self, now: float) -> None:
        """It is later from now on, as for a machine that slept: what was due meanwhile is late, at the next advance."""
        self._now = max(self._now, exact(now))

    def call_at(self, when: float, callback: Callable[[], None]) -> Callable[[], None]:
        if when > END:
            return _nothing  # that moment never comes
        return self._due.add(max(exact(when), self._now), when, callback)

    async def sleep(self, seconds: float) -> None:
        signal = self.signal()
        cancel = self.call_at(self._now + max(0.0, seconds), signal.set)
        try:
            await signal.wait()
        finally:
            cancel()

    def resume(self, now: float) -> None:
        """Go on from a time that an earlier run had reached; before anything is waited for."""
        self._now = max(self._now, exact(now))

    async def rested(self) -> None:
        await self.gauge.rested()

    async def settle(self) -> None:
        await self.advance(0.0)

    async def advance(self, seconds: float) -> float:
        if not 0 <= seconds < math.inf:
            raise ValueError(f"a clock advances by 0 or more seconds, not by {seconds}")
        async with self._turn:
            until = exact(self._now + seconds)
            if until > END:
                raise ValueError(f"a clock goes no further than {rfc3339(END)}")
            await self.gauge.at_rest()
            while self._wake_next(until):
                if self.gauge.busy or self._woken % STRIDE == 0:
                    await self._rest()
            self._now = max(self._now, until)
            return self._now

    async def step(self, until: float) -> bool:
        until = exact(min(until, END))
        async with self._turn:
            await self.gauge.at_rest()
            if self._wake_next(until):
                await self._rest()
                return True
            self._now = max(self._now, until)
            return False

    def _wake_next(self, until: float) -> bool:
        found = self._due.take(until)
        if found is None:
            return False
        when, callback = found
        self._now = max(self._now, when)  # nobody is woken before his time: he would ask again
        self._woken += 1
        callback()
        return True

    async def _rest(self) -> None:
        """Until all that a wake-up brought about has run; others get their turn where that was nothing."""
        if self.gauge.busy:
            await self.gauge.at_rest()
        else:
            await turn()

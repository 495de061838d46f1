"""What is under way at a time, and for how long: seats for requests, room for their bodies, and an end to each.

A request takes a seat before its verb runs and gives it back with its answer; where all are taken it waits its turn,
first come, first served.  Who waits too long, or where too many wait already, is told to come again (429).  Reads and
writes have seats of their own: writers who wait for webhooks keep nobody from reading.  Watches and followed logs take
none (`streaming.Streams` counts them), nor does an advance of the clock, which may last, nor the reading of one object,
which never does.

Time here is the clients': whatever time it is in the cluster, theirs passes.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping

from aiohttp import web

from kube32_sim.api import errors
from kube32_sim.api.paths import Query
from kube32_sim.durations import parse_duration
from kube32_sim.limits import Limits
from kube32_sim.option_fields import flag
from kube32_sim.server.call import Call
from kube32_sim.server.incoming import read_body
from kube32_sim.server.turns import Turns
from kube32_sim.server.verbs import READING

Work = Callable[[Call, str], Awaitable[web.StreamResponse]]
QUEUE = 25
"""As many requests may wait for a seat for each seat that there is: connections are the scarcer thing."""
SHARE = 4
"""A request may wait this part of its time for a seat (as upstream's priority and fairness)."""
BODIES = 256 << 20
"""Bytes of bodies that do not come in one piece with their head, over all requests under way."""
NO_TIME = 1e-4
"""Seconds in which nothing can be answered: who wants it sooner is told so at once, whatever the machine."""
LOOK_EVERY = 1.0
"""Seconds between two looks for what takes too long."""


class Seats:
    """So many of one sort may be worked on at a time."""

    def __init__(self, most: int, patience: float, option: str) -> None:
        """patience: seconds that one waits at most.  option: that sets `most`."""
        self.free = most
        self._patience = patience
        self._most = most
        self._option = option
        self._queue: OrderedDict[asyncio.Future[None], None] = OrderedDict()
        """Those who wait, the first first; one who has given up may still be in it, or be out of it already."""

    @property
    def taken(self) -> int:
        return self._most - self.free

    async def wait(self) -> None:
        """For a seat that somebody gives back; raises ApiError 429."""
        if len(self._queue) >= QUEUE * self._most:
            raise self._refusal()
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue[turn] = None
        try:
            async with asyncio.timeout(self._patience):
                await turn
        except BaseException as error:
            if turn.done() and not turn.cancelled():
                self.leave()  # it had come just before
            else:
                self._queue.pop(turn, None)  # `leave` may have passed him over since he was called off
            if isinstance(error, TimeoutError):
                raise self._refusal() from None
            raise

    def leave(self) -> None:
        while self._queue:
            turn, _ = self._queue.popitem(last=False)
            if not turn.done():
                turn.set_result(None)
                return
        self.free += 1

    def _refusal(self) -> errors.ApiError:
        return errors.too_many_requests(
            f"too many requests: {self._most} are worked on ({self._option}), and others wait; please try again later",
            bound=self._option,
        )


class Deadline:
    """One request's.

    at: on the event loop's clock.  alarm: of an earlier one, which the client wants.  late: it has passed, and the task
    was cancelled for it.
    """

    __slots__ = ("alarm", "at", "late", "request", "task")

    def __init__(self, request: web.BaseRequest, task: asyncio.Task[object] | None, at: float) -> None:
        self.request = request
        self.task = task
        self.at = at
        self.alarm: asyncio.TimerHandle | None = None
        self.late = False

    def pass_by(self) -> None:
        self.late = True
        if self.task is not None:
            self.task.cancel()

    def overdue(self) -> errors.ApiError | ConnectionError:
        """Instead of the cancellation: the answer, or where that has begun, its end."""
        if self.task is not None:
            self.task.uncancel()
        if self.request.writer.output_size == 0:
            error = errors.timeout()
            if self.alarm is None:  # else it is the client who wants no more
                error.bound = flag("request_timeout")
            return error
        if self.request.transport is not None:
            self.request.transport.abort()
        return ConnectionResetError("the answer was not read in time")


class Deadlines:
    """Of all requests that are no watches: looked at now and then, which costs a request next to nothing."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._under_way: dict[Deadline, None] = {}
        """The first to end first."""
        self._looking = False

    def __len__(self) -> int:
        return len(self._under_way)

    def begin(self, request: web.BaseRequest, seconds: float = 0.0) -> Deadline:
        """seconds: as the client wants, within what may be; 0: that."""
        loop = asyncio.get_running_loop()
        made = Deadline(request, asyncio.current_task(), loop.time() + self.seconds)
        self._under_way[made] = None
        if not self._looking:
            self._look_later(loop)
        if 0 < seconds < self.seconds:
            made.alarm = loop.call_later(seconds, self._pass_by, made)
        return made

    def end(self, deadline: Deadline) -> None:
        self._under_way.pop(deadline, None)
        if deadline.alarm is not None:
            deadline.alarm.cancel()

    def _pass_by(self, deadline: Deadline) -> None:
        if self._under_way.pop(deadline, deadline) is None:
            deadline.pass_by()

    def _look_later(self, loop: asyncio.AbstractEventLoop) -> None:
        self._looking = True
        loop.call_later(min(LOOK_EVERY, self.seconds / 4), self._look)

    def _look(self) -> None:
        self._looking = False
        loop = asyncio.get_running_loop()
        now = loop.time()
        for deadline in tuple(self._under_way):
            if deadline.at > now:
                break
            self._pass_by(deadline)
        if self._under_way:
            self._look_later(loop)


class Bodies:
    """Bytes of those bodies that arrive by and by: half-open connections with large ones must not fill the memory."""

    def __init__(self, each: int) -> None:
        self._each = each
        self.free = max(BODIES, each)

    def reserve(self, request: web.BaseRequest) -> int:
        """How much: what the client says, or as much as may be; raises ApiError 429."""
        length = request.content_length
        wanted = self._each if length is None else min(length, self._each)
        if wanted > self.free:
            why = "too many bodies of requests are under way; please try again later"
            raise errors.too_many_requests(why, bound="the bound on bodies under way")
        self.free -= wanted
        return wanted


class Inflight:
    def __init__(self, limits: Limits) -> None:
        patience = limits.request_timeout / SHARE
        self.reads = Seats(limits.max_requests_inflight, patience, flag("max_requests_inflight"))
        self.writes = Seats(limits.max_mutating_requests_inflight, patience, flag("max_mutating_requests_inflight"))
        self.deadlines = Deadlines(limits.request_timeout)
        self.turns = Turns()
        self.bodies = Bodies(limits.max_request_body_bytes)

    def seated(self) -> Mapping[str, int]:
        """How many requests are worked on, by kind as metrics name it."""
        return {"mutating": self.writes.taken, "readOnly": self.reads.taken}

    async def run(self, call: Call, accept: str, work: Work) -> web.StreamResponse:
        """Have a request worked on in its turn and its time; raises ApiError 429 or 504, and what the work raises."""
        if (call.info.verb == "get" and not call.query) or lasts(call):  # one object is answered at once
            return await work(call, accept)
        seats = self.reads if call.info.verb in READING else self.writes
        deadline, room, seated = self._deadline(call), 0, False
        try:
            if seats is self.writes and not call.request.content.is_eof():
                room = self.bodies.reserve(call.request)
                await read_body(call.request)
            if seats.free:
                seats.free -= 1
            else:
                await seats.wait()
            seated = True
            if seats is self.writes:
                await self.turns.take()
            return await work(call, accept)
        except asyncio.CancelledError:
            if deadline.late:
                raise deadline.overdue() from None
            raise
        finally:
            self.deadlines.end(deadline)
            self.bodies.free += room
            if seated:
                seats.leave()

    def _deadline(self, call: Call) -> Deadline:
        seconds = asked_timeout(call.query) if "timeout" in call.query else 0.0
        if 0 < seconds < NO_TIME:
            raise errors.timeout()
        return self.deadlines.begin(call.request, seconds)


def asked_timeout(query: Query) -> float:
    """Seconds; 0: whatever the server allows.  Raises ApiError 400 in upstream's words."""
    text = query["timeout"][0]
    if not text or text == "0" or text.startswith("-"):
        return 0.0
    if not text.replace(".", "").isdecimal():
        try:
            return parse_duration(text.removeprefix("+"))
        except ValueError:
            why = "invalid duration"
    else:
        why = "missing unit in duration"
    raise errors.bad_request(f"invalid timeout specified in the request URL - time: {why} {errors.go_value(text)}")


def lasts(call: Call) -> bool:
    """Whether a request may take as long as it likes."""
    info = call.info
    if info.verb == "watch" or info.subresource == "log":
        return True
    return info.subresource == "advance" and not call.row.stored

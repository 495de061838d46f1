"""The simulator's clock as an object of the API: `clocks/cluster`, and its subresource `advance`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable

from kube32_sim.api import errors
from kube32_sim.api.own import API_VERSION, GROUP
from kube32_sim.client import CLOCKS
from kube32_sim.clock import END, Clock, NotVirtual, rfc3339, rfc3339_micro
from kube32_sim.durations import parse_duration
from kube32_sim.ids import Ids
from kube32_sim.registry.asked import Asked
from kube32_sim.storage.interface import JsonObject

NAME = "cluster"
DURATION = "spec.duration"


class Clocks:
    """An `own.OwnType` with one object.  keep: called with the time that an advance has reached, before it is told."""

    def __init__(self, clock: Clock, ids: Ids, keep: Callable[[float], Awaitable[None]]) -> None:
        self._clock = clock
        self._keep = keep
        self._metadata = {"name": NAME, "uid": ids.uid(), "creationTimestamp": clock.timestamp()}
        self._under_way: set[asyncio.Task[float]] = set()
        self._stopped = False

    def objects(self) -> Iterable[JsonObject]:
        yield {"metadata": dict(self._metadata), "status": self._status(self._clock.now())}

    def _status(self, now: float) -> JsonObject:
        return {"mode": self._clock.mode, "now": rfc3339_micro(now)}

    async def post(self, asked: Asked, obj: JsonObject) -> JsonObject:
        """Advance the clock.  Advances take turns; time stands still again as soon as nobody waits for this one."""
        metadata = obj.get("metadata") or {}
        if metadata.get("name", NAME) != NAME:
            raise errors.bad_request("name in URL does not match name in ClockAdvance object")
        seconds = self._seconds(obj.get("spec") or {})
        if self._clock.mode != "Virtual":
            raise errors.conflict(GROUP, CLOCKS.plural, NAME, str(NotVirtual()))
        now = self._clock.now() + seconds if asked.dry_run else await self._advance(seconds)
        return {
            "kind": "ClockAdvance",
            "apiVersion": API_VERSION,
            "metadata": {"name": NAME, "creationTimestamp": rfc3339(now)},
            "spec": {"duration": obj["spec"]["duration"]},
            "status": self._status(now),
        }

    def _seconds(self, spec: JsonObject) -> float:
        duration = spec.get("duration", "")
        if not duration:
            raise _invalid(errors.required(DURATION, "how far to advance, such as 330s"))
        try:
            seconds = parse_duration(duration)
        except ValueError as error:
            raise _invalid(errors.invalid_value(DURATION, duration, str(error))) from None
        if self._clock.now() + seconds > END:
            raise _too_far(duration)
        return seconds

    async def _advance(self, seconds: float) -> float:
        """Answers the time that was reached."""
        # A task of its own: the server's stop ends it, and whoever waits for it still gets an answer.
        work = asyncio.get_running_loop().create_task(self._clock.advance(seconds), name="advance")
        self._under_way.add(work)
        try:
            reached = await work
            await self._keep(reached)
            return reached
        except ValueError:  # another advance came first
            raise _too_far(f"{seconds:g}s") from None
        except asyncio.CancelledError:
            if self._stopped:
                stands = f"the clock stands at {rfc3339_micro(self._clock.now())}"
                raise errors.unavailable(f"the server is stopping; {stands}") from None
            raise
        finally:
            self._under_way.discard(work)

    async def stop(self) -> None:
        """End the advances that are under way: each where it is, between two things that are due."""
        self._stopped = True
        for work in tuple(self._under_way):
            work.cancel()


def _invalid(error: errors.FieldError) -> errors.ApiError:
    return errors.invalid(GROUP, "ClockAdvance", NAME, [error])


def _too_far(duration: str) -> errors.ApiError:
    return _invalid(errors.invalid_value(DURATION, duration, f"the clock goes no further than {rfc3339(END)}"))

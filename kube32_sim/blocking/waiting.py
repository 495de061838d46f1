"""Waiting for a condition: who moves time on meanwhile, and what is told where it does not come true."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from kube32_sim.api.errors import ApiError
from kube32_sim.blocking.conditions import read_condition
from kube32_sim.blocking.references import Reference
from kube32_sim.blocking.telling import of_conditions, of_event, of_pod, of_status, section
from kube32_sim.client import EVENTS, PODS
from kube32_sim.clock import GLANCE, RealClock, VirtualClock, rfc3339
from kube32_sim.durations import format_duration, seconds_of

if TYPE_CHECKING:
    from kube32_sim.blocking.acting import Acts

JsonObject = dict[str, Any]
VIRTUAL_SECONDS, REAL_SECONDS = 600.0, 30.0
"""How long is waited unless told."""
PACE = 20.0
"""Seconds of a virtual clock in each real one, while a program outside watches: it answers in some 50 ms."""


async def in_real_time(condition: Callable[[], object], seconds: float) -> bool:
    """Whether it comes true within so many seconds of a person's clock."""
    real = RealClock()
    until = real.steady() + seconds
    while not condition():
        if real.steady() >= until:
            return False
        await real.step(real.now() + GLANCE)
    return True


class Driver:
    """Lets time pass, and at a pace that programs outside can keep up with while there are any."""

    def __init__(self, acts: Acts) -> None:
        self._cluster = acts.cluster
        self._clock = acts.cluster.clock
        self._real = RealClock()
        self._since: tuple[float, float] | None = None
        """(the clock's time, the real one) at which the pace began."""

    async def step(self, until: float) -> bool:
        """Let something happen that is due by then; False where it is later than that."""
        if self._clock.mode != VirtualClock.mode or not self._cluster.watchers():
            self._since = None
            return await self._clock.step(until)
        began, real = self._since = self._since or (self._clock.now(), self._real.steady())
        may = began + PACE * (self._real.steady() - real)
        if await self._clock.step(min(until, may)):
            return True
        await self._real.step(self._real.now() + GLANCE)
        return self._clock.now() < until


class Wait:
    def __init__(
        self, acts: Acts, what: Reference, condition: str | Callable[[JsonObject], object], labels: str = ""
    ) -> None:
        self._acts, self._what, self._labels = acts, what, labels
        self._condition = read_condition(condition)
        self._client = acts.cluster.client

    async def done(self, timeout: str | float | timedelta | None) -> list[JsonObject]:
        clock = self._acts.cluster.clock
        usual = VIRTUAL_SECONDS if clock.mode == VirtualClock.mode else REAL_SECONDS
        seconds = usual if timeout is None else seconds_of(timeout)
        until = clock.now() + seconds
        await self._acts.cluster.settle()
        driver = Driver(self._acts)
        while True:
            found = await self._found()
            if self._met(found):
                return found
            if not await driver.step(until):
                found = await self._found()
                if self._met(found):
                    return found
                raise TimeoutError(await self._told(found, seconds))

    async def _found(self) -> list[JsonObject]:
        what = self._what
        if not what.name:
            return (await self._client.list(what.resource, what.namespace, label_selector=self._labels)).items
        try:
            return [await self._client.get(what.resource, what.namespace, what.name)]
        except ApiError as error:
            if error.code != 404:
                raise
            return []

    def _met(self, found: list[JsonObject]) -> bool:
        if not found:
            return self._condition.holds(None)
        return all(map(self._condition.holds, found))

    # what is told

    async def _told(self, found: list[JsonObject], seconds: float) -> str:
        clock = self._acts.cluster.clock
        virtual = clock.mode == VirtualClock.mode
        time = f"virtual time, now {rfc3339(clock.now())}" if virtual else "real time"
        lines = [
            f"{self._what.text}: {self._condition.text} is not met within {format_duration(seconds)} ({time})",
        ]
        waiting = [obj for obj in found if not self._condition.holds(obj)]
        if not found:
            lines += await self._absent()
        for obj in waiting[:3]:
            lines += await self._why(obj, named=len(found) > 1)
        if len(waiting) > 3:
            lines.append(f"  and {len(waiting) - 3} more")
        return "\n".join(lines)

    async def _absent(self) -> list[str]:
        what = self._what
        listed = await self._client.list(what.resource, what.namespace)
        names = ", ".join(obj["metadata"]["name"] for obj in listed.items[:10]) or "none"
        with_labels = f" with labels {self._labels}" if self._labels else ""
        lines = [f"  last seen: nothing{with_labels}; there are: {names}"]
        if not self._acts.cluster.watchers():
            lines.append("  nobody outside watches this cluster: an operator that has to make it does not run (yet)")
        return lines

    async def _why(self, obj: JsonObject, *, named: bool) -> list[str]:
        whose = f"{obj['metadata']['name']}: " if named else ""
        lines = [f"  last seen: {whose}{self._condition.seen(obj)}"]
        if status := of_status(obj):
            lines.append(f"  status: {status}")
        lines += section("conditions", of_conditions(obj))
        pods = await self._pods(obj)
        lines += section("pods", [of_pod(pod) for pod in pods])
        uids = {obj["metadata"]["uid"], *(pod["metadata"]["uid"] for pod in pods)}
        events = await self._client.list(EVENTS, obj["metadata"].get("namespace", ""))
        about = [one for one in events.items if one.get("involvedObject", {}).get("uid") in uids or self._is(one, obj)]
        lines += section("events", sorted(of_event(one) for one in about), last=True)
        return lines

    def _is(self, event: JsonObject, obj: JsonObject) -> bool:
        """Events of nodes know no uid."""
        about = event.get("involvedObject") or {}
        return (about.get("kind"), about.get("name")) == (self._what.row.kind, obj["metadata"]["name"])

    async def _pods(self, obj: JsonObject) -> list[JsonObject]:
        """Those that an object owns."""
        namespace, uid = obj["metadata"].get("namespace", ""), obj["metadata"]["uid"]
        if not namespace or self._what.resource == PODS:
            return []
        pods = (await self._client.list(PODS, namespace)).items
        return [pod for pod in pods if any(one["uid"] == uid for one in pod["metadata"].get("ownerReferences") or ())]

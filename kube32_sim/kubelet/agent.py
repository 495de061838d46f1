"""The kubelet of one simulated board.

Three tasks follow and renew; they only note what they see and wake the fourth, `_work`, which does everything else,
one thing at a time: pods first, then the report on the node, so that what the report counts as running is written
down already.  The Node and its Lease are `NodeKeeper`'s, the pods `PodKeeper`'s.

The API server is only ever spoken to through a `Client`: in process and over HTTP this is the same code.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from kube32_sim.api.steering import NO_FAULT, Fault
from kube32_sim.client import PODS, Client, Unreachable, WatchEvent
from kube32_sim.clock import Clock, turn
from kube32_sim.ids import Ids
from kube32_sim.kubelet.boards import Profile
from kube32_sim.kubelet.follow import attempt, follow
from kube32_sim.kubelet.node_keeper import NodeKeeper
from kube32_sim.kubelet.pod_keeper import FIRST_RETRY, LONGEST_RETRY, Entry, PodKeeper
from kube32_sim.kubelet.resets import Resets
from kube32_sim.runtime.recorder import Recorder

JsonObject = dict[str, Any]

RENEWALS = 3
"""How often a lease is renewed while it lasts."""
STRIDE = 8
"""Pods that are tended before others have a turn: a machine may have thousands that are due at once."""


@dataclass(frozen=True, slots=True)
class Pace:
    """lease: seconds that a node's Lease lasts.  report: seconds between two reports when nothing changes."""

    lease: int = 15
    report: float = 10.0


class Board:
    """`start` registers the board and lets it live on the clock; `stop` ends it, its objects stay as they are.

    registered: set when the Node is there.  tried: set by then, too, or when that was refused; refusal: why, or "".

    What is the same every time, renewals and reports in which nothing is new, is done by alarms that wait for nobody
    where the client can do that; the tasks do it where it cannot.
    """

    def __init__(
        self, client: Client, clock: Clock, ids: Ids, name: str, profile: Profile, pace: Pace | None = None
    ) -> None:
        self.name = name
        self._pace = pace or Pace()
        self._renew_every = self._pace.lease / RENEWALS
        self._mine = f"spec.nodeName={name}"
        self._recorder = Recorder(client, clock, host=name)
        self._client = client
        self._clock = clock
        self._ids = ids
        self._wake, self._renewal = clock.signal(), clock.signal()
        self._node = NodeKeeper(client, clock, self._recorder, name, profile, self._wake.set, self._pace.lease)
        self._pods = PodKeeper(client, clock, self._recorder, name, profile)
        self._report_at, self._report_pause = 0.0, FIRST_RETRY
        self._told = False
        """Whether the last report arrived, or none was needed."""
        self._renew_at = 0.0
        self._unset_renewal: Callable[[], None] = lambda: None
        self._unset_alarm: Callable[[], None] = lambda: None
        self._fault, self._fault_since = NO_FAULT, 0.0
        self._resets = Resets()
        self._resumes = False
        self.registered, self.tried = asyncio.Event(), asyncio.Event()
        self.refusal = ""
        self._tasks: list[asyncio.Task[None]] = []

    def start(self, *, resumes: bool = False) -> None:
        """resumes: the Node, its Lease and its pods are as a board has left them a moment ago: none of it is written
        anew, and everything falls due when it would have.
        """
        self._resumes = resumes
        self._recorder.start()
        self._spawn(self._work(), "work")

    async def stop(self) -> None:
        self._unset_renewal()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()
        await self._recorder.stop()

    def _spawn(self, work: Coroutine[Any, Any, None], what: str) -> None:
        self._tasks.append(self._clock.spawn(work, f"board {self.name}: {what}"))

    async def _work(self) -> None:
        pause = FIRST_RETRY
        while not await attempt(self._try_to_register, f"registering board {self.name}"):
            await self._clock.sleep(pause)
            pause = min(LONGEST_RETRY, pause * 2)
        self.refusal = ""
        self.registered.set()
        self.tried.set()
        if not self._resumes:
            self._report_at = self._clock.now() + self._first(self._pace.report)
        self._spawn(self._renew(), "lease")
        self._spawn(self._node.follow(self._register), "node")
        self._spawn(self._follow_pods(), "pods")
        while True:
            await self._wait_for_work()
            if self._node.fault != self._fault:
                await self._fault_changed(self._node.fault)
            await self._look_at_voltage()
            for number, entry in enumerate(self._pods.due() if self._runs else (), 1):
                if self._node.fault != self._fault:
                    break  # it has changed while a slow board was late
                await self._tend(entry)
                if number % STRIDE == 0:
                    await turn()
            await self._report()

    async def _try_to_register(self) -> None:
        try:
            await self._register()
        except Unreachable:
            raise
        except Exception as error:
            self.refusal = str(error)
            self.tried.set()
            raise

    async def _register(self) -> None:
        """The pods first: what runs already, from before the agent was restarted, is not free."""
        pods = await self._client.list(PODS, field_selector=self._mine)
        self._pods.replace_all(pods.items)
        self._pods.resume_all()
        if self._resumes:
            known = await self._node.resume(self._pods.free())
            if known is not None:
                reported, renewed = known
                self._told = reported > 0
                self._report_at, self._renew_at = reported + self._pace.report, renewed + self._renew_every
                return
            self._resumes = False
        await self._node.register(self._pods.free())

    def _first(self, interval: float) -> float:
        """A first interval that is shorter by chance, so that boards started together do not all keep in step.

        There are few lengths, for what falls due at the same moment costs a virtual clock less.
        """
        return interval * (5 + self._ids.integer(5)) / 10

    async def _renew(self) -> None:
        if not self._resumes or self._renew_at <= self._clock.now():
            self._renew_at = self._clock.now() + self._first(self._renew_every)
        self._resumes = False
        self._unset_renewal = self._clock.call_at(self._renew_at, self._time_to_renew)
        while True:
            await self._renewal.wait()
            await attempt(self._node.renew, f"renewing the lease of {self.name}")

    def _time_to_renew(self) -> None:
        if not self._node.renew_at_once():
            self._renewal.set()
        now = self._clock.now()
        self._renew_at = min(max(self._renew_at, now - self._renew_every), now) + self._renew_every
        self._unset_renewal = self._clock.call_at(self._renew_at, self._time_to_renew)

    async def _follow_pods(self) -> None:
        async def listed(pods: list[JsonObject]) -> None:
            self._pods.replace_all(pods)
            self._wake.set()

        def changed(event: WatchEvent) -> None:
            self._pods.on_event(event)
            self._wake.set()

        await follow(self._client, self._clock, PODS, self._mine, listed, changed)

    @property
    def _runs(self) -> bool:
        return self._fault.kind != "stopped" and not self._resets.boots

    async def _look_at_voltage(self) -> None:
        """A brownout resets the chip, which boots then."""
        now = self._clock.now()
        if self._resets.begin(self._fault, now):
            self._pods.halt()
            self._node.boots = True
        if self._resets.end(now):
            self._pods.reset(self._resets.off)
            self._pods.look_at_all()
            await attempt(self._node.booted, f"booting {self.name}")

    async def _fault_changed(self, fault: Fault) -> None:
        """A board is cut off or switched off, or back: then it catches up at once."""
        before, since = self._fault, self._fault_since
        self._fault, self._fault_since = fault, self._clock.now()
        if before.kind == "stopped":
            self._pods.power_cycle(since)
        self._resets.changed(fault, self._clock.now())
        self._node.boots = self._resets.boots
        self._pods.look_at_all()
        await attempt(self._node.renew, f"renewing the lease of {self.name}")

    async def _wait_for_work(self) -> None:
        due = self._resets.due()
        pods_due = self._pods.next_due() if self._runs else None
        if due is None or (pods_due is not None and pods_due < due):
            due = pods_due
        at = self._report_at if due is None else min(due, self._report_at)
        self._unset_alarm = self._clock.call_at(at, lambda: self._time_to_work(due))
        try:
            await self._wake.wait()
        finally:
            self._unset_alarm()

    def _time_to_work(self, due: float | None) -> None:
        """It is time for pods, a reset, or a report, to which nothing has changed, or this were called off."""
        now = self._clock.now()
        if (due is not None and due <= now) or not (self._told and self._node.report_at_once()):
            self._wake.set()
            return
        self._report_at = now + self._pace.report
        at = self._report_at if due is None else min(due, self._report_at)
        self._unset_alarm = self._clock.call_at(at, lambda: self._time_to_work(due))

    async def _tend(self, entry: Entry) -> None:
        await self._node.lag()
        silent = self._node.silent
        if await attempt(lambda: self._pods.tend(entry, silent=silent), f"pod on {self.name}"):
            entry.pause = FIRST_RETRY
        else:
            entry.look_again(self._clock.now() + entry.pause)
            entry.pause = min(LONGEST_RETRY, entry.pause * 2)

    async def _report(self) -> None:
        free, now = self._pods.free(), self._clock.now()
        waits = now < self._report_at <= now + self._pace.report  # longer only after the clock was set back
        if waits and free == self._node.reported:
            return
        self._told = await attempt(lambda: self._node.report(free), f"reporting board {self.name}")
        if self._told:
            self._report_at, self._report_pause = now + self._pace.report, FIRST_RETRY
        else:
            self._report_at = now + self._report_pause
            self._report_pause = min(LONGEST_RETRY, self._report_pause * 2)

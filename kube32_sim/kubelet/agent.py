"""The kubelet of one simulated board.

Three tasks follow and renew; they only note what they see and wake the fourth, `_work`, which does everything else,
one thing at a time: pods first, then the report on the node, so that what the report counts as running is written
down already.  The Node and its Lease are `NodeKeeper`'s, the pods `PodKeeper`'s.

The API server is only ever spoken to through a `Client`: in process and over HTTP this is the same code.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from kube32_sim.client import PODS, Client, WatchEvent
from kube32_sim.clock import Clock
from kube32_sim.ids import Ids
from kube32_sim.kubelet.boards import Profile
from kube32_sim.kubelet.follow import attempt, follow
from kube32_sim.kubelet.node_keeper import NodeKeeper
from kube32_sim.kubelet.pod_keeper import FIRST_RETRY, LONGEST_RETRY, Entry, PodKeeper
from kube32_sim.runtime.recorder import Recorder

JsonObject = dict[str, Any]

RENEW_EVERY = 5.0
REPORT_EVERY = 10.0


class Board:
    """`start` registers the board and lets it live on the clock; `stop` ends it, its objects stay as they are.

    registered: set when the Node is there.
    """

    def __init__(self, client: Client, clock: Clock, ids: Ids, name: str, profile: Profile) -> None:
        self.name = name
        self._mine = f"spec.nodeName={name}"
        self._recorder = Recorder(client, clock, host=name)
        self._client = client
        self._clock = clock
        self._ids = ids
        self._wake = clock.signal()
        self._node = NodeKeeper(client, clock, self._recorder, name, profile, self._wake.set)
        self._pods = PodKeeper(client, clock, self._recorder, name, profile)
        self._report_at, self._report_pause = 0.0, FIRST_RETRY
        self._fault, self._fault_since = "", 0.0
        self.registered = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        self._recorder.start()
        self._spawn(self._work(), "work")

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()
        await self._recorder.stop()

    def _spawn(self, work: Coroutine[Any, Any, None], what: str) -> None:
        self._tasks.append(self._clock.spawn(work, f"board {self.name}: {what}"))

    async def _work(self) -> None:
        pause = FIRST_RETRY
        while not await attempt(self._register, f"registering board {self.name}"):
            await self._clock.sleep(pause)
            pause = min(LONGEST_RETRY, pause * 2)
        self.registered.set()
        self._report_at = self._clock.now() + self._first(REPORT_EVERY)
        self._spawn(self._renew(), "lease")
        self._spawn(self._node.follow(self._register), "node")
        self._spawn(self._follow_pods(), "pods")
        while True:
            await self._wait_for_work()
            if self._node.fault != self._fault:
                await self._fault_changed(self._node.fault)
            for entry in self._pods.due() if self._fault != "stopped" else ():
                await self._tend(entry)
            await self._report()

    async def _register(self) -> None:
        """The pods first: what runs already, from before the agent was restarted, is not free."""
        pods = await self._client.list(PODS, field_selector=self._mine)
        self._pods.replace_all(pods.items)
        self._pods.resume_all()
        await self._node.register(self._pods.free())

    def _first(self, interval: float) -> float:
        """A first interval that is shorter by chance, so that boards started together do not keep in step."""
        return interval * (500 + self._ids.integer(500)) / 1000

    async def _renew(self) -> None:
        due = self._clock.now() + self._first(RENEW_EVERY)
        while True:
            await self._clock.sleep(max(0.0, due - self._clock.now()))
            await attempt(self._node.renew, f"renewing the lease of {self.name}")
            due = max(due + RENEW_EVERY, self._clock.now())

    async def _follow_pods(self) -> None:
        async def listed(pods: list[JsonObject]) -> None:
            self._pods.replace_all(pods)
            self._wake.set()

        def changed(event: WatchEvent) -> None:
            self._pods.on_event(event)
            self._wake.set()

        await follow(self._client, self._clock, PODS, self._mine, listed, changed)

    async def _fault_changed(self, fault: str) -> None:
        """A board is cut off or switched off, or back: then it catches up at once."""
        before, since = self._fault, self._fault_since
        self._fault, self._fault_since = fault, self._clock.now()
        if before == "stopped":
            self._pods.power_cycle(since)
        self._pods.look_at_all()
        await attempt(self._node.renew, f"renewing the lease of {self.name}")

    async def _wait_for_work(self) -> None:
        due = self._pods.next_due() if self._fault != "stopped" else None
        at = self._report_at if due is None else min(due, self._report_at)
        cancel = self._clock.call_at(at, self._wake.set)
        try:
            await self._wake.wait()
        finally:
            cancel()

    async def _tend(self, entry: Entry) -> None:
        silent = bool(self._fault)
        if await attempt(lambda: self._pods.tend(entry, silent=silent), f"pod on {self.name}"):
            entry.pause = FIRST_RETRY
        else:
            entry.look_again(self._clock.now() + entry.pause)
            entry.pause = min(LONGEST_RETRY, entry.pause * 2)

    async def _report(self) -> None:
        free, now = self._pods.free(), self._clock.now()
        if now < self._report_at and free == self._node.reported:
            return
        if await attempt(lambda: self._node.report(free), f"reporting board {self.name}"):
            self._report_at, self._report_pause = now + REPORT_EVERY, FIRST_RETRY
        else:
            self._report_at = now + self._report_pause
            self._report_pause = min(LONGEST_RETRY, self._report_pause * 2)

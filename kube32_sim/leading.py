"""What one replica at a time does: control loops, the events they tell, and the boards of `--nodes`.

A process that has its store for itself does it from its start to its end.  Where several share one, each is a
`Candidate`, and does it while it is the elected leader; the API is served by all of them all the time.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack
from contextvars import Context, copy_context
from typing import TYPE_CHECKING, Any, TypeVar

from kube32_sim.api.steering import RUNS_AS
from kube32_sim.api.users import node
from kube32_sim.client import LEASES
from kube32_sim.clock import Clock
from kube32_sim.election import Election
from kube32_sim.ids import Ids
from kube32_sim.local_client import LocalClient
from kube32_sim.loops import Loops, make_recorder
from kube32_sim.options import ServeOptions
from kube32_sim.runtime.actions import Emit
from kube32_sim.runtime.leader_election import BORROWS, Elector, Rules
from kube32_sim.runtime.recorder import Recorder
from kube32_sim.storage.interface import Store
from kube32_sim.storage.objects import Event, StoredObject

if TYPE_CHECKING:
    from kube32_sim.kubelet.process import Boards

log = logging.getLogger(__name__)

T = TypeVar("T")
Begin = Callable[[], Awaitable[None]]
Work = Callable[[], Coroutine[Any, Any, None]]

NODE_STORAGE = ("", "nodes")
_RUNS_AS = RUNS_AS.encode()
PROGRAM = "kube32-sim"
"""The field manager of the Lease, and the component whose events tell who leads."""


class LocalBoards:
    """The boards of `--nodes`, and those of nodes that came with a snapshot: in an earlier run, or since."""

    def __init__(
        self, options: ServeOptions, store: Store, client: LocalClient, clock: Clock, ids: Ids, *, resumes: bool = False
    ) -> None:
        """resumes: others have run the boards up to now, and these go on with what they have left, of all nodes that
        were run by any (`kubelet/resuming`).
        """
        self._resumes = resumes
        self._options, self._store, self._client, self._clock, self._ids = options, store, client, clock, ids
        self._boards: Boards | None = None
        self._coming: dict[str, None] = {}
        """Names of nodes that boards are to be started for."""
        self._context = Context()
        """Of the term: what a store tells of is told in the store's own, and what follows is still the leader's."""
        self._starting: set[asyncio.Task[None]] = set()
        self._unsubscribe: Callable[[], None] = lambda: None

    async def start(self) -> None:
        """Answers when all are registered, or were refused that, which they try again."""
        self._context = copy_context()
        if self._options.boards:
            await self._made().start()
        if self._resumes:
            from kube32_sim.kubelet.resuming import running_nodes

            await self._made().resume(running_nodes(self._store, self._clock.now()))
        self._unsubscribe = self._store.subscribe(self._heard, [NODE_STORAGE])
        self._coming.update((stored.name, None) for stored in self._store.list(NODE_STORAGE) if _is_played(stored))
        await self._play()

    async def stop(self) -> None:
        self._unsubscribe()
        self._coming.clear()
        for task in self._starting:
            task.cancel()
        await asyncio.gather(*self._starting, return_exceptions=True)
        if self._boards is not None:
            await self._boards.stop()

    def _made(self) -> Boards:
        """What boards are made of is dear to import, and may never be needed."""
        if self._boards is None:
            from kube32_sim.kubelet.agent import Pace
            from kube32_sim.kubelet.process import PROGRAM as KUBELET
            from kube32_sim.kubelet.process import Boards

            options, client = self._options, self._client
            pace = Pace(options.node_lease_duration_seconds, options.node_status_update_frequency)
            self._boards = Boards(
                lambda name: client.of(KUBELET, node(name)), self._clock, self._ids, options.boards, pace
            )
        return self._boards

    def _heard(self, event: Event) -> None:
        if event.type == "DELETED" or not _is_played(event.stored):
            return
        if event.previous is None or not _is_played(event.previous):
            if not self._coming:
                task = self._context.run(self._clock.spawn, self._play(), "boards of loaded nodes")
                self._starting.add(task)
                task.add_done_callback(self._starting.discard)
            self._coming[event.stored.name] = None

    async def _play(self) -> None:
        while self._coming:
            names, self._coming = self._coming, {}
            there = (self._store.get(NODE_STORAGE, name) for name in names)
            await self._made().play(stored.object() for stored in there if stored is not None)


def _is_played(stored: StoredObject) -> bool:
    return _RUNS_AS in stored.raw


class Dormant:
    """Loops and boards of a fork: they begin when its time moves or something is written, for until then they have
    nothing to do.
    """

    def __init__(self, loops: Loops, boards: LocalBoards, store: Store, clock: Clock) -> None:
        self._loops, self._boards, self._store, self._clock = loops, boards, store, clock
        self._uncall: Callable[[], None] = lambda: None
        self._unsubscribe: Callable[[], None] = lambda: None
        self._beginning: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._uncall = self._clock.call_at(self._clock.now(), self._begin)  # at the first advance, before all else
        self._unsubscribe = self._store.subscribe(lambda event: self._begin())

    def _begin(self) -> None:
        self._forget()
        if self._beginning is None:
            self._beginning = self._clock.spawn(self._run(), "loops and boards of a fork")

    def _forget(self) -> None:
        self._uncall()
        self._unsubscribe()
        self._uncall = self._unsubscribe = lambda: None

    async def _run(self) -> None:
        self._loops.start()
        await self._boards.start()

    async def stop(self) -> None:
        self._forget()
        if self._beginning is not None:
            self._beginning.cancel()
            await asyncio.gather(self._beginning, return_exceptions=True)
            await self._boards.stop()
            await self._loops.stop()


class Term:
    """Loops and boards from the moment in which this process became the leader.

    recorder: of the loops' events; those of a term are written under it, as all that it writes.
    """

    def __init__(
        self, loops: Loops, boards: LocalBoards, recorder: Recorder, begin: Begin, more: Work, clock: Clock
    ) -> None:
        """begin: what is to be done before anything else.  more: what goes on beside the loops."""
        self._loops, self._boards, self._recorder, self._clock = loops, boards, recorder, clock
        self._begin, self._more = begin, more
        self._going: asyncio.Task[None] | None = None

    async def start(self) -> None:
        await self._begin()
        self._recorder.start()
        self._going = self._clock.spawn(self._more(), "what a leader looks after")
        self._loops.start()
        await self._boards.start()

    async def stop(self) -> None:
        """Everything is stopped, whatever becomes of the rest; then what went wrong is raised."""
        async with AsyncExitStack() as stack:  # last in, first out
            stack.push_async_callback(self._recorder.stop)
            stack.push_async_callback(self._stop_going)
            stack.push_async_callback(self._loops.stop)
            stack.push_async_callback(self._boards.stop)

    async def _stop_going(self) -> None:
        if self._going is not None:
            self._going.cancel()
            await asyncio.gather(self._going, return_exceptions=True)


def rules_of(election: Election) -> Rules:
    return Rules(
        election.leader_elect_resource_namespace,
        election.leader_elect_resource_name,
        int(election.leader_elect_lease_duration),
        election.leader_elect_renew_deadline,
        election.leader_elect_retry_period,
    )


class Candidate:
    """This process among those that share a store."""

    def __init__(
        self,
        election: Election,
        store: Store,
        client: LocalClient,
        clock: Clock,
        ids: Ids,
        recorder: Recorder,
        port: int,
        begin: Begin,
        more: Work,
        make: Callable[[Recorder], tuple[Loops, LocalBoards]],
    ) -> None:
        """recorder: of this process, for who leads.  port: where it listens, by which people know it.

        begin, more, make: of each term (see `Term`).
        """
        self._store, self._client, self._clock, self._recorder, self._ids = store, client, clock, recorder, ids
        self._begin, self._more, self._make = begin, more, make
        self._rules = rules_of(election)
        identity = f"{socket.gethostname()}:{port}_{ids.uid()}"
        self.elector = Elector(client.of(PROGRAM), clock, ids, self._rules, identity, self._term, self._tell)
        self._unsubscribe: Callable[[], None] = lambda: None

    def start(self) -> None:
        self._unsubscribe = self._store.subscribe(self._heard, [(LEASES.group, LEASES.plural)])
        self.elector.start()

    async def stop(self) -> None:
        await self.elector.stop()
        self._unsubscribe()

    async def alone(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do something while no replica runs loops or boards; raises Unavailable where that cannot be."""
        identity = f"{self.elector.identity}_{self._ids.suffix()}{BORROWS}"
        client, clock, ids = self._client.of(PROGRAM), self._clock, self._ids
        return await Elector(client, clock, ids, self._rules, identity, self._term).borrow(work)

    def _heard(self, event: Event) -> None:
        if event.stored.key == f"{self._rules.namespace}/{self._rules.name}":
            self.elector.heard(event.stored.object())

    async def _term(self) -> Term:
        recorder = make_recorder(self._client, self._clock)
        return Term(*self._make(recorder), recorder, self._begin, self._more, self._clock)

    def _tell(self, message: str) -> None:
        """As client-go does: in the log, and as an event about the Lease."""
        log.info("%s", message)
        about = {
            "kind": "Lease",
            "apiVersion": "coordination.k8s.io/v1",
            "namespace": self._rules.namespace,
            "name": self._rules.name,
        }
        self._recorder.record(Emit(about, "Normal", "LeaderElection", message, PROGRAM))

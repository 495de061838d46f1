"""A fork of a cluster in the same process: its state is taken at once, everything that lives on it begins when needed.

Until the first request comes it is a copy of where objects are found, and a socket; loops, boards, scheduler and all
that is read from the store begin then.  Its clock is virtual and stands still, so that makes no difference to it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Generic, Protocol, TypeVar

from kube32_sim.api import errors
from kube32_sim.api.builtin import builtin_table
from kube32_sim.clock import Clock, VirtualClock
from kube32_sim.election import DEFAULTS as ELECTION
from kube32_sim.etcd_access import PLAIN
from kube32_sim.greeting import reachable
from kube32_sim.ground import Credentials, Ground
from kube32_sim.ids import Ids
from kube32_sim.options import ServeOptions
from kube32_sim.registry.forks import Room
from kube32_sim.registry.journal import Journal
from kube32_sim.server.app import ApiServer
from kube32_sim.server.waking import Waking
from kube32_sim.storage.branching import branched
from kube32_sim.storage.interface import Store
from kube32_sim.storage.memory import MemoryStore


class Living(Protocol):
    """What begins when a fork is needed: a `Cluster`."""

    async def start(self) -> None: ...

    async def stop(self) -> None: ...


C = TypeVar("C", bound=Living)
ENDING = "the fork is ending"


class Fork(Generic[C]):
    """See `registry.forks.Branch`.  Made by `fork`."""

    def __init__(self, clock: VirtualClock, ids: Ids, revision: int, url: str) -> None:
        self.url, self.uid, self.revision, self.moment = url, ids.uid(), revision, clock.now()
        self._cluster: C | None = None
        self._server: ApiServer | None = None
        self._waking: asyncio.Task[None] | None = None
        self._ending = False

    def hold(self, cluster: C, server: ApiServer) -> None:
        self._cluster, self._server = cluster, server

    async def wake(self) -> C:
        """The cluster, begun if it was not; raises what `Cluster.start` raises, ApiError where the fork is ending."""
        if self._cluster is None or (self._ending and self._waking is None):
            raise errors.unavailable(ENDING)
        if self._waking is None:
            self._waking = asyncio.get_running_loop().create_task(self._cluster.start(), name=f"fork at {self.url}")
        try:
            await asyncio.shield(self._waking)
        except asyncio.CancelledError:
            if self._ending and self._waking.cancelled():
                raise errors.unavailable(ENDING) from None
            raise
        return self._cluster

    async def stop(self) -> None:
        """As a cluster stops: what lasts, such as an advance, is ended before its server waits for requests."""
        self._ending = True
        if self._waking is not None:
            self._waking.cancel()  # nothing comes of it where it is done
            await asyncio.gather(self._waking, return_exceptions=True)
        if self._cluster is not None:
            await self._cluster.stop()
        if self._server is not None:
            await self._server.stop()
        self._cluster = self._server = None


def options_of(options: ServeOptions) -> ServeOptions:
    """A fork is as its original, but in memory, on a virtual clock, alone, and without faults of the API."""
    return replace(
        options,
        port=0,
        kubeconfig=None,
        nodes=0,
        board=None,
        store="memory",
        clock="virtual",
        seed=None,
        faults=None,
        election=ELECTION,
        etcd=PLAIN,
    )


async def fork(
    options: ServeOptions,
    store: Store,
    clock: Clock,
    ids: Ids,
    journal: Journal,
    credentials: Credentials,
    room: Room,
    port: int,
    make: Callable[[ServeOptions, Ground], C],
) -> Fork[C]:
    """A branch of a cluster from now on, which listens.  Raises OSError where it cannot, Unavailable.

    make: a cluster of options that stands on a ground.
    """
    door = Waking()
    later = VirtualClock(clock.now())
    server = ApiServer(door, later, options.limits)
    await server.start(options.host, port, credentials.context)
    try:
        await clock.rested()
        await store.kept(store.revision)
    except BaseException:
        await server.stop()
        raise
    # From here to the end nothing else has its turn: this is the moment.
    later.resume(clock.now())
    moment = f"revision {store.revision} at {later.now():.6f}"
    table, own = builtin_table(), ids.branch(moment)
    assert isinstance(store, MemoryStore)  # all stores are, whatever keeps their bytes
    branch = branched(store, table, later)
    scheme = "https" if credentials.context is not None else "http"
    made: Fork[C] = Fork(later, own, store.revision, f"{scheme}://{reachable(options.host)}:{server.port}")
    ground = Ground(table, branch, later, own, journal.branch(later), credentials, server, door, room)
    made.hold(make(options_of(options), ground), server)
    door.wake = made.wake
    return made

"""Many boards at once: inside `serve`, or in a process of their own (`kube32-sim kubelet`) that speaks only HTTP."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, suppress

from kube32_sim.api.errors import ApiError
from kube32_sim.client import CLOCKS, Client, JsonObject, Unreachable
from kube32_sim.clock import Clock, RealClock, VirtualClock, turn
from kube32_sim.ids import Ids
from kube32_sim.kubeconfig import Access
from kube32_sim.kubelet.agent import RENEWALS, Board, Pace
from kube32_sim.kubelet.boards import Profile, profiles
from kube32_sim.kubelet.played import profile_of

START_EVERY = 0.003
"""Seconds between two boards of a process, so that a thousand do not all register in one moment."""

RESUMED = 4
"""Boards that go on in one turn."""

PATIENCE = 5.0
"""Seconds of real time in which another board should have come, where boards are waited for that may never come."""

PROGRAM = "kubelet"
"""What boards are called in managedFields."""

log = logging.getLogger(__name__)


class Boards:
    """Boards by (node name, profile) that live on one clock.  client_of: the client of a node by its name."""

    def __init__(
        self,
        client_of: Callable[[str], Client],
        clock: Clock,
        ids: Ids,
        boards: Sequence[tuple[str, str]],
        pace: Pace | None = None,
    ) -> None:
        self._client_of = client_of
        self._clock = clock
        self._ids = ids
        self._pace = pace
        self._boards = [self._board(name, profiles()[profile]) for name, profile in boards]

    def _board(self, name: str, profile: Profile) -> Board:
        return Board(self._client_of(name), self._clock, self._ids, name, profile, self._pace)

    async def start(self) -> None:
        """Answers when all are registered; or have tried to, and go on trying."""
        await self._begin(self._boards)

    @property
    def names(self) -> frozenset[str]:
        return frozenset(board.name for board in self._boards)

    async def play(self, nodes: Iterable[JsonObject]) -> int:
        """Run boards for nodes that came with a snapshot, and that none runs for yet; answers how many.

        When it answers is as with `start`.
        """
        there = self.names
        found = [(node["metadata"]["name"], profile_of(node)) for node in nodes]
        new = [self._board(name, profile) for name, profile in found if profile is not None and name not in there]
        self._boards += new
        await self._begin(new)
        return len(new)

    async def resume(self, nodes: Iterable[tuple[str, Profile]]) -> None:
        """Go on with nodes where others have left them a moment ago; nothing is written for that.

        Answers when all have begun to: some at a time, for they may be many.
        """
        for number, (name, profile) in enumerate(nodes, 1):
            board = self._board(name, profile)
            self._boards.append(board)
            board.start(resumes=True)
            if number % RESUMED == 0:
                await turn()

    async def _begin(self, boards: Sequence[Board]) -> None:
        """Who starts them must not depend on what others make of their writes: webhooks, policies, quotas."""
        for board in boards:
            board.start()
        with suppress(TimeoutError):
            for board in boards:
                if not board.tried.is_set():
                    async with asyncio.timeout(PATIENCE):
                        await board.tried.wait()
        _tell_refused(boards)

    async def tried(self) -> None:
        """Wait until all have been answered, and tell of those that were refused."""
        for board in self._boards:
            await board.tried.wait()
        _tell_refused(self._boards)

    async def registered(self) -> None:
        """Wait until all are."""
        for board in self._boards:
            await board.registered.wait()

    async def start_slowly(self) -> None:
        """One after the other, without waiting for any of them."""
        for board in self._boards:
            board.start()
            await self._clock.sleep(START_EVERY)

    async def stop(self) -> None:
        await asyncio.gather(*(board.stop() for board in self._boards))


async def run_boards(servers: Sequence[Access], names: Sequence[str], profile: str, pace: Pace) -> None:
    """Run boards over HTTP until cancelled.  A server that is not there (yet) is waited for.

    servers: one, or several of one cluster, of which another is used when one is lost.
    """
    clock = RealClock()
    async with _connect(servers, clock, pace) as client:
        boards = Boards(lambda _: client, clock, Ids(), [(name, profile) for name in names], pace)
        log.info("boards of kind %s for %s: %s", profile, ", ".join(each.server for each in servers), _named(names))
        await _look_at_server(client)
        try:
            await boards.start_slowly()
            await boards.tried()
            await boards.registered()
            log.info("registered: %s", _named(names))
            await asyncio.get_running_loop().create_future()
        finally:
            await boards.stop()


def _tell_refused(boards: Sequence[Board]) -> None:
    missing = [board for board in boards if not board.registered.is_set()]
    if missing:
        why = next((board.refusal for board in missing if board.refusal), "no answer yet")
        log.warning(
            "%d of %d boards cannot register yet, and try again: %s: %s",
            len(missing),
            len(boards),
            missing[0].name,
            why,
        )


def _connect(servers: Sequence[Access], clock: Clock, pace: Pace) -> AbstractAsyncContextManager[Client]:
    """Where there are several, a call may take as long as there is between two renewals of a lease.

    So there is still time for a renewal at the next server when the one in use has become silent.
    """
    from kube32_sim.http_client import HttpClient
    from kube32_sim.kubelet.servers import Servers

    if len(servers) == 1:
        return HttpClient(servers[0], tells=True, program=PROGRAM)
    timeout = pace.lease / RENEWALS
    return Servers([HttpClient(access, timeout=timeout, program=PROGRAM) for access in servers], clock)


async def _look_at_server(client: Client) -> None:
    """Warn of one whose clock is driven: these boards cannot keep up with it."""
    try:
        clock = await client.get(CLOCKS, "", "cluster")
    except (ApiError, Unreachable):
        return  # it is no simulator, or not there yet
    if clock["status"]["mode"] == VirtualClock.mode:
        log.warning(
            "the server's clock is virtual: these boards go by real time, and count as lost whenever it is advanced by "
            "more than their lease lasts; boards that `serve --nodes` starts go by its clock"
        )


def _named(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} … {names[-1]}"

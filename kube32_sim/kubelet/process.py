"""Boards in a process of their own: `kube32-sim kubelet`.  They speak only HTTP, as boards on a desk would."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from kube32_sim.clock import RealClock
from kube32_sim.http_client import HttpClient
from kube32_sim.ids import Ids
from kube32_sim.kubeconfig import Access
from kube32_sim.kubelet.agent import Board
from kube32_sim.kubelet.boards import profiles

START_EVERY = 0.003
"""Seconds between two boards that start, so that a thousand do not all register in one moment."""

log = logging.getLogger(__name__)


async def run_boards(access: Access, names: Sequence[str], profile: str) -> None:
    """Run boards until cancelled.  A server that is not there (yet) is waited for."""
    clock, ids = RealClock(), Ids()
    async with HttpClient(access) as client:
        boards = [Board(client, clock, ids, name, profiles()[profile]) for name in names]
        log.info("%d boards of kind %s for %s", len(boards), profile, access.server)
        try:
            for board in boards:
                board.start()
                await clock.sleep(START_EVERY)
            await asyncio.get_running_loop().create_future()
        finally:
            await asyncio.gather(*(board.stop() for board in boards))

"""Taking turns at decisions, whatever becomes of those who wait."""

from __future__ import annotations

import asyncio

import pytest

from kube32_sim.storage.etcd.guards import Guards
from kube32_sim.storage.etcd.keys import Keys


@pytest.mark.parametrize("turns", range(8))
async def test_who_is_called_off_as_his_turn_comes_keeps_nobody_waiting(turns: int) -> None:
    guards, end = Guards(Keys("/test")), asyncio.Event()

    async def decide(until: asyncio.Event | None = None) -> None:
        async with guards.deciding(["seats"]):
            if until is not None:
                await until.wait()

    first = asyncio.create_task(decide(end))
    await asyncio.sleep(0)
    second, third = asyncio.create_task(decide()), asyncio.create_task(decide())
    for _ in range(4):
        await asyncio.sleep(0)
    end.set()
    for _ in range(turns):
        await asyncio.sleep(0)
    second.cancel()
    await asyncio.gather(first, second, return_exceptions=True)
    async with asyncio.timeout(2):
        await third
        await decide()

"""A crowd of writers keeps nobody from reading: only some writes begin in each turn of the event loop."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

from kube32_sim.cluster import Cluster
from kube32_sim.server.turns import Turns
from tests.support.objects import config_map
from tests.support.waiting import eventually
from tests.support.wire import connected

MAPS = "/api/v1/namespaces/default/configmaps"
CROWD = 150


async def test_some_begin_in_each_turn_in_the_order_in_which_they_came() -> None:
    turns, begun = Turns(3), []

    async def write(number: int) -> None:
        await turns.take()
        begun.append(number)

    waiting = [asyncio.create_task(write(number)) for number in range(10)]
    await asyncio.sleep(0)
    assert begun == [0, 1, 2]
    waiting[4].cancel()
    for _ in range(10):
        before = len(begun)
        await asyncio.sleep(0)
        assert len(begun) - before <= 3
    assert begun == [0, 1, 2, 3, 5, 6, 7, 8, 9]
    await write(10)
    assert begun[-1] == 10, "nobody waits where nobody else writes"


async def test_who_reads_overtakes_a_crowd_that_writes() -> None:
    async with Cluster(nodes=0, clock="virtual") as cluster, AsyncExitStack() as stack:
        writers = [await stack.enter_async_context(connected(cluster.port)) for _ in range(CROWD)]
        reader = await stack.enter_async_context(connected(cluster.port))
        await reader("GET", "/api/v1/namespaces/default")
        written: list[str] = []
        cluster.store.subscribe(lambda event: written.append(event.stored.name), [("", "configmaps")])
        for number, wire in enumerate(writers):
            await wire.ask("POST", MAPS, config_map(f"m{number}"))
        answer = await reader("GET", "/api/v1/namespaces/default")
        assert answer.status == 200
        assert len(written) < CROWD / 2, "it came when the writes had begun to wait, and did not wait for them"
        await eventually(lambda: len(written) == CROWD, "all writes")
        for wire in writers:
            assert (await wire.answer()).status == 201

"""Loops with very much to do, or with failures that last: others get their turn, and the log stays short."""

import asyncio
import logging

from test_loop import MAPS, STORAGE, Looking, Noted, stage

from kube32_sim.api import errors
from kube32_sim.clock import turn
from kube32_sim.runtime.actions import Delete, Plan, Update
from kube32_sim.runtime.apply import apply
from kube32_sim.runtime.view import StoreView


async def test_a_long_plan_lets_others_run_and_can_be_stopped_in_between():
    client = Noted()
    actions = [Delete(MAPS, "d", str(number), "u") for number in range(100)]
    work = asyncio.ensure_future(apply(actions, client, client))
    turns = 0
    while not work.done():
        await turn()
        turns += 1
    assert turns >= 10
    client.calls.clear()
    work = asyncio.ensure_future(apply(actions, client, client))
    await turn()
    work.cancel()
    await asyncio.gather(work, return_exceptions=True)
    assert work.cancelled()
    assert 0 < len(client.calls) < 20


async def test_what_an_owner_has_plenty_of_is_read_step_by_step_yet_up_to_date():
    async with stage() as on:
        owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "o"}
        for number in range(600):
            await on.put(f"m{number:03}")
            await on.store.update(STORAGE, f"d/m{number:03}", lambda old: _owned(old, owner))
        view = StoreView(on.store)
        work = asyncio.ensure_future(view.read(MAPS, "o"))
        await turn()
        assert not work.done()
        read = await work
        await on.store.update(STORAGE, "d/m007", lambda old: {**old.copy(), "data": {"new": "1"}})
        await on.store.delete(STORAGE, "d/m008", lambda _: None)
        assert read.owned(MAPS, "o") == view.owned(MAPS, "o")
        assert len(read.owned(MAPS, "o")) == 599


def _owned(stored, owner):
    obj = stored.copy()
    obj["metadata"]["ownerReferences"] = [owner]
    return obj


async def test_a_loop_says_what_its_plan_will_read():
    async with stage() as on:
        await on.put("a")
        loop = Looking()
        asked = []
        loop.owned_by = lambda key, view: asked.append(key) or (MAPS, "o")
        on.run(loop, 1.0)
        await on.clock.settle()
        assert asked == ["d/a"]
        assert len(loop.seen) == 1


async def test_a_failure_that_lasts_is_told_once_until_it_changes_or_ends(caplog):
    async with stage() as on:
        await on.put("a")
        loop = Looking(lambda key, now: Plan((Update(MAPS, "d", {"metadata": {"name": "a"}}),)))

        async def refused(why):
            caplog.clear()
            for number in range(5):
                on.client.fails["update"] = errors.bad_request(f'pods "a-{number}" {why}')
                await on.clock.advance(130.0)
            return [record.message for record in caplog.records if record.levelno >= logging.WARNING]

        on.run(loop, 1.0)
        assert await refused("is empty") == ['looking: d/a: pods "a-0" is empty']
        assert len(await refused("is full")) == 1
        on.client.fails.clear()
        await on.clock.advance(130.0)
        await on.put("a", x="1")
        assert len(await refused("is full")) == 1
        on.client.fails["update"] = ValueError("odd")
        caplog.clear()
        await on.clock.advance(600.0)
        assert [record.levelno for record in caplog.records if record.levelno >= logging.WARNING] == [logging.ERROR]

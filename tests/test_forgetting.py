"""What is over is forgotten: alarms that were called off, types that have gone, events told long ago."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kube32_sim.api.builtin import builtin_table
from kube32_sim.api.resources import MOST_GONE
from kube32_sim.clock import EPOCH, VirtualClock
from kube32_sim.runtime.recorder import TTL, Recorder
from kube32_sim.storage.interface import Compacted
from kube32_sim.storage.memory import MemoryStore
from kube32_sim.timetable import CALLED_OFF, Timetable
from tests.runtime.test_recorder import Kept, emit

MAPS = ("", "configmaps")


async def test_what_is_called_off_does_not_lie_about_until_its_time() -> None:
    clock, fired = VirtualClock(), []
    for number in range(10_000):
        clock.call_at(EPOCH + 1e6 + number, lambda: fired.append("never"))()
        if number % 100 == 0:
            clock.call_at(EPOCH + 2e6 - number, lambda number=number: fired.append(number))  # type: ignore[misc]
    assert len(clock._due) <= 100 + CALLED_OFF + 1
    await clock.advance(3e6)
    assert fired == list(range(9900, -1, -100))
    assert not clock._due


def test_callbacks_come_in_order_of_their_moments_and_once() -> None:
    table, told = Timetable(), []
    cancel = [table.add(moment, moment, lambda moment=moment: told.append(moment)) for moment in (3.0, 1.0, 2.0, 1.0)]  # type: ignore[misc]
    cancel[2]()
    cancel[2]()
    while (found := table.take(3.0)) is not None:
        found[1]()
    assert told == [1.0, 1.0, 3.0]
    cancel[0]()
    assert len(table) == 0


async def test_of_types_that_have_gone_only_the_last_are_remembered() -> None:
    table, clock = builtin_table(), VirtualClock()
    store = MemoryStore(table, clock, history_events=1)
    row = table.by_storage(MAPS)
    for number in range(MOST_GONE + 10):
        made = replace(row, group=f"g{number}", storage=(f"g{number}", "things"), plural="things", kind="Thing")
        table.add(made)
        obj = {"metadata": {"name": "one", "uid": f"u{number}"}}
        await store.create(made.storage, "one", obj)
        await store.delete(made.storage, "one", lambda _: None)
        table.remove(made)
    with pytest.raises(KeyError):
        table.by_storage(("g0", "things"))
    assert table.by_storage(("g200", "things")).custom is None
    assert len(store.storages()) == 1, "the one of which the history tells"
    again = replace(row, group="g200", storage=("g200", "things"), plural="things", kind="Thing")
    table.add(again)
    with pytest.raises(Compacted):
        store.events_since(again.storage, 1)


async def test_events_that_were_told_long_ago_are_not_remembered() -> None:
    clock = VirtualClock()
    recorder = Recorder(Kept(), clock)
    for number in range(100):
        recorder.record(emit(str(number)))
    await clock.advance(TTL / 2)
    recorder.record(emit("0"))
    await clock.advance(TTL / 2 + 1)
    recorder.record(emit("new"))
    assert [key[-2] for key in recorder._entries] == ["0", "new"]

"""The clocks: what is due is woken in order, each wake-up run to rest before the next."""

from __future__ import annotations

import asyncio
import math

import pytest

from kube32_sim.clock import END, EPOCH, RealClock, VirtualClock, parse_time, rfc3339, rfc3339_micro, turn


async def test_sleepers_wake_in_order_of_due_time_and_then_of_registration() -> None:
    clock, woken = VirtualClock(), []

    async def sleeper(name: str, seconds: float) -> None:
        await clock.sleep(seconds)
        woken.append((name, clock.now() - EPOCH))

    for name, seconds in (("late", 3.0), ("first", 1.0), ("second", 1.0), ("now", 0.0)):
        clock.spawn(sleeper(name, seconds), name)
    await clock.advance(2.0)
    assert woken == [("now", 0.0), ("first", 1.0), ("second", 1.0)]
    assert clock.now() == EPOCH + 2.0
    await clock.advance(1.0)
    assert woken[-1] == ("late", 3.0)


async def test_a_wake_up_and_all_that_it_brings_about_comes_to_rest_before_the_next() -> None:
    clock, story = VirtualClock(), []
    signal = clock.signal()

    async def teller() -> None:
        for _ in range(2):
            await clock.sleep(1.0)
            story.append("tells")
            signal.set()

    async def listener() -> None:
        while True:
            await signal.wait()
            await asyncio.sleep(0)  # still busy, though the loop turns
            story.append("hears")

    async def other() -> None:
        await clock.sleep(1.0)
        story.append("other")

    clock.spawn(teller(), "teller")
    task = clock.spawn(listener(), "listener")
    clock.spawn(other(), "other")
    await clock.advance(2.0)
    assert story == ["tells", "hears", "other", "tells", "hears"]
    task.cancel()


async def test_a_thousand_deadlines_of_one_instant_all_fire_in_order() -> None:
    clock, fired = VirtualClock(), []
    for number in range(1000):
        clock.call_at(EPOCH + 5.0, lambda number=number: fired.append(number))  # type: ignore[misc]
    await clock.advance(5.0)
    assert fired == list(range(1000))


async def test_what_is_cancelled_does_not_fire_and_leaves_nothing_busy() -> None:
    clock, fired = VirtualClock(), []
    cancel = clock.call_at(EPOCH + 1.0, lambda: fired.append("cancelled"))
    cancel()

    async def sleeper() -> None:
        await clock.sleep(1.0)
        fired.append("slept")

    task = clock.spawn(sleeper(), "sleeper")
    await clock.settle()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await clock.advance(10.0)
    assert fired == []
    assert clock.now() == EPOCH + 10.0


async def test_the_past_is_due_at_once() -> None:
    clock, fired = VirtualClock(), []
    clock.call_at(EPOCH - 100.0, lambda: fired.append(clock.now()))
    await clock.settle()
    assert fired == [EPOCH]


@pytest.mark.parametrize("seconds", [-1.0, math.nan, math.inf, -math.inf])
async def test_only_durations_move_the_clock(seconds: float) -> None:
    clock = VirtualClock()
    with pytest.raises(ValueError, match="a clock advances by 0 or more seconds"):
        await clock.advance(seconds)
    assert clock.now() == EPOCH


async def test_the_real_clock_goes_on_by_itself() -> None:
    clock = RealClock()
    called = asyncio.Event()
    before = clock.now()
    clock.call_at(before + 0.01, called.set)
    cancel = clock.call_at(before + 0.005, lambda: pytest.fail("was cancelled"))
    cancel()
    await asyncio.wait_for(called.wait(), 5.0)
    assert clock.now() > before

    async def sleeper() -> None:
        await clock.sleep(0.001)

    await asyncio.wait_for(clock.spawn(sleeper(), "sleeper"), 5.0)
    await asyncio.wait_for(clock.gauge.at_rest(), 5.0)


def test_times_are_written_as_kubernetes_writes_them() -> None:
    assert rfc3339(EPOCH + 1.999) == "2026-01-01T00:00:01Z"
    assert rfc3339_micro(EPOCH + 0.25) == "2026-01-01T00:00:00.250000Z"
    assert parse_time("2026-01-01T02:00:00+02:00") == EPOCH
    with pytest.raises(ValueError, match="nonsense"):
        parse_time("nonsense")


@pytest.mark.parametrize("late", [END + 0.5, 9.3e18, math.inf])
async def test_what_is_due_after_the_end_of_time_never_is(late: float) -> None:
    clock, woken = VirtualClock(), []
    clock.call_at(late, lambda: woken.append("late"))()
    clock.call_at(late, lambda: woken.append("late"))
    clock.call_at(END, lambda: woken.append("last"))
    await clock.advance(END - EPOCH)
    await clock.settle()
    assert (woken, clock.now()) == (["last"], END)
    assert clock.timestamp() == "9999-12-31T23:59:59Z"


async def test_nobody_is_woken_before_his_time() -> None:
    """He would look at the clock, find it too early, and ask for the same moment again, for ever."""
    clock, woken = VirtualClock(), []
    for number in range(1000):
        when = EPOCH + 5.0 + number * 2.4e-7
        clock.call_at(when, lambda when=when: woken.append(clock.now() >= when))  # type: ignore[misc]
    clock.call_at(math.inf, lambda: woken.append(False))
    await clock.advance(6.0)
    assert woken == [True] * 1000
    assert clock.now() == EPOCH + 6.0


@pytest.mark.parametrize(("step", "number"), [(0.1, 1000), (0.2, 50), (1.1, 10), (0.001, 777), (0.000001, 50)])
async def test_steps_add_up(step: float, number: int) -> None:
    clock, fired = VirtualClock(), []
    clock.call_at(EPOCH + step * number, lambda: fired.append(clock.now()))
    for _ in range(number - 1):
        await clock.advance(step)
    assert fired == []
    await clock.advance(step)
    assert fired == [clock.now()]
    assert rfc3339_micro(clock.now()) == rfc3339_micro(round(EPOCH + step * number, 6))


async def test_who_waits_outside_keeps_time_but_not_others() -> None:
    """An advance waits for a task that waits for a program outside, who only wants to find things at rest does not."""
    clock = VirtualClock()
    answered = asyncio.Event()
    done: list[str] = []

    async def ask() -> None:
        with clock.outside():
            await answered.wait()

    async def work() -> None:
        await asyncio.gather(ask(), ask())  # what a task starts for itself counts as its own
        done.append("work")

    async def advance() -> None:
        await clock.advance(1)
        done.append("advance")

    clock.spawn(work(), "work")
    advancing = asyncio.create_task(advance())
    await clock.rested()
    await turn()
    assert done == []
    answered.set()
    await advancing
    assert done == ["work", "advance"]
    assert not clock.gauge.busy


async def test_who_is_not_counted_may_wait_outside_too() -> None:
    clock = VirtualClock()
    with clock.outside():
        await clock.advance(1)
    clock.spawn(clock.sleep(1), "sleeper")
    await clock.advance(1)
    assert not clock.gauge.busy

"""Waiting for etcd, which lives in real time whatever the clock of the simulated cluster says."""

from __future__ import annotations

import asyncio

from kube32_sim.clock import RealClock

_CLOCK = RealClock()


def now() -> float:
    """Seconds since 1970."""
    return _CLOCK.now()


async def patient(future: asyncio.Future[None], seconds: float) -> bool:
    """Wait for a future; False where it is not done in time (it is cancelled then)."""

    def give_up() -> None:
        future.cancel()

    stop = _CLOCK.call_at(_CLOCK.now() + seconds, give_up)
    try:
        await future
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        return False
    finally:
        stop()
    return True


async def pause(seconds: float) -> None:
    await _CLOCK.sleep(seconds)

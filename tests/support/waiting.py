"""Waiting for a condition, with a deadline: the only place in the tests that sleeps."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

PATIENCE = 20.0
"""Seconds until a wait gives up: far more than anything takes, so that a slow machine fails no test."""


def until(condition: Callable[[], T], what: str, patience: float = PATIENCE) -> T:
    """Ask until the answer is true (any true value), and answer that; AssertionError when it never is."""
    deadline = time.monotonic() + patience
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {patience:.0f} s: {what} (last answer: {answer!r})")
        time.sleep(0.02)


async def eventually(condition: Callable[[], object], what: str, patience: float = PATIENCE) -> None:
    """The same within an event loop, which goes on meanwhile."""
    deadline = time.monotonic() + patience
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {patience:.0f} s: {what}")
        await asyncio.sleep(0.001)

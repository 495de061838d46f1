"""Writes from where nothing can be awaited: computed objects, and what a listener writes when it hears of a change."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any


def run_now(write: Coroutine[Any, Any, Any]) -> None:
    """Run a store's write to its end here and now; the store in memory never waits."""
    try:
        write.send(None)
    except StopIteration:
        return
    write.close()
    raise RuntimeError("a write from here has to be done at once, and this store waits")

"""Stores of each kind that keeps its objects in this process: the same tests run against all of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from kube32_sim.api.builtin import builtin_table
from kube32_sim.clock import Clock, VirtualClock
from kube32_sim.storage.memory import MemoryStore
from kube32_sim.storage.sqlite.store import SqliteStore
from tests.support.stores import picture

MakeStore = Callable[..., MemoryStore]


@pytest.fixture(params=["memory", "sqlite"])
async def make_store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[MakeStore]:
    """`make_store(clock, history_events=5)`; what a file keeps is at the end read again, and must be the same."""
    made: list[tuple[Path, SqliteStore, Clock, dict[str, int]]] = []

    def make(clock: Clock | None = None, **history: int) -> MemoryStore:
        clock = clock or VirtualClock()
        if request.param == "memory":
            return MemoryStore(builtin_table(), clock, **history)
        path = tmp_path / f"store-{len(made)}"
        store = SqliteStore(path, builtin_table(), clock, **history)
        made.append((path, store, clock, history))
        return store

    yield make
    for path, store, clock, history in made:
        before = picture(store)
        await store.close()
        again = SqliteStore(path, builtin_table(), clock, **history)
        assert picture(again) == before
        await again.close()

"""Whatever is written, forgotten, closed, cut off or refused: what is opened again is what was there."""

from __future__ import annotations

import asyncio
import random
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kube32_sim.api.builtin import builtin_table
from kube32_sim.clock import VirtualClock
from kube32_sim.storage.interface import Unavailable
from kube32_sim.storage.sqlite.store import SqliteStore
from tests.storage.test_store_model import MAPS, PODS, Model, step
from tests.support.stores import picture

ACTIONS = ("write", "write", "write", "keep", "fail", "cut off", "reopen", "compact", "advance")


class Life:
    """A store and what it should hold.  known: its picture when all was kept last."""

    def __init__(self, directory: Path, seed: int, history: dict[str, Any]) -> None:
        self.directory, self.rng, self.history = directory, random.Random(seed), history
        self.model, self.number = Model(), 0
        self.clock = VirtualClock()
        self.store = self.opened(directory / "store")
        self.known = picture(self.store)
        self.wanted: dict[Any, Any] = {}

    def opened(self, path: Path) -> SqliteStore:
        self.clock = VirtualClock()
        return SqliteStore(path, builtin_table(), self.clock, **self.history)

    async def write(self) -> None:
        for _ in range(self.rng.randrange(1, 12)):
            await step(self.rng, self.store, self.model)

    async def keep(self) -> None:
        await self.store.kept(self.store.revision)
        self.remember()

    def remember(self) -> None:
        self.known, self.wanted = picture(self.store), dict(self.model.now)

    async def fail(self) -> None:
        """Whatever is written now is undone."""
        await self.keep()
        file = self.store.journal._file
        real, file.commit = file.commit, _broken  # type: ignore[method-assign]
        await self.write()
        with pytest.raises(Unavailable):
            await self.store.journal.flushed()
        file.commit = real  # type: ignore[method-assign]
        self.model.now = dict(self.wanted)
        self.model.pulses.clear()
        for storage in (PODS, MAPS):
            assert [stored.copy() for stored in self.store.list(storage)] == self.model.listed(storage, "")
        self.store.check()
        self.store.journal._retry()
        await asyncio.wrap_future(self.store.journal._under_way.commit)  # type: ignore[union-attr,arg-type]
        await self.store.journal.flushed()
        self.remember()

    async def cut_off(self) -> None:
        """What a kill at this moment leaves, with a transaction that was begun: all that was kept, and no more."""
        await self.keep()
        self.store._trim(self.clock.now())
        self.remember()
        await self.write()
        journal = self.store.journal
        batch, journal._next = journal._next, type(journal._next)()
        batch.revision = self.store.revision
        journal._stage(batch)
        self.number += 1
        left, path = self.directory / "store", self.directory / f"left-{self.number}"
        for end in ("", "-wal"):
            shutil.copy(f"{left}{end}", f"{path}{end}")
        journal._under_way = batch
        journal._commit(batch, journal._file.commit)
        clock = VirtualClock()
        again = SqliteStore(path, builtin_table(), clock, **self.history)
        again._trim(clock.now())  # what has been forgotten since the last write may be there again
        assert picture(again) == self.known
        await again.close()
        await self.keep()

    async def reopen(self) -> None:
        self.store._trim(self.clock.now())
        before = picture(self.store)
        await self.store.close()
        self.store = self.opened(self.directory / "store")
        assert picture(self.store) == before
        self.model.pulses.clear()
        self.remember()

    async def compact(self) -> None:
        await self.keep()
        self.store.compact(self.store.revision - self.rng.randrange(5))
        await self.store.journal.flushed()
        self.remember()

    async def advance(self) -> None:
        await self.clock.advance(self.rng.choice((1, 200)))
        await self.store.keep_time(self.clock.now())
        self.store._trim(self.clock.now())


def _broken() -> None:
    raise OSError("no")


@settings(max_examples=8, deadline=None)
@given(
    st.integers(0, 1 << 32),
    st.lists(st.sampled_from(ACTIONS), min_size=3, max_size=14),
    st.sampled_from([{}, {"history_events": 7}, {"history_bytes": 2000}, {"history_seconds": 300}]),
)
def test_what_is_opened_again_is_what_was_there(seed: int, actions: list[str], history: dict[str, Any]) -> None:
    async def live() -> None:
        with tempfile.TemporaryDirectory() as directory:
            life = Life(Path(directory), seed, history)
            for action in actions:
                await getattr(life, action.replace(" ", "_"))()
            await life.reopen()
            ledger, log = life.store.journal._ledger, life.store._log
            states = {event.previous.revision for event in log if event.previous is not None}
            present = {stored.revision for place in (PODS, MAPS) for stored in life.store.list(place)}
            needed = states | present | {event.revision for event in log}
            assert ledger.rows == len(needed | set(ledger._bases))
            assert all(base.alone == (revision not in needed) for revision, base in ledger._bases.items())
            await life.store.close()

    asyncio.run(live())

"""A watcher who cannot be told something is cut off rather than left in the belief that nothing happened."""

from __future__ import annotations

from typing import Any

import pytest

from kube32_sim.api.builtin import builtin_table
from kube32_sim.clock import VirtualClock
from kube32_sim.storage.memory import MemoryStore
from kube32_sim.storage.watching import Hub, Selection

MAPS = ("", "configmaps")


class Encoder:
    """Encodes names, but for one it cannot."""

    def __init__(self, key: str, unspeakable: str = "") -> None:
        self.key: Any = key
        self._unspeakable = unspeakable

    def encode(self, kind: str, stored: Any) -> str:
        if stored.name == self._unspeakable:
            raise ValueError(stored.name)
        return str(stored.name)

    def join(self, frames: Any) -> list[str]:
        return list(frames)


class Rig:
    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.store = MemoryStore(builtin_table(), self.clock)
        self.hub = Hub(self.store, self.clock.gauge)
        self.cuts: list[str] = []

    def watch(self, encoder: Encoder, deliver: Any, who: str, limit: int = 100, live: bool = True) -> None:
        member = self.hub.join(MAPS, Selection(), encoder, deliver, lambda: self.cuts.append(who), limit)
        if live:
            member.go_live()

    async def create(self, *names: str) -> None:
        for name in names:
            obj = {"metadata": {"name": name, "namespace": "a", "uid": name}}
            await self.store.create(MAPS, f"a/{name}", obj)

    async def rest(self) -> None:
        await self.clock.gauge.at_rest()


@pytest.fixture
def rig() -> Rig:
    return Rig()


async def test_a_change_that_cannot_be_encoded_cuts_who_wanted_it_so(rig: Rig, caplog: Any) -> None:
    seen: list[str] = []
    for who in ("one", "two"):
        rig.watch(Encoder("odd", unspeakable="b"), lambda _: None, who)
    rig.watch(Encoder("plain"), seen.extend, "three")
    await rig.create("a", "b", "c")
    await rig.rest()
    assert rig.cuts == ["one", "two"]
    assert seen == ["a", "b", "c"]
    assert rig.hub.count() == 1
    assert "configmaps a/b cannot be told" in caplog.text


async def test_who_fails_to_take_it_is_cut_and_nobody_else(rig: Rig, caplog: Any) -> None:
    seen: list[str] = []

    def failing(_: Any) -> None:
        raise RuntimeError("no")

    rig.watch(Encoder("plain"), failing, "one")
    rig.watch(Encoder("plain"), seen.extend, "two")
    await rig.create("a")
    await rig.rest()
    await rig.create("b")
    await rig.rest()
    assert (rig.cuts, seen) == (["one"], ["a", "b"])
    assert "a watcher of configmaps failed" in caplog.text


async def test_what_may_wait_is_bounded_by_its_size(rig: Rig) -> None:
    """Many changes of one turn are one payload: their number counts, not that of the turns."""
    rig.watch(Encoder("plain"), lambda _: None, "one", limit=5, live=False)
    await rig.create(*"abcde")
    await rig.rest()
    assert rig.cuts == []
    await rig.create("f")
    await rig.rest()
    assert rig.cuts == ["one"]


async def test_history_counts_all_that_it_keeps_alive(rig: Rig) -> None:
    """A deleted object is kept twice: as it was, and as the event of its end shows it."""
    store = MemoryStore(builtin_table(), rig.clock, history_bytes=10_000)
    for number in range(40):
        obj = {"metadata": {"name": "a", "namespace": "a", "uid": str(number)}, "data": {"k": "x" * 1000}}
        await store.create(MAPS, "a/a", obj)
        await store.delete(MAPS, "a/a", lambda _: None)
        store.check()
    kept = {
        id(s): len(s.raw) for e in store.events_since(MAPS, store.oldest(MAPS)) for s in (e.stored, e.previous) if s
    }
    assert sum(kept.values()) < 12_500

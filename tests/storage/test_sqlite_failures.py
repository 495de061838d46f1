"""A store that cannot be written: nothing half done, everything said, and it goes on by itself when it can."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from kube32_sim.api.builtin import builtin_table
from kube32_sim.clock import VirtualClock
from kube32_sim.storage.interface import Compacted, Heartbeat, KeyMissing, Unavailable
from kube32_sim.storage.objects import Event
from kube32_sim.storage.sqlite import journal
from kube32_sim.storage.sqlite.store import SqliteStore
from tests.support.stores import picture
from tests.support.waiting import eventually

MAPS, LEASES = ("", "configmaps"), ("coordination.k8s.io", "leases")
FIRST, SECOND, THIRD = (f"2026-01-01T00:00:0{number}.000000Z" for number in (0, 5, 9))


def config_map(name: str, size: int = 0, **data: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "a", "uid": f"uid-{name}", "ownerReferences": [{"uid": "owner"}]}
    return {"metadata": metadata, "data": {**data, "room": "x" * size}}


def told(events: list[Event]) -> list[tuple[str, str, int]]:
    return [(event.type, event.stored.name, event.revision) for event in events]


class Rig:
    """A store that is full as soon as it is told so."""

    def __init__(self, path: Path, **history: int) -> None:
        self.path, self.history = path, history
        self.store = SqliteStore(path, builtin_table(), VirtualClock(), **history)
        self.heard: list[Event] = []
        self.heard_kept: list[Event] = []
        self.store.subscribe(self.heard.append, None, [LEASES])
        self.store.subscribe(self.heard_kept.append, None, [LEASES], kept=True)

    def fill(self) -> None:
        database = self.store.journal._file.database
        pages = database.execute("PRAGMA page_count").fetchone()[0]
        database.execute(f"PRAGMA max_page_count = {pages}")

    def make_room(self) -> None:
        self.store.journal._file.database.execute("PRAGMA max_page_count = 1000000")

    async def create(self, name: str, size: int = 0) -> int:
        change = await self.store.create(MAPS, f"a/{name}", config_map(name, size))
        return change.stored.revision

    async def change(self, name: str, size: int = 0, **data: str) -> int:
        change = await self.store.update(MAPS, f"a/{name}", lambda stored: {**config_map(name, size, **data)})
        return change.stored.revision

    async def recovered(self) -> None:
        """Wait for that."""
        await eventually(lambda: not self.store.journal.failing, "the store can be written again")

    async def reopened(self) -> SqliteStore:
        await self.store.close()
        return SqliteStore(self.path, builtin_table(), VirtualClock(), **self.history)


@pytest.fixture
def rig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Rig:
    monkeypatch.setattr(journal, "RETRY", 0.05)
    return Rig(tmp_path / "store")


async def test_what_cannot_be_kept_is_undone_and_said(rig: Rig) -> None:
    for name in ("stays", "changes", "goes"):
        await rig.create(name)
    await rig.store.kept(rig.store.revision)
    before = picture(rig.store)
    rig.fill()
    rig.heard.clear()
    last = rig.store.revision
    revisions = [await rig.create("new", 1 << 20), await rig.change("changes", more="data"), await rig.change("new")]
    await rig.store.delete(MAPS, "a/goes", lambda stored: None)
    revisions.append(rig.store.revision)
    waiting = [asyncio.ensure_future(rig.store.kept(revision)) for revision in (*revisions, last)]
    answers = await asyncio.gather(*waiting, return_exceptions=True)
    for answer in answers[:-1]:
        assert isinstance(answer, Unavailable)
        assert "database or disk is full" in answer.message
        assert str(rig.path) in answer.message
    assert answers[-1] is None
    assert picture(rig.store) == before
    assert told(rig.heard) == [
        *[("ADDED", "new", last + 1), ("MODIFIED", "changes", last + 2), ("MODIFIED", "new", last + 3)],
        *[("DELETED", "goes", last + 4)],
        *[("ADDED", "goes", last), ("MODIFIED", "new", last + 1), ("MODIFIED", "changes", last - 1)],
        *[("DELETED", "new", last + 1)],
    ]
    assert told(rig.heard_kept) == [
        ("ADDED", name, last - 2 + i) for i, name in enumerate(("stays", "changes", "goes"))
    ]
    with pytest.raises(Compacted):  # nobody goes on from what never was
        rig.store.events_since(MAPS, last + 2)
    again = await rig.reopened()
    assert picture(again) == before
    await again.close()


async def test_while_it_cannot_be_written_reads_go_on_and_writes_are_refused_at_once(rig: Rig) -> None:
    await rig.create("there")
    await rig.store.kept(rig.store.revision)
    rig.fill()
    undone = await rig.create("large", 1 << 20)
    with pytest.raises(Unavailable):
        await rig.store.kept(undone)
    heard = len(rig.heard)
    for refused in (rig.create("small"), rig.change("there", a="b"), rig.store.delete(MAPS, "a/there", lambda _: None)):
        with pytest.raises(Unavailable, match="database or disk is full"):
            await refused
    with pytest.raises(Unavailable):
        await rig.store.keep("key", lambda: b"secret")
    with pytest.raises(Unavailable):
        await rig.store.keep_time(0)
    assert len(rig.heard) == heard
    await rig.store.kept(rig.store.revision)
    assert [stored.name for stored in rig.store.list(MAPS)] == ["there"]
    rig.make_room()
    await rig.recovered()
    later = await rig.create("small")
    assert later > undone  # which is not given out again
    await rig.store.kept(later)
    assert rig.store.durable == later
    with pytest.raises(Unavailable):  # though the store has gone on, that write is not in it
        await rig.store.kept(undone)
    assert await rig.store.keep("key", lambda: b"secret") == b"secret"
    before = picture(rig.store)
    again = await rig.reopened()
    assert picture(again) == before
    assert await again.keep("key", lambda: b"another") == b"secret"
    await again.close()


async def test_heartbeats_that_cannot_be_kept_are_undone_and_pulses_end(rig: Rig) -> None:
    lease = {
        "metadata": {"name": "n", "namespace": "x", "uid": "lease"},
        "spec": {"holderIdentity": "n", "renewTime": FIRST},
    }
    created = (await rig.store.create(LEASES, "x/n", lease)).stored
    pulse = rig.store.pulse(LEASES, "x/n", created.revision, Heartbeat("renewTime", FIRST))
    assert pulse is not None
    assert pulse.beat(SECOND)
    await rig.store.kept(pulse.revision)
    before, kept = picture(rig.store), pulse.revision
    rig.fill()
    await rig.create("large", 1 << 20)
    assert pulse.beat(THIRD)
    with pytest.raises(Unavailable):
        await rig.store.kept(pulse.revision)
    assert picture(rig.store) == before
    assert [event.heartbeat for event in rig.heard if event.heartbeat] == [SECOND, THIRD, SECOND]
    assert not pulse.beat(THIRD)
    assert rig.store.pulse(LEASES, "x/n", kept, Heartbeat("renewTime", FIRST)) is None
    again = rig.store.pulse(LEASES, "x/n", kept, Heartbeat("renewTime", SECOND))
    assert again is not None
    assert not again.beat(THIRD)
    rig.make_room()
    await rig.recovered()
    assert again.beat(THIRD)
    await rig.store.kept(again.revision)
    rig.store.check()
    before = picture(rig.store)
    reopened = await rig.reopened()
    assert picture(reopened) == before
    await reopened.close()


async def test_history_that_was_forgotten_for_writes_that_were_undone(tmp_path: Path, monkeypatch) -> None:
    """The state that an undone write had replaced is there again, though the history had dropped both."""
    monkeypatch.setattr(journal, "RETRY", 0.05)
    rig = Rig(tmp_path / "store", history_events=2)
    await rig.create("a")
    await rig.store.kept(rig.store.revision)
    rig.fill()
    for number in range(6):
        await rig.change("a", 1 << 18, number=str(number))
    with pytest.raises(Unavailable):
        await rig.store.kept(rig.store.revision)
    rig.store.check()
    assert rig.store.list(MAPS)[0].object()["data"] == {"room": ""}
    assert rig.store.events_since(MAPS, rig.store.revision) == []
    rig.make_room()
    await rig.recovered()
    for number in range(6):
        await rig.change("a", number=str(number))
    await rig.store.kept(rig.store.revision)
    before = picture(rig.store)
    again = await rig.reopened()
    assert picture(again) == before
    await again.close()


async def test_what_waits_for_the_disk_is_bounded(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(journal, "MOST_WRITES", 10)
    rig = Rig(tmp_path / "store")
    for number in range(100):
        await rig.create(f"m{number}")  # never lets the loop turn
        assert len(rig.store.journal._next.written) <= 11
    assert len(rig.heard_kept) >= 70
    await rig.store.close()
    assert len(rig.heard_kept) == 100


async def test_a_disk_that_fills_up_while_writers_are_held_up(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(journal, "MOST_WRITES", 10)
    rig = Rig(tmp_path / "store")
    await rig.create("first")
    await rig.store.kept(rig.store.revision)
    rig.fill()

    async def much() -> None:
        for number in range(100):
            await rig.create(f"m{number}", 1 << 16)

    with pytest.raises(Unavailable):
        await much()
    rig.store.check()
    assert [stored.name for stored in rig.store.list(MAPS)] == ["first"]
    await rig.store.close()


async def test_a_store_that_is_closed_says_so(rig: Rig) -> None:
    await rig.create("a")
    await rig.store.close()
    with pytest.raises(Unavailable, match="closed"):
        await rig.create("b")
    with pytest.raises(Unavailable, match="closed"):
        await rig.store.update(MAPS, "a/none", lambda stored: None)
    await rig.store.close()


async def test_whoever_gives_up_waiting_disturbs_nobody(rig: Rig) -> None:
    revision = await rig.create("a")
    impatient = asyncio.ensure_future(rig.store.kept(revision))
    patient = asyncio.ensure_future(rig.store.kept(revision))
    await asyncio.sleep(0)
    impatient.cancel()
    await patient
    with pytest.raises(KeyMissing):
        await rig.store.update(MAPS, "a/none", lambda stored: None)
    await rig.store.close()


async def test_what_is_written_together_is_kept_as_a_whole_or_not_at_all(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(journal, "MOST_WRITES", 10)
    monkeypatch.setattr(journal, "RETRY", 0.05)
    rig = Rig(tmp_path / "store", history_events=20)
    await rig.create("first")
    await rig.store.kept(rig.store.revision)
    before = picture(rig.store)
    rig.fill()
    with rig.store.together():
        for number in range(100):
            await rig.create(f"m{number}", 1 << 16)
    last = rig.store.revision
    with pytest.raises(Unavailable):
        await rig.store.kept(last)
    assert picture(rig.store)["objects"] == before["objects"]
    rig.make_room()
    await rig.recovered()
    with rig.store.together():
        for number in range(100):
            await rig.create(f"m{number}", 1 << 16)
        assert not rig.heard_kept[1:]
    await rig.store.kept(rig.store.revision)
    before = picture(rig.store)
    again = await rig.reopened()
    assert picture(again) == before
    await again.close()


async def test_a_commit_that_fails_meanwhile_ends_what_is_written_together(rig: Rig, monkeypatch) -> None:
    def full() -> None:
        raise sqlite3.OperationalError("full")

    await rig.create("first")
    await rig.store.kept(rig.store.revision)
    with monkeypatch.context() as broken:
        broken.setattr(rig.store.journal._file, "commit", full)
        revision = await rig.create("lost")
        await asyncio.sleep(0)
    assert rig.store.journal._under_way is not None
    with rig.store.together():
        with pytest.raises(Unavailable):
            await rig.store.kept(revision)
        await rig.recovered()
        with pytest.raises(Unavailable):
            await rig.create("part")
    await rig.create("later")
    assert [stored.name for stored in rig.store.list(MAPS)] == ["first", "later"]
    await rig.store.close()


async def test_who_asks_for_a_key_that_is_being_kept_waits_as_well(rig: Rig) -> None:
    """And nobody is given one that the file does not have."""
    await rig.store.kept(rig.store.revision)
    rig.fill()
    await rig.create("large", 1 << 20)
    asked = [asyncio.ensure_future(rig.store.keep("key", lambda: b"lost")) for _ in range(2)]
    answers = await asyncio.gather(*asked, return_exceptions=True)
    assert [type(answer) for answer in answers] == [Unavailable, Unavailable]
    rig.make_room()
    await rig.recovered()
    first, second = (asyncio.ensure_future(rig.store.keep("key", lambda: b"secret")) for _ in range(2))
    await asyncio.wait([second], return_when=asyncio.FIRST_COMPLETED)
    assert rig.store.journal._file.private() == {"key": b"secret"}
    assert (await first, await second) == (b"secret", b"secret")
    await rig.store.close()


async def test_what_is_forgotten_up_to_an_undone_revision_can_be_watched_from_there(rig: Rig) -> None:
    await rig.create("a")
    await rig.store.kept(rig.store.revision)
    rig.fill()
    undone = await rig.create("large", 1 << 20)
    with pytest.raises(Unavailable):
        await rig.store.kept(undone)
    rig.make_room()
    await rig.recovered()
    await rig.create("b")
    rig.store.compact(undone)
    assert [event.stored.name for event in rig.store.events_since(MAPS, rig.store.oldest(MAPS))] == ["b"]
    await rig.store.close()

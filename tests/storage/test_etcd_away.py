"""etcd goes away, hangs, forgets its history, loses its data: what is said meanwhile, and that it goes on by itself."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from kube32_sim.api.builtin import builtin_table
from kube32_sim.clock import RealClock
from kube32_sim.storage.etcd import following, requests
from kube32_sim.storage.etcd.store import EtcdStore
from kube32_sim.storage.interface import Compacted, StoreError, Unavailable
from tests.storage.test_etcd_store import config_map, counted
from tests.storage.test_store_model import MAPS
from tests.support.etcd import Etcd, Stores, running_etcd, stores_on
from tests.support.waiting import PATIENCE, eventually


@pytest.fixture
def own_etcd(tmp_path: Path) -> Iterator[Etcd]:
    """One that a test may mistreat."""
    with running_etcd(tmp_path) as running:
        yield running


@pytest_asyncio.fixture
async def stores(own_etcd: Etcd) -> AsyncIterator[Stores]:
    async with stores_on(own_etcd) as made:
        yield made


async def test_while_etcd_is_away_writes_say_so_and_reads_go_on_and_then_all_is_well(
    stores: Stores, own_etcd: Etcd
) -> None:
    one, other = await stores.open(), await stores.open()
    await one.create(MAPS, "a/x", config_map("x"))
    await stores.agree()
    last = one.revision
    own_etcd.kill()
    await eventually(lambda: one.trouble and other.trouble, "both notice")
    where = f"etcd at 127.0.0.1:{own_etcd.port} cannot be reached: "
    await eventually(lambda: one.trouble == f"{where}connection refused", "why, without what is gRPC's own")
    with pytest.raises(Unavailable, match=where) as refused:
        await one.create(MAPS, "a/y", config_map("y"))
    assert "may or may not" not in refused.value.message
    with pytest.raises(Unavailable, match=where):
        await one.update(MAPS, "a/x", lambda current: None)
    assert one.get(MAPS, "a/x") is not None
    assert one.events_since(MAPS, last - 1)[-1].stored.key == "a/x"
    own_etcd.start()
    await eventually(lambda: not (one.trouble or other.trouble), "both follow again")
    await one.create(MAPS, "a/y", config_map("y"))
    await other.update(MAPS, "a/x", counted)
    await stores.agree()
    for store in (one, other):
        store.check()
        assert [e.stored.key for e in store.events_since(MAPS, last)] == ["a/y", "a/x"]


async def test_what_is_written_while_a_store_hears_nothing_is_heard_afterwards(stores: Stores) -> None:
    one, other = await stores.open(), await stores.open()
    await one._following.stop()
    for number in range(10):
        await other.create(MAPS, f"a/{number}", config_map(str(number)))
    one._following.start()
    await stores.agree()
    assert [e.stored.key for e in one.events_since(MAPS, 0 + one.oldest(MAPS))] == [f"a/{n}" for n in range(10)]


async def test_what_is_known_not_to_answer_is_sent_nothing_that_it_would_store_later(
    stores: Stores, own_etcd: Etcd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "SILENCE", 0.1)
    store = await stores.open()
    own_etcd.pause()
    try:
        await eventually(lambda: store.trouble, "that it hangs is noticed")
        with pytest.raises(Unavailable, match=r"; nothing was written$"):
            await store.create(MAPS, "a/refused", config_map("refused"))
        monkeypatch.setattr("kube32_sim.storage.etcd.store.RETURN", PATIENCE)
        waits = asyncio.create_task(store.create(MAPS, "a/waited", config_map("waited")))
        await asyncio.sleep(0)
    finally:
        own_etcd.go_on()
    await waits
    assert [stored.name for stored in store.list(MAPS)] == ["waited"]
    assert not store._following._waiting


async def test_of_a_write_without_an_answer_it_is_said_that_it_may_have_been_stored(
    stores: Stores, own_etcd: Etcd
) -> None:
    store = await stores.open()
    store._etcd.patience = 0.3
    own_etcd.pause()
    try:
        with pytest.raises(Unavailable, match=r"no answer within 0\.3 s; what was to be written may or may not have"):
            await store.create(MAPS, "a/x", config_map("x"))
        with pytest.raises(Unavailable, match=r"no answer within 0\.3 s$"):
            await store.keep("key", bytes)
    finally:
        own_etcd.go_on()
    store._etcd.patience = 5.0
    await store.create(MAPS, "a/y", config_map("y"))
    store.check()


async def test_an_etcd_that_hangs_is_noticed_although_nobody_writes(
    stores: Stores, own_etcd: Etcd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "SILENCE", 0.1)
    store = await stores.open()
    answers: list = []
    monkeypatch.setattr(store._following, "_hear", answers.append)
    await eventually(lambda: len(answers) > 4, "etcd is asked, and answers")
    assert store.trouble == ""
    own_etcd.pause()
    try:
        await eventually(lambda: store.trouble, "that it hangs is noticed", following.QUESTIONS + 2)
        assert store.trouble == f"etcd at 127.0.0.1:{own_etcd.port} is not followed: it does not answer"
    finally:
        own_etcd.go_on()
    await eventually(lambda: not store.trouble, "it is followed again")


async def test_an_etcd_that_takes_no_question_is_noticed_too(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    async def stuck(stream: object) -> None:
        await asyncio.get_running_loop().create_future()

    store = await stores.open()
    monkeypatch.setattr(following, "SILENCE", 0.1)
    with monkeypatch.context() as patched:
        patched.setattr(following, "_put_question", stuck)
        await eventually(lambda: "it does not answer" in store.trouble, "that it does not answer is noticed")
    await eventually(lambda: not store.trouble, "it is followed again")


async def test_missed_history_that_etcd_has_forgotten_becomes_the_differences(stores: Stores) -> None:
    one, other = await stores.open(), await stores.open()
    for name in ("stays", "changes", "goes", "comes-again"):
        await one.create(MAPS, f"a/{name}", config_map(name))
    await stores.agree()
    since = one.revision
    heard: list = []
    one.subscribe(lambda event: heard.append((event.type, event.stored.name, event.revision)))
    await one._following.stop()
    await other.update(MAPS, "a/changes", counted)
    await other.update(MAPS, "a/changes", counted)
    await other.delete(MAPS, "a/goes", lambda _: None)
    await other.delete(MAPS, "a/comes-again", lambda _: None)
    await other.create(MAPS, "a/comes-again", config_map("comes-again", again="yes"))
    await other.create(MAPS, "a/new", config_map("new"))
    await other._etcd.compact(requests.compaction(other.revision))
    one._following.start()
    await eventually(lambda: one.get(MAPS, "a/new"), "it has caught up")
    one.check()
    assert [s.raw for s in one.list(MAPS)] == [s.raw for s in other.list(MAPS)]
    told = [(kind, name) for kind, name, _ in heard]
    assert sorted(told) == sorted([
        ("MODIFIED", "changes"), ("DELETED", "goes"), ("DELETED", "comes-again"), ("ADDED", "comes-again"),
        ("ADDED", "new"),
    ])  # fmt: skip
    assert told.index(("DELETED", "comes-again")) < told.index(("ADDED", "comes-again"))
    revisions = [revision for _, _, revision in heard]
    assert revisions == sorted(set(revisions))
    assert revisions[0] > since
    with pytest.raises(Compacted):
        one.events_since(MAPS, since)
    await eventually(lambda: not one.trouble, "it follows again")
    assert (await one.update(MAPS, "a/new", counted)).changed


async def test_history_is_compacted_from_time_to_time(stores: Stores) -> None:
    store = await stores.open(compaction=0.05)
    await store.create(MAPS, "a/x", config_map("x"))
    first = store.revision
    await store.update(MAPS, "a/x", counted)

    async def forgotten() -> bool:
        try:
            await store._etcd.range(requests.page(store.keys.root, store.keys.end, first, 1))
        except Unavailable as error:
            return "compacted" in error.message
        return False

    for _ in range(500):
        if await forgotten():
            break
        await asyncio.sleep(0.02)
    else:
        pytest.fail("nothing was compacted")
    assert store.events_since(MAPS, first), "what is known here goes back further"


async def test_an_etcd_that_has_lost_what_was_seen_is_not_followed(stores: Stores, own_etcd: Etcd) -> None:
    store = await stores.open()
    for number in range(5):
        await store.create(MAPS, f"a/{number}", config_map(str(number)))
    own_etcd.kill()
    shutil.rmtree(own_etcd.directory / "data")
    own_etcd.start()
    await eventually(lambda: "so it has lost data; restart kube32-sim" in store.trouble, "that is noticed")
    assert store.count(MAPS) == 5


async def test_another_member_is_asked_when_one_does_not_answer(own_etcd: Etcd) -> None:
    endpoints = [("127.0.0.1", 1), own_etcd.endpoint]
    store = await EtcdStore.open(builtin_table(), RealClock(), endpoints, "/x")
    try:
        await store.create(MAPS, "a/x", config_map("x"))
        await store.create(MAPS, "a/y", config_map("y"))
        await eventually(lambda: not store.trouble, "it is followed")
    finally:
        await store.close()


async def test_a_store_that_cannot_be_reached_is_not_opened(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"--store: etcd at 127\.0\.0\.1:1, \[::1\]:1 cannot be reached: "):
        await EtcdStore.open(builtin_table(), RealClock(), [("127.0.0.1", 1), ("::1", 1)], "/x")


async def test_a_name_that_leads_nowhere_is_told_as_that() -> None:
    with pytest.raises(StoreError) as refused:
        await EtcdStore.open(builtin_table(), RealClock(), [("nowhere.invalid", 2379)], "/x")
    assert str(refused.value) == "--store: etcd at nowhere.invalid:2379 cannot be reached: its name leads to no address"


async def test_what_has_lost_its_data_is_not_written_to(stores: Stores, own_etcd: Etcd) -> None:
    store = await stores.open()
    for number in range(5):
        await store.create(MAPS, f"a/{number}", config_map(str(number)))
    await store._following.stop()  # so nobody has noticed it before the first write
    own_etcd.kill()
    shutil.rmtree(own_etcd.directory / "data")
    own_etcd.start()

    async def refused() -> str:
        with pytest.raises(Unavailable) as caught:
            await store.create(MAPS, "a/new", config_map("new"))
        return caught.value.message

    where = "has lost data that was seen here before; restart kube32-sim"
    assert where in await refused()
    again = await stores.open()
    assert again.count(MAPS) == 0
    for number in range(store.revision):  # its revisions are beyond those of before
        await again.create(MAPS, f"b/{number}", config_map(str(number)))
    assert f"{where}; nothing was written" in await refused()
    store._following.start()
    await eventually(lambda: "what was seen here before has gone" in store.trouble, "it is noticed")
    assert (await refused()).endswith("so it has lost data; restart kube32-sim; nothing was written")
    assert {stored.namespace for stored in store.list(MAPS)} == {"a"}, "nor is it followed"

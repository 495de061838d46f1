"""A write that etcd has not made asks afterwards what stood in its way: what may have become of that meanwhile."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
import pytest_asyncio

from kube32_sim.storage.etcd.requests import Transaction
from kube32_sim.storage.etcd.store import EtcdStore
from kube32_sim.storage.fencing import Deposed, leading, taking
from kube32_sim.storage.interface import KeyExists, KeyMissing, Outrun, Unavailable
from tests.storage.test_etcd_store import Deaf, answered_late, config_map, counted
from tests.storage.test_store_model import MAPS
from tests.support.etcd import Etcd, Stores, running_etcd, stores_on


@pytest_asyncio.fixture
async def stores(etcd: Etcd) -> AsyncIterator[Stores]:
    async with stores_on(etcd) as made:
        yield made


def before_it_asks(store: EtcdStore, monkeypatch: pytest.MonkeyPatch, do: Callable[[], Awaitable[object]]) -> list:
    """Something happens after etcd has refused a write and before it is asked why, once.  How often it was asked."""
    look, asked = store._etcd.look, []

    async def late(request: object) -> object:
        asked.append(request)
        if len(asked) == 1:
            await do()
        return await look(request)

    monkeypatch.setattr(store._etcd, "look", late)
    return asked


async def test_a_write_that_is_made_asks_nothing(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    store = await stores.open()

    async def nothing() -> None: ...

    asked = before_it_asks(store, monkeypatch, nothing)
    async with store.deciding("seats"):
        await store.create(MAPS, "a/x", config_map("x"))
    await store.update(MAPS, "a/x", counted)
    await store.delete(MAPS, "a/x", lambda current: None)
    assert not asked


async def test_what_stood_in_the_way_may_have_gone_again(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = await stores.open(), await stores.open()
    deaf = Deaf(other)
    await one.create(MAPS, "a/x", config_map("x", by="one"))

    async def removed() -> None:
        await one.delete(MAPS, "a/x", lambda current: None)

    asked = before_it_asks(other, monkeypatch, removed)
    change = await answered_late(deaf, other.create(MAPS, "a/x", config_map("x", by="other")))
    assert len(asked) == 1
    assert change.previous is None
    await stores.agree()
    assert [s.object()["data"] for s in one.list(MAPS)] == [{"by": "other"}]
    for store in (one, other):
        store.check()


async def test_what_is_asked_for_may_have_been_made_anew(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = await stores.open(), await stores.open()
    await one.create(MAPS, "a/x", config_map("x"))
    await stores.agree()
    deaf = Deaf(other)
    await one.delete(MAPS, "a/x", lambda current: None)

    async def anew() -> None:
        await one.create(MAPS, "a/x", config_map("x", n="7"))

    before_it_asks(other, monkeypatch, anew)
    change = await answered_late(deaf, other.update(MAPS, "a/x", counted))
    assert change.stored.object()["data"] == {"n": "8"}


async def test_a_decision_made_before_it_is_asked_for_is_heeded(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = await stores.open(), await stores.open()
    deaf = Deaf(other)

    async def decide(name: str) -> None:
        async with one.deciding("seats"):
            await one.create(MAPS, f"a/{name}", config_map(name))

    await decide("first")
    before_it_asks(other, monkeypatch, lambda: decide("second"))
    async with other.deciding("seats"):
        with pytest.raises(Outrun):
            await answered_late(deaf, other.create(MAPS, "a/x", config_map("x")))
        assert [stored.name for stored in other.list(MAPS)] == ["first", "second"]
        await other.create(MAPS, "a/x", config_map("x"))


async def test_who_is_deposed_before_he_asks_is_told_so(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = await stores.open(), await stores.open()
    with taking("other-1"):
        await other.create(MAPS, "a/lease", config_map("lease"))
    await stores.agree()
    Deaf(other)
    await one.create(MAPS, "a/x", config_map("x"))

    async def lead() -> None:
        with taking("one-2"):
            await one.update(MAPS, "a/lease", counted)

    before_it_asks(other, monkeypatch, lead)
    with leading("other-1"), pytest.raises(Deposed, match="nothing was written"):
        await other.create(MAPS, "a/x", config_map("x"))


async def test_of_what_was_refused_it_is_never_said_that_it_may_have_been_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running_etcd(tmp_path) as own_etcd:
        async with stores_on(own_etcd) as stores:
            one, other = await stores.open(), await stores.open()
            await one.create(MAPS, "a/x", config_map("x"))
            await stores.agree()
            Deaf(other)
            await one.update(MAPS, "a/x", counted)
            await one.create(MAPS, "a/y", config_map("y"))

            async def hang() -> None:
                other._etcd.patience = 0.2
                own_etcd.pause()

            for work in (
                lambda: other.create(MAPS, "a/y", config_map("y")),
                lambda: other.update(MAPS, "a/x", counted),
                lambda: other.delete(MAPS, "a/x", lambda current: None),
            ):
                with monkeypatch.context() as patched:
                    before_it_asks(other, patched, hang)
                    try:
                        with pytest.raises(Unavailable, match=r"no answer within 0\.2 s; nothing was written$"):
                            await work()
                    finally:
                        own_etcd.go_on()
                other._etcd.patience = 5.0
                assert not other._pending
            assert one.get(MAPS, "a/x").object()["data"] == {"n": "1"}


async def test_who_was_refused_by_an_etcd_with_another_history_is_told(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await stores.open()
    await store._following.stop()  # so nobody has noticed it before the write
    await store._etcd.txn(Transaction().put(store.keys.origin, b"another").message)

    async def gone() -> None:
        await store._etcd.txn(Transaction().delete(store.keys.origin).message)

    for asked_late in (False, True):
        if asked_late:
            before_it_asks(store, monkeypatch, gone)
        with pytest.raises(Unavailable, match=r"has lost data .*; restart kube32-sim; nothing was written$"):
            await store.create(MAPS, "a/x", config_map("x"))
    assert not store.count(MAPS)


async def test_what_was_there_and_is_heard_of_is_in_the_way(stores: Stores) -> None:
    one, other = await stores.open(), await stores.open()
    deaf = Deaf(other)
    await one.create(MAPS, "a/x", config_map("x"))
    with pytest.raises(KeyExists):
        await answered_late(deaf, other.create(MAPS, "a/x", config_map("x")))
    deaf = Deaf(other)
    await one.delete(MAPS, "a/x", lambda current: None)
    with pytest.raises(KeyMissing):
        await answered_late(deaf, other.update(MAPS, "a/x", counted))

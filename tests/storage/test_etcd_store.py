"""The store on a real etcd: the store's promises, and those between several stores on one prefix."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from aetcd import rpc

from kube32_sim.api.errors import ApiError
from kube32_sim.storage.etcd.requests import Transaction
from kube32_sim.storage.fencing import Deposed, leading, taking
from kube32_sim.storage.interface import Compacted, KeyExists, KeyMissing, Outrun, Remove, StoreError, Unavailable
from tests.storage.test_store_model import MAPS, PODS, Model, step
from tests.support.etcd import Etcd, Stores, stores_on
from tests.support.waiting import eventually

Json = dict


@pytest_asyncio.fixture
async def stores(etcd: Etcd) -> AsyncIterator[Stores]:
    async with stores_on(etcd) as made:
        yield made


def config_map(name: str, **data: str) -> Json:
    return {"metadata": {"name": name, "namespace": "a", "uid": f"uid-{name}"}, "data": data}


def counted(current) -> Json:
    obj = current.copy()
    obj["data"]["n"] = str(int(obj["data"].get("n", "0")) + 1)
    return obj


def history(store, storage, since: int) -> list[tuple]:
    return [
        (e.revision, e.type, e.stored.raw, e.previous and e.previous.raw) for e in store.events_since(storage, since)
    ]


@pytest.mark.parametrize("seed", range(4))
async def test_it_agrees_with_a_plain_model_and_so_does_another_that_follows(stores: Stores, seed: int) -> None:
    rng, model = random.Random(seed), Model()
    store, other = await stores.open(), await stores.open()
    await stores.agree()
    first = store.revision
    model.remember(first)
    for _ in range(120):
        await step(rng, store, model)
    await stores.agree()
    for one in (store, other):
        one.check()
        for storage in (PODS, MAPS):
            assert [s.copy() for s in one.list(storage)] == model.listed(storage, "")
            for revision in rng.sample(sorted(model.past), 10):
                assert [s.copy() for s in one.snapshot(storage, "", revision)] == model.listed(storage, "", revision)
    assert history(store, PODS, first) == history(other, PODS, first)
    late = await stores.open()
    late.check()
    assert [s.raw for s in late.list(PODS)] == [s.raw for s in store.list(PODS)]
    assert late.oldest(PODS) == late.revision


async def test_who_writes_reads_what_he_wrote(stores: Stores) -> None:
    store = await stores.open()
    for number in range(50):
        change = await store.create(MAPS, f"a/{number}", config_map(str(number)))
        assert store.get(MAPS, f"a/{number}") is change.stored
        assert store.revision >= change.stored.revision
        assert [e.revision for e in store.events_since(MAPS, change.stored.revision - 1)] == [change.stored.revision]


async def test_updates_from_everywhere_lose_nothing(stores: Stores) -> None:
    everywhere = [await stores.open() for _ in range(3)]
    await everywhere[0].create(MAPS, "a/x", config_map("x"))

    async def count(store) -> None:
        for _ in range(15):
            await store.update(MAPS, "a/x", counted)

    await asyncio.gather(*(count(store) for store in everywhere for _ in range(2)))
    await stores.agree()
    for store in everywhere:
        assert store.get(MAPS, "a/x").object()["data"]["n"] == "90"
        store.check()


async def test_of_several_who_create_the_same_one_wins(stores: Stores) -> None:
    everywhere = [await stores.open() for _ in range(3)]
    for number in range(20):
        made = [
            store.create(MAPS, f"a/{number}", config_map(str(number), by=str(place)))
            for place, store in enumerate(everywhere)
        ]
        outcomes = await asyncio.gather(*made, return_exceptions=True)
        winners = [place for place, outcome in enumerate(outcomes) if not isinstance(outcome, BaseException)]
        assert len(winners) == 1
        assert all(isinstance(o, KeyExists) for place, o in enumerate(outcomes) if place != winners[0])
        await stores.agree()
        for store in everywhere:
            assert store.get(MAPS, f"a/{number}").object()["data"] == {"by": str(winners[0])}


class Deaf:
    """A store that does not hear what etcd tells it, until it is told again."""

    def __init__(self, store) -> None:
        self._store = store
        self._following = store._following
        self._hear = self._following._hear
        self._missed: list = []
        self._following._hear = self._missed.append

    def waits(self) -> bool:
        """For something to be heard."""
        return bool(self._store._waiting or self._store._curious)

    def hears_again(self) -> None:
        for response in self._missed:
            self._hear(response)
        self._following._hear = self._hear


async def answered_late(deaf: Deaf, work):
    """The outcome of what a store can answer only when it has heard what it missed."""
    task = asyncio.ensure_future(work)
    await eventually(lambda: deaf.waits() or task.done(), "it waits")
    assert not task.done(), "it did not know what it answered"
    deaf.hears_again()
    return await task


async def test_what_is_there_is_not_missing_because_it_has_not_been_heard_of(stores: Stores) -> None:
    one, other = await stores.open(), await stores.open()
    deaf = Deaf(other)
    await one.create(MAPS, "a/x", config_map("x"))
    change = await answered_late(deaf, other.update(MAPS, "a/x", counted))
    assert change.stored.object()["data"] == {"n": "1"}
    deaf = Deaf(other)
    await one.update(MAPS, "a/x", counted)
    change = await answered_late(deaf, other.update(MAPS, "a/x", counted))
    assert change.stored.object()["data"] == {"n": "3"}
    deaf = Deaf(other)
    await one.update(MAPS, "a/x", counted)
    change = await answered_late(deaf, other.update(MAPS, "a/x", lambda current: config_map("x", n="3")))
    assert change.changed, "what was the same is another one now"
    assert change.previous.object()["data"] == {"n": "4"}


async def test_what_has_gone_is_not_in_the_way_because_that_has_not_been_heard(stores: Stores) -> None:
    one, other = await stores.open(), await stores.open()
    await one.create(MAPS, "a/x", config_map("x"))
    await stores.agree()
    deaf = Deaf(other)
    await one.delete(MAPS, "a/x", lambda current: None)
    change = await answered_late(deaf, other.create(MAPS, "a/x", config_map("x", again="yes")))
    assert change.previous is None
    await stores.agree()
    deaf = Deaf(other)
    await one.update(MAPS, "a/x", lambda current: Remove())
    with pytest.raises(KeyMissing):
        await answered_late(deaf, other.delete(MAPS, "a/x", lambda current: None))


async def test_a_decision_that_another_has_outrun_is_made_anew(stores: Stores) -> None:
    one, other = await stores.open(), await stores.open()
    await one.create(MAPS, "a/x", config_map("x"))
    await stores.agree()
    deaf = Deaf(other)
    async with one.deciding("seats"):
        await one.create(MAPS, "a/y", config_map("y"))
    async with other.deciding("seats"):
        with pytest.raises(Outrun):
            await answered_late(deaf, other.create(MAPS, "a/z", config_map("z")))
        assert other.get(MAPS, "a/y") is not None, "who decides anew knows what outran him"
        await other.create(MAPS, "a/z", config_map("z"))
    await stores.agree()
    deaf, asked = Deaf(other), []
    async with one.deciding("seats"):
        await one.create(MAPS, "a/w", config_map("w"))

    def change(current):
        asked.append(other.count(MAPS))
        return counted(current)

    async with other.deciding("seats"):
        await answered_late(deaf, other.update(MAPS, "a/x", change))
    assert asked == [3, 4]


async def test_what_a_function_raises_is_raised_when_it_rests_on_the_last_state(stores: Stores) -> None:
    one, other = await stores.open(), await stores.open()
    await one.create(MAPS, "a/x", config_map("x", open="no"))

    def through(current) -> Json:
        if current.object()["data"]["open"] == "no":
            raise LookupError("closed")
        return counted(current)

    with pytest.raises(LookupError):
        await one.update(MAPS, "a/x", through)
    await other.update(MAPS, "a/x", lambda current: config_map("x", open="yes"))
    await one.update(MAPS, "a/x", through)


class Seats:
    """A decision that rests on many objects: no more than so many config maps are created."""

    MOST = 10

    def __init__(self, store) -> None:
        self.store = store

    async def take(self, name: str) -> bool:
        while True:
            async with self.store.deciding("seats"):
                if self.store.count(MAPS) >= self.MOST:
                    return False
                try:
                    await self.store.create(MAPS, f"a/{name}", config_map(name))
                    return True
                except Outrun:
                    continue


async def test_decisions_on_many_objects_are_made_one_after_the_other_everywhere(stores: Stores) -> None:
    everywhere = [await stores.open() for _ in range(3)]
    taken = await asyncio.gather(
        *(Seats(store).take(f"{place}-{n}") for n in range(8) for place, store in enumerate(everywhere))
    )
    assert sum(taken) == Seats.MOST
    await stores.agree()
    assert {store.count(MAPS) for store in everywhere} == {Seats.MOST}


async def test_a_decision_makes_several_writes_and_its_tasks_are_no_part_of_it_afterwards(stores: Stores) -> None:
    one, other = await stores.open(), await stores.open()
    begin = asyncio.Event()

    async def later() -> None:
        await begin.wait()
        await one.create(MAPS, "a/later", config_map("later"))

    async with one.deciding("a", "b"):
        await one.create(MAPS, "a/x", config_map("x"))
        await one.update(MAPS, "a/x", counted)
        task = asyncio.create_task(later())
    await stores.agree()
    async with other.deciding("b"):
        await other.create(MAPS, "a/y", config_map("y"))
    deaf = Deaf(one)
    begin.set()
    await eventually(lambda: task.done() or deaf.waits(), "its write is made")
    deaf.hears_again()
    await task  # not outrun by the other's decision: it decides nothing


async def test_a_watch_of_the_past_is_the_same_everywhere_though_many_write(stores: Stores) -> None:
    everywhere = [await stores.open() for _ in range(3)]
    await stores.agree()
    first = everywhere[0].revision
    heard: dict[int, list] = {place: [] for place in range(3)}
    for place, store in enumerate(everywhere):
        store.subscribe(lambda event, place=place: heard[place].append((event.revision, event.type, event.stored.raw)))

    async def write(place: int, store) -> None:
        for number in range(15):
            key = f"a/{number % 4}-{place % 2}"
            try:
                await store.create(MAPS, key, config_map(key[2:], by=str(place)))
            except KeyExists:
                with_more = store.update(MAPS, key, counted) if number % 3 else store.delete(MAPS, key, lambda _: None)
                await asyncio.gather(with_more, return_exceptions=True)

    await asyncio.gather(*(write(place, store) for place, store in enumerate(everywhere)))
    await stores.agree()
    assert heard[0] == heard[1] == heard[2]
    histories = [history(store, MAPS, first) for store in everywhere]
    assert histories[0] == histories[1] == histories[2]
    assert [entry[:3] for entry in histories[0]] == heard[0]


async def test_what_is_kept_besides_objects_is_the_same_for_all(stores: Stores) -> None:
    everywhere = [await stores.open() for _ in range(3)]
    kept = await asyncio.gather(*(store.keep("key", str(n).encode) for n, store in enumerate(everywhere)))
    assert len(set(kept)) == 1
    assert await (await stores.open()).keep("key", lambda: b"another") == kept[0]
    assert await everywhere[0].keep("other", lambda: b"another") == b"another"


async def test_a_revision_that_another_has_told_of_is_waited_for(stores: Stores) -> None:
    one, other = await stores.open(), await stores.open()
    assert await one.reached(other.revision), "where a store begins the others come too"
    for number in range(20):
        revision = (await one.create(MAPS, f"a/{number}", config_map(str(number)))).stored.revision
        assert await other.reached(revision)
        assert other.get(MAPS, f"a/{number}").revision == revision


async def test_who_is_no_longer_the_leader_writes_nothing(stores: Stores) -> None:
    one, other = await stores.open(), await stores.open()
    with leading("one-1"), pytest.raises(Deposed):
        await one.create(MAPS, "a/early", config_map("early"))
    with taking("one-1"):
        await one.create(MAPS, "a/lease", config_map("lease"))
    with leading("one-1"):
        await one.create(MAPS, "a/x", config_map("x"))
        task = asyncio.create_task(one.update(MAPS, "a/x", counted))  # what it starts is its own work too
    await task
    with taking("other-2"):
        await other.update(MAPS, "a/lease", counted)
    with leading("one-1"):
        with pytest.raises(Deposed, match="no longer the leader"):
            await one.update(MAPS, "a/x", counted)
        with pytest.raises(Deposed):
            await one.delete(MAPS, "a/x", lambda current: None)
        with pytest.raises(Deposed):
            await one.create(MAPS, "a/y", config_map("y"))
    await one.create(MAPS, "a/z", config_map("z"))  # as anybody may
    with leading("other-2"):
        await other.update(MAPS, "a/x", counted)
    assert other.get(MAPS, "a/x").object()["data"] == {"n": "2"}


async def test_who_fails_to_write_the_lease_does_not_take_the_lead(stores: Stores) -> None:
    store = await stores.open()
    with taking("one"):
        await store.create(MAPS, "a/lease", config_map("lease"))
    with taking("two"), pytest.raises(KeyExists):
        await store.create(MAPS, "a/lease", config_map("lease"))
    with leading("one"):
        await store.create(MAPS, "a/x", config_map("x"))


async def test_prefixes_do_not_see_each_other(etcd: Etcd) -> None:
    async with stores_on(etcd) as here, stores_on(etcd) as there:
        one, other = await here.open(), await there.open()
        await one.create(MAPS, "a/x", config_map("x"))
        await other.create(MAPS, "a/x", config_map("x"))
        assert other.count(MAPS) == 1


async def test_what_a_newer_version_has_written_is_refused_and_left_alone(stores: Stores) -> None:
    store = await stores.open()
    await store.create(MAPS, "a/x", config_map("x"))
    await store._etcd.txn(Transaction().put(store.keys.format, b"2").message)
    before = store.revision
    with pytest.raises(StoreError, match=f"{stores.prefix}/ has the format 2, and this version knows 1 only"):
        await stores.open()
    await store.update(MAPS, "a/x", counted)
    assert store.revision - before <= 2, "nothing was written by who was refused"


async def test_forgotten_history_is_said_to_be(stores: Stores) -> None:
    store = await stores.open()
    begin = store.revision
    await store.create(MAPS, "a/x", config_map("x"))
    with pytest.raises(Compacted):
        store.events_since(MAPS, begin - 1)
    assert len(store.events_since(MAPS, begin)) == 1


async def test_objects_of_a_type_that_is_not_served_yet_are_kept_until_it_is(stores: Stores) -> None:
    widgets = ("example.com", "widgets")
    one = await stores.open()
    await one.create(widgets, "a/w", {"metadata": {"name": "w", "namespace": "a", "uid": "w"}, "spec": {"size": 1}})
    late = await stores.open()
    assert [s.object()["spec"] for s in late.list(widgets, "a")] == [{"size": 1}]
    assert late.by_uid("w") is not None


async def test_what_etcd_does_not_take_is_too_large(stores: Stores) -> None:
    store = await stores.open()
    for size in (1_600_000, 3_000_000):
        with pytest.raises(ApiError, match="etcd takes no object that large") as refused:
            await store.create(MAPS, "a/x", config_map("x", much="x" * size))
        assert refused.value.code == 413
    await store.create(MAPS, "a/x", config_map("x", much="x" * 1_400_000))
    late = await stores.open()
    assert late.get(MAPS, "a/x").raw == store.get(MAPS, "a/x").raw


async def test_what_is_no_object_is_named(stores: Stores, caplog) -> None:
    store = await stores.open()
    await store._etcd.txn(Transaction().put(store.keys.object(MAPS, "a/x"), b"[]").message)
    await store.create(MAPS, "a/y", config_map("y"))
    assert store.count(MAPS) == 1, "it goes on"
    assert f"what etcd holds at {stores.prefix}/objects/core/configmaps/a/x is no object" in caplog.text
    with pytest.raises(StoreError, match="/objects/core/configmaps/a/x is no object: "):
        await stores.open()


META = '"metadata": {"name": "x", "namespace": "a", "uid": "u"'


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("{}", "there is no 'metadata'"),
        ("null", "'NoneType' object is not subscriptable"),
        ('{"metadata": {"name": "x", "namespace": "a"}}', "there is no 'uid'"),
        ('{"metadata": {"name": "x", "namespace": "b", "uid": "u"}}', "metadata.namespace is not that of the key"),
        ('{"metadata": {"name": 5, "namespace": "a", "uid": "u"}}', "metadata.name or "),
        ('{"metadata": {"name": "x", "namespace": "a", "uid": 5}}', "metadata.uid is no text"),
        (f'{{{META}, "labels": 5}}}}', "labels is no object"),
        (f'{{{META}}}, "spec": 7}}', "spec is no object"),
        (f'{{{META}}}, "status": []}}', "status is no object"),
    ],
)
async def test_why_a_value_is_no_object(stores: Stores, value: str, why: str) -> None:
    store = await stores.open()
    await store._etcd.txn(Transaction().put(store.keys.object(MAPS, "a/x"), value.encode()).message)
    await store.create(MAPS, "a/y", config_map("y"))
    assert store.count(MAPS) == 1, "it goes on"
    with pytest.raises(StoreError, match=rf"/objects/core/configmaps/a/x is no object: .*{re.escape(why)}"):
        await stores.open()


async def test_objects_of_custom_types_may_hold_anything(stores: Stores) -> None:
    store, boards = await stores.open(), ("example.com", "boards")
    value = f'{{{META}}}, "spec": 7, "status": null}}'
    await store._etcd.txn(Transaction().put(store.keys.object(boards, "a/x"), value.encode()).message)
    late = await stores.open()
    await stores.agree()
    assert late.get(boards, "a/x").object()["spec"] == store.get(boards, "a/x").object()["spec"] == 7


async def test_a_key_that_can_be_none_of_ours_is_named(stores: Stores) -> None:
    store = await stores.open()
    await store._etcd.txn(Transaction().put(store.keys.objects + b"odd", b"{}").message)
    await store.create(MAPS, "a/y", config_map("y"))
    with pytest.raises(StoreError, match="/objects/odd is no object: "):
        await stores.open()


async def test_a_guard_that_somebody_has_removed_stops_nobody(stores: Stores) -> None:
    store = await stores.open()
    async with store.deciding("pods"):
        await store.create(MAPS, "a/x", config_map("x"))
    await store._etcd.txn(Transaction().delete(store.keys.guard("pods")).message)
    await store.create(MAPS, "a/y", config_map("y"))
    async with store.deciding("pods"):
        await store.create(MAPS, "a/z", config_map("z"))
    assert [stored.name for stored in (await stores.open()).list(MAPS)] == ["x", "y", "z"], "etcd has them all"


async def test_who_is_served_from_what_has_been_deleted_is_told(stores: Stores, caplog) -> None:
    store, other = await stores.open(), await stores.open()
    await other.create(MAPS, "a/x", config_map("x"))
    await stores.agree()  # so it follows what happens, and hears of the deletion
    everything = rpc.RequestOp(
        request_delete_range=rpc.DeleteRangeRequest(key=store.keys.root, range_end=store.keys.end)
    )
    await store._etcd.txn(rpc.TxnRequest(success=[everything]))
    await eventually(lambda: store.trouble.endswith("restart kube32-sim"), "that is noticed")
    assert f"somebody has deleted what etcd held under {stores.prefix}/; restart kube32-sim" in caplog.text
    with pytest.raises(Unavailable, match="restart kube32-sim; nothing was written"):
        await store.create(MAPS, "a/y", config_map("y"))


async def test_who_waits_in_vain_leaves_nothing_behind(stores: Stores) -> None:
    store = await stores.open()
    assert not any(await asyncio.gather(*(store.heard(store.revision + n, 0.01) for n in range(1, 20))))
    assert not await store.until(lambda: False, 0.01)
    assert not store._waiting
    assert not store._curious


async def test_nobody_waits_for_long_behind_those_whom_etcd_does_not_answer(stores: Stores, monkeypatch) -> None:
    monkeypatch.setattr("kube32_sim.storage.etcd.guards.PATIENCE", 0.05)
    store = await stores.open()
    async with store.deciding("seats"):
        with pytest.raises(Unavailable, match="too many decide on seats at once"):
            async with store.deciding("rows", "seats"):
                pytest.fail("another decides")
        async with store.deciding("rows"):
            pass
    async with store.deciding("rows", "seats"):
        pass

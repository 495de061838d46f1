"""Seeded stress: a store of each kind against a plain model, with its own invariants checked after each step."""

import random
from copy import deepcopy

import orjson
import pytest

from kube32_sim.api.builtin import builtin_table
from kube32_sim.api.meta import field_reader
from kube32_sim.clock import VirtualClock
from kube32_sim.storage.interface import Change, Compacted, Heartbeat, KeyExists, KeyMissing, Pulse, Remove
from kube32_sim.storage.memory import MemoryStore
from kube32_sim.storage.objects import ready

PODS, MAPS = ("", "pods"), ("", "configmaps")
NAMESPACES = ("a", "a-b", "b")
NODES = ("", "n1", "n2")
TABLE = builtin_table()


def new_object(rng: random.Random, storage, namespace: str, name: str) -> dict:
    metadata = {"name": name, "namespace": namespace, "uid": f"uid-{rng.getrandbits(64)}"}
    if rng.random() < 0.5:
        metadata["labels"] = {"app": rng.choice("xyz")}
    if rng.random() < 0.3:
        metadata["ownerReferences"] = [{"uid": f"owner-{rng.randrange(3)}", "kind": "X", "name": "x"}]
    if storage == PODS:
        status = {"phase": "Pending", "startTime": "t0000"}
        return {"metadata": metadata, "spec": {"nodeName": rng.choice(NODES)}, "status": status}
    return {"metadata": metadata, "data": {"k": str(rng.random()), "startTime": "t0000"}}


class Model:
    """What the store should hold: every revision's whole state, kept plainly."""

    def __init__(self) -> None:
        self.now: dict[tuple, dict] = {}
        self.past: dict[int, dict[tuple, dict]] = {}
        self.pulses: dict[tuple, Pulse] = {}

    def remember(self, revision: int) -> None:
        self.past[revision] = deepcopy(self.now)

    def listed(self, storage, namespace: str, revision: int | None = None) -> list[dict]:
        state = self.now if revision is None else self.past[revision]
        found = [(key, obj) for (kind, key), obj in state.items() if kind == storage]
        return [
            obj for key, obj in sorted(found, key=lambda p: p[0]) if not namespace or key.startswith(f"{namespace}/")
        ]


async def create(rng: random.Random, store: MemoryStore, storage, key: str, obj: dict) -> Change:
    """Whether an object is encoded already makes no difference."""
    if rng.random() < 0.5:
        return await store.create(storage, key, obj)
    labels, values = obj["metadata"].get("labels") or {}, field_reader(TABLE.by_storage(storage))(obj)
    change = await store.create_ready(storage, key, ready(obj, labels, values, orjson.dumps))
    assert change.stored.values == values
    assert change.stored.copy() == {
        **obj, "metadata": {**obj["metadata"], "resourceVersion": str(change.stored.revision)}
    }  # fmt: skip
    return change


async def step(rng: random.Random, store: MemoryStore, model: Model) -> None:
    storage = rng.choice((PODS, PODS, MAPS))
    namespace, name = rng.choice(NAMESPACES), f"o{rng.randrange(6)}"
    key = f"{namespace}/{name}"
    there = model.now.get((storage, key))
    action = rng.random()
    if action < 0.45:
        obj = new_object(rng, storage, namespace, name)
        if there is not None:
            with pytest.raises(KeyExists):
                await create(rng, store, storage, key, obj)
            return
        change = await create(rng, store, storage, key, obj)
        model.now[storage, key] = change.stored.copy()
    elif there is None:
        with pytest.raises(KeyMissing):
            await store.update(storage, key, lambda stored: None)
        with pytest.raises(KeyMissing):
            await store.delete(storage, key, lambda stored: None)
        return
    elif action < 0.6:
        if not beat(rng, store, model, storage, key):
            return
    elif action < 0.75:
        obj = new_object(rng, storage, namespace, name)
        obj["metadata"]["uid"] = there["metadata"]["uid"]
        change = await store.update(storage, key, lambda stored: obj)
        model.now[storage, key] = change.stored.copy()
    elif action < 0.8:
        before = store.revision
        same = deepcopy(there)
        assert not (await store.update(storage, key, lambda stored: same)).changed
        assert store.revision == before
        return
    elif action < 0.9:
        await store.update(storage, key, lambda stored: Remove())
        del model.now[storage, key]
    else:
        await store.delete(storage, key, lambda stored: None)
        del model.now[storage, key]
    model.remember(store.revision)


def beat(rng: random.Random, store: MemoryStore, model: Model, storage, key: str) -> bool:
    """Write a heartbeat, by a pulse that may be of an earlier state of the object; answers whether that changed it."""
    if store.optimistic:
        return False  # it has none
    obj = deepcopy(model.now[storage, key])
    part = obj["status" if storage == PODS else "data"]
    text, before = f"t{rng.randrange(10_000):04}", store.revision
    alive = obj["metadata"]["resourceVersion"]
    pulse = model.pulses.get((storage, key))
    if pulse is None or rng.random() < 0.1:
        pulse = store.pulse(storage, key, int(alive), Heartbeat("startTime", part["startTime"]))
        assert pulse is not None
        model.pulses[storage, key] = pulse
    if str(pulse.revision) != alive:
        assert not pulse.beat(text)
        assert store.revision == before
        del model.pulses[storage, key]
        return False
    assert pulse.beat(text)
    if text == part["startTime"]:
        assert store.revision == before
        return False
    part["startTime"] = text
    assert store.revision > before  # by more than one where others were undone
    obj["metadata"]["resourceVersion"] = str(store.revision)
    model.now[storage, key] = obj
    return True


@pytest.mark.parametrize("seed", range(12))
async def test_store_agrees_with_a_plain_model(make_store, seed: int) -> None:
    rng = random.Random(seed)
    store, model = make_store(), Model()
    model.remember(store.revision)
    for _ in range(150):
        await step(rng, store, model)
        store.check()
    for storage in (PODS, MAPS):
        for namespace in ("", *NAMESPACES):
            assert [s.copy() for s in store.list(storage, namespace)] == model.listed(storage, namespace)
            for revision in rng.sample(sorted(model.past), 10):
                snapshot = [s.copy() for s in store.snapshot(storage, namespace, revision)]
                assert snapshot == model.listed(storage, namespace, revision)
    for node in NODES:
        wanted = [obj for obj in model.listed(PODS, "") if obj["spec"]["nodeName"] == node]
        assert [s.copy() for s in store.by_field(PODS, "spec.nodeName", node)] == wanted
    for owner in range(3):
        uid = f"owner-{owner}"
        wanted_keys = {
            key
            for key, obj in model.now.items()
            if any(o["uid"] == uid for o in obj["metadata"].get("ownerReferences", ()))
        }
        assert {(s.storage, s.key) for s in store.by_owner(uid)} == wanted_keys


@pytest.mark.parametrize("seed", range(6))
async def test_a_list_is_the_fold_of_the_events_since_any_revision(make_store, seed: int) -> None:
    rng = random.Random(seed)
    store, model = make_store(), Model()
    model.remember(store.revision)
    for _ in range(120):
        await step(rng, store, model)
    for revision in model.past:
        state = {s.key: s.copy() for s in store.snapshot(PODS, "", revision)}
        last = revision
        for event in store.events_since(PODS, revision):
            assert event.revision > last
            last = event.revision
            assert (event.stored.key in state) == (event.type != "ADDED")
            if event.type == "DELETED":
                del state[event.stored.key]
            else:
                state[event.stored.key] = event.stored.copy()
        assert [state[key] for key in sorted(state)] == model.listed(PODS, "")


async def test_pages_of_a_snapshot_join_to_the_whole_though_the_present_moves_on(make_store) -> None:
    rng = random.Random(5)
    store, model = make_store(), Model()
    for _ in range(80):
        await step(rng, store, model)
    revision = store.revision
    whole = [s.raw for s in store.snapshot(PODS, "", revision)]
    after, pages = None, []
    while True:
        page = [s for _, s in zip(range(2), store.page(PODS, "", revision, after), strict=False)]
        if not page:
            break
        pages += page
        after = page[-1].key
        for _ in range(5):
            await step(rng, store, model)
    assert [s.raw for s in pages] == whole


async def test_history_beyond_its_bounds_is_forgotten_and_said_to_be(make_store) -> None:
    clock = VirtualClock()
    store = make_store(clock, history_events=5)
    for number in range(10):
        await store.create(
            MAPS, f"a/{number}", {"metadata": {"name": str(number), "namespace": "a", "uid": str(number)}}
        )
    store.check()
    assert len(store.events_since(MAPS, store.revision - 5)) == 5
    with pytest.raises(Compacted) as caught:
        store.events_since(MAPS, store.revision - 6)
    assert caught.value.oldest == store.revision - 5
    with pytest.raises(Compacted):
        store.snapshot(MAPS, "", 2)
    assert store.events_since(PODS, 1) == []  # of another type nothing is missing
    await clock.advance(601)
    await store.create(MAPS, "a/late", {"metadata": {"name": "late", "namespace": "a", "uid": "late"}})
    assert [event.stored.name for event in store.events_since(MAPS, store.revision - 1)] == ["late"]
    with pytest.raises(Compacted):
        store.events_since(MAPS, store.revision - 2)


async def test_compacting_keeps_what_is_newer(make_store) -> None:
    store = make_store()
    for name in "abc":
        await store.create(MAPS, f"x/{name}", {"metadata": {"name": name, "namespace": "x", "uid": name}})
    store.compact(store.revision - 1)
    store.check()
    assert [event.stored.name for event in store.events_since(MAPS, store.revision - 1)] == ["c"]
    with pytest.raises(Compacted):
        store.events_since(MAPS, store.revision - 2)
    with pytest.raises(Compacted):
        store.events_since(PODS, 1)


async def test_a_deleted_object_is_last_seen_under_the_revision_of_its_end(make_store) -> None:
    store = make_store()
    created = (await store.create(MAPS, "x/a", {"metadata": {"name": "a", "namespace": "x", "uid": "u"}})).stored
    final = (await store.delete(MAPS, "x/a", lambda stored: None)).stored
    assert final.revision == created.revision + 1
    assert final.object() == {"metadata": {**created.object()["metadata"], "resourceVersion": str(final.revision)}}
    assert final.metadata_raw().startswith(b'{"resourceVersion":"%d"' % final.revision)


async def test_a_listener_that_fails_does_not_fail_the_write(make_store, caplog) -> None:
    store = make_store()
    heard = []

    def failing(event) -> None:
        raise RuntimeError("boom")

    store.subscribe(failing)
    stop = store.subscribe(lambda event: heard.append(event.stored.name), [MAPS])
    await store.create(MAPS, "x/a", {"metadata": {"name": "a", "namespace": "x", "uid": "u"}})
    stop()
    await store.create(MAPS, "x/b", {"metadata": {"name": "b", "namespace": "x", "uid": "v"}})
    assert heard == ["a"]
    assert "boom" in caplog.text


async def test_large_objects_do_not_stay_decoded(make_store) -> None:
    store = make_store(history_bytes=1 << 20)
    key = await store.create(MAPS, "x/a", {"metadata": {"name": "a", "namespace": "x", "uid": "u"}})
    states = [key.stored]
    for number in range(40):
        obj = {"metadata": {"name": "a", "namespace": "x", "uid": "u"}, "data": {"k": str(number) * (1 << 20)}}
        states.append((await store.update(MAPS, "x/a", lambda stored, obj=obj: obj)).stored)
    decoded = [state for state in states if state.decoded is not None]
    assert decoded[-1] is states[-1]
    assert sum(len(state.raw) for state in decoded) <= 16 << 20

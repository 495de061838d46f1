"""Heartbeats: a pulse writes what an update would have written, and disturbs nobody who did not ask for it."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from kube32_sim.api.builtin import builtin_table
from kube32_sim.clock import VirtualClock
from kube32_sim.storage.interface import Heartbeat
from kube32_sim.storage.memory import MemoryStore
from kube32_sim.storage.memory_pulse import MemoryPulse
from kube32_sim.storage.watching import Hub, Objects, Selection
from tests.storage.conftest import MakeStore

LEASES = ("coordination.k8s.io", "leases")
KEY = "kube-node-lease/esp32-0"
FIRST, SECOND, THIRD = (f"2026-01-01T00:00:0{number}.000000Z" for number in (0, 5, 9))

LEASE = {
    "metadata": {
        "name": "esp32-0",
        "namespace": "kube-node-lease",
        "uid": "lease-uid",
        "annotations": {"renewTime": FIRST},
        "ownerReferences": [{"kind": "Node", "name": "esp32-0", "uid": "node-uid"}],
    },
    "spec": {"holderIdentity": "esp32-0", "renewTime": FIRST},
}


@pytest.fixture
async def store(make_store: MakeStore) -> MemoryStore:
    made = make_store()
    await made.create(LEASES, KEY, deepcopy(LEASE))
    return made


def pulse_of(store: MemoryStore, text: str = FIRST, times: int = 1) -> MemoryPulse | None:
    current = store.get(LEASES, KEY)
    assert current is not None
    return store.pulse(LEASES, KEY, current.revision, Heartbeat("renewTime", text, times))


async def update(store: MemoryStore, text: str) -> None:
    def change(current: Any) -> dict[str, Any]:
        obj = current.copy()
        obj["spec"]["renewTime"] = text
        return obj  # type: ignore[no-any-return]

    await store.update(LEASES, KEY, change)


async def test_beats_store_what_updates_would(store: MemoryStore) -> None:
    other = MemoryStore(builtin_table(), VirtualClock())
    await other.create(LEASES, KEY, deepcopy(LEASE))
    pulse = pulse_of(store)
    assert pulse is not None
    for text in (SECOND, THIRD):
        assert pulse.beat(text)
        await update(other, text)
        mine, theirs = store.get(LEASES, KEY), other.get(LEASES, KEY)
        assert mine is not None
        assert theirs is not None
        assert mine.raw == theirs.raw
        assert mine.metadata_raw() == theirs.metadata_raw()
        assert mine.object() == theirs.object()
        assert pulse.revision == store.revision == other.revision
        store.check()
    assert [event.stored.raw for event in store.events_since(LEASES, 0)] == [
        event.stored.raw for event in other.events_since(LEASES, 0)
    ]
    await store.delete(LEASES, KEY, lambda current: None)
    await other.delete(LEASES, KEY, lambda current: None)
    assert store.events_since(LEASES, 0)[-1].stored.raw == other.events_since(LEASES, 0)[-1].stored.raw
    store.check()


async def test_digits_of_the_revision_may_grow(store: MemoryStore) -> None:
    pulse = pulse_of(store)
    assert pulse is not None
    for number in range(1200):
        assert pulse.beat(f"2026-01-01T00:00:00.{number + 1:06}Z")
    stored = store.get(LEASES, KEY)
    assert stored is not None
    assert stored.object()["spec"]["renewTime"] == "2026-01-01T00:00:00.001200Z"
    assert stored.object()["metadata"]["annotations"] == {"renewTime": FIRST}
    store.check()


async def test_pulses_may_follow_upon_pulses(store: MemoryStore) -> None:
    """As many as there are when boards are started again and again: no object leans on thousands of others."""
    text = FIRST
    for number in range(1, 3000):
        pulse = pulse_of(store, text)
        assert pulse is not None
        text = f"2026-01-01T00:00:00.{number:06}Z"
        assert pulse.beat(text)
    stored = store.get(LEASES, KEY)
    assert stored is not None
    assert stored.object()["spec"]["renewTime"] == text
    assert stored.object()["metadata"]["annotations"] == {"renewTime": FIRST}
    store.check()


async def test_the_same_time_again_writes_nothing(store: MemoryStore) -> None:
    pulse, before = pulse_of(store), store.revision
    assert pulse is not None
    assert pulse.beat(FIRST)
    assert store.revision == before
    assert pulse.beat(SECOND)
    assert pulse.beat(SECOND)
    assert store.revision == before + 1


async def test_a_pulse_ends_with_the_next_write_of_anybody_else(store: MemoryStore) -> None:
    pulse = pulse_of(store)
    assert pulse is not None
    assert pulse.beat(SECOND)
    await update(store, THIRD)
    before = store.revision
    assert not pulse.beat(SECOND)
    assert store.revision == before
    again = pulse_of(store, THIRD)
    assert again is not None
    await store.delete(LEASES, KEY, lambda current: None)
    assert not again.beat(SECOND)
    await store.create(LEASES, KEY, deepcopy(LEASE))
    assert not again.beat(SECOND)


async def test_where_it_cannot_be_done_there_is_no_pulse(store: MemoryStore) -> None:
    assert pulse_of(store, SECOND) is None  # it tells another time
    assert pulse_of(store, FIRST, 2) is None  # the annotation is no heartbeat
    assert store.pulse(LEASES, KEY, 1, Heartbeat("renewTime", FIRST)) is None  # another revision
    assert store.pulse(LEASES, "kube-node-lease/esp32-1", 2, Heartbeat("renewTime", FIRST)) is None
    pulse = pulse_of(store)
    assert pulse is not None
    assert not pulse.beat("2026-01-01T00:00:05Z")  # of another length


async def test_only_who_asks_is_told(store: MemoryStore) -> None:
    heard: list[str] = []
    store.subscribe(lambda event: heard.append("all"))
    stop = store.subscribe(lambda event: heard.append("with heartbeats"), [LEASES], [LEASES])
    pulse = pulse_of(store)
    assert pulse is not None
    assert pulse.beat(SECOND)
    assert heard == ["with heartbeats"]
    await update(store, THIRD)
    assert heard == ["with heartbeats", "with heartbeats", "all"]
    stop()
    again = pulse_of(store, THIRD)
    assert again is not None
    assert again.beat(SECOND)
    assert len(heard) == 3


async def test_watchers_are_told_but_for_those_who_beat(store: MemoryStore) -> None:
    hub = Hub(store, VirtualClock().gauge)
    told: dict[bool, list[Any]] = {True: [], False: []}
    members = [
        hub.join(LEASES, Selection(name="esp32-0"), Objects(), told[wants].extend, lambda: None, heartbeats=wants)
        for wants in (True, False)
    ]
    for member in members:
        member.go_live()
    pulse = pulse_of(store)
    assert pulse is not None
    assert pulse.beat(SECOND)
    hub.flush()
    assert [(kind, stored.object()["spec"]["renewTime"]) for kind, stored in told[True]] == [("MODIFIED", SECOND)]
    assert told[False] == []
    members[0].stop()
    assert pulse.beat(THIRD)
    hub.flush()
    assert len(told[True]) == 1
    await update(store, FIRST)
    hub.flush()
    assert [kind for kind, _ in told[False]] == ["MODIFIED"]


@pytest.mark.parametrize("managed", [False, True])
async def test_the_time_of_the_last_write_beats_too_and_no_annotation_of_that_name(
    managed: bool, make_store: MakeStore
) -> None:
    second = "2026-01-01T00:00:00Z"
    obj = deepcopy(LEASE)
    obj["metadata"]["annotations"] = {"time": second}  # type: ignore[index]
    if managed:
        obj["metadata"]["managedFields"] = [{"manager": "kubelet", "time": second}]  # type: ignore[index]
    store = make_store()
    await store.create(LEASES, KEY, obj)
    pulse = pulse_of(store)
    assert pulse is not None
    assert pulse.beat(SECOND)
    stored = store.get(LEASES, KEY)
    assert stored is not None
    metadata = stored.object()["metadata"]
    assert metadata["annotations"] == {"time": second}
    assert metadata.get("managedFields", []) == [{"manager": "kubelet", "time": "2026-01-01T00:00:05Z"}] * managed

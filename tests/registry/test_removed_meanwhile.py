"""The second half of a deletion, where somebody else was quicker."""

from __future__ import annotations

from kube32_sim.api.builtin import builtin_table
from kube32_sim.clock import VirtualClock
from kube32_sim.registry.lookup import removed
from kube32_sim.storage.memory import MemoryStore

MAPS = ("", "configmaps")


def config_map(uid: str) -> dict[str, object]:
    return {"metadata": {"name": "m", "namespace": "default", "uid": uid}}


async def test_what_has_gone_already_is_gone() -> None:
    store = MemoryStore(builtin_table(), VirtualClock())
    seen = (await store.create(MAPS, "default/m", config_map("one"))).stored
    last = await removed(store, seen)
    assert (last.uid, last.revision, store.count(MAPS)) == ("one", store.revision, 0)
    assert await removed(store, seen) is seen


async def test_another_of_the_same_name_stays() -> None:
    store = MemoryStore(builtin_table(), VirtualClock())
    seen = (await store.create(MAPS, "default/m", config_map("one"))).stored
    await removed(store, seen)
    await store.create(MAPS, "default/m", config_map("two"))
    assert await removed(store, seen) is seen
    assert store.count(MAPS) == 1

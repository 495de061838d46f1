"""Read access to the store for admission and strategies (`strategies.base.Lookup`)."""

from __future__ import annotations

from collections.abc import Sequence

from kube32_sim.storage.interface import JsonObject, KeyMissing, Storage, Store
from kube32_sim.storage.objects import StoredObject


async def still_there(store: Store, storage: Storage, key: str) -> bool:
    """Whether an object that this process knows of is there, whoever else may have deleted it meanwhile."""
    try:
        await store.update(storage, key, lambda current: None)
    except KeyMissing:
        return False
    return True


async def removed(store: Store, seen: StoredObject) -> StoredObject:
    """Its last state, of an object that is to go now; whoever was quicker did the same."""

    def the_same(current: StoredObject) -> None:
        if current.uid != seen.uid:
            raise KeyMissing(seen.key)

    try:
        return (await store.delete(seen.storage, seen.key, the_same)).stored
    except KeyMissing:
        return seen


class StoreLookup:
    def __init__(self, store: Store) -> None:
        self._store = store

    def get(self, storage: Storage, namespace: str, name: str) -> JsonObject | None:
        stored = self._store.get(storage, f"{namespace}/{name}" if namespace else name)
        return stored.object() if stored is not None else None

    def list(self, storage: Storage, namespace: str = "") -> Sequence[JsonObject]:
        return [stored.object() for stored in self._store.list(storage, namespace)]

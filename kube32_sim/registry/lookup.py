"""Read access to the store for admission and strategies (`strategies.base.Lookup`)."""

from __future__ import annotations

from collections.abc import Sequence

from kube32_sim.storage.interface import JsonObject, Storage, Store


class StoreLookup:
    def __init__(self, store: Store) -> None:
        self._store = store

    def get(self, storage: Storage, namespace: str, name: str) -> JsonObject | None:
        stored = self._store.get(storage, f"{namespace}/{name}" if namespace else name)
        return stored.object() if stored is not None else None

    def list(self, storage: Storage, namespace: str = "") -> Sequence[JsonObject]:
        return [stored.object() for stored in self._store.list(storage, namespace)]

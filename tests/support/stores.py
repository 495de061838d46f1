"""Everything that a store tells, as one value that can be compared with another store's."""

from __future__ import annotations

from typing import Any

from kube32_sim.storage.memory import MemoryStore
from kube32_sim.storage.objects import Event, StoredObject


def picture(store: MemoryStore) -> dict[str, Any]:
    """Objects, how they are found, and the history; checked beforehand."""
    store.check()
    known = {place for place in store.storages() if store.count(place) or store.oldest(place)}
    places = sorted(known | {("", "pods"), ("", "configmaps")})
    return {
        "revision": store.revision,
        "objects": {place: [_object(stored) for stored in store.list(place)] for place in places},
        "indexes": {place: _indexes(store, place) for place in places},
        "owned": {uid: sorted(owned) for uid, owned in store._owned.items()},
        "events": {place: list(map(_event, store.events_since(place, store.oldest(place)))) for place in places},
        "oldest": {place: store.oldest(place) for place in places},
        "order": [event.revision for event in store._log],
        "bytes": store._log_bytes,
    }


def _object(stored: StoredObject | None) -> Any:
    if stored is None:
        return None
    return (
        *(stored.storage, stored.key, stored.namespace, stored.name, stored.uid, stored.revision, stored.raw),
        *(stored.labels, stored.fields, stored.owners, stored.deleting, stored.metadata_raw(), type(stored).__name__),
    )


def _event(event: Event) -> Any:
    return event.type, event.revision, event.time, event.heartbeat, _object(event.stored), _object(event.previous)


def _indexes(store: MemoryStore, place: tuple[str, str]) -> Any:
    return {found: sorted(entries) for found, entries in store.bucket(place).indexes.items()}

"""What loops read: the store, seen by resource instead of by storage (`actions.View`), and word of its changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from kube32_sim.client import Resource
from kube32_sim.clock import turn

JsonObject = dict[str, Any]
Storage = tuple[str, str]

STRIDE = 128
"""Objects decoded before others get their turn (see `StoreView.read`)."""


class Event(Protocol):
    """One change.  stored: the state after it (for DELETED the last one); previous: the state before, or None.

    heartbeat: its time, where only that is another.  time: when it took place (seconds since 1970).
    """

    @property
    def type(self) -> str: ...
    @property
    def heartbeat(self) -> str: ...
    @property
    def stored(self) -> Any: ...
    @property
    def previous(self) -> Any: ...
    @property
    def time(self) -> float: ...


class Store(Protocol):
    """The part of a store that a view needs (see `storage.interface`)."""

    def get(self, storage: Storage, key: str) -> Any | None: ...
    def list(self, storage: Storage, namespace: str = "") -> Sequence[Any]: ...
    def by_field(self, storage: Storage, field: str, value: str) -> Sequence[Any]: ...
    def by_owner(self, uid: str) -> Sequence[Any]: ...
    def subscribe(
        self,
        listener: Callable[[Any], None],
        storages: Iterable[Storage] | None = None,
        heartbeats: Iterable[Storage] = (),
    ) -> Callable[[], None]: ...


def storage_of(resource: Resource) -> Storage:
    return resource.group, resource.plural


class StoreView:
    """Objects are shared and without apiVersion and kind: never change them."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def get(self, resource: Resource, namespace: str, name: str) -> JsonObject | None:
        stored = self._store.get(storage_of(resource), f"{namespace}/{name}" if namespace else name)
        return None if stored is None else stored.object()

    def list(self, resource: Resource, namespace: str = "") -> Sequence[JsonObject]:
        return [stored.object() for stored in self._store.list(storage_of(resource), namespace)]

    def owned(self, resource: Resource, uid: str) -> Sequence[JsonObject]:
        storage = storage_of(resource)
        return [stored.object() for stored in self._store.by_owner(uid) if stored.storage == storage]

    async def read(self, resource: Resource, uid: str) -> StoreView:
        """A view that has decoded what `owned` will answer; for thousands of objects that takes long, so step by step.

        It is as current as this one: what has changed since is decoded when it is asked for.
        """
        storage = storage_of(resource)
        owned = [stored for stored in self._store.by_owner(uid) if stored.storage == storage]
        if len(owned) <= STRIDE:
            return self
        decoded = {}
        for number, stored in enumerate(owned, 1):
            decoded[stored] = stored.object()
            if number % STRIDE == 0:
                await turn()
        return _ReadView(self._store, decoded)

    def by_field(self, resource: Resource, field: str, value: str) -> Sequence[JsonObject]:
        return [stored.object() for stored in self._store.by_field(storage_of(resource), field, value)]

    def stored(self, resource: Resource) -> Sequence[Any]:
        """All objects of a type, undecoded."""
        return self._store.list(storage_of(resource))

    def subscribe(
        self, resources: Iterable[Resource], listener: Callable[[Event], None], heartbeats: Iterable[Resource] = ()
    ) -> Callable[[], None]:
        """Call `listener(event)` at every change of these types, before the write returns; answers how to stop.

        heartbeats: the types at whose heartbeats too.
        """
        return self._store.subscribe(listener, map(storage_of, resources), map(storage_of, heartbeats))


class _ReadView(StoreView):
    """See `StoreView.read`.  decoded: by revision."""

    def __init__(self, store: Store, decoded: dict[Any, JsonObject]) -> None:
        super().__init__(store)
        self._decoded = decoded

    def owned(self, resource: Resource, uid: str) -> Sequence[JsonObject]:
        storage, decoded = storage_of(resource), self._decoded
        return [
            decoded[stored] if stored in decoded else stored.object()
            for stored in self._store.by_owner(uid)
            if stored.storage == storage
        ]

"""What takes part in writes beyond admission: addresses of Services, binding inside the create request, what is used of
quotas where no loop counts it, and the journal of what mattered to pods.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, Protocol

from kube32_sim.api.admission import pod_topology, quota
from kube32_sim.api.allocation import Allocators
from kube32_sim.api.resources import ResourceType
from kube32_sim.api.service_allocation import allocate
from kube32_sim.api.strategies.base import Context
from kube32_sim.clock import Clock
from kube32_sim.ids import Ids
from kube32_sim.registry.asked import Asked
from kube32_sim.registry.journal import Journal
from kube32_sim.registry.service_addresses import ADDRESSES, SERVICES, Addresses, held_by, is_ours
from kube32_sim.storage.interface import Change, KeyMissing, Store
from kube32_sim.storage.objects import Event, StoredObject

JsonObject = dict[str, Any]

PODS = ("", "pods")
RANGES = ("networking.k8s.io", "servicecidrs")


class Binder(Protocol):
    """The scheduler as the create request sees it."""

    def bind_on_create(self, pod: JsonObject, now: str) -> object:
        """Choose a node for a pod that is about to be stored: changes the pod in place."""

    def misfit(self, pod: JsonObject, node: str) -> str:
        """Why a pod does not fit on a node now; "" where it does."""


class WriteHooks:
    """binder: None where the scheduler does not run.  announce: called with each pod it placed or refused."""

    def __init__(
        self,
        allocators: Allocators,
        binder: Binder | None,
        announce: Callable[[JsonObject], None] | None,
        ids: Ids,
        journal: Journal,
        *,
        charges_quotas: bool = False,
    ) -> None:
        """ids: for the IPAddress objects of Services.  charges_quotas: what is new is added to what the status of its
        namespace's quotas says is used.
        """
        self.journal = journal
        self._allocators = allocators
        self._binder = binder
        self._announce = announce
        self._charges_quotas = charges_quotas
        self._ids = ids
        self._store: Store | None = None
        self._addresses: Addresses | None = None
        self._followers: dict[tuple[str, str], Callable[[StoredObject], Awaitable[None]]] = {}

    def follow(self, store: Store, clock: Clock) -> None:
        """Know which addresses and ports are held, now and from now on."""
        self._store = store
        self._addresses = Addresses(store, self._ids, clock)
        for stored in store.list(ADDRESSES):
            self._hold(stored, taken=True)
        store.subscribe(self._address_changed, [ADDRESSES])
        for stored in store.list(RANGES):
            self._know_range(stored, gone=stored.deleting)
        store.subscribe(self._range_changed, [RANGES])
        for stored in store.list(SERVICES):
            self._allocators.observe(stored.object(), None)
        store.subscribe(self._service_changed, [SERVICES])

    async def repair(self, now: str) -> None:
        """What an earlier run has left half done; raises Unavailable."""
        if self._store is not None and self._addresses is not None:
            async with self._store.deciding(SERVICES[1]):  # an address is there before its Service
                await self._addresses.repair([each.object() for each in self._store.list(SERVICES)], now)

    def _service_changed(self, event: Event) -> None:
        new = None if event.type == "DELETED" else event.stored.object()
        before = event.previous.object() if event.previous is not None else None
        self._allocators.observe(new, before)
        lost = held_by(before) - held_by(new)
        if lost and self._addresses is not None:
            self._addresses.give_back(lost)

    def _address_changed(self, event: Event) -> None:
        if event.type != "MODIFIED":
            self._hold(event.stored, taken=event.type == "ADDED")

    def _range_changed(self, event: Event) -> None:
        self._know_range(event.stored, gone=event.type == "DELETED" or event.stored.deleting)

    def _know_range(self, stored: StoredObject, *, gone: bool) -> None:
        """A range that is going gives no more addresses."""
        for cidr in stored.object()["spec"].get("cidrs") or ():
            (self._allocators.drop_range if gone else self._allocators.add_range)(stored.name, cidr)

    def _hold(self, stored: StoredObject, *, taken: bool) -> None:
        """An address that somebody keeps by an object of his own is nobody else's."""
        if not is_ours(stored.object()):
            self._allocators.hold(stored.name, taken=taken)

    def before_create(self, row: ResourceType, obj: JsonObject, context: Context) -> Sequence[str]:
        if row.storage == SERVICES:
            allocate(obj, None, self._allocators)
        elif self._binder is not None and row.storage == PODS:  # in a dry run too: it tells what would be stored
            self._binder.bind_on_create(obj, context.now)
            pod_topology.label(obj, context)
        return ()

    def before_update(self, row: ResourceType, obj: JsonObject, old: JsonObject, context: Context) -> Sequence[str]:
        if row.storage == SERVICES and not context.subresource:
            allocate(obj, old, self._allocators)
        return ()

    def decides(self, row: ResourceType, namespace: str) -> Sequence[str]:
        subjects = [row.plural] if row.storage == SERVICES or (row.storage == PODS and self._binder is not None) else []
        if row.namespaced and self._store is not None and self._store.count_in(quota.QUOTAS, namespace):
            subjects.append(f"resourcequotas/{namespace}")
        return subjects

    def misfit(self, pod: JsonObject, node: str) -> str:
        return self._binder.misfit(pod, node) if self._binder is not None else ""

    async def reserve(self, row: ResourceType, obj: JsonObject, before: JsonObject | None, now: str) -> None:
        if row.storage == SERVICES and self._addresses is not None:
            await self._addresses.take(obj, before, now)

    def release(self, row: ResourceType, obj: JsonObject) -> None:
        if row.storage == SERVICES and self._addresses is not None:
            self._addresses.give_back(held_by(obj))

    async def created(self, asked: Asked, stored: StoredObject) -> None:
        row = asked.row
        self.journal.created(asked, stored)
        if self._announce is not None and row.storage == PODS:
            self._announce(stored.object())
        if self._charges_quotas and row.namespaced and self._store is not None:
            await _charge(self._store, row, stored)

    def changed(self, asked: Asked, done: Change, *, removed: bool) -> None:
        self.journal.changed(asked, done, removed=removed)

    async def settled(self, row: ResourceType, stored: StoredObject) -> None:
        follow = self._followers.get(row.storage)
        if follow is not None:
            if self._store is not None:
                await self._store.kept(stored.revision)
            await follow(stored)

    def after(self, storage: tuple[str, str], follow: Callable[[StoredObject], Awaitable[None]]) -> None:
        """Await `follow` with every object of a type that was just stored (or was deleted: then its last state).

        There is one follower a type; ValueError for another.
        """
        if storage in self._followers:
            raise ValueError(f"{storage[1]} are followed already")
        self._followers[storage] = follow


async def _charge(store: Store, row: ResourceType, stored: StoredObject) -> None:
    def charged(current: StoredObject) -> JsonObject | None:
        status = quota.charged(current.object(), row.storage, stored.object())
        return None if status is None else {**current.copy(), "status": status}

    for each in store.list(quota.QUOTAS, stored.namespace):
        with suppress(KeyMissing):
            await store.update(quota.QUOTAS, each.key, charged)

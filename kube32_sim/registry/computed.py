"""Endpoints and EndpointSlices: computed from Services and Pods, current at every read.

They are kept in the store like other objects, so that lists, watches and resourceVersions need nothing special, but
only brought up to date when somebody looks: before a read, and at the end of a turn of the event loop while there are
watchers of the type.  Services are found by the labels of the pod that changed, and what each pod contributes to each
is kept once somebody has looked, so a change costs the Services and the one pod it concerns.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress

from kube32_sim.api.endpoint_slices import MANAGED_BY, MANAGER, SERVICE_LABEL, slices_of
from kube32_sim.api.endpoints import Entry, endpoints_of, entries_of, has_endpoints
from kube32_sim.api.selectors import label_set
from kube32_sim.clock import Clock
from kube32_sim.ids import Ids
from kube32_sim.storage.interface import JsonObject, KeyExists, KeyMissing, Storage, Store, Unavailable
from kube32_sim.storage.objects import Event, StoredObject
from kube32_sim.storage.watching import Hub

log = logging.getLogger(__name__)

SERVICES, PODS = ("", "services"), ("", "pods")
ENDPOINTS, SLICES = ("", "endpoints"), ("discovery.k8s.io", "endpointslices")
COMPUTED = (ENDPOINTS, SLICES)
OWN = "default/kubernetes"
"""The Service of the API server itself, whose endpoints nobody computes."""

AGAIN = 1.0
"""Seconds after which watchers are told of what could not be stored."""
Place = tuple[str, str, str]
"""(namespace, label, value): where Services that select this label are found."""


class Selecting:
    """A Service that selects pods.  entries: by the pods' keys; None until somebody looks."""

    def __init__(self, stored: StoredObject) -> None:
        self.key = stored.key
        self.namespace = stored.namespace
        self.service = stored.object()
        selector: Mapping[str, str] = self.service["spec"]["selector"]
        self.matches = label_set(selector).matches
        self.place: Place = (stored.namespace, *min(selector.items()))
        self.entries: dict[str, tuple[Entry, ...]] | None = None

    def contributed(self, pod: StoredObject) -> tuple[Entry, ...]:
        return entries_of(self.service, pod.object()) if self.matches(pod.labels) else ()

    def learn(self, pods: Iterable[StoredObject]) -> list[Entry]:
        """All entries; the namespace's pods are looked at the first time only."""
        if self.entries is None:
            found = ((pod.key, self.contributed(pod)) for pod in pods)
            self.entries = {key: entries for key, entries in found if entries}
        return [entry for entries in self.entries.values() for entry in entries]

    def hear(self, event: Event) -> bool:
        """Take in a pod's change; answers whether it matters."""
        if self.entries is None:
            return True
        key = event.stored.key
        new = () if event.type == "DELETED" else self.contributed(event.stored)
        if new == self.entries.get(key, ()):
            return False
        self.entries.pop(key, None)
        if new:
            self.entries[key] = new
        return True


class ComputedEndpoints:
    storages = frozenset(COMPUTED)

    def __init__(self, store: Store, hubs: Iterable[Hub], clock: Clock, ids: Ids) -> None:
        """hubs: where watchers are."""
        self._store = store
        self._hubs = tuple(hubs)
        self._turns = {storage: asyncio.Lock() for storage in COMPUTED}
        self._clock = clock
        self._ids = ids
        self._selecting: dict[str, Selecting] = {}
        self._places: dict[Place, dict[str, Selecting]] = {}
        self._slices: dict[str, set[str]] = {}
        self._made_for: dict[str, str] = {}
        """uids of the Services that the stored Endpoints are of."""
        self._dirty: dict[Storage, dict[str, None]] = {storage: {} for storage in COMPUTED}
        self._scheduled = self._writing = False
        self._recall()
        for stored in store.list(SERVICES):
            self._take(stored)
        store.subscribe(self._service_changed, [SERVICES])
        store.subscribe(self._pod_changed, [PODS])
        if store.deferred:
            store.subscribe(self._written, COMPUTED)

    def _recall(self) -> None:
        """What an earlier run has computed is to be looked at: what it is of may have gone."""
        for stored in self._store.list(SLICES):
            key = f"{stored.namespace}/{stored.labels.get(SERVICE_LABEL, '')}"
            if stored.labels.get(MANAGED_BY) == MANAGER:
                self._slices.setdefault(key, set()).add(stored.key)
                self._dirty[SLICES][key] = None
        for stored in self._store.list(ENDPOINTS):
            if stored.key != OWN and self._store.get(SERVICES, stored.key) is None:
                self._dirty[ENDPOINTS][stored.key] = None

    # what changes

    def _take(self, stored: StoredObject) -> None:
        if has_endpoints(stored.object()):
            selecting = self._selecting[stored.key] = Selecting(stored)
            self._places.setdefault(selecting.place, {})[stored.key] = selecting
            self._touch(stored.key)

    def _service_changed(self, event: Event) -> None:
        key = event.stored.key
        before = self._selecting.pop(key, None)
        if before is not None:
            at = self._places[before.place]
            del at[key]
            if not at:
                del self._places[before.place]
            self._touch(key)
        if event.type != "DELETED":
            self._take(event.stored)

    def _pod_changed(self, event: Event) -> None:
        states = [event.stored] if event.previous is None else [event.stored, event.previous]
        concerned: dict[str, Selecting] = {}
        for state in states:
            for pair in state.labels.items():
                concerned.update(self._places.get((state.namespace, *pair), ()))
        for key, selecting in concerned.items():
            if any(selecting.matches(state.labels) for state in states) and selecting.hear(event):
                self._touch(key)

    def _written(self, event: Event) -> None:
        """Where that is not our doing, something that we wrote could not be kept: it is computed anew."""
        stored = event.stored
        if self._writing or stored.key == OWN:
            return
        if stored.storage == ENDPOINTS:
            self._touch(stored.key, [ENDPOINTS])
        elif stored.labels.get(MANAGED_BY) == MANAGER:
            key = f"{stored.namespace}/{stored.labels.get(SERVICE_LABEL, '')}"
            self._slices.setdefault(key, set()).add(stored.key)
            self._touch(key, [SLICES])

    def _touch(self, key: str, storages: Iterable[Storage] = COMPUTED) -> None:
        for storage in storages:
            self._dirty[storage][key] = None
        self._tell_later()

    def _tell_later(self) -> None:
        """If there are watchers."""
        if not self._scheduled and any(map(self._watched, COMPUTED)):
            self._scheduled = True
            self._clock.spawn(self._turn(), "computed endpoints")

    def _watched(self, storage: Storage) -> bool:
        return any(hub.watching(storage) for hub in self._hubs)

    async def _turn(self) -> None:
        self._scheduled = False
        for storage in filter(self._watched, COMPUTED):
            try:
                await self.refresh(storage)
            except Unavailable as error:
                log.warning("watchers of %s are not told of changes yet: %s", storage[1], error)
                self._clock.call_at(self._clock.now() + AGAIN, self._tell_later)

    # what follows

    async def bring_up_to_date(self, storage: Storage) -> str:
        """See `asked.Computed`: while nothing can be written, what is stored is read."""
        if storage in self.storages:
            try:
                await self.refresh(storage)
            except Unavailable as error:
                return f"{storage[1]} may be out of date: {error.message}"
        return ""

    async def refresh(self, storage: Storage) -> None:
        """Make what is stored of a type follow from the present Services and Pods; raises Unavailable."""
        turns = self._turns[storage]
        if not self._dirty[storage] and not turns.locked():
            return
        async with turns:  # who comes while another is at it waits for him
            while self._dirty[storage]:
                key = next(iter(self._dirty[storage]))
                del self._dirty[storage][key]
                try:
                    await (self._refresh_endpoints(key) if storage == ENDPOINTS else self._refresh_slices(key))
                except BaseException:
                    self._dirty[storage][key] = None
                    raise

    def _entries(self, selecting: Selecting) -> list[Entry]:
        return selecting.learn(self._store.list(PODS, selecting.namespace) if selecting.entries is None else ())

    async def _refresh_endpoints(self, key: str) -> None:
        selecting = self._selecting.get(key)
        if selecting is None:
            self._made_for.pop(key, None)
            await self._drop(ENDPOINTS, key)
            return
        uid = selecting.service["metadata"]["uid"]
        if self._made_for.get(key, uid) != uid:  # another Service of that name, whose Endpoints are others too
            await self._drop(ENDPOINTS, key)
        self._made_for[key] = uid
        await self._put(selecting, ENDPOINTS, key, endpoints_of(selecting.service, self._entries(selecting)))

    async def _refresh_slices(self, key: str) -> None:
        selecting = self._selecting.get(key)
        there = sorted(self._slices.get(key, ()))
        before = [stored.object() for one in there if (stored := self._store.get(SLICES, one)) is not None]
        made = slices_of(selecting.service, self._entries(selecting), before) if selecting is not None else []
        wanted = {f"{obj['metadata']['namespace']}/{obj['metadata']['name']}": obj for obj in made}
        for stale in (one for one in there if one not in wanted):
            await self._drop(SLICES, stale)
        self._slices[key] = set(wanted)
        if not wanted:
            del self._slices[key]
        if selecting is not None:
            for slice_key, obj in wanted.items():
                await self._put(selecting, SLICES, slice_key, obj)

    @contextmanager
    def _ours(self) -> Iterator[None]:
        """What is written meanwhile is; where writes may be undone they are done at once."""
        self._writing = True
        try:
            yield
        finally:
            self._writing = False

    async def _drop(self, storage: Storage, key: str) -> None:
        if self._store.get(storage, key) is not None:
            with suppress(KeyMissing), self._ours():
                await self._store.delete(storage, key, lambda _: None)

    async def _put(self, selecting: Selecting, storage: Storage, key: str, obj: JsonObject) -> None:
        metadata = obj["metadata"]
        # They have been there since the Service was, whenever somebody first looked.
        metadata["creationTimestamp"] = selecting.service["metadata"]["creationTimestamp"]
        stored = self._store.get(storage, key)
        if stored is None:
            metadata["uid"] = self._ids.uid()
            with suppress(KeyExists), self._ours():  # another process has computed the same
                await self._store.create(storage, key, obj)
            return
        old = stored.object()
        kept = ("uid", "generation", "resourceVersion")
        metadata.update({name: old["metadata"][name] for name in kept if name in old["metadata"]})
        if obj == old:
            return
        if "generation" in metadata and {**obj, "metadata": None} != {**old, "metadata": None}:
            metadata["generation"] += 1
        with suppress(KeyMissing), self._ours():
            await self._store.update(storage, key, lambda current: obj if current.revision == stored.revision else None)

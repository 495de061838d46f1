"""Endpoints and EndpointSlices: computed from Services and Pods, current at every read.

They are kept in the store like other objects, so that lists, watches and resourceVersions need nothing special, but
only brought up to date when somebody looks: before a read, and at the end of a turn of the event loop while there are
watchers.  A Service is computed anew only when it or one of its namespace's pods has changed since.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from kube32_sim.api.endpoints import compute_endpoints, compute_slices
from kube32_sim.api.selectors import label_set
from kube32_sim.clock import Clock
from kube32_sim.ids import Ids
from kube32_sim.storage.interface import JsonObject, Storage
from kube32_sim.storage.memory import MemoryStore
from kube32_sim.storage.objects import Event, StoredObject
from kube32_sim.storage.watching import Hub

SERVICES, PODS = ("", "services"), ("", "pods")
ENDPOINTS, SLICES = ("", "endpoints"), ("discovery.k8s.io", "endpointslices")
SERVICE_LABEL = "kubernetes.io/service-name"


def run_now(write: Coroutine[Any, Any, Any]) -> None:
    """Run a store's write to its end here and now; the store in memory never waits."""
    try:
        write.send(None)
    except StopIteration:
        return
    write.close()
    raise RuntimeError("a computed object must be written at once")


class ComputedEndpoints:
    storages = frozenset((ENDPOINTS, SLICES))

    def __init__(self, store: MemoryStore, hub: Hub, clock: Clock, ids: Ids) -> None:
        self._store = store
        self._hub = hub
        self._clock = clock
        self._ids = ids
        self._dirty: dict[str, None] = {}
        self._scheduled = False
        self._slices: dict[str, set[str]] = {}
        for stored in store.list(SERVICES):
            self._dirty[stored.key] = None
        store.subscribe(self._service_changed, [SERVICES])
        store.subscribe(self._pod_changed, [PODS])

    def _service_changed(self, event: Event) -> None:
        self._touch(event.stored.key)

    def _pod_changed(self, event: Event) -> None:
        namespace = event.stored.namespace
        states = [state for state in (event.stored, event.previous) if state is not None]
        for service in self._store.list(SERVICES, namespace):
            selector = service.object().get("spec", {}).get("selector")
            if selector and any(label_set(selector).matches(state.labels) for state in states):
                self._touch(service.key)

    def _touch(self, key: str) -> None:
        self._dirty[key] = None
        watched = any(self._hub.watching(storage) for storage in self.storages)
        if watched and not self._scheduled:
            self._scheduled = True
            self._clock.gauge.up()
            asyncio.get_running_loop().call_soon(self._turn)

    def _turn(self) -> None:
        self._scheduled = False
        self.refresh()
        self._clock.gauge.down()

    def refresh(self) -> None:
        """Make what is stored follow from the present Services and Pods."""
        dirty, self._dirty = self._dirty, {}
        for key in dirty:
            self._recompute(key)

    def _recompute(self, key: str) -> None:
        namespace, _, name = key.partition("/")
        service = self._store.get(SERVICES, key)
        wanted: dict[str, JsonObject] = {}
        endpoints: JsonObject | None = None
        if service is not None and service.object().get("spec", {}).get("selector"):
            pods = self._selected(service)
            endpoints = compute_endpoints(service.object(), pods)
            wanted = {f"{namespace}/{s['metadata']['name']}": s for s in compute_slices(service.object(), pods)}
        elif service is not None and key not in self._slices:
            return
        self._put(ENDPOINTS, f"{namespace}/{name}", endpoints)
        for stale in self._slices.get(key, set()) - set(wanted):
            self._put(SLICES, stale, None)
        for slice_key, obj in wanted.items():
            self._put(SLICES, slice_key, obj)
        if wanted:
            self._slices[key] = set(wanted)
        else:
            self._slices.pop(key, None)

    def _selected(self, service: StoredObject) -> list[JsonObject]:
        matches = label_set(service.object()["spec"]["selector"]).matches
        return [pod.object() for pod in self._store.list(PODS, service.namespace) if matches(pod.labels)]

    def _put(self, storage: Storage, key: str, obj: JsonObject | None) -> None:
        current = self._store.get(storage, key)
        if obj is None:
            if current is not None:
                run_now(self._store.delete(storage, key, lambda _: None))
            return
        metadata = obj["metadata"]
        if current is None:
            metadata["uid"] = self._ids.uid()
            metadata["creationTimestamp"] = self._clock.timestamp()
            run_now(self._store.create(storage, key, obj))
            return
        old = current.object()["metadata"]
        metadata["uid"], metadata["creationTimestamp"] = old["uid"], old["creationTimestamp"]
        if "generation" in old:
            metadata["generation"] = old["generation"]
        annotations = old.get("annotations")
        if annotations and "annotations" not in metadata:
            metadata["annotations"] = annotations
        run_now(self._store.update(storage, key, lambda _: obj))

"""The state that a server's own previews start from: of what is stored, no more is read than the answer takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import overload

from kube32_controllers.scheduler import Scheduler
from kube32_controllers.scheduler_cache import key_of
from kube32_controllers.scheduler_figures import node_figures

from kube32_sim.kestrel.models import Amounts
from kube32_sim.preview.boards import Firewalls, reported_by_node, reporting_anew
from kube32_sim.preview.kube32 import Picture, warnings_about
from kube32_sim.preview.manifests import Manifest
from kube32_sim.preview.objects import POD, WORKLOADS, row_of
from kube32_sim.preview.placements import ClusterState, JsonObject, PreviewError
from kube32_sim.preview.savepoint import Savepoint
from kube32_sim.storage.interface import Storage, Store
from kube32_sim.storage.objects import StoredObject
from kube32_sim.translation.reports import reports_free

NODES, PODS, REPLICA_SETS = ("", "nodes"), ("", "pods"), ("apps", "replicasets")
PRIORITY_CLASSES, LIMIT_RANGES = ("scheduling.k8s.io", "priorityclasses"), ("", "limitranges")


class StoredObjects(Sequence[JsonObject]):
    """All objects of a type, in key order, decoded when they are looked at."""

    def __init__(self, store: Store, storage: Storage) -> None:
        self._store = store
        self._storage = storage

    @overload
    def __getitem__(self, index: int) -> JsonObject: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[JsonObject]: ...
    def __getitem__(self, index: int | slice) -> JsonObject | Sequence[JsonObject]:
        found = self._store.list(self._storage)[index]
        return [one.object() for one in found] if isinstance(found, Sequence) else found.object()

    def __len__(self) -> int:
        return self._store.count(self._storage)

    def __iter__(self) -> Iterator[JsonObject]:
        return (stored.object() for stored in self._store.list(self._storage))


def whole_state(store: Store) -> ClusterState:
    return state_of(store, StoredObjects(store, NODES), list(StoredObjects(store, PODS)))


def state_about(store: Store, manifests: Iterable[Manifest]) -> ClusterState:
    """With those pods only that manifests may replace, or that have names which pods of theirs would get."""
    pods = [stored.object() for stored in _related(store, manifests).values()]
    return state_of(store, StoredObjects(store, NODES), pods)


def state_of(store: Store, nodes: Sequence[JsonObject], pods: Sequence[JsonObject]) -> ClusterState:
    return ClusterState(
        nodes,
        pods,
        priority_classes=StoredObjects(store, PRIORITY_CLASSES),
        limit_ranges=StoredObjects(store, LIMIT_RANGES),
        namespaces=[stored.name for stored in store.list(("", "namespaces"))],
    )


def _related(store: Store, manifests: Iterable[Manifest]) -> dict[str, StoredObject]:
    found: dict[str, StoredObject] = {}
    prefixes: dict[str, list[str]] = {}
    for manifest in manifests:
        row = None
        with suppress(PreviewError):  # told when its pods are made
            row = row_of(manifest)
        if row not in WORKLOADS:
            continue
        key = f"{manifest.namespace}/{manifest.name}"
        if row is POD and manifest.obj["metadata"].get("name"):
            pod = store.get(PODS, key)
            if pod is not None:
                found[key] = pod
            continue
        prefixes.setdefault(manifest.namespace, []).append(key)
        owner = store.get((row.group, row.plural), key)
        if owner is not None:
            found |= {pod.key: pod for pod in _owned(store, owner.uid)}
    for namespace, keys in prefixes.items():
        begin = tuple(keys)
        found |= {pod.key: pod for pod in store.list(PODS, namespace) if pod.key.startswith(begin)}
    return found


def _owned(store: Store, uid: str) -> Iterator[StoredObject]:
    for stored in store.by_owner(uid):
        if stored.storage == PODS:
            yield stored
        elif stored.storage == REPLICA_SETS:
            yield from (pod for pod in store.by_owner(stored.uid) if pod.storage == PODS)


# on the scheduler's own picture


@contextmanager
def picture_to_change(scheduler: Scheduler, store: Store, state: ClusterState) -> Iterator[Picture]:
    """The scheduler's picture as a state has it, with nodes of manifests and without the pods that are replaced.

    It is as before in the end; nobody else may have a turn meanwhile.
    """
    added = {} if isinstance(state.nodes, StoredObjects) else _added(state.nodes, store)
    gone = {key_of(pod) for pod in state.replaced}

    def node_of(name: str) -> JsonObject | None:
        stored = store.get(NODES, name)
        return added.get(name) if stored is None else stored.object()

    def pods_on(name: str) -> Iterator[JsonObject]:
        found = store.by_field(PODS, "spec.nodeName", name)
        return (stored.object() for stored in found if stored.key not in gone)

    with scheduler.supposing() as cache:
        savepoint = Savepoint(cache)
        try:
            for node in added.values():
                figures = node_figures(node)
                for pod in cache.unreported(figures.name).values():
                    figures.free = _less(figures.free, pod.request.amounts)
                savepoint.put(figures)
            _without(savepoint, state.replaced, gone, node_of)
            waiting = sorted(key for key in cache.waiting if key not in gone)
            yield Picture(savepoint, Firewalls(node_of, pods_on), tuple(warnings_about(state.nodes, waiting)))
        finally:
            savepoint.rollback()


def _added(nodes: Iterable[JsonObject], store: Store) -> dict[str, JsonObject]:
    named = {node["metadata"]["name"]: node for node in nodes}
    return {name: node for name, node in named.items() if store.get(NODES, name) is None}


def _without(
    savepoint: Savepoint, replaced: Sequence[JsonObject], gone: set[str], node_of: Callable[[str], JsonObject | None]
) -> None:
    """As `boards.at_rest` has it: boards report anew what pods free, and all that is settled is in that report."""
    reported, cache = reported_by_node(replaced), savepoint.cache
    for name in dict.fromkeys(pod["spec"].get("nodeName", "") for pod in replaced):
        node = node_of(name) if name in cache.table.nodes else None
        if node is None:
            continue
        unreported = cache.unreported(name)
        if name in reported and reports_free(node):
            figures = node_figures(reporting_anew(node, reported[name], 0))
            for key, pod in unreported.items():
                if pod.unsettled and key not in gone:
                    figures.free = _less(figures.free, pod.request.amounts)
            savepoint.put(figures)
        else:
            for key in gone & unreported.keys():
                savepoint.give(name, unreported[key].request.amounts)


def _less(free: Amounts, amounts: Amounts) -> Amounts:
    return tuple(map(int.__sub__, free, amounts))

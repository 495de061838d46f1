"""The garbage collector's decisions, on a real store: background, foreground, orphan, dangling and misplaced owners."""

import pytest
from control_plane import control_plane
from kube32_controllers.garbage_collector import MANY, GarbageCollector
from kube32_controllers.pod_control import BURST

from kube32_sim.api.builtin import builtin_table
from kube32_sim.api.resources import ResourceType
from kube32_sim.client import Resource
from kube32_sim.clock import VirtualClock
from kube32_sim.runtime.actions import Delete, Emit, Patch
from kube32_sim.storage.memory import MemoryStore

MAPS = Resource("", "v1", "configmaps")
CONFIG, NODES, WIDGETS = ("", "configmaps"), ("", "nodes"), ("example.com", "widgets")


class Heap:
    """A store with a collector on it, whose keys are gathered."""

    def __init__(self):
        self.table = builtin_table()
        self.store = MemoryStore(self.table, VirtualClock())
        self.collector = GarbageCollector(self.store, self.table, computed=[("discovery.k8s.io", "endpointslices")])
        self.keys = []
        self.store.subscribe(lambda event: self.keys.extend(self.collector.keys_of(event)))

    async def add(self, name, *owners, storage=CONFIG, namespace="default", **metadata):
        namespace = "" if storage == NODES else namespace
        meta = {"name": name, "uid": f"uid-{name}", **metadata}
        if namespace:
            meta["namespace"] = namespace
        if owners:
            meta["ownerReferences"] = list(owners)
        key = f"{namespace}/{name}" if namespace else name
        return (await self.store.create(storage, key, {"metadata": meta})).stored

    async def change(self, stored, **metadata):
        def changed(current):
            obj = current.copy()
            obj["metadata"].update(metadata)
            obj["metadata"] = {key: value for key, value in obj["metadata"].items() if value is not None}
            return obj

        await self.store.update(stored.storage, stored.key, changed)

    async def remove(self, stored):
        await self.store.delete(stored.storage, stored.key, lambda _: None)

    def take(self):
        keys, self.keys = self.keys, []
        return keys

    def plan(self, key):
        return self.collector.plan(key, None, 0.0).actions


@pytest.fixture
def heap():
    return Heap()


def owner(name, *, uid=None, kind="ConfigMap", block=False, api_version="v1"):
    return {
        "apiVersion": api_version,
        "kind": kind,
        "name": name,
        "uid": uid or f"uid-{name}",
        "blockOwnerDeletion": block,
    }


def delete(name, propagation="Background"):
    return Delete(Resource("", "v1", "configmaps"), "default", name, f"uid-{name}", propagation=propagation)


DELETING = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


async def test_an_object_with_a_present_owner_is_not_even_looked_at(heap):
    await heap.add("o")
    stored = await heap.add("d", owner("o"))
    await heap.change(stored, labels={"a": "b"})
    assert heap.take() == []
    assert heap.plan("uid-d") == ()


async def test_dependents_of_an_object_that_is_gone_are_deleted(heap):
    gone = await heap.add("o")
    await heap.add("d", owner("o"))
    await heap.remove(gone)
    assert heap.take() == ["uid-d"]
    assert heap.plan("uid-d") == (delete("d"),)


async def test_an_object_created_with_an_absent_owner_is_deleted(heap):
    await heap.add("d", owner("never"))
    assert heap.take() == ["uid-d"]
    assert heap.plan("uid-d") == (delete("d"),)


async def test_an_owner_of_the_same_name_with_another_uid_is_not_the_owner(heap):
    await heap.add("o")
    await heap.add("d", owner("o", uid="uid-earlier"))
    assert heap.plan(heap.take()[0]) == (delete("d"),)


async def test_with_one_owner_left_only_the_other_reference_goes(heap):
    await heap.add("o")
    await heap.add("d", owner("o"), owner("gone"))
    (patch,) = heap.plan(heap.take()[0])
    assert isinstance(patch, Patch)
    assert patch.patch["metadata"]["ownerReferences"] == [owner("o")]
    assert patch.patch["metadata"]["uid"] == "uid-d"


async def test_an_owner_of_a_kind_that_is_not_served_is_believed(heap):
    await heap.add("d", owner("x", kind="Widget", api_version="example.com/v1"))
    assert heap.plan(heap.take()[0]) == ()


@pytest.mark.parametrize(
    ("uid", "name", "collected"), [("uid-x", "x", True), ("uid-y", "y", False), ("uid-x", "y", False)]
)
async def test_an_owner_that_was_seen_to_go_is_gone_though_its_kind_went_too(heap, uid, name, collected):
    row = ResourceType("example.com", "v1", "Widget", "widgets", "widget", namespaced=True, schema="", storage=WIDGETS)
    heap.table.add(row)
    widget = await heap.add("x", storage=row.storage)
    await heap.add("d", owner("x", kind="Widget", api_version="example.com/v1"))
    await heap.add("e", owner(name, uid=uid, kind="Widget", api_version="example.com/v1"))
    heap.take()
    await heap.remove(widget)
    heap.table.remove(row)
    assert heap.take()[:1] == ["uid-d"]
    assert (heap.plan("uid-d"), heap.plan("uid-e")) == ((delete("d"),), (delete("e"),) if collected else ())


async def test_owners_that_went_are_forgotten_with_their_dependents_and_not_before(heap):
    row = ResourceType("example.com", "v1", "Widget", "widgets", "widget", namespaced=True, schema="", storage=WIDGETS)
    heap.table.add(row)
    widget = await heap.add("x", storage=row.storage)
    await heap.add("left", owner("x", kind="Widget", api_version="example.com/v1"))
    await heap.remove(widget)
    heap.table.remove(row)
    for number in range(MANY + 100):
        gone = await heap.add(f"o{number}")
        dependent = await heap.add(f"d{number}", owner(f"o{number}"))
        await heap.remove(gone)
        await heap.remove(dependent)
    assert len(heap.collector._gone) <= MANY
    assert heap.plan("uid-left") == (delete("left"),)


async def test_a_cluster_scoped_owner_holds_what_is_in_namespaces(heap):
    node = await heap.add("n", storage=NODES)
    await heap.add("d", owner("n", kind="Node"))
    assert heap.take() == []
    await heap.remove(node)
    assert heap.plan(heap.take()[0]) == (delete("d"),)


async def test_an_owner_in_another_namespace_counts_as_absent_and_is_told(heap):
    await heap.add("o", namespace="other")
    await heap.add("d", owner("o"))
    event, deletion = heap.plan(heap.take()[0])
    assert isinstance(event, Emit)
    assert event.reason == "OwnerRefInvalidNamespace"
    assert deletion == delete("d")


async def test_a_cluster_scoped_object_with_a_namespaced_owner_stays(heap):
    await heap.add("n", owner("gone"), storage=NODES)
    (event,) = heap.plan(heap.take()[0])
    assert event.reason == "OwnerRefInvalidNamespace"


async def test_foreground_deletes_dependents_first_and_waits_for_those_that_block(heap):
    top = await heap.add("o")
    blocking = await heap.add("b", owner("o", block=True))
    await heap.add("n", owner("o"))
    await heap.change(top, finalizers=["foregroundDeletion"], **DELETING)
    assert heap.take() == ["uid-o"]
    assert heap.plan("uid-o") == (delete("b"), delete("n"))
    await heap.change(blocking, finalizers=["x.example/y"], **DELETING)
    assert heap.plan("uid-o") == (delete("n"),)
    heap.take()
    await heap.remove(blocking)
    assert heap.take() == ["uid-o"]
    *_, last = heap.plan("uid-o")
    assert isinstance(last, Patch)
    assert last.patch["metadata"]["finalizers"] is None


async def test_foreground_keeps_other_finalizers(heap):
    await heap.add("o", finalizers=["a.example/b", "foregroundDeletion"], **DELETING)
    (patch,) = heap.plan("uid-o")
    assert patch.patch["metadata"]["finalizers"] == ["a.example/b"]


async def test_foreground_goes_down_the_whole_tree(heap):
    await heap.add("o", finalizers=["foregroundDeletion"], **DELETING)
    await heap.add("m", owner("o", block=True))
    await heap.add("leaf", owner("m"))
    assert heap.plan("uid-o") == (delete("m", "Foreground"),)


async def test_a_dependent_that_has_another_owner_only_loses_its_reference_to_one_that_waits(heap):
    await heap.add("o", finalizers=["foregroundDeletion"], **DELETING)
    await heap.add("p")
    await heap.add("d", owner("o", block=True), owner("p"))
    (patch,) = heap.plan("uid-o")
    assert patch.name == "d"
    assert patch.patch["metadata"]["ownerReferences"] == [owner("p")]


async def test_orphan_takes_the_references_away_then_lets_the_owner_go(heap):
    await heap.add("o", finalizers=["orphan"], **DELETING)
    stored = await heap.add("d", owner("o"))
    (patch,) = heap.plan("uid-o")
    assert (patch.name, patch.patch["metadata"]["ownerReferences"]) == ("d", None)
    heap.take()
    await heap.change(stored, ownerReferences=None)
    assert heap.take() == ["uid-o"]
    (patch,) = heap.plan("uid-o")
    assert (patch.name, patch.patch["metadata"]["finalizers"]) == ("o", None)


async def test_patches_apply_only_to_what_was_seen(heap):
    stored = await heap.add("o", finalizers=["orphan"], **DELETING)
    (patch,) = heap.plan("uid-o")
    assert patch.patch["metadata"]["resourceVersion"] == str(stored.revision)


async def test_objects_that_are_being_deleted_are_left_to_it(heap):
    await heap.add("d", owner("gone"), finalizers=["x.example/y"], **DELETING)
    assert heap.plan("uid-d") == ()


async def test_computed_objects_are_left_alone(heap):
    await heap.add("s", owner("gone", kind="Service"), storage=("discovery.k8s.io", "endpointslices"))
    assert heap.take() == []
    assert heap.plan("uid-s") == ()


async def test_the_first_sweep_looks_at_what_was_stored_before(heap):
    await heap.add("o")
    await heap.add("fine", owner("o"))
    await heap.add("dangling", owner("gone"))
    fresh = GarbageCollector(heap.store, heap.table)
    assert [key for key in fresh.sweep(None, 0.0) if key] == ["uid-dangling"]
    assert list(fresh.sweep(None, 0.0)) == []


async def test_only_events_that_concern_it_wake_the_runner(heap):
    woken = []
    stop = heap.collector.source.subscribe((), woken.append)
    await heap.add("o")
    assert woken == []
    await heap.add("d", owner("gone"))
    assert len(woken) == 1
    assert "uid-d" in list(heap.collector.sweep(None, 0.0))
    stop()
    await heap.add("e", owner("gone"))
    assert len(woken) == 1


async def _waiting(heap, name, *owners):
    return await heap.add(name, *owners, finalizers=["foregroundDeletion"], **DELETING)


async def test_in_a_circle_of_owners_that_wait_one_stops_to_block(heap):
    await _waiting(heap, "a", owner("c", block=True), owner("other", block=True))
    await _waiting(heap, "b", owner("a", block=True))
    last = await heap.add("c", owner("b", block=True))
    assert heap.plan("uid-a") == ()
    await heap.change(last, finalizers=["foregroundDeletion"], **DELETING)
    heap.take()
    (patch,) = heap.plan("uid-a")
    assert patch.patch["metadata"]["ownerReferences"] == [owner("c"), owner("other")]
    await heap.change(heap.store.by_uid("uid-a"), ownerReferences=patch.patch["metadata"]["ownerReferences"])
    assert "uid-c" in heap.take()
    (patch,) = heap.plan("uid-c")
    assert patch.patch["metadata"]["finalizers"] is None
    assert heap.plan("uid-b") == ()


async def test_only_owners_in_the_circle_stop_to_block(heap):
    await _waiting(heap, "top")
    await _waiting(heap, "a", owner("b", block=True), owner("top", block=True))
    await _waiting(heap, "b", owner("a", block=True))
    await _waiting(heap, "leaf", owner("b", block=True))
    await heap.add("pod", owner("leaf", block=True), **DELETING)
    assert heap.plan("uid-top") == ()
    assert heap.plan("uid-leaf") == ()


async def test_an_owner_of_very_many_is_dealt_with_in_bursts(heap):
    await _waiting(heap, "o")
    for number in range(BURST + 1):
        await heap.add(f"d{number:03}", owner("o"))
    plan = heap.collector.plan("uid-o", None, 5.0)
    assert len(plan.actions) == BURST
    assert plan.again_at == 6.0


@pytest.mark.parametrize("members", ["a", "ab", "abc"])
@pytest.mark.parametrize("at_once", [False, True])
async def test_a_circle_goes_whichever_way_it_is_deleted(members, at_once):
    async with control_plane() as plane:
        collector = GarbageCollector(plane.store, builtin_table())
        plane.view = collector.source
        plane.run(collector, None)
        uids = {}
        for name in members:
            created = await plane.client.create(MAPS, "default", {"metadata": {"name": name}})
            uids[name] = created["metadata"]["uid"]
        for name, before in zip(members, members[-1] + members, strict=False):
            reference = owner(before, uid=uids[before], block=True)
            await plane.client.patch(MAPS, "default", name, {"metadata": {"ownerReferences": [reference]}})
        for name in members if at_once else members[:1]:
            await plane.client.delete(MAPS, "default", name, options={"propagationPolicy": "Foreground"})
        await plane.clock.advance(2.0)
        assert plane.store.list(CONFIG, "default") == []

"""Objects of which a load changes nothing are stored by the bytes that were judged: as a create stores them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import orjson
import pytest

from kube32_sim import Cluster
from kube32_sim.api.builtin import builtin_table
from kube32_sim.api.meta import field_reader
from kube32_sim.importing.storing import Storing
from kube32_sim.storage.objects import Decoded, StoredObject
from tests.snapshot.loads import config_map, load_objects, owner_reference

JsonObject = dict[str, Any]

UID, OTHER = "11111111-2222-4333-8444-555555555555", "66666666-7777-4888-8999-000000000000"
MAPS, PODS = ("", "configmaps"), ("", "pods")
ENTRY = {"manager": "kubectl", "operation": "Update", "apiVersion": "v1", "time": "2026-01-01T00:00:00Z"}


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    async with Cluster(nodes=0, clock="virtual", controllers="none") as cluster:
        yield cluster


@pytest.fixture
def prepared(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Keys of the objects that were decoded to be stored."""
    keys = list[str]()
    before = Storing._prepared

    def noted(self: Storing, judged: Any) -> JsonObject:
        keys.append(judged.key)
        return before(self, judged)

    monkeypatch.setattr(Storing, "_prepared", noted)
    return keys


def pod(**metadata: Any) -> JsonObject:
    named = {"name": "a", "namespace": "default", "uid": UID, **metadata}
    spec = {"containers": [{"name": "web", "image": "web:1"}], "nodeName": "node-1"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": named, "spec": spec, "status": {"phase": "Running"}}


@pytest.mark.parametrize(
    "obj",
    [
        pod(labels={"app": "web", "tier": "a"}),
        pod(managedFields=[ENTRY], labels={}, finalizers=["example.com/a"], annotations={"a": "é"}),
        pod(managedFields=[], deletionTimestamp="2026-01-01T00:00:00Z", deletionGracePeriodSeconds=0),
        dict(reversed(pod(creationTimestamp="2026-01-01T00:00:00Z").items())),
        config_map("a", uid=UID, ownerReferences=[owner_reference("b", OTHER)]),
    ],
)
async def test_it_is_stored_as_by_a_create(cluster: Cluster, prepared: list[str], obj: JsonObject) -> None:
    await load_objects(cluster, [obj], {"complete": True, "foreign": False})
    assert prepared == []
    storage = PODS if obj["kind"] == "Pod" else MAPS
    found = cluster.store.get(storage, "default/a")
    assert found is not None
    row = builtin_table().by_storage(storage)
    values = field_reader(row)(found.copy())
    made = StoredObject(storage, "default/a", found.copy(), found.revision, row.fields, values, Decoded())
    assert found.raw == made.raw
    assert found.metadata_raw() == made.metadata_raw()
    assert orjson.loads(found.metadata_raw())["uid"] == UID
    assert (found.facts(), found.namespace, found.name) == (made.facts(), made.namespace, made.name)
    cluster.store.check()  # type: ignore[attr-defined]


async def test_labels_that_others_have_too_are_kept_once(cluster: Cluster) -> None:
    await load_objects(
        cluster, [config_map("a", uid=UID, labels={"a": "b"}), config_map("b", uid=OTHER, labels={"a": "b"})]
    )
    first, second = (cluster.store.get(MAPS, f"default/{name}") for name in "ab")
    assert first is not None
    assert second is not None
    assert first.labels is second.labels


@pytest.mark.parametrize(
    ("obj", "header"),
    [
        (config_map("a"), {}),  # it has no uid yet
        (config_map("a", uid=UID, ownerReferences=[owner_reference("gone", OTHER)]), {}),
        (pod(ownerReferences=[{**owner_reference("b", OTHER), "kind": "ReplicaSet"}]), {"complete": True}),
        ({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a", "uid": UID}}, {}),
        (
            {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {"name": "a", "namespace": "default", "uid": UID},
                "spec": {"ports": [{"port": 80}]},
            },
            {},
        ),
    ],
)
async def test_what_may_change_is_prepared(
    cluster: Cluster, prepared: list[str], obj: JsonObject, header: JsonObject
) -> None:
    await load_objects(cluster, [obj], header)
    assert [key.rpartition("/")[2] for key in prepared] == ["a"]


async def test_what_is_there_gets_the_bytes_of_the_snapshot(cluster: Cluster, prepared: list[str]) -> None:
    await load_objects(cluster, [config_map("a", uid=UID)])
    done = await load_objects(cluster, [config_map("a", uid=UID) | {"data": {"a": "c"}}], on_conflict="Replace")
    assert (done.loaded, done.replaced, prepared) == (1, 1, ["default/a"])  # the same object: an update
    done = await load_objects(cluster, [config_map("a", uid=OTHER)], on_conflict="Replace")
    assert (done.loaded, done.replaced, prepared) == (1, 1, ["default/a"])
    found = cluster.store.get(MAPS, "default/a")
    assert found is not None
    assert (found.uid, found.object()["data"]) == (OTHER, {"a": "b"})

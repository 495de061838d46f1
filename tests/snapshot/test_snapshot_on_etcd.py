"""A snapshot is loaded into a cluster on etcd; whoever leads runs its nodes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from kube32_sim import Cluster
from kube32_sim.api.errors import ApiError
from kube32_sim.client import PODS
from kube32_sim.importing.storing import AT_A_TIME
from kube32_sim.storage.etcd.store import EtcdStore
from kube32_sim.storage.interface import Unavailable
from tests.snapshot.loads import KIND, JsonObject, config_map, load_files, load_objects, save_all
from tests.support.etcd import Etcd, fresh_prefix
from tests.support.waiting import eventually

OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "a"}
LEASES = ("coordination.k8s.io", "leases")


async def test_the_leader_runs_the_nodes(etcd: Etcd) -> None:
    store = f"etcd://127.0.0.1:{etcd.port}/snapshots"
    async with Cluster(nodes=0, store=store) as cluster:
        assert (await load_files(cluster, KIND)).loaded == 48

        def renewed() -> bool:
            lease = cluster.store.get(LEASES, "kube-node-lease/kind-worker")
            return lease is not None and lease.object()["spec"]["renewTime"] > "2026-03-03"

        await eventually(renewed, "the lease of a loaded node is renewed")
        pods = {pod["metadata"]["name"] for pod in (await cluster.client.list(PODS, "kube-system")).items}
        assert {"kube-proxy-vvvvv", "kube-proxy-wwwww", "kube-proxy-xxxxx"} <= pods
        await load_objects(cluster, [config_map("late")])
    async with Cluster(nodes=0, store=store, controllers="none") as cluster:
        found = {(obj["kind"], obj["metadata"]["name"]) for obj in await save_all(cluster) if obj["kind"] != "Snapshot"}
        assert {("Oven", "first"), ("ConfigMap", "late")} <= found


# others write meanwhile

ACCOUNTS, MAPS = ("", "serviceaccounts"), ("", "configmaps")
ACCOUNT: JsonObject = {
    "apiVersion": "v1", "kind": "ServiceAccount",
    "metadata": {"name": "default", "namespace": "default", "uid": "of-the-snapshot"},
}  # fmt: skip


def quicker(monkeypatch: pytest.MonkeyPatch, key: str, times: int = 1) -> None:
    """Somebody else makes an object of that key, each time just before it is stored."""
    create, left = EtcdStore.create, times

    async def create_late(store: EtcdStore, storage: Any, wanted: str, obj: JsonObject) -> Any:
        nonlocal left
        if wanted == key and left:
            left -= 1
            metadata = {**obj["metadata"], "uid": f"of-others-{left}"}
            await create(store, storage, wanted, {**obj, "metadata": metadata})
        return await create(store, storage, wanted, obj)

    monkeypatch.setattr(EtcdStore, "create", create_late)


def uid(cluster: Cluster, storage: tuple[str, str], key: str) -> str:
    found = cluster.store.get(storage, key)
    return found.uid if found is not None else ""


@pytest.mark.parametrize("times", [1, 3])
async def test_what_loops_make_meanwhile_gives_way(etcd: Etcd, monkeypatch: pytest.MonkeyPatch, times: int) -> None:
    async with Cluster(nodes=0, store=etcd.url + fresh_prefix(), controllers="none") as cluster:
        quicker(monkeypatch, "default/default", times)
        assert (await load_objects(cluster, [ACCOUNT, config_map("a")])).loaded == 2
        assert uid(cluster, ACCOUNTS, "default/default") == "of-the-snapshot"


@pytest.mark.parametrize(("policy", "kept"), [("Skip", "of-others-0"), ("Replace", "mine")])
async def test_what_others_make_meanwhile_is_decided_on_anew(
    etcd: Etcd, monkeypatch: pytest.MonkeyPatch, policy: str, kept: str
) -> None:
    child = config_map("child", ownerReferences=[{**OWNER, "uid": "mine"}])
    async with Cluster(nodes=0, store=etcd.url + fresh_prefix(), controllers="none") as cluster:
        quicker(monkeypatch, "default/a")
        done = await load_objects(cluster, [config_map("a", uid="mine"), child], on_conflict=policy)
        assert uid(cluster, MAPS, "default/a") == kept
        assert done.notes == ["ConfigMap: 1 left out: others wrote them meanwhile"] * (policy == "Skip")
        stored = cluster.store.get(MAPS, "default/child")
        assert stored is not None
        assert stored.owners == (kept,)


@pytest.mark.parametrize("policy", ["Skip", "Replace"])
async def test_a_load_that_stops_half_way_says_how_it_is_completed(
    etcd: Etcd, monkeypatch: pytest.MonkeyPatch, policy: str
) -> None:
    wanted = [config_map("a", uid="a"), config_map("b", uid="b"), ACCOUNT]
    wanted += [config_map(f"late-{n}", uid=f"{n}", ownerReferences=[{**OWNER, "name": "b", "uid": "b"}]) for n in "12"]
    async with Cluster(nodes=0, store=etcd.url + fresh_prefix(), controllers="none") as cluster:
        with monkeypatch.context() as patched:
            quicker(patched, "default/a")
            with pytest.raises(ApiError) as stopped:
                await load_objects(cluster, wanted)
        assert stopped.value.message == (
            'Operation cannot be fulfilled on configmaps "default/a": ConfigMap default/a was written by others '
            "meanwhile; 2 objects were loaded; to load the rest, load it again: --on-conflict skip leaves what is "
            "there, --on-conflict replace takes the snapshot's instead"
        )
        assert uid(cluster, MAPS, "default/b") == "b"
        await load_objects(cluster, wanted, on_conflict=policy)
        assert uid(cluster, MAPS, "default/a") == ("a" if policy == "Replace" else "of-others-0")
        assert [uid(cluster, MAPS, f"default/late-{n}") for n in "12"] == ["1", "2"]


async def test_a_load_whose_lease_is_lost_says_how_it_is_completed(etcd: Etcd, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = [config_map(f"map-{n}", uid=f"{n}") for n in range(100)]
    async with Cluster(nodes=0, store=etcd.url + fresh_prefix(), controllers="none") as cluster:
        await load_objects(cluster, [config_map("first")])
        before = cluster.store.count(MAPS)

        async def lost(work: Callable[[], Coroutine[Any, Any, Any]]) -> None:
            task = asyncio.create_task(work())
            await eventually(lambda: cluster.store.count(MAPS) > before + AT_A_TIME, "some of it is counted")
            task.cancel()
            await asyncio.wait([task])
            raise Unavailable("the lease was lost")

        with monkeypatch.context() as patched:
            patched.setattr(cluster.candidate, "alone", lost)
            with pytest.raises(ApiError, match=r"the lease was lost; [1-9]\d* objects were loaded; to load "):
                await load_objects(cluster, wanted)
        await load_objects(cluster, wanted, on_conflict="Skip")
        assert cluster.store.count(MAPS) == before + len(wanted)


@pytest.mark.parametrize("policy", ["Skip", "Replace"])
async def test_a_whole_cluster_of_which_half_was_loaded_is_completed(
    etcd: Etcd, monkeypatch: pytest.MonkeyPatch, policy: str
) -> None:
    """With loops and boards that have gone on with what there was."""
    async with Cluster(nodes=0, store=etcd.url + fresh_prefix()) as cluster:
        with monkeypatch.context() as patched:
            quicker(patched, "shop/settings")
            with pytest.raises(ApiError, match="to load the rest"):
                await load_files(cluster, KIND)
        await load_files(cluster, KIND, on_conflict=policy)
        names = {(obj["kind"], obj["metadata"]["name"]) for obj in (await save_all(cluster))[1:]}
        assert {("Oven", "first"), ("Pod", "kube-proxy-vvvvv"), ("Node", "kind-worker")} <= names

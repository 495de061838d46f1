"""A snapshot is loaded into a cluster on etcd; whoever leads runs its nodes."""

from __future__ import annotations

from kube32_sim import Cluster
from kube32_sim.client import PODS
from tests.snapshot.loads import KIND, config_map, load_files, load_objects, save_all
from tests.support.etcd import Etcd
from tests.support.waiting import eventually

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

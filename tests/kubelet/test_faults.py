"""A board that is switched off and on again, in a whole cluster: its pods are gone, their controllers make new ones."""

from __future__ import annotations

from typing import Any

import pytest

from kube32_sim.client import DAEMONSETS, DEPLOYMENTS, JOBS, NODES, PODS, Resource
from kube32_sim.cluster import Cluster

WORKLOADS: list[tuple[Resource, str, dict[str, Any]]] = [
    (DEPLOYMENTS, "Deployment", {"replicas": 2, "selector": {"matchLabels": {"app": "x"}}}),
    (DAEMONSETS, "DaemonSet", {"selector": {"matchLabels": {"app": "x"}}}),
    (JOBS, "Job", {"parallelism": 2, "completions": 2}),
]


async def annotate(cluster: Cluster, fault: str | None) -> None:
    await cluster.client.patch(NODES, "", "esp32-0", {"metadata": {"annotations": {"sim.kube32.io/fault": fault}}})


async def running(cluster: Cluster) -> dict[str, str]:
    """Nodes by the uids of the pods that run."""
    pods = (await cluster.client.list(PODS, "default")).items
    alive = (pod for pod in pods if pod["status"]["phase"] == "Running" and "deletionTimestamp" not in pod["metadata"])
    return {pod["metadata"]["uid"]: pod["spec"]["nodeName"] for pod in alive}


@pytest.mark.parametrize(("resource", "kind", "spec"), WORKLOADS, ids=[kind for _, kind, _ in WORKLOADS])
@pytest.mark.parametrize("off", [5, 60])
async def test_pods_of_a_board_that_was_off_are_replaced(
    off: int, resource: Resource, kind: str, spec: dict[str, Any]
) -> None:
    """off: seconds; in 5 nobody notices, after 60 the node is Unknown and tainted, and nothing is evicted yet."""
    async with Cluster(nodes=2, clock="virtual") as cluster:
        restart = "OnFailure" if kind == "Job" else "Always"
        pod = {
            "metadata": {"labels": {"app": "x"}},
            "spec": {"restartPolicy": restart, "containers": [{"name": "c", "image": "i"}]},
        }
        body = {"apiVersion": f"{resource.group}/v1", "kind": kind, "metadata": {"name": "x"}}
        await cluster.client.create(resource, "default", {**body, "spec": {**spec, "template": pod}})
        await cluster.advance(10)
        before = await running(cluster)
        assert sorted(before.values()) == ["esp32-0", "esp32-1"]

        await annotate(cluster, "stopped")
        await cluster.advance(off)
        assert await running(cluster) == before
        await annotate(cluster, None)
        await cluster.settle()
        kept = {uid for uid, node in before.items() if node == "esp32-1"}
        assert set(before) & set(await running(cluster)) == kept
        await cluster.advance(30)
        after = await running(cluster)
        assert sorted(after.values()) == ["esp32-0", "esp32-1"]
        assert set(before) & set(after) == kept

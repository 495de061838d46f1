"""Two servers on one etcd schedule by Kestrel's rules: no room is given twice, and evictions are the leader's."""

from __future__ import annotations

import asyncio
from typing import Any

from kube32_sim import Cluster
from kube32_sim.client import NODES, PODS, Resource
from kube32_sim.election import Election
from tests.support.etcd import Etcd
from tests.support.waiting import eventually

CLASSES = Resource("scheduling.k8s.io", "v1", "priorityclasses")
ELECTION = Election(leader_elect_lease_duration=2.0, leader_elect_renew_deadline=1.5, leader_elect_retry_period=0.2)


def pod(name: str, **spec: Any) -> dict[str, Any]:
    containers = [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]
    return {"metadata": {"name": name}, "spec": {"containers": containers, **spec}}


async def test_two_servers_schedule_by_kestrels_rules(etcd: Etcd) -> None:
    options = {
        "store": f"{etcd.url}/kestrel",
        "nodes": 0,
        "controllers": "scheduler",
        "scheduler_profile": "kestrel",
        "reconcile_interval": 0.05,
        "election": ELECTION,
    }
    async with Cluster(**options) as one, Cluster(**options) as other:
        await one.client.create(CLASSES, "", {"metadata": {"name": "high"}, "value": 100})
        await one.client.create(NODES, "", {"metadata": {"name": "n1", "labels": {"kubernetes.io/hostname": "n1"}}})
        room = {"cpu": "3", "memory": "1Gi"}
        await one.client.patch(NODES, "", "n1", {"status": {"allocatable": room}}, subresource="status")
        node = await one.client.get(NODES, "", "n1")
        await one.client.update(NODES, "", {**node, "spec": {}})
        await eventually(
            lambda: spec_of(other, NODES, "n1").get("taints", 0) is None, "the other server knows the node"
        )
        made = await asyncio.gather(
            *((one, other)[number % 2].client.create(PODS, "default", pod(f"p{number}")) for number in range(8))
        )
        assert sum("nodeName" in each["spec"] for each in made) == 3
        urgent = await other.client.create(PODS, "default", pod("urgent", priorityClassName="high"))
        assert urgent["status"]["nominatedNodeName"] == "n1"

        def going() -> list[str]:
            pods = (stored.object()["metadata"] for stored in one.store.list(("", "pods")))
            return [metadata["name"] for metadata in pods if "deletionTimestamp" in metadata]

        await eventually(lambda: len(going()) == 1, "the leader deletes the victim")
        await other.client.delete(PODS, "default", going()[0], options={"gracePeriodSeconds": 0})
        await eventually(lambda: spec_of(other, PODS, "default/urgent").get("nodeName") == "n1", "it is bound")
        pods = [stored.object() for stored in one.store.list(("", "pods"))]
        assert sum("nodeName" in each["spec"] for each in pods) == 3


def spec_of(cluster: Cluster, resource: Resource, key: str) -> dict[str, Any]:
    stored = cluster.store.get(("", resource.plural), key)
    return {} if stored is None else {"taints": None, **stored.object()["spec"]}

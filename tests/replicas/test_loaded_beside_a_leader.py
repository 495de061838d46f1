"""A snapshot is loaded at one replica while another leads: its loops see nothing of it before all of it is there."""

from __future__ import annotations

from collections.abc import Sequence

from kube32_sim import Cluster
from kube32_sim.client import PODS, Resource
from kube32_sim.election import Election
from kube32_sim.storage.interface import JsonObject
from tests.snapshot.loads import config_map, load_objects, owner_reference, save_all
from tests.support.etcd import Etcd
from tests.support.waiting import eventually

DEPLOYMENTS = Resource("apps", "v1", "deployments")
MAPS = Resource("", "v1", "configmaps")
REPLICAS, KIDS = 80, 100
OWNER = "10000000-0000-4000-8000-000000000000"
ELECTION = Election(leader_elect_retry_period=0.2)


def deployment(name: str, replicas: int) -> JsonObject:
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template}
    return {"metadata": {"name": name}, "spec": spec}


def available(cluster: Cluster, name: str, replicas: int) -> bool:
    stored = cluster.store.get(("apps", "deployments"), f"default/{name}")
    return stored is not None and (stored.object().get("status") or {}).get("availableReplicas") == replicas


async def running() -> Sequence[JsonObject]:
    """The header and the objects of a cluster with a Deployment, and an owner that comes after what it owns."""
    async with Cluster(nodes=3, board="linux", port=0, reconcile_interval=0.05) as cluster:
        await cluster.client.create(DEPLOYMENTS, "default", deployment("web", REPLICAS))
        await eventually(lambda: available(cluster, "web", REPLICAS), "all pods run")
        header, *objects = await save_all(cluster)
    refer = [owner_reference("owner", OWNER)]
    kids = [
        config_map(f"kid-{number}", uid=f"00000000-0000-4000-8000-{number:012}", ownerReferences=refer)
        for number in range(KIDS)
    ]
    return [header, *objects, *kids, config_map("owner", uid=OWNER)]


async def test_nothing_is_made_twice_and_nothing_is_garbage(etcd: Etcd) -> None:
    header, *objects = await running()
    pods = {obj["metadata"]["uid"] for obj in objects if obj["kind"] == "Pod"}
    common = {"port": 0, "reconcile_interval": 0.05, "store": f"{etcd.url}/beside", "election": ELECTION}
    async with Cluster(nodes=0, **common) as leader, Cluster(nodes=0, **common) as other:
        first = leader.candidate
        assert first is not None
        await eventually(lambda: first.elector.leading, "the first leads")
        seen: set[str] = set()
        leader.store.subscribe(lambda event: seen.add(event.stored.uid), [("", "pods")])
        await load_objects(other, objects, header)
        await eventually(lambda: seen >= pods, "the leader has heard of all pods")
        assert seen == pods
        await other.client.create(DEPLOYMENTS, "default", deployment("after", 1))
        await other.client.create(MAPS, "default", config_map("stray", ownerReferences=[owner_reference("none", "x")]))
        await eventually(lambda: available(leader, "after", 1), "loops run again")
        await eventually(lambda: leader.store.get(("", "configmaps"), "default/stray") is None, "so does the collector")
        found = {pod["metadata"]["uid"] for pod in (await leader.client.list(PODS, label_selector="app=web")).items}
        assert found == pods
        kids = [one.name for one in leader.store.list(("", "configmaps"), "default") if one.name.startswith("kid")]
        assert len(kids) == KIDS

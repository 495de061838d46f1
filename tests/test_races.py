"""Loops, boards and clients at the same objects at once, on a virtual clock: what is left must be in order.

Everything random is seeded, so a failure comes again.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections import Counter
from typing import Any

import pytest

from kube32_sim.api import quantity
from kube32_sim.api.errors import ApiError
from kube32_sim.client import DAEMONSETS, DEPLOYMENTS, JOBS, NAMESPACES, NODES, PODS, SERVICES, Resource
from kube32_sim.clock import VirtualClock
from kube32_sim.cluster import Cluster
from kube32_sim.options import ServeOptions
from tests.support.objects import ENDPOINTS, MAPS, config_map, pod, pod_spec, service

JsonObject = dict[str, Any]
EXPECTED = (404, 409, 403, 422, 429)


def template(app: str, **spec: Any) -> JsonObject:
    container = {"name": "c", "image": "i", "resources": {"requests": {"memory": "40Ki"}}}
    return {"metadata": {"labels": {"app": app}}, "spec": {**pod_spec(containers=[container]), **spec}}


def workload(name: str, **spec: Any) -> JsonObject:
    return {
        "metadata": {"name": name},
        "spec": {"selector": {"matchLabels": {"app": name}}, "template": template(name)} | spec,
    }


class Crowd:
    """Clients that do as they like with a few names."""

    def __init__(self, cluster: Cluster, seed: int) -> None:
        self._cluster = cluster
        self._rng = random.Random(seed)
        self.done: Counter[str] = Counter()

    async def one(self, steps: int) -> None:
        for _ in range(steps):
            action = self._rng.choice(self._actions())
            try:
                await action()
            except ApiError as error:
                if error.code not in EXPECTED:
                    raise
                self.done[str(error.code)] += 1
            else:
                self.done["done"] += 1
            await asyncio.sleep(0)

    def _actions(self) -> list[Any]:
        client, rng = self._cluster.client, self._rng
        name, app, node = f"x{rng.randrange(4)}", f"d{rng.randrange(2)}", f"esp32-{rng.randrange(2)}"
        pods = [stored.name for stored in self._cluster.store.list(("", "pods"), "default")] or ["none"]
        some = rng.choice(pods)
        binding = {"metadata": {"name": some}, "target": {"kind": "Node", "name": node}}
        grace = {"gracePeriodSeconds": rng.choice([0, 1, 30])}
        kind = rng.choice([DEPLOYMENTS, DAEMONSETS])
        job = {"metadata": {"name": "j"}, "spec": {"template": {"spec": pod_spec(restartPolicy="Never")}}}
        return [
            lambda: client.create(PODS, "default", {"metadata": {"name": name}, "spec": template(app)["spec"]}),
            lambda: client.create(
                PODS, "default", pod(name, labels={"app": app}, spec={"schedulingGates": [{"name": "g"}]})
            ),
            lambda: client.create(PODS, "default", binding, subresource="binding", name=some),
            lambda: client.create(PODS, "default", {"metadata": {"name": some}}, subresource="eviction", name=some),
            lambda: client.delete(PODS, "default", some, options=grace),
            lambda: client.patch(PODS, "default", some, {"metadata": {"labels": {"app": app}}}),
            lambda: client.patch(
                PODS, "default", some, {"metadata": {"finalizers": rng.choice([None, ["x.example/f"]])}}
            ),
            lambda: client.patch(PODS, "default", some, {"spec": {"schedulingGates": None}}),
            lambda: client.create(kind, "default", workload(app)),
            lambda: client.delete(
                kind, "default", app, options={"propagationPolicy": rng.choice(["Foreground", "Orphan"])}
            ),
            lambda: client.patch(DEPLOYMENTS, "default", app, {"spec": {"replicas": rng.randrange(5)}}),
            lambda: client.patch(
                DEPLOYMENTS, "default", app, {"spec": {"template": {"metadata": {"annotations": {"a": name}}}}}
            ),
            lambda: client.create(JOBS, "default", job),
            lambda: client.delete(JOBS, "default", "j"),
            lambda: client.create(
                SERVICES, "default", service(app, {"app": app}, type=rng.choice(["ClusterIP", "NodePort"]))
            ),
            lambda: client.delete(SERVICES, "default", app),
            lambda: client.patch(NODES, "", node, {"spec": {"unschedulable": rng.choice([True, False])}}),
            lambda: client.list(ENDPOINTS),
        ]


async def settle_down(cluster: Cluster) -> None:
    """Nobody interferes any more: lift what keeps things from their end, and give the loops their time."""
    assert isinstance(cluster.clock, VirtualClock)
    for node in (await cluster.client.list(NODES)).items:
        await cluster.client.patch(NODES, "", node["metadata"]["name"], {"spec": {"unschedulable": False}})
    for one in (await cluster.client.list(PODS)).items:
        namespace, name = one["metadata"]["namespace"], one["metadata"]["name"]
        if one["metadata"].get("finalizers"):
            await cluster.client.patch(PODS, namespace, name, {"metadata": {"finalizers": None}})
    await cluster.clock.advance(120)


@pytest.mark.parametrize("seed", range(4))
async def test_a_crowd_and_all_loops(seed: int, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    async with Cluster(ServeOptions(port=0, nodes=2, clock="virtual", seed=seed)) as cluster:
        assert isinstance(cluster.clock, VirtualClock)
        crowd = Crowd(cluster, seed)
        for _ in range(12):
            await asyncio.gather(*(crowd.one(6) for _ in range(5)), cluster.clock.advance(1.5))
            cluster.store.check()
        await settle_down(cluster)
        cluster.store.check()
        pods = (await cluster.client.list(PODS)).items
        check_owners(cluster, pods)
        check_room(cluster, pods)
        await check_workloads(cluster, pods)
    assert crowd.done["done"] > 100
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


def check_owners(cluster: Cluster, pods: list[JsonObject]) -> None:
    for one in pods:
        for owner in one["metadata"].get("ownerReferences", ()):
            assert cluster.store.by_uid(owner["uid"]) is not None, f"{one['metadata']['name']} outlived its owner"
        assert "deletionTimestamp" not in one["metadata"], one["metadata"]


def check_room(cluster: Cluster, pods: list[JsonObject]) -> None:
    """The scheduler never put more on a board than fits (clients bound pods by hand that ask for nothing)."""
    for node in cluster.store.list(("", "nodes")):
        capacity = node.object()["status"]["capacity"]["memory"]
        requests = [
            container.get("resources", {}).get("requests", {}).get("memory", "0")
            for one in pods
            if one["spec"].get("nodeName") == node.name
            for container in one["spec"]["containers"]
        ]
        assert sum(map(quantity.value, requests)) <= quantity.value(capacity)


async def check_workloads(cluster: Cluster, pods: list[JsonObject]) -> None:
    for kind, wanted in ((DEPLOYMENTS, lambda o: o["spec"]["replicas"]), (DAEMONSETS, lambda o: 2)):
        for obj in (await cluster.client.list(kind)).items:
            mine = [p for p in pods if owner_of(p) == obj["metadata"]["uid"]]
            assert len(mine) == wanted(obj), (obj["metadata"]["name"], [p["metadata"]["name"] for p in mine])
            assert obj["status"]["observedGeneration"] == obj["metadata"]["generation"]


def owner_of(obj: JsonObject) -> str:
    return next((o["uid"] for o in obj["metadata"].get("ownerReferences", ()) if o.get("controller")), "")


@pytest.mark.parametrize("seed", range(3))
async def test_a_namespace_that_goes_takes_everything_though_others_go_on_creating(seed: int) -> None:
    rng = random.Random(seed)
    async with Cluster(ServeOptions(port=0, nodes=1, clock="virtual", seed=seed)) as cluster:
        assert isinstance(cluster.clock, VirtualClock)
        client = cluster.client
        await client.create(NAMESPACES, "", {"metadata": {"name": "going"}})
        refusals: Counter[str] = Counter()

        async def create(number: int) -> None:
            for step in range(20):
                name = f"o-{number}-{step}"
                try:
                    await client.create(MAPS, "going", config_map(name))
                    await client.create(DEPLOYMENTS, "going", workload(name, replicas=rng.randrange(3)))
                    await client.create(SERVICES, "going", service(name, {"app": name}))
                except ApiError as error:
                    refusals[error.reason] += 1
                await asyncio.sleep(0)

        async def end() -> None:
            await asyncio.sleep(0)
            await client.delete(NAMESPACES, "", "going")

        await asyncio.gather(*(create(number) for number in range(3)), end(), cluster.clock.advance(2))
        await cluster.clock.advance(120)
        await client.list(ENDPOINTS)
        await client.list(Resource("discovery.k8s.io", "v1", "endpointslices"))
        left = [f"{s[1]}/{o.name}" for s in cluster.store.storages() for o in cluster.store.list(s, "going")]
        assert left == []
        with pytest.raises(ApiError, match="not found"):
            await client.get(NAMESPACES, "", "going")
        assert set(refusals) <= {"Forbidden", "NotFound"}
        assert refusals
        cluster.store.check()


async def test_many_owners_and_dependents_deleted_at_once() -> None:
    async with Cluster(ServeOptions(port=0, nodes=0, clock="virtual")) as cluster:
        assert isinstance(cluster.clock, VirtualClock)
        client = cluster.client
        owners = [await client.create(MAPS, "default", config_map(f"owner{n}")) for n in range(5)]
        rng = random.Random(1)
        for number in range(60):
            refs = [
                {"apiVersion": "v1", "kind": "ConfigMap", "name": o["metadata"]["name"], "uid": o["metadata"]["uid"]}
                for o in rng.sample(owners, rng.randrange(1, 4))
            ]
            obj = config_map(f"dependent{number}")
            obj["metadata"]["ownerReferences"] = refs
            await client.create(MAPS, "default", obj)

        async def delete(number: int, policy: str) -> None:
            await client.delete(MAPS, "default", f"owner{number}", options={"propagationPolicy": policy})

        policies = ("Background", "Foreground", "Background", "Foreground")
        await asyncio.gather(*(delete(number, policy) for number, policy in enumerate(policies)))
        await cluster.clock.advance(30)
        left = (await client.list(MAPS, "default")).items
        alive = owners[4]["metadata"]["uid"]
        assert [o["metadata"]["name"] for o in left if o["metadata"]["name"].startswith("owner")] == ["owner4"]
        for obj in left:
            owned_by = [ref["uid"] for ref in obj["metadata"].get("ownerReferences", ())]
            assert owned_by in ([], [alive]), obj["metadata"]
        cluster.store.check()


async def test_the_same_seed_gives_the_same_history() -> None:
    """Whatever goes on inside: the log of two runs is the same, byte for byte."""

    async def history() -> list[bytes]:
        async with Cluster(ServeOptions(port=0, nodes=2, clock="virtual", seed=7)) as cluster:
            assert isinstance(cluster.clock, VirtualClock)
            seen: list[bytes] = []
            cluster.store.subscribe(lambda event: seen.append(event.type.encode() + event.stored.raw))
            await cluster.client.create(SERVICES, "default", service("d0", {"app": "d0"}))
            crowd = Crowd(cluster, 7)
            for _ in range(5):
                await crowd.one(20)
                await cluster.clock.advance(3)
            await cluster.clock.advance(60)
            return seen

    first, second = await history(), await history()
    assert len(first) > 100
    assert first == second

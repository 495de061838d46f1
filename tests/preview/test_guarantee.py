"""The guarantee: pods that are previewed and then really created, at the same state, land where the preview said."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from worlds import ONLY_SCHEDULER, World, refusal

from kube32_sim import Cluster, ServeOptions
from kube32_sim.client import DAEMONSETS, DEPLOYMENTS, JOBS, NODES, PODS
from kube32_sim.commands.verify import differences
from kube32_sim.preview.kube32 import Kube32Placer
from kube32_sim.preview.manifests import Manifest
from kube32_sim.preview.placements import Placement
from kube32_sim.preview.state import read_cluster
from kube32_sim.preview.workloads import wanted_pods

JsonObject = dict[str, Any]


async def previewed(cluster: Cluster, manifests: list[Manifest]) -> tuple[list[Placement], Any]:
    wanted, state = wanted_pods(manifests, await read_cluster(cluster.access))
    placer = Kube32Placer(state)
    return [placer.place(pod, details=False) for pod in wanted], state


@pytest.mark.parametrize("seed", range(30))
async def test_pods_land_where_the_preview_says(seed: int) -> None:
    async with Cluster(ONLY_SCHEDULER) as cluster:
        world = World(cluster, seed)
        await world.populate()
        await cluster.clock.settle()
        manifests = world.manifests()
        revision = cluster.store.revision
        placements, state = await previewed(cluster, manifests)
        assert cluster.store.revision == revision, "a preview writes nothing"
        assert await differences(placements, state) == []
        for manifest, placement in zip(manifests, placements, strict=True):
            made = await cluster.client.create(PODS, "default", manifest.obj)
            assert made["spec"].get("nodeName", "") == placement.node
            if not placement.node:
                assert refusal(made) == placement.message


async def test_verification_tells_of_every_difference() -> None:
    async with Cluster(ONLY_SCHEDULER) as cluster:
        for name in ("a", "b"):
            await cluster.client.create(NODES, "", {"metadata": {"name": name}})
            status = {"conditions": [{"type": "Ready", "status": "True"}], "allocatable": {"memory": "100Ki"}}
            await cluster.client.patch(NODES, "", name, {"status": status}, subresource="status")
        asked = {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"memory": "90Ki"}}}]}
        pods = [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": n}, "spec": asked} for n in ("x", "y", "z")]
        placements, state = await previewed(cluster, [Manifest(pod, "test", "default") for pod in pods])
    assert [placement.node for placement in placements] == ["a", "b", ""]
    x, y, z = placements
    wrong = [Placement(x.pod, "b", 1, ""), Placement(y.pod, "", None, ""), Placement(z.pod, "", None, "no")]
    assert await differences(wrong, state) == [
        "default/x: previewed on b, went to a",
        "default/y: previewed on <none>, went to b",
        "default/z: previewed with 'no', refused with '0/2 nodes are available: 2 Insufficient memory.'",
    ]


async def test_a_deployment_goes_where_the_preview_says() -> None:
    """Made by the controllers, on boards that are at rest."""
    template = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {
            "containers": [
                {"name": "c", "image": "i", "resources": {"requests": {"memory": "33Ki", "esp32.io/gpio": "3"}}}
            ]
        },
    }
    spec = {"replicas": 11, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}
    async with Cluster(ServeOptions(port=0, nodes=4, clock="virtual")) as cluster:
        await cluster.clock.advance(60)
        placements, state = await previewed(cluster, [Manifest(deployment, "test", "default")])
        assert await differences(placements, state) == []
        await cluster.client.create(DEPLOYMENTS, "default", deployment)
        await cluster.clock.advance(1)
        made = (await cluster.client.list(PODS, "default")).items
        await cluster.clock.advance(60)
        again, state = await previewed(cluster, [Manifest(deployment, "test", "default")])
        assert await differences(again, state) == []
    assert Counter(pod["spec"].get("nodeName", "") for pod in made) == Counter(p.node for p in placements)
    assert len({placement.node for placement in placements}) == 4
    assert again == placements, "its own pods are replaced, and the boards have again what they take"
    assert "with 11 pods, which count as replaced" in state.warnings[0]


def mix(rng: random.Random) -> list[Manifest]:
    """Pods and workloads of all kinds that kube32 has controllers for, in some order."""

    def template(**more: Any) -> JsonObject:
        asked = {"memory": f"{rng.randrange(5, 60)}Ki", "esp32.io/gpio": str(rng.randrange(6))}
        containers = [{"name": "c", "image": "i", "resources": {"requests": asked}}]
        return {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": containers, **more}}

    def workload(kind: str, name: str, **spec: Any) -> JsonObject:
        group = "batch/v1" if kind == "Job" else "apps/v1"
        selector = {} if kind == "Job" else {"selector": {"matchLabels": {"app": "a"}}}
        return {"apiVersion": group, "kind": kind, "metadata": {"name": name}, "spec": {**selector, **spec}}

    made = []
    for number in range(rng.randrange(2, 6)):
        name = f"w{number}"
        kind = rng.choice(("Pod", "Deployment", "DaemonSet", "Job"))
        if kind == "Pod":
            made.append({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": template()["spec"]})
        elif kind == "Job":
            job = template(restartPolicy="Never")
            made.append(workload(kind, name, template=job, parallelism=rng.randrange(1, 4), completions=5))
        elif kind == "Deployment":
            made.append(workload(kind, name, template=template(), replicas=rng.randrange(1, 8)))
        else:
            made.append(workload(kind, name, template=template()))
    return [Manifest(obj, f"w{number}.yaml", "default") for number, obj in enumerate(made)]


RESOURCES = {"Pod": PODS, "Deployment": DEPLOYMENTS, "DaemonSet": DAEMONSETS, "Job": JOBS}


@pytest.mark.parametrize("seed", range(12))
async def test_workloads_of_all_kinds_go_where_the_preview_says(seed: int) -> None:
    manifests = mix(random.Random(seed))
    async with Cluster(ServeOptions(port=0, nodes=4, clock="virtual")) as cluster:
        await cluster.clock.advance(60)
        placements, _ = await previewed(cluster, manifests)
        for manifest in manifests:
            await cluster.client.create(RESOURCES[manifest.kind], "default", manifest.obj)
        await cluster.clock.advance(1)
        made = (await cluster.client.list(PODS, "default")).items
    expected = Counter((one.pod.owner.partition("/")[2] or one.pod.name, one.node) for one in placements)
    assert Counter((owner_of(pod), pod["spec"].get("nodeName", "")) for pod in made) == expected


def owner_of(pod: JsonObject) -> str:
    owners = pod["metadata"].get("ownerReferences")
    return str(owners[0]["name"] if owners else pod["metadata"]["name"])

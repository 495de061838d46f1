"""The scheduler by Kestrel's rules, in a cluster: what is bound at once, what waits and why, and who has to go."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from kube32_sim import Cluster
from kube32_sim.client import EVENTS, NODES, PODS, Resource
from kube32_sim.registry.asked import Asked

CLASSES = Resource("scheduling.k8s.io", "v1", "priorityclasses")
ZONE, HOSTNAME = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
BARE = {"nodes": 0, "clock": "virtual", "controllers": "scheduler", "scheduler_profile": "kestrel"}
LEVELS = {"low": 10, "middle": 50, "high": 100}

JsonObject = dict[str, Any]


class World:
    """Nodes without kubelets: pods that are deleted go when the test says so."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster, self.client = cluster, cluster.client

    async def levels(self) -> None:
        for name, value in LEVELS.items():
            await self.client.create(CLASSES, "", {"metadata": {"name": name}, "value": value})

    async def node(self, name: str, cpu: str = "2", memory: str = "4Gi", zone: str = "a", **spec: Any) -> None:
        labels = {HOSTNAME: name, **({ZONE: zone} if zone else {})}
        await self.client.create(NODES, "", {"metadata": {"name": name, "labels": labels}})
        room = {"cpu": cpu, "memory": memory, "pods": "110"}
        status = {"capacity": room, "allocatable": room}
        await self.client.patch(NODES, "", name, {"status": status}, subresource="status")
        await self.change_node(name, **spec)

    async def change_node(self, name: str, **spec: Any) -> None:
        """Without the taint of a node that is new."""
        node = await self.client.get(NODES, "", name)
        await self.client.update(NODES, "", {**node, "spec": spec})

    async def pod(self, name: str, cpu: str = "1", level: str = "", labels: Any = None, **spec: Any) -> JsonObject:
        containers = [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu, "memory": "64Mi"}}}]
        if level:
            spec["priorityClassName"] = level
        obj = {"metadata": {"name": name, "labels": labels or {}}, "spec": {"containers": containers, **spec}}
        return await self.client.create(PODS, "default", obj)

    async def get(self, name: str) -> JsonObject:
        return await self.client.get(PODS, "default", name)

    async def where(self, name: str) -> str:
        return str((await self.get(name))["spec"].get("nodeName", ""))

    async def nominated(self, name: str) -> str:
        return str((await self.get(name))["status"].get("nominatedNodeName", ""))

    async def going(self) -> list[str]:
        pods = (await self.client.list(PODS)).items
        return [pod["metadata"]["name"] for pod in pods if "deletionTimestamp" in pod["metadata"]]

    async def finish(self, *names: str) -> None:
        for name in names:
            await self.client.delete(PODS, "default", name, options={"gracePeriodSeconds": 0})

    async def events(self, reason: str) -> list[JsonObject]:
        return [event for event in (await self.client.list(EVENTS)).items if event["reason"] == reason]


def condition(pod: JsonObject, kind: str = "PodScheduled") -> JsonObject:
    return next((one for one in pod["status"].get("conditions", ()) if one["type"] == kind), {})


def why(pod: JsonObject) -> str:
    return str(condition(pod).get("message", ""))


def apart(topology: str, kind: str = "podAntiAffinity", **match: str) -> JsonObject:
    return {"affinity": {kind: {REQUIRED: [{"labelSelector": {"matchLabels": match}, "topologyKey": topology}]}}}


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with Cluster(**BARE) as cluster:
        made = World(cluster)
        await made.levels()
        yield made


# where pods go


async def test_cpu_counts(world: World) -> None:
    await world.node("n1", cpu="1500m")
    assert (await world.pod("first", cpu="1"))["spec"]["nodeName"] == "n1"
    assert why(await world.pod("second", cpu="501m")) == "0/1 nodes are available: 1 Insufficient cpu."
    assert (await world.pod("third", cpu="500m"))["spec"]["nodeName"] == "n1"


async def test_the_emptier_node_wins(world: World) -> None:
    await world.node("n1")
    await world.node("n2", cpu="4")
    assert [(await world.pod(f"p{i}"))["spec"]["nodeName"] for i in range(4)] == ["n2", "n1", "n2", "n2"]


async def test_taints_are_heeded(world: World) -> None:
    await world.node("n1", taints=[{"key": "hw", "value": "gpu", "effect": "NoSchedule"}])
    assert why(await world.pod("p")) == "0/1 nodes are available: 1 node(s) had untolerated taint(s)."
    tolerant = await world.pod("q", tolerations=[{"key": "hw", "operator": "Exists"}])
    assert tolerant["spec"]["nodeName"] == "n1"
    await world.change_node("n1")
    await world.cluster.advance("2s")
    assert await world.where("p") == "n1"


async def test_pods_keep_apart_by_zone(world: World) -> None:
    await world.node("n1", zone="a")
    await world.node("n2", zone="a")
    await world.node("n3", zone="b")
    placed = [await world.pod(f"p{i}", labels={"app": "x"}, **apart(ZONE, app="x")) for i in range(3)]
    assert [pod["spec"].get("nodeName") for pod in placed] == ["n1", "n3", None]
    assert why(placed[2]) == "0/3 nodes are available: 3 node(s) didn't match pod anti-affinity rules."


async def test_pods_come_together_by_node(world: World) -> None:
    await world.node("n1")
    await world.node("n2")
    near = apart(HOSTNAME, "podAffinity", app="db")
    assert "didn't match pod affinity rules" in why(await world.pod("web", cpu="0", **near))
    await world.pod("db", labels={"app": "db"})
    await world.cluster.advance("2s")
    assert await world.where("web") == await world.where("db") == "n1"


async def test_a_node_that_moves_to_another_zone_takes_its_pods_along(world: World) -> None:
    await world.node("n1", zone="a")
    await world.node("n2", zone="b")
    await world.pod("one", labels={"app": "x"}, **apart(ZONE, app="x"))
    await world.client.patch(NODES, "", "n1", {"metadata": {"labels": {ZONE: "b"}}})
    assert not (await world.pod("two", labels={"app": "x"}, **apart(ZONE, app="x")))["spec"].get("nodeName")


async def test_a_pod_that_is_deleted_gives_back_what_it_took(world: World) -> None:
    await world.node("n1")
    await world.pod("one", cpu="2", labels={"app": "x"}, **apart(HOSTNAME, app="x"))
    await world.pod("two", cpu="2", labels={"app": "x"})
    await world.finish("one")
    await world.cluster.advance("2s")
    assert await world.where("two") == "n1"


# preemption


async def test_the_one_who_comes_first_goes_for_the_one_who_matters_more(world: World) -> None:
    await world.node("n1")
    await world.pod("old", cpu="2", level="low")
    since = (await world.client.list(PODS)).resource_version
    urgent = await world.pod("urgent", cpu="2", level="high")
    assert why(urgent) == "0/1 nodes are available: 1 Insufficient cpu."
    assert urgent["status"]["nominatedNodeName"] == "n1"
    await world.cluster.advance("1s")
    old = await world.get("old")
    assert old["metadata"]["deletionGracePeriodSeconds"] == 30
    target = condition(old, "DisruptionTarget")
    assert (target["status"], target["reason"]) == ("True", "PreemptionByScheduler")
    assert target["message"] == "default-scheduler: preempting to accommodate a higher priority pod"
    assert await world.where("urgent") == ""
    await world.finish("old")
    await world.cluster.advance("1s")
    bound = await world.get("urgent")
    assert bound["spec"]["nodeName"] == "n1"
    assert "nominatedNodeName" not in bound["status"]
    (event,) = await world.events("Preempted")
    assert (event["type"], event["involvedObject"]["name"]) == ("Normal", "old")
    assert event["message"] == f"Preempted by pod {urgent['metadata']['uid']} on node n1"
    assert [event["count"] for event in await world.events("FailedScheduling")] == [1]
    seen = []
    async with world.client.watch(PODS, "default", resource_version=since) as changes:
        async for change in changes:
            seen.append((change.type, change.object["metadata"]["name"]))
            if change.type == "MODIFIED" and change.object["spec"].get("nodeName") and seen[-1][1] == "urgent":
                break
    expected = [("ADDED", "urgent"), ("MODIFIED", "old"), ("DELETED", "old"), ("MODIFIED", "urgent")]
    assert list(dict.fromkeys(seen)) == expected


async def test_room_is_kept_for_whom_it_was_made(world: World) -> None:
    await world.node("n1")
    await world.pod("old", cpu="2", level="low")
    await world.pod("urgent", cpu="2", level="high")
    await world.cluster.advance("1s")
    await world.finish("old")
    others = [await world.pod("thief", cpu="1"), await world.pod("equal", cpu="1", level="high")]
    assert [pod["spec"].get("nodeName") for pod in others] == [None, None]
    assert [pod["status"].get("nominatedNodeName") for pod in others] == [None, None]
    await world.cluster.advance("1s")
    assert await world.where("urgent") == "n1"


async def test_who_matters_still_more_takes_the_room_and_nobody_is_deleted_for_it(world: World) -> None:
    await world.node("n1")
    await world.pod("old", cpu="2", level="low")
    await world.pod("urgent", cpu="2", level="middle")
    await world.cluster.advance("1s")
    await world.pod("first", cpu="2", level="high")
    await world.cluster.advance("2s")
    assert (await world.nominated("first"), await world.nominated("urgent")) == ("n1", "")
    assert await world.going() == ["old"]
    await world.finish("old")
    await world.cluster.advance("2s")
    assert (await world.where("first"), await world.where("urgent")) == ("n1", "")


async def test_only_those_go_that_have_to(world: World) -> None:
    await world.node("n1", cpu="4")
    for name, level in (("a", "low"), ("b", ""), ("c", "low"), ("d", "middle")):
        await world.pod(name, level=level)
    await world.pod("urgent", cpu="2", level="high")
    await world.cluster.advance("1s")
    assert await world.going() == ["b", "c"]  # of equal ones the newest
    await world.cluster.advance("20s")
    assert await world.going() == ["b", "c"]


async def test_who_may_not_preempt_waits(world: World) -> None:
    await world.client.create(CLASSES, "", {"metadata": {"name": "patient"}, "value": 500, "preemptionPolicy": "Never"})
    await world.node("n1")
    await world.pod("old", cpu="2")
    await world.pod("patient", cpu="2", level="patient")
    await world.cluster.advance("5s")
    assert await world.going() == []
    assert await world.nominated("patient") == ""


async def test_the_most_important_of_those_who_wait_comes_first(world: World) -> None:
    await world.node("n1")
    await world.pod("old", cpu="2", level="high")
    for level in ("low", "high", "middle"):
        await world.pod(f"of-{level}", cpu="2", level=level)
    await world.finish("old")
    await world.cluster.advance("2s")
    assert [await world.where(f"of-{level}") for level in LEVELS] == ["", "", "n1"]


async def test_room_elsewhere_is_taken_though_others_go(world: World) -> None:
    await world.node("n1")
    await world.pod("old", cpu="2")
    await world.pod("urgent", cpu="2", level="high")
    await world.cluster.advance("1s")
    await world.node("n2")
    await world.cluster.advance("1s")
    assert await world.where("urgent") == "n2"


async def test_a_nomination_goes_with_its_node(world: World) -> None:
    await world.node("n1")
    await world.pod("old", cpu="2")
    await world.pod("urgent", cpu="2", level="high")
    await world.client.delete(NODES, "", "n1")
    await world.cluster.advance("2s")
    assert await world.nominated("urgent") == ""
    assert why(await world.get("urgent")) == "no nodes available to schedule pods"


async def test_a_dry_run_evicts_nobody(world: World) -> None:
    await world.node("n1")
    await world.pod("old", cpu="2")
    containers = [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "2"}}}]
    body = {"metadata": {"name": "urgent"}, "spec": {"containers": containers, "priorityClassName": "high"}}
    registry = world.cluster.registry
    asked = Asked(registry.table.by_storage(("", "pods")), "default", dry_run=True)
    made = (await registry.create(asked, body)).object()
    assert made["status"]["nominatedNodeName"] == "n1"
    await world.cluster.advance("2s")
    assert await world.going() == []
    assert await world.nominated("old") == ""


# what these rules cannot say


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        (
            {
                "topologySpreadConstraints": [
                    {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}
                ]
            },
            "spec.topologySpreadConstraints: Kestrel does not spread pods",
        ),
        (
            {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "v"}}]},
            "spec.volumes[0].persistentVolumeClaim: Kestrel does not look at volumes",
        ),
        (apart("rack", app="x"), f"spec.affinity.podAntiAffinity.{REQUIRED}[0].topologyKey: Kestrel knows no topology"),
    ],
)
async def test_what_cannot_be_said_waits_and_names_the_field(world: World, spec: JsonObject, field: str) -> None:
    await world.node("n1")
    pod = await world.pod("p", **spec)
    assert condition(pod)["reason"] == "Unschedulable"
    assert why(pod).startswith(field)
    await world.cluster.advance("2s")
    assert await world.where("p") == ""
    (event,) = await world.events("FailedScheduling")
    assert event["message"] == why(pod)


async def test_terms_about_zones_need_nodes_in_zones(world: World) -> None:
    await world.node("n1", zone="")
    assert why(await world.pod("p", **apart(ZONE, app="x"))) == (
        f"no label {ZONE} on node n1: the pod has affinity terms about zones"
    )
    assert (await world.pod("q"))["spec"]["nodeName"] == "n1"
    await world.client.patch(NODES, "", "n1", {"metadata": {"labels": {ZONE: "a"}}})
    await world.cluster.advance("2s")
    assert await world.where("p") == "n1"


async def test_two_nodes_of_one_hostname_are_no_domains(world: World) -> None:
    await world.node("n1")
    await world.node("n2")
    await world.client.patch(NODES, "", "n2", {"metadata": {"labels": {HOSTNAME: "n1"}}})
    assert why(await world.pod("p", **apart(HOSTNAME, app="x"))).startswith(f"one {HOSTNAME}=n1 on nodes n1, n2")


async def test_a_term_that_cannot_be_said_keeps_those_away_that_it_may_be_about(world: World) -> None:
    await world.node("n1")
    await world.pod("odd", nodeName="n1", **apart("rack", app="x"))
    assert (await world.pod("other", labels={"app": "y"}))["spec"]["nodeName"] == "n1"
    refused = await world.pod("p", cpu="0", labels={"app": "x"})
    assert why(refused).startswith("pod default/odd on node n1: spec.affinity.podAntiAffinity")
    await world.finish("odd")
    await world.cluster.advance("2s")
    assert await world.where("p") == "n1"


async def test_a_node_with_a_pod_that_cannot_be_counted_takes_no_more(world: World) -> None:
    await world.node("n1")
    await world.pod("odd", nodeName="n1", resources={"requests": {"cpu": "1"}})
    assert why(await world.pod("p", cpu="0")) == (
        "0/1 nodes are available: 1 node(s) had a pod that Kestrel cannot count (default/odd: spec.resources)."
    )
    await world.finish("odd")
    await world.cluster.advance("2s")
    assert await world.where("p") == "n1"


# what is there already


async def test_boards_get_back_what_they_report_without() -> None:
    async with Cluster(nodes=1, clock="virtual", scheduler_profile="kestrel") as cluster:
        client = cluster.client
        await cluster.advance("5s")
        most = int((await client.get(NODES, "", "esp32-0"))["status"]["allocatable"]["memory"].removesuffix("Ki"))

        async def pod(name: str, kib: int) -> str:
            containers = [{"name": "c", "image": "i", "resources": {"requests": {"memory": f"{kib}Ki"}}}]
            body = {"metadata": {"name": name}, "spec": {"containers": containers}}
            made = await client.create(PODS, "default", body)
            return str(made["spec"].get("nodeName", ""))

        assert await pod("runs", 100) == "esp32-0"
        await cluster.advance("30s")
        left = (await client.get(NODES, "", "esp32-0"))["status"]["allocatable"]["memory"]
        assert left == f"{most - 100}Ki"
        assert await pod("too-large", most - 99) == ""
        assert await pod("exact", most - 100) == "esp32-0"


async def test_after_a_restart_room_is_still_kept_and_the_newest_go(tmp_path: Path) -> None:
    options = {**BARE, "store": f"sqlite:{tmp_path / 'store'}"}
    async with Cluster(**options) as cluster:
        world = World(cluster)
        await world.levels()
        await world.node("n1", cpu="3")
        for name in ("c", "a", "b"):
            await world.pod(name)
            await cluster.advance("1s")
        await world.pod("urgent", level="high")
        await cluster.advance("1s")
        assert await world.going() == ["b"]
    async with Cluster(**options) as cluster:
        world = World(cluster)
        await world.finish("b")
        assert (await world.pod("thief"))["spec"].get("nodeName") is None
        await cluster.advance("2s")
        assert await world.where("urgent") == "n1"
        await world.finish("thief")
        await world.pod("next", level="middle")
        await cluster.advance("1s")
        assert await world.going() == ["a"]

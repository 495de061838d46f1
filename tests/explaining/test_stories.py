"""Chains of causes of whole stories on a virtual clock: rollouts, lost boards, deletions, pods that wait."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from kube32_sim.client import DAEMONSETS, DEPLOYMENTS, JOBS, NAMESPACES, NODES, PODS, Client
from kube32_sim.cluster import Cluster
from kube32_sim.explaining.notes import Notes
from kube32_sim.explaining.story import Link, causes_of
from tests.support.objects import pod
from tests.support.scenario import FAULT, FINISHES, template, workload

JsonObject = dict[str, Any]


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    async with Cluster(nodes=3, clock="virtual") as cluster:
        yield cluster


async def pods(client: Client, namespace: str = "default") -> list[JsonObject]:
    return (await client.list(PODS, namespace)).items


async def deploy(cluster: Cluster, replicas: int = 3, namespace: str = "default") -> list[JsonObject]:
    await cluster.client.create(DEPLOYMENTS, namespace, workload("web", template("web"), replicas=replicas))
    await cluster.advance("20s")
    return await pods(cluster.client, namespace)


def chain(cluster: Cluster, uid: str) -> list[Link]:
    return causes_of(Notes(cluster.journal), uid)


def chain_of(cluster: Cluster, one: JsonObject) -> list[Link]:
    return chain(cluster, one["metadata"]["uid"])


def told(links: Sequence[Link]) -> list[tuple[str, str]]:
    return [(link.about.kind, link.reason) for link in links]


def before(links: Sequence[Link], place: int) -> list[str]:
    """The reasons on the way back from a link to the beginning, the nearest first."""
    found = []
    while links[place].because:
        place = links[place].because[0]
        found.append(links[place].reason)
    return found


def last(cluster: Cluster, one: JsonObject) -> Link:
    return chain_of(cluster, one)[-1]


async def test_from_the_change_of_a_template_over_a_lost_board_to_where_it_is_now(cluster: Cluster) -> None:
    client = cluster.client
    await deploy(cluster)
    change = {"spec": {"template": template("web", "j")}}
    changed = await client.patch(DEPLOYMENTS, "default", "web", change)
    await cluster.advance("30s")
    lost = (await pods(client))[0]
    board = lost["spec"]["nodeName"]
    await client.patch(NODES, "", board, {"metadata": {"annotations": {FAULT: "stopped"}}})
    await cluster.advance("400s")
    moved = await client.get(PODS, "default", lost["metadata"]["name"])
    links = chain_of(cluster, lost)
    assert told(links) == [
        ("Deployment", "TemplateChanged"),
        ("Pod", "OldTemplate"),
        ("Pod", "RolledOut"),
        ("Pod", "Scheduled"),
        ("Node", "FaultChanged"),
        ("Node", "LeaseExpired"),
        ("Node", "Tainted"),
        ("Pod", "Evicted"),
        ("Pod", "Scheduled"),
    ]
    assert str(links[0].revision) == changed["metadata"]["resourceVersion"]
    assert links[0].message.endswith("spec.template.spec.containers[c].image i -> j")
    assert links[2].because == (0, 1)
    assert links[2].message.endswith(f"it takes the place of {links[1].about.name}")
    assert before(links, 8) == ["Evicted", "Tainted", "LeaseExpired", "FaultChanged"]
    assert (links[3].node, links[8].node) == (board, moved["spec"]["nodeName"])


async def test_a_binding_tells_the_score_and_who_was_second(cluster: Cluster) -> None:
    for name in ("a", "b", "c"):
        await cluster.client.create(PODS, "default", pod(name))
    tied, second = (chain_of(cluster, one)[-1].message for one in (await pods(cluster.client))[:2])
    assert "score" in tied
    assert "as esp32-1 has: the first by name" in tied
    assert second.startswith("bound to esp32-1 with score ")


async def test_the_only_node_that_will_do(cluster: Cluster) -> None:
    there = {"nodeSelector": {"kubernetes.io/hostname": "esp32-2"}}
    await cluster.client.create(PODS, "default", pod("a", spec=there))
    (one,) = await pods(cluster.client)
    assert last(cluster, one).message.endswith(": it fits on no other node")


async def test_a_pod_that_waits_and_then_fits(cluster: Cluster) -> None:
    await cluster.client.create(PODS, "default", pod("a", spec={"nodeSelector": {"new": "yes"}}))
    await cluster.advance("5s")
    await cluster.client.patch(NODES, "", "esp32-1", {"metadata": {"labels": {"new": "yes"}}})
    await cluster.advance("20s")
    (one,) = await pods(cluster.client)
    links = chain_of(cluster, one)
    assert [link.reason for link in links] == ["Created", "FailedScheduling", "Scheduled"]
    assert "didn't match Pod's node affinity/selector" in links[1].message
    assert links[2].node == "esp32-1"


async def test_what_others_bind_is_told_as_theirs(cluster: Cluster) -> None:
    await cluster.client.create(PODS, "default", pod("a", spec={"schedulerName": "mine"}))
    target = {"metadata": {"name": "a"}, "target": {"kind": "Node", "name": "esp32-2"}}
    await cluster.client.create(PODS, "default", target, subresource="binding", name="a")
    (one,) = await pods(cluster.client)
    link = last(cluster, one)
    assert (link.reason, link.node, link.actor) == ("Bound", "esp32-2", "system:admin")


async def test_a_node_that_the_spec_names_is_a_binding_too(cluster: Cluster) -> None:
    await cluster.client.create(PODS, "default", pod("a", spec={"nodeName": "esp32-2"}))
    (one,) = await pods(cluster.client)
    assert [(link.reason, link.node) for link in chain_of(cluster, one)] == [("Created", ""), ("NodeNamed", "esp32-2")]


# deletions


async def test_deleted_by_a_client_and_the_successor_knows_it(cluster: Cluster) -> None:
    first = (await deploy(cluster))[0]
    await cluster.client.delete(PODS, "default", first["metadata"]["name"])
    await cluster.advance("20s")
    ended = chain_of(cluster, first)
    assert [link.reason for link in ended[-2:]] == ["Deleted", "Removed"]
    assert ended[-2].message == "deleted by kube32-sim as system:admin"
    assert before(ended, len(ended) - 1) == ["Deleted"]
    newest = max(await pods(cluster.client), key=lambda one: int(one["metadata"]["creationTimestamp"][-3:-1]))
    links = chain_of(cluster, newest)
    assert told(links) == [("Pod", "Deleted"), ("Pod", "Missing"), ("Pod", "Scheduled")]
    assert links[1].message.endswith(f"it takes the place of {first['metadata']['name']}")


async def test_scaled_down(cluster: Cluster) -> None:
    was = await deploy(cluster)
    await cluster.client.patch(DEPLOYMENTS, "default", "web", {"spec": {"replicas": 2}}, subresource="scale")
    await cluster.advance("20s")
    left = {one["metadata"]["uid"] for one in await pods(cluster.client)}
    (gone,) = [one for one in was if one["metadata"]["uid"] not in left]
    links = chain_of(cluster, gone)
    assert before(links, len(links) - 1) == ["ScaledDown", "Scaled"]
    assert "spec.replicas 3 -> 2" in next(link.message for link in links if link.reason == "Scaled")


async def test_the_owner_was_deleted(cluster: Cluster) -> None:
    was = await deploy(cluster)
    await cluster.client.delete(DEPLOYMENTS, "default", "web")
    await cluster.advance("20s")
    links = chain_of(cluster, was[0])
    assert before(links, len(links) - 1) == ["OwnerGone", "Deleted"]
    assert links[-3].about.kind == "Deployment"


async def test_the_namespace_was_deleted(cluster: Cluster) -> None:
    await cluster.client.create(NAMESPACES, "", {"metadata": {"name": "shop"}})
    was = await deploy(cluster, namespace="shop")
    await cluster.client.delete(NAMESPACES, "", "shop")
    await cluster.advance("60s")
    links = chain_of(cluster, was[0])
    way = before(links, len(links) - 1)
    assert way[-1] == "Deleted"
    assert "NamespaceDeleted" in way
    assert next(link for link in links if link.about.kind == "Namespace").about.name == "shop"


async def test_evicted_through_the_api(cluster: Cluster) -> None:
    first = (await deploy(cluster))[0]
    eviction = {"metadata": {"name": first["metadata"]["name"], "namespace": "default"}}
    await cluster.client.create(PODS, "default", eviction, subresource="eviction", name=first["metadata"]["name"])
    await cluster.advance("20s")
    assert [link.reason for link in chain_of(cluster, first)[-2:]] == ["EvictionRequested", "Removed"]


async def test_a_node_that_has_gone_takes_its_pods_along(cluster: Cluster) -> None:
    node = {"metadata": {"name": "old"}, "status": {"capacity": {"memory": "1Gi"}, "allocatable": {"memory": "1Gi"}}}
    await cluster.client.create(NODES, "", node)
    await cluster.client.create(PODS, "default", pod("a", spec={"nodeName": "old"}))
    await cluster.client.delete(NODES, "", "old")
    (one,) = await pods(cluster.client)
    await cluster.advance("90s")
    links = chain_of(cluster, one)
    assert links[-1].reason == "NodeGone"
    assert before(links, len(links) - 1) == ["Deleted"]


async def test_a_job_that_has_ended(cluster: Cluster) -> None:
    spec = {"template": template("batch", annotations=FINISHES, restartPolicy="Never"), "ttlSecondsAfterFinished": 10}
    await cluster.client.create(JOBS, "default", {"metadata": {"name": "batch"}, "spec": spec})
    await cluster.advance("3s")
    (one,) = await pods(cluster.client)
    await cluster.advance("60s")
    links = chain_of(cluster, one)
    assert told(links)[:3] == [("Job", "Created"), ("Pod", "Missing"), ("Pod", "Scheduled")]
    assert "TTLAfterFinished" in before(links, len(links) - 1)


async def test_a_daemon_pod_replaces_the_one_of_its_node(cluster: Cluster) -> None:
    await cluster.client.create(DAEMONSETS, "default", workload("agent", template("agent")))
    await cluster.advance("10s")
    first = await pods(cluster.client)
    await cluster.client.patch(DAEMONSETS, "default", "agent", {"spec": {"template": template("agent", "j")}})
    await cluster.advance("60s")
    by_node = {one["spec"]["nodeName"]: one["metadata"]["name"] for one in first}
    for one in await pods(cluster.client):
        made = next(link for link in chain_of(cluster, one) if link.about.uid == one["metadata"]["uid"])
        assert made.message.endswith(f"it takes the place of {by_node[one['spec']['nodeName']]}")


async def test_recreate_pairs_old_and_new(cluster: Cluster) -> None:
    made = workload("web", template("web"), replicas=2, strategy={"type": "Recreate"})
    await cluster.client.create(DEPLOYMENTS, "default", made)
    await cluster.advance("10s")
    was = {one["metadata"]["name"] for one in await pods(cluster.client)}
    await cluster.client.patch(DEPLOYMENTS, "default", "web", {"spec": {"template": template("web", "j")}})
    await cluster.advance("60s")
    found = set()
    for one in await pods(cluster.client):
        links = chain_of(cluster, one)
        assert links[0].reason == "TemplateChanged"
        found.add(next(link for link in links if link.reason == "OldTemplate").about.name)
    assert found == was


async def test_a_board_that_was_off_has_lost_its_pods(cluster: Cluster) -> None:
    was = await deploy(cluster)
    board = was[0]["spec"]["nodeName"]
    for fault in ("stopped", None):
        await cluster.client.patch(NODES, "", board, {"metadata": {"annotations": {FAULT: fault}}})
        await cluster.advance("30s")
    links = chain_of(cluster, was[0])
    assert links[-1].message == f"deleted by the kubelet of {board}, whose board has lost it"
    assert before(links, len(links) - 1) == ["FaultChanged"]

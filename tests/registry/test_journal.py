"""The journal of writes: what is in it, what is not, and how much it keeps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kube32_sim.api.errors import ApiError
from kube32_sim.client import DEPLOYMENTS, LEASES, NODES, PODS, Client
from kube32_sim.cluster import Cluster
from kube32_sim.registry.asked import Asked
from kube32_sim.registry.journal import CHANGED, CREATED, DELETED, REMOVED, Journal, Noted
from tests.support.objects import MAPS, config_map, node, pod
from tests.support.scenario import template, workload

JsonObject = dict[str, Any]


@pytest.fixture
def noted(cluster: Cluster) -> Callable[[], list[Noted]]:
    """What has been noted since it was asked last."""
    journal = cluster.journal

    def news() -> list[Noted]:
        found = list(journal)
        journal.forget()
        return found

    news()
    return news


def short(notes: list[Noted]) -> list[tuple[str, str]]:
    return [(one.did, one.name) for one in notes]


async def test_a_pod_comes_and_goes(cluster: Cluster, noted: Callable[[], list[Noted]]) -> None:
    client = cluster.client.of("kubectl-create")
    made = await client.create(PODS, "default", pod("p", spec={"nodeName": "n"}))
    (one,) = noted()
    assert (one.did, one.uid, one.manager, one.node) == (CREATED, made["metadata"]["uid"], "kubectl-create", "n")
    assert str(one.revision) == made["metadata"]["resourceVersion"]
    await client.delete(PODS, "default", "p")
    await client.delete(PODS, "default", "p")
    await client.delete(PODS, "default", "p", options={"gracePeriodSeconds": 0})
    asked, gone = noted()
    assert [(one.did, one.first) for one in (asked, gone)] == [(DELETED, True), (REMOVED, False)]


async def test_one_that_goes_at_once_is_asked_to_and_removed_in_one(
    cluster: Cluster, noted: Callable[[], list[Noted]]
) -> None:
    await cluster.client.create(PODS, "default", pod("p"))
    await cluster.client.delete(PODS, "default", "p", options={"gracePeriodSeconds": 0})
    assert [(one.did, one.first) for one in noted()] == [(CREATED, False), (REMOVED, True)]


async def test_reports_heartbeats_labels_and_other_types_are_not_noted(
    cluster: Cluster, noted: Callable[[], list[Noted]]
) -> None:
    client = cluster.client
    await client.create(PODS, "default", pod("p"))
    await client.create(NODES, "", node("n"))
    noted()
    await client.patch(PODS, "default", "p", {"status": {"phase": "Running"}}, subresource="status")
    await client.patch(PODS, "default", "p", {"metadata": {"labels": {"a": "b"}}})
    await client.patch(
        NODES, "", "n", {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}, subresource="status"
    )
    await client.patch(NODES, "", "n", {"metadata": {"labels": {"a": "b"}}})
    await client.create(MAPS, "default", config_map("m"))
    lease = {"metadata": {"name": "n"}, "spec": {"holderIdentity": "n"}}
    await client.create(LEASES, "kube-node-lease", lease)
    await client.patch(LEASES, "kube-node-lease", "n", {"spec": {"leaseDurationSeconds": 7}})
    assert noted() == []


async def test_what_is_refused_or_only_tried_is_not_noted(cluster: Cluster, noted: Callable[[], list[Noted]]) -> None:
    client = cluster.client
    await client.create(PODS, "default", pod("p"))
    noted()
    with pytest.raises(ApiError):
        await client.create(PODS, "default", pod("p"))
    with pytest.raises(ApiError):
        await client.delete(PODS, "default", "p", options={"preconditions": {"uid": "other"}})
    await client.delete(PODS, "default", "p", options={"dryRun": ["All"]})
    row = cluster.registry.table.by_storage(("", "pods"))
    await cluster.registry.create(Asked(row, "default", "q", dry_run=True), pod("q"))
    assert noted() == []


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"metadata": {"annotations": {"sim.kube32.io/fault": "stopped"}}}, "sim.kube32.io/fault: '' -> 'stopped'"),
        ({"spec": {"unschedulable": True}}, "spec.unschedulable: 'false' -> 'true'"),
        (
            {"spec": {"taints": [{"key": "a", "value": "b", "effect": "NoSchedule"}]}},
            "spec.taints: 'node.kubernetes.io/not-ready:NoSchedule' -> 'a=b:NoSchedule'",
        ),
    ],
)
async def test_what_is_done_to_a_node(
    cluster: Cluster, noted: Callable[[], list[Noted]], change: JsonObject, told: str
) -> None:
    await cluster.client.create(NODES, "", node("n"))
    await cluster.client.patch(NODES, "", "n", change)
    (detail,) = noted()[-1].details
    assert f"{detail.field}: {detail.before!r} -> {detail.after!r}" == told


async def changed(client: Client, change: JsonObject, noted: Callable[[], list[Noted]]) -> list[tuple[str, str, str]]:
    await client.create(DEPLOYMENTS, "default", workload("web", template("web"), replicas=1))
    noted()
    await client.patch(DEPLOYMENTS, "default", "web", change)
    (one,) = noted()
    assert one.did == CHANGED
    return [tuple(detail) for detail in one.details]


async def test_what_is_changed_in_a_workload(cluster: Cluster, noted: Callable[[], list[Noted]]) -> None:
    change = {"spec": {"replicas": 2, "template": template("web", "j" * 100)}}
    replicas, image = await changed(cluster.client, change, noted)
    assert replicas == ("spec.replicas", "1", "2")
    assert image == ("spec.template.spec.containers[c].image", "i", "j" * 59 + "…")


async def test_a_large_change_is_told_in_part(cluster: Cluster, noted: Callable[[], list[Noted]]) -> None:
    change = {"spec": {"template": {"metadata": {"labels": {f"l{number}": "x" for number in range(50)}}}}}
    details = await changed(cluster.client, change, noted)
    assert details[0] == ("spec.template.metadata.labels.l0", "", "x")
    assert len(details) == 6


async def test_the_newest_are_kept_and_it_says_since_when_all_are(cluster: Cluster) -> None:
    journal = Journal(cluster.clock, most=3)
    row = cluster.registry.table.by_storage(("", "pods"))
    assert journal.since == cluster.clock.now()
    for number in range(5):
        made = await cluster.client.create(PODS, "default", pod(f"p{number}"))
        stored = cluster.store.get(("", "pods"), f"default/{made['metadata']['name']}")
        assert stored is not None
        journal.created(Asked(row, "default", stored.name), stored)
        await cluster.advance("1s")
    assert [one.name for one in journal] == ["p2", "p3", "p4"]
    assert journal.since == cluster.clock.now() - 3

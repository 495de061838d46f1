"""Two servers on one etcd decide on the same things at once: no node is overcommitted, no address given out twice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest
import pytest_asyncio

from kube32_sim.api.errors import ApiError
from kube32_sim.api.users import User
from kube32_sim.client import NODES, PODS, Resource
from kube32_sim.cluster import Cluster
from kube32_sim.registry.binding import SCHEDULER
from tests.support.etcd import Etcd, fresh_prefix
from tests.support.waiting import eventually

SERVICES = Resource("", "v1", "services")
NAMES = ("board-0", "board-1")
EACH = 4
"""Pods that fit on a board."""


@pytest_asyncio.fixture
async def two(etcd: Etcd) -> AsyncIterator[list[Cluster]]:
    """Schedulers, and no boards: what is bound stays as it is."""
    store = f"{etcd.url}{fresh_prefix()}"
    async with (
        Cluster(store=store, nodes=0, controllers="scheduler", reconcile_interval=0.05) as one,
        Cluster(store=store, nodes=0, controllers="scheduler", reconcile_interval=0.05) as other,
    ):
        yield [one, other]


def pod(name: str) -> dict:
    requests = {"memory": "100Ki"}
    container = {"name": "c", "image": "i", "resources": {"requests": requests}}
    return {"metadata": {"name": name, "namespace": "default"}, "spec": {"containers": [container]}}


async def add_board(cluster: Cluster, name: str) -> None:
    await cluster.client.create(NODES, "", {"metadata": {"name": name}})
    node = await cluster.client.get(NODES, "", name)
    status = {
        "capacity": {"memory": f"{EACH * 100}Ki", "pods": "110"},
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    await cluster.client.update(NODES, "", {**node, "status": status}, subresource="status")


def bound(cluster: Cluster) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {name: [] for name in NAMES}
    for stored in cluster.store.unordered(("", "pods")):
        if stored.value("spec.nodeName"):
            found[stored.value("spec.nodeName")].append(stored.name)
    return found


def loads(cluster: Cluster) -> Sequence[int]:
    return [len(pods) for pods in bound(cluster).values()]


async def test_no_node_is_overcommitted(two: list[Cluster]) -> None:
    most = [0]

    def look(event: object) -> None:
        most[0] = max(most[0], *loads(two[0]))

    two[0].store.subscribe(look, [("", "pods")])
    await add_board(two[0], NAMES[0])
    await eventually(lambda: two[1].store.count(("", "nodes")) == 1, "the other has heard of the board")
    await asyncio.gather(
        *(each.client.create(PODS, "default", pod(f"p{place}-{n}")) for n in range(8) for place, each in enumerate(two))
    )
    assert loads(two[0]) == [EACH, 0]
    await add_board(two[1], NAMES[1])  # now both want to bind the others, by their loops
    await eventually(lambda: loads(two[0]) == [EACH, EACH], "the second board is filled")
    for name in bound(two[0])[NAMES[0]]:
        await two[0].client.delete(PODS, "default", name, options={"gracePeriodSeconds": 0})
    await eventually(lambda: loads(two[0]) == [EACH, EACH], "their places are filled")
    assert most[0] == EACH


async def test_what_the_scheduler_chose_must_still_fit_when_it_is_bound(two: list[Cluster]) -> None:
    await add_board(two[0], NAMES[0])
    for number in range(EACH + 1):
        await two[0].client.create(PODS, "default", pod(f"p{number}"))
    last = f"p{EACH}"
    binding = {"metadata": {"name": last}, "target": {"kind": "Node", "name": NAMES[0]}}
    scheduler = two[0].client.of("kube-scheduler", User(SCHEDULER, "", ("system:authenticated",)))
    with pytest.raises(ApiError, match='does not fit on node "board-0": Insufficient memory') as refused:
        await scheduler.create(PODS, "default", dict(binding), subresource="binding", name=last)
    assert refused.value.code == 409
    await two[0].client.create(PODS, "default", dict(binding), subresource="binding", name=last)
    assert loads(two[0])[0] == EACH + 1, "what others bind is their own affair"


async def test_no_address_is_given_out_twice(two: list[Cluster]) -> None:
    async def expose(cluster: Cluster, name: str) -> str:
        spec = {"type": "NodePort", "ports": [{"port": 80, "nodePort": 30000 + int(name[1:]) % 5}]}
        service = {"metadata": {"name": name, "namespace": "default"}, "spec": spec}
        try:
            made = await cluster.client.create(SERVICES, "default", service)
        except ApiError as error:
            if error.code != 422:
                raise
            return ""
        return made["spec"]["clusterIP"]

    addresses = await asyncio.gather(*(expose(two[n % 2], f"s{n}") for n in range(30)))
    given = [address for address in addresses if address]
    assert len(given) == len(set(given)) == 5, "each node port once"
    await eventually(lambda: two[0].store.revision == two[1].store.revision, "both know the same")
    kept = {stored.name for stored in two[1].store.list(("networking.k8s.io", "ipaddresses"))}
    assert set(given) <= kept

"""What is there from the start, and who is said to have made it."""

from __future__ import annotations

from typing import Any

import pytest_asyncio

from kube32_sim.client import DEPLOYMENTS, EVENTS, NAMESPACES, SERVICES, Resource
from kube32_sim.cluster import Cluster
from kube32_sim.options import ServeOptions
from tests.test_cluster import DEPLOYMENT

JsonObject = dict[str, Any]
ADDRESSES = Resource("networking.k8s.io", "v1", "ipaddresses")


def managers(obj: JsonObject) -> set[str]:
    return {entry["manager"] for entry in obj["metadata"]["managedFields"]}


@pytest_asyncio.fixture
async def bare() -> Any:
    async with Cluster(ServeOptions(port=0, nodes=0, controllers="none", seed=1)) as cluster:
        yield cluster


async def test_the_api_server_makes_what_is_there_from_the_start(bare: Cluster) -> None:
    everything = [
        *(await bare.client.list(NAMESPACES)).items,
        *(await bare.client.list(SERVICES)).items,
        *(await bare.client.list(ADDRESSES)).items,
        *(await bare.client.list(Resource("networking.k8s.io", "v1", "servicecidrs"))).items,
        *(await bare.client.list(Resource("scheduling.k8s.io", "v1", "priorityclasses"))).items,
    ]
    assert len(everything) == 9
    assert {name for obj in everything for name in managers(obj)} == {"kube-apiserver"}


async def test_the_object_of_an_address_says_what_one_says_that_a_client_makes(bare: Cluster) -> None:
    ours = await bare.client.get(ADDRESSES, "", "10.96.0.1")
    wanted = {"metadata": {"name": "10.96.0.9", "labels": ours["metadata"]["labels"]}, "spec": ours["spec"]}
    theirs = await bare.client.create(ADDRESSES, "", wanted)
    (entry,), made = ours["metadata"]["managedFields"], theirs["metadata"]["managedFields"]
    assert [entry | {"manager": "", "time": ""}] == [each | {"manager": "", "time": ""} for each in made]


async def test_events_are_their_programs_own(virtual_cluster: Cluster) -> None:
    await virtual_cluster.client.create(DEPLOYMENTS, "default", DEPLOYMENT)
    await virtual_cluster.advance("30s")
    told: dict[str, set[str]] = {}
    for event in (await virtual_cluster.client.list(EVENTS)).items:
        told.setdefault(event["source"]["component"], set()).update(managers(event))
    assert told["default-scheduler"] == {"kube-scheduler"}
    assert told["deployment-controller"] == {"kube-controller-manager"}
    assert told["kubelet"] == {"kubelet"}

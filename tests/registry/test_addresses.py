"""IPAddress objects come before the Services they are for and go after them; the range is there from the start."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

import pytest

from kube32_sim.api.errors import ApiError
from kube32_sim.client import SERVICES, Resource
from kube32_sim.cluster import Cluster
from kube32_sim.registry.asked import Asked

JsonObject = dict[str, Any]
ADDRESSES = Resource("networking.k8s.io", "v1", "ipaddresses")
RANGES = Resource("networking.k8s.io", "v1", "servicecidrs")


def service(name: str, **spec: Any) -> JsonObject:
    return {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}]} | spec}


async def names(cluster: Cluster) -> list[str]:
    return [each["metadata"]["name"] for each in (await cluster.client.list(ADDRESSES, "")).items]


async def refused(work: Awaitable[Any]) -> str:
    with pytest.raises(ApiError) as caught:
        await work
    assert caught.value.code == 422
    return caught.value.message


async def test_the_first_address_and_the_range_are_there(cluster: Cluster) -> None:
    found = await cluster.client.get(ADDRESSES, "", "10.96.0.1")
    assert found["spec"] == {"parentRef": {"resource": "services", "namespace": "default", "name": "kubernetes"}}
    assert found["metadata"]["labels"] == {
        "ipaddress.kubernetes.io/ip-family": "IPv4",
        "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
    }
    made = await cluster.client.get(RANGES, "", "kubernetes")
    assert made["spec"] == {"cidrs": ["10.96.0.0/16"]}
    condition = made["status"]["conditions"][0]
    assert (condition["type"], condition["status"], condition["message"]) == (
        "Ready",
        "True",
        "Kubernetes default Service CIDR is ready",
    )


async def test_an_address_is_there_before_its_service_and_goes_after_it(cluster: Cluster) -> None:
    made = await cluster.client.create(SERVICES, "default", service("a"))
    address = made["spec"]["clusterIP"]
    found = await cluster.client.get(ADDRESSES, "", address)
    assert int(found["metadata"]["resourceVersion"]) < int(made["metadata"]["resourceVersion"])
    assert cluster.store.revision == int(made["metadata"]["resourceVersion"])
    await cluster.client.delete(SERVICES, "default", "a")
    await cluster.clock.rested()
    assert await names(cluster) == ["10.96.0.1"]


async def test_what_needs_no_address_has_none(cluster: Cluster) -> None:
    await cluster.client.create(SERVICES, "default", service("headless", clusterIP="None"))
    named = service("named", type="ExternalName", externalName="a.example.com")
    made = await cluster.client.create(SERVICES, "default", named)
    assert await names(cluster) == ["10.96.0.1"]
    changed = {
        **made,
        "spec": {**made["spec"], "type": "ClusterIP", "clusterIP": "10.96.0.77", "ports": [{"port": 80}]},
    }
    made = await cluster.client.update(SERVICES, "default", changed)
    assert await names(cluster) == ["10.96.0.1", "10.96.0.77"]
    await cluster.client.update(SERVICES, "default", {**made, "spec": {**made["spec"], "type": "ExternalName"}})
    await cluster.clock.rested()
    assert await names(cluster) == ["10.96.0.1"]


async def test_dry_runs_and_refusals_take_no_address(cluster: Cluster) -> None:
    row = cluster.registry.table.by_path("", "v1", "services")
    assert row is not None
    before = cluster.store.revision
    await cluster.registry.create(Asked(row, "default", "", dry_run=True), service("a"))
    assert "already allocated" in await refused(
        cluster.client.create(SERVICES, "default", service("a", clusterIP="10.96.0.1"))
    )
    with pytest.raises(ApiError):
        await cluster.client.create(SERVICES, "default", service("kubernetes"))
    assert cluster.store.revision == before


async def test_an_address_that_somebody_keeps_is_nobody_elses(cluster: Cluster) -> None:
    spec = {"parentRef": {"resource": "gateways", "group": "example.com", "name": "g"}}
    await cluster.client.create(ADDRESSES, "", {"metadata": {"name": "10.96.0.50"}, "spec": spec})
    asking = service("a", clusterIP="10.96.0.50")
    assert await refused(cluster.client.create(SERVICES, "default", asking)) == (
        'Service "a" is invalid: spec.clusterIPs: Invalid value: ["10.96.0.50"]: failed to allocate IP 10.96.0.50: '
        "provided IP is already allocated"
    )
    await cluster.client.delete(ADDRESSES, "", "10.96.0.50")
    await cluster.client.create(SERVICES, "default", asking)


async def test_another_range_gives_addresses_until_it_goes(cluster: Cluster) -> None:
    asking = service("a", clusterIP="10.200.0.7")
    elsewhere = "the provided network does not match the current range"
    assert elsewhere in await refused(cluster.client.create(SERVICES, "default", asking))
    await cluster.client.create(RANGES, "", {"metadata": {"name": "more"}, "spec": {"cidrs": ["10.200.0.0/24"]}})
    made = await cluster.client.create(SERVICES, "default", asking)
    assert made["spec"]["clusterIPs"] == ["10.200.0.7"]
    assert "already allocated" in await refused(
        cluster.client.create(SERVICES, "default", service("b", clusterIP="10.200.0.7"))
    )
    await cluster.client.delete(RANGES, "", "more")
    assert elsewhere in await refused(cluster.client.create(SERVICES, "default", service("b", clusterIP="10.200.0.8")))


async def test_an_address_that_goes_from_one_service_to_the_next_at_once_keeps_its_object(cluster: Cluster) -> None:
    client = cluster.client
    await client.create(SERVICES, "default", service("one", clusterIP="10.96.0.77"))
    await client.delete(SERVICES, "default", "one")
    await client.create(SERVICES, "default", service("two", clusterIP="10.96.0.77"))
    await cluster.settle()
    assert (await client.get(ADDRESSES, "", "10.96.0.77"))["spec"]["parentRef"]["name"] == "two"
    await client.delete(SERVICES, "default", "two")
    await cluster.settle()
    assert "10.96.0.77" not in await names(cluster)

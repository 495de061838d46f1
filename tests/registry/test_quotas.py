"""Quotas and growing claims as a write meets them: what is counted, what is refused, and in which words."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from typing import Any

import pytest
import pytest_asyncio

from kube32_sim.api.errors import ApiError
from kube32_sim.client import PODS, SERVICES, Resource
from kube32_sim.cluster import Cluster
from kube32_sim.options import ServeOptions
from kube32_sim.registry.asked import Asked

JsonObject = dict[str, Any]
QUOTAS = Resource("", "v1", "resourcequotas")
CLAIMS = Resource("", "v1", "persistentvolumeclaims")
CLASSES = Resource("storage.k8s.io", "v1", "storageclasses")
RANGES = Resource("", "v1", "limitranges")


@pytest_asyncio.fixture
async def counting() -> AsyncIterator[Cluster]:
    """With a loop, so that quotas count what is there."""
    async with Cluster(ServeOptions(port=0, nodes=0, controllers="job", clock="virtual")) as started:
        yield started


async def refused(work: Awaitable[Any]) -> str:
    with pytest.raises(ApiError) as caught:
        await work
    assert caught.value.code == 403
    return caught.value.message


async def make(cluster: Cluster, resource: Resource, name: str, **spec: Any) -> JsonObject:
    return await cluster.client.create(resource, "default", {"metadata": {"name": name}, "spec": spec})


async def quota(cluster: Cluster, *scopes: str, **hard: str) -> JsonObject:
    names = {name.replace("__", "/").replace("_", "."): value for name, value in hard.items()}
    return await make(cluster, QUOTAS, "q", hard=names, **({"scopes": list(scopes)} if scopes else {}))


def container(name: str = "app", **resources: Any) -> JsonObject:
    return {"name": name, "image": "i", "resources": resources}


async def test_creates_at_the_same_time_do_not_exceed(counting: Cluster) -> None:
    await quota(counting, pods="3")
    made = [make(counting, PODS, f"p{each}", containers=[container()]) for each in range(8)]
    done = await asyncio.gather(*made, return_exceptions=True)
    assert [isinstance(each, ApiError) for each in done].count(False) == 3
    message = await refused(make(counting, PODS, "more", containers=[container()]))
    assert message == 'pods "more" is forbidden: exceeded quota: q, requested: pods=1, used: pods=3, limited: pods=3'
    await counting.client.delete(PODS, "default", "p0")
    await make(counting, PODS, "more", containers=[container()])


async def test_a_dry_run_is_counted_and_leaves_room(counting: Cluster) -> None:
    await quota(counting, pods="1")
    row = counting.registry.table.by_path("", "v1", "pods")
    assert row is not None
    asked = Asked(row, "default", "", dry_run=True)

    def body(name: str) -> JsonObject:
        return {"metadata": {"name": name}, "spec": {"containers": [container()]}}

    await counting.registry.create(asked, body("p"))
    await counting.client.create(PODS, "default", body("p"))
    assert "exceeded quota" in await refused(counting.registry.create(asked, body("other")))


async def test_containers_say_what_they_ask_for(counting: Cluster) -> None:
    await quota(counting, requests_cpu="1", limits_memory="1Gi")
    first, second = container("a", requests={"cpu": "1"}), container("b")
    assert await refused(make(counting, PODS, "p", containers=[first, second])) == (
        'pods "p" is forbidden: failed quota: q: must specify limits.memory for: a,b; requests.cpu for: b'
    )
    whole = {"requests": {"cpu": "1"}, "limits": {"memory": "1Gi"}}
    await make(counting, PODS, "p", containers=[first, second], resources=whole)


async def test_a_quota_of_a_scope_asks_nothing_of_other_pods(counting: Cluster) -> None:
    await quota(counting, "Terminating", cpu="1")
    await make(counting, PODS, "p", containers=[container()])
    assert "must specify cpu for: app" in await refused(
        make(counting, PODS, "q", containers=[container()], activeDeadlineSeconds=5)
    )


async def test_a_service_may_not_grow_into_node_ports_that_nobody_has_left(counting: Cluster) -> None:
    await quota(counting, services_nodeports="1", services_loadbalancers="0")
    ports = [{"port": 80}]
    await make(counting, SERVICES, "a", ports=ports, type="NodePort")
    other = await make(counting, SERVICES, "b", ports=ports)
    grown = {**other, "spec": {**other["spec"], "type": "NodePort"}}
    assert await refused(counting.client.update(SERVICES, "default", grown)) == (
        'services "b" is forbidden: exceeded quota: q, requested: services.nodeports=1, used: services.nodeports=1, '
        "limited: services.nodeports=1"
    )
    relabelled = {**other, "metadata": {**other["metadata"], "labels": {"a": "b"}}}
    await counting.client.update(SERVICES, "default", relabelled)
    plain = {"type": "LoadBalancer", "allocateLoadBalancerNodePorts": False}
    assert "services.loadbalancers=1" in await refused(make(counting, SERVICES, "c", ports=ports, **plain))


async def test_where_nobody_counts_the_status_rules(cluster: Cluster) -> None:
    made = await quota(cluster, pods="1")
    await make(cluster, PODS, "a", containers=[container()])
    await make(cluster, PODS, "b", containers=[container()])
    status = {"hard": {"pods": "3"}, "used": {"pods": "2"}}
    await cluster.client.update(QUOTAS, "default", {**made, "status": status}, subresource="status")
    await make(cluster, PODS, "c", containers=[container()])
    assert (await cluster.client.get(QUOTAS, "default", "q"))["status"]["used"] == {"pods": "3"}
    message = await refused(make(cluster, PODS, "d", containers=[container()]))
    assert message.endswith("exceeded quota: q, requested: pods=1, used: pods=3, limited: pods=3")


async def test_a_quota_whose_use_is_unknown_refuses(cluster: Cluster) -> None:
    made = await quota(cluster, pods="1")
    status = {"hard": {"pods": "3"}}
    await cluster.client.update(QUOTAS, "default", {**made, "status": status}, subresource="status")
    message = await refused(make(cluster, PODS, "d", containers=[container()]))
    assert message.endswith('pods "d" is forbidden: status unknown for quota: q, resources: pods')


async def test_claims_grow_where_their_class_lets_them(cluster: Cluster) -> None:
    for name, grows in (("fixed", False), ("growing", True)):
        body = {"metadata": {"name": name}, "provisioner": "p", "allowVolumeExpansion": grows}
        await cluster.client.create(CLASSES, "", body)
        made = await make(
            cluster,
            CLAIMS,
            name,
            accessModes=["ReadWriteOnce"],
            storageClassName=name,
            resources={"requests": {"storage": "1Gi"}},
        )
        bound = {**made, "status": {"phase": "Bound", "capacity": {"storage": "1Gi"}}}
        made = await cluster.client.update(CLAIMS, "default", bound, subresource="status")
        larger = {**made, "spec": {**made["spec"], "resources": {"requests": {"storage": "2Gi"}}}}
        if grows:
            await cluster.client.update(CLAIMS, "default", larger)
        else:
            assert await refused(cluster.client.update(CLAIMS, "default", larger)) == (
                f'persistentvolumeclaims "{name}" is forbidden: only dynamically provisioned pvc can be resized and '
                "the storageclass that provisions the pvc must support resize"
            )


async def test_the_first_limit_range_that_minds_is_told_of(cluster: Cluster) -> None:
    for name, most in (("a", "2"), ("b", "1")):
        limits = [{"type": "Pod", "max": {"cpu": most}}, {"type": "Container", "max": {"cpu": most}}]
        await make(cluster, RANGES, name, limits=limits)
    message = await refused(make(cluster, PODS, "p", containers=[container(limits={"cpu": "3"})]))
    assert message == (
        'pods "p" is forbidden: [maximum cpu usage per Pod is 2, but limit is 3, maximum cpu usage per Container is 2, '
        "but limit is 3]"
    )

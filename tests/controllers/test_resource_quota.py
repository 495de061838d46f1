"""The status of ResourceQuotas: what is allowed and what is used."""

from types import SimpleNamespace

import pytest
from kube32_controllers.resource_quota_controller import QUOTAS, ResourceQuotaController, plan_quota

from kube32_sim.api.builtin import builtin_table
from kube32_sim.client import DEPLOYMENTS, PODS, SERVICES, Resource
from kube32_sim.cluster import Cluster
from kube32_sim.options import ServeOptions
from kube32_sim.runtime.actions import Plan
from kube32_sim.storage.memory import MemoryStore

CLAIMS = ("", "persistentvolumeclaims")


def quota(status=None, hard=None, **spec):
    metadata = {"name": "q", "namespace": "ns", "uid": "u", "resourceVersion": "7"}
    return {"metadata": metadata, "spec": {"hard": hard or {"pods": "4"}, **spec}, "status": status or {}}


def pod(cpu="100m", memory="1Mi", phase="Running", **status):
    resources = {"requests": {"cpu": cpu, "memory": memory}, "limits": {"cpu": "1"}}
    spec = {"containers": [{"name": "c", "resources": resources}]}
    return {"metadata": {"name": "p"}, "spec": spec, "status": {"phase": phase, **status}}


def used(hard, objects, **spec):
    (update,) = plan_quota(quota(hard=hard, **spec), objects).actions
    assert (update.resource, update.namespace, update.subresource) == (QUOTAS, "ns", "status")
    assert update.obj["status"]["hard"] == hard
    return update.obj["status"].get("used", {})


def test_what_is_used_is_the_sum_of_what_counts():
    pods = {("", "pods"): [pod(), pod("1", "2Mi"), pod("7", phase="Succeeded")]}
    hard = dict.fromkeys(("pods", "count/pods", "cpu", "requests.cpu", "memory", "limits.cpu", "limits.memory"), "9")
    assert used(hard, pods) == {
        "pods": "2",
        "count/pods": "3",
        "cpu": "1100m",
        "requests.cpu": "1100m",
        "memory": "3Mi",
        "limits.cpu": "2",
        "limits.memory": "0",
    }


def test_objects_of_any_type_are_counted_those_of_services_and_claims_in_more_ways():
    services = [
        {"metadata": {"name": "a"}, "spec": {"type": "LoadBalancer", "ports": [{}, {}]}},
        {"metadata": {"name": "b"}, "spec": {"type": "ClusterIP", "ports": [{}]}},
    ]
    fast = "fast.storageclass.storage.k8s.io/"
    claim = {"storageClassName": "fast", "resources": {"requests": {"storage": "3Gi"}}}
    plain = {"resources": {"requests": {"storage": "1Gi"}}}
    objects = {
        ("", "services"): services,
        CLAIMS: [{"metadata": {"name": name}, "spec": spec} for name, spec in (("a", claim), ("b", plain))],
        ("apps", "deployments"): [{"metadata": {"name": "a"}}],
    }
    expected = {
        "services": "2",
        "services.loadbalancers": "1",
        "services.nodeports": "2",
        "persistentvolumeclaims": "2",
        "requests.storage": "4Gi",
        f"{fast}persistentvolumeclaims": "1",
        f"{fast}requests.storage": "3Gi",
        "count/deployments.apps": "1",
    }
    assert used(dict.fromkeys(expected, "9"), objects) == expected


def test_scopes_hold_and_what_nobody_serves_is_not_counted():
    pods = {("", "pods"): [pod(qosClass="BestEffort"), pod(qosClass="Burstable")]}
    assert used({"pods": "9"}, pods, scopes=["BestEffort"]) == {"pods": "1"}
    assert used({"count/tales.example.com": "9", "wishes": "3"}, {}) == {}


def test_what_is_said_already_is_not_said_again():
    done = {"hard": {"pods": "4"}, "used": {"pods": "0"}}
    assert plan_quota(quota(done), {("", "pods"): []}) == Plan()
    assert plan_quota(quota(done, {"pods": "5"}), {("", "pods"): []}) != Plan()


def test_only_changes_that_make_a_difference_are_looked_at():
    loop = ResourceQuotaController(MemoryStore(builtin_table(), None), builtin_table())

    def stored(obj, namespace="ns", storage=("", "pods")):
        name = obj["metadata"]["name"]
        return SimpleNamespace(storage=storage, namespace=namespace, name=name, object=lambda: obj)

    def keys(kind, now, before=None):
        return list(loop.keys_of(SimpleNamespace(type=kind, stored=now, previous=before)))

    assert keys("ADDED", stored(pod())) == []
    assert keys("ADDED", stored(quota(), storage=("", "resourcequotas"))) == ["ns/q"]
    assert keys("ADDED", stored(pod())) == ["ns/q"]
    assert keys("ADDED", stored(pod(), "other")) == []
    assert keys("MODIFIED", stored(pod("2", phase="Pending")), stored(pod("1"))) == []
    assert keys("MODIFIED", stored(pod(phase="Failed")), stored(pod())) == ["ns/q"]
    assert keys("DELETED", stored(pod()), stored(pod())) == ["ns/q"]
    assert keys("DELETED", stored(pod(phase="Failed")), stored(pod(phase="Failed"))) == []
    assert keys("ADDED", stored({"metadata": {"name": "s"}}, storage=("", "services"))) == []
    assert keys("DELETED", stored(quota(), storage=("", "resourcequotas"))) == []
    assert keys("ADDED", stored(pod())) == []


# together with the API


def made(hard):
    return {"metadata": {"name": "q"}, "spec": {"hard": hard}}


async def test_the_status_follows_what_is_there(virtual_cluster):
    client, clock = virtual_cluster.client, virtual_cluster.clock

    async def counted():
        await clock.settle()
        return (await client.get(QUOTAS, "default", "q"))["status"]

    hard = {"pods": "4", "services": "5", "count/deployments.apps": "1", "limits.cpu": "2"}
    await client.create(QUOTAS, "default", made(hard))
    assert await counted() == {
        "hard": hard,
        "used": {"pods": "0", "services": "1", "count/deployments.apps": "0", "limits.cpu": "0"},
    }
    labels, container = {"app": "web"}, {"name": "c", "image": "i", "resources": {"limits": {"cpu": "250m"}}}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    spec = {"replicas": 3, "selector": {"matchLabels": labels}, "template": template}
    await client.create(DEPLOYMENTS, "default", {"metadata": {"name": "web"}, "spec": spec})
    await clock.advance(30)
    expected = {"pods": "3", "services": "1", "count/deployments.apps": "1", "limits.cpu": "750m"}
    assert (await counted())["used"] == expected
    await client.delete(SERVICES, "default", "kubernetes")
    assert (await counted())["used"] == expected | {"services": "0"}
    await client.delete(DEPLOYMENTS, "default", "web")
    await clock.advance(60)
    assert (await client.list(PODS, "default")).items == []
    assert (await counted())["used"] == dict.fromkeys(expected, "0")
    await client.patch(QUOTAS, "default", "q", {"spec": {"hard": {"pods": "9", "services": None}}})
    assert (await counted())["hard"] == {"pods": "9", "count/deployments.apps": "1", "limits.cpu": "2"}
    before = (await client.get(QUOTAS, "default", "q"))["metadata"]["resourceVersion"]
    await clock.advance(600)
    assert (await client.get(QUOTAS, "default", "q"))["metadata"]["resourceVersion"] == before


@pytest.mark.parametrize(("controllers", "filled"), [("none", False), ("namespace", True)])
async def test_it_runs_where_any_loop_runs(controllers, filled):
    async with Cluster(ServeOptions(port=0, nodes=0, clock="virtual", controllers=controllers)) as cluster:
        for name in ("q", "empty"):
            obj = made({"pods": "1"} if name == "q" else {}) | {"metadata": {"name": name}}
            await cluster.client.create(QUOTAS, "default", obj)
        await cluster.clock.advance(60)
        found = await cluster.client.get(QUOTAS, "default", "q")
        assert bool(found.get("status")) is filled
        assert not (await cluster.client.get(Resource("", "v1", "resourcequotas"), "default", "empty")).get("status")

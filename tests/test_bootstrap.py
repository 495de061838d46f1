"""What is there from the start, and who is said to have made it."""

from __future__ import annotations

import json
from typing import Any

import pytest
import pytest_asyncio

from kube32_sim import bootstrap as bootstrapping
from kube32_sim.api.rbac.bootstrap import bootstrap_objects
from kube32_sim.bootstrap import API_SERVER, API_SERVICES, FLOW_SCHEMAS, PRIORITY_LEVELS
from kube32_sim.bootstrap_objects import own_address, own_slice
from kube32_sim.client import DEPLOYMENTS, EVENTS, NAMESPACES, SERVICES, Resource
from kube32_sim.cluster import Cluster
from kube32_sim.options import ServeOptions
from tests.support.objects import ENDPOINTS
from tests.test_cluster import DEPLOYMENT

JsonObject = dict[str, Any]
SLICES = Resource("discovery.k8s.io", "v1", "endpointslices")
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


async def test_roles_are_what_a_client_who_creates_them_gets(bare: Cluster) -> None:
    """To the byte: fields come in the same order."""
    async with Cluster(ServeOptions(port=0, nodes=0, controllers="none", authorization_mode="AlwaysAllow")) as without:
        client = without.client.of(API_SERVER)
        for made in bootstrap_objects():
            resource = Resource("rbac.authorization.k8s.io", "v1", made.plural)
            theirs = await client.create(resource, made.namespace, made.obj)
            ours = await bare.client.get(resource, made.namespace, made.obj["metadata"]["name"])
            for metadata in (ours["metadata"], theirs["metadata"]):
                (entry,) = metadata["managedFields"]
                metadata |= {"uid": "", "creationTimestamp": "", "resourceVersion": ""}
                entry["time"] = ""
            assert json.dumps(ours) == json.dumps(theirs)


async def test_it_tells_what_it_serves_itself(bare: Cluster) -> None:
    served = {(row.group, row.version) for row in bare.registry.table}
    found = {
        (obj["spec"].get("group", ""), obj["spec"]["version"]): obj
        for obj in (await bare.client.list(API_SERVICES)).items
    }
    assert served - found.keys() == {("apiregistration.k8s.io", "v1"), ("sim.kube32.io", "v1alpha1")}
    assert found.keys() <= served
    for (group, version), obj in found.items():
        assert obj["metadata"]["name"] == f"{version}.{group}"
        condition = obj["status"]["conditions"][0]
        assert (condition["type"], condition["status"], condition["reason"]) == ("Available", "True", "Local")
    in_order = sorted(found.values(), key=lambda obj: -obj["spec"]["groupPriorityMinimum"])
    groups = list(dict.fromkeys(obj["spec"].get("group", "") for obj in in_order))
    assert groups[:3] == ["", "apps", "events.k8s.io"]


async def test_flow_control_has_what_every_api_server_has(bare: Cluster) -> None:
    levels = {obj["metadata"]["name"]: obj["spec"] for obj in (await bare.client.list(PRIORITY_LEVELS)).items}
    schemas = {obj["metadata"]["name"]: obj for obj in (await bare.client.list(FLOW_SCHEMAS)).items}
    assert {name: spec["type"] for name, spec in levels.items()} == {"exempt": "Exempt", "catch-all": "Limited"}
    assert schemas.keys() == levels.keys()
    for name, schema in schemas.items():
        assert schema["spec"]["priorityLevelConfiguration"] == {"name": name}
        assert [condition["status"] for condition in schema["status"]["conditions"]] == ["False"]


@pytest.mark.parametrize("controllers", ["none", "default"])
async def test_the_service_of_the_api_server_leads_to_it(controllers: str) -> None:
    loops = {"controllers": "none"} if controllers == "none" else {}
    async with Cluster(ServeOptions(port=0, nodes=0, clock="virtual"), **loops) as cluster:
        endpoints = await cluster.client.get(ENDPOINTS, "default", "kubernetes")
        subset = {
            "addresses": [{"ip": "127.0.0.1"}],
            "ports": [{"name": "https", "port": cluster.port, "protocol": "TCP"}],
        }
        assert endpoints["subsets"] == [subset]
        slices = (await cluster.client.list(SLICES, "default")).items
        assert [(each["metadata"]["name"], each["endpoints"][0]["addresses"]) for each in slices] == [
            ("kubernetes", ["127.0.0.1"])
        ]
        await cluster.advance("120s")
        assert await cluster.client.get(ENDPOINTS, "default", "kubernetes") == endpoints
        service = await cluster.client.get(SERVICES, "default", "kubernetes")
        assert service["spec"]["ports"][0]["targetPort"] == cluster.port


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("0.0.0.0", "127.0.0.1"),
        ("::", "::1"),
        ("localhost", "127.0.0.1"),
        ("2001:db8::1", "2001:db8::1"),
    ],
)
def test_where_a_server_is_that_listens_on_a_host(host: str, address: str) -> None:
    assert own_address(host) == address
    assert own_slice(address, 6443)["addressType"] == ("IPv6" if ":" in address else "IPv4")


async def test_events_are_their_programs_own(virtual_cluster: Cluster) -> None:
    await virtual_cluster.client.create(DEPLOYMENTS, "default", DEPLOYMENT)
    await virtual_cluster.advance("30s")
    told: dict[str, set[str]] = {}
    for event in (await virtual_cluster.client.list(EVENTS)).items:
        told.setdefault(event["source"]["component"], set()).update(managers(event))
    assert told["default-scheduler"] == {"kube-scheduler"}
    assert told["deployment-controller"] == {"kube-controller-manager"}
    assert told["kubelet"] == {"kubelet"}


async def test_later_starts_of_a_process_store_the_same_roles(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first keeps nothing, the second keeps who manages what, the third goes by it."""
    monkeypatch.setattr(bootstrapping, "_BEGUN", bootstrapping._Begun())
    kept, stored = [], []
    for _ in range(3):
        async with Cluster(nodes=0, controllers="none", clock="virtual") as cluster:
            roles = [
                cluster.store.list(("rbac.authorization.k8s.io", kind)) for kind in ("clusterroles", "rolebindings")
            ]
            stored.append([each.raw for found in roles for each in found])
        kept.append(len(bootstrapping._BEGUN.entries))
    assert stored[0] == stored[1] == stored[2]
    assert kept[0] == 0 < kept[1] == kept[2]
    async with Cluster(nodes=0, controllers="none") as cluster:
        (one, *_) = cluster.store.list(("rbac.authorization.k8s.io", "clusterroles"))
        metadata = one.object()["metadata"]
        assert metadata["managedFields"][0]["time"] == metadata["creationTimestamp"]
        assert metadata["creationTimestamp"] != "2026-01-01T00:00:00Z"

"""Endpoints and EndpointSlices: who is told as an address of a Service, with which ports, and in which slice."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest
import pytest_asyncio

from kube32_sim.api.errors import ApiError
from kube32_sim.client import NAMESPACES, PODS, SERVICES, WatchEvent
from tests.rules.conftest import MakeWorld
from tests.rules.scheduling import container, tell
from tests.rules.world import JsonObject, VirtualWorld, World
from tests.support.objects import ENDPOINTS, SLICES, pod, service
from tests.support.wire import PATIENCE, connected

LABELS = {"app": "web"}
OF_WEB = "kubernetes.io/service-name=web"


@pytest_asyncio.fixture
async def alone(make_world: MakeWorld) -> World:
    """Endpoints alone, and no boards: pods are what the test says they are."""
    return await make_world(nodes=0, controllers="endpoints")


async def serve(world: World, name: str = "web", **spec: Any) -> JsonObject:
    return await world.client.create(SERVICES, world.namespace, service(name, LABELS, **spec))


async def start(
    world: World, name: str, address: str = "", *, ready: str = "True", phase: str = "Running", **spec: Any
) -> None:
    """A pod that its board tells of; without an address it does not yet."""
    made = pod(name, labels=LABELS, spec={"nodeName": "n", **spec})
    await world.client.create(PODS, world.namespace, made)
    if address:
        conditions = [{"type": "Ready", "status": ready}]
        await tell(world, name, phase=phase, podIP=address, podIPs=[{"ip": address}], conditions=conditions)


async def stop(world: World, name: str) -> None:
    await world.client.delete(PODS, world.namespace, name, options={"gracePeriodSeconds": 0})


def listening(*ports: tuple[str, int] | tuple[str, int, str]) -> JsonObject:
    """A container with named ports: (name, number), or (name, number, protocol)."""
    named = [dict(zip(("name", "containerPort", "protocol"), port, strict=False)) for port in ports]
    return container(ports=named)


async def addresses(world: World, name: str = "web") -> tuple[list[str], list[str]]:
    """(addresses, notReadyAddresses) of the Endpoints."""
    subsets = (await world.client.get(ENDPOINTS, world.namespace, name)).get("subsets") or ()
    ready, waiting = (
        [one["ip"] for subset in subsets for one in subset.get(kind) or ()]
        for kind in ("addresses", "notReadyAddresses")
    )
    return ready, waiting


async def agreed(world: World) -> tuple[list[str], list[str]]:
    """(addresses, notReadyAddresses), of which the slices say the same while time stands still."""
    told = await addresses(world)
    endpoints = [endpoint for one in await slices(world) for endpoint in one["endpoints"]]
    assert sorted((endpoint["addresses"][0], endpoint["conditions"]["ready"]) for endpoint in endpoints) == sorted(
        (address, ready) for ready, among in zip((True, False), told, strict=True) for address in among
    )
    for endpoint in endpoints:
        flags = endpoint["conditions"]
        assert flags == {"ready": flags["ready"], "serving": flags["ready"], "terminating": False}
    return told


async def slices(world: World, name: str = "web") -> list[JsonObject]:
    chosen = f"kubernetes.io/service-name={name}"
    return (await world.client.list(SLICES, world.namespace, label_selector=chosen)).items


async def by_ports(world: World, name: str = "web") -> dict[tuple[int, ...], list[str]]:
    """Addresses by the numbers of their ports: of the subsets, and the same in the slices that have ports."""
    subsets = (await world.client.get(ENDPOINTS, world.namespace, name)).get("subsets") or ()
    found = {
        tuple(port["port"] for port in subset["ports"]): [one["ip"] for one in subset["addresses"]]
        for subset in subsets
    }
    told = {
        tuple(port["port"] for port in one["ports"]): [endpoint["addresses"][0] for endpoint in one["endpoints"]]
        for one in await slices(world, name)
    }
    assert {ports: held for ports, held in told.items() if ports} == found
    return found


async def heard(events: AsyncIterator[WatchEvent]) -> WatchEvent:
    """The next event of a watch, which is there already or about to come."""
    async with asyncio.timeout(PATIENCE):
        return await anext(events)


# computed, and read-only


@pytest.mark.rule("E1")
async def test_e1_they_are_there_from_the_moment_the_service_is(alone: World) -> None:
    made = await serve(alone)
    endpoints = await alone.client.get(ENDPOINTS, "default", "web")
    assert "subsets" not in endpoints
    (only,) = await slices(alone)
    assert (only["endpoints"], only["ports"], only["addressType"]) == ([], [], "IPv4")
    metadata = only["metadata"]
    assert metadata["labels"] == {
        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
        "kubernetes.io/service-name": "web",
    }
    assert [one["uid"] for one in metadata["ownerReferences"]] == [made["metadata"]["uid"]]
    await alone.client.delete(SERVICES, "default", "web")
    assert await slices(alone) == []
    with pytest.raises(ApiError, match='endpoints "web" not found'):
        await alone.client.get(ENDPOINTS, "default", "web")


@pytest.mark.rule("E1")
@pytest.mark.parametrize("path", ["/api/v1", "/apis/discovery.k8s.io/v1"])
@pytest.mark.parametrize("name", ["the one there", "another"])
async def test_e1_every_write_is_405_method_not_allowed(alone: VirtualWorld, path: str, name: str) -> None:
    await serve(alone)
    await start(alone, "p", "10.0.0.1")
    (only,) = await slices(alone)
    plural, there = ("endpoints", "web") if path == "/api/v1" else ("endpointslices", only["metadata"]["name"])
    collection = f"{path}/namespaces/default/{plural}"
    target = there if name == "the one there" else "another"
    obj = {"metadata": {"name": target}, **({} if plural == "endpoints" else {"addressType": "IPv4", "endpoints": []})}
    merge = {"Content_Type": "application/merge-patch+json"}
    async with connected(alone.cluster.port) as wire:
        before = (await wire("GET", collection)).json()["items"]
        answers = [
            await wire("POST", collection, obj),
            await wire("PUT", f"{collection}/{target}", obj),
            await wire("PATCH", f"{collection}/{target}", {"metadata": {"labels": {"a": "b"}}}, **merge),
            await wire("DELETE", f"{collection}/{target}"),
            await wire("DELETE", collection),
            await wire("POST", f"{collection}?dryRun=All", obj),
        ]
        assert [(answer.status, answer.json()["reason"]) for answer in answers] == [(405, "MethodNotAllowed")] * 6
        assert (await wire("GET", collection)).json()["items"] == before


@pytest.mark.rule("E1")
async def test_e1_without_the_loop_they_are_what_users_write(make_world: MakeWorld) -> None:
    world = await make_world(nodes=0, controllers="*,-endpoints")
    await serve(world)
    await start(world, "p", "10.0.0.1")
    assert await slices(world) == []
    written = {"metadata": {"name": "web"}, "subsets": [{"addresses": [{"ip": "10.9.9.9"}], "ports": [{"port": 1}]}]}
    await world.client.create(ENDPOINTS, "default", written)
    await world.wait(60)
    found = await world.client.get(ENDPOINTS, "default", "web")
    assert found["subsets"][0]["addresses"] == [{"ip": "10.9.9.9"}]
    await world.client.delete(ENDPOINTS, "default", "web")


@pytest.mark.everywhere
@pytest.mark.rule("E1", "E5")
async def test_e1_a_watch_tells_what_a_read_would_show(world: World) -> None:
    await serve(world)
    async with world.client.watch(ENDPOINTS, world.namespace, field_selector="metadata.name=web") as events:
        assert (await heard(events)).type == "ADDED"
        await world.client.create(PODS, world.namespace, pod("p", labels=LABELS))

        async def ready() -> list[str]:
            return (await addresses(world))[0]

        told = await world.until(ready, "the pod is an address", world.timings.reconcile)
        seen: list[str] = []
        while not seen:
            event = await heard(events)
            assert event.type == "MODIFIED"
            subsets = event.object.get("subsets") or ()
            seen = [one["ip"] for subset in subsets for one in subset.get("addresses") or ()]
        assert seen == told


@pytest.mark.rule("E1")
async def test_e1_a_watch_tells_nothing_where_nothing_has_changed(alone: World) -> None:
    await serve(alone)
    async with alone.client.watch(SLICES, "default", label_selector=OF_WEB) as events:
        assert (await heard(events)).type == "ADDED"
        await start(alone, "p", "10.0.0.1", ready="False")
        await alone.wait(0)
        await alone.client.patch(PODS, "default", "p", {"metadata": {"annotations": {"a": "b"}}})
        await tell(alone, "p", message="of no interest")
        await alone.wait(0)
        await tell(alone, "p", conditions=[{"type": "Ready", "status": "True"}])
        await alone.wait(0)
        told = [await heard(events) for _ in range(2)]
    flags = [event.object["endpoints"][0]["conditions"]["ready"] for event in told]
    assert ([event.type for event in told], flags) == (["MODIFIED", "MODIFIED"], [False, True])


# whose pods


@pytest.mark.rule("E2")
async def test_e2_pods_of_its_namespace_that_match_and_have_an_address(alone: World) -> None:
    await alone.client.create(NAMESPACES, "", {"metadata": {"name": "other"}})
    await serve(alone)
    await alone.client.create(SERVICES, "other", service("web", LABELS))
    await start(alone, "p", "10.0.0.1")
    await start(alone, "without-address")
    await alone.client.create(PODS, "default", pod("unlike", labels={"app": "other"}, spec={"nodeName": "n"}))
    await tell(alone, "unlike", phase="Running", podIP="10.0.0.2", podIPs=[{"ip": "10.0.0.2"}])
    assert await agreed(alone) == (["10.0.0.1"], [])
    assert "subsets" not in await alone.client.get(ENDPOINTS, "other", "web")
    await alone.client.patch(PODS, "default", "unlike", {"metadata": {"labels": LABELS}})
    assert await agreed(alone) == (["10.0.0.1"], ["10.0.0.2"])


@pytest.mark.rule("E2")
@pytest.mark.parametrize("spec", [{}, {"type": "ExternalName", "externalName": "a.example", "selector": LABELS}])
async def test_e2_services_that_select_nothing_have_none(alone: World, spec: Mapping[str, Any]) -> None:
    made = {"metadata": {"name": "web"}, "spec": {"ports": [{"port": 80}], **spec}}
    await alone.client.create(SERVICES, "default", made)
    await start(alone, "p", "10.0.0.1")
    for resource in (ENDPOINTS, SLICES):  # those of the API server alone
        assert [obj["metadata"]["name"] for obj in (await alone.client.list(resource)).items] == ["kubernetes"]


@pytest.mark.rule("E2")
async def test_e2_a_pod_that_is_terminating_is_none_from_then_on(alone: World) -> None:
    await serve(alone)
    for number in (1, 2):
        await start(alone, f"p{number}", f"10.0.0.{number}")
    await alone.client.delete(PODS, "default", "p1")
    assert "deletionTimestamp" in (await alone.client.get(PODS, "default", "p1"))["metadata"]
    assert await agreed(alone) == (["10.0.0.2"], [])


@pytest.mark.everywhere
@pytest.mark.rule("E2", "E6")
async def test_e2_pods_of_boards_come_become_ready_and_go(world: World) -> None:
    await serve(world)
    never = {"sim.kube32.io/ready-after-seconds": "36000"}
    await world.client.create(PODS, world.namespace, pod("soon", labels=LABELS))
    await world.client.create(PODS, world.namespace, pod("late", labels=LABELS, annotations=never))

    async def one_of_each() -> tuple[str, str] | None:
        ready, waiting = await addresses(world)
        return (ready[0], waiting[0]) if len(ready) == len(waiting) == 1 else None

    soon, late = await world.until(one_of_each, "both pods have addresses", world.timings.reconcile) or ("", "")
    for name, address in (("soon", soon), ("late", late)):
        assert (await world.client.get(PODS, world.namespace, name))["status"]["podIP"] == address
    await world.client.delete(PODS, world.namespace, "soon")

    async def gone() -> bool:
        return await addresses(world) == ([], [late])

    await world.until(gone, "the pod is no address any more", 0)


# ports


@pytest.mark.rule("E3", "E4")
async def test_e4_a_named_port_with_different_numbers_makes_subsets_and_slices(alone: World) -> None:
    await serve(alone, ports=[{"name": "http", "port": 80, "targetPort": "web"}])
    for number, port in ((1, 8080), (2, 9090), (3, 8080)):
        await start(alone, f"p{number}", f"10.0.0.{number}", containers=[listening(("web", port))])
    assert await by_ports(alone) == {(8080,): ["10.0.0.1", "10.0.0.3"], (9090,): ["10.0.0.2"]}
    subsets = (await alone.client.get(ENDPOINTS, "default", "web"))["subsets"]
    assert subsets[0]["ports"] == [{"name": "http", "port": 8080, "protocol": "TCP"}]


@pytest.mark.rule("E3")
async def test_e3_a_named_port_is_looked_up_by_protocol_in_all_containers(alone: World) -> None:
    ports = [
        {"name": "a", "port": 1, "targetPort": "dns", "protocol": "TCP"},
        {"name": "b", "port": 2, "targetPort": "dns", "protocol": "UDP"},
        {"name": "c", "port": 3, "targetPort": "admin"},
        {"name": "d", "port": 4, "targetPort": 7},
        {"name": "e", "port": 5},
    ]
    await serve(alone, ports=ports)
    second = {**listening(("admin", 9000), ("dns", 54)), "name": "second"}
    await start(alone, "p", "10.0.0.1", containers=[listening(("dns", 53, "UDP"), ("other", 1)), second])
    (subset,) = (await alone.client.get(ENDPOINTS, "default", "web"))["subsets"]
    assert {(port["name"], port["port"], port["protocol"]) for port in subset["ports"]} == {
        ("a", 54, "TCP"),
        ("b", 53, "UDP"),
        ("c", 9000, "TCP"),
        ("d", 7, "TCP"),
        ("e", 5, "TCP"),
    }


@pytest.mark.rule("E3")
async def test_e3_a_named_port_that_resolves_nowhere_leads_nowhere(alone: World) -> None:
    await serve(alone, ports=[{"name": "http", "port": 80, "targetPort": "web"}, {"name": "b", "port": 81}])
    await serve(alone, "only", ports=[{"port": 80, "targetPort": "web"}])
    await start(alone, "p", "10.0.0.1", containers=[listening(("web", 80, "UDP"))])
    assert await by_ports(alone) == {(81,): ["10.0.0.1"]}
    assert "subsets" not in await alone.client.get(ENDPOINTS, "default", "only")
    (only,) = await slices(alone, "only")
    assert (only["ports"], len(only["endpoints"])) == ([], 1)


@pytest.mark.rule("E4")
async def test_e4_a_service_whose_ports_change_moves_nobody(alone: World) -> None:
    await serve(alone)
    for number in range(3):
        await start(alone, f"p{number}", f"10.0.0.{number}")
    (before,) = await slices(alone)
    await alone.client.patch(SERVICES, "default", "web", {"spec": {"ports": [{"port": 80, "targetPort": 9090}]}})
    (after,) = await slices(alone)
    assert (before["ports"][0]["port"], after["ports"][0]["port"]) == (8080, 9090)
    assert (after["metadata"]["uid"], after["endpoints"]) == (before["metadata"]["uid"], before["endpoints"])
    assert after["metadata"]["generation"] == before["metadata"]["generation"] + 1


@pytest.mark.rule("E4")
async def test_e4_a_headless_service_without_ports_has_addresses_and_a_label(alone: World) -> None:
    made = {"metadata": {"name": "web"}, "spec": {"clusterIP": "None", "selector": LABELS}}
    await alone.client.create(SERVICES, "default", made)
    await start(alone, "p", "10.0.0.1", hostname="db-0", subdomain="web")
    endpoints = await alone.client.get(ENDPOINTS, "default", "web")
    ((address,),) = [subset["addresses"] for subset in endpoints["subsets"]]
    assert (address["ip"], address["hostname"], address["nodeName"]) == ("10.0.0.1", "db-0", "n")
    assert "ports" not in endpoints["subsets"][0]
    assert endpoints["metadata"]["labels"]["service.kubernetes.io/headless"] == ""
    (only,) = await slices(alone)
    assert (only["ports"], only["endpoints"][0]["hostname"]) == ([], "db-0")


# ready or not


@pytest.mark.rule("E5", "E6")
@pytest.mark.parametrize("ready", ["True", "False", "Unknown"])
@pytest.mark.parametrize("phase", ["Pending", "Running", "Succeeded", "Failed"])
@pytest.mark.parametrize("publish", [False, True])
async def test_e5_ready_running_pods_are_addresses_and_e6_all_others_are_not_ready(
    alone: World, phase: str, ready: str, publish: bool
) -> None:
    await serve(alone, publishNotReadyAddresses=publish)
    await start(alone, "p", "10.0.0.1", phase=phase, ready=ready)
    serving = phase == "Running" and ready == "True"
    assert await agreed(alone) == ((["10.0.0.1"], []) if serving else ([], ["10.0.0.1"]))


@pytest.mark.rule("E5")
async def test_e5_an_address_tells_its_pod_and_its_node(alone: World) -> None:
    await serve(alone)
    await start(alone, "p", "10.0.0.1")
    uid = (await alone.client.get(PODS, "default", "p"))["metadata"]["uid"]
    target = {"kind": "Pod", "namespace": "default", "name": "p", "uid": uid}
    (subset,) = (await alone.client.get(ENDPOINTS, "default", "web"))["subsets"]
    assert subset["addresses"] == [{"ip": "10.0.0.1", "nodeName": "n", "targetRef": target}]
    (only,) = await slices(alone)
    conditions = {"ready": True, "serving": True, "terminating": False}
    assert only["endpoints"] == [
        {"addresses": ["10.0.0.1"], "conditions": conditions, "nodeName": "n", "targetRef": target}
    ]


# a thousand pods


async def layout(world: World) -> dict[str, str]:
    """The slice of each pod, by name."""
    found = await slices(world)
    assert all(len(one["endpoints"]) <= 100 for one in found)
    return {endpoint["targetRef"]["name"]: one["metadata"]["name"] for one in found for endpoint in one["endpoints"]}


@pytest.mark.rule("E4")
async def test_e4_under_a_thousand_pods_each_stays_in_its_slice_as_others_come_and_go(alone: World) -> None:
    rng = random.Random(1)
    await serve(alone)
    for number in range(1000):
        await start(alone, f"p{number}", f"10.0.{number // 250}.{number % 250}")
    before = await layout(alone)
    assert (len(before), len(set(before.values()))) == (1000, 10)
    names = set(before.values())
    for step in range(3):
        gone = rng.sample(sorted(before), 20)
        for name in gone:
            await stop(alone, name)
        for number in range(15):
            await start(alone, f"new-{step}-{number}", f"10.1.{step}.{number}")
        after = await layout(alone)
        assert {pod: where for pod, where in after.items() if pod in before} == {
            pod: where for pod, where in before.items() if pod not in gone
        }
        assert set(after.values()) == names
        before = after
    assert len((await agreed(alone))[0]) == len(before) == 985


@pytest.mark.rule("E1", "E4")
async def test_e4_of_a_thousand_pods_one_that_changes_is_told_with_its_slice_alone(alone: World) -> None:
    await serve(alone)
    for number in range(1000):
        await start(alone, f"p{number}", f"10.0.{number // 250}.{number % 250}")
    where = await layout(alone)
    async with alone.client.watch(SLICES, "default", label_selector=OF_WEB) as events:
        for _ in range(10):
            await heard(events)
        for change in ("False", "True"):
            await tell(alone, "p500", conditions=[{"type": "Ready", "status": change}])
            await alone.wait(0)
            event = await heard(events)
            assert (event.type, event.object["metadata"]["name"]) == ("MODIFIED", where["p500"])
        await stop(alone, "p7")
        await alone.wait(0)
        assert (await heard(events)).object["metadata"]["name"] == where["p7"]
        await start(alone, "last", "10.1.0.0")
        await alone.wait(0)
        assert (await heard(events)).object["metadata"]["name"] == where["p7"]  # the only one with room

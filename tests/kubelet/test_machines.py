"""Ordinary nodes: what was written for ordinary clusters runs on them, beside boards that stay as they are."""

from __future__ import annotations

import ipaddress
from typing import Any

import pytest

from kube32_sim.api import quantity
from kube32_sim.client import DEPLOYMENTS, NODES, PODS
from kube32_sim.cluster import Cluster
from kube32_sim.kubelet import addresses
from kube32_sim.kubelet.boards import boards, machines
from kube32_sim.kubelet.claims import admit, free
from kube32_sim.kubelet.node_object import node_object
from kube32_sim.options import LINUX
from kube32_sim.preview.kestrel import KestrelPlacer
from kube32_sim.preview.kube32 import Kube32Placer
from kube32_sim.preview.placements import ClusterState, WantedPod

JsonObject = dict[str, Any]
MACHINE = machines()[LINUX]
MI = 1024 * 1024


def pod_spec(requests: dict[str, str] | None = None, **spec: Any) -> JsonObject:
    return {"containers": [{"name": "web", "image": "nginx:1.29", "resources": {"requests": requests or {}}}], **spec}


def chart(replicas: int) -> JsonObject:
    """A Deployment such as an ordinary chart makes."""
    spec = pod_spec({"cpu": "100m", "memory": "100Mi"}, nodeSelector={"kubernetes.io/os": "linux"})
    labels = {"app.kubernetes.io/name": "web"}
    template = {"metadata": {"labels": labels}, "spec": spec}
    return {
        "metadata": {"name": "web", "labels": labels},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template},
    }


def pod(name: str, spec: JsonObject) -> JsonObject:
    return {"metadata": {"name": name, "namespace": "default"}, "spec": spec}


async def seen(cluster: Cluster) -> list[tuple[str, str]]:
    """(node, phase) of all pods."""
    pods = (await cluster.client.list(PODS, "default")).items
    return sorted((pod["spec"].get("nodeName", ""), pod["status"]["phase"]) for pod in pods)


async def memory_left(cluster: Cluster, node: str = "linux-0") -> int:
    found = (await cluster.client.get(NODES, "", node))["status"]["allocatable"]["memory"]
    return quantity.value(found)


# what it is


def test_a_machine_has_nothing_of_a_board() -> None:
    node = node_object("linux-0", MACHINE, MACHINE.allocatable(), 0.0)
    amounts = {"cpu": "4", "memory": "16Gi", "ephemeral-storage": "100Gi", "pods": "110"}
    assert node["status"]["capacity"] == amounts
    assert node["status"]["allocatable"] == amounts | {"memory": "15Gi"}
    labels = node["metadata"]["labels"]
    assert labels.items() >= {"kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}.items()
    assert "node.kubernetes.io/instance-type" in labels
    assert not [label for label in labels if "esp32" in label or "kube32.io" in label]


def test_a_machine_says_that_it_is_linux_and_simulated() -> None:
    info = node_object("linux-0", MACHINE, {}, 0.0)["status"]["nodeInfo"]
    assert (info["operatingSystem"], info["architecture"]) == ("linux", "amd64")
    assert all("kube32-sim" in info[key] for key in ("osImage", "kernelVersion", "containerRuntimeVersion"))
    assert "ESP" not in str(info)


def test_addresses_are_apart_from_those_of_boards() -> None:
    number = addresses.node_number("linux-16383")
    assert ipaddress.ip_address(addresses.node_ip(number)) in ipaddress.ip_network("172.16.0.0/16")
    pods = ipaddress.ip_network(addresses.pod_cidr(number))
    assert pods.subnet_of(ipaddress.ip_network("100.64.0.0/10"))
    assert ipaddress.ip_address(addresses.pod_ip(number, set())) in pods


@pytest.mark.parametrize(
    "resource", ["esp32.io/gpio", "esp32.io/gpio-5", "esp32.io/i2c-0", "esp32.io/rmt-tx", "hardware.kube32.io/wifi"]
)
def test_a_machine_refuses_what_only_boards_have(resource: str) -> None:
    refused = admit(pod("p", pod_spec({resource: "1"})), MACHINE, [])
    assert refused is not None
    assert refused.reason == f"OutOf{resource}"
    assert refused.message.endswith("requested: 1, used: 0, capacity: 0")


def test_what_is_free_is_memory_alone() -> None:
    rest = free(MACHINE, [{"memory": 100 * MI, "cpu": 2}])
    assert rest == MACHINE.allocatable() | {"memory": MACHINE.allocatable()["memory"] - 100 * MI}


# in a cluster


async def test_a_chart_runs_on_the_ordinary_node_and_the_boards_stay_empty() -> None:
    async with Cluster(nodes="esp32-s3=2,linux=1", clock="virtual", controllers="*") as cluster:
        before = await memory_left(cluster, "esp32-s3-0")
        await cluster.client.create(DEPLOYMENTS, "default", chart(3))
        await cluster.advance("30s")
        assert await seen(cluster) == [("linux-0", "Running")] * 3
        assert (await cluster.client.get(DEPLOYMENTS, "default", "web"))["status"]["readyReplicas"] == 3
        assert await memory_left(cluster) == MACHINE.allocatable()["memory"] - 300 * MI
        assert await memory_left(cluster, "esp32-s3-0") == before


async def test_without_an_ordinary_node_the_chart_fits_nowhere() -> None:
    async with Cluster(nodes=2, clock="virtual", controllers="*") as cluster:
        await cluster.client.create(DEPLOYMENTS, "default", chart(1))
        await cluster.advance("30s")
        assert await seen(cluster) == [("", "Pending")]


async def test_ordinary_nodes_alone_share_pods_by_memory_until_they_are_full() -> None:
    async with Cluster(nodes=2, board=LINUX, clock="virtual", controllers="*") as cluster:
        assert [node["metadata"]["name"] for node in (await cluster.client.list(NODES)).items] == ["linux-0", "linux-1"]
        for number in range(5):
            await cluster.client.create(PODS, "default", pod(f"p{number}", pod_spec({"memory": "7Gi"})))
            await cluster.advance("5s")
        assert await seen(cluster) == [("", "Pending"), *[("linux-0", "Running")] * 2, *[("linux-1", "Running")] * 2]


async def test_a_pod_that_declares_no_memory_counts_16_kib() -> None:
    async with Cluster(nodes=1, board=LINUX, clock="virtual") as cluster:
        await cluster.client.create(PODS, "default", pod("p", pod_spec()))
        await cluster.advance("5s")
        assert await seen(cluster) == [("linux-0", "Running")]
        assert await memory_left(cluster) == MACHINE.allocatable()["memory"] - 16 * 1024


async def test_what_boards_can_have_goes_to_boards() -> None:
    """Half of a node's score is the share of its pins that is free: an ordinary node has none."""
    async with Cluster(nodes="linux=1,esp32-s3=1", clock="virtual") as cluster:
        for name, requests in (("pins", {"esp32.io/gpio": "2"}), ("small", {"memory": "16Ki"})):
            await cluster.client.create(PODS, "default", pod(name, pod_spec(requests)))
            await cluster.advance("5s")
        assert await seen(cluster) == [("esp32-s3-0", "Running")] * 2


async def test_a_refusal_on_an_ordinary_node_is_told_in_the_pods_status() -> None:
    async with Cluster(nodes=1, board=LINUX, clock="virtual") as cluster:
        await cluster.client.create(PODS, "default", pod("p", pod_spec({"memory": "16Gi"}, nodeName="linux-0")))
        await cluster.advance("5s")
        status = (await cluster.client.get(PODS, "default", "p"))["status"]
        assert (status["phase"], status["reason"]) == ("Failed", "OutOfmemory")


# in a preview


def machine(memory: int) -> JsonObject:
    """An ordinary node that reports so much memory as free."""
    node = node_object("linux-0", MACHINE, MACHINE.allocatable() | {"memory": memory}, 0.0)
    return {**node, "metadata": {**node["metadata"], "resourceVersion": "5"}}


def board(name: str = "esp32-0") -> JsonObject:
    profile = boards()["esp32-s3"]
    node = node_object(name, profile, profile.allocatable(), 0.0)
    return {**node, "metadata": {**node["metadata"], "resourceVersion": "5"}}


def test_the_preview_places_a_chart_beside_boards() -> None:
    placer = Kube32Placer(ClusterState([board(), machine(15 << 30)], []))
    spec = chart(1)["spec"]["template"]["spec"]
    placement = placer.place(WantedPod(pod("web", spec)), details=True)
    assert (placement.node, placement.note) == ("linux-0", "")
    assert placer.place(WantedPod(pod("led", pod_spec({"esp32.io/gpio": "1"}))), details=True).node == "esp32-0"


def test_the_preview_knows_that_an_ordinary_node_reports_what_is_free() -> None:
    """Kestrel counts the pod that runs itself; its 10 GiB are not to be missing twice."""
    running = pod("a", pod_spec({"memory": "10Gi"}, nodeName="linux-0")) | {"status": {"phase": "Running"}}
    running["metadata"] |= {"uid": "a", "resourceVersion": "1"}
    state = ClusterState([machine(5 << 30)], [running])
    wanted = [WantedPod(pod("b", pod_spec({"memory": "5Gi"}))), WantedPod(pod("c", pod_spec({"memory": "1Gi"})))]
    for placer in (Kube32Placer(state), KestrelPlacer(state, wanted)):
        assert [placer.place(one, details=False).node for one in wanted] == ["linux-0", ""], placer.profile
    assert Kube32Placer(state).warnings == ()


def test_the_preview_tells_what_an_ordinary_node_would_refuse() -> None:
    placer = Kube32Placer(ClusterState([machine(15 << 30)], []))
    spec = pod_spec({"hardware.kube32.io/wifi": "1"})
    note = placer.place(WantedPod(pod("p", spec)), details=False).note
    assert note == "linux-0 refuses it: OutOfhardware.kube32.io/wifi"

"""What a real cluster's `kubectl get -A -o yaml` says is loaded, and everything goes on from there."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kube32_sim import Cluster
from kube32_sim.api.errors import ApiError
from kube32_sim.client import DEPLOYMENTS, EVENTS, NODES, PODS, SERVICES, Resource
from tests.snapshot.loads import KIND, load_files

JsonObject = dict[str, Any]

OVENS = Resource("example.com", "v1", "ovens")
CONFIG_MAPS = Resource("", "v1", "configmaps")
ADDRESSES = Resource("networking.k8s.io", "v1", "ipaddresses")
FAULT = "sim.kube32.io/fault"


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    async with Cluster(nodes=0, clock="virtual") as cluster:
        yield cluster


async def places(cluster: Cluster) -> dict[str, tuple[str, str]]:
    """Of each pod: its uid and its node."""
    pods = (await cluster.client.list(PODS)).items
    return {pod["metadata"]["name"]: (pod["metadata"]["uid"], pod["spec"]["nodeName"]) for pod in pods}


async def readiness(cluster: Cluster) -> dict[str, str]:
    nodes = (await cluster.client.list(NODES)).items
    return {
        node["metadata"]["name"]: condition["status"]
        for node in nodes
        for condition in node["status"]["conditions"]
        if condition["type"] == "Ready"
    }


async def test_what_was_left_out_or_changed_is_told(cluster: Cluster) -> None:
    done = await load_files(cluster, KIND)
    assert done.notes == [
        "Endpoints (v1): 1 left out: they are computed from Services and Pods",
        "EndpointSlice (discovery.k8s.io/v1): 1 left out: they are computed from Services and Pods",
        "VolumeSnapshot (snapshot.storage.k8s.io/v1): 1 left out: the simulator does not serve this type",
        "the virtual clock was set to 2026-03-02T10:15:03Z, the time of the snapshot",
        "5 pods of ReplicaSets belong to their Deployments now",
        "nodes that were not Ready are switched off (sim.kube32.io/fault): kind-worker3",
        "4 nodes are run by the simulator from now on",
    ]
    assert done.loaded == 48


async def test_the_clock_goes_on_at_a_whole_second(cluster: Cluster, tmp_path: Path) -> None:
    """Loops look every half second: a node that is lost in the moment of the load is given up after 330 s sharp."""
    header = {"apiVersion": "sim.kube32.io/v1alpha1", "kind": "Snapshot", "spec": {"time": "2026-03-02T10:15:03.4Z"}}
    file = tmp_path / "state.jsonl"
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}}
    file.write_text("\n".join(map(json.dumps, (header, namespace))))
    await load_files(cluster, str(file))
    assert cluster.clock.timestamp() == "2026-03-02T10:15:04Z"
    assert cluster.clock.now() == int(cluster.clock.now())


async def test_pods_stay_where_they_are(cluster: Cluster) -> None:
    await load_files(cluster, KIND)
    before = await places(cluster)
    assert len(before) == 10
    await cluster.advance("10m")
    assert await places(cluster) == before
    ready = {"kind-control-plane": "True", "kind-worker": "True", "kind-worker2": "True", "kind-worker3": "Unknown"}
    assert await readiness(cluster) == ready
    web = await cluster.client.get(DEPLOYMENTS, "shop", "web")
    assert web["status"]["updatedReplicas"] == web["status"]["availableReplicas"] == 3
    assert web["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "2"
    restarts = [status["restartCount"] for status in (await pod(cluster, "web-6b7f8d9c5-aaaaa"))["containerStatuses"]]
    assert restarts == [1]


async def pod(cluster: Cluster, name: str) -> JsonObject:
    status: JsonObject = (await cluster.client.get(PODS, "shop", name))["status"]
    return status


async def test_a_node_that_fails_loses_its_pods(cluster: Cluster) -> None:
    await load_files(cluster, KIND)
    before = await places(cluster)
    await cluster.client.patch(NODES, "", "kind-worker", {"metadata": {"annotations": {FAULT: "stopped"}}})
    await cluster.advance("325s")
    assert await places(cluster) == before
    await cluster.advance("15s")
    after = await places(cluster)
    moved = {name for name in before if before[name] != after[name]}
    assert moved == {"coredns-6b7f8d9c5-aaaaa", "web-6b7f8d9c5-aaaaa", "web-6b7f8d9c5-ccccc"}
    assert {after[name][1] for name in moved} <= {"kind-control-plane", "kind-worker2"}
    assert (await pod(cluster, "web-6b7f8d9c5-aaaaa"))["phase"] == "Running"


async def test_a_lost_node_comes_back_when_it_is_healed(cluster: Cluster) -> None:
    await load_files(cluster, KIND)
    await cluster.client.patch(NODES, "", "kind-worker3", {"metadata": {"annotations": {FAULT: None}}})
    await cluster.advance("30s")
    node = await cluster.client.get(NODES, "", "kind-worker3")
    assert (await readiness(cluster))["kind-worker3"] == "True"
    assert "taints" not in node["spec"]


async def test_nodes_say_of_themselves_what_they_said(cluster: Cluster) -> None:
    await load_files(cluster, KIND)
    await cluster.advance("1m")
    node = await cluster.client.get(NODES, "", "kind-worker")
    status = node["status"]
    assert status["nodeInfo"]["containerRuntimeVersion"] == "containerd://2.1.3"
    assert status["addresses"][0] == {"type": "InternalIP", "address": "172.18.0.3"}
    assert (status["capacity"]["memory"], status["allocatable"]["cpu"]) == ("16384256Ki", "7910m")
    free = 16281856 - 4 * 64 * 1024  # four pods run there
    assert status["allocatable"]["memory"] == f"{free}Ki"
    assert "esp32.io/board" not in node["metadata"]["labels"]
    assert (await pod(cluster, "web-6b7f8d9c5-aaaaa"))["hostIP"] == "172.18.0.3"


async def test_a_deployment_goes_on(cluster: Cluster) -> None:
    """It is scaled, and rolled out anew."""
    await load_files(cluster, KIND)
    before = await places(cluster)
    await cluster.client.patch(DEPLOYMENTS, "shop", "web", {"spec": {"replicas": 4}})
    await cluster.advance("10s")
    scaled = await places(cluster)
    assert before.items() < scaled.items()
    assert len(scaled) == len(before) + 1
    template = {"template": {"metadata": {"annotations": {"again": "1"}}}}
    await cluster.client.patch(DEPLOYMENTS, "shop", "web", {"spec": template})
    await cluster.advance("60s")
    left = {name for name in await places(cluster) if name.startswith("web")}
    assert len(left) == 4
    assert not left & scaled.keys()
    web = await cluster.client.get(DEPLOYMENTS, "shop", "web")
    assert web["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "3"


async def test_addresses_of_services_are_held(cluster: Cluster) -> None:
    await load_files(cluster, KIND)
    held = [address["metadata"]["name"] for address in (await cluster.client.list(ADDRESSES)).items]
    assert {"10.96.0.1", "10.96.0.10", "10.96.123.45"} <= set(held)
    taken = {"metadata": {"name": "late"}, "spec": {"clusterIP": "10.96.123.45", "ports": [{"port": 80}]}}
    with pytest.raises(ApiError, match="provided IP is already allocated"):
        await cluster.client.create(SERVICES, "default", taken)


async def test_custom_objects_have_their_type_and_status(cluster: Cluster) -> None:
    await load_files(cluster, KIND)
    oven = await cluster.client.get(OVENS, "shop", "first")
    assert (oven["spec"], oven["status"]) == ({"degrees": 220}, {"warm": True})


async def test_what_is_being_deleted_still_is(cluster: Cluster) -> None:
    await load_files(cluster, KIND)
    await cluster.advance("5m")
    held = await cluster.client.get(CONFIG_MAPS, "shop", "held")
    assert held["metadata"]["deletionTimestamp"] == "2026-03-02T10:00:00Z"
    await cluster.client.patch(CONFIG_MAPS, "shop", "held", {"metadata": {"finalizers": None}})
    assert "held" not in [each["metadata"]["name"] for each in (await cluster.client.list(CONFIG_MAPS)).items]


async def test_nobody_runs_nodes_that_are_left_alone(cluster: Cluster) -> None:
    await load_files(cluster, KIND, leave_nodes=True)
    node = await cluster.client.get(NODES, "", "kind-worker")
    assert "sim.kube32.io/runs-as" not in node["metadata"]["annotations"]
    await cluster.advance("2m")
    assert set((await readiness(cluster)).values()) == {"Unknown"}
    about = {event["involvedObject"]["name"] for event in (await cluster.client.list(EVENTS)).items}
    assert "kind-worker" in about


@pytest.fixture
def part(tmp_path: Path) -> str:
    """Pods and nodes alone."""
    whole = yaml.safe_load(Path(KIND).read_text())
    whole["items"] = [item for item in whole["items"] if item["kind"] in ("Pod", "Node")]
    file = tmp_path / "part.yaml"
    file.write_text(yaml.safe_dump(whole))
    return str(file)


async def test_part_of_a_cluster_is_no_garbage(cluster: Cluster, part: str) -> None:
    """What owned the pods is not there, and they stay."""
    done = await load_files(cluster, part)
    assert "Pod: 9 references to owners that are not there were left out" in done.notes
    assert "namespaces made, which the snapshot does not hold: shop" in done.notes
    before = await places(cluster)
    await cluster.advance("5m")
    assert await places(cluster) == before

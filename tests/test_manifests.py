"""The examples in manifests/, applied by the real kubectl to `serve` with its two boards."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kube32_sim.kubelet.boards import profiles
from kube32_sim.kubelet.node_object import amounts, node_labels
from tests.support.kubectl import Kubectl
from tests.support.servers import CLONE, running_server
from tests.support.waiting import until

MANIFESTS = CLONE / "manifests"


@pytest.fixture(scope="module")
def kubectl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    """A server of their own, for nodes belong to no namespace."""
    directory = tmp_path_factory.mktemp("manifests")
    with running_server(directory, "--reconcile-interval", "100ms") as server:
        yield Kubectl(server.kubeconfig, directory)


def pods(kubectl: Kubectl) -> dict[str, list[str]]:
    """Phases by the part of the names before the first dash."""
    found: dict[str, list[str]] = {}
    for pod in kubectl.json("get", "pods")["items"]:
        found.setdefault(pod["metadata"]["name"].partition("-")[0], []).append(pod["status"]["phase"])
    return {name: sorted(phases) for name, phases in found.items()}


def test_the_oversized_pod_alone_is_told_what_the_seed_tells(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", str(MANIFESTS / "oversized-pod.yaml"))
    event = until(lambda: events_of(kubectl, "oversized-pod"), "the scheduler says why")[0]
    assert event["message"] == (
        "0/2 nodes are available: 1 Insufficient esp32.io/psram, 1 node(s) didn't match Pod's node affinity/selector."
    )


def events_of(kubectl: Kubectl, name: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = kubectl.json("get", "events", f"--field-selector=involvedObject.name={name}")["items"]
    return items


def test_applied_as_a_whole_everything_else_runs_or_is_done(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", str(MANIFESTS))
    expected = {
        "blinky": ["Running"] * 3,
        "sensor": ["Running"] * 2,
        "calibration": ["Succeeded"] * 4,
        "oversized": ["Pending"],
    }
    until(lambda: pods(kubectl) == expected, "everything runs, but for the oversized pod")
    kubectl("wait", "--for=condition=Available", "deployment/blinky", "--timeout=20s")
    kubectl("wait", "--for=condition=Complete", "job/calibration", "--timeout=20s")
    assert kubectl("logs", "-l", "app=sensor", "--tail=1") == "t=21.5 C\n" * 2
    slices = kubectl.json("get", "endpointslices", "-l", "kubernetes.io/service-name=board-status")["items"]
    assert sorted(one["ports"][0]["port"] for one in slices) == [8080, 9090]
    nodes = {node["metadata"]["name"]: node["spec"] for node in kubectl.json("get", "nodes")["items"]}
    assert [name for name, spec in nodes.items() if spec.get("unschedulable")] == [
        "greenhouse-0",
        "greenhouse-1",
        "greenhouse-2",
    ]


def test_applied_again_nothing_changes_but_nodes_that_report_their_status(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", str(MANIFESTS))
    lines = kubectl("apply", "-f", str(MANIFESTS)).splitlines()
    assert [line for line in lines if not line.startswith("node/") and not line.endswith(" unchanged")] == []


@pytest.mark.parametrize("path", sorted(MANIFESTS.glob("*.yaml")), ids=lambda path: path.name)
def test_each_says_what_to_look_at(path: Path) -> None:
    text = path.read_text()
    assert text.startswith("# ")
    assert "# Look at\n" in text
    assert "kubectl" in text


def test_boards_on_paper_have_the_figures_of_their_profile() -> None:
    nodes = list(yaml.safe_load_all((MANIFESTS / "fleet.yaml").read_text()))
    assert len(nodes) == 3
    for node in nodes:
        metadata, status = node["metadata"], node["status"]
        profile = profiles()[metadata["labels"]["esp32.io/board"]]
        assert status["capacity"].items() <= amounts(profile.capacity()).items()
        assert status["allocatable"].items() <= amounts(profile.allocatable()).items()
        assert metadata["labels"].items() - node_labels(metadata["name"], profile).items() == {("site", "greenhouse")}

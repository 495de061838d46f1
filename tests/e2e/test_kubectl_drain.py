"""`kubectl drain` to the end: whom it refuses to evict, budgets that make it wait, boards that do not answer.

And what becomes of the pods of a node that is deleted.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.kubectl import Kubectl
from tests.support.servers import Server, running_server
from tests.support.waiting import until

QUICK = (
    "--reconcile-interval", "100ms", "--lease-check-interval", "50ms",
    "--node-lease-duration-seconds", "3", "--eviction-timeout", "500ms", "--default-toleration-seconds", "2",
)  # fmt: skip
"""Timeouts short enough to wait for."""

RETRIES = 'error when evicting pods/"{}" -n "{}" (will retry after 5s): '
VIOLATES = "Cannot evict pod as it would violate the pod's disruption budget."
TWO_BUDGETS = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One of this file's own: its nodes are drained as a whole."""
    with running_server(tmp_path_factory.mktemp("drain"), *QUICK) as server:
        yield server


@pytest.fixture
def kubectl(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    """In a namespace of its own, which is gone afterwards; both boards are well then, and take pods again."""
    home = tmp_path_factory.mktemp("home-")
    kubectl = Kubectl(server.kubeconfig, home, home.name)
    kubectl("create", "namespace", kubectl.namespace)
    yield kubectl
    kubectl("annotate", "nodes", "--all", "sim.kube32.io/fault-")
    kubectl("uncordon", "esp32-0", "esp32-1")
    kubectl("wait", "--for=condition=Ready", "nodes", "--all", "--timeout=30s")
    kubectl("delete", "namespace", kubectl.namespace, "--timeout=30s")


def pod_spec(**more: Any) -> dict[str, Any]:
    return {"containers": [{"name": "c", "image": "i"}], **more}


def workload(kind: str, **spec: Any) -> dict[str, Any]:
    """A Deployment or DaemonSet, named as its kind, with that label too."""
    name = kind.lower()
    template = {"metadata": {"labels": {"app": name}}, "spec": pod_spec()}
    wanted = {"selector": {"matchLabels": {"app": name}}, "template": template, **spec}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": wanted}


def bare_pod(name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": pod_spec(**spec)}


def create(kubectl: Kubectl, *objects: dict[str, Any]) -> None:
    items = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
    kubectl("create", "-f", "-", stdin=json.dumps(items))


def places(kubectl: Kubectl, app: str) -> dict[str, str]:
    """Nodes of the pods with a label, by the pods' names."""
    found = kubectl.json("get", "pods", "-l", f"app={app}")["items"]
    return {pod["metadata"]["name"]: pod["spec"].get("nodeName", "") for pod in found}


def test_whom_drain_evicts_only_when_told_to(kubectl: Kubectl) -> None:
    scratch = {"name": "scratch", "emptyDir": {}}
    create(
        kubectl,
        workload("DaemonSet"),
        bare_pod("bare", nodeName="esp32-0"),
        bare_pod("scratch", nodeName="esp32-0", volumes=[scratch]),
        bare_pod("done", nodeName="esp32-0", restartPolicy="Never"),
        bare_pod("elsewhere", nodeName="esp32-1"),
    )
    kubectl("annotate", "pod", "done", "sim.kube32.io/run-seconds=0")
    kubectl("rollout", "status", "daemonset/daemonset", "--timeout=20s")
    kubectl("wait", "--for=condition=Ready", "pod/bare", "pod/scratch", "--timeout=20s")
    kubectl("wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/done", "--timeout=20s")
    space = kubectl.namespace
    (on_it,) = [name for name, node in places(kubectl, "daemonset").items() if node == "esp32-0"]

    refused = kubectl.fails("drain", "esp32-0")
    assert f"cannot delete Pods that declare no controller (use --force to override): {space}/bare" in refused
    assert f"cannot delete DaemonSet-managed Pods (use --ignore-daemonsets to ignore): {space}/{on_it}" in refused
    assert f"cannot delete Pods with local storage (use --delete-emptydir-data to override): {space}/scratch" in refused

    flags = ("--ignore-daemonsets", "--force", "--delete-emptydir-data")
    tried = kubectl("drain", "esp32-0", *flags, "--dry-run=server")
    assert f"evicting pod {space}/bare (server dry run)\n" in tried
    assert len(kubectl.json("get", "pods")["items"]) == 6

    drained = kubectl("drain", "esp32-0", *flags, "--timeout=30s").splitlines()
    assert {"pod/bare evicted", "pod/scratch evicted", "pod/done evicted"} <= set(drained)
    assert drained[-1] == "node/esp32-0 drained"
    left = {pod["metadata"]["name"] for pod in kubectl.json("get", "pods")["items"]}
    assert left == {"elsewhere", *places(kubectl, "daemonset")}
    assert sorted(places(kubectl, "daemonset").values()) == ["esp32-0", "esp32-1"]


def test_drain_is_refused_by_a_budget_until_it_allows_it(kubectl: Kubectl) -> None:
    kubectl("cordon", "esp32-1")
    create(kubectl, workload("Deployment", replicas=1))
    kubectl("create", "pdb", "one", "--selector=app=deployment", "--min-available=1")
    kubectl("rollout", "status", "deployment/deployment", "--timeout=20s")
    kubectl("wait", "--for=jsonpath={.status.currentHealthy}=1", "pdb/one", "--timeout=20s")
    kubectl("uncordon", "esp32-1")
    (name,) = places(kubectl, "deployment")
    with kubectl.streaming("drain", "esp32-0", "--timeout=40s") as told:
        refused = told.wait_for(lambda line: "will retry" in line, "refusal")
        assert refused == RETRIES.format(name, kubectl.namespace) + VIOLATES
        assert list(places(kubectl, "deployment")) == [name]
        kubectl("patch", "pdb", "one", "--patch", '{"spec":{"minAvailable":0}}')
        told.wait_for(lambda line: line == f"pod/{name} evicted", "eviction")
        told.wait_for(lambda line: line == "node/esp32-0 drained", "end")
    until(lambda: set(places(kubectl, "deployment").values()) == {"esp32-1"}, "the pod has a successor elsewhere")


def test_drain_ends_with_an_error_at_a_pod_of_two_budgets(kubectl: Kubectl) -> None:
    create(kubectl, workload("Deployment", replicas=1))
    for name in ("one", "two"):
        kubectl("create", "pdb", name, "--selector=app=deployment", "--min-available=0")
    kubectl("rollout", "status", "deployment/deployment", "--timeout=20s")
    ((name, node),) = places(kubectl, "deployment").items()
    told = kubectl.fails("drain", node, "--timeout=30s")
    assert f'error when evicting pods/"{name}" -n "{kubectl.namespace}": {TWO_BUDGETS}' in told
    assert list(places(kubectl, "deployment")) == [name]
    kubectl("drain", node, "--disable-eviction", "--timeout=30s")
    assert name not in places(kubectl, "deployment")


def test_a_board_that_does_not_answer_is_drained_when_its_tolerations_are_over(kubectl: Kubectl) -> None:
    """Nobody ends its pods: they go when the node lifecycle controller removes what is being deleted there."""
    kubectl("cordon", "esp32-1")
    create(kubectl, workload("DaemonSet"), workload("Deployment", replicas=2))
    kubectl("rollout", "status", "deployment/deployment", "--timeout=20s")
    kubectl("uncordon", "esp32-1")
    kubectl("rollout", "status", "daemonset/daemonset", "--timeout=20s")
    lost = places(kubectl, "deployment")
    assert set(lost.values()) == {"esp32-0"}
    kubectl("annotate", "node", "esp32-0", "sim.kube32.io/fault=partitioned")
    told = kubectl("drain", "esp32-0", "--ignore-daemonsets", "--timeout=50s").splitlines()
    assert {f"pod/{name} evicted" for name in lost} < set(told)
    assert told[-1] == "node/esp32-0 drained"
    node = kubectl.json("get", "node", "esp32-0")
    assert {taint["effect"] for taint in node["spec"]["taints"]} == {"NoSchedule", "NoExecute"}
    kubectl("rollout", "status", "deployment/deployment", "--timeout=20s")
    moved = places(kubectl, "deployment")
    assert set(moved.values()) == {"esp32-1"}
    assert not set(moved) & set(lost)
    assert set(places(kubectl, "daemonset").values()) == {"esp32-0", "esp32-1"}

"""kubectl's commands for nodes: cordon, uncordon, drain (more of it in test_kubectl_drain), taint."""

import json

import pytest

from tests.support.text import rows, section
from tests.support.waiting import until


@pytest.fixture
def node(kubectl):
    """The first of the two shared boards; afterwards as it was."""
    yield "esp32-0"
    kubectl("uncordon", "esp32-0")


def deployment(replicas: int) -> str:
    pod = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": "web:1"}]}}
    return json.dumps({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": pod},
    })  # fmt: skip


def test_cordon_keeps_new_pods_away(kubectl, node):
    assert kubectl("cordon", node) == f"node/{node} cordoned\n"
    assert rows(kubectl("get", "node", node))[0]["STATUS"] == "Ready,SchedulingDisabled"
    assert section(kubectl("describe", "node", node), "Unschedulable").strip() == "true"
    kubectl("create", "-f", "-", stdin=deployment(3))
    kubectl("rollout", "status", "deployment/web", "--timeout=20s")
    assert {pod["NODE"] for pod in rows(kubectl("get", "pods", "-o", "wide"))} == {"esp32-1"}
    assert kubectl("uncordon", node) == f"node/{node} uncordoned\n"
    assert rows(kubectl("get", "node", node))[0]["STATUS"] == "Ready"


def test_drain_moves_the_pods_of_deployments_elsewhere(kubectl, node):
    kubectl("create", "-f", "-", stdin=deployment(4))
    kubectl("rollout", "status", "deployment/web", "--timeout=20s")
    before = {pod["NODE"] for pod in rows(kubectl("get", "pods", "-o", "wide"))}
    assert before == {"esp32-0", "esp32-1"}
    answer = kubectl("drain", node, "--pod-selector=app=web", "--timeout=30s")
    assert answer.endswith(f"node/{node} drained\n")
    assert "evicting pod" in answer or "evicted" in answer
    kubectl("rollout", "status", "deployment/web", "--timeout=20s")
    assert {pod["NODE"] for pod in rows(kubectl("get", "pods", "-o", "wide"))} == {"esp32-1"}


@pytest.mark.parametrize("least", [2, 3])
def test_drain_with_a_disruption_budget_ends_and_never_takes_more_than_it_allows(kubectl, node, least):
    kubectl("create", "-f", "-", stdin=deployment(4))
    kubectl("create", "pdb", "web", "--selector=app=web", f"--min-available={least}")
    kubectl("rollout", "status", "deployment/web", "--timeout=20s")
    until(lambda: budget(kubectl) == (4, 4, 4 - least), "all pods counted")
    with kubectl.streaming("get", "pdb", "web", "-w", "-o", "jsonpath={.status.currentHealthy}{'\\n'}") as seen:
        seen.wait_for(lambda line: line == "4", "count of healthy pods")
        answer = kubectl("drain", node, "--pod-selector=app=web", "--timeout=60s")
        assert answer.endswith(f"node/{node} drained\n")
        kubectl("rollout", "status", "deployment/web", "--timeout=20s")
        seen.wait_for(lambda line: int(line) < 4, "count of healthy pods without an evicted one")
        until(lambda: budget(kubectl) == (4, 4, 4 - least), "the new pods counted")
        seen.wait_for(lambda line: line == "4", "count of healthy pods as before")
    assert min(int(line) for line in seen.seen) >= least
    assert {pod["NODE"] for pod in rows(kubectl("get", "pods", "-o", "wide"))} == {"esp32-1"}


def budget(kubectl) -> tuple[int, int, int]:
    status = kubectl.json("get", "pdb", "web")["status"]
    return status["expectedPods"], status["currentHealthy"], status["disruptionsAllowed"]


def test_taint_and_label_a_node(kubectl, node):
    assert kubectl("taint", "node", node, "test=yes:NoSchedule") == f"node/{node} tainted\n"
    assert "test=yes:NoSchedule" in section(kubectl("describe", "node", node), "Taints")
    assert kubectl("taint", "node", node, "test-") == f"node/{node} untainted\n"
    kubectl("label", "node", node, "room=kitchen")
    assert kubectl("get", "nodes", "-l", "room=kitchen", "-o", "name") == f"node/{node}\n"
    kubectl("label", "node", node, "room-")

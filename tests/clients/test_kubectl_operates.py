"""What kubectl of each version sets going: run, expose, scale, rollouts, wait; and what an operator does with nodes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

from tests.support.kubectl import Kubectl
from tests.support.text import rows
from tests.support.waiting import until


def start_web(kubectl: Kubectl, replicas: int = 2) -> None:
    kubectl.quietly("create", "deployment", "web", "--image=web:1", f"--replicas={replicas}", "--port=80")
    kubectl.quietly("rollout", "status", "deployment/web", "--timeout=20s")


def shown(kubectl: Kubectl, what: str, path: str) -> str:
    return kubectl.quietly("get", what, "-o", f"jsonpath={{{path}}}")


def test_run_and_expose(kubectl):
    kubectl.quietly("run", "one", "--image=one:1", "--port=80", "--labels=app=one", "--env=A=b")
    kubectl.quietly("wait", "--for=condition=Ready", "pod/one", "--timeout=20s")
    assert kubectl.quietly("expose", "pod/one", "--port=8080", "--target-port=80").startswith("service/one exposed")
    assert shown(kubectl, "service/one", ".spec.selector.app") == "one"
    kubectl.quietly("set", "selector", "service/one", "app=other")
    assert shown(kubectl, "service/one", ".spec.selector.app") == "other"
    start_web(kubectl, 1)
    kubectl.quietly("expose", "deployment/web", "--type=NodePort")
    assert shown(kubectl, "service/web", ".spec.ports[0].nodePort").startswith("3")
    finished = {"sim.kube32.io/run-seconds": "0", "sim.kube32.io/exit-code": "0"}
    options = ["--restart=Never", *(f"--annotations={name}={value}" for name, value in finished.items())]
    kubectl.quietly("run", "task", "--image=task:1", *options)
    kubectl.quietly("wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/task", "--timeout=20s")


def test_scale(kubectl):
    start_web(kubectl, 1)
    assert kubectl.quietly("scale", "deploy/web", "--replicas=3") == "deployment.apps/web scaled\n"
    kubectl.quietly("rollout", "status", "deploy/web", "--timeout=20s")
    assert rows(kubectl.quietly("get", "deploy/web"))[0]["READY"] == "3/3"
    error = kubectl.fails("scale", "deploy/web", "--current-replicas=1", "--replicas=2")
    assert "xpected replicas to be 1, was 3" in error
    kubectl.quietly("scale", "deploy", "--all", "--replicas=1", "--timeout=20s")
    warned = kubectl.remarks("autoscale", "deploy/web", "--max=3", "--min=2")
    assert warned.splitlines()[-1].startswith("Warning: kube32-sim stores HorizontalPodAutoscalers")
    assert shown(kubectl, "hpa/web", ".spec.maxReplicas") == "3"


def test_rollouts(kubectl):
    start_web(kubectl)
    for command in (
        ("image", "deploy/web", "web=web:2"),
        ("env", "deploy/web", "A=b"),
        ("resources", "deploy/web", "--limits=memory=20Ki"),
        ("serviceaccount", "deploy/web", "default"),
    ):
        assert kubectl.quietly("set", *command).startswith("deployment.apps/web "), command
    assert shown(kubectl, "deploy/web", ".spec.template.spec.containers[0].env[0].value") == "b"
    kubectl.quietly("rollout", "status", "deploy/web", "--timeout=20s")
    assert kubectl.quietly("rollout", "pause", "deploy/web") == "deployment.apps/web paused\n"
    assert "already paused" in kubectl.fails("rollout", "pause", "deploy/web")
    assert kubectl.quietly("rollout", "resume", "deploy/web") == "deployment.apps/web resumed\n"
    assert kubectl.quietly("rollout", "restart", "deploy/web") == "deployment.apps/web restarted\n"
    assert "successfully rolled out" in kubectl.quietly("rollout", "status", "deploy/web", "--timeout=20s")
    assert "restartedAt" in shown(kubectl, "deploy/web", ".spec.template.metadata.annotations")
    kubectl.quietly("rollout", "history", "deploy/web")


def test_wait(kubectl):
    start_web(kubectl)
    kubectl.quietly("wait", "--for=condition=Available", "deploy", "--all", "--timeout=20s")
    kubectl.quietly("wait", "--for=jsonpath={.status.readyReplicas}=2", "deploy/web", "--timeout=20s")
    error = kubectl.fails("wait", "--for=condition=Never", "deploy/web", "--timeout=100ms")
    assert "timed out waiting for the condition" in error or "context deadline exceeded" in error
    with kubectl.streaming("wait", "--for=delete", "deploy/web", "--timeout=20s") as lines:
        kubectl.quietly("delete", "deploy/web")
        lines.join()
    assert lines.rest() in ([], ["deployment.apps/web condition met"])
    if kubectl.minor >= 31:
        with kubectl.streaming("wait", "--for=create", "configmap/late", "--timeout=20s") as lines:
            kubectl.quietly("create", "configmap", "late")
            lines.wait_for(lambda line: line == "configmap/late condition met", "word of its creation")


@contextmanager
def put_right(kubectl: Kubectl, node: str) -> Iterator[None]:
    """The server is shared: a node is left as it was."""
    try:
        yield
    finally:
        kubectl.run("uncordon", node)
        kubectl.run("taint", "node", node, "repair-")
        kubectl.run("label", "node", node, "room-")


def test_nodes_are_cordoned_and_drained(kubectl):
    start_web(kubectl)
    node = shown(kubectl, "pods", ".items[0].spec.nodeName")
    with put_right(kubectl, node):
        assert kubectl.quietly("cordon", node) == f"node/{node} cordoned\n"
        assert "SchedulingDisabled" in kubectl.quietly("get", "node", node)
        done = kubectl.run("drain", node, "--pod-selector=app=web", "--ignore-daemonsets", "--timeout=20s")
        assert (done.returncode, done.stderr) == (0, ""), done
        assert done.stdout.endswith(f"node/{node} drained\n")

        def elsewhere() -> bool:
            places = shown(kubectl, "pods", ".items[*].spec.nodeName").split()
            return len(places) == 2 and node not in places

        until(elsewhere, "both pods on the other node")
        assert kubectl.quietly("uncordon", node) == f"node/{node} uncordoned\n"


def test_nodes_are_tainted_and_labelled(kubectl):
    with put_right(kubectl, "esp32-1"):
        assert kubectl.quietly("taint", "node", "esp32-1", "repair=soon:NoSchedule") == "node/esp32-1 tainted\n"
        taints = json.loads(shown(kubectl, "node/esp32-1", ".spec.taints"))
        assert taints == [{"effect": "NoSchedule", "key": "repair", "value": "soon"}]
        assert "already has" in kubectl.fails("taint", "node", "esp32-1", "repair=now:NoSchedule")
        assert kubectl.quietly("taint", "node", "esp32-1", "repair:NoSchedule-") == "node/esp32-1 untainted\n"
        kubectl.quietly("label", "node", "esp32-1", "room=kitchen")
        assert kubectl.quietly("get", "nodes", "-l", "room=kitchen", "-o", "name") == "node/esp32-1\n"


def test_access_is_reconciled(kubectl, namespace):
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "reader"},
        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
    }  # fmt: skip
    role["metadata"]["namespace"] = namespace
    for first in (True, False):
        done = kubectl.run("auth", "reconcile", "-f", "-", stdin=json.dumps(role))
        assert "reader reconciled" in done.stdout
        assert ("missing rules added" in done.stderr) is first
        assert done.returncode == 0


def test_everything_is_dumped(kubectl, tmp_path):
    start_web(kubectl, 1)
    folder = tmp_path / "dump"
    kubectl.quietly("cluster-info", "dump", f"--output-directory={folder}")
    assert "web:1" in "".join(path.read_text() for path in folder.rglob("deployments.json"))

"""helm 3 and helm 4 (which applies on the server) with a chart of many kinds, against boards."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support import clients
from tests.support.helm import Helm, remarks
from tests.support.kubectl import Kubectl
from tests.support.servers import Server

CHART = str(Path(__file__).parent / "chart")
PATIENT = ("--wait", "--timeout=20s")
TOO_LARGE = "--set=memory=64Mi"
"""What no board has room for: the pods of such an upgrade stay Pending."""


slow_for_helm_3 = pytest.mark.parametrize(
    "helm", [pytest.param(32, id="helm3", marks=pytest.mark.soak), pytest.param(37, id="helm4")], indirect=True
)
"""Waiting in vain takes its time: helm 3 does it in the soak step."""


@pytest.fixture(params=[pytest.param(minor, id=f"helm{major}") for minor, major in clients.HELMS.items()])
def helm(request: pytest.FixtureRequest, full_server: Server, namespace: str, tmp_path: Path) -> Helm:
    home = tmp_path / "home"
    home.mkdir()
    minor: int = request.param
    return Helm(clients.helm(minor), int(clients.HELMS[minor]), full_server.kubeconfig, home, namespace)


@pytest.fixture
def kubectl(helm: Helm) -> Kubectl:
    return Kubectl(helm.kubeconfig, helm.home, helm.namespace)


def waiting(helm: Helm, *options: str) -> tuple[str, ...]:
    """Options to wait with: helm 3 waits for the ReplicaSet of a Deployment, and kube32 has none."""
    return (*options, "--set=deployment=false") if helm.major < 4 else options


def history(helm: Helm) -> list[str]:
    return [revision["status"] for revision in helm.json("history", "lamp")]


def test_a_release_from_installation_to_removal(helm, kubectl):
    assert helm.quietly("version", "--template={{.Version}}").startswith(f"v{helm.major}.")
    patient = PATIENT if helm.major >= 4 else ()
    told = helm.quietly("install", "lamp", CHART, *patient)
    kubectl("rollout", "status", "deploy/lamp", "--timeout=20s")
    assert "STATUS: deployed" in told
    assert "lamp blinks on 2 boards." in told
    assert kubectl("get", "deploy/lamp", "-o", "jsonpath={.status.readyReplicas}") == "2"
    settings = kubectl.json("get", "configmap/lamp")["data"]
    assert settings["server"].startswith("v1.36.")
    assert (settings["ingress"], settings["nodes"]) == ("true", "2")
    assert kubectl("get", "jobs", "-o", "name") == ""  # the hook has run, succeeded and been cleared away

    (listed,) = helm.json("list")
    assert (listed["name"], listed["status"], listed["chart"]) == ("lamp", "deployed", "lamp-1.0.0")
    assert helm.json("status", "lamp")["info"]["status"] == "deployed"
    manifest = helm.quietly("get", "manifest", "lamp")
    assert "kind: PodDisruptionBudget" in manifest
    assert kubectl("apply", "--dry-run=server", "-f", "-", stdin=manifest)
    assert helm.json("get", "values", "lamp", "--all")["greeting"] == "hello"
    assert "Phase:          Succeeded" in helm.quietly("test", "lamp", "--logs")
    assert "it blinks" in helm.quietly("test", "lamp", "--logs")

    helm.quietly("upgrade", "lamp", CHART, *patient, "--set=greeting=bye,replicas=3")
    kubectl("rollout", "status", "deploy/lamp", "--timeout=20s")
    assert kubectl.json("get", "configmap/lamp")["data"]["greeting"] == "bye"
    assert kubectl("get", "deploy/lamp", "-o", "jsonpath={.status.readyReplicas}") == "3"
    helm.quietly("rollback", "lamp", "1", *patient)
    assert kubectl.json("get", "configmap/lamp")["data"]["greeting"] == "hello"
    assert history(helm) == ["superseded", "superseded", "deployed"]
    assert 'release "lamp" uninstalled' in helm.quietly("uninstall", "lamp", *PATIENT)
    left = kubectl("get", "deploy,ds,svc,cm,secret,role,rolebinding,pdb,sa", "-o", "name").split()
    assert left == ["serviceaccount/default"]
    assert helm.json("list", "--all" if helm.major < 4 else "--uninstalled") == []


def test_kinds_that_are_only_stored(helm, kubectl):
    done = helm.run("upgrade", "--install", "lamp", CHART, "--set=storedOnly=true")
    assert done.returncode == 0, done.stderr
    told = done.stderr.splitlines()
    assert len(told) == 6
    assert all("kube32-sim stores " in line for line in told), told
    kinds = "ingress,networkpolicy,hpa,pvc,statefulset,cronjob"
    assert len(kubectl("get", kinds, "-o", "name").split()) == 6
    assert helm.quietly("upgrade", "--install", "lamp", CHART, "--set=storedOnly=true")
    helm.quietly("upgrade", "--install", "lamp", CHART, *waiting(helm, *PATIENT), "--set=storedOnly=false")
    assert kubectl("get", kinds, "-o", "name") == ""
    helm.quietly("uninstall", "lamp", *PATIENT)


@slow_for_helm_3
def test_an_upgrade_that_fails(helm, kubectl):
    helm.quietly("install", "lamp", CHART, *waiting(helm, *PATIENT))
    briefly = waiting(helm, "--wait", "--timeout=2s")
    assert "UPGRADE FAILED" in helm.fails("upgrade", "lamp", CHART, *briefly, TOO_LARGE)
    assert history(helm) == ["deployed", "failed"]
    rolling_back = "--atomic" if helm.major < 4 else "--rollback-on-failure"
    error = helm.fails("upgrade", "lamp", CHART, *waiting(helm, "--timeout=3s"), rolling_back, TOO_LARGE)
    assert "rolled back" in error
    assert history(helm)[2:] == ["failed", "deployed"]
    memory = "jsonpath={.spec.template.spec.containers[0].resources.requests.memory}"
    assert kubectl("get", "ds/lamp-agent", "-o", memory) == "32Ki"
    error = helm.fails("upgrade", "lamp", CHART, "--set=replicas=-1")
    assert "spec.replicas: Invalid value: -1: must be greater than or equal to 0" in error
    helm.quietly("uninstall", "lamp", *PATIENT, "--keep-history")
    assert history(helm)[-1] == "uninstalled"


def test_a_test_that_fails(helm):
    helm.quietly("install", "lamp", CHART, "--set=testExitCode=1")
    assert "lamp-blinks" in helm.fails("test", "lamp")
    assert "Phase:          Failed" in helm.run("test", "lamp").stdout


@slow_for_helm_3
def test_an_installation_that_fails_leaves_nothing(helm, kubectl):
    rolling_back = "--atomic" if helm.major < 4 else "--rollback-on-failure"
    options = waiting(helm, "--timeout=3s", rolling_back)
    assert "INSTALLATION FAILED" in helm.fails("install", "lamp", CHART, *options, TOO_LARGE)
    assert kubectl("get", "deploy,ds,cm,secret", "-o", "name") == ""


def test_a_dry_run_on_the_server_changes_nothing(helm, kubectl):
    told = helm.quietly("install", "lamp", CHART, "--dry-run=server")
    assert 'nodes: "2"' in told
    assert kubectl("get", "deploy,cm,secret", "-o", "name") == ""


def test_helm_4_applies_on_the_server(helm, kubectl):
    helm.quietly("install", "lamp", CHART)
    shown = json.loads(kubectl("get", "configmap/lamp", "-o", "json", "--show-managed-fields"))
    managers = {(entry["manager"], entry["operation"]) for entry in shown["metadata"]["managedFields"]}
    assert managers == {("helm", "Apply" if helm.major >= 4 else "Update")}
    kubectl("patch", "configmap/lamp", "--type=merge", "-p", '{"data":{"greeting":"mine","more":"too"}}')
    if helm.major >= 4:
        assert 'conflict with "kubectl-patch" using v1: .data.greeting' in helm.fails("upgrade", "lamp", CHART)
        helm.quietly("upgrade", "lamp", CHART, "--force-conflicts")
    else:
        helm.quietly("upgrade", "lamp", CHART, "--set=greeting=hello again")
    data = kubectl.json("get", "configmap/lamp")["data"]
    assert (data["greeting"] != "mine", data["more"]) == (True, "too")


def test_only_what_helm_cancels_itself_is_passed_over() -> None:
    begun = (
        'I1201 03:16:15.919567    7879 reflector.go:664] "Warning: watch ended with error" type="/v1, Kind=Pod" err="'
    )
    stream = r"an error on the server (\"unable to decode an event from the watch stream: "
    end = r'\") has prevented the request from succeeding"' + "\n"
    assert remarks(begun + stream + "context canceled" + end) == ""
    for other in (
        begun + stream + "unexpected EOF" + end,
        "WARNING: context canceled\n",
        f"W{begun[1:]}context canceled",
    ):
        assert remarks(other) == other

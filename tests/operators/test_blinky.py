"""An operator of kopf from its definition to its last object: handlers, timer, daemon, finalizer, restarts, peering."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.kubectl import Kubectl
from tests.support.operators import OPERATORS, PATIENCE, SERVING, kopf, kubeconfig_of, running_operator
from tests.support.servers import running_server
from tests.support.waiting import until

BLINKY = OPERATORS / "blinky"
TIMEOUT = f"--timeout={PATIENCE:.0f}s"
DEFINITION = "customresourcedefinition/blinkies.example.com"
FINALIZER = "blinkies.example.com/blinky-operator"


@pytest.fixture
def kubeconfig(admin: Kubectl) -> Iterator[Path]:
    yield install(admin)
    for name in admin("get", "blinkies", "-o", "name").split():  # no operator runs any more
        admin("patch", name, "--type=merge", "-p", '{"metadata": {"finalizers": null}}')
        admin("delete", name)


def install(admin: Kubectl) -> Path:
    """The operator's definition and permissions; its kubeconfig."""
    admin("apply", "-f", str(BLINKY / "crd.yaml"), "-f", str(BLINKY / "rbac.yaml"))
    return kubeconfig_of(admin, "blinky-operator")


def blinky(name: str, boards: int) -> str:
    spec = {"boards": boards, "period": 0.1}
    return json.dumps({"apiVersion": "example.com/v1", "kind": "Blinky", "metadata": {"name": name}, "spec": spec})


def wait_for(admin: Kubectl, what: str, path: str, value: object) -> None:
    admin("wait", what, f"--for=jsonpath={{{path}}}={value}", TIMEOUT)


def found(admin: Kubectl, kind: str, name: str) -> Any:
    """The object, or None."""
    text = admin("get", kind, name, "--ignore-not-found", "-o", "json")
    return json.loads(text) if text else None


def messages(admin: Kubectl, name: str) -> set[str]:
    """Of the events that the operator posted about a Blinky."""
    events = admin.json("get", "events", "--field-selector", f"involvedObject.name={name},involvedObject.kind=Blinky")
    return {event["message"] for event in events["items"] if event["reason"] == "Deployed"}


def test_from_creation_to_deletion(admin: Kubectl, kubeconfig: Path) -> None:
    with running_operator(kubeconfig, *kopf("blinky/blinky.py")):
        admin("create", "-f", "-", stdin=blinky("lamp", 2))
        wait_for(admin, "blinky/lamp", ".status.lit", 2)
        wait_for(admin, "blinky/lamp", ".status.deployment", "lamp")
        lamp, deployment = found(admin, "blinky", "lamp"), found(admin, "deployment", "lamp")
        assert lamp["metadata"]["finalizers"] == [FINALIZER]
        assert lamp["metadata"]["generation"] == 1, "what is written to the status is no new generation"
        (owner,) = deployment["metadata"]["ownerReferences"]
        assert (owner["uid"], owner["controller"]) == (lamp["metadata"]["uid"], True)
        for led in ("on", "off"):
            wait_for(admin, "blinky/lamp", ".status.led", led)

        admin("patch", "blinky", "lamp", "--type=merge", "-p", '{"spec": {"boards": 1}}')
        wait_for(admin, "blinky/lamp", ".status.lit", 1)
        said = {"create: 2 boards blink", "update: 1 boards blink"}
        until(lambda: messages(admin, "lamp") == said, "events are posted", PATIENCE)

        admin("delete", "blinky", "lamp")
        assert admin("get", "pods", "-l", "example.com/blinky=lamp") == "", "they went before it did"
        until(lambda: not found(admin, "deployment", "lamp"), "the Deployment is collected", PATIENCE)


def test_what_happened_while_it_was_away(admin: Kubectl, kubeconfig: Path) -> None:
    with running_operator(kubeconfig, *kopf("blinky/blinky.py")) as operator:
        for name in ("changed", "robbed", "leaving"):
            admin("create", "-f", "-", stdin=blinky(name, 1))
        for name in ("changed", "robbed", "leaving"):
            wait_for(admin, f"blinky/{name}", ".status.lit", 1)
        assert operator.stop() == 0
    admin("patch", "blinky", "changed", "--type=merge", "-p", '{"spec": {"boards": 2}}')
    admin("delete", "deployment", "robbed")
    admin("delete", "blinky", "leaving", "--wait=false")
    assert found(admin, "blinky", "leaving")["metadata"]["finalizers"] == [FINALIZER]
    with running_operator(kubeconfig, *kopf("blinky/blinky.py"), log="again"):
        wait_for(admin, "blinky/changed", ".status.lit", 2)
        until(lambda: found(admin, "deployment", "robbed"), "the Deployment is made again", PATIENCE)
        admin("wait", "blinky/leaving", "--for=delete", TIMEOUT)
        assert "resume: 1 boards blink" in messages(admin, "robbed")


def test_a_verb_that_is_missing(admin: Kubectl, kubeconfig: Path) -> None:
    """What it may not do fails in the words of a cluster, and is made up for when it may."""
    rules = admin.json("get", "role", "blinky-operator")["rules"]
    without = [rule for rule in rules if rule["resources"] != ["deployments"]]
    admin("patch", "role", "blinky-operator", "--type=merge", "-p", json.dumps({"rules": without}))
    with running_operator(kubeconfig, *kopf("blinky/blinky.py")) as operator:
        admin("create", "-f", "-", stdin=blinky("refused", 1))
        operator.says(
            r"deployments.apps \"refused\" is forbidden: User \"system:serviceaccount:default:blinky-operator\" "
            r"cannot patch resource \"deployments\" in API group \"apps\" in the namespace \"default\""
        )
        assert not found(admin, "deployment", "refused")
        admin("apply", "-f", str(BLINKY / "rbac.yaml"))
        wait_for(admin, "blinky/refused", ".status.lit", 1)


@pytest.mark.soak
def test_of_two_peers_the_more_important_one_works(admin: Kubectl, kubeconfig: Path) -> None:
    admin("apply", "-f", str(BLINKY / "peering-crd.yaml"))
    admin("apply", "-f", str(BLINKY / "peering.yaml"))
    peering = ("--peering", "blinky", "--priority")
    with running_operator(kubeconfig, *kopf("blinky/blinky.py", *peering, "1"), log="low") as low:
        admin("create", "-f", "-", stdin=blinky("first", 1))
        wait_for(admin, "blinky/first", ".status.lit", 1)
        with running_operator(kubeconfig, *kopf("blinky/blinky.py", *peering, "2"), log="high") as high:
            low.says("Pausing operations in favour of")
            admin("create", "-f", "-", stdin=blinky("second", 1))
            wait_for(admin, "blinky/second", ".status.lit", 1)
            assert ("[default/second]" in low.said(), "[default/second]" in high.said()) == (False, True)
        low.says("Resuming operations after the pause")


@pytest.mark.soak
def test_a_definition_that_changes_goes_and_comes_back(admin: Kubectl, kubeconfig: Path) -> None:
    """Its objects go first, each by its finalizer; and the operator finds the type again when it is there again."""
    with running_operator(kubeconfig, *kopf("blinky/blinky.py")):
        admin("create", "-f", "-", stdin=blinky("lamp", 1))
        wait_for(admin, "blinky/lamp", ".status.lit", 1)
        columns = [{"op": "remove", "path": "/spec/versions/0/additionalPrinterColumns"}]
        admin("patch", DEFINITION, "--type=json", "-p", json.dumps(columns))
        admin("patch", "blinky", "lamp", "--type=merge", "-p", '{"spec": {"boards": 2}}')
        wait_for(admin, "blinky/lamp", ".status.lit", 2)
        admin("delete", DEFINITION)
        until(lambda: not found(admin, "deployment", "lamp"), "the Deployment is collected", PATIENCE)
        assert "the server could not find the requested resource" in admin.fails("get", "blinkies")
        admin("apply", "-f", str(BLINKY / "crd.yaml"))
        admin("create", "-f", "-", stdin=blinky("lamp", 1))
        wait_for(admin, "blinky/lamp", ".status.lit", 1)


@pytest.mark.soak
def test_boards_that_are_lost_in_virtual_time(tmp_path: Path) -> None:
    """The cluster's hour passes at once; the operator sees what comes of it in its own time."""
    with running_server(tmp_path, *SERVING, "--clock", "virtual") as server:
        admin = Kubectl(server.kubeconfig, tmp_path)
        with running_operator(install(admin), *kopf("blinky/blinky.py")) as operator:
            admin("create", "-f", "-", stdin=blinky("lamp", 3))
            until(lambda: found(admin, "deployment", "lamp"), "the Deployment is made", PATIENCE)
            advance(admin, "10s")
            wait_for(admin, "blinky/lamp", ".status.lit", 3)
            admin("annotate", "node", "--all", "sim.kube32.io/fault=stopped")
            advance(admin, "10m")
            wait_for(admin, "blinky/lamp", ".status.lit", 0)
            advance(admin, "1h")
            operator.says("Unauthorized")


def advance(admin: Kubectl, duration: str) -> None:
    body = {"apiVersion": "sim.kube32.io/v1alpha1", "kind": "ClockAdvance", "spec": {"duration": duration}}
    path = "/apis/sim.kube32.io/v1alpha1/clocks/cluster/advance"
    admin("create", "-f", "-", "--raw", path, stdin=json.dumps(body))

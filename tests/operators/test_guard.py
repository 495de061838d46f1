"""Operators that are asked before objects are stored: a server of their own, and kopf's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.kubectl import Kubectl
from tests.support.operators import OPERATORS, PATIENCE, kopf, kubeconfig_of, running_operator
from tests.support.waiting import until

GUARD = OPERATORS / "guard"
CONFIGURATIONS = "mutatingwebhookconfigurations,validatingwebhookconfigurations"


@pytest.fixture
def kubeconfig(admin: Kubectl) -> Iterator[Path]:
    admin("apply", "-f", str(GUARD / "rbac.yaml"), "-f", str(OPERATORS / "blinky/crd.yaml"))
    yield kubeconfig_of(admin, "guard")
    admin("delete", CONFIGURATIONS, "--all")  # nobody answers any more


@pytest.fixture
def guarded(admin: Kubectl) -> Iterator[Kubectl]:
    """kubectl in a namespace with the label that the webhooks select."""
    admin("create", "namespace", "guarded")
    admin("label", "namespace", "guarded", "example.com/guarded=true")
    yield Kubectl(admin.kubeconfig, admin.home, "guarded")
    admin("delete", "namespace", "guarded", "--wait=false")


def blinky(name: str, **spec: Any) -> str:
    return json.dumps({"apiVersion": "example.com/v1", "kind": "Blinky", "metadata": {"name": name}, "spec": spec})


def test_webhooks_of_its_own(admin: Kubectl, guarded: Kubectl, kubeconfig: Path) -> None:
    with running_operator(kubeconfig, str(GUARD / "webhook.py")) as operator:
        operator.says("guarding at https://127.0.0.1:")
        guarded("run", "tagged", "--image=blinky:1.4")
        pod = guarded.json("get", "pod", "tagged")
        assert pod["spec"]["containers"][0]["resources"] == {"requests": {"memory": "24Ki"}}
        assert guarded.fails("run", "latest", "--image=blinky") == (
            'Error from server: admission webhook "images.guard.example.com" denied the request: '
            "say which version of blinky\n"
        )
        assert guarded.remarks("run", "early", "--image=blinky:2-dev") == "Warning: blinky:2-dev is no release\n"
        admin.quietly("run", "elsewhere", "--image=blinky", "--dry-run=server")

        operator.kill()
        refused = guarded.fails("run", "late", "--image=blinky:1.4")
        assert 'failed calling webhook "memory.guard.example.com"' in refused
        assert "connection refused" in refused


def test_webhooks_of_kopf(admin: Kubectl, kubeconfig: Path) -> None:
    with running_operator(kubeconfig, *kopf("guard/kopf_guard.py")) as operator:
        until(lambda: written(admin) == ["slow_down", "not_too_many"], "kopf writes its configurations", PATIENCE)
        hasty = blinky("hasty", period=0.1)
        warning = "Warning: nobody sees a LED that blinks faster than every 0.2 s\n"
        assert admin.remarks("create", "-f", "-", stdin=hasty) == warning
        assert admin.json("get", "blinky", "hasty")["spec"] == {"boards": 1, "image": "blinky:1.4", "period": 0.2}
        refused = admin.fails("create", "-f", "-", stdin=blinky("many", boards=11))
        assert refused == (
            'Error from server: error when creating "STDIN": admission webhook '
            '"not-too-many.kopf-guard.example.com" denied the request: system:admin may have 10 boards at most\n'
        )
        assert "is invalid" in admin.fails("create", "-f", "-", stdin=blinky("more", boards=101)), "the schema's limit"
        assert operator.stop() == 0
    assert written(admin) == [], "it cleans up behind itself"
    admin.quietly("create", "-f", "-", stdin=blinky("many", boards=11))
    admin("delete", "blinkies", "--all")


def written(admin: Kubectl) -> list[str]:
    """The handlers that are called, of kopf's configurations."""
    items = admin.json("get", CONFIGURATIONS)["items"]
    urls = [webhook["clientConfig"]["url"] for item in items for webhook in item.get("webhooks", [])]
    return [url.rpartition("/")[2] for url in urls]


def test_a_guard_that_may_not_register(admin: Kubectl, kubeconfig: Path) -> None:
    rules = admin.json("get", "clusterrole", "guard")["rules"]
    rules[0]["verbs"] = ["create"]
    admin("patch", "clusterrole", "guard", "--type=merge", "-p", json.dumps({"rules": rules}))
    with running_operator(kubeconfig, str(GUARD / "webhook.py")) as operator:
        until(lambda: operator.process.poll() is not None, "it gives up", PATIENCE)
        assert (
            'mutatingwebhookconfigurations.admissionregistration.k8s.io \\"guard\\" is forbidden: '
            'User \\"system:serviceaccount:default:guard\\" cannot patch resource' in operator.said()
        )

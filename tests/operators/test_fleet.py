"""A controller of the official client in two replicas: who leads, who takes over, what goes with its owner."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.support.kubectl import Kubectl
from tests.support.operators import OPERATORS, PATIENCE, Operator, kubeconfig_of, running_operator
from tests.support.waiting import until

FLEET = OPERATORS / "fleet"
CONTROLLER = str(FLEET / "controller.py")


@pytest.fixture
def kubeconfig(admin: Kubectl) -> Iterator[Path]:
    admin("apply", "-f", str(FLEET / "crd.yaml"), "-f", str(FLEET / "rbac.yaml"))
    yield kubeconfig_of(admin, "fleet-controller")
    admin("delete", "fleets,leases", "--all")


def names(admin: Kubectl, kinds: str) -> set[str]:
    """Of what is owned by a Fleet, as kind/name."""
    return set(admin("get", kinds, "-l", "example.com/fleet=lamps", "-o", "name").split())


def lease(admin: Kubectl) -> dict[str, Any]:
    """What the Lease says; nothing where there is none."""
    text = admin("get", "lease", "fleet-controller", "--ignore-not-found", "-o", "json")
    spec: dict[str, Any] = json.loads(text)["spec"] if text else {}
    return spec


def time_of(text: str) -> datetime:
    return datetime.fromisoformat(text)


def test_two_replicas_of_which_one_leads(admin: Kubectl, kubeconfig: Path) -> None:
    """The leader is killed; the other takes over when the lease has run out, and takes up the work."""
    with ExitStack() as running:
        replicas: dict[str, Operator] = {}
        for identity in "ab":
            operator = running_operator(kubeconfig, CONTROLLER, "--identity", identity, log=identity)
            replicas[identity] = running.enter_context(operator)
        leader = until(lambda: lease(admin).get("holderIdentity", ""), "one leads", PATIENCE)
        other = "ab".replace(leader, "")
        replicas[other].says(f"lease held by {leader} and has not expired")
        admin("create", "-f", str(FLEET / "lamps.yaml"))
        admin("wait", "fleet/lamps", "--for=jsonpath={.status.ready}=3")
        made = {"configmap/lamps-groups", "deployment.apps/lamps-esp32-c3", "deployment.apps/lamps-esp32-s3"}
        assert names(admin, "configmaps,deployments") == made

        replicas[leader].kill()
        groups = [{"board": "esp32-s3", "replicas": 1}]
        admin("patch", "fleet", "lamps", "--type=merge", "-p", json.dumps({"spec": {"groups": groups}}))
        left = lease(admin)
        assert left["holderIdentity"] == leader, "nothing was released"
        replicas[other].says(f"{other} leads")
        taken = lease(admin)
        assert taken["holderIdentity"] == other
        waited = time_of(taken["acquireTime"]) - time_of(left["renewTime"])
        assert waited > timedelta(seconds=left["leaseDurationSeconds"])
        until(
            lambda: names(admin, "deployments") == {"deployment.apps/lamps-esp32-s3"}, "the other reconciles", PATIENCE
        )
        admin("wait", "fleet/lamps", "--for=jsonpath={.status.ready}=1")
        admin("wait", "fleet/lamps", "--for=jsonpath={.status.observedGeneration}=2")

        admin("delete", "fleet", "lamps")
        until(lambda: not names(admin, "configmaps,deployments,pods"), "what it owned is collected", PATIENCE)


def test_without_its_verb_nobody_leads(admin: Kubectl, kubeconfig: Path) -> None:
    rules = admin.json("get", "role", "fleet-controller")["rules"]
    without = [rule for rule in rules if rule["verbs"] != ["create"]]
    admin("patch", "role", "fleet-controller", "--type=merge", "-p", json.dumps({"rules": without}))
    with running_operator(kubeconfig, CONTROLLER, "--identity", "a") as operator:
        operator.says(
            'leases.coordination.k8s.io is forbidden: User \\"system:serviceaccount:default:fleet-controller\\" '
            'cannot create resource \\"leases\\" in API group \\"coordination.k8s.io\\" in the namespace '
        )
        assert not lease(admin)

"""The commands of docs/permissions.md, on a server as it says; and what else kubectl does with permissions."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from tests.support.documents import commands, run, timeless, user_environment
from tests.support.kubectl import Kubectl
from tests.support.servers import CLONE, Server

ROLES = """
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: made, namespace: default}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: made, namespace: default}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: made}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: makers}]
"""


def test_permissions(start_server: Callable[..., AbstractContextManager[Server]], tmp_path: Path) -> None:
    options = ("--authorization-mode=RBAC", "--tls-self-signed", "--nodes", "1")
    with start_server(*options) as server:
        environment = user_environment(tmp_path, server.kubeconfig)
        told = commands((CLONE / "docs/permissions.md").read_text(encoding="utf-8"))
        assert len(told) > 10
        for command in told:
            assert timeless(run(command.text, environment)) == timeless(command.output), command.text
        kubectl = Kubectl(server.kubeconfig, tmp_path)
        assert "rolebinding.rbac.authorization.k8s.io/made reconciled" in kubectl(
            "auth", "reconcile", "-f", "-", stdin=ROLES
        )
        assert kubectl("auth", "can-i", "get", "configmaps", "--as=x", "--as-group=makers").strip() == "yes"
        assert kubectl.run("auth", "can-i", "get", "configmaps", "--as=x").stdout.strip() == "no"
        assert kubectl("auth", "can-i", "get", "/healthz", "--as=x").strip() == "yes"
        assert "system:masters" in kubectl("auth", "whoami")
        assert "forbidden" in kubectl.fails("get", "nodes", "--as=x")

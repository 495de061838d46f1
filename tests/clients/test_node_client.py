"""@kubernetes/client-node: list, informer, watch, the patches, server-side apply, objects of any kind, delete."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from tests.support import clients

STEPS = ["version", "list", "patch", "apply", "objects of any kind", "watch", "informer", "delete"]


def work_a_session(kubeconfig: Path, namespace: str) -> None:
    done = subprocess.run(
        [clients.node(), str(clients.NODE / "session.mjs"), str(kubeconfig), namespace],
        check=False,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    steps = [json.loads(line) for line in done.stdout.splitlines()]
    assert [step["step"] for step in steps] == STEPS
    assert steps[0]["result"].startswith("v1.36.")


def test_a_session(full_server, namespace):
    work_a_session(full_server.kubeconfig, namespace)


def test_a_session_with_tls_and_a_token(start_server):
    with start_server("--tls-self-signed", "--reconcile-interval", "100ms") as server:
        work_a_session(server.kubeconfig, "kube-public")

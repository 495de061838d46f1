"""@kubernetes/client-node: list, informer, watch, the patches, server-side apply, objects of any kind, delete."""

from __future__ import annotations

import json
import subprocess

from tests.support import clients

STEPS = ["version", "list", "patch", "apply", "objects of any kind", "watch", "informer", "delete"]


def test_a_session(full_server, namespace, tmp_path):
    done = subprocess.run(
        [clients.node(), str(clients.NODE / "session.mjs"), str(full_server.kubeconfig), namespace],
        check=False,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    steps = [json.loads(line) for line in done.stdout.splitlines()]
    assert [step["step"] for step in steps] == STEPS
    assert steps[0]["result"].startswith("v1.36.")

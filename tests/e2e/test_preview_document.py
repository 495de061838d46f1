"""The commands of docs/preview.md, on a fresh simulator; its request over HTTP, its program and its role."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import yaml

from tests.support.documents import blocks, commands, run, timeless, user_environment
from tests.support.kubectl import Kubectl
from tests.support.servers import CLONE, Server, command_environment

DOCUMENT = (CLONE / "docs/preview.md").read_text(encoding="utf-8")


def test_commands(start_server: Callable[..., AbstractContextManager[Server]], tmp_path: Path) -> None:
    with start_server("--nodes", "2") as server:
        environment = user_environment(tmp_path, server.kubeconfig)
        kubectl = Kubectl(server.kubeconfig, tmp_path)
        kubectl("wait", "--for=condition=Ready", "node", "--all")
        told = commands(DOCUMENT)
        assert len(told) == 4
        for command in told:
            assert timeless(run(command.text, environment)) == timeless(command.output), command.text
        assert "pending" not in kubectl("get", "pods", "-A")
        assert "nodesOmitted" in kubectl("explain", "schedulingpreviews.status.placements")
        (posted,) = [block for block in blocks(DOCUMENT, "sh") if "curl" in block]
        path = posted.split()[2].partition("6443")[2]
        body = (CLONE / "docs/examples/preview.yaml").read_bytes()
        request = urllib.request.Request(server.url + path, body, {"Content-Type": "application/yaml"})
        with urllib.request.urlopen(request) as answer:
            assert json.load(answer)["status"]["placements"][0]["node"] == "esp32-1"
        (role,) = blocks(DOCUMENT, "yaml")
        assert yaml.safe_load(role)["metadata"]["name"] in kubectl("create", "-f", "-", stdin=role)


def test_the_program() -> None:
    (program,) = blocks(DOCUMENT, "python")
    done = subprocess.run(
        [sys.executable, "-"], input=program, capture_output=True, text=True, env=command_environment(), check=True
    )
    assert done.stdout == blocks(DOCUMENT, "text")[0]

"""`serve --store etcd://…` as a user sees it: kubectl, while etcd is there, while it is away, and after a restart."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import FAST
from tests.support.etcd import Etcd, running_etcd
from tests.support.kubectl import Kubectl
from tests.support.servers import running_server
from tests.support.waiting import until


@pytest.fixture
def own_etcd(tmp_path: Path) -> Iterator[Etcd]:
    (tmp_path / "etcd").mkdir()
    with running_etcd(tmp_path / "etcd") as running:
        yield running


def test_a_cluster_on_etcd_outlives_its_server_and_waits_for_etcd(own_etcd: Etcd, tmp_path: Path) -> None:
    options = ("--store", f"{own_etcd.url}/team/a", *FAST)
    home = tmp_path / "home"
    home.mkdir()
    with running_server(tmp_path, *options) as server:
        kubectl, http = Kubectl(server.kubeconfig, home), server.http()
        kubectl("create", "deployment", "web", "--image=web", "--replicas=2")
        kubectl("rollout", "status", "deployment/web", "--timeout=30s")
        kubectl("expose", "deployment", "web", "--port=80")
        uid = kubectl("get", "deployment", "web", "-o", "jsonpath={.metadata.uid}")
        assert http.get("/readyz") == "ok"

        own_etcd.kill()
        refused = kubectl.run("create", "configmap", "x")
        assert refused.returncode == 1
        assert f"etcd at 127.0.0.1:{own_etcd.port} cannot be reached" in refused.stderr
        assert "web" in kubectl("get", "deployments"), "what is known is still told"
        until(lambda: http.request("GET", "/readyz")[0] == 503, "the server is not ready")

        own_etcd.start()
        until(lambda: http.request("GET", "/readyz")[0] == 200, "the server is ready again")
        kubectl("create", "configmap", "x")
        kubectl("scale", "deployment", "web", "--replicas=3")
        kubectl("rollout", "status", "deployment/web", "--timeout=30s")
        version = int(http.get("/api/v1/pods")["metadata"]["resourceVersion"])
        http.close()
    with running_server(tmp_path, *options) as server:
        kubectl, http = Kubectl(server.kubeconfig, home), server.http()
        assert kubectl("get", "deployment", "web", "-o", "jsonpath={.metadata.uid}") == uid
        assert int(http.get("/api/v1/pods")["metadata"]["resourceVersion"]) > version
        kubectl("rollout", "status", "deployment/web", "--timeout=30s")
        assert len(kubectl("get", "pods", "-o", "name").split()) == 3
        os.kill(own_etcd.pid, signal.SIGTERM)
        http.close()


def test_without_etcd_it_does_not_start_and_says_why(tmp_path: Path) -> None:
    from tests.support.servers import put_away, start_command

    process = start_command(["serve", "--port", "0", "--store", "etcd://127.0.0.1:1"], tmp_path / "log")
    try:
        assert process.wait(timeout=60) == 1
    finally:
        put_away(process)
    said = (tmp_path / "log").read_text()
    assert "--store: etcd at 127.0.0.1:1 cannot be reached: " in said
    assert "Traceback" not in said
    assert len(said.strip().splitlines()) == 1

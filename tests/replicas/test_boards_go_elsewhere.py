"""Boards in a process of their own lose the replica that they speak to: they go on with another, and nobody notices."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.etcd import Etcd, fresh_prefix
from tests.support.http import Http
from tests.support.replicas import SHORT, Replica, running_replicas
from tests.support.servers import put_away, start_command
from tests.support.waiting import until

NODES = "/api/v1/nodes"
PODS = "/api/v1/namespaces/default/pods"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
COUNT = 5
SLACK = 2.0
"""Seconds by which the loss of a node may come after the end of its lease."""


@contextmanager
def boards(log: Path, *options: str) -> Iterator[None]:
    """COUNT of them; they must end cleanly."""
    process = start_command(["kubelet", "--name", "board", "--count", str(COUNT), *options], log)
    try:
        yield
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 0
        assert "Traceback" not in log.read_text()
    finally:
        put_away(process)


def pod(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


def runs(client: Http, name: str) -> bool:
    return bool(client.get(f"{PODS}/{name}")["status"].get("phase") == "Running")


def ready(client: Http) -> dict[str, str]:
    """Of each node, since when it is Ready."""
    return {
        node["metadata"]["name"]: condition["lastTransitionTime"]
        for node in client.get(NODES)["items"]
        for condition in node["status"]["conditions"]
        if (condition["type"], condition["status"]) == ("Ready", "True")
    }


def containers(client: Http) -> dict[str, Any]:
    return {each["metadata"]["name"]: each["status"]["containerStatuses"] for each in client.get(PODS)["items"]}


def renewals(client: Http) -> dict[str, str]:
    return {lease["metadata"]["name"]: lease["spec"]["renewTime"] for lease in client.get(LEASES)["items"]}


LONG = pytest.mark.soak


@pytest.mark.parametrize(
    ("number", "lease"),
    [
        pytest.param(signal.SIGKILL, 6, marks=LONG),
        pytest.param(signal.SIGKILL, 15, marks=LONG),
        pytest.param(signal.SIGSTOP, 15, marks=LONG),  # it takes connections, and says nothing
    ],
)
def test_a_replica_is_lost(tmp_path: Path, etcd: Etcd, number: signal.Signals, lease: int) -> None:
    """For longer than a lease lasts, and nothing is to be seen of it at the other."""
    with running_replicas(tmp_path, etcd.url + fresh_prefix(), 2, *SHORT, "--nodes", "0") as replicas:
        used, other = replicas
        log = tmp_path / "boards.log"
        with boards(log, "--server", f"{used.url},{other.url}", "--node-lease-duration-seconds", str(lease)):
            try:
                _lose(used, other, log, number, lease)
            finally:
                if number == signal.SIGSTOP:
                    used.signal(signal.SIGCONT)


def _lose(used: Replica, other: Replica, log: Path, number: signal.Signals, lease: int) -> None:
    client = other.http()
    until(lambda: len(ready(client)) == COUNT, "the boards are Ready")
    client.post(PODS, pod("early"))
    until(lambda: runs(client, "early"), "a pod runs")
    nodes, before, renewed = ready(client), containers(client), renewals(client)

    used.signal(number)
    lost = time.monotonic()
    until(lambda: f"going on with {other.url}" in log.read_text(), "the boards have turned to the other")
    client.post(PODS, pod("late"))
    until(lambda: runs(client, "late"), "they hear of new pods there")
    until(lambda: time.monotonic() - lost > lease + SLACK, "the last renewals at the first have run out")
    until(lambda: other.says("became leader"), "somebody looks after nodes")
    assert ready(client) == nodes
    assert all(renewals(client)[name] > renewed[name] for name in nodes)
    assert containers(client)["early"] == before["early"]
    assert client.get("/api/v1/events?fieldSelector=reason%3DNodeNotReady")["items"] == []
    assert log.read_text().count("WARNING") == 1


def test_by_kubeconfigs(tmp_path: Path, etcd: Etcd) -> None:
    """As with TLS, where only they know whom to trust; the first is not there at all."""
    with running_replicas(tmp_path, etcd.url + fresh_prefix(), 2, "--nodes", "0", "--tls-self-signed") as replicas:
        first = replicas[0]
        first.kill()
        named = [argument for each in replicas for argument in ("--kubeconfig", str(each.kubeconfig))]
        log = tmp_path / "boards.log"
        with boards(log, *named):
            until(lambda: "registered: board-0" in log.read_text(), "all are registered")
        assert f"{first.url} is lost: " in log.read_text()

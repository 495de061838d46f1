"""etcd is away for a while: errors that say so, reads that go on, and afterwards all goes on without a restart."""

from __future__ import annotations

import os
import signal
import socket
import time
from pathlib import Path

import pytest

from tests.support.etcd import Etcd, running_etcd
from tests.support.http import Http
from tests.support.replicas import SHORT, running_replicas
from tests.support.waiting import until

MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
TEMPLATE = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
WEB = {"metadata": {"name": "web"}, "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": TEMPLATE}}


def refused(client: Http, name: str) -> bool:
    status, answer = client.request("POST", MAPS, {"metadata": {"name": name}})
    if status == 201:
        return False
    assert (status, answer["kind"], answer["reason"]) == (503, "Status", "ServiceUnavailable")
    assert "etcd at 127.0.0.1:" in answer["message"]
    return True


def answers(etcd: Etcd) -> bool:
    try:
        with socket.create_connection(etcd.endpoint, timeout=1):
            return True
    except OSError:
        return False


LONG = pytest.mark.soak


@pytest.mark.parametrize(
    ("manner", "seconds"),
    [("stopped", 1.0), pytest.param("stopped", 30.0, marks=LONG), pytest.param("silent", 30.0, marks=LONG)],
)
def test_it_comes_back(tmp_path: Path, manner: str, seconds: float) -> None:
    with running_etcd(tmp_path) as etcd, running_replicas(tmp_path, etcd.url, 2, *SHORT, "--nodes", "1") as replicas:
        first = replicas.leader()
        clients = [each.http() for each in replicas]
        clients[0].post(DEPLOYMENTS, WEB)
        until(lambda: len(clients[1].get(PODS)["items"]) == 1, "loops run")
        if manner == "stopped":  # by itself: etcd 3.5.1 may lose what it has acknowledged when it is killed
            os.kill(etcd.pid, signal.SIGTERM)
            until(lambda: not answers(etcd), "etcd has stopped")
            etcd.kill()
        else:
            etcd.pause()
        gone = time.monotonic()
        for number, client in enumerate(clients):
            until(lambda c=client, n=number: refused(c, f"lost-{n}"), "a write is refused")
            assert client.get(PODS)["items"], "reads go on"
        until(lambda: first.says("stopped leading"), "the leader gives up")
        until(lambda: time.monotonic() - gone > seconds, "it has been away for long enough", seconds + 5)
        assert all(refused(client, "still-lost") for client in clients)

        if manner == "stopped":
            etcd.start()
        else:
            etcd.go_on()
        for number, client in enumerate(clients):
            until(lambda c=client, n=number: not refused(c, f"back-{n}"), "writes go on")
        replicas.leader()
        clients[1]("PATCH", f"{DEPLOYMENTS}/web", {"spec": {"replicas": 3}})
        until(lambda: len(clients[0].get(PODS)["items"]) == 3, "loops run again")
        names = {each["metadata"]["name"] for each in clients[0].get(MAPS)["items"]}
        assert names >= {"back-0", "back-1"}
        assert not any(name.startswith("still") for name in names)

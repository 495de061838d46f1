"""A server on a SQLite file as its users see it: when the disk is full, and when it is killed."""

from __future__ import annotations

import json
import resource
import urllib.request
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import FAST
from tests.support.servers import CLONE, Server, doomed_server, start_command
from tests.support.waiting import until

MAPS = "/api/v1/namespaces/default/configmaps"
StartServer = Callable[..., AbstractContextManager[Server]]


def config_map(name: str, size: int = 0) -> dict[str, Any]:
    return {"metadata": {"name": name}, "data": {"room": "x" * size}}


def limit(server: Server, size: int) -> None:
    """Let none of the server's files grow beyond a size: to whoever writes it is a disk that is full."""
    _, hard = resource.prlimit(server.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (size, hard))


def events(server: Server, since: str) -> list[tuple[tuple[str, str], Any]]:
    """((type, name), object) of each ConfigMap that a watch is told of within a second."""
    with urllib.request.urlopen(f"{server.url}{MAPS}?watch=1&resourceVersion={since}&timeoutSeconds=1") as answer:
        found = [json.loads(line) for line in answer]
    return [((event["type"], event["object"]["metadata"]["name"]), event["object"]) for event in found]


def test_a_full_disk_is_said_to_writers_and_over_when_there_is_room(start_server: StartServer, tmp_path: Path) -> None:
    path = tmp_path / "store"
    with start_server(*FAST, "--store", f"sqlite:{path}") as server, closing(server.http()) as http:
        http.post(MAPS, config_map("before"))
        until(lambda: [ready(node) for node in http.get("/api/v1/nodes")["items"]] == [True, True], "boards are ready")
        watched = http.get(MAPS)["metadata"]["resourceVersion"]
        limit(server, path.with_name("store-wal").stat().st_size)
        status, answer = http.request("POST", MAPS, config_map("during", 100_000))
        assert status == 503, answer
        assert answer["reason"] == "ServiceUnavailable"
        assert "the store cannot be written: " in answer["message"]
        assert str(path) in answer["message"]
        assert http.request("GET", f"{MAPS}/during")[0] == 404
        assert [item["metadata"]["name"] for item in http.get(MAPS)["items"]] == ["before"]
        assert http.request("DELETE", f"{MAPS}/before")[0] == 503
        assert http.request("PATCH", f"{MAPS}/before", {"data": {"a": "b"}})[0] == 503
        assert http.get(f"{MAPS}/before")["data"] == {"room": ""}
        assert "the store cannot be written" in server.log.read_text()
        limit(server, resource.RLIM_INFINITY)
        until(lambda: http.request("POST", MAPS, config_map("after"))[0] == 201, "it goes on by itself")
        assert [told for told, _ in events(server, watched)] == [("ADDED", "after")]
        renewed = renewals(http)
        until(lambda: all(renewals(http)[name] > text for name, text in renewed.items()), "boards renew their leases")
        assert all(ready(node) for node in http.get("/api/v1/nodes")["items"])
        assert "the store can be written again" in server.log.read_text()


def ready(node: dict[str, Any]) -> bool:
    conditions = node.get("status", {}).get("conditions", [])
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def renewals(http: Any) -> dict[str, str]:
    leases = http.get("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases")["items"]
    return {lease["metadata"]["name"]: lease["spec"]["renewTime"] for lease in leases}


def test_a_disk_that_is_full_at_the_start(tmp_path: Path) -> None:
    path, log = tmp_path / "store", tmp_path / "log"
    with doomed_server(tmp_path, "--store", f"sqlite:{path}") as server, closing(server.http()) as http:
        http.post(MAPS, config_map("before"))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size // 2, hard))
    try:
        process = start_command(["serve", "--port", "0", "--store", f"sqlite:{path}"], log)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert process.wait(60) == 1
    assert process.stdout is not None
    process.stdout.close()
    lines = [line for line in log.read_text().splitlines() if line.startswith("kube32-sim: ")]
    assert lines == [f"kube32-sim: --store: {path} cannot be written: disk I/O error; make room, or name another file"]
    assert "Traceback" not in log.read_text()
    with doomed_server(tmp_path, "--store", f"sqlite:{path}") as server, closing(server.http()) as http:
        assert http.get(f"{MAPS}/before")["data"] == {"room": ""}


def test_what_was_answered_is_there_after_a_kill_and_a_watch_goes_on(tmp_path: Path) -> None:
    options = ("--store", f"sqlite:{tmp_path / 'store'}", "--nodes", "0")
    with doomed_server(tmp_path, *options) as server, closing(server.http()) as http:
        first = http.post(MAPS, config_map("first"))
        since = http.get(MAPS)["metadata"]["resourceVersion"]
        second = http.post(MAPS, config_map("second"))
        http("DELETE", f"{MAPS}/first")
    with doomed_server(tmp_path, *options) as server, closing(server.http()) as http:
        assert http.get(f"{MAPS}/second") == second
        assert http.request("GET", f"{MAPS}/first")[0] == 404
        third = http.post(MAPS, config_map("third"))
        assert int(third["metadata"]["resourceVersion"]) > int(second["metadata"]["resourceVersion"])
        found = events(server, since)
        assert [told for told, _ in found] == [("ADDED", "second"), ("DELETED", "first"), ("ADDED", "third")]
        assert found[1][1]["metadata"]["uid"] == first["metadata"]["uid"]


@pytest.mark.parametrize(
    ("make", "wanted"),
    [
        (lambda path: path.mkdir(), "is a directory"),
        (lambda path: path.write_text("remember the milk"), "is no store of kube32-sim"),
        (lambda path: path.symlink_to(CLONE / "none" / "there"), "cannot be opened"),
    ],
)
def test_what_cannot_be_opened_ends_the_start_in_one_line(
    tmp_path: Path, make: Callable[[Path], object], wanted: str
) -> None:
    path, log = tmp_path / "store", tmp_path / "log"
    make(path)
    process = start_command(["serve", "--port", "0", "--store", f"sqlite:{path}"], log)
    assert process.wait(60) == 1
    assert process.stdout is not None
    process.stdout.close()
    [line] = log.read_text().splitlines()
    assert line.startswith(f"kube32-sim: --store: {path} ")
    assert wanted in line

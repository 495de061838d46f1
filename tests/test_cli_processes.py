"""`serve` and `kubelet` as processes: signals, and boards that find their server over HTTP."""

import re
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.http import Http
from tests.support.servers import Server, running_server, start_command
from tests.support.waiting import until

PODS = "/api/v1/namespaces/default/pods"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_is_a_clean_end(tmp_path: Path, number: signal.Signals) -> None:
    log, kubeconfig = tmp_path / "log", tmp_path / "kubeconfig"
    process = start_command(["serve", "--port", "0", "--kubeconfig", "./kubeconfig"], log)
    assert process.stdout is not None
    with process.stdout as stdout:
        first = stdout.readline()
        assert kubeconfig.exists(), "the kubeconfig is there before the ready line"
        process.send_signal(number)
        rest = stdout.read()
        assert process.wait(timeout=60) == 0
    assert first.startswith("kube32-sim is serving on http://127.0.0.1:")
    use, see = rest.splitlines()
    assert use == f"Use it:  export KUBECONFIG={kubeconfig}  and then  kubectl get nodes"
    assert re.fullmatch(r"See it:  http://127\.0\.0\.1:\d+/ui/  in a browser", see)
    (line,) = log.read_text().splitlines()
    assert line.endswith(": stopped")


def test_a_clock_that_stands_still_is_told_of(tmp_path: Path) -> None:
    options = ("--port", "0", "--kubeconfig", "./kubeconfig", "--clock", "virtual", "--nodes", "0")
    process = start_command(["serve", *options], tmp_path / "log")
    assert process.stdout is not None
    with process.stdout as stdout:
        lines = [stdout.readline() for _ in range(4)]
        process.send_signal(signal.SIGTERM)
        assert (stdout.read(), process.wait(timeout=60)) == ("", 0)
    assert lines[3] == "Its clock stands still until it is moved:  kube32-sim clock advance 10s\n"


def test_who_takes_over_a_kubeconfig_says_whose_it_was(tmp_path: Path) -> None:
    (tmp_path / "second").mkdir()
    options = ("--nodes", "0", "--kubeconfig", str(tmp_path / "shared"))
    with running_server(tmp_path, *options) as first, running_server(tmp_path / "second", *options) as second:
        assert first.log.read_text() == ""
        (line,) = second.log.read_text().splitlines()
    assert f"WARNING kube32_sim.kubeconfig: {tmp_path / 'shared'} pointed to {first.url} before" in line


@contextmanager
def boards(directory: Path, *options: str) -> Iterator[None]:
    """`kube32-sim kubelet` until the block ends; it must then end cleanly."""
    log = directory / "kubelet.log"
    process = start_command(["kubelet", *options], log)
    assert process.stdout is not None
    with process.stdout:
        try:
            yield
        finally:
            process.send_signal(signal.SIGTERM)
            code = process.wait(timeout=60)
    assert code == 0
    assert "Traceback" not in log.read_text()


@contextmanager
def client_of(server: Server) -> Iterator[Http]:
    http = server.http()
    try:
        yield http
    finally:
        http.close()


def ready_nodes(http: Http) -> set[str]:
    return {node["metadata"]["name"] for node in http.get("/api/v1/nodes")["items"] if is_ready(node)}


def is_ready(node: dict[str, Any]) -> bool:
    return any(c["type"] == "Ready" and c["status"] == "True" for c in node["status"].get("conditions", ()))


def test_boards_in_a_process_of_their_own(tmp_path: Path) -> None:
    names = {"bench-0", "bench-1", "bench-2"}
    with running_server(tmp_path, "--nodes", "0") as server, client_of(server) as http:
        options = ("--name", "bench", "--count", "3", "--board", "esp32-c6", "--kubeconfig", str(server.kubeconfig))
        with boards(tmp_path, *options):
            until(lambda: ready_nodes(http) == names, "three boards are Ready")
            http.post(PODS, {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "app", "image": "app:1"}]}})
            until(lambda: http.get(f"{PODS}/a")["status"]["phase"] == "Running", "the pod runs")
            http("DELETE", f"{PODS}/a")
            until(lambda: http.request("GET", f"{PODS}/a")[0] == 404, "the pod is gone")


def test_boards_wait_for_their_server_and_find_one_that_was_started_anew(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    with boards(tmp_path, "--name", "bench", "--server", f"127.0.0.1:{port}"):
        for start in ("first", "second"):
            (tmp_path / start).mkdir()
            with running_server(tmp_path / start, "--nodes", "0", "--port", port) as server, client_of(server) as http:
                until(lambda http=http: ready_nodes(http) == {"bench"}, "the board is Ready")  # type: ignore[misc]
    told = (tmp_path / "kubelet.log").read_text()
    address = f"http://127.0.0.1:{port}"
    assert f"WARNING kube32_sim.http_client: {address} does not answer: Connection refused; it is asked again" in told
    assert f"INFO kube32_sim.http_client: {address} answers\n" in told
    assert "INFO kube32_sim.kubelet.process: registered: bench\n" in told


def test_boards_say_that_they_cannot_follow_a_virtual_clock(tmp_path: Path) -> None:
    said = "WARNING kube32_sim.kubelet.process: the server's clock is virtual"
    log = tmp_path / "kubelet.log"
    with (
        running_server(tmp_path, "--nodes", "0", "--clock", "virtual") as server,
        boards(tmp_path, "--name", "bench", "--kubeconfig", str(server.kubeconfig)),
    ):
        until(lambda: said in log.read_text(), "the warning is there")

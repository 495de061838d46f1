"""`kube32-sim why`: what it says, on which stream, and with which exit code."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from kube32_sim import cli
from kube32_sim.commands.why import MOST_NODES, _waiting
from tests.support.servers import Server, running_server

Said = tuple[int, str, str]
PODS = "/api/v1/namespaces/default/pods"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Two boards on a virtual clock, and a pod `one`."""
    with running_server(tmp_path_factory.mktemp("why"), "--clock", "virtual", "--nodes", "2") as server:
        spec = {"containers": [{"name": "c", "image": "i"}]}
        http = server.http()
        http.post(PODS, {"metadata": {"name": "one"}, "spec": spec})
        http.close()
        yield server


@pytest.fixture
def why(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Said]:
    """(exit code, stdout, stderr) of `kube32-sim why ARGUMENTS`, by a user with an empty home."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)

    def run(*arguments: str) -> Said:
        try:
            code = cli.run(["why", *arguments])
        except SystemExit as stop:
            code = int(stop.code or 0)
        return code, *capsys.readouterr()

    return run


def test_the_chain_is_told(server: Server, why: Callable[..., Said]) -> None:
    code, out, err = why("pod/one", "--server", server.url)
    assert (code, err) == (0, "")
    head, _, created, by, scheduled, where = out.splitlines()
    assert head.startswith("pod/one in default: ")
    assert created.startswith("  1  2026-01-01T00:00:00Z (0s ago)  Created: this pod, by system:admin, revision ")
    assert by.startswith("     created by ")
    assert scheduled.endswith(", because of 1")
    assert where.strip().startswith("bound to esp32-0 with score ")


@pytest.mark.parametrize("name", ["one", "pods/one", "po/one", "Pod/one"])
def test_ways_to_name_it(server: Server, why: Callable[..., Said], name: str) -> None:
    assert why(name, "--server", server.url)[0] == 0


def test_as_an_object(server: Server, why: Callable[..., Said]) -> None:
    _, text, _ = why("one", "-o", "json", "--server", server.url)
    _, other, _ = why("one", "-o", "yaml", "-n", "default", "--server", server.url)
    shown = json.loads(text)
    assert (shown["kind"], shown["spec"]["pod"]["name"]) == ("Explanation", "one")
    assert yaml.safe_load(other)["status"]["causes"] == shown["status"]["causes"]


def test_nobody_knows_the_pod(server: Server, why: Callable[..., Said]) -> None:
    code, out, err = why("onne", "--server", server.url)
    nothing = "not found in namespace default, nor is anything recorded of it"
    assert (code, out, err) == (1, "", f'kube32-sim: pods "onne" {nothing}; did you mean one?\n')


@pytest.mark.parametrize(
    ("given", "why_not"),
    [
        ("deployment/web", "deployment/web: only pods are explained: pod/NAME"),
        ("pod/", "'pod/' names no pod: pod/NAME"),
    ],
)
def test_what_is_no_pod(why: Callable[..., Said], given: str, why_not: str) -> None:
    code, out, err = why(given)
    assert (code, out, err.splitlines()[-1]) == (2, "", f"kube32-sim why: error: {why_not}")


def test_no_simulator(why: Callable[..., Said]) -> None:
    code, _, err = why("one", "--server", "http://127.0.0.1:9")
    assert (code, err.count("\n")) == (1, 1)
    assert err.startswith("kube32-sim: cannot reach the simulator: ")


def test_of_many_nodes_reasons_are_counted() -> None:
    nodes = [{"name": f"n{number}", "reason": "full" if number else "odd"} for number in range(MOST_NODES + 1)]
    *_, first, second, more = _waiting({"nodes": nodes, "nodesLeftOut": 5})
    assert (first.split(), second.split()) == (["10", "nodes:", "full"], ["1", "nodes:", "odd"])
    assert more.strip() == "and 5 more"


def test_the_namespace_is_that_of_the_kubeconfig_unless_said(
    server: Server, why: Callable[..., Said], tmp_path: Path
) -> None:
    config = yaml.safe_load(server.kubeconfig.read_text("utf-8"))
    config["contexts"][0]["context"]["namespace"] = "lab"
    file = tmp_path / "config"
    file.write_text(yaml.safe_dump(config), "utf-8")
    code, _, err = why("one", "--kubeconfig", str(file))
    assert code == 1
    assert "not found in namespace lab" in err
    assert why("one", "-n", "default", "--kubeconfig", str(file))[0] == 0

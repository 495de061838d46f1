"""`kube32-sim fork`: what it prints, writes and refuses, and with which exit code."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from kube32_sim import cli
from tests.support.kubectl import Kubectl
from tests.support.servers import Server, admin_token_file, running_server

Said = tuple[int, str, str]


@pytest.fixture(scope="module")
def virtual(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """With TLS and RBAC; shared, each test takes its forks away."""
    directory = tmp_path_factory.mktemp("forked")
    options = ("--clock", "virtual", "--nodes", "1", "--tls-self-signed", "--authorization-mode", "RBAC")
    with running_server(directory, *options) as server:
        yield server


@pytest.fixture
def fork(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, virtual: Server
) -> Callable[..., Said]:
    """(exit code, stdout, stderr) of `kube32-sim fork ARGUMENTS`, by a user whose kubeconfig is the server's."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KUBECONFIG", str(virtual.kubeconfig))
    monkeypatch.delenv("KUBE32_SIM_PROGRAM", raising=False)

    def run(*arguments: str) -> Said:
        try:
            code = cli.run(["fork", *arguments])
        except SystemExit as stop:
            code = int(stop.code or 0)
        return code, *capsys.readouterr()

    return run


def test_made_used_listed_and_deleted(fork: Callable[..., Said], virtual: Server, tmp_path: Path) -> None:
    code, out, err = fork("one")
    kubeconfig = tmp_path / ".kube/kube32-sim-one"
    assert (code, err) == (0, "")
    first, use, clock = out.splitlines()
    assert first.startswith(f"fork one of {virtual.url}, as of 2026-01-01T00:0")
    assert use == f"Use it:  export KUBECONFIG={kubeconfig}  and then  kubectl get nodes"
    assert clock == "Its clock stands still until it is moved:  kube32-sim clock advance 10s"
    assert kubeconfig.stat().st_mode & 0o777 == 0o600

    kubectl, original = Kubectl(kubeconfig, tmp_path), Kubectl(virtual.kubeconfig, tmp_path)
    assert "esp32-0" in kubectl("get", "nodes")
    kubectl("create", "configmap", "mine")
    assert "not found" in original.fails("get", "configmap", "mine")
    assert "one" in original("get", "forks")

    code, out, _ = fork("--list")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == ["NAME", "one"]
    items = json.loads(fork("--list", "-o", "json")[1])["items"]
    assert items[0]["status"]["server"].rpartition(":")[0] == virtual.url.rpartition(":")[0]

    assert fork("--delete", "one") == (0, "fork one deleted\n", "")
    assert not kubeconfig.exists()
    assert fork("--list") == (0, "there are no forks\n", "")


def test_output_as_an_object_and_a_generated_name(fork: Callable[..., Said], tmp_path: Path) -> None:
    file = tmp_path / "somewhere/there"
    code, out, _ = fork("-o", "yaml", "--kubeconfig", str(file))
    made = yaml.safe_load(out)
    assert (code, made["kind"], made["metadata"]["name"]) == (0, "Fork", "fork-1")
    assert yaml.safe_load(file.read_text())["clusters"][0]["cluster"]["server"] == made["status"]["server"]
    assert fork("--delete", "fork-1")[0] == 0
    assert file.exists()  # somebody has said where it is to be


@pytest.mark.parametrize(
    ("arguments", "code", "why"),
    [
        (("Not_a_name",), 1, "metadata.name"),
        (("--port", "70000"), 2, "--port"),
        (("--port", "x"), 2, "--port"),
        (("one", "--list"), 2, "not together with --list"),
        (("one", "--delete", "two"), 2, "not together with --delete"),
        (("--delete", "nobody"), 1, "not found"),
        (("--server", "http://127.0.0.1:1"), 1, "cannot reach the simulator"),
    ],
)
def test_refused_in_a_line(fork: Callable[..., Said], arguments: tuple[str, ...], code: int, why: str) -> None:
    found, out, err = fork(*arguments)
    assert (found, out) == (code, "")
    assert why in err.splitlines()[-1]
    assert fork("--list")[1] == "there are no forks\n"


def test_the_kubeconfig_of_the_original_and_of_others_is_left_alone(
    fork: Callable[..., Said], virtual: Server, tmp_path: Path
) -> None:
    before = virtual.kubeconfig.read_text()
    code, _, err = fork("one", "--kubeconfig", str(virtual.kubeconfig))
    assert code == 1
    assert "name another file" in err
    assert virtual.kubeconfig.read_text() == before
    foreign = tmp_path / "foreign"
    foreign.write_text("clusters: [{name: theirs, cluster: {server: https://x}}]")
    code, _, err = fork("one", "--kubeconfig", str(foreign))
    assert code == 1
    assert "is not overwritten" in err
    assert fork("--list")[1] == "there are no forks\n"


def test_a_token_file_goes_for_forks_too(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    options = ("--clock", "virtual", "--nodes", "0", "--token-file", str(admin_token_file(tmp_path)))
    with running_server(tmp_path, *options) as server:
        monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig))
        assert cli.run(["fork", "one"]) == 0
        capsys.readouterr()
        monkeypatch.setenv("KUBECONFIG", str(tmp_path / ".kube/kube32-sim-one"))
        assert cli.run(["clock", "show"]) == 0
        assert capsys.readouterr().out.startswith("virtual clock")

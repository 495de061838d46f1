"""`kube32-sim snapshot` as users run it: against servers in processes of their own, with kubectl's output too."""

from __future__ import annotations

import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import orjson
import pytest

from kube32_sim import cli
from tests.snapshot.loads import KIND, config_map
from tests.support.servers import Server, command_environment, running_server

Said = tuple[int, str, list[str]]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A virtual clock and one board; shared, and filled by what is loaded."""
    with running_server(tmp_path_factory.mktemp("loaded"), "--clock", "virtual", "--nodes", "1") as server:
        yield server


@pytest.fixture
def snapshot(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., Said]:
    """(exit code, stdout, lines of stderr) of `kube32-sim snapshot ARGUMENTS`, by a user with an empty home."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)

    def run(*arguments: str) -> Said:
        try:
            code = cli.run(["snapshot", *arguments])
        except SystemExit as stop:
            code = int(stop.code or 0)
        captured = capsys.readouterr()
        return code, captured.out, captured.err.splitlines()

    return run


def test_a_real_cluster_is_loaded_and_saved(server: Server, snapshot: Callable[..., Said], tmp_path: Path) -> None:
    where = ("--server", server.url)
    code, out, told = snapshot("load", KIND, "--dry-run", *where)
    assert (code, out) == (0, "48 objects would be loaded\n")
    code, out, told = snapshot("load", KIND, *where)
    assert (code, out) == (0, "48 objects loaded, 8 of them in the place of others\n")
    assert "kube32-sim: 5 pods of ReplicaSets belong to their Deployments now" in told
    code, out, told = snapshot("load", KIND, *where)
    assert (code, out) == (1, "")
    assert told[0] == f"kube32-sim: {KIND}, document 1, items[4]: Namespace shop is there already"
    ways = "--on-conflict skip leaves what is there, --on-conflict replace takes the snapshot's instead"
    assert told[-1] == f"kube32-sim: nothing was loaded; {ways}"
    assert snapshot("load", KIND, "--on-conflict", "skip", *where)[0] == 0

    file = tmp_path / "state.jsonl"
    code, out, told = snapshot("save", str(file), *where)
    assert (code, out) == (0, "")
    assert told[0].endswith(f"saved in {file}")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    found = [orjson.loads(line) for line in file.read_bytes().splitlines()]
    assert {"Oven", "Secret", "Lease", "Pod"} <= {obj["kind"] for obj in found}
    assert found[0]["spec"] | {"resourceVersion": "", "time": ""} == {
        "time": "",
        "server": "v1.36.0+kube32-sim",
        "resourceVersion": "",
        "foreign": False,
        "complete": True,
    }
    assert len(found) == int(told[0].split()[0]) + 1
    assert len({obj["metadata"]["uid"] for obj in found[1:]}) == len(found) - 1

    assert snapshot("save", str(file), "--without-secrets", *where)[0] == 0
    assert b'"kind":"Secret"' not in file.read_bytes()
    assert b'"complete":false' in file.read_bytes()


def test_standard_streams(server: Server) -> None:
    command = [sys.executable, "-m", "kube32_sim", "snapshot", "save", "-", "--server", server.url]
    done = subprocess.run(command, capture_output=True, env=command_environment(), check=True)
    first, *objects = map(orjson.loads, done.stdout.splitlines())
    assert first["kind"] == "Snapshot"
    assert done.stderr.decode().startswith(f"{len(objects)} objects as of ")


def test_what_cannot_be_done_is_told(snapshot: Callable[..., Said], server: Server, tmp_path: Path) -> None:
    where = ("--server", server.url)
    bad = tmp_path / "bad.jsonl"
    bad.write_bytes(orjson.dumps(config_map("Bad")) + b"\n")
    for arguments, told in {
        ("load", str(bad), *where): f"{bad}, line 1: metadata.name: Invalid value",
        ("load", str(tmp_path / "gone"), *where): "gone: No such file or directory",
        ("save", str(tmp_path / "no" / "where"), *where): "No such file or directory",
        ("load", KIND, "--server", "http://127.0.0.1:9"): "cannot reach the server",
        ("save", "-", "--kubeconfig", str(tmp_path / "none")): "none",
    }.items():
        code, out, said = snapshot(*arguments)
        assert (code, out) == (1, ""), arguments
        assert told in said[0], said
    assert snapshot("load", "--server", server.url)[0] == 2
    assert snapshot("lode")[0] == 2


def test_a_load_of_which_nothing_is_left_has_failed(
    server: Server, snapshot: Callable[..., Said], tmp_path: Path
) -> None:
    where = ("--server", server.url)
    strange = tmp_path / "strange.jsonl"
    strange.write_bytes(orjson.dumps(config_map("x") | {"apiVersion": "nowhere.example.com/v1", "kind": "Thing"}))
    for more in ((), ("--dry-run",)):
        code, out, told = snapshot("load", str(strange), *more, *where)
        assert (code, out.split()[0]) == (1, "0")
        assert "Thing" in told[0]
        assert told[-1] == "kube32-sim: none of the 1 objects can be loaded: nothing was loaded"
    assert snapshot("load", str(strange), "--on-conflict", "skip", *where)[0] == 0


def test_whoever_reads_only_the_beginning_is_left_in_peace(server: Server) -> None:
    for arguments in (("snapshot", "save", "-", "--server", server.url), ("--help",), ("serve", "--help")):
        command = [sys.executable, "-m", "kube32_sim", *arguments]
        environment = command_environment(
            PYTHONUNBUFFERED=""
        )  # as users have it: the end of the pipe is met at the end
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            process.stdout.close()
            assert process.stderr.read() == b""
            assert process.wait() == 1

"""`kube32-sim faults`: what it says of a running simulator, on which stream, and with which exit code."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from kube32_sim import cli
from tests.support.faults import SCENARIO, rule, scenario
from tests.support.http import Http
from tests.support.servers import Server, running_server

NODE = "/api/v1/nodes/esp32-"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_server(tmp_path_factory.mktemp("faults"), "--nodes", "2") as running:
        yield running


@pytest.fixture
def http(server: Server) -> Iterator[Http]:
    made = server.http()
    yield made
    made.request("DELETE", SCENARIO)
    made.close()


Said = tuple[int, str, str]


@pytest.fixture
def faults(server: Server, capsys: pytest.CaptureFixture[str]) -> Callable[..., Said]:
    """(exit code, stdout, stderr) of `kube32-sim faults ARGUMENTS`."""

    def run(*arguments: str) -> Said:
        try:
            code = cli.run(["faults", *arguments, "--server", server.url])
        except SystemExit as stop:
            code = int(stop.code or 0)
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "faults.yaml"
    made.write_text(yaml.safe_dump(scenario(rule("busy", {"status": 429}, every=2), seed=4)))
    return made


def fault_of(http: Http, number: int) -> str | None:
    annotations = http.get(f"{NODE}{number}")["metadata"].get("annotations") or {}
    found: str | None = annotations.get("sim.kube32.io/fault")
    return found


def test_boards_break_and_are_healed(faults: Callable[..., Said], http: Http) -> None:
    assert faults("board", "esp32-0", "esp32-1", "slow:1ms") == (
        0,
        "node/esp32-0 slow:1ms\nnode/esp32-1 slow:1ms\n",
        "",
    )
    assert (fault_of(http, 0), fault_of(http, 1)) == ("slow:1ms", "slow:1ms")
    assert faults("board", "esp32-0", "esp32-1", "none") == (0, "node/esp32-0 healed\nnode/esp32-1 healed\n", "")
    assert (fault_of(http, 0), fault_of(http, 1)) == (None, None)


def test_a_board_that_is_not_there_changes_none(faults: Callable[..., Said], http: Http) -> None:
    code, _, told = faults("board", "esp32-0", "esp32-7", "stopped")
    assert (code, told) == (1, "kube32-sim: there is no node esp32-7; nothing was changed\n")
    assert fault_of(http, 0) is None


def test_a_fault_that_there_is_not(faults: Callable[..., Said]) -> None:
    code, _, told = faults("board", "esp32-0", "broken")
    assert (code, "'broken' is none of none, partitioned, stopped, brownout" in told) == (2, True)


def test_a_scenario_from_its_setting_to_its_end(faults: Callable[..., Said], http: Http, file: Path) -> None:
    assert faults("show") == (0, "no faults are set\n", "")
    code, told, _ = faults("set", str(file))
    assert (code, told.splitlines()[0].startswith("seed 4, 0 requests since ")) == (0, True)
    assert [http.request("GET", f"{NODE}0")[0] for _ in range(4)] == [200, 429, 200, 429]
    code, told, _ = faults("show")
    assert told.splitlines()[1:] == ["RULE   EFFECT   MATCHED   HIT", "busy   429      4         2"]
    assert json.loads(faults("show", "-o", "json")[1])["status"]["transcript"][0]["n"] == 2
    assert yaml.safe_load(faults("show", "-o", "yaml")[1])["kind"] == "FaultScenario"
    assert faults("clear") == (0, "no faults are set\n", "")
    assert faults("clear") == (0, "no faults are set\n", "")
    assert http.request("GET", SCENARIO)[0] == 404
    assert json.loads(faults("show", "-o", "json")[1])["items"] == []


def test_it_is_read_from_a_pipe(
    faults: Callable[..., Said], http: Http, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(file.read_bytes())))
    assert faults("set", "-")[0] == 0
    assert http.get(SCENARIO)["spec"]["seed"] == 4


def test_a_scenario_in_which_everything_fails_can_be_taken_away(faults: Callable[..., Said], file: Path) -> None:
    file.write_text(json.dumps(scenario(rule(effect={"reset": True}))))
    assert faults("set", str(file))[0] == 0
    assert faults("board", "esp32-0", "none")[0] == 0
    assert faults("clear")[0] == 0


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            json.dumps(scenario(rule(), rule("b", {"status": 418}))),
            "spec.rules[1].effect.status: Unsupported value: 418",
        ),
        (json.dumps(scenario(rule(chance=1))), 'unknown field "spec.rules[0].chance"'),
        (json.dumps(scenario(rule(probability=2))), "spec.rules[0].probability: Invalid value: 2"),
        (json.dumps({**scenario(rule()), "kind": "Pod"}), "Pod"),
        ("spec: [", "yaml: line 2"),
        ("", "spec.rules: Required value: at least one"),
    ],
)
def test_what_cannot_be_is_told_in_one_line(
    faults: Callable[..., Said], http: Http, file: Path, text: str, problem: str
) -> None:
    file.write_text(text)
    code, out, told = faults("set", str(file))
    assert (code, out) == (2, "")
    assert problem in told.splitlines()[-1], told
    assert http.request("GET", SCENARIO)[0] == 404


def test_a_file_that_is_not_there(faults: Callable[..., Said], tmp_path: Path) -> None:
    code, _, told = faults("set", str(tmp_path / "missing.yaml"))
    assert (code, told.splitlines()[-1].endswith("missing.yaml: No such file or directory")) == (2, True)


def test_a_server_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["faults", "clear", "--server", "http://127.0.0.1:9"]) == 1
    assert capsys.readouterr().err.startswith("kube32-sim: cannot reach the simulator: ")


def test_serve_refuses_a_file_that_cannot_be(file: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file.write_text(json.dumps(scenario(rule(effect={"status": 302}))))
    with pytest.raises(SystemExit) as stop:
        cli.run(["serve", "--port", "0", "--kubeconfig", str(tmp_path / "k"), "--nodes", "0", "--faults", str(file)])
    assert stop.value.code == 2
    assert "--faults" in (told := capsys.readouterr().err.splitlines()[-1])
    assert "spec.rules[0].effect.status: Unsupported value: 302" in told


def test_what_is_wrong_with_a_file_is_told_in_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "half.json"
    file.write_text('{"kind":"Pod"\n', encoding="utf-8")
    with pytest.raises(SystemExit):
        cli.run(["faults", "set", str(file)])
    usage, told = capsys.readouterr().err.splitlines()
    assert usage.startswith("usage: ")
    assert "unexpected end of JSON input" in told


def test_without_a_standard_input_there_is_nothing_to_set(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", None)
    assert cli.run(["faults", "set", "-"]) == 1
    assert "standard input is closed" in capsys.readouterr().err

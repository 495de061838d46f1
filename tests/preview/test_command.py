"""`kube32-sim preview` as it is called: options, files, output, exit codes."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from kube32_sim import cli
from kube32_sim.kestrel.operations import size
from kube32_sim.preview import placing
from tests.support.servers import CLONE, command_environment, running_server

NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n1", "labels": {"kubernetes.io/hostname": "n1"}},
    "status": {
        "allocatable": {"memory": "100Ki", "esp32.io/gpio": "8", "cpu": "240"},
        "conditions": [{"type": "Ready", "status": "True"}],
    },
}
DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web"},
    "spec": {
        "replicas": 3,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {
                "containers": [{"name": "c", "image": "i", "resources": {"requests": {"memory": "45Ki", "cpu": "1"}}}]
            },
        },
    },
}
REPLAY = [["add_node", "n", {"cpu": 5, "mem": 5, "zone": "z"}], ["submit", "p", {"requests": {"cpu": 1, "mem": 1}}]]


def preview(*arguments: str) -> int:
    return cli.run(["preview", *arguments])


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """app.yaml and nodes.yaml in the current directory."""
    (tmp_path / "app.yaml").write_text(yaml.safe_dump(DEPLOYMENT))
    (tmp_path / "nodes.yaml").write_text(yaml.safe_dump(NODE))
    monkeypatch.chdir(tmp_path)
    return tmp_path


# --operations


def test_a_replay_prints_its_results_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "ops.json").write_text(json.dumps(REPLAY))
    assert preview("--operations", str(tmp_path / "ops.json")) == 0
    assert capsys.readouterr() == ('[true, "n"]\n', "")


def test_a_replay_from_stdin_as_yaml(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(REPLAY).encode()), "latin-1"))
    assert preview("--operations", "-", "-o", "yaml") == 0
    assert capsys.readouterr().out == "- true\n- n\n"


def test_integers_of_any_size_and_odd_names_survive(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    huge, odd = 10**5000, "\ud800"
    capacity = {"cpu": 7, "mem": 7, "zone": "z"}
    text = json.dumps([["add_node", odd, capacity], ["where", odd], ["node_status", odd]]).replace("7", str(huge))
    text = text.replace('["where"', f'["submit", "p", {{"requests": {{"cpu": {huge}, "mem": 0}}}}], ["where"')
    (tmp_path / "ops.json").write_text(text)
    assert preview("--operations", str(tmp_path / "ops.json")) == 0
    assert json.loads(capsys.readouterr().out) == [
        True,
        odd,
        "error: no such pod",
        {"cpu_used": huge, "mem_used": 0, "pods": ["p"]},
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[[1,]]", "is not JSON: Expecting value (line 1, column 5)"),
        (b"{}", 'not a list of operations, such as [["pending"]]'),
        (b"\xff", "is not UTF-8"),
        (b"[" * 100_000, "is nested too deeply"),
        (b"[[" + b"9" * 100_001 + b"]]", "a number has more than 100000 digits"),
        (None, "No such file or directory"),
    ],
)
def test_what_is_no_replay_is_told(
    tmp_path: Path, content: bytes | None, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "ops.json"
    if content is not None:
        path.write_bytes(content)
    assert preview("--operations", str(path)) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("kube32-sim: ")
    assert message in err
    assert str(path) in err


# options


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "what to preview?"),
        (["--operations", "x", "-f", "y"], "-f does not go with --operations"),
        (["--operations", "x", "--nodes", "y"], "--nodes does not go with --operations"),
        (["--operations", "x", "--server", "y"], "--server does not go with --operations"),
        (["--operations", "x", "--profile", "kube32"], "--profile kube32 does not go with --operations"),
        (["--operations", "x", "--verify"], "--verify does not go with --operations"),
        (["--operations", "x", "-o", "wide"], "-o wide does not go with --operations"),
        (["-f", "x", "--nodes", "y", "--server", "z"], "not allowed with argument"),
        (["-f", "x", "-o", "xml"], "invalid choice: 'xml'"),
        (["-f"], "expected at least one argument"),
    ],
)
def test_options_that_make_no_sense_exit_with_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        preview(*arguments)
    assert stop.value.code == 2
    assert message in capsys.readouterr().err


def test_a_refused_operation_of_absurd_size_leaves_the_progress_alone() -> None:
    bulk = {"prefix": "n", "count": 10**400, "zones": 1, "cpu": 1}
    assert size([["bulk_nodes", bulk], ["bulk_nodes", {**bulk, "count": 7, "mem": 1}], ["x"], 3]) == 1 + 7 + 1 + 1


# -f


@pytest.mark.usefixtures("files")
def test_a_table_of_a_file_of_nodes(capsys: pytest.CaptureFixture[str]) -> None:
    assert preview("-f", "app.yaml", "--nodes", "nodes.yaml") == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.splitlines() == [
        "POD     NODE     SCORE    MESSAGE",
        "web-0   n1       77",
        "web-1   n1       55",
        "web-2   <none>   <none>   0/1 nodes are available: 1 Insufficient memory.",
    ]


@pytest.mark.usefixtures("files")
def test_json_tells_of_every_node(capsys: pytest.CaptureFixture[str]) -> None:
    assert preview("-f", "app.yaml", "--nodes", "nodes.yaml", "-o", "json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["kind"], answer["spec"]) == ("SchedulingPreview", {"profile": "kube32"})
    first, _, last = answer["status"]["placements"]
    assert (first["pod"], first["node"], first["score"]) == ("web-0", "n1", 77)
    (verdict,) = first["nodes"]
    assert verdict["feasible"] is True
    assert verdict["percentages"] == {"memory": 55, "esp32.io/gpio": 100}
    (verdict,) = last["nodes"]
    assert (verdict["reason"], verdict["detail"]) == ("Insufficient memory", "45Ki asked, 10Ki free of 100Ki")


@pytest.mark.usefixtures("files")
def test_the_profile_kestrel(capsys: pytest.CaptureFixture[str]) -> None:
    assert preview("-f", "app.yaml", "--nodes", "nodes.yaml", "--profile", "kestrel") == 0
    nodes = [line.split()[1] for line in capsys.readouterr().out.splitlines()[1:]]
    assert nodes == ["n1", "n1", "<none>"]


@pytest.mark.usefixtures("files")
def test_verified(capsys: pytest.CaptureFixture[str]) -> None:
    assert preview("-f", "app.yaml", "--nodes", "nodes.yaml", "--verify") == 0
    assert "all 3 pods fare as previewed" in capsys.readouterr().err


@pytest.mark.usefixtures("files")
def test_verified_by_kestrels_rules(capsys: pytest.CaptureFixture[str]) -> None:
    assert preview("-f", "app.yaml", "--nodes", "nodes.yaml", "--verify", "--profile", "kestrel") == 0
    assert "all 3 pods fare as previewed" in capsys.readouterr().err


@pytest.mark.usefixtures("files")
def test_a_difference_is_exit_code_1(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    async def differ(*_: object) -> list[str]:
        return ["default/web-0: previewed on n1, went to <none>"]

    monkeypatch.setattr("kube32_sim.commands.verify.differences", differ)
    assert preview("-f", "app.yaml", "--nodes", "nodes.yaml", "--verify") == 1
    err = capsys.readouterr().err
    assert "differs: default/web-0: previewed on n1, went to <none>\n" in err
    assert "kube32-sim: 1 of 3 pods fare otherwise than previewed" in err


def test_files_that_are_not_there(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert preview("-f", "app.yaml", "--nodes", "none.yaml") == 1
    assert "none.yaml" in capsys.readouterr().err
    (files / "pods.yaml").write_text(yaml.safe_dump({**NODE, "kind": "Service"}))
    assert preview("-f", "app.yaml", "--nodes", "pods.yaml") == 1
    assert "--nodes takes objects of the kinds Node, Pod," in capsys.readouterr().err


@pytest.mark.usefixtures("files")
def test_too_many_verdicts_are_refused_before_they_are_made(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(placing, "MOST_VERDICTS", 2)
    assert preview("-f", "app.yaml", "--nodes", "nodes.yaml", "-o", "json") == 1
    assert "-o json tells what each node says of each pod, too much for 3 pods on 1 nodes" in capsys.readouterr().err
    assert preview("-f", "app.yaml", "--nodes", "nodes.yaml") == 0


@pytest.mark.usefixtures("files")
def test_the_best_nodes_alone(files: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = [{**NODE, "metadata": {**NODE["metadata"], "name": name}} for name in ("n3", "n2", "n1")]  # type: ignore[dict-item]
    (files / "nodes.yaml").write_text(yaml.safe_dump_all(nodes))
    arguments = ("-f", "app.yaml", "--nodes", "nodes.yaml")
    assert preview(*arguments, "-o", "json", "--limit", "1") == 0
    placements = json.loads(capsys.readouterr().out)["status"]["placements"]
    assert [one["name"] for each in placements for one in each["nodes"]] == ["n1", "n2", "n3"]
    assert {each["nodesOmitted"] for each in placements} == {2}
    assert preview(*arguments, "-o", "wide", "--limit", "2") == 0
    assert capsys.readouterr().out.count("  and 1 more node\n") == 3
    assert preview(*arguments, "-o", "yaml") == 0
    assert "*id" not in capsys.readouterr().out
    monkeypatch.setattr(placing, "MOST_VERDICTS", 3)
    assert preview(*arguments, "-o", "wide", "--limit", "1") == 0
    assert preview(*arguments, "-o", "wide") == 1
    assert "use -o table, or --limit" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("-f", "app.yaml", "--limit", "-1", "-o", "wide"), "--limit -1: how many nodes to tell of"),
        (("-f", "app.yaml", "--limit", "3"), "--limit: a table tells of no nodes"),
        (("--operations", "ops.json", "--limit", "3"), "--limit does not go with --operations"),
    ],
)
def test_a_limit_out_of_place(arguments: tuple[str, ...], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        preview(*arguments)
    assert caught.value.code == 2
    assert told in capsys.readouterr().err


def test_what_is_said_commands_no_terminal(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = {**DEPLOYMENT, "metadata": {"name": "a\x1b]0;pwned\x07b"}}
    (files / "app.yaml").write_text(json.dumps(wrong))
    (files / "nodes.yaml").write_text(json.dumps({**NODE, "\x1b[2J": 1}))
    assert preview("-f", "app.yaml", "--nodes", "nodes.yaml") == 1
    (files / "app.yaml").write_text(json.dumps(DEPLOYMENT))
    assert preview("-f", "app.yaml", "--nodes", "nodes.yaml") == 0
    err = capsys.readouterr().err
    assert "\\x1b]0;pwned\\x07b" in err
    assert "\\x1b[2J" in err
    assert "\x1b" not in err


@pytest.mark.parametrize("arguments", [("--operations", "-"), ("-f", "-", "--nodes", "nodes.yaml")])
def test_streams_that_are_closed(files: Path, arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    monkeypatch.setattr(sys, "stderr", None)
    monkeypatch.setattr(sys, "stdout", None)
    assert preview(*arguments) == 1
    (files / "ops.json").write_text(json.dumps(REPLAY))
    assert preview("--operations", "ops.json") == 1, "the answer is lost"


def test_pods_of_owners_that_are_hardly_described(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    owned = {"name": "p", "ownerReferences": [{"kind": "ReplicaSet", "controller": True}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": owned, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    (files / "nodes.yaml").write_text(yaml.safe_dump_all([NODE, pod]))
    assert preview("-f", "app.yaml", "--nodes", "nodes.yaml") == 0, capsys.readouterr().err


@pytest.mark.usefixtures("files")
def test_no_server(capsys: pytest.CaptureFixture[str]) -> None:
    assert preview("-f", "app.yaml", "--server", "http://127.0.0.1:9") == 1
    assert capsys.readouterr().err.startswith("kube32-sim: cannot reach the cluster: ")


# as processes


def command(*arguments: str, directory: Path) -> subprocess.CompletedProcess[str]:
    whole = [sys.executable, "-m", "kube32_sim", "preview", *arguments]
    environment = command_environment()
    return subprocess.run(
        whole, cwd=directory, env=environment, capture_output=True, text=True, check=False, timeout=60
    )


def test_on_a_running_simulator_nothing_is_written(files: Path) -> None:
    with running_server(files, "--nodes", "2") as server:
        http = server.http()
        before = http.get("/api/v1/pods")["items"]
        done = command("-f", "app.yaml", "--server", server.url, "--verify", directory=files)
        assert http.get("/api/v1/pods")["items"] == before
        http.close()
    assert done.returncode == 0, done.stderr
    assert [line.split()[1] for line in done.stdout.splitlines()[1:]] == ["esp32-0", "esp32-1", "esp32-0"]


def test_a_reader_that_goes_away_is_no_traceback(files: Path) -> None:
    (files / "ops.json").write_text(json.dumps([["pending"]] * 100_000))
    whole = f"{sys.executable} -m kube32_sim preview --operations ops.json | head -c 1"
    environment = command_environment()
    done = subprocess.run(whole, cwd=files, env=environment, shell=True, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[", "")


def test_a_preview_imports_nothing_heavy() -> None:
    code = (
        "import sys, kube32_sim.kestrel, kube32_sim.commands.preview\n"
        "heavy = {'numpy', 'aiohttp', 'asyncio', 'yaml', 'tqdm'} & set(sys.modules)\n"
        "sys.exit(', '.join(heavy) or None)"
    )
    whole = [sys.executable, "-c", code]
    done = subprocess.run(whole, cwd=CLONE, env=command_environment(), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr

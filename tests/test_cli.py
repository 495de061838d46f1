"""The command line: what is printed where, and with which exit code."""

import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kube32_sim import cli
from kube32_sim.arguments import COMMANDS, PROGRAM
from kube32_sim.options import LOOPS
from kube32_sim.version import VERSION
from tests.support.servers import command_environment

KNOWN = ", ".join(COMMANDS)


def run_python(*arguments: str) -> subprocess.CompletedProcess[str]:
    """A command that ends by itself."""
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=command_environment(), check=False, timeout=60)


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return run_python("-m", "kube32_sim", *arguments)


def refused(arguments: Sequence[str], capsys: pytest.CaptureFixture[str]) -> str:
    """stderr of a command that is refused with exit code 2 before it starts, in this process."""
    with pytest.raises(SystemExit) as caught:
        cli.run(arguments)
    assert caught.value.code == 2
    return capsys.readouterr().err


def told(arguments: str, capsys: pytest.CaptureFixture[str]) -> str:
    """The last line of what is refused, without the program's name."""
    return refused(arguments.split(), capsys).splitlines()[-1].partition("error: ")[2]


COMMANDS = "serve, kubelet, preview, clock, snapshot, fork, diff"


@pytest.mark.parametrize(
    ("typed", "problem"),
    [
        (
            "servee",
            f"argument COMMAND: invalid choice: 'servee' (choose from {KNOWN}); did you mean 'serve'?",
        ),
        (
            "tests",
            f"argument COMMAND: invalid choice: 'tests' (choose from {KNOWN})",
        ),
        ("clock status", "argument ACTION: invalid choice: 'status' (choose from show, advance); did you mean 'show'?"),
        (
            "clock advanc 1s",
            "argument ACTION: invalid choice: 'advanc' (choose from show, advance); did you mean 'advance'?",
        ),
        (
            "preview -f x --profile kestral",
            "argument --profile: invalid choice: 'kestral' (choose from kube32, kestrel); did you mean 'kestrel'?",
        ),
        ("clock show -o wide", "argument -o/--output: invalid choice: 'wide' (choose from json, yaml)"),
    ],
)
def test_what_was_probably_meant(
    typed: str, problem: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv(PROGRAM, raising=False)
    assert told(typed, capsys) == problem


@pytest.mark.parametrize(("typed", "meant"), [("server", "serve"), ("tests", "test"), ("start", "serve")])
def test_started_by_run_py_it_knows_the_commands_of_that(
    typed: str, meant: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(PROGRAM, "python3 run.py")
    problem = f"argument COMMAND: invalid choice: '{typed}' (choose from {KNOWN}, test)"
    assert told(typed, capsys) == f"{problem}; did you mean '{meant}'?"


@pytest.fixture
def no_name_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names that stand for addresses are known, and no others; the test waits for no network."""
    look_up = socket.getaddrinfo

    def answer(host: str, *rest: Any, **more: Any) -> Any:
        if host.startswith("no."):
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return look_up(host, *rest, **more)

    monkeypatch.setattr(socket, "getaddrinfo", answer)


def test_version_and_help_answer_without_loading_the_server() -> None:
    code = (
        "import sys; from kube32_sim import cli\n"
        "try: cli.main([sys.argv[1]])\n"
        "finally: print(sorted({'aiohttp', 'yaml', 'kube32_sim.cluster', 'kube32_sim.api'} & set(sys.modules)))"
    )
    for argument, text in (("--version", f"kube32-sim {VERSION}"), ("--help", "commands:")):
        done = run_python("-c", code, argument)
        assert done.returncode == 0
        assert text in done.stdout
        assert done.stdout.endswith("[]\n")


@pytest.mark.parametrize("command", ["serve", "kubelet"])
def test_help_of_a_command_tells_defaults_and_examples(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.run([command, "--help"])
    assert caught.value.code == 0
    text = capsys.readouterr().out
    assert "examples:" in text
    assert "(default: esp32-s3)" in text


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ("", "the following arguments are required: COMMAND"),
        ("bake", "argument COMMAND: invalid choice: 'bake'"),
        ("serve --bake", "unrecognized arguments: --bake"),
        ("serve --nod 3", "unrecognized arguments: --nod 3"),
        ("serve --port many", "argument --port: invalid int value: 'many'"),
        ("serve --port 70000", "--port: 70000 is not between 0 and 65535"),
        ("serve --nodes -1", "--nodes: -1 is less than 0"),
        ("serve --nodes many", "--nodes: 'many' is neither a number nor a mix like esp32-s3=20,esp32-c3=5"),
        ("serve --nodes esp32=1 --board esp32", "--board: not together with a mix of boards (--nodes esp32=1)"),
        ("serve --board arduino", "--board: unknown board 'arduino'; there are: esp32, "),
        ("serve --eviction-timeout soon", "argument --eviction-timeout: invalid duration 'soon'"),
        ("serve --eviction-timeout -1s", "expected one argument (one that begins with - is written OPTION=VALUE)"),
        ("serve --eviction-timeout=-1s", "argument --eviction-timeout: invalid duration '-1s'"),
        ("serve --node-lease-duration-seconds 0", "--node-lease-duration-seconds: 0 is less than 1"),
        ("serve --node-status-update-frequency 1ms", "--node-status-update-frequency: shorter than 100ms"),
        ("kubelet --name a --node-lease-duration-seconds 0", "--node-lease-duration-seconds: 0 is less than 1"),
        ("serve --controllers everything", "--controllers: unknown controller 'everything'; there are: scheduler, "),
        ("serve --store file:x", "--store: 'file:x' is none of memory, sqlite:PATH and etcd://HOST:PORT"),
        ("serve --etcd-cafile x", "--etcd-cafile: --store memory is no etcd"),
        ("serve --clock wall", "--clock: 'wall' is neither real nor virtual"),
        ("serve --host 0.0.0.0", "--host: 0.0.0.0 can be reached from other machines"),
        ("serve --host no.such.name", "--host: the name 'no.such.name' is not known: Name or service not known"),
        (f"serve --host {'a' * 64}.example", "is not known: it is no name of a machine"),
        ("serve --tls-cert x.pem", "--tls-cert and --tls-key: give both or neither"),
        ("kubelet", "the following arguments are required: --name"),
        ("kubelet --name a --count 0", "--count: 0 is less than 1"),
        ("kubelet --name a --board x", "--board: unknown board 'x'"),
        ("kubelet --name Not_A_Name", "--name: 'Not_A_Name' cannot name a node"),
        ("kubelet --name a --server http://x --kubeconfig y", "not allowed with argument --server"),
    ],
)
@pytest.mark.usefixtures("no_name_server")
def test_a_bad_option_is_named_below_the_usage_of_its_command(
    arguments: str, complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    usage, last = refused(arguments.split(), capsys).splitlines()
    command = arguments.split()[:1] if arguments.startswith(("serve", "kubelet")) else []
    assert usage.startswith(" ".join(["usage: kube32-sim", *command]))
    assert last.startswith(" ".join(["kube32-sim", *command]) + ": error: ")
    assert complaint in last


@pytest.mark.parametrize("command", [[], ["serve"], ["kubelet"]])
def test_usage_calls_the_program_as_it_was_started(
    command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(PROGRAM, "python3 run.py")
    with pytest.raises(SystemExit):
        cli.run([*command, "--help"])
    text = capsys.readouterr().out
    assert text.startswith(" ".join(["usage: python3 run.py", *command]))
    assert "kube32-sim serve" not in text
    assert "kube32-sim COMMAND" not in text
    assert ("  python3 run.py serve --port 0" in text) == (command == ["serve"])


def test_files_that_cannot_be_used(tmp_path: Path) -> None:
    none, empty, foreign = tmp_path / "none", tmp_path / "empty", tmp_path / "foreign"
    empty.touch()
    foreign.write_text("clusters: [{name: prod, cluster: {server: 'https://prod'}}]")
    serve = ("serve", "--port", "0", "--kubeconfig", str(tmp_path / "new"))
    for arguments, code, complaint in (
        ((*serve, "--token-file", none), 2, f"--token-file {none}: No such file"),
        ((*serve, "--token-file", empty), 2, "no tokens in it"),
        ((*serve, "--tls-cert", none, "--tls-key", none), 2, f"--tls-cert {none}: No such file or directory"),
        (("serve", "--port", "0", "--kubeconfig", foreign), 1, f"{foreign} holds other clusters (prod)"),
        (("kubelet", "--name", "a", "--kubeconfig", none), 1, f"cannot read the kubeconfig {none}"),
    ):
        done = run(*(str(argument) for argument in arguments))
        assert done.returncode == code, done.stderr
        assert complaint in done.stderr.splitlines()[-1]
        assert len(done.stderr.splitlines()) <= 2
        assert done.stdout == ""


def test_a_taken_port(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run("serve", "--port", str(port), "--kubeconfig", str(tmp_path / "kubeconfig"))
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert f"127.0.0.1:{port}" in line
    assert "address already in use" in line.lower()
    assert line.endswith("; name another with --port N, or take a free one with --port 0")
    assert not (tmp_path / "kubeconfig").exists()


def test_the_loops_named_in_a_refusal_are_all(capsys: pytest.CaptureFixture[str]) -> None:
    text = refused(["serve", "--controllers", "x"], capsys)
    assert all(loop in text for loop in LOOPS)


def test_of_much_that_is_wrong_the_first_lines_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "many.yaml"
    file.write_text("---\n".join(["apiVersion: v1\nkind: Pod\nmetadata: {}\n"] * 200), encoding="utf-8")
    assert cli.run(["preview", "-f", str(file), "--nodes", str(file)]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == cli.MOST_LINES + 1
    assert lines[-1].startswith("kube32-sim: and ")

"""`kube32-sim clock`: what it says of a running simulator, on which stream, and with which exit code."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import termios
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from kube32_sim import cli
from kube32_sim.arguments import build_parser
from kube32_sim.options import ServeOptions
from tests.support.servers import CLONE, Server, command_environment, running_server
from tests.support.waiting import PATIENCE, until

CLOCK = "/apis/sim.kube32.io/v1alpha1/clocks/cluster"
FOR_YEARS = "87600h"
"""Longer than any test waits."""


@pytest.fixture(scope="module")
def virtual(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One board and all loops on a virtual clock; shared, so that its time is what others have made it."""
    with running_server(tmp_path_factory.mktemp("virtual"), "--clock", "virtual", "--nodes", "1") as server:
        yield server


@pytest.fixture
def now(virtual: Server) -> Iterator[Callable[[], str]]:
    http = virtual.http()
    yield lambda: str(http.get(CLOCK)["status"]["now"])
    http.close()


Said = tuple[int, str, str]


@pytest.fixture
def clock(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Said]:
    """(exit code, stdout, stderr) of `kube32-sim clock ARGUMENTS`, by a user with an empty home."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)

    def run(*arguments: str) -> Said:
        try:
            code = cli.run(["clock", *arguments])
        except SystemExit as stop:
            code = int(stop.code or 0)
        return code, *capsys.readouterr()

    return run


def test_show_and_advance_say_the_time(virtual: Server, clock: Callable[..., Said], now: Callable[[], str]) -> None:
    where = ("--server", virtual.url)
    assert clock("show", *where) == (0, f"virtual clock, {now()}\n", "")
    assert clock("advance", "0", *where) == (0, f"virtual clock, {now()}, 0s later\n", "")
    before = now()
    assert clock("advance", "90.5", *where) == (0, f"virtual clock, {now()}, 1m30.5s later\n", "")
    assert now() > before


def test_both_answer_as_objects(virtual: Server, clock: Callable[..., Said], now: Callable[[], str]) -> None:
    where = ("--server", virtual.url)
    code, text, _ = clock("show", *where, "-o", "json")
    shown = json.loads(text)
    assert (code, shown["kind"], shown["status"]) == (0, "Clock", {"mode": "Virtual", "now": now()})
    code, text, _ = clock("advance", "1m", "-o", "yaml", *where)
    made = yaml.safe_load(text)
    assert (code, made["kind"], made["spec"]) == (0, "ClockAdvance", {"duration": "1m0s"})
    assert made["status"] == {"mode": "Virtual", "now": now()}


def test_the_server_is_looked_for_as_by_every_command(
    virtual: Server, clock: Callable[..., Said], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert clock("show")[2].startswith(f"kube32-sim: there is no kubeconfig {tmp_path}/.kube/kube32-sim")
    written = tmp_path / ".kube" / "kube32-sim"
    written.parent.mkdir()
    written.write_bytes(virtual.kubeconfig.read_bytes())
    assert clock("show")[0] == 0
    written.unlink()
    monkeypatch.setenv("KUBECONFIG", str(virtual.kubeconfig))
    assert clock("show")[0] == 0
    assert clock("show", "--kubeconfig", str(tmp_path / "other"))[0] == 1
    assert clock("show", "--kubeconfig", str(virtual.kubeconfig))[0] == 0


def test_a_real_clock_is_shown_and_not_advanced(full_server: Server, clock: Callable[..., Said]) -> None:
    code, text, _ = clock("show", "--server", full_server.url)
    assert (code, text.startswith("real clock, 20")) == (0, True)
    code, text, why = clock("advance", "1s", "--server", full_server.url)
    assert (code, text) == (1, "")
    (line,) = why.splitlines()
    assert line.startswith(f"kube32-sim: the clock of {full_server.url} is real: time moves by itself")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ("", "the following arguments are required: ACTION (show, advance)"),
        ("stop", "argument ACTION: invalid choice: 'stop'"),
        ("advance", "the following arguments are required: D (a duration of 0 or more)"),
        ("advance soon", "argument D: invalid duration 'soon'"),
        ("advance -5", "argument D: invalid duration '-5'"),
        ("advance -5s", "the following arguments are required: D (a duration of 0 or more)"),
        ("show 5s", "unrecognized arguments: 5s"),
        ("show -o wide", "argument -o/--output: invalid choice: 'wide'"),
        ("show --server x --kubeconfig y", "not allowed with argument --server"),
    ],
)
def test_wrong_arguments_are_named(arguments: str, complaint: str, clock: Callable[..., Said]) -> None:
    code, text, why = clock(*arguments.split())
    assert (code, text) == (2, "")
    usage, last = why.splitlines()
    assert usage.startswith("usage: kube32-sim clock")
    assert complaint in last


def test_who_does_not_answer_is_named(clock: Callable[..., Said], bare_server: Server, virtual: Server) -> None:
    for arguments, why in (
        (("show", "--server", "127.0.0.1:1"), "cannot reach the simulator: GET http://127.0.0.1:1/apis/"),
        (("advance", "1", "--server", "127.0.0.1:1"), "cannot reach the simulator: POST http://127.0.0.1:1/apis/"),
        (("show", "--server", bare_server.url), f"{bare_server.url}: clocks.sim.kube32.io "),
        (("advance", "90000000h", "--server", virtual.url), f"{virtual.url}: ClockAdvance.sim.kube32.io "),
    ):
        code, text, line = clock(*arguments)
        assert (code, text, line.count("\n")) == (1, "", 1)
        assert line.startswith(f"kube32-sim: {why}")


def test_a_server_without_clock_is_no_simulator(clock: Callable[..., Said], virtual: Server) -> None:
    code, _, why = clock("show", "--server", f"{virtual.url}/elsewhere")
    assert (code, why.startswith(f"kube32-sim: {virtual.url}/elsewhere has no clock to look at")) == (1, True)


@contextmanager
def advancing(server: Server, stderr: int) -> Iterator[subprocess.Popen[str]]:
    """`kube32-sim clock advance` in a process of its own, which would take years."""
    command = [sys.executable, "-m", "kube32_sim", "clock", "advance", FOR_YEARS, "--server", server.url]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=stderr, text=True, env=command_environment()
    ) as process:
        too_late = threading.Timer(PATIENCE, process.kill)
        too_late.start()
        try:
            yield process
        finally:
            too_late.cancel()
            process.kill()


def stands(now: Callable[[], str]) -> bool:
    """Whether time does: many wake-ups would have been between two requests."""
    return len({now() for _ in range(20)}) == 1


def test_ctrl_c_ends_an_advance_and_time_stands_again(virtual: Server, now: Callable[[], str]) -> None:
    before = now()
    with advancing(virtual, subprocess.PIPE) as process:
        until(lambda: now() > before, "time passes")
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)
        assert (process.returncode, said) == (130, ("", ""))
    until(lambda: stands(now), "time stands")


def test_who_watches_a_terminal_sees_time_pass(virtual: Server, now: Callable[[], str]) -> None:
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (24, 80))
    with advancing(virtual, slave) as process:
        os.close(slave)
        seen = b""
        while b"seconds:" not in seen:
            seen += os.read(master, 4096)  # which fails when the process ends
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 130
    os.close(master)
    until(lambda: stands(now), "time stands")


def test_the_options_are_told() -> None:
    reference = (CLONE / "docs/reference.md").read_text(encoding="utf-8")
    section = reference.partition("## `kube32-sim clock`")[2].partition("\n## ")[0]
    for word in ("show", "advance D", "--server", "--kubeconfig", "-o json", "-o yaml"):
        assert word in section


def test_a_seed_is_an_option_of_serve() -> None:
    parsed = build_parser().parse_args(["serve", "--seed", "7"])
    assert parsed.seed == ServeOptions(seed=7).seed
    assert build_parser().parse_args(["serve"]).seed is None

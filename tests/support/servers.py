"""The simulator as its users run it: `kube32-sim serve` in a process of its own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.http import Http

CLONE = Path(__file__).resolve().parents[2]
START_PATIENCE = 60.0
"""Seconds a server may take to its ready line before the test gives up."""

ADMIN_TOKEN = "admin-token"


@dataclass(frozen=True)
class Server:
    """A server that runs.  log: the file with its stderr."""

    url: str
    kubeconfig: Path
    log: Path
    pid: int
    token: str = ""

    def http(self) -> Http:
        return Http(self.url, self.token)


def command_environment(**more: str) -> dict[str, str]:
    """The environment in which `python -m kube32_sim` finds this clone, and nothing of the caller's cluster."""
    environment = {name: value for name, value in os.environ.items() if name not in ("KUBECONFIG", "KUBECACHEDIR")}
    environment["PYTHONPATH"] = os.pathsep.join((str(CLONE), str(CLONE / "controllers")))
    return environment | more


def start_command(arguments: Sequence[str], log: Path) -> subprocess.Popen[str]:
    """Start `kube32-sim ARGUMENTS` with stdout as a pipe and stderr into a file."""
    with log.open("w") as stderr:
        return subprocess.Popen(
            [sys.executable, "-m", "kube32_sim", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            env=command_environment(),
            cwd=log.parent,
        )


@contextmanager
def running_server(directory: Path, *options: str, token: str = "") -> Iterator[Server]:
    """Serve on a free port until the block ends; it must then end by itself, and have had no accident.

    token: of an administrator, where the options ask for tokens.
    """
    kubeconfig, log = directory / "kubeconfig", directory / "server.log"
    process = start_command(["serve", "--port", "0", "--kubeconfig", str(kubeconfig), *options], log)
    try:
        url = ready_line(process, log)
        yield Server(url, kubeconfig, log, process.pid, token)
        _stop(process, log)
    finally:
        put_away(process)


@contextmanager
def doomed_server(directory: Path, *options: str) -> Iterator[Server]:
    """The same, but that it is killed (-9), at the end of the block or before."""
    kubeconfig, log = directory / "kubeconfig", directory / "server.log"
    process = start_command(["serve", "--port", "0", "--kubeconfig", str(kubeconfig), *options], log)
    try:
        url = ready_line(process, log)
        yield Server(url, kubeconfig, log, process.pid)
        process.kill()
        code = process.wait(timeout=START_PATIENCE)
        assert code == -signal.SIGKILL, f"it ended by itself: exit code {code}; its log:\n{log.read_text()}"
        assert "Traceback" not in log.read_text(), f"the server had an accident; its log:\n{log.read_text()}"
    finally:
        put_away(process)


def put_away(process: subprocess.Popen[str]) -> None:
    """Whatever became of it: it does not run any more, and nobody reads from it."""
    if process.poll() is None:
        process.kill()
        process.wait()
    assert process.stdout is not None
    process.stdout.close()


def ready_line(process: subprocess.Popen[str], log: Path) -> str:
    """The address in the line that says that it is ready."""
    assert process.stdout is not None
    too_late = threading.Timer(START_PATIENCE, process.kill)
    too_late.start()
    try:
        line = process.stdout.readline()
    finally:
        too_late.cancel()
    found = re.fullmatch(r"kube32-sim is serving on (https?://\S+)\n", line)
    assert found, f"no ready line but {line!r}; its log:\n{log.read_text()}"
    return found[1]


def _stop(process: subprocess.Popen[str], log: Path) -> None:
    process.send_signal(signal.SIGTERM)
    code = process.wait(timeout=START_PATIENCE)
    text = log.read_text()
    assert code == 0, f"SIGTERM is no clean end: exit code {code}; its log:\n{text}"
    assert "Traceback" not in text, f"the server had an accident; its log:\n{text}"


def admin_token_file(directory: Path) -> Path:
    """A token file with one administrator, ADMIN_TOKEN."""
    path = directory / "tokens.csv"
    path.write_text(f'{ADMIN_TOKEN},admin,1,"system:masters"\n')
    return path

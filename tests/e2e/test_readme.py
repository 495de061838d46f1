"""The README's examples are run, and print what it says they print."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from tests.support.documents import blocks, commands, timeless
from tests.support.kubectl import kubectl_binary
from tests.support.servers import CLONE, Server, command_environment

README = (CLONE / "README.md").read_text(encoding="utf-8")


def run(command: str, environment: dict[str, str]) -> str:
    """What it prints in a terminal.  What run.py would prepare is there already."""
    command = command.replace("python3 run.py", f"{sys.executable} -m kube32_sim")
    done = subprocess.run(
        ["sh", "-c", command],
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=CLONE,
        env=environment,
        timeout=60,
    )
    assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}"
    return done.stdout


def test_the_tour(start_server: Callable[..., AbstractContextManager[Server]], tmp_path: Path) -> None:
    """On a server as `serve` starts it, but one that is quicker to give up a board."""
    with start_server("--not-ready-timeout", "2s") as server:
        path = os.pathsep.join((str(Path(kubectl_binary()).parent), os.environ["PATH"]))
        environment = command_environment(HOME=str(tmp_path), PATH=path, KUBECONFIG=str(server.kubeconfig))
        tour = commands(README)
        assert len(tour) > 10
        for command in tour:
            if not command.text.startswith("export "):
                assert timeless(run(command.text, environment)) == timeless(command.output), command.text


def test_the_library() -> None:
    (program,) = blocks(README, "python")
    (printed,) = blocks(README, "text")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        check=False, capture_output=True, text=True, env=command_environment(), timeout=60,
    )  # fmt: skip
    assert (done.stdout, done.returncode) == (printed, 0), done.stderr

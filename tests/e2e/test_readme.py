"""The README's examples are run, and print what it says they print."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from tests.support.documents import blocks, commands, run, timeless, user_environment
from tests.support.servers import CLONE, Server, command_environment

README = (CLONE / "README.md").read_text(encoding="utf-8")


def test_the_tour(start_server: Callable[..., AbstractContextManager[Server]], tmp_path: Path) -> None:
    """On a server as `serve` starts it, but one that is quicker to give up a board."""
    with start_server("--node-lease-duration-seconds", "4") as server:
        environment = user_environment(tmp_path, server.kubeconfig)
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


async def test_the_test_of_the_reference_passes() -> None:
    (program,) = blocks((CLONE / "docs/reference.md").read_text(encoding="utf-8"), "python")
    names: dict[str, Any] = {}
    exec(compile(program, "docs/reference.md", "exec"), names)
    await names["test_a_pod_leaves_a_lost_board"]()

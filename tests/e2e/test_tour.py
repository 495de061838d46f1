"""The commands of docs/tour.md."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from tests.support.documents import commands, run, timeless, user_environment
from tests.support.servers import CLONE, Server


def test_the_tour(start_server: Callable[..., AbstractContextManager[Server]], tmp_path: Path) -> None:
    told = commands((CLONE / "docs/tour.md").read_text(encoding="utf-8"))
    assert len(told) == 18
    with start_server("--clock", "virtual", "--nodes", "3") as server:
        environment = user_environment(tmp_path, server.kubeconfig)
        for command in told:
            if command.text.startswith("export "):
                continue
            text = command.text.replace("/tmp/", f"{tmp_path}/")
            assert plain(run(text, environment), tmp_path) == plain(command.output, tmp_path), command.text


def plain(output: str, folder: Path) -> str:
    """Names are generated, but the same every time on a virtual clock; ports, revisions and folders are not."""
    output = output.replace(f"{folder}/", "/tmp/")
    output = re.sub(r"127\.0\.0\.1:\d+", "address", output)
    return timeless(re.sub(r"revision \d+", "revision", output))

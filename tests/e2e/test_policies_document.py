"""The commands of docs/policies.md."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from tests.support.documents import commands, run, timeless, user_environment
from tests.support.servers import CLONE, Server


def test_policies(start_server: Callable[..., AbstractContextManager[Server]], tmp_path: Path) -> None:
    with start_server("--nodes", "0") as server:
        environment = user_environment(tmp_path, server.kubeconfig)
        told = commands((CLONE / "docs/policies.md").read_text(encoding="utf-8"))
        assert len(told) > 8
        for command in told:
            assert timeless(run(command.text, environment)) == timeless(command.output), command.text

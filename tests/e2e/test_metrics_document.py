"""The commands of docs/metrics.md."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from tests.support.documents import commands, run, timeless, user_environment
from tests.support.servers import CLONE, Server


def test_metrics_document(start_server: Callable[..., AbstractContextManager[Server]], tmp_path: Path) -> None:
    with start_server() as server:
        environment = user_environment(tmp_path, server.kubeconfig)
        told = commands((CLONE / "docs/metrics.md").read_text(encoding="utf-8"))
        assert len(told) == 3
        for command in told:
            assert timeless(run(command.text, environment)) == timeless(command.output), command.text

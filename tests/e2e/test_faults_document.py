"""The commands of docs/faults.md, and its examples."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from kube32_sim.api.fault_scenarios import decoded, read
from tests.support.documents import blocks, commands, run, timeless, user_environment
from tests.support.servers import CLONE, Server

PAGE = (CLONE / "docs/faults.md").read_text(encoding="utf-8")
EXAMPLES = CLONE / "docs/examples"


def test_faults(start_server: Callable[..., AbstractContextManager[Server]], tmp_path: Path) -> None:
    with start_server("--nodes", "1") as server:
        environment = user_environment(tmp_path, server.kubeconfig)
        told = commands(PAGE)
        assert len(told) > 10
        for command in told:
            assert timeless(run(command.text, environment)) == timeless(command.output), command.text


@pytest.mark.parametrize("name", ["flaky-api.yaml", "busy-api.yaml"])
def test_the_examples_are_good(name: str) -> None:
    assert read(decoded((EXAMPLES / name).read_bytes())["spec"])[1] == []


def test_the_page_shows_the_example() -> None:
    (shown,) = blocks(PAGE, "yaml")
    assert shown in (EXAMPLES / "busy-api.yaml").read_text(encoding="utf-8")

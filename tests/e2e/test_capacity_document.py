"""The commands of docs/capacity.md print what it says."""

from __future__ import annotations

from pathlib import Path

from tests.support.documents import commands, run, timeless, user_environment
from tests.support.servers import CLONE


def test_the_page(tmp_path: Path) -> None:
    told = commands((CLONE / "docs/capacity.md").read_text(encoding="utf-8"))
    assert len(told) == 8
    environment = user_environment(tmp_path, tmp_path / "kubeconfig")
    for command in told:
        assert timeless(run(command.text, environment)) == timeless(command.output), command.text

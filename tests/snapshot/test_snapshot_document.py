"""What docs/snapshots.md has people type is what the command takes."""

from __future__ import annotations

import shlex

import pytest

from kube32_sim.arguments import build_parser
from tests.support.documents import blocks
from tests.support.servers import CLONE

DOCUMENT = (CLONE / "docs/snapshots.md").read_text(encoding="utf-8")
COMMANDS = [
    line.partition("  #")[0].strip() for block in blocks(DOCUMENT, "sh") for line in block.splitlines() if line.strip()
]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_of_the_document_is_one(command: str) -> None:
    program, *arguments = shlex.split(command)
    assert program == "kube32-sim"
    parsed, unknown = build_parser().parse_known_args(arguments)
    assert not unknown
    assert parsed.command in ("snapshot", "serve")


def test_every_option_is_told() -> None:
    told = DOCUMENT + (CLONE / "docs/reference.md").read_text(encoding="utf-8")
    for action in ("save", "load"):
        parsed = build_parser().parse_args(["snapshot", action, "file"])
        options = {name for name in vars(parsed) if name not in ("command", "error", "action", "file", "files")}
        assert all(f"--{name.replace('_', '-')}" in told for name in options)

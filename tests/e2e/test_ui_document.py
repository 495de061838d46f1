"""The commands of docs/ui.md, on a server as it says; and that what it names is there."""

from __future__ import annotations

import re
import shlex
import struct
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from tests.support.documents import blocks, commands, run, timeless, user_environment
from tests.support.servers import CLONE, Server

DOCUMENT = (CLONE / "docs/ui.md").read_text(encoding="utf-8")


def test_the_commands(start_server: Callable[..., AbstractContextManager[Server]], tmp_path: Path) -> None:
    (line,) = blocks(DOCUMENT, "sh")
    words = shlex.split(line)
    assert words[:3] == ["python3", "run.py", "serve"]
    told = commands(DOCUMENT)
    assert len(told) == 4
    with start_server(*words[3:]) as server:
        environment = user_environment(tmp_path, server.kubeconfig)
        for command in told:
            assert timeless(run(command.text, environment)) == timeless(command.output), command.text


def test_the_pictures_are_there_and_not_large() -> None:
    pictures = re.findall(r"!\[[^\]]+\]\((\S+\.png)\)", DOCUMENT)
    assert len(pictures) == 2
    for name in pictures:
        content = (CLONE / "docs" / name).read_bytes()
        assert content[:8] == b"\x89PNG\r\n\x1a\n"
        assert max(struct.unpack(">II", content[16:24])) <= 1400
        assert len(content) < 250_000

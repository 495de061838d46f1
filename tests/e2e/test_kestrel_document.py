"""The commands of docs/kestrel.md on a server that schedules by Kestrel's rules: a preemption, as kubectl shows it."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from tests.support.documents import blocks, commands, run, timeless, user_environment
from tests.support.servers import CLONE, Server

UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def shown(output: str) -> str:
    return timeless(UID.sub("UID", output))


def test_a_preemption(start_server: Callable[..., AbstractContextManager[Server]], tmp_path: Path) -> None:
    document = (CLONE / "docs/kestrel.md").read_text(encoding="utf-8")
    (start,) = blocks(document, "sh")
    with start_server(*start.split()[3:]) as server:
        environment = user_environment(tmp_path, server.kubeconfig)
        told = commands(document)
        assert len(told) == 10
        for command in told:
            assert shown(run(command.text, environment)) == shown(command.output), command.text

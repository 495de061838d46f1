"""The commands of docs/replay.md."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from tests.support.documents import Command, commands, run, timeless, user_environment
from tests.support.servers import CLONE, Server
from tests.support.waiting import until


def test_replay_document(start_server: Callable[..., AbstractContextManager[Server]], tmp_path: Path) -> None:
    told = commands((CLONE / "docs/replay.md").read_text(encoding="utf-8"))
    assert len(told) == 8
    with start_server("--clock", "virtual") as server:
        environment = user_environment(tmp_path, server.kubeconfig)
        file = tmp_path / "incident.jsonl"
        command = [sys.executable, "-m", "kube32_sim", "record", str(file)]
        with subprocess.Popen(command, cwd=CLONE, env=environment, stderr=subprocess.PIPE, text=True) as recording:
            assert recording.stderr is not None
            until(lambda: "Ctrl-C ends it" in recording.stderr.readline(), "it records")
            for each in told[:4]:
                check(each, environment, tmp_path)
            recording.send_signal(signal.SIGINT)
            assert "2 requests and 5 steps of pods recorded" in recording.stderr.read()
        assert recording.returncode == 0
        for each in told[4:]:
            check(each, environment, tmp_path)


def check(command: Command, environment: dict[str, str], folder: Path) -> None:
    text = re.sub(r"(incident|placements)\.jsonl", lambda found: str(folder / found[0]), command.text)
    assert plain(run(text, environment)) == plain(command.output), command.text


def plain(output: str) -> str:
    output = re.sub(r"at \+[\d.]+s", "then", output)
    return timeless(re.sub(r"played in [\d.]+s", "played", output))

"""The commands of docs/scaling.md, with free ports and fewer boards."""

from __future__ import annotations

import os
import re
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.support.documents import blocks, commands, run, timeless, user_environment
from tests.support.etcd import binary
from tests.support.servers import CLONE
from tests.support.waiting import until

DOCUMENT = (CLONE / "docs/scaling.md").read_text(encoding="utf-8")


def elsewhere(document: str, directory: Path) -> str:
    """The same with ports that are free, files in a directory, and fewer boards."""
    ports: dict[str, str] = {}
    for port in set(re.findall(r"\b(?:2379|644\d)\b", document)):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            ports[port] = str(taken.getsockname()[1])
    document = re.sub(r"\b(?:2379|644\d)\b", lambda found: ports[found[0]], document)
    return document.replace("/tmp/kube32-", f"{directory}/").replace("--count 500", "--count 5")


@contextmanager
def running(command: str, environment: dict[str, str], log: Path) -> Iterator[None]:
    """One of the long-running commands, until the block ends; it must end by itself then."""
    program = command.replace("python3 run.py", f"{sys.executable} -m kube32_sim")
    if program.startswith("etcd "):
        program = f"{binary()} {program.removeprefix('etcd ')} --listen-peer-urls http://127.0.0.1:0"
    with log.open("wb") as out:
        process = subprocess.Popen(shlex.split(program), stdout=out, stderr=out, env=environment, cwd=CLONE)
    try:
        yield
        assert process.poll() is None, log.read_text()
        process.terminate()
        assert process.wait(20) in (0, -15), log.read_text()
        assert "Traceback" not in log.read_text()
    finally:
        process.kill()
        process.wait()


def test_the_document(tmp_path: Path) -> None:
    document = elsewhere(DOCUMENT, tmp_path)
    environment = user_environment(tmp_path, tmp_path / "none")
    started = [line for block in blocks(document, "sh") for line in block.splitlines()]
    assert len(started) == 6
    with ExitStack() as stack:
        for number, command in enumerate(started):
            log = tmp_path / f"{number}.log"
            stack.enter_context(running(command, environment, log))
            if "serve" in command:
                until(lambda log=log: "is serving on" in log.read_text(), "it serves", 60)
        logs = [tmp_path / f"{number}.log" for number in (4, 5)]
        until(lambda: all("registered" in log.read_text() for log in logs), "the boards are there", 60)
        shown = commands(document)
        assert len(shown) == 4
        for command in shown:
            assert timeless(run(command.text, environment)) == timeless(command.output), command.text
        kubeconfigs = [tmp_path / name for name in ("one", "two", "three")]
        assert all(path.stat().st_mode & 0o777 == 0o600 for path in kubeconfigs if os.name == "posix")

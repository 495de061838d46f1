"""The example of docs/scaling.md, as it says, on free ports and with fewer boards: who leads, and then it is killed."""

from __future__ import annotations

import re
import shlex
import signal
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.documents import Command, blocks, commands, run, timeless, user_environment
from tests.support.etcd import running_etcd
from tests.support.replicas import SHORT
from tests.support.servers import CLONE, put_away, ready_line, start_command
from tests.support.waiting import until

DOCUMENT = (CLONE / "docs/scaling.md").read_text(encoding="utf-8")
EXAMPLE = DOCUMENT.split("## Three replicas")[1].split("## Measured")[0]
COUNT = 3
"""Of boards, in each of the two processes."""


def free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        taken = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [each.getsockname()[1] for each in taken]


class Page:
    """The example with what is different here: ports, the folder, and how many boards there are."""

    def __init__(self, folder: Path, etcd: int) -> None:
        ports = dict(zip(("6443", "6444", "6445"), map(str, free_ports(3)), strict=True))
        self._other = ports | {"2379": str(etcd), "500": str(COUNT), "1000": str(2 * COUNT), "/tmp": str(folder)}
        self.etcd, self.servers, self.boards = (block.splitlines() for block in blocks(self.here(EXAMPLE), "sh"))
        self.commands = commands(self.here(EXAMPLE))

    def here(self, text: str) -> str:
        return re.sub(r"(?<![\w.])(2379|644[345]|500|1000)(?!\d)|/tmp\b", lambda found: self._other[found[0]], text)


def words(line: str) -> list[str]:
    program, script, *rest = shlex.split(line)
    assert (program, script) == ("python3", "run.py")
    return rest


def named(output: str) -> str:
    """With what is different in each run left out: names of machines, and of leaders."""
    return re.sub(r"\S+:(\d+)_[0-9a-f-]{36}", r"HOST:\1_ID", timeless(output))


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Page]:
    with running_etcd(tmp_path) as etcd:
        yield Page(tmp_path, etcd.port)


def test_the_example(page: Page, tmp_path: Path) -> None:
    assert page.etcd[0].startswith("etcd --data-dir")
    with ExitStack() as stack:
        servers = []
        for number, line in enumerate(page.servers):
            log = tmp_path / f"server-{number}.log"
            servers.append(start_command([*words(line), *SHORT], log))
            stack.callback(put_away, servers[-1])
            ready_line(servers[-1], log)
            until(lambda: "became leader" in (tmp_path / "server-0.log").read_text(), "the first leads")
        for number, line in enumerate(page.boards):
            log = tmp_path / f"boards-{number}.log"
            process = start_command(words(line), log)
            stack.callback(put_away, process)
            until(lambda log=log: "registered: " in log.read_text(), "boards are there")

        (killed,) = [n for n, each in enumerate(page.commands) if "leaseTransitions" in each.text]
        assert killed == len(page.commands) - 2
        environment = user_environment(tmp_path, tmp_path / "kube32-one")
        _follow(page.commands[:killed], environment)
        servers[0].send_signal(signal.SIGKILL)
        _follow(page.commands[killed:], environment)
        for number, process in enumerate(servers[1:], 1):
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=60) == 0
            assert "Traceback" not in (tmp_path / f"server-{number}.log").read_text()


def _follow(told: list[Command], environment: dict[str, str]) -> None:
    for command in told:
        printed = named(run(command.text, environment))
        assert printed == named(command.output), command.text

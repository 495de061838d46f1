"""Recorded kubectl commands, run against a bare server: exit code, stdout and stderr are those of a real cluster."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.judging import judge
from tests.conformance.kubectl_player import RELEASE, alike, load_commands, play_commands
from tests.support import clients
from tests.support.servers import Server, running_server

CASES = load_commands()


@pytest.fixture(scope="module")
def open_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A bare server that asks for no token: kubectl sends none without TLS."""
    with running_server(tmp_path_factory.mktemp("open"), "--controllers", "none", "--nodes", "0") as server:
        yield server


@pytest.mark.parametrize("identity", CASES)
def test_commands(identity: str, open_server: Server) -> None:
    case = CASES[identity]
    judge(identity, case, play_commands(case, open_server.url, Path(clients.kubectl(RELEASE))))


def test_what_differs_every_time_is_made_alike() -> None:
    said = (
        "NAME   AGE\nweb    3m20s   10.96.0.17   80:31234/TCP\ncpu    250m\n"
        "since 2026-05-01T10:00:00Z, not 2024-01-01T00:00:00Z\n"
    )
    assert alike(said) == [
        "NAME  AGE",
        "web  <age>  <ip>  80:<port>/TCP",
        "cpu  250m",
        "since <time>, not 2024-01-01T00:00:00Z",
    ]

"""The commands of docs/security.md, on servers as it says; and that what it names is there."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.support.documents import Command, blocks, commands, run, user_environment
from tests.support.servers import CLONE, Server

DOCUMENT = (CLONE / "docs/security.md").read_text(encoding="utf-8")
TEAM, CERTIFICATES = DOCUMENT.split("## In a team")[1].split("### Certificates")


def served(section: str, home: Path) -> list[str]:
    """The options of the server that a section starts, but listening here only."""
    (line,) = blocks(section, "sh")
    words = shlex.split(line.replace("~/", f"{home}/"))
    assert words[:3] == ["python3", "run.py", "serve"]
    return ["127.0.0.1" if word == "0.0.0.0" else word for word in words[3:]]


def check(told: list[Command], environment: dict[str, str]) -> None:
    for command in told:
        assert run(command.text, environment).split() == command.output.split(), command.text


def test_a_team(start_server: Callable[..., AbstractContextManager[Server]], tmp_path: Path) -> None:
    told = commands(TEAM)
    environment = user_environment(tmp_path, tmp_path / "kubeconfig")
    check(told[:2], environment)
    with start_server(*served(TEAM, tmp_path), "--nodes", "0") as server:
        assert server.log.read_text().count("WARNING") == 0
        check(told[2:], environment)
    assert all((tmp_path / name).stat().st_mode & 0o077 == 0 for name in ("tokens.csv", "ben.kubeconfig"))


@pytest.mark.skipif(shutil.which("openssl") is None, reason="the example makes certificates with openssl")
def test_certificates(start_server: Callable[..., AbstractContextManager[Server]], tmp_path: Path) -> None:
    told = commands(CERTIFICATES)
    environment = user_environment(tmp_path, tmp_path / "kubeconfig")
    check(told[:3], environment)
    with start_server(*served(CERTIFICATES, tmp_path), "--nodes", "0"):
        check(told[3:], environment)


def test_the_code_and_tests_that_it_names_are_there() -> None:
    rows = re.findall(r"^\| [^|]+ \| (`[^|]+) \| (`[^|]+) \|$", DOCUMENT.split("## Where it is written")[1], re.M)
    assert len(rows) == 6
    for code, tests in rows:
        assert all((CLONE / "kube32_sim" / name).is_file() for name in re.findall(r"`([\w/.]+)`", code))
        names = re.findall(r"`([\w/.]+)`", tests)
        assert all((CLONE / "tests/server" / name.rpartition("/")[2]).is_file() for name in names)
        assert names

"""docs/operators.md is run as it stands: its server, its operators as processes beside it, and what kubectl prints.

After a change that is meant, `python -m tests.operators.test_page` writes the page anew.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.support.documents import Command, commands, run, timeless, user_environment
from tests.support.servers import CLONE, running_server

PAGE = CLONE / "docs/operators.md"
BLOCK = re.compile(r"^```(sh|console)\n(.*?)^```$", re.M | re.S)


@contextmanager
def beside(command: str, environment: dict[str, str]) -> Iterator[None]:
    """A command in a terminal of its own, until the block ends."""
    with subprocess.Popen(["sh", "-c", f"exec env {command}"], cwd=CLONE, env=environment) as process:
        yield
        process.terminate()


def played(page: str, home: Path) -> Iterator[tuple[Command, str]]:
    """Each command after which the page shows something, and what it prints now."""
    (_, serve), *rest = BLOCK.findall(page)
    words = shlex.split(serve)
    assert words[:3] == ["python3", "run.py", "serve"]
    (home / ".kube").mkdir()
    with ExitStack() as running:
        server = running.enter_context(running_server(home, *words[3:]))
        environment = user_environment(home, server.kubeconfig)
        environment["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), environment["PATH"]))
        for kind, text in rest:
            if kind == "sh":
                running.enter_context(beside(text.strip(), environment))
                continue
            for command in commands(f"```console\n{text}```\n"):
                if not command.text.startswith("export "):
                    yield command, run(command.text, environment)


@pytest.mark.soak
def test_the_page_of_operators(tmp_path: Path) -> None:
    found = list(played(PAGE.read_text(encoding="utf-8"), tmp_path))
    assert len(found) > 20
    now = [(command.text, timeless(output)) for command, output in found]
    assert now == [(command.text, timeless(command.output)) for command, _ in found]


def write_anew() -> None:
    page, place = PAGE.read_text(encoding="utf-8"), 0
    with tempfile.TemporaryDirectory() as home:
        for command, output in played(page, Path(home)):
            old, new = f"$ {command.text}\n{command.output}", f"$ {command.text}\n{output}"
            place = page.index(old, place)
            page = page[:place] + new + page[place + len(old) :]
            place += len(new)
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    write_anew()

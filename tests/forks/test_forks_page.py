"""docs/forks.md is run as it stands, and prints what it says, but for the ports and where somebody's home is."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from tests.support.documents import commands, run, user_environment
from tests.support.servers import CLONE, Server


def plain(output: str, home: Path) -> str:
    output = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:<port>", output.replace(str(home), "/home/me"))
    return "\n".join(re.sub(r" {2,}", "  ", line).strip() for line in output.strip().splitlines())


def test_the_page(start_server: Callable[..., AbstractContextManager[Server]], tmp_path: Path) -> None:
    with start_server("--clock", "virtual", "--nodes", "4") as server:
        home = tmp_path / "home"
        (home / ".kube").mkdir(parents=True)
        kubeconfig = home / ".kube/kube32-sim"
        shutil.copy(server.kubeconfig, kubeconfig)
        environment = user_environment(home, kubeconfig)
        told = commands((CLONE / "docs/forks.md").read_text(encoding="utf-8"))
        assert len(told) > 20
        for command in told:
            if not command.text.startswith("export "):
                printed = run(command.text, environment)
                assert plain(printed, home) == plain(command.output, home), command.text
        assert not (home / ".kube/kube32-sim-what-if").exists()

"""Small suites that are run by a pytest of their own, which finds the plugin as in any project: by its entry point."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

import pytest

from tests.support.kubectl import kubectl_binary
from tests.support.servers import CLONE

SETTINGS = "[pytest]\nasyncio_default_fixture_loop_scope = function\n"
OTHERS = ("-p", "no:schemathesis", "-p", "no:cacheprovider", "-p", "no:hypothesispytest")


def installed(directory: Path) -> Path:
    """What an installation leaves for pytest to find: the entry points of this clone."""
    with (CLONE / "pyproject.toml").open("rb") as file:
        points = tomllib.load(file)["project"]["entry-points"]["pytest11"]
    folder = directory / "kube32_sim_here-0.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: kube32-sim-here\nVersion: 0\n")
    lines = [f"{name} = {module}" for name, module in points.items()]
    (folder / "entry_points.txt").write_text("\n".join(["[pytest11]", *lines]))
    return directory


class Suite:
    """Files that are tests of somebody else's."""

    def __init__(self, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, entry: Path) -> None:
        self.home = pytester.path
        self._pytester = pytester
        monkeypatch.setenv(
            "PYTHONPATH", os.pathsep.join((str(CLONE), str(CLONE / "controllers"), str(installed(entry))))
        )
        monkeypatch.setenv("PATH", str(Path(kubectl_binary()).parent), prepend=os.pathsep)
        for name in ("KUBECONFIG", "KUBECACHEDIR", "PYTEST_ADDOPTS"):
            monkeypatch.delenv(name, raising=False)
        self.settings(SETTINGS)

    def settings(self, text: str) -> None:
        self._pytester.makefile(".ini", pytest=text)

    def write(self, **files: str) -> None:
        self._pytester.makepyfile(**files)

    def run(self, *options: str) -> pytest.RunResult:
        return self._pytester.runpytest_subprocess(*OTHERS, *options)

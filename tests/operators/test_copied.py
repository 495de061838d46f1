"""docs/operators/test_with_pytest.py where its users have copied it to: without the settings of this clone."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.operators import OPERATORS
from tests.support.servers import command_environment

WITHOUT = [word for plugin in ("cacheprovider", "schemathesis", "kube32_sim") for word in ("-p", f"no:{plugin}")]
"""The last is our own plugin, which it does not use: a test has something else in the place of our package."""


def copied(directory: Path) -> tuple[int, str]:
    """Its exit code and output there."""
    shutil.copy(OPERATORS / "test_with_pytest.py", directory)
    shutil.copytree(OPERATORS / "blinky", directory / "blinky", dirs_exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *WITHOUT, "test_with_pytest.py"],
        check=False,
        capture_output=True,
        text=True,
        cwd=directory,
        env=command_environment(),
        timeout=120,
    )
    return done.returncode, done.stdout


@pytest.mark.soak
def test_it_runs_by_itself(tmp_path: Path) -> None:
    code, told = copied(tmp_path)
    assert (code, "1 passed" in told) == (0, True), told


@pytest.mark.soak
def test_a_server_that_does_not_start_says_why(tmp_path: Path) -> None:
    (tmp_path / "kube32_sim.py").write_text("raise SystemExit('out of order today')\n")
    code, told = copied(tmp_path)
    assert (code, "AssertionError: out of order today" in told) == (1, True), told

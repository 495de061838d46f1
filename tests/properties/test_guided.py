"""The same readers, with what a fuzzer finds that sees which lines its texts reach; how long: `FUZZ_SECONDS` each."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.decoders import DECODERS
from tests.support.servers import command_environment

SECONDS = int(os.environ.get("FUZZ_SECONDS", "20"))


@pytest.mark.soak
@pytest.mark.skipif(importlib.util.find_spec("atheris") is None, reason="needs the package atheris")
@pytest.mark.parametrize("name", sorted(DECODERS))
def test_nothing_else_happens(name: str, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    bounds = [f"-max_total_time={SECONDS}", "-timeout=10", "-rss_limit_mb=2048", "-max_len=4096", "-verbosity=0"]
    command = [sys.executable, "-m", "tests.support.guided", name, str(corpus), *bounds]
    done = subprocess.run(
        [*command, f"-artifact_prefix={tmp_path}/"],
        cwd=tmp_path,
        env=command_environment(),
        capture_output=True,
        text=True,
        timeout=SECONDS + 120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]

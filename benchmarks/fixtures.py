"""The fixture `kube32`: what a test of somebody else's pays for a cluster of its own."""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import tempfile
from pathlib import Path

from benchmarks.measuring import Bench, Figure

ROOT = Path(__file__).resolve().parent.parent
SUITE = """
import pytest

@pytest.mark.parametrize("number", range({count}))
def test_it(kube32, number): ...
"""
WATCH = """
import time
import pytest

@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    wall, cpu = time.perf_counter(), time.process_time()
    answer = yield
    print("took", time.perf_counter() - wall, time.process_time() - cpu)
    return answer
"""
OPTIONS = ("-q", "-s", "-p", "no:cacheprovider", "-p", "no:schemathesis", "-p", "kube32_sim.testing.plugin")


def _write(folder: Path, count: int) -> None:
    for name, text in (("pytest.ini", "[pytest]\n"), ("conftest.py", WATCH), ("test_it.py", SUITE.format(count=count))):
        (folder / name).write_text(text)


async def _suite(count: int) -> list[tuple[float, float]]:
    """(wall, CPU) of each test from the second on, with all that pytest does for it."""
    with tempfile.TemporaryDirectory() as folder:
        _write(Path(folder), count)
        path = os.pathsep.join((str(ROOT), str(ROOT / "controllers")))
        environment = {**os.environ, "PYTHONPATH": path, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        command = (sys.executable, "-m", "pytest", *OPTIONS)
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(*command, cwd=folder, env=environment, stdout=pipe)
        told, _ = await process.communicate()
    lines = [line.partition("took ")[2].split() for line in told.decode().splitlines() if "took " in line]
    if process.returncode or len(lines) != count:
        raise RuntimeError(f"the suite failed: {told.decode()[-500:]}")
    return [(float(wall), float(cpu)) for wall, cpu in lines[1:]]


async def fixtures(bench: Bench) -> list[Figure]:
    """A test that does nothing with it: start and stop of the cluster, medians of the best suite."""
    runs = [await _suite(bench.amount(200)) for _ in range(bench.runs)]
    walls = [statistics.median(wall for wall, _ in run) for run in runs]
    cpus = [statistics.median(cpu for _, cpu in run) for run in runs]
    note = f"median of {len(runs[0])}, the best of {len(runs)}; {1000 * min(cpus):.1f} ms CPU"
    what = "a test with a cluster of its own (the fixture kube32), two boards"
    return [Figure("fixture", what, 1000 * min(walls), "ms", 30, note=note)]

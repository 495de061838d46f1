"""The benchmarks run: a few of them, with little work; how fast things are is not asked here."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.measuring import Figure
from benchmarks.table import table

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.skipif(sys.platform != "linux", reason="CPU clocks of other processes are Linux's")
def test_quick_benchmarks_print_a_table(tmp_path: Path) -> None:
    found = tmp_path / "figures.json"
    command = [
        sys.executable,
        "-m",
        "benchmarks",
        "--quick",
        "--json",
        str(found),
        "--only",
        "get",
        "lease",
        "watch-all",
        "kestrel-choose",
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    figures = {figure["name"]: figure for figure in json.loads(found.read_bytes())}
    assert list(figures) == [
        *("get", "lease", "watch-all", "watch-all-1", "watch-rate"),
        *("choose-1000", "choose-5000"),
    ]
    assert all(figures[name]["value"] > 0 and figures[name]["bound"] > 0 for name in ("get", "lease", "watch-rate"))
    head, rule, *rows = done.stdout.splitlines()
    assert "measured" in head
    assert "ratio" in head
    assert len(rows) == len(figures)
    assert {len(line) for line in (head, rule, *rows)} == {len(head)}


def test_what_misses_its_goal_is_marked() -> None:
    missed = Figure("a", "slow", 2.0, "ms", 1.0, bound=0.5)
    met = Figure("b", "many", 2.0, "/s", 1.0, more_is_better=True, bound=4.0)
    plain = Figure("c", "no goal", 2.0, "ms")
    assert (missed.met, met.met, plain.met) == (False, True, None)
    assert (missed.ratio, met.ratio, plain.ratio) == (4.0, 2.0, None)
    marks = [line.split("|")[4].strip() for line in table([missed, met, plain]).splitlines()[2:]]
    assert marks == ["MISSED", "met", ""]

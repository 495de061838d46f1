"""The same story and the same seed are the same to the last byte, whatever else differs from run to run."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

import pytest

from tests.support import scenario
from tests.support.servers import CLONE, command_environment

PATIENCE = 120


def in_another_process(manner: str, seed: int, hashes: str) -> list[str]:
    """The story as a process of its own tells it, in which sets of texts have another order."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.scenario", manner, str(seed)],
        capture_output=True,
        text=True,
        env=command_environment(PYTHONHASHSEED=hashes),
        cwd=CLONE,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def assert_same(one: Sequence[str], other: Sequence[str]) -> None:
    """Tells the first difference; pytest would take minutes to tell all."""
    different = next(((a, b) for a, b in zip(one, other, strict=False) if a != b), None)
    assert different is None
    assert len(one) == len(other)


@pytest.mark.parametrize("manner", scenario.MANNERS)
async def test_the_same_seed_tells_the_same_story_in_every_process(manner: str) -> None:
    here = await scenario.run(manner, 0)
    assert len(here) > 500
    for hashes in ("1", "2"):
        assert_same(here, in_another_process(manner, 0, hashes))


async def test_the_seed_decides_and_is_0_where_none_is_given() -> None:
    first, again, other = [await scenario.run("in_process", seed) for seed in (0, None, 6)]
    assert_same(first, again)
    assert first != other
    assert {line.split(" ")[0] for line in first} == {line.split(" ")[0] for line in other}

"""Whatever comes and goes, what is kept is what there is: memory, tasks, connections, and every table of every part.

The simulated clock makes minutes of a week.  `tests/support/churn` is what happens, `census` what is counted.
"""

from __future__ import annotations

import asyncio
import gc
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kube32_sim.cluster import Cluster
from kube32_sim.running import _event_loop
from tests.support.census import Census, census, grown, in_use, resident
from tests.support.churn import Round
from tests.support.servers import CLONE, command_environment

WEEK = 7 * 24 * 3600.0
WARM_UP = 10
"""Rounds after which the process has all that it is going to have."""
PAUSE = "6h"
PATIENCE = 400.0
STORES = ("memory", "sqlite")


@pytest.fixture
def refrozen() -> Iterator[None]:
    """A census looks at everything; what collecting the tests made is spared again afterwards (see tests/conftest)."""
    yield
    gc.collect()
    gc.freeze()


def cluster(store: str, folder: Path) -> Cluster:
    return Cluster(nodes=4, clock="virtual", store=store if store == "memory" else f"{store}:{folder / 'state'}")


async def churn(cluster: Cluster, numbers: range, pause: str) -> None:
    for number in numbers:
        await Round(cluster, number).run()
        await cluster.advance(pause)


async def at_rest(cluster: Cluster) -> Census:
    """The census when events have expired, the history and the journal have been forgotten, and all is written."""
    await cluster.advance("2h")
    cluster.store.compact(cluster.store.revision)
    cluster.journal.forget()
    await cluster.store.keep_time(cluster.clock.now())
    return census()


@pytest.mark.usefixtures("refrozen")
@pytest.mark.parametrize("store", STORES)
async def test_churn_leaves_nothing_behind(store: str, tmp_path: Path) -> None:
    async with cluster(store, tmp_path) as one:
        await churn(one, range(1000, 1001), "1m")
        before = await at_rest(one)
        await churn(one, range(2000, 2002), "5h")
        after = await at_rest(one)
    assert not grown(before, after), "these hold more than what there is"


async def week(store: str, folder: Path) -> None:
    """Print what has grown in a week, and what memory was in use and resident before and after."""
    async with cluster(store, folder) as one:
        await churn(one, range(1000, 1000 + WARM_UP), PAUSE)
        before, memory = await at_rest(one), [*in_use(), resident()]
        start, number = one.clock.now(), 2000
        while one.clock.now() < start + WEEK:
            await churn(one, range(number, number + 1), PAUSE)
            number += 1
        print(json.dumps([grown(before, await at_rest(one)), memory, [*in_use(), resident()]]))


@pytest.mark.soak
@pytest.mark.parametrize("store", STORES)
def test_a_week_of_churn_ends_with_the_memory_it_began_with(store: str, tmp_path: Path) -> None:
    """In a process that does nothing else, on the event loop of `serve`."""
    command = [sys.executable, "-m", "tests.soak.test_churn", store, str(tmp_path)]
    done = subprocess.run(
        command, cwd=CLONE, env=command_environment(), timeout=PATIENCE, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    more, before, after = json.loads(done.stdout)
    assert not more, "these hold more than what there is"
    grew = [later / earlier - 1 for earlier, later in zip(before, after, strict=True)]
    assert max(map(abs, grew)) <= 0.05, f"memory: {before} has become {after}"


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=_event_loop()) as runner:
        runner.run(week(sys.argv[1], Path(sys.argv[2])))

"""Whatever comes and goes, what is kept is what there is: memory, tasks, connections, and every table of every part.

The simulated clock makes a week of it minutes.  `tests/support/churn` is what happens, `census` what is counted.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from kube32_sim.cluster import Cluster
from tests.support.census import Census, census, grown, resident
from tests.support.churn import Round

WEEK = 7 * 24 * 3600.0
ROUNDS_A_DAY = 24
STORES = ("memory",)


@pytest.fixture(autouse=True)
def refrozen() -> Iterator[None]:
    """A census looks at everything; what collecting the tests made is spared again afterwards (see tests/conftest)."""
    yield
    gc.collect()
    gc.freeze()


def cluster(store: str, folder: Path) -> Cluster:
    return Cluster(nodes=4, clock="virtual", **({} if store == "memory" else {"store": f"{store}:{folder / 'state'}"}))


async def churn(cluster: Cluster, numbers: range, pause: str) -> None:
    for number in numbers:
        await Round(cluster, number).run()
        await cluster.advance(pause)


async def at_rest(cluster: Cluster) -> Census:
    """The census when events have expired, and the history has been forgotten."""
    await cluster.advance("2h")
    cluster.store.compact(cluster.store.revision)
    return census()


@pytest.mark.parametrize("store", STORES)
async def test_a_day_of_churn_leaves_nothing_behind(store: str, tmp_path: Path) -> None:
    async with cluster(store, tmp_path) as one:
        await churn(one, range(1000, 1002), "1m")
        before = await at_rest(one)
        await churn(one, range(2000, 2004), "5h")
        after = await at_rest(one)
    assert not grown(before, after), "these hold more than what there is"


@pytest.mark.soak
@pytest.mark.parametrize("store", STORES)
async def test_a_week_of_churn_ends_with_the_memory_it_began_with(store: str, tmp_path: Path) -> None:
    async with cluster(store, tmp_path) as one:
        await churn(one, range(1000, 1000 + ROUNDS_A_DAY), "20m")
        before, memory = await at_rest(one), resident()
        start = one.clock.now()
        number = 2000
        while one.clock.now() < start + WEEK:
            await churn(one, range(number, number + 1), "40m")
            number += 1
        after, grew = await at_rest(one), resident() / memory - 1
    assert not grown(before, after), "these hold more than what there is"
    assert abs(grew) <= 0.05, f"memory has grown by {100 * grew:.1f} %, from {memory >> 20} MiB"

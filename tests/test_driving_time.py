"""Time as the library's callers drive it: `advance`, `settle`, `run_until`, on either clock."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
import pytest_asyncio

from kube32_sim.client import NODES, PODS
from kube32_sim.clock import END, EPOCH, NotVirtual, rfc3339
from kube32_sim.cluster import Cluster
from tests.support.objects import pod

READY_LATER = {"sim.kube32.io/ready-after-seconds": "20"}


@pytest_asyncio.fixture
async def real_cluster() -> AsyncIterator[Cluster]:
    """One board and all loops, on the machine's clock."""
    async with Cluster(nodes=1) as cluster:
        yield cluster


def passed(cluster: Cluster) -> float:
    return cluster.clock.now() - EPOCH


async def is_ready(cluster: Cluster, name: str) -> bool:
    found = await cluster.client.get(PODS, "default", name)
    conditions = found["status"].get("conditions", ())
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


# advance


@pytest.mark.parametrize(
    ("duration", "seconds"),
    [("330s", 330), ("1m30s", 90), ("2", 2), (1.5, 1.5), (7, 7), (timedelta(minutes=2), 120), ("0s", 0), (0, 0)],
)
async def test_advance_takes_what_says_how_long(virtual_cluster: Cluster, duration: Any, seconds: float) -> None:
    await virtual_cluster.advance(duration)
    assert passed(virtual_cluster) == seconds


@pytest.mark.parametrize("duration", ["soon", "", "-5s", -1, timedelta(seconds=-1), float("nan"), float("inf")])
async def test_what_is_no_duration_moves_nothing(virtual_cluster: Cluster, duration: Any) -> None:
    with pytest.raises(ValueError, match="invalid duration"):
        await virtual_cluster.advance(duration)
    assert passed(virtual_cluster) == 0


async def test_time_ends_with_the_year_9999(virtual_cluster: Cluster) -> None:
    with pytest.raises(ValueError, match="a clock goes no further than 9999-12-31T23:59:59Z"):
        await virtual_cluster.advance(END)
    assert rfc3339(END) == "9999-12-31T23:59:59Z"
    assert passed(virtual_cluster) == 0


async def test_a_real_clock_refuses_to_be_advanced(real_cluster: Cluster) -> None:
    with pytest.raises(NotVirtual, match="the clock is real: time moves by itself"):
        await real_cluster.advance("1s")


# settle


async def test_settle_runs_what_is_due_now_and_nothing_later(virtual_cluster: Cluster) -> None:
    created = await virtual_cluster.client.create(PODS, "default", pod("p", annotations=READY_LATER))
    assert created["status"]["phase"] == "Pending"
    await virtual_cluster.settle()
    assert (await virtual_cluster.client.get(PODS, "default", "p"))["status"]["phase"] == "Running"
    assert not await is_ready(virtual_cluster, "p")
    assert passed(virtual_cluster) == 0


async def test_settle_waits_on_a_real_clock_until_nobody_has_anything_to_do(real_cluster: Cluster) -> None:
    await real_cluster.client.create(PODS, "default", pod("p"))
    await real_cluster.settle()
    assert (await real_cluster.client.get(PODS, "default", "p"))["status"]["phase"] == "Running"


# run_until


async def test_run_until_stops_at_the_moment_when_it_became_true(virtual_cluster: Cluster) -> None:
    await virtual_cluster.client.create(PODS, "default", pod("p", annotations=READY_LATER))

    async def ready() -> bool:
        return await is_ready(virtual_cluster, "p")

    assert await virtual_cluster.run_until(ready, "1m") is True
    assert passed(virtual_cluster) == 20
    await virtual_cluster.run_until(ready, 0)
    assert passed(virtual_cluster) == 20


async def test_run_until_answers_what_was_found(virtual_cluster: Cluster) -> None:
    """A condition may be an ordinary function; its first answer that is true counts."""

    def late() -> list[float]:
        return [passed(virtual_cluster)] if passed(virtual_cluster) > 30 else []

    (moment,) = await virtual_cluster.run_until(late, timedelta(minutes=1))
    assert 30 < moment < 40
    assert passed(virtual_cluster) == moment


async def test_what_never_becomes_true_ends_at_the_limit(virtual_cluster: Cluster) -> None:
    async def nodes() -> list[Any]:
        return [node for node in (await virtual_cluster.client.list(NODES)).items if "gone" in node]

    with pytest.raises(TimeoutError) as caught:
        await virtual_cluster.run_until(nodes, 90, "a node that is gone")
    assert str(caught.value) == "a node that is gone is not true within 1m30s; it is []"
    assert passed(virtual_cluster) == 90
    with pytest.raises(TimeoutError, match=r"^the condition is not true within 500ms; it is None$"):
        await virtual_cluster.run_until(lambda: None, "500ms")


async def test_a_condition_that_fails_is_told_to_who_asked(virtual_cluster: Cluster) -> None:
    def wrong() -> bool:
        raise LookupError("there is none")

    with pytest.raises(LookupError, match="there is none"):
        await virtual_cluster.run_until(wrong, "1m")
    await virtual_cluster.advance("1s")
    assert passed(virtual_cluster) == 1


@pytest.mark.parametrize("limit", ["soon", -1, float("nan"), float("inf")])
async def test_a_limit_is_a_duration(virtual_cluster: Cluster, limit: Any) -> None:
    with pytest.raises(ValueError, match="invalid duration"):
        await virtual_cluster.run_until(lambda: False, limit)
    assert passed(virtual_cluster) == 0


async def test_nobody_waits_beyond_the_end_of_time() -> None:
    async with Cluster(nodes=0, controllers="none", clock="virtual") as cluster:
        with pytest.raises(TimeoutError):
            await cluster.run_until(lambda: False, END)
        assert cluster.clock.now() == END
        await cluster.client.create(PODS, "default", pod("p"))


async def test_run_until_works_on_a_real_clock(real_cluster: Cluster) -> None:
    annotations = {"sim.kube32.io/ready-after-seconds": "0.1"}
    await real_cluster.client.create(PODS, "default", pod("p", annotations=annotations))
    began = real_cluster.clock.now()
    await real_cluster.run_until(lambda: is_ready(real_cluster, "p"), "20s")
    assert real_cluster.clock.now() - began >= 0.09
    with pytest.raises(TimeoutError, match="it is False"):
        await real_cluster.run_until(lambda: False, "50ms")

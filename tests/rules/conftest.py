"""The worlds in which the rules are tested.

A test takes `world` (two boards, all loops), or `make_world` where it needs other options: `await make_world(nodes=5)`.
Marked `everywhere` it runs twice: on the virtual clock, and against processes (`processes.py`).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from typing import Any

import pytest
import pytest_asyncio

from kube32_sim.cluster import Cluster
from tests.rules.processes import Servers, process_world
from tests.rules.world import Timings, VirtualWorld, World

MakeWorld = Callable[..., Awaitable[World]]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "make_world" in metafunc.fixturenames and metafunc.definition.get_closest_marker("everywhere"):
        metafunc.parametrize("make_world", ["virtual", "processes"], indirect=True)


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    servers = Servers(tmp_path_factory.mktemp("rules"))
    yield servers
    servers.stop()


@pytest_asyncio.fixture
async def make_world(request: pytest.FixtureRequest) -> AsyncIterator[MakeWorld]:
    """options: fields of `ServeOptions`."""
    in_processes = getattr(request, "param", "virtual") == "processes"
    servers: Servers | None = request.getfixturevalue("servers") if in_processes else None
    async with AsyncExitStack() as stack:

        async def make(**options: Any) -> World:
            if servers is not None:
                return await stack.enter_async_context(process_world(servers, options))
            return await _virtual_world(stack, options)

        yield make


async def _virtual_world(stack: AsyncExitStack, options: dict[str, Any]) -> VirtualWorld:
    cluster = await stack.enter_async_context(Cluster(clock="virtual", **options))
    given = cluster.options
    timings = Timings(
        lease=given.not_ready_timeout or 15.0,
        eviction=given.eviction_timeout,
        toleration=given.default_toleration_seconds,
        reconcile=given.reconcile_interval,
        lease_check=given.lease_check_interval,
    )
    return VirtualWorld(cluster, timings)


@pytest_asyncio.fixture
async def world(make_world: MakeWorld) -> World:
    """Two boards and all loops."""
    return await make_world()

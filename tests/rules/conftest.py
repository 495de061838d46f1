"""The worlds in which the rules are tested.

A test takes `world` (two boards, all loops), or `make_world` where it needs other options: `await make_world(nodes=5)`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest_asyncio

from kube32_sim.cluster import Cluster
from tests.rules.world import Timings, VirtualWorld, World

MakeWorld = Callable[..., Awaitable[World]]


@pytest_asyncio.fixture
async def make_world() -> AsyncIterator[MakeWorld]:
    """options: fields of `ServeOptions`."""
    async with AsyncExitStack() as stack:

        async def make(**options: Any) -> World:
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

        yield make


@pytest_asyncio.fixture
async def world(make_world: MakeWorld) -> World:
    """Two boards and all loops."""
    return await make_world()

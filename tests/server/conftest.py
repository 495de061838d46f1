"""A bare API server in the test's own process, so that its parts can be looked at and its limits lowered."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from kube32_sim.cluster import Cluster
from kube32_sim.options import ServeOptions
from tests.support.wire import Wire, connected


@pytest_asyncio.fixture
async def bare() -> AsyncIterator[Cluster]:
    """No loops, no boards."""
    async with Cluster(ServeOptions(port=0, nodes=0, controllers="none", seed=1)) as cluster:
        yield cluster


@pytest_asyncio.fixture
async def wire(bare: Cluster) -> AsyncIterator[Wire]:
    """A connection to the bare server."""
    async with connected(bare.port) as opened:
        yield opened

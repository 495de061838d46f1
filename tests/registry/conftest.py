"""Clusters without loops, in the test's own process and on a virtual clock."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from kube32_sim.cluster import Cluster
from kube32_sim.options import ServeOptions


@pytest_asyncio.fixture
async def cluster() -> AsyncIterator[Cluster]:
    """A bare API server."""
    async with Cluster(ServeOptions(port=0, nodes=0, controllers="none", clock="virtual")) as started:
        yield started
        started.store.check()


@pytest_asyncio.fixture
async def scheduling() -> AsyncIterator[Cluster]:
    """With the scheduler inside the create request and nothing else."""
    async with Cluster(ServeOptions(port=0, nodes=0, controllers="scheduler", clock="virtual")) as started:
        yield started
        started.store.check()

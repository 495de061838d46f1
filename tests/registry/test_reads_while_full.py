"""Reads over HTTP while a store in a file cannot be written: of what is there, and never of what was undone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import aiohttp
import pytest
import pytest_asyncio

from kube32_sim import Cluster
from kube32_sim.client import SERVICES
from kube32_sim.storage.sqlite import journal
from kube32_sim.storage.sqlite.store import SqliteStore
from tests.registry.test_undone import ENDPOINTS, SERVICE, Disk
from tests.support.waiting import eventually

Request = Callable[[str, str], Awaitable[tuple[int, str, list[str]]]]
SERVICES_PATH, ENDPOINTS_PATH = "/api/v1/namespaces/default/services", "/api/v1/namespaces/default/endpoints"


@pytest_asyncio.fixture
async def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Cluster]:
    monkeypatch.setattr(journal, "RETRY", 0.02)
    async with Cluster(port=0, nodes=0, store=f"sqlite:{tmp_path / 'store'}") as cluster:
        await cluster.client.create(SERVICES, "default", SERVICE)
        await cluster.client.get(ENDPOINTS, "default", "web")
        await cluster.store.kept(cluster.store.revision)
        yield cluster


@pytest_asyncio.fixture
async def request_(cluster: Cluster) -> AsyncIterator[Request]:
    async with aiohttp.ClientSession(cluster.url) as session:

        async def request(verb: str, path: str) -> tuple[int, str, list[str]]:
            async with session.request(verb, path) as response:
                return response.status, await response.text(), response.headers.getall("Warning", [])

        yield request


@pytest.fixture
def disk(cluster: Cluster) -> Disk:
    assert isinstance(cluster.store, SqliteStore)
    return Disk(cluster.store)


async def test_computed_objects_are_read_as_they_are_with_a_warning(
    cluster: Cluster, disk: Disk, request_: Request
) -> None:
    service = await cluster.client.get(SERVICES, "default", "web")
    service["metadata"]["labels"] = {"a": "b"}  # which the Endpoints are to have as well
    await cluster.client.update(SERVICES, "default", service)
    await cluster.store.kept(cluster.store.revision)
    disk.full = True
    assert (await request_("DELETE", f"{SERVICES_PATH}/web"))[0] == 503
    await disk.fails()
    for path in (f"{ENDPOINTS_PATH}/web", ENDPOINTS_PATH, f"{ENDPOINTS_PATH}?watch=1&timeoutSeconds=1"):
        status, text, warnings = await request_("GET", path)
        assert (status, '"name":"web"' in text) == (200, True)
        assert len(warnings) == 2, "that they are old, and the type, too"
        assert "endpoints may be out of date: the store cannot be written" in warnings[1]
    await disk.has_room()
    status, text, warnings = await request_("GET", f"{ENDPOINTS_PATH}/web")
    assert (status, len(warnings), '"a":"b"' in text) == (200, 1, True)


async def test_what_seemed_to_be_gone_is_there(cluster: Cluster, disk: Disk, request_: Request) -> None:
    disk.answers.clear()
    deleted = asyncio.ensure_future(request_("DELETE", f"{SERVICES_PATH}/web"))
    await eventually(lambda: cluster.store.get(("", "services"), "default/web") is None, "it is deleted")
    read = asyncio.ensure_future(request_("GET", f"{SERVICES_PATH}/web"))
    waiting = cluster.store.journal  # type: ignore[attr-defined]

    def waits() -> bool:
        return sum(len(batch.waiting) for batch in (waiting._next, waiting._under_way) if batch is not None) >= 2

    await eventually(waits, "both wait for the disk")
    disk.full = True
    disk.answers.set()
    assert (await deleted)[0] == 503
    assert (await read)[0] == 200

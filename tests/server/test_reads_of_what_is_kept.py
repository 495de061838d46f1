"""A server on a file shows nobody what is not on the disk: neither in bookmarks nor in lists."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from kube32_sim import Cluster
from kube32_sim.storage.sqlite import journal
from kube32_sim.storage.sqlite.store import SqliteStore
from tests.support.waiting import eventually
from tests.support.wire import connected

MAPS = ("", "configmaps")
PATH = "/api/v1/namespaces/default/configmaps"


class Disk:
    """A store's, on which nothing arrives before `go`, and what arrives then is lost if it `fails`."""

    def __init__(self, store: SqliteStore) -> None:
        self._go, self.fails = threading.Event(), False
        self._commit = store.journal._file.commit
        store.journal._file.commit = self._wait_and_commit  # type: ignore[method-assign]

    def go(self) -> None:
        self._go.set()

    def _wait_and_commit(self) -> None:
        self._go.wait(20)
        if self.fails:
            self.fails = False
            raise sqlite3.OperationalError("disk is full")
        self._commit()


@pytest.fixture
async def slow(tmp_path: Path) -> AsyncIterator[tuple[Cluster, SqliteStore, Disk]]:
    """With one write that is on its way to the disk: of the ConfigMap a."""
    async with Cluster(port=0, nodes=0, controllers="none", store=f"sqlite:{tmp_path / 'store'}") as cluster:
        store = cluster.store
        assert isinstance(store, SqliteStore)
        await store.kept(store.revision)
        disk = Disk(store)
        await store.create(MAPS, "default/a", {"metadata": {"name": "a", "namespace": "default", "uid": "u"}})
        assert store.revision > store.durable
        yield cluster, store, disk
        disk.go()


async def test_a_bookmark_tells_of_no_write_that_is_not_on_the_disk(slow: tuple[Cluster, SqliteStore, Disk]) -> None:
    cluster, store, disk = slow
    since = store.durable
    async with connected(cluster.port) as wire:
        query = f"watch=true&resourceVersion={since}&allowWatchBookmarks=true&timeoutSeconds=2"
        events = await wire.watch(f"{PATH}?{query}")
        first = await anext(events)
        disk.go()
        second = await anext(events)
    assert (first["type"], int(first["object"]["metadata"]["resourceVersion"])) == ("BOOKMARK", since)
    assert (second["type"], second["object"]["metadata"]["name"]) == ("ADDED", "a")


async def test_a_list_that_would_tell_of_what_is_undone_is_made_anew(
    slow: tuple[Cluster, SqliteStore, Disk], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "RETRY", 0.02)
    cluster, store, disk = slow
    disk.fails, undone = True, store.revision
    async with connected(cluster.port) as wire, connected(cluster.port) as other:
        asking = asyncio.create_task(wire("GET", PATH))
        exact = asyncio.create_task(other("GET", f"{PATH}?resourceVersion={undone}&resourceVersionMatch=Exact"))
        await eventually(lambda: store.journal._under_way and len(store.journal._under_way.waiting) == 2, "both wait")
        disk.go()
        found, ahead = await asking, await exact
        assert (found.status, found.json()["items"]) == (200, [])
        assert (ahead.status, ahead.json()["reason"]) == (504, "Timeout")
        await eventually(lambda: not store.journal.failing, "the store can be written again")
        change = await store.create(MAPS, "default/b", {"metadata": {"name": "b", "namespace": "default", "uid": "v"}})
        assert change.stored.revision > undone
        never = await wire("GET", f"{PATH}?resourceVersion={undone}&resourceVersionMatch=Exact")
        assert (never.status, never.json()["reason"]) == (410, "Expired")

"""What others have made of a store's events is right, too, when one in a file has taken back what was written."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from kube32_sim import Cluster
from kube32_sim.api.steering import FAULT
from kube32_sim.client import DEPLOYMENTS, EXPLANATIONS, NODES, PODS, SERVICES, Resource
from kube32_sim.leading import LocalBoards
from kube32_sim.storage.interface import JsonObject
from kube32_sim.storage.sqlite import journal
from kube32_sim.storage.sqlite.store import SqliteStore
from tests.support.scenario import template, workload
from tests.support.waiting import eventually

ENDPOINTS = Resource("", "v1", "endpoints")
SLICES = Resource("discovery.k8s.io", "v1", "endpointslices")
SERVICE: JsonObject = {"metadata": {"name": "web"}, "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}}


class Disk:
    """Of a store; full when told so, which shows as soon as it `answers`."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self.full = False
        self.answers = threading.Event()
        self.answers.set()
        file = store.journal._file
        self._commit, self._probe = file.commit, file.probe
        file.commit, file.probe = self.commit, self.probe  # type: ignore[method-assign]

    def _check(self) -> None:
        self.answers.wait(20)
        if self.full:
            raise sqlite3.OperationalError("disk is full")

    def commit(self) -> None:
        self._check()
        self._commit()

    def probe(self) -> None:
        self._check()
        self._probe()

    async def fails(self) -> None:
        await eventually(lambda: self._store.journal.failing, "something is undone")

    async def has_room(self) -> None:
        self.full = False
        await eventually(lambda: not self._store.journal.failing, "the store can be written again")


def pod(name: str) -> JsonObject:
    return {"metadata": {"name": name, "labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


async def addresses(cluster: Cluster) -> tuple[int, int]:
    """How many the Endpoints have, and how many the slices."""
    subsets = (await cluster.client.get(ENDPOINTS, "default", "web")).get("subsets") or ()
    made = (await cluster.client.list(SLICES, "default", label_selector="kubernetes.io/service-name=web")).items
    found = [*(one.get("addresses") or () for one in subsets), *(one.get("notReadyAddresses") or () for one in subsets)]
    return sum(map(len, found)), sum(len(one["endpoints"] or ()) for one in made)


@pytest.mark.parametrize("looked_before", [False, True])
async def test_endpoints_that_could_not_be_kept_are_computed_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, looked_before: bool
) -> None:
    monkeypatch.setattr(journal, "RETRY", 0.02)
    async with Cluster(port=0, nodes=1, store=f"sqlite:{tmp_path / 'store'}") as cluster:
        store = cluster.store
        assert isinstance(store, SqliteStore)
        disk = Disk(store)
        await cluster.client.create(SERVICES, "default", SERVICE)
        if looked_before:
            assert await addresses(cluster) == (0, 0)
        await cluster.client.create(PODS, "default", pod("one"))

        def running() -> bool:
            stored = store.get(("", "pods"), "default/one")
            return stored is not None and stored.object()["status"].get("phase") == "Running"

        await eventually(running, "the pod runs")
        await store.kept(store.revision)
        disk.full = True
        assert await addresses(cluster) == (1, 1)
        await disk.fails()
        await disk.has_room()
        assert await addresses(cluster) == (1, 1)


async def test_a_board_does_not_keep_a_fault_that_could_not_be_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "RETRY", 0.02)
    async with Cluster(port=0, nodes=1, store=f"sqlite:{tmp_path / 'store'}") as cluster:
        store = cluster.store
        assert isinstance(store, SqliteStore)
        (local,) = (part for part in cluster._stack if isinstance(part, LocalBoards))
        assert local._boards is not None
        (board,) = local._boards._boards
        await store.kept(store.revision)
        disk = Disk(store)
        disk.full = True
        disk.answers.clear()
        await cluster.client.patch(NODES, "", "esp32-0", {"metadata": {"annotations": {FAULT: "stopped"}}})
        await eventually(lambda: board._node.fault.kind == "stopped", "the board has heard of it")
        disk.answers.set()
        await disk.fails()
        await disk.has_room()
        await eventually(lambda: not board._node.fault.kind, "it is as well as its Node says", patience=5.0)


RECORDINGS = Resource("sim.kube32.io", "v1alpha1", "recordings")


@asynccontextmanager
async def undone(cluster: Cluster) -> AsyncIterator[None]:
    """What is written meanwhile is taken back at the end."""
    store = cluster.store
    assert isinstance(store, SqliteStore)
    await store.kept(store.revision)
    disk = Disk(store)
    disk.full = True
    disk.answers.clear()
    yield
    disk.answers.set()
    await disk.fails()
    await disk.has_room()


async def told_of(cluster: Cluster, pod: str) -> list[str]:
    """The reasons of a pod's causes."""
    asked = {"spec": {"pod": {"name": pod}}}
    status: dict[str, Any] = (await cluster.client.create(EXPLANATIONS, "", asked))["status"]
    return [cause["reason"] for cause in status["causes"]]


async def test_what_was_taken_back_is_no_cause(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "RETRY", 0.02)
    async with Cluster(port=0, nodes=0, controllers="none", store=f"sqlite:{tmp_path / 'store'}") as cluster:
        await cluster.client.create(PODS, "default", pod("one"))
        before = await told_of(cluster, "one")
        async with undone(cluster):
            await cluster.client.delete(PODS, "default", "one", options={"gracePeriodSeconds": 0})
            await cluster.client.create(PODS, "default", pod("two"))
            await cluster.client.create(DEPLOYMENTS, "default", workload("web", template("web")))
        assert await told_of(cluster, "one") == before
        assert [(noted.did, noted.name) for noted in cluster.journal if noted.name in ("one", "two", "web")] == [
            ("created", "one")
        ]
        async with cluster.fork() as fork:
            assert len(list(fork.journal)) == len(list(cluster.journal)) < len(cluster.journal)


async def test_where_pods_went_that_were_taken_back_is_not_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "RETRY", 0.02)
    async with Cluster(port=0, nodes=1, controllers="scheduler", store=f"sqlite:{tmp_path / 'store'}") as cluster:

        async def recorded() -> str:
            made = await cluster.client.create(RECORDINGS, "", {"metadata": {"name": "r"}})
            return str(made["status"]["lines"])

        assert await recorded() == ""
        await cluster.client.create(PODS, "default", pod("one"))
        assert "default/one" in await recorded()
        async with undone(cluster):
            await cluster.client.create(PODS, "default", pod("two"))
        assert "default/two" not in await recorded()

"""Boards of nodes that come while this process leads: they write under its term, and end with it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kube32_sim import Cluster
from kube32_sim.api.steering import RUNS_AS
from kube32_sim.client import NODES
from kube32_sim.leading import LocalBoards
from kube32_sim.storage.fencing import LEADING, leading
from kube32_sim.storage.interface import JsonObject, Storage
from kube32_sim.storage.memory import MemoryStore
from tests.support.waiting import eventually

LEASES = ("coordination.k8s.io", "leases")
LOADED: JsonObject = {"metadata": {"name": "loaded", "annotations": {RUNS_AS: "esp32-s3"}}}


def boards_of(cluster: Cluster) -> LocalBoards:
    return LocalBoards(cluster.options, cluster.store, cluster.client, cluster.clock, cluster.ids)


def living() -> list[str]:
    return [task.get_name() for task in asyncio.all_tasks() if task.get_name().startswith("board")]


async def test_they_write_under_the_term(monkeypatch: pytest.MonkeyPatch) -> None:
    terms: dict[str, str] = {}
    create = MemoryStore.create

    async def seen(store: MemoryStore, storage: Storage, key: str, obj: JsonObject) -> Any:
        if storage == LEASES:
            terms[key] = LEADING.get()
        return await create(store, storage, key, obj)

    monkeypatch.setattr(MemoryStore, "create", seen)
    async with Cluster(nodes=0, port=0, controllers="none") as cluster:
        boards = boards_of(cluster)
        await _stopped_boards(cluster)
        with leading("the first term"):
            await boards.start()
        await cluster.client.create(NODES, "", LOADED)
        await eventually(lambda: "kube-node-lease/loaded" in terms, "the board of the loaded node is there")
        await boards.stop()
    assert terms == {"kube-node-lease/loaded": "the first term"}


@pytest.mark.parametrize("turns", range(6))
async def test_none_outlives_it(turns: int) -> None:
    """Wherever its start is when the term ends."""
    async with Cluster(nodes=0, port=0, controllers="none") as cluster:
        boards = boards_of(cluster)
        await _stopped_boards(cluster)
        await boards.start()
        await cluster.client.create(NODES, "", LOADED)
        for _ in range(turns):
            await asyncio.sleep(0)
        await boards.stop()
        assert living() == []


async def _stopped_boards(cluster: Cluster) -> None:
    """The cluster's own are not to run the node."""
    for part in [part for part in cluster._stack if isinstance(part, LocalBoards)]:
        cluster._stack.remove(part)
        await part.stop()

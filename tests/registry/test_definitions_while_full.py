"""The end of a definition that a store in a file could not keep: it comes when there is room again."""

from __future__ import annotations

from pathlib import Path

import pytest

from kube32_sim import Cluster
from kube32_sim.registry import unfinished_types
from kube32_sim.storage.interface import Unavailable
from kube32_sim.storage.sqlite import journal
from kube32_sim.storage.sqlite.store import SqliteStore
from tests.registry.test_undone import Disk
from tests.support.definitions import CRDS, definition
from tests.support.waiting import eventually

STORED = ("apiextensions.k8s.io", "customresourcedefinitions")
NAME = "widgets.example.com"


async def test_a_definition_goes_though_its_end_was_undone_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "RETRY", 0.02)
    monkeypatch.setattr(unfinished_types, "LOOK_EVERY", 0.3)
    async with Cluster(port=0, nodes=0, store=f"sqlite:{tmp_path / 'store'}") as cluster:
        store = cluster.store
        assert isinstance(store, SqliteStore)
        disk, customs = Disk(store), cluster._customs
        release = customs._release

        async def released(name: str) -> None:
            monkeypatch.setattr(customs, "_release", release)
            await store.kept(store.revision)
            disk.full = True
            await release(name)

        await cluster.client.create(CRDS, "", definition())
        await eventually(lambda: _nobody_looks(cluster), "it is done")
        monkeypatch.setattr(customs, "_release", released)
        with pytest.raises(Unavailable):
            await cluster.client.delete(CRDS, "", NAME)
        await disk.fails()
        there = store.get(STORED, NAME)
        assert there is not None
        assert there.deleting
        await disk.has_room()
        await eventually(lambda: store.get(STORED, NAME) is None, "it goes")
        await store.kept(store.revision)
        await eventually(lambda: _nobody_looks(cluster), "nobody looks any more")


def _nobody_looks(cluster: Cluster) -> bool:
    looking = cluster._unfinished._looking
    return looking is not None and looking.done()

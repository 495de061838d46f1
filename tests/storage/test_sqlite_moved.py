"""Files that others remove, replace or cut off while a store is open, or half of which is left when one is opened."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from kube32_sim.api.builtin import builtin_table
from kube32_sim.clock import VirtualClock
from kube32_sim.storage.interface import StoreError, Unavailable
from kube32_sim.storage.sqlite import journal
from kube32_sim.storage.sqlite.store import SqliteStore
from tests.support.stores import picture
from tests.support.waiting import eventually

MAPS = ("", "configmaps")


def opened(path: Path) -> SqliteStore:
    return SqliteStore(path, builtin_table(), VirtualClock())


def wal_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


async def write(store: SqliteStore, name: str, size: int = 0) -> None:
    """And wait until it is kept."""
    metadata = {"name": name, "namespace": "a", "uid": f"uid-{name}"}
    await store.create(MAPS, f"a/{name}", {"metadata": metadata, "data": {"room": "x" * size}})
    await store.kept(store.revision)


def remove_both(path: Path) -> None:
    path.unlink()
    wal_of(path).unlink()


def remove_file(path: Path) -> None:
    path.unlink()


def remove_wal(path: Path) -> None:
    wal_of(path).unlink()


def replace_file(path: Path) -> None:
    shutil.copy(path, path.with_name("copy"))
    path.with_name("copy").replace(path)


def replace_wal(path: Path) -> None:
    shutil.copy(wal_of(path), path.with_name("copy"))
    path.with_name("copy").replace(wal_of(path))


def cut_wal(path: Path) -> None:
    os.truncate(wal_of(path), 0)


def cut_file(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


@pytest.mark.parametrize(
    ("harm", "why"),
    [
        (remove_both, "is gone while it was in use"),
        (remove_file, "store is gone while it was in use"),
        (remove_wal, "store-wal is gone while it was in use"),
        (replace_file, "store was replaced by another file while it was in use"),
        (replace_wal, "store-wal was replaced by another file while it was in use"),
        (cut_wal, "store-wal was cut off while it was in use"),
        (cut_file, "store was cut off while it was in use"),
    ],
)
async def test_nothing_is_acknowledged_that_no_start_would_find(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, harm: Callable[[Path], None], why: str
) -> None:
    monkeypatch.setattr(journal, "RETRY", 0.01)
    path = tmp_path / "store"
    store = opened(path)
    await write(store, "before")
    told = picture(store)
    harm(path)
    with pytest.raises(Unavailable, match=why):
        await write(store, "after")
    assert why in store.trouble
    cancel = store.journal._cancel_retry
    await eventually(lambda: store.journal._cancel_retry not in (None, cancel), "it was tried again")
    with pytest.raises(Unavailable, match=why):
        await write(store, "after")
    assert picture(store) == told
    await store.close()


async def test_a_file_that_is_put_back_is_written_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "RETRY", 0.01)
    path = tmp_path / "store"
    store = opened(path)
    path.rename(tmp_path / "elsewhere")
    with pytest.raises(Unavailable):
        await write(store, "first")
    (tmp_path / "elsewhere").rename(path)
    await eventually(lambda: not store.trouble, "it can be written again")
    await write(store, "second")
    told = picture(store)
    await store.close()
    again = opened(path)
    assert picture(again) == told
    await again.close()


async def test_what_is_kept_outlives_the_loss_of_the_wal_where_it_ends_in_good_order(tmp_path: Path) -> None:
    path = tmp_path / "store"
    store = opened(path)
    await write(store, "before")
    remove_wal(path)
    await store.close()
    again = opened(path)
    assert [stored.name for stored in again.list(MAPS)] == ["before"]
    await again.close()


async def test_files_that_grow_and_begin_anew_are_no_others(tmp_path: Path) -> None:
    """Over several checkpoints, after which the WAL is written from its beginning."""
    store = opened(tmp_path / "store")
    store.journal._file.database.execute("PRAGMA wal_autocheckpoint = 8")
    for number in range(60):
        await write(store, f"map-{number}", 20_000)
    for number in range(60):
        await store.delete(MAPS, f"a/map-{number}", lambda _: None)
        await store.kept(store.revision)
    await store.close()


@pytest.mark.parametrize("empty", [False, True])
async def test_a_wal_without_its_file_is_left_as_it_is(tmp_path: Path, empty: bool) -> None:
    path, left = tmp_path / "store", tmp_path / "left"
    store = opened(path)
    await write(store, "acknowledged")
    shutil.copy(wal_of(path), wal_of(left))
    shutil.copy(path, tmp_path / "file")
    await store.close()
    content = wal_of(left).read_bytes()
    if empty:
        left.touch()
    with pytest.raises(StoreError, match=f"{left} is gone, and {wal_of(left)} is left.*put the file back"):
        opened(left)
    assert wal_of(left).read_bytes() == content
    assert left.exists() == empty
    shutil.copy(tmp_path / "file", left)
    again = opened(left)
    assert [stored.name for stored in again.list(MAPS)] == ["acknowledged"]
    await again.close()


async def test_an_empty_wal_holds_nothing(tmp_path: Path) -> None:
    wal_of(tmp_path / "store").touch()
    await opened(tmp_path / "store").close()

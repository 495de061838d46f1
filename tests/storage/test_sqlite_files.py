"""Files that cannot be opened: one line that says which, why and what to do, and the file is as it was."""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kube32_sim.api.builtin import builtin_table
from kube32_sim.clock import VirtualClock
from kube32_sim.storage.interface import StoreError
from kube32_sim.storage.sqlite.header import FORMAT, MARK
from kube32_sim.storage.sqlite.store import SqliteStore
from tests.storage.test_store_model import Model, step
from tests.support.servers import command_environment
from tests.support.stores import picture


def opened(path: Path) -> SqliteStore:
    return SqliteStore(path, builtin_table(), VirtualClock())


async def written(path: Path, seed: int = 1, steps: int = 60) -> dict[str, Any]:
    """A store with something in it, closed; answers what it tells."""
    store, rng, model = opened(path), random.Random(seed), Model()
    for _ in range(steps):
        await step(rng, store, model)
    await store.keep("key", lambda: b"secret")
    told = picture(store)
    await store.close()
    return told


def refused(path: Path) -> str:
    before = path.read_bytes() if path.is_file() and os.access(path, os.R_OK) else None
    with pytest.raises(StoreError) as caught:
        opened(path)
    message = str(caught.value)
    assert str(path) in message or str(path.parent) in message
    assert "\n" not in message
    if before is not None:
        assert path.read_bytes() == before
    return message


def from_another_process(path: Path) -> str:
    """What another process says that opens it."""
    code = "import sys, pathlib, tests.storage.test_sqlite_files as t; t.opened(pathlib.Path(sys.argv[1]))"
    command = [sys.executable, "-c", code, str(path)]
    environment = command_environment()
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False).stderr


async def test_it_is_made_for_its_owner_alone_and_says_what_it_is(tmp_path: Path) -> None:
    await written(tmp_path / "store")
    assert (tmp_path / "store").stat().st_mode & 0o777 == 0o600
    with sqlite3.connect(tmp_path / "store") as database:
        assert database.execute("PRAGMA application_id").fetchone()[0] == MARK
        assert database.execute("PRAGMA user_version").fetchone()[0] == FORMAT
        assert database.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
    database.close()
    assert os.listdir(tmp_path) == ["store"]


async def test_it_waits_for_the_disk_at_each_commit(tmp_path: Path) -> None:
    store = opened(tmp_path / "store")
    database = store.journal._file.database
    assert database.execute("PRAGMA synchronous").fetchone()[0] == 2  # FULL
    assert database.execute("PRAGMA locking_mode").fetchone()[0] == "exclusive"
    await store.close()


def test_what_is_no_place_for_a_store(tmp_path: Path) -> None:
    assert "there is no directory" in refused(tmp_path / "none" / "store")
    assert "is a directory" in refused(tmp_path)
    text = tmp_path / "notes.txt"
    text.write_text("remember the milk\n" * 20)
    assert "is no store of kube32-sim" in refused(text)
    short = tmp_path / "short"
    short.write_bytes(b"SQLite format 3\0")
    assert "is no store of kube32-sim" in refused(short)


def test_the_database_of_another_program(tmp_path: Path) -> None:
    for mark in (0, 4711):
        path = tmp_path / f"other-{mark}"
        with sqlite3.connect(path) as database:
            database.execute(f"PRAGMA application_id = {mark}")
            database.execute("CREATE TABLE bookmarks (url TEXT)")
        database.close()
        assert "a database of another program" in refused(path)


async def test_a_newer_format(tmp_path: Path) -> None:
    path = tmp_path / "store"
    await written(path)
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA user_version = 7")
    database.close()
    message = refused(path)
    assert "has format 7" in message
    assert "use the version that wrote it" in message


async def test_a_file_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "store"
    await written(path)

    def denied(*arguments: Any) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("kube32_sim.storage.sqlite.header._head", denied)  # root may read everything
    assert "Permission denied" in refused(path)


async def test_one_store_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "store"
    store = opened(path)
    with pytest.raises(StoreError, match="in use already"):
        opened(path)
    link = tmp_path / "link"
    link.symlink_to(path)
    with pytest.raises(StoreError, match="in use already"):
        opened(link)
    assert "is in use by another process; stop that one, or name another file" in from_another_process(path)
    await store.close()
    await opened(path).close()


@pytest.mark.parametrize("seed", range(20))
async def test_damage_is_never_taken_for_the_truth(tmp_path: Path, seed: int) -> None:
    """Some bytes anywhere are others, or the end is missing: it is refused, or what it tells is what was written."""
    path, rng = tmp_path / "store", random.Random(seed)
    told = await written(path, seed % 4, 150)
    content = bytearray(path.read_bytes())
    if seed % 8 == 7:
        del content[rng.randrange(len(content)) :]
    else:
        for place in [rng.randrange(len(content)) for _ in range(rng.choice((1, 3, 40)))]:
            content[place] ^= rng.randrange(1, 256)
    path.write_bytes(content)
    try:
        store = opened(path)
    except StoreError:
        assert path.read_bytes() == content
        return
    assert picture(store) == told
    assert await store.keep("key", lambda: b"another") == b"secret"
    await store.close()


async def test_every_row_is_checked_and_none_may_be_missing(tmp_path: Path) -> None:
    path = tmp_path / "store"
    await written(path)
    whole = path.read_bytes()
    for statement in (
        "UPDATE log SET raw = replace(raw, 'metadata', 'metadata') WHERE revision = (SELECT max(revision) FROM log)",
        "UPDATE log SET about = replace(about, 'pods', 'cows')",
        "UPDATE log SET revision = 4711 WHERE revision = (SELECT min(revision) FROM log)",
        "DELETE FROM log WHERE revision = (SELECT min(revision) FROM log)",
        "DELETE FROM log WHERE revision = (SELECT max(revision) FROM log)",
        "UPDATE state SET about = replace(about, 'revision', 'rewision')",
        "DELETE FROM state",
        "UPDATE private SET value = 'other'",
        "DELETE FROM private",
        "DROP TABLE log",
    ):
        path.write_bytes(whole)
        with sqlite3.connect(path, isolation_level=None) as database:
            database.execute(statement)
        database.close()
        assert "is damaged" in refused(path), statement


async def test_a_store_that_was_never_finished_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "store"
    path.touch()
    for _ in range(2):
        store = opened(path)
        assert store.revision == 1
        await store.close()
        with sqlite3.connect(path, isolation_level=None) as database:
            database.execute("DELETE FROM state")
        database.close()

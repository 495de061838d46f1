"""The SQLite file: opened or made, locked against other processes, read once, written in transactions.

Knows SQL and nothing of stores.  Who writes does it from one thread at a time: `stage` and then `commit`, which waits
for the disk, or `rollback`.
"""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import orjson

from kube32_sim.storage.interface import JsonObject, StoreError
from kube32_sim.storage.sqlite.header import FORMAT, MARK, Identity, look, other_format
from kube32_sim.storage.sqlite.rows import Damaged, Row, sealed

_TABLES = f"""
PRAGMA page_size = 8192;
BEGIN EXCLUSIVE;
CREATE TABLE log (revision INTEGER PRIMARY KEY, about BLOB NOT NULL, raw BLOB NOT NULL, crc INTEGER NOT NULL);
CREATE TABLE state (id INTEGER PRIMARY KEY, about BLOB NOT NULL, crc INTEGER NOT NULL);
CREATE TABLE private (name TEXT PRIMARY KEY, value BLOB NOT NULL, crc INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE filler (id INTEGER PRIMARY KEY, room BLOB NOT NULL);
PRAGMA application_id = {MARK};
PRAGMA user_version = {FORMAT};
COMMIT;
"""
_CHECKPOINT = 4096
"""Pages of the WAL after which they are moved to their places."""
_CACHE = 64 << 10
"""KiB of pages in memory: what is staged does not go to the disk before it is committed."""
_PROBE = 64 << 10
"""Bytes that there must be room for before it is believed that there is room again."""
_PATIENCE = 1.0
"""Seconds in which another process that is just ending may let go of the file."""

_NO_WRITING = (errno.EROFS, errno.EACCES, errno.EPERM)

_open: set[Identity] = set()
"""What this process has open."""


class Moved(Exception):
    """The files are not those any more that were opened: what is written there, no start will find."""


class StoreFile:
    """Raises StoreError where it cannot be opened.  fresh: there is nothing in it yet."""

    def __init__(self, path: Path) -> None:
        full = path.absolute()
        self.path = full.parent.resolve() / full.name if ".." in full.parts else full
        self._identity = (0, 0)
        self._places = str(self.path), f"{self.path}-wal"
        self._sizes: dict[str, tuple[Identity, int]] = {}
        """After the last commit: which files, and how long, which they are from then on at least."""
        try:
            self._open()
        except (sqlite3.Error, UnicodeDecodeError, OSError) as error:
            self.close()
            raise StoreError(self._why(error)) from error
        except StoreError:
            self.close()
            raise

    def _open(self) -> None:
        self._database: sqlite3.Connection | None = None
        identity = look(self.path, _open)
        database = self._database = sqlite3.connect(
            self.path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False
        )
        for setting in ("locking_mode = EXCLUSIVE", "synchronous = FULL", f"cache_size = -{_CACHE}"):
            database.execute(f"PRAGMA {setting}")
        database.execute("BEGIN EXCLUSIVE")  # from here on the file is ours
        database.execute("COMMIT")
        self._identity = identity
        _open.add(identity)
        if self._pragma("application_id") == 0 and not self._any("sqlite_master"):
            database.executescript(_TABLES)
        self._check_kind()
        self.fresh = not self._any("state") and not self._any("log")
        database.execute("PRAGMA journal_mode = WAL")
        database.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT}")

    def _pragma(self, name: str) -> int:
        return int(self.database.execute(f"PRAGMA {name}").fetchone()[0])

    def _any(self, table: str) -> bool:
        return self.database.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone() is not None

    def _check_kind(self) -> None:
        """As `header.look` does, of what a journal beside the file may have brought back."""
        if self._pragma("application_id") != MARK:
            raise StoreError(f"--store: {self.path} is a database of another program; name another file")
        version = self._pragma("user_version")
        if version != FORMAT:
            raise other_format(self.path, version)

    @property
    def database(self) -> sqlite3.Connection:
        if self._database is None:
            raise sqlite3.ProgrammingError("the store is closed")
        return self._database

    def _why(self, error: Exception) -> str:
        text = str(error)
        if "locked" in text:
            return f"--store: {self.path} is in use by another process; stop that one, or name another file"
        if isinstance(error, OSError):
            instead = "; a store is written, too: name another file" if error.errno in _NO_WRITING else ""
            return f"--store: {self.path} cannot be opened: {error.strerror or error}{instead}"
        if isinstance(error, sqlite3.OperationalError) and "malformed" not in text:
            instead = "; make room, or name another file" if " full" in text else ""
            return f"--store: {self.path} cannot be opened: {text}{instead}"
        return damaged(self.path, text)

    # reading

    def log(self) -> Iterator[tuple[int, bytes, bytes, int]]:
        """Rows in order of their revisions."""
        return self.database.execute("SELECT revision, about, raw, crc FROM log ORDER BY revision")

    def state(self) -> JsonObject:
        """What was last staged; raises Damaged."""
        for number, about, crc in self.database.execute("SELECT id, about, crc FROM state"):
            if number == 1 and sealed(1, about, b"") == crc:
                found: JsonObject = orjson.loads(about)
                return found
        raise Damaged("the row of its state is damaged")

    def private(self) -> dict[str, bytes]:
        found = {}
        for name, value, crc in self.database.execute("SELECT name, value, crc FROM private"):
            if sealed(0, name.encode(), value) != crc:
                raise Damaged(f"what is kept as {name} is damaged")
            found[name] = value
        return found

    # writing

    def stage(self, rows: Iterable[Row], gone: Iterable[int], private: Iterable[tuple[str, bytes]]) -> int:
        """Begin a transaction; answers how many of the rows that should go were there."""
        database = self.database
        database.execute("BEGIN IMMEDIATE")
        database.executemany("INSERT INTO log VALUES (?, ?, ?, ?)", rows)
        found = database.executemany("DELETE FROM log WHERE revision = ?", ((revision,) for revision in gone)).rowcount
        for name, value in private:
            database.execute("INSERT INTO private VALUES (?, ?, ?)", (name, value, sealed(0, name.encode(), value)))
        return max(found, 0)

    def stage_state(self, state: JsonObject) -> None:
        about = orjson.dumps(state)
        self.database.execute("INSERT OR REPLACE INTO state VALUES (1, ?, ?)", (about, sealed(1, about, b"")))

    def probe(self) -> None:
        """Commit something of a size, and remove it again."""
        self.database.execute("BEGIN IMMEDIATE")
        self.database.execute("INSERT OR REPLACE INTO filler VALUES (1, zeroblob(?))", (_PROBE,))
        self.commit()
        self.database.execute("DELETE FROM filler")

    def commit(self) -> None:
        """Raises Moved where others have removed, replaced or cut off what it would be written to."""
        for path, (identity, size) in self._sizes.items():
            _check_place(path, identity, size)
        self.database.execute("COMMIT")
        self._sizes = {path: _size_of(path) for path in self._places}

    def rollback(self) -> None:
        with suppress(sqlite3.Error):
            if self.database.in_transaction:
                self.database.execute("ROLLBACK")

    def close(self) -> None:
        database, self._database = self._database, None
        if database is not None:
            with suppress(sqlite3.Error):
                database.close()
        _open.discard(self._identity)


def _size_of(path: str) -> tuple[Identity, int]:
    found = os.stat(path)  # of a str: this is done at every commit
    return (found.st_dev, found.st_ino), found.st_size


def _check_place(path: str, identity: Identity, size: int) -> None:
    try:
        now = _size_of(path)
    except OSError as error:
        raise Moved(f"{path} is gone while it was in use ({error.strerror})") from error
    if now[0] != identity:
        raise Moved(f"{path} was replaced by another file while it was in use")
    if now[1] < size:
        raise Moved(f"{path} was cut off while it was in use")


def damaged(path: Path, text: str) -> str:
    return f"--store: {path} is damaged ({text}); nothing was changed: restore a copy of it, or name another file"

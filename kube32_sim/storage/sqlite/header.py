"""A look at a file before SQLite opens it, so that what is no store of ours is left as it is.

The first 100 bytes of an SQLite file say what it is (https://www.sqlite.org/fileformat.html, "The Database Header").
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection
from pathlib import Path

from kube32_sim.storage.interface import StoreError

MARK = 0x6B333273
"""The application id of a store ("k32s")."""
FORMAT = 1
"""The user version: what this program writes and reads."""
_MAGIC = b"SQLite format 3\0"
_SIZE = 100


Identity = tuple[int, int]
"""(device, inode)."""


def look(path: Path, taken: Collection[Identity]) -> Identity:
    """Make the file where there is none; answers which it is.  Raises StoreError, OSError.

    taken: what this process has open.  Locks are the process's: they would not keep it out, and who as much as reads
    such a file and closes it has given them up.
    """
    if not path.parent.is_dir():
        raise StoreError(f"--store: there is no directory {path.parent}; make it, or name another file")
    wal = path.with_name(f"{path.name}-wal")
    if _holds(wal) and not _holds(path):
        raise StoreError(
            f"--store: {path} is gone, and {wal} is left, which holds writes that were acknowledged; nothing was "
            "changed: put the file back beside it, or remove that one too to begin from nothing"
        )
    made = _make(path)
    found = path.stat()
    if stat.S_ISDIR(found.st_mode):
        raise StoreError(f"--store: {path} is a directory; name a file")
    if not stat.S_ISREG(found.st_mode):
        raise StoreError(f"--store: {path} is no ordinary file; name another one")
    identity = found.st_dev, found.st_ino
    if identity in taken:
        raise StoreError(f"--store: {path} is in use already, by this very process; name another file")
    if not made:
        _check(path, _head(path))
    return identity


def _holds(path: Path) -> bool:
    return path.exists() and path.stat().st_size > 0


def _make(path: Path) -> bool:
    """An empty file that only its owner reads; it is there for good before anything is written to it."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        return False
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
    return True


def _head(path: Path) -> bytes:
    with path.open("r+b") as file:  # which tells where it can only be read
        return file.read(_SIZE)


def _check(path: Path, head: bytes) -> None:
    if not head or path.with_name(f"{path.name}-journal").exists():
        return  # it was never finished: SQLite takes back what was begun
    if not head.startswith(_MAGIC) or len(head) < _SIZE:
        raise StoreError(f"--store: {path} is no store of kube32-sim, or its beginning is damaged; name another file")
    mark, version = int.from_bytes(head[68:72], "big"), int.from_bytes(head[60:64], "big")
    if mark != MARK:
        raise StoreError(f"--store: {path} is a database of another program; name another file")
    if version != FORMAT:
        raise other_format(path, version)


def other_format(path: Path, version: int) -> StoreError:
    return StoreError(
        f"--store: {path} has format {version}, and this version of kube32-sim knows only {FORMAT}; "
        "use the version that wrote it, or name another file"
    )

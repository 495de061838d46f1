"""Paths that are no ordinary files: pipes, terminals, devices.

They are read and written as they are: whatever is renamed over one would take it away from everybody, and who waits for
the other end of a pipe hears no signal.
"""

from __future__ import annotations

import errno
import os
import re
import select
import stat
from pathlib import Path
from typing import BinaryIO

PATIENCE = 10.0
"""Seconds in which something should come out of a pipe."""
_PART = 65536
_OPEN_FILES = re.compile(r"/proc/\d+(?:/task/\d+)?/fd")
_MOST_LINKS = 40
_KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
)


def kind_of(path: Path) -> str:
    """What a path leads to, through links: "a pipe"; "" for an ordinary file and for nothing.

    What is open already (`/dev/stdout`, `/dev/fd/3`) is "an open file" even where it is an ordinary one.
    """
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return ""
    kinds = [kind for is_it, kind in _KINDS if is_it(mode)]
    return kinds[0] if kinds else "an open file" * _is_open_file(path)


def _is_open_file(path: Path) -> bool:
    for _ in range(_MOST_LINKS):
        path = path.parent.resolve() / path.name
        if _OPEN_FILES.fullmatch(str(path.parent)):
            return True
        if not path.is_symlink():
            return False
        path = path.parent / path.readlink()
    return False


def open_to_write(path: Path) -> BinaryIO:
    """As it is, with what is in it; OSError where it cannot be, also where nobody reads from a pipe."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NONBLOCK | os.O_NOCTTY)
    except OSError as error:
        if error.errno == errno.ENXIO:
            raise OSError(errno.ENXIO, "nobody reads from it: start the reader first", str(path)) from None
        raise
    os.set_blocking(handle, True)
    return os.fdopen(handle, "wb")


def read_patiently(path: Path) -> bytes:
    """All that is in a file, or comes out of a pipe.  OSError, also where nothing comes for `PATIENCE`."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    try:
        parts: list[bytes] = []
        while part := _part(handle, path):
            parts.append(part)
        return b"".join(parts)
    finally:
        os.close(handle)


def _part(handle: int, path: Path) -> bytes:
    waiting = select.poll()
    waiting.register(handle, select.POLLIN)
    while True:
        if not waiting.poll(PATIENCE * 1000):
            raise OSError(errno.ETIMEDOUT, f"nothing came out of it for {PATIENCE:.0f}s: who writes?", str(path))
        try:
            return os.read(handle, _PART)
        except BlockingIOError:
            continue

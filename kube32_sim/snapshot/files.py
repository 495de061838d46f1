"""Where snapshots are kept: files that only their owner can read, `-` for the standard streams, compressed or not."""

from __future__ import annotations

import gzip
import os
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, BinaryIO, Protocol

import orjson

from kube32_sim.options import CommandError
from kube32_sim.special_files import kind_of, open_to_write

STANDARD = "-"
_GZIP = b"\x1f\x8b"
_YAML = (".yaml", ".yml")
_QUICK = 1
"""Level of compression: what is slower makes files hardly smaller."""


class Sink(Protocol):
    def write(self, data: bytes, /) -> object: ...


class Writer:
    """Writes objects: each a line of JSON, or a YAML document."""

    def __init__(self, sink: Sink, *, as_yaml: bool) -> None:
        self._sink = sink
        self._yaml = as_yaml

    def write(self, obj: object) -> None:
        self._sink.write(_document(obj) if self._yaml else orjson.dumps(obj, option=orjson.OPT_APPEND_NEWLINE))


def _document(obj: object) -> bytes:
    import yaml

    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    text = yaml.dump(obj, Dumper=dumper, sort_keys=False, allow_unicode=True, explicit_start=True)
    return str(text).encode()


@contextmanager
def writing(file: str) -> Iterator[Writer]:
    """What is written is there, as a whole, when the block ends; nothing is where it fails.  Raises CommandError.

    What is no ordinary file is written to as it is, piece by piece.
    """
    plain = file.removesuffix(".gz")
    as_yaml = plain.endswith(_YAML)
    if file == STANDARD:
        if sys.stdout is None:
            raise CommandError("standard output is closed: there is nowhere to save to")
        yield Writer(sys.stdout.buffer, as_yaml=False)
        sys.stdout.buffer.flush()
        return
    opening = _straight if is_stream(file) else _replacing
    try:
        with opening(_path(file)) as opened, _packing(opened, packed=plain != file) as sink:
            yield Writer(sink, as_yaml=as_yaml)
    except OSError as error:
        raise CommandError(f"{file}: {error.strerror or error}") from None


def is_stream(file: str) -> bool:
    """Whether what is written there cannot be taken back: the standard stream, a pipe, a device."""
    return file == STANDARD or bool(kind_of(_path(file)))


def _path(file: str) -> Path:
    return Path(file).expanduser().absolute()


@contextmanager
def _straight(path: Path) -> Iterator[BinaryIO]:
    with open_to_write(path) as opened:
        yield opened


@contextmanager
def _replacing(path: Path) -> Iterator[BinaryIO]:
    """It takes the place of the file (to which a link leads) when the block ends, and only where that ends well."""
    path = Path(os.path.realpath(path))
    # mkstemp makes it 0600: Secrets are in it
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as opened:
            yield opened
            opened.flush()
            os.fsync(opened.fileno())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


@contextmanager
def _packing(opened: BinaryIO, *, packed: bool) -> Iterator[IO[bytes] | gzip.GzipFile]:
    if not packed:
        yield opened
        return
    with gzip.GzipFile(fileobj=opened, mode="wb", compresslevel=_QUICK, mtime=0) as compressed:
        yield compressed


def content(file: str) -> bytes:
    """What is in a file, unpacked where it is compressed.  Raises CommandError."""
    called = "stdin" if file == STANDARD else file
    try:
        if file == STANDARD:
            if sys.stdin is None:
                raise CommandError("standard input is closed: there is nothing to load")
            data = sys.stdin.buffer.read()
        else:
            data = Path(file).expanduser().read_bytes()
    except (OSError, ValueError) as error:  # a ValueError: NUL in a path
        raise CommandError(f"{called}: {getattr(error, 'strerror', None) or error}") from None
    if not data.startswith(_GZIP):
        return data
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise CommandError(f"{called}: the compressed file is damaged: {error}") from None

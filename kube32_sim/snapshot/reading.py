"""Files of objects, taken apart: JSON lines as `snapshot save` writes them, and whatever kubectl prints.

Lists of any kind are taken apart too.  CustomResourceDefinitions come first, so that it is known what the others are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import orjson

from kube32_sim.api import own
from kube32_sim.options import CommandError
from kube32_sim.preview.documents import documents
from kube32_sim.snapshot.files import STANDARD, content
from kube32_sim.storage.collector import without_collector

JsonObject = dict[str, Any]

_HEADER = "Snapshot"
_PLAIN = re.compile(rb'\{"apiVersion":"([a-z0-9./-]+)","kind":"([A-Za-z0-9]+)",')
"""How lines begin that are an object and nothing else: the server looks into them, so that once is enough."""
_TIMES = re.compile(rb'"(?:creationTimestamp|renewTime|lastHeartbeatTime)":"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)[.\d]*Z"')
_OURS = b'"providerID":"kube32-sim://'
_BETWEEN = (b"---", b"...", b"#")
"""How lines begin that only YAML has."""
_DEFINITION = "CustomResourceDefinition"
MOST_TOLD = 20


class Source(NamedTuple):
    """Where an object stood: `cluster.jsonl, line 7`, `state.yaml, document 1, items[3]`."""

    file: str
    line: int = 0
    document: int = 0
    item: int = -1

    def __str__(self) -> str:
        where = f"line {self.line}" if self.line else f"document {self.document}"
        return f"{self.file}, {where}" + (f", items[{self.item}]" if self.item >= 0 else "")


@dataclass(slots=True)
class Objects:
    """What files hold.  lines: an object each, in JSON; sources: where each of them stood.

    header: what a snapshot says of itself, {} where there is none.
    """

    lines: list[bytes] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    header: JsonObject = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        return bool(self.header.get("complete"))

    @property
    def foreign(self) -> bool:
        """Whether it is of a cluster that is no simulator."""
        said = self.header.get("foreign")
        return bool(said) if said is not None else not any(_OURS in line for line in self.lines)

    @property
    def time(self) -> str:
        """When it was taken, as it says, or as far as can be told by its objects; "" where it cannot."""
        said = self.header.get("time")
        if isinstance(said, str):
            return said
        latest = max((time for line in self.lines for time in _TIMES.findall(line)), default=b"")
        return f"{latest.decode()}Z" if latest else ""


def read(files: Sequence[str]) -> Objects:
    """The objects of files, `-` for stdin.  Raises CommandError with a line for everything that cannot be read."""
    if list(files).count(STANDARD) > 1:
        raise CommandError("stdin can be read only once")
    reading = _Reading()
    with without_collector():
        for file in files:
            reading.take(file)
    if reading.problems:
        more = len(reading.problems) - MOST_TOLD
        raise CommandError("\n".join([*reading.problems[:MOST_TOLD], *([f"and {more} more"] if more > 0 else [])]))
    reading.headers(len(files))
    return reading.found()


class _Kinds(dict[bytes, str]):
    """Kinds by their bytes; "" for those that have to be looked into."""

    def __missing__(self, name: bytes) -> str:
        kind = name.decode()
        found = self[name] = "" if kind.endswith("List") or kind == _HEADER else kind
        return found


class _Reading:
    def __init__(self) -> None:
        self.problems: list[str] = []
        self._first: list[tuple[bytes, Source]] = []
        self._rest: list[tuple[bytes, Source]] = []
        self._said: list[JsonObject] = []
        self._warnings: list[str] = []

    def take(self, file: str) -> None:
        try:
            data = content(file)
        except CommandError as error:
            self.problems.append(str(error))
            return
        called = "stdin" if file == STANDARD else file
        lines = _lines_of(data)
        if lines is not None:
            self._take_lines(lines, called)
        else:
            self._take_documents(data, called)

    def headers(self, files: int) -> None:
        """Several files say together less than each of them says of itself."""
        if len(self._said) != 1 or files != 1:
            self._said = [{"time": max(times)} for times in [[s["time"] for s in self._said if s.get("time")]] if times]

    def found(self) -> Objects:
        both = self._first + self._rest
        header = self._said[0] if self._said else {}
        return Objects([line for line, _ in both], [source for _, source in both], header, self._warnings)

    def _take_lines(self, lines: Sequence[bytes], called: str) -> None:
        kinds = _Kinds()
        for number, line in enumerate(lines, 1):
            if not line or line.isspace():
                continue
            source = Source(called, number)
            plain = _PLAIN.match(line)
            kind = kinds[plain[2]] if plain is not None else ""
            if kind:
                self._put(line, kind, source)
                continue
            try:
                value = orjson.loads(line)
            except orjson.JSONDecodeError as error:
                self.problems.append(f"{source}: it is no JSON: {error}")
            else:
                self._take_value(value, source)

    def _take_documents(self, data: bytes, called: str) -> None:
        number = 0
        for number, document in enumerate(documents(data), 1):
            source = Source(called, document=number)
            self._warnings += [f"{source}: {text}" for text in document.warnings]
            if document.problem:
                self.problems.append(f"{source}: {document.problem}")
            else:
                self._take_value(document.value, source)
        if not number:
            self.problems.append(f"{called}: there is nothing in it")

    def _take_value(self, value: Any, source: Source) -> None:
        if not isinstance(value, dict):
            self.problems.append(f"{source}: it is no object")
            return
        kind, api_version = value.get("kind"), value.get("apiVersion")
        if kind == _HEADER and api_version == own.API_VERSION:
            spec = value.get("spec")
            self._said.append(spec if isinstance(spec, dict) else {})
        elif isinstance(kind, str) and (kind == "List" or (kind.endswith("List") and "items" in value)):
            self._take_list(value, kind, source)
        else:
            try:
                self._put(orjson.dumps(value), kind if isinstance(kind, str) else "", source)
            except (orjson.JSONEncodeError, RecursionError) as error:
                self.problems.append(f"{source}: {error}")

    def _take_list(self, value: JsonObject, kind: str, source: Source) -> None:
        items = value.get("items")
        if not isinstance(items, list | None):
            self.problems.append(f"{source}: items: must be an array")
            return
        implied = {"apiVersion": value.get("apiVersion"), "kind": kind.removesuffix("List")} if kind != "List" else {}
        for number, item in enumerate(items or ()):
            typed = {**implied, **item} if isinstance(item, dict) else item
            self._take_value(typed, Source(source.file, source.line, source.document, number))

    def _put(self, line: bytes, kind: str, source: Source) -> None:
        if not line.isascii():
            try:
                line.decode()
            except UnicodeDecodeError as error:
                self.problems.append(f"{source}: it is no UTF-8: {error.reason}")
                return
        (self._first if kind == _DEFINITION else self._rest).append((line, source))


def _lines_of(data: bytes) -> list[bytes] | None:
    """All lines, where each is a JSON text: kubectl breaks its objects into many lines, YAML has some between them."""
    if not _is_text(next(_lines(data), b"")):
        return None
    lines = data.split(b"\n")
    return None if any(line.startswith(_BETWEEN) for line in lines) else lines


def _is_text(first: bytes) -> bool:
    """Whether a file whose first line is this one may have a JSON text a line."""
    if not first.startswith(b"{") or not first.rstrip().endswith(b"}"):
        return _PLAIN.match(first) is not None
    try:
        orjson.loads(first)
    except orjson.JSONDecodeError:
        return _PLAIN.match(first) is not None
    return True


def _lines(data: bytes) -> Iterator[bytes]:
    """Those with content, stripped."""
    start = 0
    while start < len(data):
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        line = data[start:end].strip()
        if line:
            yield line
        start = end + 1

"""Manifests: files, directories and standard input, read the way kubectl reads them.

An object needs no more here than a version, a kind and a name; `objects` says what the API server makes of it, and
`documents` what a file holds.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from kube32_sim.preview.documents import documents
from kube32_sim.preview.placements import JsonObject, PreviewError

EXTENSIONS = (".json", ".yaml", ".yml")
"""Of the files of a directory; a file named itself may be called anything."""

_STDIN = "-"
_STDIN_CALLED = "standard input"
_KUSTOMIZATION = "Kustomization"


@dataclass(frozen=True, slots=True)
class Manifest:
    """An object with apiVersion, kind and metadata, which has a name or a generateName.

    source: where it stands, `app.yaml, document 2` or `app.yaml, document 2, items[0]`.  namespace: its own, or else
    the default one; means nothing for kinds without namespaces.  warnings: about the text it was read from.
    """

    obj: JsonObject
    source: str
    namespace: str
    warnings: tuple[str, ...] = ()

    @property
    def api_version(self) -> str:
        return str(self.obj["apiVersion"])

    @property
    def group(self) -> str:
        return self.api_version.rpartition("/")[0]

    @property
    def version(self) -> str:
        return self.api_version.rpartition("/")[2]

    @property
    def kind(self) -> str:
        return str(self.obj["kind"])

    @property
    def name(self) -> str:
        metadata = self.obj["metadata"]
        return str(metadata.get("name") or metadata["generateName"])

    @property
    def title(self) -> str:
        """How messages name the object: `app.yaml, document 2 (Deployment web)`."""
        return f"{self.source} ({self.kind} {self.name})"


def read_manifests(
    paths: Sequence[str], default_namespace: str = "default", stdin: BinaryIO | None = None
) -> list[Manifest]:
    """The objects of files, in order; lists are taken apart, and documents without content left out.

    paths: files, directories (their *.json, *.yaml and *.yml by name, not those further down) and `-` for stdin.
    stdin: read in place of the process's own.  Raises PreviewError with a line for everything that is wrong.
    """
    reading = _Reading(default_namespace, stdin)
    for path in paths:
        reading.take_path(path)
    if reading.problems:
        raise PreviewError("\n".join(reading.problems))
    return reading.found


def manifests_of(values: Iterable[tuple[Any, str]], default_namespace: str = "default") -> list[Manifest]:
    """The objects of (value, source) pairs; the rest is as with `read_manifests`."""
    reading = _Reading(default_namespace, None)
    for value, source in values:
        reading.take_value(value, source)
    if reading.problems:
        raise PreviewError("\n".join(reading.problems))
    return reading.found


def _files(path: str) -> list[str]:
    """The files that a path stands for."""
    if path.startswith(("http://", "https://")):
        raise PreviewError(f"{path}: nothing is fetched; try curl -sSL {path} | kube32-sim preview -f -")
    if path == _STDIN or not os.path.isdir(path):
        return [path]
    try:
        with os.scandir(path) as entries:
            names = sorted(entry.name for entry in entries if entry.name.endswith(EXTENSIONS) and entry.is_file())
    except OSError as error:
        raise PreviewError(f"{path}: {error.strerror}") from None
    if not names:
        raise PreviewError(f"{path}: no manifests in this directory, none that end in {', '.join(EXTENSIONS)}")
    return [os.path.join(path, name) for name in names]


@dataclass(slots=True)
class _Reading:
    """What has been read so far, and what is wrong with it."""

    namespace: str
    stdin: BinaryIO | None
    stdin_read: bool = False
    found: list[Manifest] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def take_path(self, path: str) -> None:
        try:
            files = _files(path)
        except PreviewError as error:
            self.problems.append(str(error))
            return
        for file in files:
            try:
                data = self._data(file)
            except (OSError, ValueError) as error:  # a ValueError: NUL in a path
                called = _STDIN_CALLED if file == _STDIN else file
                self.problems.append(f"{called}: {getattr(error, 'strerror', None) or error}")
            else:
                self._take(_STDIN_CALLED if file == _STDIN else file, data)

    def _data(self, file: str) -> bytes:
        if file != _STDIN:
            with open(file, "rb") as opened:
                return opened.read()
        if self.stdin_read:
            raise ValueError("can be read only once")
        self.stdin_read = True
        if self.stdin is None and sys.stdin is None:
            raise PreviewError("standard input is closed")
        return (self.stdin or sys.stdin.buffer).read()

    def _take(self, called: str, data: bytes) -> None:
        for number, document in enumerate(documents(data), 1):
            source = f"{called}, document {number}"
            if document.problem:
                self.problems.append(f"{source}: {document.problem}")
            else:
                self.take_value(document.value, source, document.warnings)

    def take_value(self, value: Any, source: str, warnings: tuple[str, ...] = ()) -> None:
        """warnings: of the whole document; those of a list go with its first item."""
        wrong = list(_wrong(value))
        if wrong:
            self.problems += [f"{source}: {text}" for text in wrong]
        elif not _is_list(value):
            namespace = value["metadata"].get("namespace") or self.namespace
            self.found.append(Manifest(value, source, namespace, warnings))
        else:
            for number, item in enumerate(value.get("items") or ()):
                self.take_value(_typed(item, value), f"{source}, items[{number}]", () if number else warnings)


# objects


def _is_list(value: JsonObject) -> bool:
    """A List of anything, or the list of a kind such as PodList; other kinds may end that way too."""
    return bool(value["kind"] == "List" or (value["kind"].endswith("List") and "items" in value))


def _typed(item: Any, of: JsonObject) -> Any:
    """An item of a kind's list need not say its kind."""
    if not isinstance(item, dict) or "kind" in item or "apiVersion" in item or of["kind"] == "List":
        return item
    return {"apiVersion": of["apiVersion"], "kind": of["kind"].removesuffix("List"), **item}


def _wrong(value: Any) -> Iterator[str]:
    """Why a value is no object that could be in a cluster."""
    if not isinstance(value, dict):
        yield f"must be an object, not {_described(value)}"
        return
    unset = [name for name in ("apiVersion", "kind") if value.get(name) in (None, "")]
    yield from (f"{name} not set" for name in unset)
    texts = [name for name in ("apiVersion", "kind") if name not in unset and not isinstance(value[name], str)]
    yield from (f"{name} must be a string, not {_described(value[name])}" for name in texts)
    if unset or texts:
        return
    if value["apiVersion"].count("/") > 1:
        yield f"apiVersion: unexpected GroupVersion string: {value['apiVersion']}"
    if value["kind"] == _KUSTOMIZATION:
        yield "a Kustomization is no manifest; try kubectl kustomize DIRECTORY | kube32-sim preview -f -"
    elif _is_list(value):
        if not isinstance(value.get("items"), list | None):
            yield f"items must be an array, not {_described(value['items'])}"
    else:
        yield from _wrong_metadata(value.get("metadata"))


def _wrong_metadata(metadata: Any) -> Iterator[str]:
    if metadata is None:
        metadata = {}
    if not isinstance(metadata, dict):
        yield f"metadata must be an object, not {_described(metadata)}"
        return
    texts = ("name", "generateName", "namespace")
    wrong = [name for name in texts if not isinstance(metadata.get(name), str | None)]
    yield from (f"metadata.{name} must be a string, not {_described(metadata[name])}" for name in wrong)
    if not wrong and not metadata.get("name") and not metadata.get("generateName"):
        yield "metadata.name not set"


def _described(value: Any) -> str:
    from kube32_sim.api.decode.diagnose import describe

    if value is None:
        return "null"
    kind = describe(value)
    return f"an {kind}" if kind[0] in "ao" else f"a {kind}"

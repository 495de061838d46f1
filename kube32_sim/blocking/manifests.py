"""The objects that a caller means: one as a dict, YAML or JSON as text, a file, a directory, or several of these."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

JsonObject = dict[str, Any]
Manifests = Mapping[str, Any] | str | Path | Sequence[Mapping[str, Any] | str | Path]
"""A text with line breaks, or that begins with a brace, is YAML or JSON; any other text is a path."""


def objects(given: Manifests) -> Iterator[JsonObject]:
    """In order; Lists are taken apart.  ValueError says what is wrong, and where."""
    if isinstance(given, Mapping):
        yield from _items(dict(given))
    elif isinstance(given, str | Path):
        yield from _of_text(given) if _is_text(given) else _of_path(given)
    else:
        for one in given:
            yield from objects(one)


def _is_text(given: str | Path) -> bool:
    return isinstance(given, str) and ("\n" in given or given.lstrip().startswith("{"))


def _items(obj: JsonObject) -> Iterator[JsonObject]:
    if obj.get("kind") == "List":
        for item in obj.get("items") or ():
            yield from _items(dict(item))
        return
    for name in ("apiVersion", "kind"):
        if not isinstance(obj.get(name), str):
            raise ValueError(f"an object without {name} was given: {obj!r:.200}")
    yield obj


def _of_text(text: str | Path) -> Iterator[JsonObject]:
    from kube32_sim.preview.documents import documents

    for number, document in enumerate(documents(str(text).encode()), 1):
        if document.problem:
            raise ValueError(f"document {number}: {document.problem}")
        if not isinstance(document.value, dict):
            raise ValueError(f"document {number} is no object")
        yield from _items(document.value)


def _of_path(path: str | Path) -> Iterator[JsonObject]:
    from kube32_sim.preview.manifests import read_manifests
    from kube32_sim.preview.placements import PreviewError

    if str(path) == "-":
        raise ValueError("nothing is read from standard input: give the text itself, or a path")
    try:
        found = read_manifests([str(path)])
    except PreviewError as error:
        raise ValueError(str(error)) from None
    for manifest in found:
        yield manifest.obj

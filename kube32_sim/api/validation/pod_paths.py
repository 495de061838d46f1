"""Warnings about files of a volume that end up at one path, or one inside the other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

JsonObject = dict[str, Any]

_MOST_PATHS = 200
"""Of one volume that are looked at: each is compared with those before it, and more warnings help nobody."""


def overlapping_paths(volumes: Iterable[JsonObject]) -> list[str]:
    found: list[str] = []
    for volume in volumes:
        for kind in ("configMap", "secret", "downwardAPI"):
            source = volume.get(kind)
            if source and source.get("items"):
                found += _overlaps(_paths(source), f"{_head(volume)} ({_named(kind, source)}): overlapping paths")
        if projected := volume.get("projected"):
            found += _projected(projected.get("sources") or (), _head(volume))
    return found


def _head(volume: JsonObject) -> str:
    return f'volume "{volume.get("name", "")}"'


def _named(kind: str, source: JsonObject) -> str:
    if kind == "configMap":
        return f'ConfigMap "{source.get("name", "")}"'
    if kind == "secret":
        return f'Secret "{source.get("secretName") or source.get("name", "")}"'
    return "DownwardAPI" if kind == "downwardAPI" else "ServiceAccountToken"


def _paths(source: JsonObject) -> list[str]:
    return [item.get("path", "") for item in (source.get("items") or ())[:_MOST_PATHS]]


def _projected(sources: Iterable[JsonObject], head: str) -> list[str]:
    found: list[str] = []
    seen: set[str] = set()
    for source in sources:
        if not source:
            found.append(f"{head} (Projected) has no sources provided")
            continue
        kind = next(
            (kind for kind in ("configMap", "secret", "downwardAPI") if (source.get(kind) or {}).get("items")), ""
        )
        if not kind and "serviceAccountToken" not in source:
            continue
        kind = kind or "serviceAccountToken"
        paths = _paths(source[kind]) if kind != "serviceAccountToken" else [source[kind].get("path", "")]
        text = f"{head} (Projected {_named(kind, source[kind])}): overlapping paths"
        found += _overlaps(paths, text)
        found += _overlaps(sorted([*set(paths), *seen])[:_MOST_PATHS], text)
        seen.update(paths)
    return found


def _overlaps(paths: Sequence[str], text: str) -> list[str]:
    found: list[str] = []
    seen: list[str] = []
    for path in (each.rstrip("/") for each in paths):
        other = next((each for each in seen if _collide(each, path)), None)
        if other is not None:
            found.append(f'{text}: "{path}" with "{other}"')
        if path not in seen:
            seen.append(path)
    return found


def _collide(one: str, other: str) -> bool:
    if not one or not other:
        return False
    return one == other or one.startswith(f"{other}/") or other.startswith(f"{one}/")

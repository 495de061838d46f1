"""Warnings about files of a volume that end up at one path, or one inside the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

JsonObject = dict[str, Any]

_MOST_PATHS = 200
"""Of one volume that are looked at: each is compared with those before it, and more warnings help nobody."""
_LISTS = ("configMap", "secret", "downwardAPI")
_CERTIFICATE = (("certificateChainPath", "chain"), ("keyPath", "key"), ("credentialBundlePath", "credential bundle"))


def overlapping_paths(volumes: Iterable[JsonObject]) -> list[str]:
    found: list[str] = []
    for volume in volumes:
        for kind in _LISTS:
            source = volume.get(kind)
            if source and source.get("items"):
                files = ((path, "") for path in _paths(source))
                found += _overlaps(files, f"{_head(volume)} ({_named(kind, source)})", [])
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
    return "DownwardAPI"


def _paths(source: JsonObject) -> list[str]:
    return [item.get("path", "") for item in source.get("items") or ()]


def _projected(sources: Iterable[JsonObject], head: str) -> list[str]:
    found: list[str] = []
    seen: list[tuple[str, str]] = []
    for source in sources:
        if not source:
            found.append(f"{head} (Projected) has no sources provided")
        found += _overlaps(((path, f" ({name})") for path, name in _files(source)), f"{head} (Projected)", seen)
    return found


def _files(source: JsonObject) -> Iterator[tuple[str, str]]:
    """The paths of a projected source, each with what is named as its origin."""
    for kind in _LISTS:
        if (source.get(kind) or {}).get("items"):
            yield from ((path, _named(kind, source[kind])) for path in _paths(source[kind]))
            return
    if (token := source.get("serviceAccountToken")) is not None:
        yield token.get("path", ""), "ServiceAccountToken"
    elif (bundle := source.get("clusterTrustBundle")) is not None:
        yield bundle.get("path", ""), f'ClusterTrustBundle "{bundle.get("name") or bundle.get("signerName", "")}"'
    elif (certificate := source.get("podCertificate")) is not None:
        yield from ((certificate[key], f"PodCertificate {what}") for key, what in _CERTIFICATE if certificate.get(key))


def _overlaps(files: Iterable[tuple[str, str]], head: str, seen: list[tuple[str, str]]) -> list[str]:
    """One line for each pair of files, paths with what is shown behind them; `seen` takes them in."""
    found: list[str] = []
    for full, origin in islice(files, _MOST_PATHS - len(seen)):
        path = full.rstrip("/")
        found += [
            f'{head}: overlapping paths: "{path}"{origin} with "{other}"{its}'
            for other, its in seen
            if _collide(path, other)
        ]
        seen.append((path, origin))
    return found


def _collide(one: str, other: str) -> bool:
    if not one or not other:
        return False
    return one == other or one.startswith(f"{other}/") or other.startswith(f"{one}/")

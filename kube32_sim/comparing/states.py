"""A state of a cluster, read from a server or from a file of objects."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from kube32_sim.api import bodies, strictness
from kube32_sim.api.errors import ApiError
from kube32_sim.api.own import API_VERSION
from kube32_sim.clock import parse_time
from kube32_sim.options import CommandError
from kube32_sim.recording import audit
from kube32_sim.snapshot.files import STANDARD, content
from kube32_sim.snapshot.reading import Source, read
from kube32_sim.snapshot.saving import ATTEMPTS, Asking, Expired, Saving

JsonObject = dict[str, Any]

_CONFIG = re.compile(rb"""^\s*["']?kind["']?\s*:\s*["']?Config["']?\s*,?\s*$|"kind":\s*"Config\"""", re.MULTILINE)
_LOOKED_INTO = {
    (version, kind): bodies.expected(version.rpartition("/")[0], "v1", kind)
    for version, kind in (("v1", "Pod"), ("v1", "Node"), ("v1", "Event"), ("events.k8s.io/v1", "Event"))
}
_METADATA = bodies.expected("", "v1", "ConfigMap")
"""Of all other types only metadata is looked into, which is the same everywhere."""
_LOOKED_AT = 1 << 20
"""Bytes of a file in which it says whether it is a kubeconfig."""


class Key(NamedTuple):
    """Which object; group without version, for both sides may prefer another."""

    group: str
    kind: str
    namespace: str
    name: str


@dataclass(slots=True)
class State:
    """name: as it was asked for.  time: when it was so, seconds since 1970; None where that is not known.

    begun: when it branched off from another, where it is a fork that was named as one.
    """

    name: str
    time: float | None
    objects: dict[Key, JsonObject] = field(default_factory=dict)
    begun: float | None = None

    def of(self, kind: str, group: str = "") -> dict[Key, JsonObject]:
        return {key: obj for key, obj in self.objects.items() if key.kind == kind and key.group == group}

    def take(self, objects: Iterable[JsonObject]) -> None:
        for obj in objects:
            self.objects[key_of(obj)] = obj


def key_of(obj: JsonObject) -> Key:
    metadata = obj.get("metadata") or {}
    group = str(obj.get("apiVersion", "")).rpartition("/")[0]
    return Key(group, str(obj.get("kind", "")), metadata.get("namespace") or "", metadata.get("name") or "")


def is_kubeconfig(file: str) -> bool:
    """Whether a file names a server, and holds no objects.  Raises CommandError where it cannot be read."""
    try:
        with Path(file).expanduser().open("rb") as opened:
            return _CONFIG.search(opened.read(_LOOKED_AT)) is not None
    except OSError as error:
        raise CommandError(f"{file}: {error.strerror}") from None


def of_file(file: str) -> State:
    """What `snapshot save` has written, or kubectl prints.  Raises CommandError."""
    if file != STANDARD:
        content(file)  # says what is wrong with it before anything else does
    found = read([file])
    state = State(file, _time(file, found.time) if found.time else None)
    for line, source in zip(found.lines, found.sources, strict=True):
        obj = orjson.loads(line)
        _check(obj, source)
        state.take([obj])
    if not state.objects:
        raise CommandError(f"{file}: there are no objects in it")
    return state


def _time(file: str, text: str) -> float:
    try:
        return parse_time(text)
    except ValueError:
        raise CommandError(f"{file}: spec.time of the snapshot: {text!r} is no time as RFC 3339 has it") from None


def _check(obj: JsonObject, source: Source) -> None:
    """What is looked into must be as it is in a cluster.  Raises CommandError, which names the field."""
    version, kind = str(obj.get("apiVersion") or ""), str(obj.get("kind") or "")
    if version == audit.API_VERSION or (version, kind) == (API_VERSION, "Recording"):
        raise CommandError(f"{source}: it is a recording, which is no state: `kube32-sim replay` compares those")
    row, shown = _METADATA, {"metadata": obj.get("metadata")}
    if (version, kind) in _LOOKED_INTO:
        row, shown = _LOOKED_INTO[version, kind], obj
    try:
        body = orjson.dumps({**shown, "apiVersion": row.api_version, "kind": row.kind})
        checked, _ = bodies.decode_body(body, "json", row, strictness.IGNORE)
    except ApiError as error:
        raise CommandError(f"{source}: {error.message.partition(': ')[2] or error.message}") from None
    if not checked.get("metadata", {}).get("name"):
        raise CommandError(f"{source}: metadata.name: Required value")


async def of_server(name: str, client: Asking, progress: Callable[[int, int], None]) -> State:
    """As of one revision.  progress: told (types in all, types done).  Raises ApiError, Unreachable, CommandError."""
    for _ in range(ATTEMPTS):
        saving = Saving(client)
        try:
            saved, types, revision = await saving.begin()
            state = State(name, parse_time(saved.header["spec"]["time"]))
            for done, one in enumerate(types):
                progress(len(types), done)
                async for page in saving.objects(one, revision):
                    state.take(page)
            return state
        except Expired:
            continue
    raise CommandError(f"{name} forgets what it was faster than it can be read; try again when it is calm")

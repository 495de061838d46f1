"""Which objects are on one side only, which fields differ in the others, and what was told on either side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kube32_sim.comparing.placements import matched
from kube32_sim.comparing.states import Key, State

JsonObject = dict[str, Any]

_LEFT_OUT = frozenset((("coordination.k8s.io", "Lease"), ("", "Event"), ("events.k8s.io", "Event")))
"""Heartbeats, and what is counted by itself."""
_OF_WRITES = frozenset(("resourceVersion", "managedFields", "generation"))
"""Metadata that tell of writes, not of what an object is."""
_HERE = frozenset((("", "Endpoints"), ("discovery.k8s.io", "EndpointSlice"), ("", "Service")))
"""Types whose object default/kubernetes says where the server itself is."""
_BEATS = frozenset(("lastHeartbeatTime", "lastProbeTime", "observedGeneration"))
MOST_FIELDS = 20


@dataclass(slots=True)
class Kind:
    """Of one kind, by `namespace/name`.  changed: with the fields that differ, as paths."""

    added: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    changed: dict[str, list[str]] = field(default_factory=dict)


def kinds(one: State, other: State) -> dict[str, Kind]:
    """By `kind.group`, those of which anything differs."""
    found: dict[str, Kind] = {}
    for mine, theirs in _pairs(one, other):
        key = mine or theirs
        if key is None or _is_left_out(key):
            continue
        title = f"{key.kind}.{key.group}" if key.group else key.kind
        called = f"{key.namespace}/{key.name}" if key.namespace else key.name
        if theirs is None:
            found.setdefault(title, Kind()).removed.append(called)
        elif mine is None:
            found.setdefault(title, Kind()).added.append(called)
        elif fields := differing(_shown(one.objects[mine]), _shown(other.objects[theirs])):
            found.setdefault(title, Kind()).changed[called] = fields
    return {title: found[title] for title in sorted(found)}


def _pairs(one: State, other: State) -> Iterator[tuple[Key | None, Key | None]]:
    for key in sorted(one.objects.keys() | other.objects.keys()):
        if (key.group, key.kind) != ("", "Pod"):
            yield key if key in one.objects else None, key if key in other.objects else None
    yield from matched(one, other)


def _is_left_out(key: Key) -> bool:
    kind = key.group, key.kind
    return kind in _LEFT_OUT or (kind in _HERE and (key.namespace, key.name) == ("default", "kubernetes"))


def _shown(obj: JsonObject) -> JsonObject:
    """Without what tells of writes only."""
    metadata = {name: value for name, value in (obj.get("metadata") or {}).items() if name not in _OF_WRITES}
    return {**obj, "metadata": metadata, "apiVersion": ""}


def differing(one: Any, other: Any, path: str = "") -> list[str]:
    """Paths of the fields that differ, `spec.template.spec.containers[0].image`; no values: they may be secret."""
    found: list[str] = []
    for place in _walk(one, other, path):
        found.append(place)
        if len(found) > MOST_FIELDS:
            return [*found[:MOST_FIELDS], "…"]
    return found


def _walk(one: Any, other: Any, path: str) -> Iterator[str]:
    if isinstance(one, dict) and isinstance(other, dict):
        for name in sorted(one.keys() | other.keys()):
            if name not in _BEATS:
                yield from _walk(one.get(name), other.get(name), f"{path}.{name}" if path else name)
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for number, pair in enumerate(zip(one, other, strict=True)):
            yield from _walk(*pair, f"{path}[{number}]")
    elif one != other:
        yield path


def told(one: State, other: State) -> tuple[Counter[str], Counter[str]]:
    """How often what was told on one side only, by reason: (the first, the second)."""
    mine, theirs = _counts(one), _counts(other)
    return _more(mine, theirs), _more(theirs, mine)


def _counts(state: State) -> dict[tuple[str, str], int]:
    """By uid and reason."""
    found: dict[tuple[str, str], int] = {}
    for key, obj in state.objects.items():
        if key.kind == "Event":
            series = (obj.get("series") or {}).get("count")
            reason = str(obj.get("reason") or "")
            found[str(obj["metadata"].get("uid")), reason] = int(series or obj.get("count") or 1)
    return found


def _more(these: Mapping[tuple[str, str], int], those: Mapping[tuple[str, str], int]) -> Counter[str]:
    counted: Counter[str] = Counter()
    for event, count in these.items():
        if count > those.get(event, 0):
            counted[event[1]] += count - those.get(event, 0)
    return counted

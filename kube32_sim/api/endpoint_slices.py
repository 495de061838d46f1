"""EndpointSlices of a Service: which endpoint is in which slice, and the objects.  Pure.

As kube-controller-manager does it, a pod stays in the slice that it is in: who comes fills up a slice that has room,
who goes leaves a gap, and nothing is moved together again.  Where pods are is read from the slices before.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from kube32_sim.api.endpoints import (
    Entry,
    Ports,
    all_entries,
    families,
    grouped,
    has_endpoints,
    port_object,
    with_headless,
)
from kube32_sim.ids import ALPHABET

JsonObject = dict[str, Any]

MOST = 100
"""Endpoints in one EndpointSlice."""
SERVICE_LABEL = "kubernetes.io/service-name"
MANAGED_BY, MANAGER = "endpointslice.kubernetes.io/managed-by", "endpointslice-controller.k8s.io"


@dataclass(slots=True, eq=False)
class _Part:
    """One slice.  uids: of the pods that are in it already.  ports, members: what is to be in it."""

    name: str
    family: str
    uids: Sequence[str] = ()
    ports: Ports = ()
    members: list[Entry] = field(default_factory=list)


def compute_slices(
    service: JsonObject, pods: Iterable[JsonObject], before: Iterable[JsonObject] = ()
) -> list[JsonObject]:
    """The discovery.k8s.io/v1 EndpointSlices of a Service; none where it selects no pods."""
    return slices_of(service, all_entries(service, pods), before) if has_endpoints(service) else []


def slices_of(service: JsonObject, entries: Sequence[Entry], before: Iterable[JsonObject] = ()) -> list[JsonObject]:
    """The EndpointSlices of a Service that has_endpoints, made of its pods' entries; without pods one empty slice.

    before: its slices as they are.
    """
    known = [_known(obj) for obj in before if _made_for(obj) == service["metadata"]["uid"]]
    known.sort(key=lambda part: part.name)
    names = _names(service["metadata"], {part.name for part in known})
    made: list[JsonObject] = []
    for family in families(service):
        there = [part for part in known if part.family == family]
        parts = _laid_out(family, grouped(entries, family), there, names)
        made += [_object(service, part) for part in parts]
    return made


# who is where


def _made_for(obj: JsonObject) -> str:
    """The uid of the Service that a slice is of."""
    return next((owner["uid"] for owner in obj["metadata"].get("ownerReferences") or ()), "")


def _known(obj: JsonObject) -> _Part:
    uids = [endpoint["targetRef"]["uid"] for endpoint in obj.get("endpoints") or ()]
    return _Part(obj["metadata"]["name"], obj["addressType"], uids)


def _names(metadata: JsonObject, taken: set[str]) -> Iterator[str]:
    """Names for new slices: that of the first is the same whenever the Service has none."""
    number = 0
    while True:
        name = f"{metadata['name']}-{_suffix(metadata['uid'], number)}"
        if name not in taken:
            taken.add(name)
            yield name
        number += 1


def _suffix(uid: str, number: int) -> str:
    rest = zlib.crc32(f"{uid}/{number}".encode())
    letters = []
    for _ in range(5):
        rest, letter = divmod(rest, len(ALPHABET))
        letters.append(ALPHABET[letter])
    return "".join(letters)


def _laid_out(
    family: str, groups: dict[Ports, list[Entry]], there: Sequence[_Part], names: Iterator[str]
) -> list[_Part]:
    """The slices of one family.  groups: entries by their ports.  there: the slices before."""
    going_on, spare = _going_on(groups, there)
    made: list[_Part] = []
    for ports, entries in sorted(groups.items()):
        parts = going_on.get(ports, [])
        made += _filled(family, ports, entries, parts, spare, names)
    return made or [_another(family, spare, names)]


def _going_on(groups: dict[Ports, list[Entry]], there: Sequence[_Part]) -> tuple[dict[Ports, list[_Part]], list[_Part]]:
    """(slices by the ports that they go on with, slices in which nobody is left).

    It is those that most of its pods have now.
    """
    ports_of = {entry.uid: ports for ports, entries in groups.items() for entry in entries}
    going_on: dict[Ports, list[_Part]] = {}
    spare = []
    for part in there:
        now = Counter(ports_of[uid] for uid in part.uids if uid in ports_of)
        if not now:
            spare.append(part)
            continue
        most = min(now, key=lambda ports: (-now[ports], ports))
        going_on.setdefault(most, []).append(part)
    return going_on, spare


def _filled(
    family: str,
    ports: Ports,
    entries: list[Entry],
    parts: list[_Part],
    spare: list[_Part],
    names: Iterator[str],
) -> list[_Part]:
    """The slices of the pods that share these ports: where they are, then the fullest that have room, then more."""
    where = {uid: part for part in parts for uid in part.uids}
    loose = []
    for entry in entries:
        part = where.get(entry.uid)
        if part is None:
            loose.append(entry)
        else:
            part.members.append(entry)
    made = list(parts)
    for part in sorted(parts, key=lambda part: (-len(part.members), part.name)):
        room = MOST - len(part.members)
        part.members += loose[:room]
        loose = loose[room:]
    while loose:
        part = _another(family, spare, names)
        part.members, loose = loose[:MOST], loose[MOST:]
        made.append(part)
    for part in made:
        part.ports = ports
        part.members.sort(key=lambda entry: entry.order)
    return made


def _another(family: str, spare: list[_Part], names: Iterator[str]) -> _Part:
    """One of the slices that nobody is left in, or a new one."""
    return spare.pop(0) if spare else _Part(next(names), family)


# objects


def _object(service: JsonObject, part: _Part) -> JsonObject:
    metadata = service["metadata"]
    labels = {
        **metadata.get("labels", {}),
        MANAGED_BY: MANAGER,
        SERVICE_LABEL: metadata["name"],
    }
    owner = {"apiVersion": "v1", "kind": "Service", "name": metadata["name"], "uid": metadata["uid"]}
    return {
        "metadata": {
            "name": part.name,
            "generateName": f"{metadata['name']}-",
            "namespace": metadata["namespace"],
            "generation": 1,
            "labels": with_headless(service, labels),
            "ownerReferences": [{**owner, "controller": True, "blockOwnerDeletion": True}],
        },
        "addressType": part.family,
        "endpoints": [entry.endpoint for entry in part.members],
        "ports": [port_object(*port, in_slice=True) for port in part.ports],
    }

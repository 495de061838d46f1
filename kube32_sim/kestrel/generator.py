"""Workloads that are described by a few numbers: the nodes and pods of the bulk operations, and fingerprints.

The generator of pseudo-random numbers is part of the description: a workload is the same everywhere, for ever.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from kube32_sim.kestrel.models import NODE, ZONE, Labels, Node, PodSpec, Term, fit

_WORD = 2**64 - 1
_SEED_FACTOR, _SEED_STEP = 2862933555777941757, 3037000493
_FACTOR, _STEP = 6364136223846793005, 1442695040888963407


class InvalidParams(ValueError):
    """Parameters of a bulk operation that are none; the message names the field."""


@dataclass(frozen=True, slots=True)
class NodeParams:
    """count nodes `<prefix>-<i>` of cpu millicores and mem MiB, in turn in one of the zones."""

    prefix: str
    count: int
    zones: int
    cpu: int
    mem: int


@dataclass(frozen=True, slots=True)
class PodParams:
    """count pods `<prefix>-<i>`, drawn from seed: of so many groups, up to cpu millicores and mem MiB."""

    prefix: str
    count: int
    seed: int
    groups: int
    cpu: int
    mem: int
    priorities: tuple[int, ...]


def node_params(value: Any) -> NodeParams:
    _fields(value, {"count": 0, "zones": 1, "cpu": 1, "mem": 1})
    return NodeParams(**value)


def pod_params(value: Any) -> PodParams:
    _fields(value, {"count": 0, "seed": 0, "groups": 1, "cpu": 1, "mem": 1}, "priorities")
    priorities = value["priorities"]
    if type(priorities) is not list or not priorities or not all(type(one) is int for one in priorities):
        raise InvalidParams("priorities: not a list of at least one int")
    return PodParams(**{**value, "priorities": tuple(priorities)})


def _fields(value: Any, least: dict[str, int], *others: str) -> None:
    if type(value) is not dict or value.keys() != {"prefix", *least, *others}:
        raise InvalidParams(f"not an object of exactly {', '.join(('prefix', *least, *others))}")
    if type(value["prefix"]) is not str or not value["prefix"]:
        raise InvalidParams("prefix: not a non-empty string")
    for name, bound in least.items():
        if type(value[name]) is not int or value[name] < bound:
            raise InvalidParams(f"{name}: not an int of at least {bound}")


def nodes(params: NodeParams) -> Iterator[Node]:
    room = (params.cpu, params.mem)
    for index in range(params.count):
        yield Node(f"{params.prefix}-{index}", f"zone-{index % params.zones}", {}, (), room, room)


def pods(params: PodParams) -> Iterator[tuple[str, PodSpec]]:
    """(name, spec) of each pod.  Four draws a pod: its group, cpu, mem, and which of the priorities."""
    draw = Draws(params.seed).draw
    groups = GroupTerms(params.prefix)
    for index in range(params.count):
        labels, affinity, anti = groups.of(draw(params.groups))
        amounts = (1 + draw(params.cpu), 1 + draw(params.mem))
        priority = params.priorities[draw(len(params.priorities))]
        yield f"{params.prefix}-{index}", PodSpec(fit(amounts), priority, labels, affinity, anti)


class Draws:
    """A linear congruential generator of 64 bits, of which the upper 31 are used."""

    def __init__(self, seed: int) -> None:
        self._state = (seed * _SEED_FACTOR + _SEED_STEP) & _WORD

    def draw(self, below: int) -> int:
        self._state = (self._state * _FACTOR + _STEP) & _WORD
        return (self._state >> 33) % below


class GroupTerms:
    """What the pods of a group have in common: one label, and by the group's number no term or one about itself."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._made: dict[int, tuple[Labels, tuple[Term, ...], tuple[Term, ...]]] = {}

    def of(self, group: int) -> tuple[Labels, tuple[Term, ...], tuple[Term, ...]]:
        """(labels, affinity terms, anti-affinity terms)."""
        found = self._made.get(group)
        if found is None:
            own = (("app", f"{self._prefix}-g{group}"),)
            anti = {1: (Term(own, ZONE),), 2: (Term(own, NODE),)}.get(group % 4, ())
            affinity = (Term(own, ZONE),) if group % 4 == 3 else ()
            found = self._made[group] = (own, affinity, anti)
        return found


def fingerprint(values: Iterable[tuple[str, str]]) -> str:
    """Lower-case hex SHA-256 of a line `<pod>=<value>` for each (pod, value), in order."""
    digest = hashlib.sha256()
    for pod, value in values:
        digest.update(f"{pod}={value}\n".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()

"""The answer of a preview: where each pod would go, and what each node says of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from heapq import nsmallest
from typing import Any, Protocol

from kube32_sim.options import CommandError

JsonObject = dict[str, Any]


class PreviewError(CommandError):
    """What keeps a preview from being made; the message may have several lines, one a problem, each naming a field."""


@dataclass(frozen=True, slots=True)
class WantedPod:
    """A pod to be placed.

    obj: a Pod object with namespace and name.  owner: what it comes from, `Deployment/web`; "" for a pod of its own.
    source: the file and object it comes from, for messages.  volumes_from: where in the owner each of its volumes
    stands, where that is not simply the owner's template.
    """

    obj: JsonObject
    owner: str = ""
    source: str = ""
    volumes_from: Sequence[str] = ()

    @property
    def namespace(self) -> str:
        return str(self.obj["metadata"]["namespace"])

    @property
    def name(self) -> str:
        return str(self.obj["metadata"]["name"])


@dataclass(frozen=True, slots=True)
class ClusterState:
    """What a preview starts from: objects as the API gives them.

    warnings: what whoever made the state wants to be told.  replaced: pods that are not among `pods` any more, since
    wanted ones take their place.  namespaces: their names, None where they are not known.
    """

    nodes: Sequence[JsonObject]
    pods: Sequence[JsonObject]
    priority_classes: Sequence[JsonObject] = ()
    limit_ranges: Sequence[JsonObject] = ()
    warnings: Sequence[str] = ()
    replaced: Sequence[JsonObject] = ()
    namespaces: Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class Victim:
    """A pod that would be evicted.  pod: `namespace/name`.  node: where it would go then; "" where it stays pending."""

    pod: str
    priority: int
    node: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a node says of a pod.

    reason: of the first filter that fails; "" where it is feasible.  score, percentages: of a feasible node; the
    percentages are what would be left of the two scored resources, by their name.  detail: more about the reason (which
    taint, how much is free), may be "".
    """

    node: str
    reason: str = ""
    score: int | None = None
    percentages: tuple[tuple[str, int], ...] = ()
    detail: str = ""

    @property
    def feasible(self) -> bool:
        return not self.reason


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a pod would go.

    node: "" where it fits nowhere.  score: of that node; None for a node that has been made free by evictions.
    message: in kube-scheduler's words.  tied: the nodes of the same best score, sorted, where the name decided (two or
    more), else empty.  victims: in the order in which they would be evicted.  verdicts: of all nodes, by name, before
    any eviction; empty unless details were asked for.  omitted: how many more there were, where the best were asked for
    only.  note: what is to be known beside the message, or "".
    """

    pod: WantedPod
    node: str
    score: int | None
    message: str
    tied: tuple[str, ...] = ()
    victims: tuple[Victim, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    note: str = ""
    omitted: int = 0


def best(placement: Placement, limit: int) -> Placement:
    """The same with so many verdicts at most, the best first: the chosen node, then by score and name; 0: with all."""
    if not 0 < limit < len(placement.verdicts):
        return placement

    def rank(verdict: Verdict) -> tuple[bool, bool, int, str]:
        return verdict.node != placement.node, not verdict.feasible, -(verdict.score or 0), verdict.node

    kept = nsmallest(limit, placement.verdicts, key=rank)
    return replace(placement, verdicts=tuple(kept), omitted=len(placement.verdicts) - limit)


def shared(tied: Sequence[str]) -> tuple[str, ...]:
    """`Placement.tied` of the nodes of a score: one alone ties with nobody."""
    return tuple(tied) if len(tied) > 1 else ()


class Placer(Protocol):
    """The rules of a profile, at work on a cluster's state.  Each pod placed counts for the next."""

    profile: str

    @property
    def warnings(self) -> Sequence[str]:
        """What is to be known beside the placements; asked for after the last one."""

    def place(self, pod: WantedPod, *, details: bool) -> Placement: ...

    def in_the_end(self, placements: Sequence[Placement]) -> Sequence[Placement]:
        """All placements again, as they are when the last pod has been placed: earlier ones may have been evicted."""

"""What Kestrel speaks of: nodes, pods, and the parts of what a pod asks for.

Plain records.  `specs` makes them from specs, the simulator's scheduler and the preview from Kubernetes objects.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from kube32_sim.kestrel.affinity import Relations

Amounts = tuple[int, ...]
"""One number for each of a profile's fitted resources, in its order."""
Labels = tuple[tuple[str, str], ...]
"""Key-value pairs, sorted: what labels have to contain, or labels as a key of dicts."""

NODE, ZONE = "node", "zone"
TOPOLOGIES = (NODE, ZONE)


class Taint(NamedTuple):
    key: str
    value: str
    effect: str


class Toleration(NamedTuple):
    """operator: Equal or Exists.  effect: "" for every effect."""

    key: str
    operator: str
    value: str
    effect: str


class Term(NamedTuple):
    """An affinity or anti-affinity term: the pods whose labels contain `match`, in the same node or zone."""

    match: Labels
    topology: str


class Check(NamedTuple):
    """place: of a fitted resource.  least: what must be free of it.  reason: what a node lacks that has less."""

    place: int
    least: int
    reason: str


class Request(NamedTuple):
    """What a pod needs of a node by itself; equal requests are answered alike.

    amounts: what it takes of each fitted resource.  checks: in the order of the filters, only of what it does ask for.
    node_name: the only node that will do, if any.
    """

    amounts: Amounts
    checks: tuple[Check, ...]
    selector: Labels = ()
    tolerations: tuple[Toleration, ...] = ()
    node_name: str = ""


def fit(amounts: Amounts, selector: Labels = (), tolerations: tuple[Toleration, ...] = ()) -> Request:
    """The request of a pod of the profile `kestrel` for (cpu, mem): both have to fit."""
    cpu, mem = amounts
    checks = (Check(0, cpu, "Insufficient cpu"), Check(1, mem, "Insufficient memory"))
    return Request(amounts, checks, selector, tolerations)


@dataclass(slots=True)
class Node:
    """capacity: what percentages are of.  free: what requests have to fit into, less what pods take already.

    barred: why no pod may be placed here at all, or "".
    """

    name: str
    zone: str
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    capacity: Amounts
    free: Amounts
    barred: str = ""


@dataclass(frozen=True, slots=True)
class PodSpec:
    """preempts: whether it may evict others where it fits nowhere."""

    request: Request
    priority: int = 0
    labels: Labels = ()
    affinity_terms: tuple[Term, ...] = ()
    anti_terms: tuple[Term, ...] = ()
    preempts: bool = True


@dataclass(slots=True, eq=False)
class Pod:
    """A pod that a cluster knows: bound where it has a node, else pending.

    relations: what its labels and terms mean among the cluster's pods.  seq: order of first binds; 0 before the first.
    """

    name: str
    spec: PodSpec
    relations: Relations
    seq: int = 0
    node: Node | None = None


class Cost(NamedTuple):
    """Of preempting on a node; the smallest is the best.  priority: of the dearest victim.  victims: how many."""

    priority: int
    victims: int
    node: str


def cheapest_first(pod: Pod) -> tuple[int, int]:
    """Order in which preemption removes pods: lowest priority first, of those the newest."""
    return pod.spec.priority, -pod.seq


def dearest_first(pod: Pod) -> tuple[int, int]:
    """Order in which pods get their place back or a new one: highest priority first, of those the oldest."""
    return -pod.spec.priority, pod.seq


def eviction_order(pod: Pod) -> tuple[int, int]:
    """Order in which victims go: lowest priority first, of those the oldest."""
    return pod.spec.priority, pod.seq

"""The preview by the profile `kube32`: the simulator's own scheduler, asked about pods that nobody stores.

The picture of the cluster, what a pod asks for, filters, score and tie-break are the scheduler's own objects, so the
two cannot disagree.  A pod that has been placed counts as the scheduler counts one that it has just bound.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from kube32_controllers.scheduler_cache import waits_for_node
from kube32_controllers.scheduler_figures import pod_request

from kube32_sim.api import quantity
from kube32_sim.kestrel.filters import evaluate, percentages
from kube32_sim.kestrel.models import Node, Request
from kube32_sim.kestrel.nodes import NodeTable
from kube32_sim.kestrel.profiles import KUBE32
from kube32_sim.preview.boards import Firewalls, at_rest, cache_of
from kube32_sim.preview.details import about_waiting, detail
from kube32_sim.preview.placements import ClusterState, Placement, Verdict, WantedPod, shared
from kube32_sim.preview.savepoint import Savepoint
from kube32_sim.translation.reports import reports_free

JsonObject = dict[str, Any]

BYTES = frozenset(("memory", "esp32.io/psram"))
"""Resources that are shown with binary suffixes."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A scheduler's picture that may be changed, the boards behind it, and what is to be known of both."""

    savepoint: Savepoint
    firewalls: Firewalls
    warnings: Sequence[str] = ()


def picture_of(state: ClusterState) -> Picture:
    """Made anew of the objects of a state."""
    state = at_rest(state, KUBE32.name)
    cache = cache_of(state.nodes, state.pods)
    warnings = tuple(warnings_about(state.nodes, sorted(cache.waiting)))
    return Picture(Savepoint(cache), Firewalls.of_state(state), warnings)


class Kube32Placer:
    """Each pod placed counts as one that was bound after everything that was read.

    picture: what the pods are placed on; made of the state unless somebody has one.
    """

    profile = KUBE32.name

    def __init__(self, state: ClusterState, picture: Picture | None = None) -> None:
        self._picture = picture if picture is not None else picture_of(state)
        self._cache = self._picture.savepoint.cache
        self._filters = Filters(self._cache.table)
        self.warnings: Sequence[str] = self._picture.warnings

    def place(self, pod: WantedPod, *, details: bool) -> Placement:
        left_alone = why_left_alone(pod.obj)
        request = pod_request(pod.obj["spec"])
        if left_alone:
            node = pod.obj["spec"].get("nodeName", "")
            if node and node not in self._cache.table.nodes:
                return Placement(pod, "", None, f"spec.nodeName is set, and there is no node {node}")
            return self._placed(Placement(pod, node, None, left_alone), request)
        verdicts = self._filters.verdicts(request) if details else ()
        decision = self._cache.decide(request)
        if decision.node is None:
            return Placement(pod, "", None, decision.message, verdicts=verdicts)
        tied = self._cache.chooser.tied(request, decision.score)
        message = f"Successfully assigned {pod.namespace}/{pod.name} to {decision.node}"
        placement = Placement(pod, decision.node, decision.score, message, shared(tied), verdicts=verdicts)
        return self._placed(placement, request)

    def _placed(self, placement: Placement, request: Request) -> Placement:
        """The same with what the board says to it; from now on the pod counts."""
        if not placement.node:
            return placement
        self._picture.savepoint.take(placement.node, request.amounts)
        refusal = self._picture.firewalls.admit(placement.pod.obj, placement.node)
        return replace(placement, note=refusal) if refusal else placement

    def in_the_end(self, placements: Sequence[Placement]) -> Sequence[Placement]:
        """Pods stay where they are: nothing in this profile moves them."""
        return placements


class Filters:
    """What each node says of a request by itself.  Of the last request it is kept: equal pods follow each other."""

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        self._request: Request | None = None
        self._position = 0
        self._found: dict[str, Verdict] = {}
        self._alike: dict[Hashable, Verdict] = {}

    def verdicts(self, request: Request) -> tuple[Verdict, ...]:
        """Of all nodes, by name.  Those that have not changed are the same objects as before."""
        table = self._table
        changed = table.changed_since(self._position) if request == self._request else None
        if changed is None:
            self._found, self._alike, changed = {}, {}, sorted(table.nodes)
        for name in changed:
            self._found[name] = self._verdict(request, table.nodes[name])
        self._request, self._position = request, table.position
        return tuple(self._found.values())

    def _verdict(self, request: Request, node: Node) -> Verdict:
        """Most boards are in the state of some other: each state is looked at once."""
        labels = tuple(node.labels.get(key) for key, _ in request.selector)
        state = (node.barred, node.capacity, node.free, labels, request.node_name in ("", node.name))
        alike = self._alike.get(state)
        if alike is None:
            alike = self._alike[state] = verdict(request, node)
            return alike
        return Verdict(node.name, alike.reason, alike.score, alike.percentages, alike.detail)


def warnings_about(nodes: Sequence[JsonObject], waiting: Sequence[str]) -> Iterator[str]:
    """waiting: the pods that have no node."""
    if nodes and not any(map(reports_free, nodes)):
        yield "no node is a board: cpu, taints and affinity do not count in this profile; they do in --profile kestrel"
    yield from about_waiting(waiting)


def why_left_alone(pod: JsonObject) -> str:
    """Why the scheduler does not look for a node for a new pod, or "" (`waits_for_node`)."""
    if waits_for_node(pod):
        return ""
    spec = pod["spec"]
    if spec.get("nodeName"):
        return "spec.nodeName is set: the scheduler is not asked"
    if spec.get("schedulingGates"):
        return "Scheduling is blocked due to non-empty scheduling gates"
    return f"left to the scheduler {spec.get('schedulerName', '')!r} (spec.schedulerName)"


def verdict(request: Request, node: Node) -> Verdict:
    value = evaluate(KUBE32, request, node)
    if isinstance(value, str):
        return Verdict(node.name, value, detail=detail(value, request, node, _shown))
    left = zip(KUBE32.scored, percentages(KUBE32, request, node), strict=True)
    return Verdict(node.name, score=value, percentages=tuple(left))


@lru_cache(maxsize=4096)
def _shown(place: int, amount: int) -> str:
    form = quantity.BINARY_SI if KUBE32.fitted[place] in BYTES else quantity.DECIMAL_SI
    return quantity.from_nanos(amount * quantity.NANO, form).text

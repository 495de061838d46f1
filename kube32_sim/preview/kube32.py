"""The preview by the profile `kube32`: the simulator's own scheduler, asked about pods that nobody stores.

The picture of the cluster, what a pod asks for, filters, score and tie-break are the scheduler's own objects, so the
two cannot disagree.  A pod that has been placed counts as the scheduler counts one that it has just bound.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from kube32_controllers.scheduler_cache import waits_for_node
from kube32_controllers.scheduler_figures import pod_request

from kube32_sim.api import quantity
from kube32_sim.kestrel.filters import evaluate, percentages
from kube32_sim.kestrel.models import Node, Request
from kube32_sim.kestrel.profiles import KUBE32
from kube32_sim.preview.boards import Firewalls, at_rest, cache_of, revision_of
from kube32_sim.preview.details import about_waiting, detail
from kube32_sim.preview.placements import ClusterState, Placement, Verdict, WantedPod, shared
from kube32_sim.translation.reports import reports_free

JsonObject = dict[str, Any]

BYTES = frozenset(("memory", "esp32.io/psram"))
"""Resources that are shown with binary suffixes."""


class Kube32Placer:
    """Each pod placed takes a revision later than everything that was read, as if it had been created then."""

    profile = KUBE32.name

    def __init__(self, state: ClusterState) -> None:
        state = at_rest(state, self.profile)
        self._cache = cache_of(state.nodes, state.pods)
        self._firewalls = Firewalls(state)
        self._revision = max(map(revision_of, (*state.nodes, *state.pods)), default=0)
        self.warnings: Sequence[str] = tuple(starting_warnings(state, sorted(self._cache.waiting)))

    def place(self, pod: WantedPod, *, details: bool) -> Placement:
        left_alone = why_left_alone(pod.obj)
        if left_alone:
            node = pod.obj["spec"].get("nodeName", "")
            if node and node not in self._cache.table.nodes:
                return Placement(pod, "", None, f"spec.nodeName is set, and there is no node {node}")
            return self._placed(Placement(pod, pod.obj["spec"].get("nodeName", ""), None, left_alone))
        request = pod_request(pod.obj["spec"])
        verdicts = self._verdicts(request) if details else ()
        decision = self._cache.decide(request)
        if decision.node is None:
            return Placement(pod, "", None, decision.message, verdicts=verdicts)
        tied = self._cache.chooser.tied(request, decision.score)
        message = f"Successfully assigned {pod.namespace}/{pod.name} to {decision.node}"
        return self._placed(Placement(pod, decision.node, decision.score, message, shared(tied), verdicts=verdicts))

    def _placed(self, placement: Placement) -> Placement:
        """The same with what the board says to it; from now on the pod counts."""
        obj, node = placement.pod.obj, placement.node
        if not node:
            return placement
        self._bind(obj, node)
        refusal = self._firewalls.admit(obj, node)
        return replace(placement, note=refusal) if refusal else placement

    def in_the_end(self, placements: Sequence[Placement]) -> Sequence[Placement]:
        """Pods stay where they are: nothing in this profile moves them."""
        return placements

    def _bind(self, obj: JsonObject, node: str) -> None:
        self._revision += 1
        bound = {**obj, "spec": {**obj["spec"], "nodeName": node}, "status": {"phase": "Pending"}}
        bound["metadata"] = {**obj["metadata"], "uid": f"preview-{self._revision}"}
        bound["metadata"]["name"] += f" {self._revision}"  # a name that no stored pod can have
        self._cache.put_pod(bound, self._revision)

    def _verdicts(self, request: Request) -> tuple[Verdict, ...]:
        nodes = self._cache.table.nodes
        return tuple(verdict(request, nodes[name]) for name in sorted(nodes))


def starting_warnings(state: ClusterState, waiting: Sequence[str]) -> Iterator[str]:
    """What is to be known of a state before anything is placed.  waiting: its pods without a node."""
    if state.nodes and not any(map(reports_free, state.nodes)):
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


def _shown(place: int, amount: int) -> str:
    form = quantity.BINARY_SI if KUBE32.fitted[place] in BYTES else quantity.DECIMAL_SI
    return quantity.from_nanos(amount * quantity.NANO, form).text

"""The preview by the profile `kube32`: the simulator's own scheduler, asked about pods that nobody stores.

The picture of the cluster, what a pod asks for, filters, score and tie-break are the scheduler's own objects, so the
two cannot disagree.  A pod that has been placed counts as the scheduler counts one that it has just bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from kube32_controllers.scheduler_cache import SCHEDULER_NAMES, SchedulerCache, key_of
from kube32_controllers.scheduler_figures import node_figures, pod_request

from kube32_sim.api import quantity
from kube32_sim.kestrel.filters import evaluate
from kube32_sim.kestrel.models import Amounts, Node, Request
from kube32_sim.kestrel.profiles import KUBE32
from kube32_sim.kestrel.score import percent
from kube32_sim.preview.placements import ClusterState, Placement, Verdict, WantedPod, shared

JsonObject = dict[str, Any]

BYTES = frozenset(("memory", "esp32.io/psram"))
"""Resources that are shown with binary suffixes."""


def without_replaced(state: ClusterState) -> ClusterState:
    """The state as its nodes will report it when the replaced pods have gone: what those take is free again.

    Nodes tell what they measure as free.  A pod that a report does not include yet is not in it, and takes nothing.
    """
    cache = _cache_of(state.nodes, (*state.pods, *state.replaced))
    freed: dict[str, list[Amounts]] = {}
    for pod in state.replaced:
        if cache.is_reported(key_of(pod)):
            freed.setdefault(pod["spec"]["nodeName"], []).append(pod_request(pod["spec"]).amounts)
    nodes = [_with_more(node, freed.get(node["metadata"]["name"], ())) for node in state.nodes]
    return replace(state, nodes=nodes)


def _with_more(node: JsonObject, freed: Sequence[Amounts]) -> JsonObject:
    if not freed:
        return node
    total = [sum(amounts) for amounts in zip(node_figures(node).free, *freed, strict=True)]
    changed = zip(KUBE32.fitted, node_figures(node).free, total, strict=True)
    more = {name: str(amount) for name, before, amount in changed if amount != before}
    status = node["status"]
    allocatable = {**(status.get("allocatable") or status.get("capacity") or {}), **more}
    return {**node, "status": {**status, "allocatable": allocatable}}


def _cache_of(nodes: Iterable[JsonObject], pods: Iterable[JsonObject]) -> SchedulerCache:
    cache = SchedulerCache()
    for node in nodes:
        cache.put_node(node, revision_of(node))
    for pod in pods:
        cache.put_pod(pod, revision_of(pod))
    return cache


class Kube32Placer:
    """Each pod placed takes a revision later than everything that was read, as if it had been created then."""

    profile = KUBE32.name

    def __init__(self, state: ClusterState) -> None:
        self.warnings: Sequence[str] = ()
        self._cache = _cache_of(state.nodes, state.pods)
        self._revision = max(map(revision_of, (*state.nodes, *state.pods)), default=0)

    def place(self, pod: WantedPod, *, details: bool) -> Placement:
        left_alone = why_left_alone(pod.obj)
        if left_alone:
            return Placement(pod, pod.obj["spec"].get("nodeName", ""), None, left_alone)
        request = pod_request(pod.obj["spec"])
        verdicts = self._verdicts(request) if details else ()
        decision = self._cache.decide(request)
        if decision.node is None:
            return Placement(pod, "", None, decision.message, verdicts=verdicts)
        tied = self._cache.chooser.tied(request, decision.score)
        self._bind(pod.obj, decision.node)
        message = f"Successfully assigned {pod.namespace}/{pod.name} to {decision.node}"
        return Placement(pod, decision.node, decision.score, message, shared(tied), verdicts=verdicts)

    def _bind(self, obj: JsonObject, node: str) -> None:
        self._revision += 1
        bound = {**obj, "spec": {**obj["spec"], "nodeName": node}, "status": {"phase": "Pending"}}
        bound["metadata"] = {**obj["metadata"], "uid": f"preview-{self._revision}"}
        bound["metadata"]["name"] += f" {self._revision}"  # a name that no stored pod can have
        self._cache.put_pod(bound, self._revision)

    def _verdicts(self, request: Request) -> tuple[Verdict, ...]:
        nodes = self._cache.table.nodes
        return tuple(verdict(request, nodes[name]) for name in sorted(nodes))


def revision_of(obj: JsonObject) -> int:
    """An object's place in the order of writes; 0 for one from a file that does not tell."""
    version = str(obj["metadata"].get("resourceVersion") or "")
    return int(version) if version.isascii() and version.isdigit() else 0


def why_left_alone(pod: JsonObject) -> str:
    """Why the scheduler does not look for a node for a new pod, or ""."""
    spec = pod["spec"]
    if spec.get("nodeName"):
        return "spec.nodeName is set: the scheduler is not asked"
    if spec.get("schedulingGates"):
        return "Scheduling is blocked due to non-empty scheduling gates"
    if spec.get("schedulerName", "") not in SCHEDULER_NAMES:
        return f"left to the scheduler {spec['schedulerName']!r} (spec.schedulerName)"
    return ""


def verdict(request: Request, node: Node) -> Verdict:
    value = evaluate(KUBE32, request, node)
    if isinstance(value, str):
        return Verdict(node.name, value, detail=_detail(value, request, node))
    left = ((name, _left(request, node, place)) for name, place in zip(KUBE32.scored, PLACES, strict=True))
    return Verdict(node.name, score=value, percentages=tuple(left))


PLACES = KUBE32.scored_places


def _left(request: Request, node: Node, place: int) -> int:
    return percent(node.free[place] - request.amounts[place], node.capacity[place])


def _detail(reason: str, request: Request, node: Node) -> str:
    """What is asked for and what is there, of the resource that is too little."""
    for place, least, name in request.checks:
        if name == reason:
            resource = KUBE32.fitted[place]
            return f"{_amount(resource, least)} asked, {_amount(resource, node.free[place])} free"
    return ""


def _amount(resource: str, value: int) -> str:
    form = quantity.BINARY_SI if resource in BYTES else quantity.DECIMAL_SI
    return quantity.from_nanos(value * quantity.NANO, form).text

"""What boards do that the scheduler only learns of: they report what they measure as free, and they refuse pods.

Their own arithmetic (`kubelet.claims`) is used in both directions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from kube32_controllers.scheduler_cache import SchedulerCache, is_unsettled
from kube32_controllers.scheduler_figures import node_figures

from kube32_sim.api.pod_state import finished
from kube32_sim.kestrel.profiles import KUBE32
from kube32_sim.preview.placements import ClusterState, JsonObject
from kube32_sim.version import PROVIDER

if TYPE_CHECKING:
    from kube32_sim.api.requests import Amounts
    from kube32_sim.kubelet.boards import Profile

BOARD_LABEL = "esp32.io/board"


def revision_of(obj: JsonObject) -> int:
    """An object's place in the order of writes; 0 for one from a file that does not tell."""
    version = str(obj["metadata"].get("resourceVersion") or "")
    return int(version) if version.isascii() and version.isdigit() else 0


def cache_of(nodes: Iterable[JsonObject], pods: Iterable[JsonObject]) -> SchedulerCache:
    """The scheduler's picture of these nodes and pods."""
    made = SchedulerCache()
    for node in nodes:
        made.put_node(node, revision_of(node))
    for pod in pods:
        made.put_pod(pod, revision_of(pod))
    return made


def profile_of(node: JsonObject) -> str:
    """The name of a board's profile, or of that of an ordinary node that is simulated; "" of any other."""
    return str((node["metadata"].get("labels") or {}).get(BOARD_LABEL, "")) or _simulated(node)


def _simulated(node: JsonObject) -> str:
    """What the simulator calls the profile of a node of its own; a cluster's nodes have other providers."""
    provider = str((node.get("spec") or {}).get("providerID") or "")
    return provider.removeprefix(PROVIDER).partition("/")[0] if provider.startswith(PROVIDER) else ""


def reports_free(node: JsonObject) -> bool:
    """Whether a node's allocatable is what its kubelet measures as free, as kube32's do; others do not count pods."""
    if _simulated(node):
        return True
    status = node.get("status") or {}
    named = (*(status.get("capacity") or ()), *(status.get("allocatable") or ()))
    return any(name.startswith("esp32.io/") for name in named)


def at_rest(state: ClusterState, profile: str) -> ClusterState:
    """The state with what boards report as free put in the terms of a profile.

    To kube32's scheduler the report is what counts, so that replaced pods have to leave it; Kestrel counts pods itself.
    """
    return _relieved(state, state.replaced if profile == KUBE32.name else [*state.pods, *state.replaced])


def _relieved(state: ClusterState, pods: Iterable[JsonObject]) -> ClusterState:
    """The state as its boards will report it, a moment later, when these pods have gone: what they take is free again.

    A pod that does not run yet takes nothing from a report.
    """
    latest = max(map(revision_of, (*state.nodes, *state.pods)), default=0)
    return replace(state, nodes=relieved_nodes(state.nodes, pods, latest))


def relieved_nodes(nodes: Iterable[JsonObject], pods: Iterable[JsonObject], revision: int = 0) -> list[JsonObject]:
    """revision: of the reports that say so."""
    freed = reported_by_node(pods)
    return [
        reporting_anew(node, freed[name], revision)
        if (name := node["metadata"]["name"]) in freed and reports_free(node)
        else node
        for node in nodes
    ]


def reported_by_node(pods: Iterable[JsonObject]) -> dict[str, list[JsonObject]]:
    """Of these pods those that a report may include, by their nodes."""
    found: dict[str, list[JsonObject]] = {}
    for pod in pods:
        node = pod["spec"].get("nodeName", "")
        if node and not finished(pod) and not is_unsettled(pod.get("status") or {}):
            found.setdefault(node, []).append(pod)
    return found


def reporting_anew(node: JsonObject, gone: Iterable[JsonObject], revision: int) -> JsonObject:
    """A node as its board will report it when these pods have gone, in a write of that revision."""
    from kube32_sim.kubelet.claims import pod_requests, usage

    freed = usage(map(pod_requests, gone))
    before = zip(KUBE32.fitted, node_figures(node).free, strict=True)
    more = {name: str(free + freed[name]) for name, free in before if freed.get(name)}
    status = node["status"]
    allocatable = {**(status.get("allocatable") or status.get("capacity") or {}), **more}
    metadata = {**node["metadata"], "resourceVersion": str(revision)}
    return {**node, "metadata": metadata, "status": {**status, "allocatable": allocatable}}


class Firewalls:
    """The capability firewalls of the boards: what they would not run though the scheduler binds it to them.

    node_of: the Node object of a name, if any.  pods_on: the pods of a node that are there already.
    """

    def __init__(
        self, node_of: Callable[[str], JsonObject | None], pods_on: Callable[[str], Iterable[JsonObject]]
    ) -> None:
        self._node_of = node_of
        self._pods_on = pods_on
        self._boards: dict[str, Profile | None] = {}
        self._running: dict[str, list[Amounts]] = {}

    @classmethod
    def of_state(cls, state: ClusterState) -> Firewalls:
        nodes = {node["metadata"]["name"]: node for node in state.nodes}
        pods: dict[str, list[JsonObject]] = {}
        for pod in state.pods:
            pods.setdefault(pod["spec"].get("nodeName", ""), []).append(pod)
        return cls(nodes.get, lambda name: pods.get(name, ()))

    def _board(self, name: str) -> Profile | None:
        """What a node's board is like; None of a node that is no board that is known."""
        if name not in self._boards:
            from kube32_sim.kubelet.claims import pod_requests

            node = self._node_of(name)
            profile = profile_of(node) if node is not None else ""
            board = self._boards[name] = _profiles().get(profile) if profile else None
            if board is not None:
                self._running[name] = [pod_requests(pod) for pod in self._pods_on(name) if not finished(pod)]
        return self._boards[name]

    def admit(self, pod: JsonObject, node: str) -> str:
        """Why the board would refuse a pod that comes to it now, as a pod's reason and message say; "" where it runs.

        One that runs takes its share.  Of a node that is no board that is known nothing is said.
        """
        profile = self._board(node)
        if profile is None:
            return ""
        from kube32_sim.kubelet.claims import admit, pod_requests

        refused = admit(pod, profile, self._running[node])
        if refused is None:
            self._running[node].append(pod_requests(pod))
            return ""
        return f"{node} refuses it: {refused.reason}"


@cache
def _profiles() -> dict[str, Profile]:
    from kube32_sim.kubelet.boards import profiles

    return profiles()

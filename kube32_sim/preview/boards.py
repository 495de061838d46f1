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
from kube32_sim.translation.reports import reports_free, simulated

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
    return str((node["metadata"].get("labels") or {}).get(BOARD_LABEL, "")) or simulated(node)


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
        self._counted: dict[str, Amounts] = {}
        self._naming: dict[str, list[Amounts]] = {}

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
            node = self._node_of(name)
            profile = profile_of(node) if node is not None else ""
            board = self._boards[name] = _profiles().get(profile) if profile else None
            for pod in self._pods_on(name) if board is not None else ():
                if not finished(pod):
                    self.add(pod, name)
        return self._boards[name]

    def add(self, pod: JsonObject, node: str) -> None:
        """A pod runs on a node from now on, whatever the board says of it."""
        self._change(pod, node, 1)

    def remove(self, pod: JsonObject, node: str) -> None:
        """The opposite of `add`."""
        self._change(pod, node, -1)

    def _change(self, pod: JsonObject, node: str, by: int) -> None:
        """Pods that name no single pin or bus count together: a board may have many, and each asks of all."""
        from kube32_sim.kubelet.claims import named_unit, pod_requests

        if self._board(node) is None:
            return
        asked = pod_requests(pod)
        if any(named_unit(name) for name in asked):
            naming = self._naming.setdefault(node, [])
            naming.append(asked) if by > 0 else naming.remove(asked)
            return
        counted = self._counted.setdefault(node, {})
        for name, amount in asked.items():
            counted[name] = counted.get(name, 0) + by * amount

    def refusal(self, pod: JsonObject, node: str) -> str:
        """Why the board would refuse a pod that comes to it now, as a pod's reason and message say; "" where it runs.

        Of a node that is no board that is known nothing is said.
        """
        profile = self._board(node)
        if profile is None:
            return ""
        from kube32_sim.kubelet.claims import admit

        refused = admit(pod, profile, (self._counted.get(node, {}), *self._naming.get(node, ())))
        return "" if refused is None else f"{node} refuses it: {refused.reason}"

    def admit(self, pod: JsonObject, node: str) -> str:
        """The same; a pod that runs takes its share from now on."""
        refused = self.refusal(pod, node)
        if not refused:
            self.add(pod, node)
        return refused


@cache
def _profiles() -> dict[str, Profile]:
    from kube32_sim.kubelet.boards import profiles

    return profiles()

"""The preview by the profile `kestrel`: cpu and memory, taints, affinity, preemption, on a cluster of Kestrel's own.

`start` says what the cluster begins with, `kubernetes` what a pod is to it; what happens then is read from its log.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from kube32_sim.api import quantity
from kube32_sim.kestrel.affinity import Barrier, barrier
from kube32_sim.kestrel.cluster import Cluster
from kube32_sim.kestrel.filters import evaluate, no_fit, percentages
from kube32_sim.kestrel.models import Pod, Request
from kube32_sim.kestrel.nodes import NodeTable
from kube32_sim.kestrel.profiles import KESTREL
from kube32_sim.preview.boards import at_rest
from kube32_sim.preview.details import detail
from kube32_sim.preview.placements import ClusterState, Placement, Verdict, Victim, WantedPod, shared
from kube32_sim.preview.start import Resident, start
from kube32_sim.translation.amounts import RESOURCES, STEPS, most_pods
from kube32_sim.translation.kubernetes import Reading, translation
from kube32_sim.translation.terms import name_of

TWIN = "#"
"""Between the name and a number, for a pod whose name is taken: names do not have this character."""


class KestrelPlacer:
    """Places wanted pods one after the other; each is part of the cluster for those after it.

    wanted: all pods that are going to be placed.  PreviewError with a line for each problem where Kestrel cannot say
    what they, or the pods that are there, ask for.

    reading: reads the objects, where somebody remembers what they come to.
    """

    profile = KESTREL.name

    def __init__(
        self,
        state: ClusterState,
        wanted: Sequence[WantedPod],
        reading: Reading | None = None,
    ) -> None:
        reading = reading or Reading()
        state = state if reading.at_rest else at_rest(state, self.profile)
        found = start(state, wanted, reading)
        self.warnings: Sequence[str] = found.warnings
        self._cluster = Cluster(KESTREL)
        self._filters = Filters(self._cluster.table)
        self._most_pods = {node["metadata"]["name"]: most_pods(node) for node in state.nodes}
        self._residents: dict[str, Resident] = {}
        self._keys: list[str] = []
        self._evicted: dict[str, str] = {}
        for node in found.nodes:
            self._cluster.add_node(node)
        for resident in found.residents:
            key = self._free_key(name_of(resident.obj))
            self._residents[key] = resident
            self._cluster.enter(key, resident.spec, resident.node)

    def place(self, pod: WantedPod, *, details: bool) -> Placement:
        cluster, spec, name = self._cluster, translation(pod.obj).spec, name_of(pod.obj)
        # All that is said of the nodes is from before: with the pod on one of them they would say something else.
        rules = barrier(cluster.affinity.relations(spec))
        verdicts = tuple(self._verdicts(spec.request, rules)) if details else ()
        best = cluster.chooser.choose(spec.request, rules)
        score = best[0] if best is not None else None
        tied = cluster.chooser.tied(spec.request, score, rules) if score is not None else []
        reasons = cluster.chooser.reasons(spec.request, rules) if best is None else {}
        key = self._free_key(name)
        self._keys.append(key)
        outcome = cluster.submit(key, spec)
        if outcome is None:
            return Placement(pod, "", None, no_fit(reasons, len(cluster.table.nodes)), verdicts=verdicts)
        node, evicted = outcome
        victims = tuple(self._victim(one, name) for one in evicted)
        self._warn_of_full_nodes({node.name, *(victim.node for victim in victims if victim.node)})
        message = f"Successfully assigned {name} to {node.name}{_after(victims)}"
        return Placement(pod, node.name, score, message, shared(tied), victims, verdicts)

    def in_the_end(self, placements: Sequence[Placement]) -> Sequence[Placement]:
        return [self._in_the_end(placement, key) for placement, key in zip(placements, self._keys, strict=True)]

    def _in_the_end(self, placement: Placement, key: str) -> Placement:
        """A pod that a later one has evicted is where it was placed again, or pending."""
        preemptor = self._evicted.get(key)
        if preemptor is None or not placement.node:
            return placement
        pod = self._cluster.pods[key]
        now = pod.node.name if pod.node is not None else ""
        note = f"evicted from {placement.node} for {preemptor}" + ("" if now else ", and pending")
        message = f"Preempted by {preemptor} on node {placement.node}"
        if now:
            message = f"Successfully assigned {name_of(placement.pod.obj)} to {now}"
        return replace(placement, node=now, score=None, message=message, tied=(), note=note)

    def _free_key(self, name: str) -> str:
        """What the cluster is to call a pod: its namespace and name, unless there is one that is called so."""
        key, number = name, 1
        while key in self._cluster.pods:
            number += 1
            key = f"{name}{TWIN}{number}"
        if number > 1:
            self._warn(f"there are several pods {name}: each counts")
        return key

    def _warn(self, text: str) -> None:
        if text not in self.warnings:
            self.warnings = (*self.warnings, text)

    # what the nodes say

    def _verdicts(self, request: Request, rules: Barrier | None) -> Iterator[Verdict]:
        nodes = self._cluster.table.nodes
        for name, answer in sorted(self._filters.answers(request).items()):
            node = nodes[name]
            if isinstance(answer, str):
                yield Verdict(name, answer, detail=detail(answer, request, node, _shown))
            elif rules is not None and (reason := rules.reason(node)):
                yield Verdict(name, reason)
            else:
                yield Verdict(
                    name,
                    score=answer,
                    percentages=tuple(zip(RESOURCES, percentages(KESTREL, request, node), strict=True)),
                )

    # what happens

    def _victim(self, pod: Pod, preemptor: str) -> Victim:
        self._evicted[pod.name] = preemptor
        if pod.name in self._residents:
            self._warn_of_doubts(self._residents[pod.name], pod.node is not None)
        return Victim(pod.name.partition(TWIN)[0], pod.spec.priority, pod.node.name if pod.node is not None else "")

    def _warn_of_doubts(self, victim: Resident, placed: bool) -> None:
        """What Kestrel did not look at when it evicted a pod of the cluster and placed it again."""
        self._warn("there are evictions: Kestrel does not look at PodDisruptionBudgets")
        without = [str(problem) for problem in victim.doubts]
        if placed:
            without += self._unheeded(victim)
        for text in without:
            self._warn(f"pod {name_of(victim.obj)} is evicted, and its new place is found without {text}")

    def _unheeded(self, victim: Resident) -> Iterator[str]:
        """Terms of other pods that may be about a victim, and that Kestrel cannot say."""
        for key, other in self._residents.items():
            if other is not victim and self._cluster.pods[key].node is not None:
                for term in other.read.repelling:
                    if term.may_select(victim.obj):
                        yield f"{term.problems[0].field} of pod {name_of(other.obj)}"

    def _warn_of_full_nodes(self, names: Iterable[str]) -> None:
        for name in sorted(names):
            most = self._most_pods.get(name)
            if most is not None and len(self._cluster.pods_on(name)) > most:
                self._warn(f"node {name} gets more pods than the {most} that it allows: Kestrel does not count pods")


class Filters:
    """What each node says of a request by itself.  Of the last request it is kept: equal pods follow each other."""

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        self._request: Request | None = None
        self._position = 0
        self._found: dict[str, int | str] = {}

    def answers(self, request: Request) -> Mapping[str, int | str]:
        """By node the score, or the reason why it will not do.  Good until something happens."""
        table = self._table
        changed = table.changed_since(self._position) if request == self._request else None
        for name in table.nodes if changed is None else changed:
            self._found[name] = evaluate(table.profile, request, table.nodes[name])
        self._request, self._position = request, table.position
        return self._found


def _after(victims: Sequence[Victim]) -> str:
    if not victims:
        return ""
    return f" after evicting {len(victims)} pod{'s' if len(victims) > 1 else ''}"


def _shown(place: int, amount: int) -> str:
    if RESOURCES[place] == "cpu":
        return quantity.from_nanos(amount * STEPS["cpu"]).text
    return quantity.from_nanos(amount * quantity.NANO, quantity.BINARY_SI).text

"""A cluster on paper that pods enter and leave again: what counterfactuals and capacity are tried on.

The same rules as the placers' (`kube32`, `kestrel`), with the same choice, but that everything can be taken back and
nobody is evicted.  `trial_of` makes one of a state; to copy none is what makes thousands of questions cheap.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from kube32_controllers.scheduler_figures import pod_request

from kube32_sim.api.pod_state import finished
from kube32_sim.kestrel.affinity import Barrier, barrier
from kube32_sim.kestrel.bindings import Bindings
from kube32_sim.kestrel.choosing import Chooser
from kube32_sim.kestrel.filters import evaluate, static_reason
from kube32_sim.kestrel.models import Amounts, Pod, PodSpec, Request, Taint
from kube32_sim.kestrel.nodes import NodeTable
from kube32_sim.kestrel.preemption import Preemption
from kube32_sim.kestrel.profiles import KESTREL, KUBE32, Profile
from kube32_sim.preview.boards import Firewalls, at_rest, cache_of
from kube32_sim.preview.kube32 import warnings_about
from kube32_sim.preview.placements import ClusterState, JsonObject, WantedPod
from kube32_sim.preview.start import start
from kube32_sim.translation.amounts import RESOURCES
from kube32_sim.translation.kubernetes import Reading, age, translation

LOST = "node(s) were lost"
"""Why nothing can be placed on a node that is closed."""


class Stay(NamedTuple):
    """A pod on a node of a trial.  spec: what it takes and wants, in the words of the trial's profile."""

    obj: JsonObject
    node: str
    spec: Any


class Trial(Protocol):
    """table: the nodes, with what is free on them, to read.  profile: its rules.  resources: names of the fitted ones.

    residents: by node the pods that have it from the start, oldest first.  warnings: what does not count.
    """

    profile: Profile
    resources: Sequence[str]
    residents: Mapping[str, Sequence[Stay]]
    warnings: Sequence[str]

    @property
    def table(self) -> NodeTable: ...

    def request(self, obj: JsonObject) -> Request:
        """What a pod needs of a node by itself."""

    def amounts(self, stay: Stay) -> Amounts:
        """What a pod takes of each fitted resource."""

    def enter(self, obj: JsonObject) -> Stay | str:
        """Place a pod as the profile does, evicting nobody; or why the board that it is given to refuses it, "" where
        no node is found."""

    def leave(self, stay: Stay) -> None:
        """Take a pod away from its node."""

    def put_back(self, stay: Stay) -> None:
        """The opposite of `leave`."""

    def nodes(self, obj: JsonObject) -> list[str]:
        """Where a pod could run as things are, sorted: any of them, not only the best one."""

    def reasons(self, obj: JsonObject) -> Counter[str]:
        """How many nodes fail, by the reason of their first filter that fails."""

    def reachable(self, obj: JsonObject) -> bool:
        """Whether a pod could run anywhere, by evicting others where the profile knows that."""


def trial_of(state: ClusterState, profile: str, wanted: Sequence[WantedPod], reading: Reading | None = None) -> Trial:
    """wanted: the pods that will be tried.  Raises PreviewError where the profile cannot say what there is, or they."""
    return KestrelTrial(state, wanted, reading) if profile == KESTREL.name else Kube32Trial(state)


Door = tuple[str, tuple[Taint, ...]]
"""What keeps pods off a node: why it is barred, "" where it is not, and its taints."""


class Altered:
    """Nodes that keep away other pods than they do, while the block runs.  doors: by the nodes' names."""

    def __init__(self, table: NodeTable, doors: Mapping[str, Door]) -> None:
        self._table, self._doors = table, doors
        self._before = {name: (table.nodes[name].barred, table.nodes[name].taints) for name in doors}

    def __enter__(self) -> None:
        self._set(self._doors)

    def __exit__(self, *_: object) -> None:
        self._set(self._before)

    def _set(self, doors: Mapping[str, Door]) -> None:
        """In place: pods that are bound know their node by its record."""
        for name, (barred, taints) in doors.items():
            node = self._table.nodes[name]
            self._table.barred[node.barred] -= bool(node.barred)
            node.barred, node.taints = barred, taints
            self._table.barred[barred] += bool(barred)
            self._table.give(node, (0,) * len(node.free))


def closed(table: NodeTable, names: Iterable[str]) -> Altered:
    """Nodes that take nothing while the block runs."""
    return Altered(table, {name: (LOST, table.nodes[name].taints) for name in names})


def _by_node(stays: Iterable[Stay]) -> dict[str, list[Stay]]:
    found: dict[str, list[Stay]] = {}
    for stay in stays:
        found.setdefault(stay.node, []).append(stay)
    return found


class Kube32Trial:
    """The scheduler's own picture, and what the boards say to what it gives them."""

    profile: Profile = KUBE32
    resources: Sequence[str] = KUBE32.fitted

    def __init__(self, state: ClusterState) -> None:
        state = at_rest(state, KUBE32.name)
        self._cache = cache_of(state.nodes, state.pods)
        self._firewalls = Firewalls.of_state(state)
        self.warnings: Sequence[str] = tuple(warnings_about(state.nodes, sorted(self._cache.waiting)))
        there = (pod for pod in sorted(state.pods, key=age) if pod["spec"].get("nodeName") in self.table.nodes)
        stays = (Stay(pod, pod["spec"]["nodeName"], pod_request(pod["spec"])) for pod in there if not finished(pod))
        self.residents: Mapping[str, Sequence[Stay]] = _by_node(stays)

    @property
    def table(self) -> NodeTable:
        return self._cache.table

    def request(self, obj: JsonObject) -> Request:
        return pod_request(obj["spec"])

    def amounts(self, stay: Stay) -> Amounts:
        request: Request = stay.spec
        return request.amounts

    def enter(self, obj: JsonObject) -> Stay | str:
        request = self.request(obj)
        found = self._cache.chooser.choose(request)
        if found is None:
            return ""
        node = found[1]
        refusal = self._firewalls.admit(obj, node.name)
        if refusal:
            return refusal
        self.table.take(node, request.amounts)
        return Stay(obj, node.name, request)

    def leave(self, stay: Stay) -> None:
        self.table.give(self.table.nodes[stay.node], stay.spec.amounts)
        self._firewalls.remove(stay.obj, stay.node)

    def put_back(self, stay: Stay) -> None:
        self.table.take(self.table.nodes[stay.node], stay.spec.amounts)
        self._firewalls.add(stay.obj, stay.node)

    def nodes(self, obj: JsonObject) -> list[str]:
        return sorted(self._nodes(obj))

    def _nodes(self, obj: JsonObject) -> Iterator[str]:
        request = self.request(obj)
        for node in self.table.nodes.values():
            if not isinstance(evaluate(KUBE32, request, node), str) and not self._firewalls.refusal(obj, node.name):
                yield node.name

    def reasons(self, obj: JsonObject) -> Counter[str]:
        return self._cache.chooser.reasons(self.request(obj))

    def reachable(self, obj: JsonObject) -> bool:
        return self._cache.chooser.choose(self.request(obj)) is not None and any(self._nodes(obj))


class KestrelTrial:
    """Kestrel's filters, affinity and choice over a cluster of its own; preemption only to be asked about."""

    profile: Profile = KESTREL
    resources: Sequence[str] = RESOURCES

    def __init__(self, state: ClusterState, wanted: Sequence[WantedPod], reading: Reading | None = None) -> None:
        found = start(at_rest(state, KESTREL.name), wanted, reading or Reading())
        self.warnings: Sequence[str] = found.warnings
        self._bindings = Bindings(KESTREL)
        self._chooser = Chooser(self.table)
        self._preemption = Preemption(self._bindings, self._chooser)
        self._specs: dict[int, tuple[JsonObject, PodSpec]] = {}
        self._doubts: dict[int, list[str]] = {}
        self._entered = 0
        for node in found.nodes:
            self._bindings.add_node(node)
        stays = []
        for resident in found.residents:
            pod = self._pod(resident.spec)
            self._bindings.enter(pod, resident.node)
            stays.append(Stay(resident.obj, resident.node.name, pod))
            if resident.doubts:
                self._doubts[id(resident.obj)] = [str(doubt) for doubt in resident.doubts]
        self.residents: Mapping[str, Sequence[Stay]] = _by_node(stays)

    @property
    def table(self) -> NodeTable:
        return self._bindings.table

    def spec(self, obj: JsonObject) -> PodSpec:
        """Found once for each object, which is kept meanwhile: pods of one template are one object here."""
        key = id(obj)
        if key not in self._specs:
            if len(self._specs) > 4096:
                self._specs.clear()
            self._specs[key] = obj, translation(obj).spec
        return self._specs[key][1]

    def request(self, obj: JsonObject) -> Request:
        return self.spec(obj).request

    def amounts(self, stay: Stay) -> Amounts:
        pod: Pod = stay.spec
        return pod.spec.request.amounts

    def _pod(self, spec: PodSpec) -> Pod:
        self._entered += 1
        return Pod(str(self._entered), spec, self._bindings.affinity.relations(spec), seq=self._entered)

    def doubts(self, obj: JsonObject) -> Sequence[str]:
        """What Kestrel cannot say of a pod that is there and would be placed anew."""
        return self._doubts.get(id(obj), ())

    def rules(self, obj: JsonObject) -> Barrier | None:
        return barrier(self._bindings.affinity.relations(self.spec(obj)))

    def enter(self, obj: JsonObject) -> Stay | str:
        pod = self._pod(self.spec(obj))
        found = self._chooser.choose(pod.spec.request, barrier(pod.relations))
        if found is None:
            return ""
        self._bindings.enter(pod, found[1])
        return Stay(obj, found[1].name, pod)

    def leave(self, stay: Stay) -> None:
        self._bindings.leave(stay.spec)

    def put_back(self, stay: Stay) -> None:
        self._bindings.enter(stay.spec, self.table.nodes[stay.node])

    def nodes(self, obj: JsonObject) -> list[str]:
        request, rules = self.request(obj), self.rules(obj)
        return sorted(
            node.name
            for node in self.table.nodes.values()
            if not isinstance(evaluate(KESTREL, request, node), str) and not (rules is not None and rules.reason(node))
        )

    def reasons(self, obj: JsonObject) -> Counter[str]:
        return self._chooser.reasons(self.request(obj), self.rules(obj))

    def reachable(self, obj: JsonObject) -> bool:
        pod = self._pod(self.spec(obj))
        if self._chooser.choose(pod.spec.request, barrier(pod.relations)) is not None:
            return True
        return pod.spec.preempts and self._preemption.preempt_for(pod) is not None


# what both can be asked


def lacking(trial: Trial, obj: JsonObject) -> dict[str, int]:
    """On how many nodes that would do otherwise a pod finds too little, by the resource; a node may lack several."""
    request, found = trial.request(obj), Counter[str]()
    for node in trial.table.nodes.values():
        if not static_reason(trial.profile, request, node):
            short = {place for place, least, _ in request.checks if least > node.free[place]}
            found.update(trial.resources[place] for place in short)
    return dict(found.most_common())


def totals(trial: Trial, names: Collection[str] | None = None) -> tuple[Amounts, Amounts]:
    """(what nodes have, what is free of it) of each fitted resource; names: of these nodes only.

    What a node has is what scores are percentages of.  Nodes that take no pods do not count.
    """
    nodes = [node for node in trial.table.nodes.values() if not node.barred and (names is None or node.name in names)]
    places = range(len(trial.resources))
    capacity = tuple(sum(node.capacity[place] for node in nodes) for place in places)
    free = tuple(sum(max(0, node.free[place]) for node in nodes) for place in places)
    return capacity, free

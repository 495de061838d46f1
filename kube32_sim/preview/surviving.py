"""What becomes of pods when a node, or a zone, is lost: do they all fit on the rest?

Of a loss it is computed: the nodes take nothing any more, their pods are placed on the others one after the other,
highest priority first and of equal ones the oldest, and all other pods stay where they are.  Nobody is evicted.  Pods
of a DaemonSet, and those that a kubelet runs by itself, are lost with their node.

With a greedy choice fewer pods may have bad luck where more have not, so nothing here searches by halves: numbers are
tried from the largest down, each against every loss, and the first that survives all of them is the answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kube32_controllers.pod_control import controlling

from kube32_sim.kestrel.filters import static_ok
from kube32_sim.preview.capacity import Filling
from kube32_sim.preview.details import some
from kube32_sim.preview.placements import ClusterState, PreviewError, WantedPod
from kube32_sim.preview.trials import KestrelTrial, Stay, Trial, closed, trial_of
from kube32_sim.translation.beyond import only_node
from kube32_sim.translation.terms import ZONE_LABEL, name_of

NODE, ZONE = "node", "zone"
_MIRROR = "kubernetes.io/config.mirror"


@dataclass(frozen=True, slots=True)
class Loss:
    """domain: a node's name, or a zone's.  moved: how many pods need another place.  stranded: those without one."""

    domain: str
    nodes: tuple[str, ...]
    moved: int
    stranded: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Survival:
    """of: node or zone.  rounds: the largest number of complete rounds with which every loss is survived; None: not
    even without new pods, or that nothing was scaled.  unbounded: that no number was found that is not survived.

    losses: each of them, with that many new pods (or the wanted ones).  worst: of one round more where that is what
    fails; else of those losses; the one that strands most pods, then moves most, then by name.
    unplaced: wanted pods that fit nowhere even before a loss.
    """

    of: str
    losses: tuple[Loss, ...]
    worst: Loss | None
    rounds: int | None = None
    unbounded: bool = False
    unplaced: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def survives(self) -> bool:
        return not self.unplaced and not any(loss.stranded for loss in self.losses)


def domains_of(state: ClusterState, of: str) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    """(nodes by domain, what to know).  Nodes without a zone are in none and cannot be lost with one.

    Raises PreviewError where no node is in a zone.
    """
    names = {node["metadata"]["name"]: (node["metadata"].get("labels") or {}).get(ZONE_LABEL) for node in state.nodes}
    if of == NODE:
        return {name: (name,) for name in sorted(names)}, []
    found: dict[str, list[str]] = {}
    for name, zone in names.items():
        if zone:
            found.setdefault(zone, []).append(name)
    if not found:
        raise PreviewError(f"--survive zone: no node has the label {ZONE_LABEL}")
    outside = [name for name, zone in names.items() if not zone]
    told = [f"no label {ZONE_LABEL} on node {some(outside)}: it is lost with no zone"] if outside else []
    return {zone: tuple(nodes) for zone, nodes in sorted(found.items())}, told


def survive_more(filling: Filling, of: str, progress: Callable[[int], object] = int) -> Survival:
    """How many of the rounds that fit also survive every loss; filling: after its answer."""
    domains, told = domains_of(filling.state, of)
    losing = Losing(filling.trial, domains, [stay for stays in filling.rounds for stay in stays])
    top, last = len(filling.rounds), None
    while losing.fails():
        progress(1)
        if not filling.rounds:
            losses = losing.losses()
            return Survival(of, losses, _worst(losses), warnings=(*told, *losing.doubts()))
        last = filling.rounds.pop()
        losing.take_away(last)
    rounds, losses = len(filling.rounds), losing.losses()
    worst = _worst(losses)
    if last is not None:
        losing.bring_back(last)
        worst = _worst(losing.losses())
        losing.take_away(last)
    unbounded = not filling.bounded and rounds == top
    return Survival(of, losses, worst, rounds, unbounded, warnings=(*told, *losing.doubts()))


def survive(state: ClusterState, wanted: Sequence[WantedPod], profile: str, of: str) -> Survival:
    """Whether what is there and what is wanted survives every loss of one node or zone."""
    domains, told = domains_of(state, of)
    trial = trial_of(state, profile, wanted)
    stays, unplaced = list[Stay](), []
    for pod in wanted:
        stay = trial.enter(pod.obj)
        if isinstance(stay, str):
            unplaced.append(name_of(pod.obj))
        else:
            stays.append(stay)
    losing = Losing(trial, domains, stays)
    losses = losing.losses()
    warnings = (*trial.warnings, *told, *losing.doubts())
    return Survival(of, losses, _worst(losses), unplaced=tuple(unplaced), warnings=warnings)


def _worst(losses: Sequence[Loss]) -> Loss | None:
    return min(losses, key=lambda loss: (-len(loss.stranded), -loss.moved, loss.domain), default=None)


class Losing:
    """The pods of a trial, and the nodes that can be lost together.  stays: new pods, in the order they were placed."""

    def __init__(self, trial: Trial, domains: Mapping[str, tuple[str, ...]], stays: Sequence[Stay]) -> None:
        self._trial, self._domains = trial, domains
        self._likely_first = list(domains)
        self._new: dict[str, list[Stay]] = {}
        for stay in stays:
            self._new.setdefault(stay.node, []).append(stay)
        self._room = Room(trial, stays)

    def take_away(self, stays: Sequence[Stay]) -> None:
        """The pods that were placed last."""
        for stay in reversed(stays):
            self._trial.leave(stay)
            self._new[stay.node].pop()
            self._room.count(stay, -1)

    def bring_back(self, stays: Sequence[Stay]) -> None:
        for stay in stays:
            self._trial.put_back(stay)
            self._new.setdefault(stay.node, []).append(stay)
            self._room.count(stay, 1)

    def fails(self) -> bool:
        """Whether some loss strands a pod; the one that did last is asked first, as it mostly does again."""
        if any(self._room.is_short(nodes) for nodes in self._domains.values()):
            return True
        for place, domain in enumerate(self._likely_first):
            if self._lose(domain, enough=1).stranded:
                self._likely_first.insert(0, self._likely_first.pop(place))
                return True
        return False

    def losses(self) -> tuple[Loss, ...]:
        return tuple(self._lose(domain) for domain in self._domains)

    def _lose(self, domain: str, enough: int = 0) -> Loss:
        """All is as it was afterwards.  enough: so many stranded pods are all that is asked for; 0: all of them."""
        trial, nodes = self._trial, self._domains[domain]
        gone = sorted(self._movable(nodes), key=lambda stay: -(stay.obj["spec"].get("priority") or 0))
        for stay in gone:
            trial.leave(stay)
        stranded, moved = list[str](), list[Stay]()
        with closed(trial.table, nodes):
            for stay in gone:
                found = trial.enter(stay.obj)
                if isinstance(found, str):
                    stranded.append(name_of(stay.obj))
                    if len(stranded) == enough:
                        break
                else:
                    moved.append(found)
            for stay in reversed(moved):
                trial.leave(stay)
        for stay in gone:
            trial.put_back(stay)
        return Loss(domain, nodes, len(gone), tuple(stranded))

    def _movable(self, nodes: Sequence[str]) -> Iterator[Stay]:
        """Those that are there, oldest first, then the new ones."""
        for node in nodes:
            yield from filter(_is_movable, self._trial.residents.get(node, ()))
        for node in nodes:
            yield from filter(_is_movable, self._new.get(node, ()))

    def doubts(self) -> Iterator[str]:
        """What Kestrel does not look at when it finds new places for pods that are there."""
        if not isinstance(self._trial, KestrelTrial):
            return
        found: dict[str, list[str]] = {}
        for stay in self._movable([node for nodes in self._domains.values() for node in nodes]):
            for problem in self._trial.doubts(stay.obj):
                found.setdefault(problem, []).append(name_of(stay.obj))
        for problem, names in found.items():
            yield f"new places of pod {some(names)} are found without {problem}"


class Room:
    """Tells cheaply of losses that cannot be survived: the new pods of a template ask for more than is free, in all, on
    the nodes that its selector and tolerations leave.  Says nothing where there is enough: it may lie in pieces.
    """

    def __init__(self, trial: Trial, stays: Sequence[Stay]) -> None:
        self._trial = trial
        self._counts: dict[int, Counter[str]] = {}
        self._eligible: dict[int, frozenset[str]] = {}
        self._amounts: dict[int, tuple[int, ...]] = {}
        for stay in filter(_is_movable, stays):
            key = id(stay.obj)
            if key not in self._counts:
                request = trial.request(stay.obj)
                nodes = trial.table.nodes.values()
                fit = frozenset(node.name for node in nodes if static_ok(trial.profile, request, node))
                self._counts[key], self._eligible[key] = Counter(), fit
                self._amounts[key] = request.amounts
            self.count(stay, 1)

    def count(self, stay: Stay, by: int) -> None:
        if id(stay.obj) in self._counts:
            self._counts[id(stay.obj)][stay.node] += by

    def is_short(self, lost: Sequence[str]) -> bool:
        nodes = self._trial.table.nodes
        for key, counts in self._counts.items():
            number = sum(counts[name] for name in lost)
            if not number:
                continue
            left = [nodes[name].free for name in self._eligible[key].difference(lost)]
            for place, amount in enumerate(self._amounts[key]):
                if amount > 0 and sum(free[place] // amount for free in left if free[place] > 0) < number:
                    return True
        return False


def _is_movable(stay: Stay) -> bool:
    metadata = stay.obj["metadata"]
    owner = controlling(stay.obj)
    of_the_node = owner is not None and owner.get("kind") == "DaemonSet"
    going = "deletionTimestamp" in metadata
    return not (of_the_node or going or _MIRROR in (metadata.get("annotations") or {}) or only_node(stay.obj["spec"]))

"""How many more pods fit: of one template, or of a mix in which each has its share.

Pods are placed one after the other by the rules of the profile until one finds no node or is refused by its board, as
if they were created so.  Nobody is evicted: a pod that pushes another out is no pod more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import gcd

from kube32_sim.api.quantity import QuantityError
from kube32_sim.kestrel.models import PodSpec
from kube32_sim.preview.placements import ClusterState, JsonObject, PreviewError, WantedPod
from kube32_sim.preview.trials import KestrelTrial, Stay, Trial, lacking, totals, trial_of
from kube32_sim.translation.amounts import most_pods

MOST = 50_000
"""Pods that are tried at most; more is told as no bound that was found."""
_ROUNDS_OF_NOTHING = 2
"""After so many rounds in which nothing is taken the next one cannot differ: where the first pod went they all go."""


@dataclass(frozen=True, slots=True)
class Template:
    """What pods are made from.  name: `Deployment/web`, or `pod/web`.  count: how many are wanted."""

    name: str
    pod: WantedPod
    count: int = 1


@dataclass(frozen=True, slots=True)
class Stop:
    """Why no more fit.  template: the first one of which a pod found no place.  refusal: of the board that the
    scheduler would give it to, or "".

    reasons: how many nodes fail, by their first filter that fails.  lacking: on how many nodes there is too little, by
    the resource, among those that nothing else rules out.
    """

    template: str
    refusal: str
    reasons: Mapping[str, int]
    lacking: Mapping[str, int]

    @property
    def first(self) -> tuple[str, int]:
        """(what binds first, on how many nodes)."""
        if self.refusal:
            return self.refusal, 1
        found = self.lacking or self.reasons
        return max(found.items(), key=lambda item: item[1]) if found else ("no nodes", 0)


@dataclass(frozen=True, slots=True)
class Usage:
    """Of one resource: what nodes have, and what was free of it before and is free after, in whole units."""

    resource: str
    capacity: int
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class Capacity:
    """wanted: of each template, or None where only one was asked about.  fits: how many of those have a place.

    share: pods of each template in a round, the wanted counts without what they have in common.  rounds: how many
    complete rounds fit from the state as it is; None where no bound was found.  stop: why not more; None: no bound.

    nodes: by name how many pods of each template come to it; usage, by_node: of the wanted pods where there are such,
    else of all rounds.  tried: so many pods were placed in rounds.
    """

    profile: str
    templates: tuple[Template, ...]
    wanted: tuple[int, ...] | None
    fits: tuple[int, ...]
    share: tuple[int, ...]
    rounds: int | None
    stop: Stop | None
    nodes: Mapping[str, tuple[int, ...]]
    usage: tuple[Usage, ...]
    by_node: Mapping[str, tuple[Usage, ...]]
    tried: int
    warnings: tuple[str, ...] = ()

    @property
    def more(self) -> tuple[int, ...] | None:
        """How many of each template fit, in rounds; None where there is no bound."""
        return None if self.rounds is None else tuple(each * self.rounds for each in self.share)


def templates_of(wanted: Sequence[WantedPod], counts: Mapping[str, int]) -> list[Template]:
    """One for each owner and each pod of its own, in order of their pods; counts: by name or KIND/NAME.

    PreviewError for a count of what is not there, and for DaemonSets, of which every node has its own pod.
    """
    found: dict[str, list[WantedPod]] = {}
    for pod in wanted:
        found.setdefault(pod.owner or f"pod/{pod.name}", []).append(pod)
    for name in found:
        if name.startswith("DaemonSet/"):
            raise PreviewError(f"--how-many: {name}: a DaemonSet has one pod on each node, and cannot have more")
    given = dict(counts)
    templates = []
    for name, pods in found.items():
        keys = [key for key in given if key.lower() in (name.lower(), name.partition("/")[2])]
        count = given.pop(keys[0]) if keys else len(pods)
        templates.append(Template(name, _never_evicting(pods[0]), count))
    total = sum(template.count for template in templates)
    if not 0 < total <= MOST:
        raise PreviewError(f"--count: {total} pods are wanted, and from 1 to {MOST} can be tried")
    if given:
        raise PreviewError(f"--count: {', '.join(given)}: not among the manifests, which have {', '.join(found)}")
    return templates


def _never_evicting(pod: WantedPod) -> WantedPod:
    return replace(pod, obj={**pod.obj, "spec": {**pod.obj["spec"], "preemptionPolicy": "Never"}})


def how_many(
    state: ClusterState,
    templates: Sequence[Template],
    profile: str,
    *,
    mix: bool = False,
    progress: Callable[[int], object] = int,
) -> Capacity:
    """How many pods of one template fit, or of several in the proportion of their counts.

    state: with all its pods, also those of the same owners: they stay.  mix: whether the counts are wanted ones, of
    which it is told how many fit; where several templates are given they are.  progress: called with 1 for each pod.
    Raises PreviewError where the profile cannot say what there is, or is wanted.
    """
    return Filling(state, templates, profile, progress).answer(mix=mix or len(templates) > 1)


class Filling:
    """A trial on which rounds of templates are placed.  rounds: the pods of each that is complete, after `fill`."""

    def __init__(
        self,
        state: ClusterState,
        templates: Sequence[Template],
        profile: str,
        progress: Callable[[int], object] = int,
    ) -> None:
        self.state, self.templates = state, tuple(templates)
        self.trial: Trial = trial_of(state, profile, [template.pod for template in templates])
        self._progress = progress
        self.before = _frees(self.trial)
        common = gcd(*(template.count for template in templates)) or 1
        self.share = tuple(template.count // common for template in templates)
        self.rounds: list[list[Stay]] = []
        self.stop: Stop | None = None
        self.bounded = True

    def answer(self, *, mix: bool) -> Capacity:
        """The trial is left with all rounds placed."""
        fits: tuple[int, ...] = ()
        stays: list[Stay] = []
        if mix:
            stays, fits = self._place_wanted()
            shown = self._shown(stays)
            for stay in reversed(stays):
                self.trial.leave(stay)
        self.fill()
        if not mix:
            shown = self._shown([stay for stays in self.rounds for stay in stays])
        nodes, usage, by_node = shown
        return Capacity(
            self.trial.profile.name,
            self.templates,
            tuple(template.count for template in self.templates) if mix else None,
            fits,
            self.share,
            len(self.rounds) if self.bounded else None,
            self.stop,
            nodes,
            usage,
            by_node,
            sum(map(len, self.rounds)),
            (*self.trial.warnings, *self._uncounted(nodes)),
        )

    def _place_wanted(self) -> tuple[list[Stay], tuple[int, ...]]:
        """All wanted pods in their order; after the first of a template that has no place no other of it has."""
        stays, fits = list[Stay](), []
        for template in self.templates:
            number = 0
            while number < min(template.count, MOST):
                stay = self.trial.enter(template.pod.obj)
                if isinstance(stay, str):
                    break
                stays.append(stay)
                number += 1
                self._progress(1)
            fits.append(number)
        return stays, tuple(fits)

    def fill(self) -> None:
        """Place complete rounds until a pod finds no place; what an incomplete one has placed is taken away."""
        size = sum(self.share)
        if not size:
            return
        while (len(self.rounds) + 1) * size <= MOST:
            stays = self._round()
            if stays is None:
                return
            self.rounds.append(stays)
            if len(self.rounds) == _ROUNDS_OF_NOTHING and not any(map(self._takes_something, self.templates)):
                break
        self.bounded = False

    def _round(self) -> list[Stay] | None:
        stays: list[Stay] = []
        for template, number in zip(self.templates, self.share, strict=True):
            for _ in range(number):
                stay = self.trial.enter(template.pod.obj)
                if isinstance(stay, str):
                    self.stop = self._why(template, stay)
                    for one in reversed(stays):
                        self.trial.leave(one)
                    return None
                stays.append(stay)
                self._progress(1)
        return stays

    def _takes_something(self, template: Template) -> bool:
        if any(self.trial.request(template.pod.obj).amounts):
            return True
        spec: PodSpec | None = self.trial.spec(template.pod.obj) if isinstance(self.trial, KestrelTrial) else None
        return spec is not None and bool(spec.anti_terms)

    def _why(self, template: Template, refusal: str) -> Stop:
        obj = template.pod.obj
        reasons = {} if refusal else dict(self.trial.reasons(obj).most_common())
        return Stop(template.name, refusal, reasons, {} if refusal else lacking(self.trial, obj))

    # how full it is

    def _shown(
        self, stays: Sequence[Stay]
    ) -> tuple[dict[str, tuple[int, ...]], tuple[Usage, ...], dict[str, tuple[Usage, ...]]]:
        """(pods by node and template, the usage of all nodes, that of each node)."""
        places = {id(template.pod.obj): place for place, template in enumerate(self.templates)}
        counted = Counter((stay.node, places[id(stay.obj)]) for stay in stays)
        names = sorted({stay.node for stay in stays})
        nodes = {name: tuple(counted[name, place] for place in range(len(self.templates))) for name in names}
        by_node = {name: self._usage([name]) for name in sorted(self.trial.table.nodes)}
        return nodes, self._usage(None), by_node

    def _usage(self, names: Sequence[str] | None) -> tuple[Usage, ...]:
        capacity, after = totals(self.trial, names)
        chosen = self.before if names is None else {name: self.before[name] for name in names}
        before = [sum(column) for column in zip(*chosen.values(), strict=True)] or [0] * len(capacity)
        rows = zip(self.trial.resources, capacity, before, after, strict=True)
        return tuple(Usage(*row) for row in rows)

    def _uncounted(self, nodes: Mapping[str, tuple[int, ...]]) -> list[str]:
        """The profiles do not count pods; a kubelet does."""
        room = {_name(node): _allowed(node) for node in self.state.nodes}
        there = {name: len(stays) for name, stays in self.trial.residents.items()}
        over = [
            name
            for name, counts in nodes.items()
            if (most := room.get(name)) is not None and sum(counts) + there.get(name, 0) > most
        ]
        if not over:
            return []
        which = over[0] if len(over) == 1 else f"{over[0]} and {len(over) - 1} more"
        profile = self.trial.profile.name
        return [f"node {which} gets more pods than its `pods` allows, which the profile {profile} does not count"]


def _frees(trial: Trial) -> dict[str, tuple[int, ...]]:
    zeros = (0,) * len(trial.resources)
    return {
        name: zeros if node.barred else tuple(max(0, amount) for amount in node.free)
        for name, node in trial.table.nodes.items()
    }


def _allowed(node: JsonObject) -> int | None:
    try:
        return most_pods(node)
    except QuantityError:
        return None


def _name(node: JsonObject) -> str:
    return str(node["metadata"]["name"])

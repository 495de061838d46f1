"""Why a pod fits nowhere, as the smallest changes with which it would: each is tried before it is told.

`changes` and `node_changes` find what may help; here the placer is run on the changed state and pod, and what does not
get a node then, or is refused by its board, is not told.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from kube32_sim.preview.changes import Change, asked, growth, of_pod, pod_changes, reductions, relaxations
from kube32_sim.preview.node_changes import cures, more_boards, removals, with_cures
from kube32_sim.preview.placements import ClusterState, JsonObject, Placement, PreviewError, WantedPod
from kube32_sim.preview.placing import make_placer
from kube32_sim.preview.trials import Trial, trial_of
from kube32_sim.translation.kubernetes import Reading, Translations
from kube32_sim.translation.terms import name_of

TOLD = 3
"""Nodes to be cured, and pods to be deleted, are told so many at most; changes of the pod all, and one board."""
_TRIED = 12
"""Of one kind so many are run at most: what the trial finds, the placer mostly bears out."""
_PAIRS = 20


@dataclass(frozen=True, slots=True)
class Limit:
    """How much of a resource a pod that fits may ask for at most, alone, before it fits nowhere."""

    field: str
    resource: str
    now: str
    most: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """placement: of the pod as it is.  changes: empty where it fits.  pair: two changes that help together, where none
    does by itself and such a pair is found at once.  limits: of a pod that fits, the tightest first.
    """

    placement: Placement
    profile: str
    changes: tuple[Change, ...] = ()
    pair: tuple[Change, ...] = ()
    limits: tuple[Limit, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def fits(self) -> bool:
        return runs(self.placement)


def explain(state: ClusterState, wanted: WantedPod, profile: str) -> Sequence[Change]:
    """The single changes with which a pod would run, smallest first; none for one that does, and where none helps.

    state: what there is, the pod not among it.  profile: kube32 or kestrel.  Every change has been applied and the
    placer run on the outcome.  Raises PreviewError where the profile cannot say what there is, or is wanted.
    """
    return explanation(state, wanted, profile).changes


def explanation(state: ClusterState, wanted: WantedPod, profile: str) -> Explanation:
    """The same with everything around it."""
    reading = Translations()
    placer = make_placer(profile, state, [wanted], reading)
    placement = placer.place(wanted, details=False)
    warnings = tuple(placer.warnings)
    trial = trial_of(state, profile, [wanted], reading)
    if runs(placement):
        return Explanation(placement, profile, limits=tuple(_limits(trial, wanted.obj)), warnings=warnings)
    proving = Proving(state, wanted, profile, trial, reading)
    changes = tuple(sorted(proving.borne_out(_candidates(state, trial, wanted.obj)), key=lambda one: one.order))
    pair = () if changes else proving.pair()
    return Explanation(placement, profile, changes, pair, warnings=warnings)


def runs(placement: Placement) -> bool:
    """Whether a pod has a node, whose board does not refuse it; of a placement before the next pod's."""
    return bool(placement.node) and not placement.note


def applied(changes: Iterable[Change], state: ClusterState, wanted: WantedPod) -> tuple[ClusterState, WantedPod]:
    """The state and the pod with all changes; the given ones stay as they are."""
    obj = wanted.obj
    for change in changes:
        state, obj = change.edit(state, obj)
    return state, replace(wanted, obj=obj)


def beside(state: ClusterState, earlier: Sequence[WantedPod], wanted: WantedPod, profile: str) -> ClusterState:
    """The state with the wanted pods that are placed before another one, each on its node, and what they evict gone.

    One that has no node, or is refused by its board, takes nothing.
    """
    if not earlier:
        return state
    placer = make_placer(profile, state, [*earlier, wanted])
    first = [placer.place(pod, details=False) for pod in earlier]
    moved = {victim.pod: victim.node for placement in first for victim in placement.victims}
    there = [_bound(pod, moved[name]) if (name := name_of(pod)) in moved else pod for pod in state.pods]
    last = placer.in_the_end(first)
    there += [_bound(then.pod.obj, then.node) for now, then in zip(first, last, strict=True) if runs(now)]
    return replace(state, pods=[pod for pod in there if pod["spec"].get("nodeName") != ""])


def _bound(pod: JsonObject, node: str) -> JsonObject:
    return {**pod, "spec": {**pod["spec"], "nodeName": node}, "status": {"phase": "Pending"}}


def _candidates(state: ClusterState, trial: Trial, pod: JsonObject) -> Iterator[tuple[int | None, Iterator[Change]]]:
    """(how many of them are told, None for all, and the changes), one sort after the other."""
    yield None, pod_changes(trial, pod)
    found = list(cures(state, trial, pod))
    for kind in ("uncordon", "ready"):
        yield TOLD, (change for change in found if change.kind == kind)
    yield TOLD, removals(trial, pod)
    yield 1, more_boards(state, trial, pod)


def _limits(trial: Trial, pod: JsonObject) -> Iterator[Limit]:
    for one, most in growth(trial, pod):
        yield Limit(one.field, one.resource, one.shown(one.amount), one.shown(most))


class Proving:
    """Runs the placer on what changes make of a state and a pod."""

    def __init__(self, state: ClusterState, wanted: WantedPod, profile: str, trial: Trial, reading: Reading) -> None:
        self._reading = reading
        self._state, self._wanted, self._profile, self._trial = state, wanted, profile, trial

    def borne_out(self, candidates: Iterable[tuple[int | None, Iterator[Change]]]) -> Iterator[Change]:
        for told, changes in candidates:
            proven = 0
            for tried, change in enumerate(changes, 1):
                if (found := self.proven((change,))) is not None:
                    proven += 1
                    yield found[-1]
                if told is not None and (proven == told or tried == _TRIED):
                    break

    def proven(self, changes: tuple[Change, ...]) -> tuple[Change, ...] | None:
        """The changes, with where the pod fits after all of them; None where it does not run."""
        state, wanted = applied(changes, self._state, self._wanted)
        try:
            placement = make_placer(self._profile, state, [wanted], self._reading).place(wanted, details=False)
        except PreviewError:
            return None
        if not runs(placement):
            return None
        victims = tuple(victim.pod for victim in placement.victims)
        nodes: Sequence[str] = [placement.node]
        if state is self._state and not victims:
            nodes = self._trial.nodes(wanted.obj) or nodes
        return tuple(replace(change, nodes=tuple(nodes), victims=victims) for change in changes)

    def pair(self) -> tuple[Change, ...]:
        """The smallest two changes that help together, of those that the trial finds; () for none."""
        found = sorted(
            self._pairs(), key=lambda pair: (*(one.order[0] for one in pair), sum(one.share for one in pair))
        )
        proofs = (self.proven(pair) for pair in found[:_TRIED])
        return next((proof for proof in proofs if proof is not None), ())

    def _pairs(self) -> Iterator[tuple[Change, Change]]:
        """Two amounts; a condition dropped, or a node cured, and another change."""
        trial, pod = self._trial, self._wanted.obj
        resources = {change.field: change for change in self._to_nothing()}
        for nothing in resources.values():
            without = nothing.edit(self._state, pod)[1]
            for second in reductions(trial, without):
                changed = second.edit(self._state, pod)[1]
                for first in reductions(trial, changed, only=_resource(nothing)):
                    if first.field != second.field:
                        yield first, second
        for first in list(relaxations(trial, pod))[:_PAIRS]:
            changed = first.edit(self._state, pod)[1]
            for second in pod_changes(trial, changed):
                yield (first, second) if first.order[0] <= second.order[0] else (second, first)
        yield from with_cures(self._state, trial, pod)

    def _to_nothing(self) -> Iterator[Change]:
        for one in asked(self._wanted.obj, defaults=self._profile == "kube32"):
            edit = of_pod(partial(one.set, amount=0))
            yield Change("request", "", one.field, one.text, None, "", edit)


def _resource(change: Change) -> str:
    return change.field.partition("requests[")[2].removesuffix("]")

"""Nodes and pods of Kubernetes as Kestrel's records: exactly, or with a word for what cannot be said.

`amounts` counts what pods take, `terms` reads affinity terms, `beyond` finds what Kestrel has not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from kube32_sim.api.quantity import QuantityError
from kube32_sim.kestrel.models import Node, PodSpec, Request, Taint, Term, Toleration, fit
from kube32_sim.translation.amounts import RESOURCES, asked_for, given_by, room, taken, why_no_quantity
from kube32_sim.translation.beyond import EFFECTS, Problem, beyond, of_any_pod, of_new_pods, only_node
from kube32_sim.translation.terms import ZONE_LABEL, ReadTerm, labels_of, name_of, preferred_terms, required_terms

JsonObject = dict[str, Any]

UNSCHEDULABLE = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")
"""What kube-scheduler takes spec.unschedulable for: a pod that tolerates this taint may be placed there."""
PREFER_NO_SCHEDULE = "PreferNoSchedule"
UNTIMED = "~"
"""After every time: a pod that nothing tells the age of is a new one."""


class Reading:
    """Reads objects; others remember what they come to.

    at_rest: whether the nodes that it reads are as if no pod ran on them.
    """

    at_rest = False

    def node(self, obj: JsonObject) -> tuple[Node, list[Problem]]:
        return kestrel_node(obj)

    def pod(self, obj: JsonObject) -> Translation:
        return translation(obj)


# nodes


def kestrel_node(node: JsonObject) -> tuple[Node, list[Problem]]:
    """The record of a node, and what is wrong with it; percentages are of what pods may take.

    A node in no zone is in one of its own, and PreferNoSchedule taints are left out: the caller's to tell.
    """
    name, labels = node["metadata"]["name"], node["metadata"].get("labels") or {}
    zone = labels.get(ZONE_LABEL, f"/{name}")  # no label has a value with a slash
    taints, problems = _taints(node), list(_problems_of_node(node))
    amounts = (0, 0) if problems else room(node)
    keeping_away = tuple(taint for taint in taints if taint.effect in EFFECTS)
    if (node.get("spec") or {}).get("unschedulable") and UNSCHEDULABLE not in keeping_away:
        keeping_away = (UNSCHEDULABLE, *keeping_away)
    return Node(name, zone, labels, keeping_away, amounts, amounts), problems


def _problems_of_node(node: JsonObject) -> Iterator[Problem]:
    for resource, amount in given_by(node).items():
        if resource in (*RESOURCES, "pods") and (why := why_no_quantity(amount)):
            yield Problem(f"status.allocatable[{resource}]", why, beyond=False)
    for index, taint in enumerate(_taints(node)):
        if taint.effect not in (*EFFECTS, PREFER_NO_SCHEDULE):
            yield Problem(f"spec.taints[{index}].effect", f"{taint.effect!r} is no effect", beyond=False)


def soft_taints(node: JsonObject) -> list[Taint]:
    return [taint for taint in _taints(node) if taint.effect == PREFER_NO_SCHEDULE]


def _taints(node: JsonObject) -> list[Taint]:
    taints = (node.get("spec") or {}).get("taints") or ()
    return [Taint(taint["key"], taint.get("value") or "", taint.get("effect") or "") for taint in taints]


# pods


@dataclass(frozen=True, slots=True)
class Translation:
    """A pod in Kestrel's terms, and what they do not say.

    spec: without what has a problem.  lasting: problems that matter wherever the pod is.  placing: those that matter
    when it is placed.  repelling: anti-affinity terms that spec has not, which keep other pods away while it stays.
    notes: what means the same to Kestrel in most cases.
    """

    spec: PodSpec
    lasting: tuple[Problem, ...]
    placing: tuple[Problem, ...]
    repelling: tuple[ReadTerm, ...]
    notes: tuple[Problem, ...]

    @property
    def terms(self) -> tuple[Term, ...]:
        return (*self.spec.affinity_terms, *self.spec.anti_terms)


def translation(pod: JsonObject) -> Translation:
    """Of a pod that is bound or will be; `problems_of_new` has more about one that is not created yet."""
    spec = pod["spec"]
    affinity, anti = required_terms(pod, "podAffinity"), required_terms(pod, "podAntiAffinity")
    lasting = list(_lasting(pod))
    try:
        amounts = taken(pod)
    except QuantityError as error:
        amounts = (0, 0)
        lasting += _bad_quantities(spec) or [Problem("status", str(error), beyond=False)]
    record = PodSpec(
        _request(spec, amounts),
        spec.get("priority") or 0,
        labels_of(pod),
        tuple(read.term for read in affinity if read.term is not None),
        tuple(read.term for read in anti if read.term is not None),
        spec.get("preemptionPolicy") != "Never",
    )
    placing = [*of_any_pod(spec), *preferred_terms(pod)]
    placing += [problem for read in (*affinity, *anti) for problem in read.problems]
    repelling = tuple(read for read in anti if read.term is None)
    return Translation(record, tuple(lasting), tuple(placing), repelling, tuple(_notes(record)))


class Translations(Reading):
    """Of pods that are not changed meanwhile: where states are much alike each is translated once."""

    def __init__(self) -> None:
        self._made: dict[int, tuple[JsonObject, Translation]] = {}

    def pod(self, obj: JsonObject) -> Translation:
        found = self._made.get(id(obj))
        if found is None:
            found = self._made[id(obj)] = obj, translation(obj)
        return found[1]


def problems_of_new(pod: JsonObject, read: Translation) -> tuple[Problem, ...]:
    """Everything that keeps a pod which is not created yet from being previewed."""
    return (*of_new_pods(pod["spec"]), *read.lasting, *read.placing)


def age(pod: JsonObject) -> tuple[str, str]:
    """Order of the seq of pods that are bound: when they came to their node, as nearly as it is told, then by name.

    status.startTime is what kube-scheduler compares; a pod that no kubelet has seen yet was bound or created at a time.
    """
    status = pod.get("status") or {}
    bound = (one.get("lastTransitionTime") for one in status.get("conditions") or () if one["type"] == "PodScheduled")
    times = (status.get("startTime"), *bound, pod["metadata"].get("creationTimestamp"), UNTIMED)
    return next(str(time) for time in times if time), name_of(pod)


def _request(spec: JsonObject, amounts: tuple[int, ...]) -> Request:
    selector = tuple(sorted((spec.get("nodeSelector") or {}).items()))
    borne = tuple(tolerations(spec.get("tolerations") or ()))
    return fit(amounts, selector, borne)._replace(node_name=only_node(spec))


def tolerations(given: Iterable[JsonObject]) -> Iterator[Toleration]:
    """tolerationSeconds limits how long a pod stays, not where it may go; PreferNoSchedule is about no taint here."""
    for toleration in given:
        key, operator = toleration.get("key") or "", toleration.get("operator") or "Equal"
        value, effect = toleration.get("value") or "", toleration.get("effect") or ""
        if effect != PREFER_NO_SCHEDULE and (operator == "Exists" or (operator == "Equal" and key)):
            yield Toleration(key, operator, value, effect)


def _lasting(pod: JsonObject) -> Iterator[Problem]:
    spec = pod["spec"]
    if spec.get("resources"):
        yield beyond("spec.resources", "counts what containers ask for")
    if (pod.get("status") or {}).get("nodeAllocatableResourceClaimStatuses"):
        yield beyond("status.nodeAllocatableResourceClaimStatuses", "counts what containers ask for")
    if spec.get("priorityClassName") and spec.get("priority") is None:
        yield Problem("spec.priorityClassName", f"what priority is {spec['priorityClassName']!r}?", beyond=False)


def _bad_quantities(spec: JsonObject) -> list[Problem]:
    return [
        Problem(field, why, beyond=False)
        for field, name, amount in asked_for(spec)
        if name in RESOURCES and (why := why_no_quantity(amount))
    ]


def _notes(spec: PodSpec) -> Iterator[Problem]:
    if len({term.match for term in spec.affinity_terms}) > 1:
        yield beyond(
            "spec.affinity.podAffinity",
            "lets each term be met by other pods, where kube-scheduler counts only pods that all of them match",
        )

"""Changes of a pod that may make it fit: less of a resource, fewer conditions, more tolerations, a higher priority.

They are found on a trial, which places nothing; `explaining` tells only those that the placer bears out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from functools import partial
from typing import Any

from kube32_sim.api import quantity
from kube32_sim.api.pod_state import SCHEDULER_NAMES
from kube32_sim.api.requests import DEFAULT_MEMORY, declared
from kube32_sim.kestrel.filters import untolerated
from kube32_sim.preview.placements import ClusterState, JsonObject
from kube32_sim.preview.trials import KestrelTrial, Kube32Trial, Trial
from kube32_sim.translation.amounts import STEPS
from kube32_sim.translation.beyond import REQUIRED, only_node
from kube32_sim.translation.terms import name_of

Edit = Callable[[ClusterState, JsonObject], tuple[ClusterState, JsonObject]]
BYTES = frozenset(("memory", "ephemeral-storage", "esp32.io/psram", "esp.io/psram"))
"""Resources that are shown with binary suffixes."""
KINDS = (
    "request",
    "selector",
    "affinity",
    "scheduling",
    "toleration",
    "uncordon",
    "ready",
    "priority",
    "delete",
    "board",
)
"""What can be changed, from what touches least to what costs most."""
_NOWHERE_NEAR = 2**50


@dataclass(frozen=True, slots=True)
class Change:
    """One change that makes a pod fit.

    kind: one of `KINDS`.  of: the object that is changed, `pod/default/web` or `node/esp32-3`.  field: its path there;
    "" where the whole object comes or goes.  before, after: JSON values, None for nothing; amounts are quantities.
    text: what to do, in words.  share: of what is asked for how much has to go, 0 to 1; 0 where no amount changes.

    nodes: where the pod fits with it, sorted; victims: `namespace/name` of pods that it would evict there (then nodes
    is the one node).  edit: makes the changed state and pod of the ones that were asked about, and changes neither.
    """

    kind: str
    of: str
    field: str
    before: Any
    after: Any
    text: str
    edit: Edit = dataclass_field(repr=False, compare=False)
    share: float = 0.0
    nodes: tuple[str, ...] = ()
    victims: tuple[str, ...] = ()

    @property
    def order(self) -> tuple[int, float, int, str]:
        """Smallest first: by kind, then the share that has to go, then what opens most nodes."""
        return KINDS.index(self.kind), self.share, -len(self.nodes), self.text


def of_pod(edit: Callable[[JsonObject], JsonObject]) -> Edit:
    return lambda state, pod: (state, edit(pod))


def pod_changes(trial: Trial, pod: JsonObject) -> Iterator[Change]:
    """Each by itself makes the pod reach a node of the trial."""
    yield from reductions(trial, pod)
    for change in relaxations(trial, pod):
        if trial.reachable(change.edit(_NO_STATE, pod)[1]):
            yield change
    if isinstance(trial, KestrelTrial):
        yield from _priority(trial, pod)


_NO_STATE = ClusterState((), ())
"""For edits of pods, which hand the state on."""


# amounts


@dataclass(frozen=True, slots=True)
class Asked:
    """What one container asks of a resource.  amount: in units, which are thousandths of cpu and ones of all else.

    text: as it stands there, None where it is a default.
    """

    kind: str
    index: int
    container: str
    resource: str
    amount: int
    text: str | None

    @property
    def field(self) -> str:
        return f"spec.{self.kind}[{self.index}].resources.requests[{self.resource}]"

    def shown(self, amount: int) -> str:
        return shown(self.resource, amount)

    def set(self, pod: JsonObject, amount: int) -> JsonObject:
        """The pod with another amount; of what only some nodes have also the limit, which has to be the same."""
        containers = list(pod["spec"][self.kind])
        container = containers[self.index]
        resources = dict(container.get("resources") or {})
        for part in ("requests", "limits"):
            amounts = dict(resources.get(part) or {})
            if part == "limits" and not ("/" in self.resource and self.resource in amounts):
                continue
            amounts[self.resource] = self.shown(amount)
            if not amount and "/" in self.resource:
                del amounts[self.resource]
            resources[part] = amounts
        containers[self.index] = {**container, "resources": resources}
        return {**pod, "spec": {**pod["spec"], self.kind: containers}}


def shown(resource: str, amount: int) -> str:
    """A quantity, of an amount in the resource's units."""
    form = quantity.BINARY_SI if resource in BYTES else quantity.DECIMAL_SI
    return quantity.from_nanos(amount * _unit(resource), form).text


def _unit(resource: str) -> int:
    return STEPS["cpu"] if resource == "cpu" else quantity.NANO


def asked(pod: JsonObject, *, defaults: bool) -> list[Asked]:
    """All that is asked for and more than nothing; defaults: also the memory of a pod that does not say."""
    found, says = list[Asked](), False
    for kind in ("containers", "initContainers"):
        for index, container in enumerate(pod["spec"].get(kind) or ()):
            for resource, text in declared(container).items():
                says = says or resource == "memory"
                try:
                    nanos = quantity.parse(str(text)).nanos
                except quantity.QuantityError:
                    continue
                amount = -(-nanos // _unit(resource))
                if amount > 0:
                    found.append(Asked(kind, index, str(container.get("name", "")), resource, amount, str(text)))
    if defaults and not says and pod["spec"].get("containers"):
        first = pod["spec"]["containers"][0]
        found.append(Asked("containers", 0, str(first.get("name", "")), "memory", DEFAULT_MEMORY, None))
    return found


def reductions(trial: Trial, pod: JsonObject, only: str = "") -> Iterator[Change]:
    """For each resource the smallest amount less, in one container, with which the pod reaches a node.

    only: of this resource.  That less never closes a node makes halving exact.
    """
    best: dict[str, Change] = {}
    for one in asked(pod, defaults=isinstance(trial, Kube32Trial)):
        if only and one.resource != only:
            continue
        most = _most(trial, one, pod)
        if most is None or (not most and "/" not in one.resource):  # nothing runs without memory, or cpu
            continue
        change = _reduction(pod, one, most)
        if one.resource not in best or change.share < best[one.resource].share:
            best[one.resource] = change
    yield from best.values()


def _most(trial: Trial, one: Asked, pod: JsonObject) -> int | None:
    """The largest amount below what is asked that reaches a node."""
    if not trial.reachable(one.set(pod, 0)):
        return None
    low, high = 0, one.amount
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if trial.reachable(one.set(pod, middle)) else (low, middle)
    return low


def _reduction(pod: JsonObject, one: Asked, amount: int) -> Change:
    less = one.shown(one.amount - amount)
    gone = not amount and "/" in one.resource
    several = len(pod["spec"].get("containers") or ()) + len(pod["spec"].get("initContainers") or ()) > 1
    where = f" in container {one.container}" if several else ""
    text = f"without {one.resource}{where}" if gone else f"{less} less {one.resource}{where}"
    return Change(
        "request",
        f"pod/{name_of(pod)}",
        one.field,
        one.text,
        None if gone else one.shown(amount),
        text,
        of_pod(partial(one.set, amount=amount)),
        (one.amount - amount) / one.amount,
    )


def growth(trial: Trial, pod: JsonObject) -> list[tuple[Asked, int]]:
    """Of a pod that reaches a node: up to which amount of each resource it still does, the tightest first.

    What nothing bounds is left out.
    """
    found = []
    for one in asked(pod, defaults=isinstance(trial, Kube32Trial)):
        low, high = one.amount, 2 * one.amount
        while high < _NOWHERE_NEAR and trial.reachable(one.set(pod, high)):
            low, high = high, 2 * high
        if high >= _NOWHERE_NEAR:
            continue
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if trial.reachable(one.set(pod, middle)) else (low, middle)
        found.append((one, low))
    return sorted(found, key=lambda item: (item[1] - item[0].amount) / item[0].amount)


# conditions


def relaxations(trial: Trial, pod: JsonObject) -> Iterator[Change]:
    """Conditions that can be dropped, and taints that can be tolerated, whether that helps or not."""
    of, spec = f"pod/{name_of(pod)}", pod["spec"]
    for key, value in sorted((spec.get("nodeSelector") or {}).items()):
        edit = of_pod(partial(_without_selector, key=key))
        yield Change("selector", of, f"spec.nodeSelector[{key}]", value, None, f"without selector {key}={value}", edit)
    if isinstance(trial, KestrelTrial):
        yield from _terms(of, pod)
        yield from _tolerations(trial, of, pod)
    else:
        yield from _left_alone(of, pod)


def _with_spec(pod: JsonObject, **fields: Any) -> JsonObject:
    """None: without the field."""
    spec = {**pod["spec"], **fields}
    return {**pod, "spec": {name: value for name, value in spec.items() if value is not None}}


def _without_selector(pod: JsonObject, key: str) -> JsonObject:
    selector = {name: value for name, value in pod["spec"]["nodeSelector"].items() if name != key}
    return _with_spec(pod, nodeSelector=selector or None)


def _terms(of: str, pod: JsonObject) -> Iterator[Change]:
    affinity = pod["spec"].get("affinity") or {}
    for kind, called in (("podAffinity", "affinity"), ("podAntiAffinity", "anti-affinity")):
        for index, term in enumerate((affinity.get(kind) or {}).get(REQUIRED) or ()):
            edit = of_pod(partial(_without_term, kind=kind, index=index))
            text = f"without the {called} term about {_labels(term)} by {term.get('topologyKey', '')}"
            yield Change("affinity", of, f"spec.affinity.{kind}.{REQUIRED}[{index}]", term, None, text, edit)
    if node := only_node(pod["spec"]):
        rest = {kind: value for kind, value in affinity.items() if kind != "nodeAffinity"}
        edit = of_pod(partial(_with_spec, affinity=rest or None))
        field = "spec.affinity.nodeAffinity"
        yield Change("affinity", of, field, affinity["nodeAffinity"], None, f"not only on node {node}", edit)


def _labels(term: JsonObject) -> str:
    match = (term.get("labelSelector") or {}).get("matchLabels") or {}
    return ",".join(f"{key}={value}" for key, value in sorted(match.items())) or "all pods"


def _without_term(pod: JsonObject, kind: str, index: int) -> JsonObject:
    affinity = pod["spec"]["affinity"]
    terms = [term for place, term in enumerate(affinity[kind][REQUIRED]) if place != index]
    return _with_spec(pod, affinity={**affinity, kind: {**affinity[kind], REQUIRED: terms}})


def _tolerations(trial: KestrelTrial, of: str, pod: JsonObject) -> Iterator[Change]:
    borne = trial.request(pod).tolerations
    taints = {taint for node in trial.table.nodes.values() for taint in node.taints}
    given = pod["spec"].get("tolerations") or []
    for taint in sorted(taints):
        if untolerated((taint,), borne) is None:
            continue
        toleration = {"key": taint.key, "operator": "Exists", "effect": taint.effect}
        if taint.value:
            toleration |= {"operator": "Equal", "value": taint.value}
        shown = f"{taint.key}={taint.value}" if taint.value else taint.key
        edit = of_pod(partial(_with_spec, tolerations=[*given, toleration]))
        text = f"with a toleration of {shown}:{taint.effect}"
        yield Change("toleration", of, f"spec.tolerations[{len(given)}]", None, toleration, text, edit)


def _left_alone(of: str, pod: JsonObject) -> Iterator[Change]:
    """What keeps the scheduler from looking for a node at all."""
    spec = pod["spec"]
    if spec.get("schedulingGates"):
        gates = spec["schedulingGates"]
        edit = of_pod(partial(_with_spec, schedulingGates=None))
        yield Change("scheduling", of, "spec.schedulingGates", gates, None, "without its scheduling gates", edit)
    if spec.get("nodeName"):
        edit = of_pod(partial(_with_spec, nodeName=None))
        yield Change("scheduling", of, "spec.nodeName", spec["nodeName"], None, "without spec.nodeName", edit)
    name = spec.get("schedulerName", "")
    if name not in SCHEDULER_NAMES:
        edit = of_pod(partial(_with_spec, schedulerName="default-scheduler"))
        text = "with the scheduler default-scheduler"
        yield Change("scheduling", of, "spec.schedulerName", name, "default-scheduler", text, edit)


def _priority(trial: KestrelTrial, pod: JsonObject) -> Iterator[Change]:
    """The lowest priority with which the pod may evict those in its way."""
    spec = trial.spec(pod)
    if not spec.preempts:
        return
    residents = (stay for stays in trial.residents.values() for stay in stays)
    above = sorted({stay.spec.spec.priority + 1 for stay in residents} - set(range(spec.priority + 1)))
    if not above or not trial.reachable(_with_spec(pod, priority=above[-1])):
        return
    low, high = -1, len(above) - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if trial.reachable(_with_spec(pod, priority=above[middle])) else (middle, high)
    value = above[high]
    edit = of_pod(partial(_with_spec, priority=value))
    of, before = f"pod/{name_of(pod)}", spec.priority
    yield Change("priority", of, "spec.priority", before, value, f"with priority {value}", edit)

"""Changes of a cluster that may make a pod fit: a node that takes pods again, a pod less, a board more."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice

from kube32_controllers.pod_control import controlling
from kube32_controllers.scheduler_figures import node_figures

from kube32_sim.kestrel.filters import evaluate, static_reason
from kube32_sim.kestrel.models import Node
from kube32_sim.kestrel.profiles import KUBE32
from kube32_sim.preview.boards import Firewalls
from kube32_sim.preview.changes import Change, Edit, pod_changes
from kube32_sim.preview.placements import ClusterState, JsonObject
from kube32_sim.preview.trials import Altered, KestrelTrial, Stay, Trial
from kube32_sim.translation.kubernetes import UNSCHEDULABLE, kestrel_node
from kube32_sim.translation.terms import ZONE_LABEL, name_of

MOST_TRIED = 500
"""Pods that are taken away on paper to see whether another fits then."""
_NOT_READY = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_ZONES = 5
_CURED = 20
"""So many nodes are cured on paper in search of a second change."""


# nodes that take nothing


def cures(state: ClusterState, trial: Trial, pod: JsonObject) -> Iterator[Change]:
    """Nodes on which the pod would fit if they took pods, those first that would be chosen."""
    found = []
    for obj in state.nodes:
        name = obj["metadata"]["name"]
        for change, cured in _cures_of(obj):
            free = _as_free(trial, cured)
            value = evaluate(trial.profile, trial.request(pod), free)
            if not isinstance(value, str) and not _kept_out(trial, pod, free):
                found.append((-value, name, change))
    yield from (change for _, _, change in sorted(found, key=lambda item: item[:2]))


def _record(trial: Trial, obj: JsonObject) -> Node:
    return kestrel_node(obj)[0] if isinstance(trial, KestrelTrial) else node_figures(obj)


def _as_free(trial: Trial, obj: JsonObject) -> Node:
    """A node as it would be, with what is free on it now."""
    record = _record(trial, obj)
    return replace(record, free=trial.table.nodes[record.name].free)


def _kept_out(trial: Trial, pod: JsonObject, node: Node) -> bool:
    rules = trial.rules(pod) if isinstance(trial, KestrelTrial) else None
    return rules is not None and bool(rules.reason(node))


def _cures_of(obj: JsonObject) -> Iterator[tuple[Change, JsonObject]]:
    """(change, the node with it)."""
    name, spec = obj["metadata"]["name"], obj.get("spec") or {}
    taints = spec.get("taints") or []
    if spec.get("unschedulable") or any(taint.get("key") == UNSCHEDULABLE.key for taint in taints):
        kept = [taint for taint in taints if taint.get("key") != UNSCHEDULABLE.key]
        cured = {**obj, "spec": {**spec, "unschedulable": False, "taints": kept}}
        edit = _of_node(name, cured)
        yield (
            Change("uncordon", f"node/{name}", "spec.unschedulable", True, False, f"uncordon node {name}", edit),
            cured,
        )
    status = obj.get("status") or {}
    conditions = status.get("conditions") or []
    ready = [one.get("status") for one in conditions if one.get("type") == "Ready"]
    kept = [taint for taint in taints if taint.get("key") not in _NOT_READY]
    if ready != ["True"] or len(kept) < len(taints):
        others = [one for one in conditions if one.get("type") != "Ready"]
        conditions = [*others, {"type": "Ready", "status": "True"}]
        cured = {**obj, "spec": {**spec, "taints": kept}, "status": {**status, "conditions": conditions}}
        before = ready[0] if ready else None
        field, edit = "status.conditions[Ready]", _of_node(name, cured)
        yield Change("ready", f"node/{name}", field, before, "True", f"node {name} ready again", edit), cured


def _of_node(name: str, cured: JsonObject) -> Edit:
    def edit(state: ClusterState, pod: JsonObject) -> tuple[ClusterState, JsonObject]:
        nodes = [cured if node["metadata"]["name"] == name else node for node in state.nodes]
        return replace(state, nodes=nodes), pod

    return edit


def with_cures(state: ClusterState, trial: Trial, pod: JsonObject) -> Iterator[tuple[Change, Change]]:
    """Two changes, in the order in which they are made: of a pod and of a node that takes none, or two of the node."""
    cured = ((obj, change, after) for obj in state.nodes for change, after in _cures_of(obj))
    for obj, change, after in islice(cured, _CURED):
        record = _record(trial, after)
        for second, last in _cures_of(after):
            if not isinstance(evaluate(trial.profile, trial.request(pod), _as_free(trial, last)), str):
                yield change, second
        with Altered(trial.table, {obj["metadata"]["name"]: (record.barred, record.taints)}):
            for first in pod_changes(trial, pod):
                yield first, change


# pods in the way


def removals(trial: Trial, pod: JsonObject) -> Iterator[Change]:
    """Pods without which the pod fits: those of the lowest priority first, of these the smallest."""
    candidates = sorted(_in_the_way(trial, pod), key=lambda item: item[0])
    for _, stay in candidates[:MOST_TRIED]:
        trial.leave(stay)
        reachable = trial.reachable(pod)
        trial.put_back(stay)
        if reachable:
            yield _removal(stay.obj)


def _in_the_way(trial: Trial, pod: JsonObject) -> Iterator[tuple[tuple[int, float, str], Stay]]:
    """Pods on nodes that would do but for what is on them; who holds too little of what is lacking is left out."""
    request = trial.request(pod)
    for name, stays in trial.residents.items():
        node = trial.table.nodes[name]
        if static_reason(trial.profile, request, node):
            continue
        lacks = [(check.place, check.least - node.free[check.place]) for check in request.checks]
        for stay in stays:
            amounts = trial.amounts(stay)
            if all(amounts[place] >= lack for place, lack in lacks if lack > 0):
                taken = zip(amounts, node.capacity, strict=True)
                size = sum(amount / capacity for amount, capacity in taken if capacity > 0)
                yield (stay.obj["spec"].get("priority") or 0, size, name_of(stay.obj)), stay


def _removal(victim: JsonObject) -> Change:
    name, owner = name_of(victim), controlling(victim)
    node = victim["spec"]["nodeName"]
    whose = f" ({owner.get('kind')} {owner.get('name')} one smaller)" if owner is not None else ""

    def edit(state: ClusterState, pod: JsonObject) -> tuple[ClusterState, JsonObject]:
        kept = [one for one in state.pods if one is not victim]
        return replace(state, pods=kept, replaced=[*state.replaced, victim]), pod

    text = f"without pod {name} on {node}{whose}"
    return Change("delete", f"pod/{name}", "", victim["metadata"]["name"], None, text, edit)


# one more board


def more_boards(state: ClusterState, trial: Trial, pod: JsonObject) -> Iterator[Change]:
    """The kinds of board on which the pod would fit alone, smallest first; by Kestrel's rules ordinary nodes too."""
    from kube32_sim.kubelet.boards import boards, machines
    from kube32_sim.kubelet.node_object import node_object

    kinds = {**boards(), **(machines() if isinstance(trial, KestrelTrial) else {})}
    for profile in sorted(kinds.values(), key=lambda one: _size(one.allocatable())):
        name = _unused(f"{profile.name}-new", trial.table.nodes)
        node = node_object(name, profile, profile.allocatable(), 0.0)
        for zone in _zones(state):
            added = _in_zone(node, zone)
            fits = not isinstance(evaluate(trial.profile, trial.request(pod), _record(trial, added)), str)
            if fits and not (
                trial.profile is KUBE32 and Firewalls.of_state(ClusterState([added], ())).refusal(pod, name)
            ):
                yield _one_more(added, profile.name, zone)


def _size(amounts: dict[str, int]) -> tuple[int, ...]:
    return tuple(amounts.get(name, 0) for name in ("memory", "esp32.io/psram", "cpu", "esp32.io/gpio"))


def _unused(name: str, taken: Iterable[str]) -> str:
    names, number = set(taken), 1
    while (unused := name if number == 1 else f"{name}-{number}") in names:
        number += 1
    return unused


def _zones(state: ClusterState) -> list[str]:
    """Where a node can be put: in no zone, where there are none."""
    labels = (node["metadata"].get("labels") or {} for node in state.nodes)
    return sorted({each[ZONE_LABEL] for each in labels if ZONE_LABEL in each})[:_ZONES] or [""]


def _in_zone(node: JsonObject, zone: str) -> JsonObject:
    labels = {**node["metadata"]["labels"], **({ZONE_LABEL: zone} if zone else {})}
    return {**node, "metadata": {**node["metadata"], "labels": labels}}


def _one_more(node: JsonObject, kind: str, zone: str) -> Change:
    def edit(state: ClusterState, pod: JsonObject) -> tuple[ClusterState, JsonObject]:
        return replace(state, nodes=[*state.nodes, node]), pod

    what = "board" if "esp32.io/board" in node["metadata"]["labels"] else "node"
    text = f"one more {kind} {what}" + (f" in zone {zone}" if zone else "")
    return Change("board", f"node/{node['metadata']['name']}", "", None, kind, text, edit)

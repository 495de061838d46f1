"""Where a preview by Kestrel's rules starts: the nodes and pods of a cluster, checked together with the wanted pods.

`kubernetes` translates one object; here is what takes several to know.  Every problem is found before a pod is placed.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kube32_controllers.scheduler_cache import waits_for_node

from kube32_sim.api.pod_state import finished
from kube32_sim.kestrel.models import NODE, ZONE, Node, PodSpec
from kube32_sim.preview.details import about_waiting, some
from kube32_sim.preview.placements import ClusterState, PreviewError, WantedPod
from kube32_sim.translation.amounts import RESOURCES
from kube32_sim.translation.beyond import Problem
from kube32_sim.translation.kubernetes import (
    Reading,
    Translation,
    age,
    problems_of_new,
    soft_taints,
)
from kube32_sim.translation.terms import HOSTNAME_LABEL, ZONE_LABEL, name_of

JsonObject = dict[str, Any]

_VOLUME = re.compile(r"spec\.volumes\[(\d+)\]")


@dataclass(frozen=True, slots=True)
class Subject:
    """A pod and what Kestrel makes of it.

    source: how messages call what it comes from.  template: where in that the pod is described, "" where it is the pod.
    volumes_from: where in that its volumes are, where they are not all in the template.
    """

    source: str
    obj: JsonObject
    read: Translation
    template: str = ""
    volumes_from: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Resident:
    """A pod that has its node.

    spec: what counts while it stays there.  doubts: what spec does not say, which matters when it is placed again.
    """

    obj: JsonObject
    read: Translation
    node: Node
    spec: PodSpec
    doubts: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class Start:
    """residents: in the order of their seq."""

    nodes: tuple[Node, ...]
    residents: tuple[Resident, ...]
    warnings: tuple[str, ...]


def start(state: ClusterState, wanted: Sequence[WantedPod], reading: Reading) -> Start:
    """state: at rest.  PreviewError with a line for each problem of a node, a wanted pod, or a pod that is there."""
    read = [reading.node(node) for node in state.nodes]
    new = [_subject(pod, reading) for pod in wanted]
    there = (_with_priority(pod, state) for pod in sorted(filter(_is_bound, state.pods), key=age))
    bound = [Subject(_title(pod), pod, reading.pod(pod)) for pod in there]
    asking = _asking(new, bound)
    lines = [f"node {node.name}: {problem}" for node, problems in read for problem in problems]
    lines += [_line(pod, problem, "; remove it") for pod in new for problem in problems_of_new(pod.obj, pod.read)]
    kinds = {pod.read.spec.labels: pod.obj for pod in new}.values()
    lines += [_line(pod, problem) for pod in bound for problem in _problems_of_bound(pod, kinds)]
    lines += _problems_of_domains(state.nodes, asking)
    if lines:
        raise PreviewError("\n".join(dict.fromkeys(lines)))
    nodes = {node.name: node for node, _ in read}
    warnings = [
        *_warnings_about_nodes(state.nodes, nodes.values(), NODE in asking),
        *_warnings_about_pods(new, bound, nodes),
        *about_waiting([name_of(pod) for pod in state.pods if waits_for_node(pod)]),
    ]
    return Start(tuple(nodes.values()), tuple(_residents(bound, nodes, state.nodes)), tuple(dict.fromkeys(warnings)))


def _subject(pod: WantedPod, reading: Reading) -> Subject:
    template = "spec.template" if pod.owner else ""
    return Subject(pod.source or f"pod {name_of(pod.obj)}", pod.obj, reading.pod(pod.obj), template, pod.volumes_from)


def _with_priority(pod: JsonObject, state: ClusterState) -> JsonObject:
    """A pod of a file may leave to its class what a server would have written down."""
    spec = pod["spec"]
    if spec.get("priority") is not None or not spec.get("priorityClassName"):
        return pod
    values = {one["metadata"]["name"]: one.get("value", 0) for one in state.priority_classes}
    value = values.get(spec["priorityClassName"])
    return pod if value is None else {**pod, "spec": {**spec, "priority": value}}


def _is_bound(pod: JsonObject) -> bool:
    return bool(pod["spec"].get("nodeName")) and not finished(pod)


def _title(pod: JsonObject) -> str:
    return f"pod {name_of(pod)} on node {pod['spec']['nodeName']}"


def _line(pod: Subject, problem: Problem, advice: str = "") -> str:
    where = _field(pod, problem.field)
    return f"{pod.source}: {where}: {problem.why}{advice if problem.beyond else ''}"


def _field(pod: Subject, field: str) -> str:
    """The path that a user finds in what the pod comes from."""
    volume = _VOLUME.match(field)
    if volume and int(volume[1]) < len(pod.volumes_from):
        origin = pod.volumes_from[int(volume[1])]
        return origin if "volumeClaimTemplates" in origin else origin + field[volume.end() :]
    return f"{pod.template}.{field}" if pod.template else field


def _without(nodes: Iterable[JsonObject], label: str) -> list[str]:
    return [node["metadata"]["name"] for node in nodes if label not in (node["metadata"].get("labels") or {})]


# problems


def _problems_of_bound(pod: Subject, new: Collection[JsonObject]) -> Iterator[Problem]:
    """What matters while it stays.  An anti-affinity term that Kestrel cannot say does where it is about a new pod."""
    yield from pod.read.lasting
    for term in pod.read.repelling:
        if any(term.may_select(one) for one in new):
            yield from term.problems


def _asking(new: Iterable[Subject], bound: Iterable[Subject]) -> dict[str, str]:
    """For each topology some pod that has terms about it which count from the start."""
    asking: dict[str, str] = {}
    for pod in new:
        for term in pod.read.terms:
            asking.setdefault(term.topology, pod.source)
    for pod in bound:
        if any(term.topology == NODE for term in pod.read.spec.anti_terms):
            asking.setdefault(NODE, pod.source)
    return asking


def _problems_of_domains(nodes: Sequence[JsonObject], asking: Mapping[str, str]) -> Iterator[str]:
    """Kestrel's domains are each node by itself, and zones: every node is in one."""
    outside = _without(nodes, ZONE_LABEL)
    if ZONE in asking and outside:
        yield f"no label {ZONE_LABEL} on node {some(outside)}: {asking[ZONE]} has affinity terms about zones"
    if NODE in asking:
        for label, names in _by_hostname(nodes).items():
            if len(names) > 1:
                where = f"on nodes {some(names)}"
                yield f"one {HOSTNAME_LABEL}={label} {where}: {asking[NODE]} has affinity terms about nodes"


def _by_hostname(nodes: Iterable[JsonObject]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for node in nodes:
        name = node["metadata"]["name"]
        found.setdefault((node["metadata"].get("labels") or {}).get(HOSTNAME_LABEL, name), []).append(name)
    return found


# pods that are there


def _residents(
    bound: Iterable[Subject], nodes: Mapping[str, Node], objects: Sequence[JsonObject]
) -> Iterator[Resident]:
    outside = dict.fromkeys(_without(objects, ZONE_LABEL))
    for pod in bound:
        node, spec = nodes.get(pod.obj["spec"]["nodeName"]), pod.read.spec
        if node is None:
            continue
        doubts = [*pod.read.placing, *pod.read.notes]
        if outside and any(term.topology == ZONE for term in pod.read.terms):
            doubts.append(Problem("spec.affinity", f"has terms about zones, and node {some(outside)} is in none"))
        if spec.anti_terms and node.name in outside:
            # Nobody is kept out of a zone by a pod that is in none; Kestrel would take the node for one.
            spec = replace(spec, anti_terms=tuple(term for term in spec.anti_terms if term.topology != ZONE))
        yield Resident(pod.obj, pod.read, node, spec, tuple(doubts))


# warnings


def _warnings_about_nodes(objects: Sequence[JsonObject], nodes: Collection[Node], hostnames: bool) -> Iterator[str]:
    for taint, names in _by_soft_taint(objects).items():
        yield f"taint {taint} of node {some(names)} does not count: Kestrel has no preferences"
    for place, resource in enumerate(RESOURCES):
        empty = [node.name for node in nodes if node.free[place] <= 0]
        if empty:
            yield f"no allocatable {resource} on node {some(empty)}: only pods that ask for none can be placed there"
    absent = [node["metadata"]["name"] for node in objects if not _may_be_ready(node)]
    if absent:
        yield f"node {some(absent)} is not Ready: Kestrel looks at taints only, and places pods there all the same"
    unnamed = _without(objects, HOSTNAME_LABEL)
    if hostnames and unnamed:
        yield f"no label {HOSTNAME_LABEL} on node {some(unnamed)}: its name stands for it in affinity terms"


def _may_be_ready(node: JsonObject) -> bool:
    """Or has a taint that says what it is; a file of nodes need not tell conditions."""
    conditions = (node.get("status") or {}).get("conditions") or ()
    ready = [one.get("status") for one in conditions if one.get("type") == "Ready"]
    taints = (node.get("spec") or {}).get("taints") or ()
    return ready in ([], ["True"]) or any(taint.get("key", "").startswith("node.kubernetes.io/") for taint in taints)


def _by_soft_taint(nodes: Iterable[JsonObject]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for node in nodes:
        for key, value, effect in soft_taints(node):
            text = f"{key}={value}:{effect}" if value else f"{key}:{effect}"
            found.setdefault(text, []).append(node["metadata"]["name"])
    return found


def _warnings_about_pods(new: Iterable[Subject], bound: Iterable[Subject], nodes: Collection[str]) -> Iterator[str]:
    for pod in new:
        for note in pod.read.notes:
            yield f"{pod.source}: {note}"
    for pod in bound:
        if pod.obj["spec"]["nodeName"] not in nodes:
            yield f"{pod.source}: there is no such node, and the pod does not count"

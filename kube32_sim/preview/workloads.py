"""The pods that manifests come to, in the order in which a cluster would make them.

`objects` reads the objects, `making` makes their pods, `admission` changes them; here they get their names, and what
the cluster already runs of the same objects is set aside.

A preview answers for all pods of an object, also where the cluster has it already: its pods that are there are left
out of the state, as if they were replaced.  That is where a rollout ends; on its way old and new pods are there at the
same time, and a preview that kept both would miss room that there will be.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import NamedTuple

from kube32_controllers.pod_control import controlling

from kube32_sim.api.pod_state import finished
from kube32_sim.api.resources import ResourceType
from kube32_sim.preview.admission import (
    StateLookup,
    admit,
    with_limit_range,
    with_node,
    with_priority_class,
    with_system_classes,
)
from kube32_sim.preview.making import TEMPLATE_LABEL, Making, making
from kube32_sim.preview.manifests import Manifest
from kube32_sim.preview.objects import CRON_JOB, LIMIT_RANGE, NODE, POD, PRIORITY_CLASS, WORKLOADS, accepted, row_of
from kube32_sim.preview.placements import ClusterState, JsonObject, PreviewError, WantedPod

THERE = "is on a node already, and counts as replaced: it is placed anew"
MOST_PODS = 50_000
"""Of one preview: `replicas: 2000000000` is to be an error and not an endless wait."""

_NO_CRON_JOB = (
    "makes Jobs in its own time, and they make pods, which do not count; preview its spec.jobTemplate as a Job"
)
_KINDS = ", ".join(row.kind for row in WORKLOADS)
_Key = tuple[str, str, str, str]
"""Group, kind, namespace and name of an object."""


class _Workload(NamedTuple):
    """An accepted object that makes pods."""

    manifest: Manifest
    row: ResourceType
    obj: JsonObject

    @property
    def namespace(self) -> str:
        return str(self.obj["metadata"]["namespace"])

    @property
    def key(self) -> _Key | None:
        """None where the name is generated: such an object is a new one every time."""
        metadata = self.obj["metadata"]
        return None if "generateName" in metadata else (self.row.group, self.row.kind, self.namespace, metadata["name"])

    @property
    def owner(self) -> str:
        return "" if self.row is POD else f"{self.row.kind}/{self.obj['metadata']['name']}"


def wanted_pods(
    manifests: Sequence[Manifest], state: ClusterState, *, of_kubernetes: bool = False, most: int = MOST_PODS
) -> tuple[list[WantedPod], ClusterState]:
    """The pods of Pods, Deployments, ReplicaSets, StatefulSets, DaemonSets, Jobs and ReplicationControllers.

    With them the state that they are placed on: it has the manifests' Nodes, PriorityClasses and LimitRanges, which
    count for all pods wherever they stand, lacks the pods that are replaced, and warns of that and more.  Other kinds
    are passed over.  Names that a cluster would generate end in a number.  Pods of an object share what is the same in
    them: never change it.  of_kubernetes: as Kubernetes' controllers make them, where those are not like kube32's.
    most: more pods than that are an error.

    Raises PreviewError with a line for everything that is wrong, and where no pods come out.
    """
    state, workloads, passed_over = _accepted(manifests, with_system_classes(state))
    state, replaced = _without_own_pods(state, workloads)
    makings = [making(workload.obj, state.nodes, of_kubernetes=of_kubernetes) for workload in workloads]
    _check_number(workloads, makings, most)
    none = [
        f"{workload.manifest.title}: makes no pods: {made.why_none}"
        for workload, made in zip(workloads, makings, strict=True)
        if not made.number
    ]
    pods = _made(workloads, makings, state)
    if not pods:
        why = [*passed_over, *none] or [f"no pods to place: pods are made by {_KINDS}"]
        raise PreviewError("\n".join(why))
    read = [f"{manifest.source}: {text}" for manifest in manifests for text in manifest.warnings]
    missing = _missing_namespaces(manifests, workloads, state)
    order = _uncertain_order(pods)
    return pods, replace(state, warnings=[*state.warnings, *read, *passed_over, *replaced, *none, *missing, *order])


def _uncertain_order(pods: Iterable[WantedPod]) -> Iterator[str]:
    """Controllers do not wait for each other."""
    kinds = list(dict.fromkeys(pod.owner.partition("/")[0] for pod in pods if pod.owner))
    if len(kinds) > 1:
        yield f"which controller makes its pods first is not certain; here: {', '.join(kinds)}"


def _missing_namespaces(
    manifests: Iterable[Manifest], workloads: Iterable[_Workload], state: ClusterState
) -> Iterator[str]:
    """Nothing can be created in them."""
    if state.namespaces is None:
        return
    there = {*state.namespaces, *(manifest.name for manifest in manifests if manifest.kind == "Namespace")}
    for name in dict.fromkeys(workload.namespace for workload in workloads):
        if name not in there:
            yield f'namespaces "{name}" not found: create it before these manifests'


@dataclass(slots=True)
class _Accepting:
    """The manifests that have been accepted so far.

    state: with their nodes, classes and ranges.  workloads: those that make pods.  seen: where each named one of them
    stands.  passed_over: why some that could have made pods do not count.
    """

    state: ClusterState
    workloads: list[_Workload] = field(default_factory=list)
    passed_over: list[str] = field(default_factory=list)
    seen: dict[_Key, str] = field(default_factory=dict)

    def take(self, manifest: Manifest, cluster: StateLookup) -> None:
        row = row_of(manifest)
        if row is None:
            return
        if row is CRON_JOB:
            self.passed_over.append(f"{manifest.title}: {_NO_CRON_JOB}")
            return
        obj = accepted(manifest, row, cluster)
        if row is NODE:
            self.state = with_node(self.state, obj)
        elif row is PRIORITY_CLASS:
            self.state = with_priority_class(self.state, obj, manifest.title)
        elif row is LIMIT_RANGE:
            self.state = with_limit_range(self.state, obj)
        else:
            self._add(_Workload(manifest, row, obj))

    def _add(self, workload: _Workload) -> None:
        key, manifest = workload.key, workload.manifest
        if key is not None:
            if key in self.seen:
                raise PreviewError(f"{manifest.title}: the same object as in {self.seen[key]}")
            self.seen[key] = manifest.source
        self.workloads.append(workload)


def _accepted(
    manifests: Iterable[Manifest], state: ClusterState
) -> tuple[ClusterState, list[_Workload], Sequence[str]]:
    """(the state with what counts from now on, the objects that make pods, what is passed over)."""
    accepting, problems = _Accepting(state), list[str]()
    cluster = StateLookup(state)
    for manifest in manifests:
        try:
            accepting.take(manifest, cluster)
        except PreviewError as error:
            problems.append(str(error))
    if problems:
        raise PreviewError("\n".join(problems))
    return accepting.state, accepting.workloads, accepting.passed_over


# what is there already


def _without_own_pods(state: ClusterState, workloads: Iterable[_Workload]) -> tuple[ClusterState, list[str]]:
    """The state without the pods that the objects have in it, and what to say about that."""
    by_key: dict[_Key, list[JsonObject]] = defaultdict(list)
    for pod in state.pods:
        for key in _keys(pod):
            by_key[key].append(pod)
    gone: set[int] = set()
    told = []
    for workload in workloads:
        if workload.key is None or workload.obj["spec"].get("paused"):  # a rollout that is held changes nothing
            continue
        own = by_key.get(workload.key, [])
        gone.update(map(id, own))
        placed = sum(bool(pod["spec"].get("nodeName")) and not finished(pod) for pod in own)
        if placed:
            pods = "1 pod, which counts" if placed == 1 else f"{placed} pods, which count"
            text = f"is in the cluster already, with {pods} as replaced; all its pods are placed anew"
            told.append(f"{workload.manifest.title}: {text if workload.row is not POD else THERE}")
    left = [pod for pod in state.pods if id(pod) not in gone]
    return replace(state, pods=left, replaced=[pod for pod in state.pods if id(pod) in gone]), told


def _keys(pod: JsonObject) -> Iterator[_Key]:
    """The objects that a pod may be part of: itself, its owner, and the Deployment of a ReplicaSet that owns it."""
    metadata = pod["metadata"]
    namespace, owner = metadata["namespace"], controlling(pod)
    yield "", "Pod", namespace, metadata["name"]
    if owner is None:
        return
    group, kind, name = (str(owner.get(key) or "") for key in ("apiVersion", "kind", "name"))
    group = group.rpartition("/")[0]
    yield group, kind, namespace, name
    suffix = f"-{(metadata.get('labels') or {}).get(TEMPLATE_LABEL, '')}"
    if kind == "ReplicaSet" and name.endswith(suffix):
        yield group, "Deployment", namespace, name.removesuffix(suffix)


# making the pods


def _check_number(workloads: Sequence[_Workload], makings: Sequence[Making], most: int) -> None:
    total = sum(made.number for made in makings)
    if total > most:
        largest = max(range(len(makings)), key=lambda index: makings[index].number)
        number, title = makings[largest].number, workloads[largest].manifest.title
        raise PreviewError(f"{title}: makes {number} of {total} pods; a preview places {most} at most")


class _Names:
    """The names of pods, each given once."""

    def __init__(self, pods: Iterable[JsonObject]) -> None:
        self._taken = {(pod["metadata"]["namespace"], pod["metadata"]["name"]) for pod in pods}
        self._numbers: dict[tuple[str, str], count[int]] = defaultdict(count)

    def take(self, namespace: str, name: str) -> bool:
        """Whether the name was free."""
        free = (namespace, name) not in self._taken
        self._taken.add((namespace, name))
        return free

    def generate(self, namespace: str, prefix: str) -> str:
        names = (f"{prefix}{number}" for number in self._numbers[namespace, prefix])
        return next(name for name in names if self.take(namespace, name))


def _made(workloads: Sequence[_Workload], makings: Sequence[Making], state: ClusterState) -> list[WantedPod]:
    """All pods.  Names that are not generated are taken first: the others have a choice."""
    names, cluster = _Names(state.pods), StateLookup(state)
    pods, problems = list[WantedPod](), list[str]()
    for workload, made in zip(workloads, makings, strict=True):
        fixed = [made.name(index) for index in range(made.number)] if made.name is not None else []
        clashes = [name for name in fixed if not names.take(workload.namespace, name)]
        problems += [f'{workload.manifest.title}: pods "{name}" already exists' for name in clashes]
    # Pods by themselves are bound before any controller looks; then each kind's loop makes all of its pods.
    turns = list(dict.fromkeys([POD, *(workload.row for workload in workloads)]))
    for workload, made in sorted(zip(workloads, makings, strict=True), key=lambda pair: turns.index(pair[0].row)):
        title = workload.manifest.title
        try:
            objects = _pods_of(workload, made, names, cluster)
            pods += [WantedPod(pod, workload.owner, title, made.volumes_from) for pod in objects]
        except PreviewError as error:
            problems.append(str(error))
    if problems:
        raise PreviewError("\n".join(problems))
    return pods


def _pods_of(workload: _Workload, made: Making, names: _Names, cluster: StateLookup) -> Iterator[JsonObject]:
    """Pods as they are when the scheduler sees them; where all are alike only the first one is looked at."""
    first: JsonObject | None = None
    for index in range(made.number):
        name = made.name(index) if made.name is not None else names.generate(workload.namespace, made.prefix)
        if first is not None and made.alike:
            yield {**first, "metadata": {**first["metadata"], "name": name}}
            continue
        pod = first = made.pod(index)
        pod["metadata"]["name"] = name
        admit(pod, cluster, workload.manifest.title)
        yield pod

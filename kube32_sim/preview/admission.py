"""What a cluster's admission does to a pod before it is scheduled: defaults of LimitRanges, the priority of its class,
tolerations that every pod gets.

The server's own plugins, over the state of a preview.  Those that only refuse and need more of the cluster than a
preview knows are left out: quotas, Pod Security, service accounts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kube32_sim.api.admission import AdmissionConfig, limit_ranger, priority, tolerations
from kube32_sim.api.errors import ApiError
from kube32_sim.api.strategies.base import Storage
from kube32_sim.preview.objects import POD, PRIORITY_CLASS, checked, context_of
from kube32_sim.preview.placements import ClusterState, JsonObject, PreviewError

_CONFIG = AdmissionConfig()
SYSTEM_CLASSES = (("system-cluster-critical", 2_000_000_000), ("system-node-critical", 2_000_001_000))
"""Every cluster has them."""


class StateLookup:
    """The priority classes and limit ranges of a state, as admission reads them (`strategies.base.Lookup`)."""

    def __init__(self, state: ClusterState) -> None:
        self._held = {
            priority.PRIORITY_CLASSES: {("", _name(each)): each for each in state.priority_classes},
            limit_ranger.LIMIT_RANGES: {(_namespace(each), _name(each)): each for each in state.limit_ranges},
        }

    def get(self, storage: Storage, namespace: str, name: str) -> JsonObject | None:
        return self._held.get(storage, {}).get((namespace, name))

    def list(self, storage: Storage, namespace: str = "") -> Sequence[JsonObject]:
        held = sorted(self._held.get(storage, {}).items(), key=lambda item: item[0])
        return [obj for (of, _), obj in held if namespace in ("", of)]


def _name(obj: JsonObject) -> str:
    return str(obj["metadata"]["name"])


def _namespace(obj: JsonObject) -> str:
    return str(obj["metadata"].get("namespace", ""))


def with_system_classes(state: ClusterState) -> ClusterState:
    there = {_name(each) for each in state.priority_classes}
    added = [{"metadata": {"name": name}, "value": value} for name, value in SYSTEM_CLASSES if name not in there]
    return replace(state, priority_classes=[*state.priority_classes, *added])


def with_node(state: ClusterState, obj: JsonObject) -> ClusterState:
    """A node that is only on paper so far; one that is there stays as it is."""
    there = any(_name(each) == _name(obj) for each in state.nodes)
    return state if there else replace(state, nodes=[*state.nodes, obj])


def with_limit_range(state: ClusterState, obj: JsonObject) -> ClusterState:
    key = (_namespace(obj), _name(obj))
    kept = [each for each in state.limit_ranges if (_namespace(each), _name(each)) != key]
    return replace(state, limit_ranges=[*kept, obj])


def with_priority_class(state: ClusterState, obj: JsonObject, title: str) -> ClusterState:
    """Raises PreviewError for a second default class, and for a change of one that is there."""
    cluster, name = StateLookup(state), _name(obj)
    there = cluster.get(priority.PRIORITY_CLASSES, "", name)
    context = context_of(obj, PRIORITY_CLASS, cluster)
    if there is not None:
        old = dict(there)
        PRIORITY_CLASS.strategy.default(old)
        if failures := PRIORITY_CLASS.strategy.validate_update(obj, old, context):
            raise PreviewError("\n".join(f"{title}: {failure}" for failure in failures))
    try:
        priority.validate(obj, context)
    except ApiError as error:
        raise PreviewError(f"{title}: {error}") from None
    kept = [each for each in state.priority_classes if _name(each) != name]
    return replace(state, priority_classes=[*kept, obj])


def admit(pod: JsonObject, cluster: StateLookup, title: str) -> None:
    """Change a pod as its creation would, defaults of its kind included.  Raises PreviewError where it is refused."""
    POD.strategy.default(pod)
    context = context_of(pod, POD, cluster)
    try:
        for mutate in (limit_ranger.mutate, priority.mutate, tolerations.mutate):
            mutate("create", pod, None, context, _CONFIG)
        checked(pod, POD, cluster, f"{title}: pod {context.name}")
        limit_ranger.validate("create", pod, context)
    except ApiError as error:
        raise PreviewError(f"{title}: {error}") from None

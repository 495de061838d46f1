"""The namespace loop: a namespace that is being deleted is emptied, then let go.

Content is whatever namespaced type is stored, custom resources included; so the loop holds the resource table.
Condition types, reasons and messages are those of Kubernetes' namespace controller.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kube32_controllers.source import AllTypes
from kube32_sim.api.resources import ResourceTable, ResourceType
from kube32_sim.causes import Cause, ref
from kube32_sim.client import NAMESPACES, Resource
from kube32_sim.clock import rfc3339
from kube32_sim.runtime.actions import Action, Delete, Patch, Plan, Update, View
from kube32_sim.runtime.view import Event, Store

JsonObject = dict[str, Any]

COMPONENT = "namespace-controller"
FINALIZER = "kubernetes"
NAMESPACE_STORAGE = ("", "namespaces")
MOST_AT_ONCE = 1000
"""Objects of a type that one pass deletes: there may be a hundred thousand, and others are served between passes."""


@dataclass(frozen=True, slots=True)
class Content:
    """The objects of one type in the namespace, or as many of them as are to be deleted next.

    more: how many there are besides.
    """

    row: ResourceType
    objects: Sequence[JsonObject]
    more: int = 0

    @property
    def title(self) -> str:
        """The type as the conditions name it: `pods.`, `deployments.apps`."""
        return f"{self.row.plural}.{self.row.group}"


def plan_namespace(namespace: JsonObject, content: Sequence[Content], now: float) -> Plan:
    """What to do for a namespace that is being deleted; content: its types of which there are objects."""
    if "deletionTimestamp" not in namespace["metadata"] or FINALIZER not in namespace["spec"].get("finalizers", []):
        return Plan()
    name = namespace["metadata"]["name"]
    if not content:
        return Plan((_finalized(namespace),))
    cause = Cause(COMPONENT, "NamespaceDeleted", f"namespace {name} is being deleted", ref("Namespace", namespace))
    deletes: list[Action] = [
        Delete(
            _resource(kind.row), name, obj["metadata"]["name"], obj["metadata"]["uid"], others_go_on=True, cause=cause
        )
        for kind in content
        for obj in kind.objects
        if "deletionTimestamp" not in obj["metadata"]
    ]
    old = namespace.get("status", {}).get("conditions", [])
    if deletes:
        told = {"status": {"conditions": new_conditions(old, content, now, refused=True)}}
        return Plan((*deletes, Patch(NAMESPACES, "", name, {}, "status", if_refused=told)))
    conditions = new_conditions(old, content, now)
    if conditions == old:
        return Plan()
    return Plan((Patch(NAMESPACES, "", name, {"status": {"conditions": conditions}}, "status"),))


def _resource(row: ResourceType) -> Resource:
    return Resource(row.group, row.version, row.plural)


def _finalized(namespace: JsonObject) -> Update:
    left = [held for held in namespace["spec"]["finalizers"] if held != FINALIZER]
    obj = {**namespace, "apiVersion": "v1", "kind": "Namespace", "spec": {**namespace["spec"], "finalizers": left}}
    return Update(NAMESPACES, "", obj, "finalize")


def _remaining(content: Sequence[Content]) -> tuple[str, str, str]:
    parts = (f"{kind.title} has {len(kind.objects) + kind.more} resource instances" for kind in content)
    return "True", "SomeResourcesRemain", f"Some resources are remaining: {', '.join(parts)}"


def _held(content: Sequence[Content]) -> tuple[str, str, str]:
    counts: dict[str, int] = {}
    for kind in content:
        for obj in kind.objects:
            for held in obj["metadata"].get("finalizers", []):
                counts[held] = counts.get(held, 0) + 1
    if not counts:
        return "False", "ContentHasNoFinalizers", "All content-preserving finalizers finished"
    parts = ", ".join(f"{held} in {count} resource instances" for held, count in sorted(counts.items()))
    return "True", "SomeFinalizersRemain", f"Some content in the namespace has finalizers remaining: {parts}"


_DELETED = ("False", "ContentDeleted", "All content successfully deleted, may be waiting on finalization")


def _refused(content: Sequence[Content]) -> tuple[str, str, str]:
    """Where something may not be deleted; `{error}`: why (see `Patch`)."""
    return "True", "ContentDeletionFailed", f"Failed to delete all resource types, {len(content)} remaining: {{error}}"


def new_conditions(
    old: Sequence[JsonObject], content: Sequence[Content], now: float, *, refused: bool = False
) -> list[JsonObject]:
    wanted = {
        "NamespaceDeletionDiscoveryFailure": ("False", "ResourcesDiscovered", "All resources successfully discovered"),
        "NamespaceDeletionGroupVersionParsingFailure": (
            "False",
            "ParsedGroupVersions",
            "All legacy kube types successfully parsed",
        ),
        "NamespaceDeletionContentFailure": _refused(content) if refused else _DELETED,
        "NamespaceContentRemaining": _remaining(content),
        "NamespaceFinalizersRemaining": _held(content),
    }
    before = {condition["type"]: condition for condition in old}
    kept = [condition for condition in old if condition["type"] not in wanted]
    return kept + [_condition(before.get(kind), kind, *state, now) for kind, state in wanted.items()]


def _condition(old: JsonObject | None, kind: str, status: str, reason: str, message: str, now: float) -> JsonObject:
    since = rfc3339(now)
    if old is not None and old["status"] == status:
        since = old.get("lastTransitionTime", since)
    return {"lastTransitionTime": since, "message": message, "reason": reason, "status": status, "type": kind}


class NamespaceController:
    """See `runtime.loop.SweepingLoop`; its runner is to be given `source` for a view, and no interval."""

    name = "namespace"
    watches: tuple[Resource, ...] = ()

    def __init__(self, store: Store, table: ResourceTable, computed: Iterable[tuple[str, str]] = ()) -> None:
        """computed: types whose objects come and go by themselves and cannot be deleted."""
        self._computed = frozenset(computed)
        self._store = store
        self._table = table
        self.source = AllTypes(store, self.keys_of, self.initial_keys())

    def initial_keys(self) -> Iterator[str]:
        for stored in self._store.list(NAMESPACE_STORAGE):
            if stored.deleting:
                yield stored.name

    def keys_of(self, event: Event) -> Iterable[str]:
        """A namespace whose deletion begins, or from which an object has gone (or moved on) since."""
        stored = event.stored
        if stored.storage == NAMESPACE_STORAGE:
            return (stored.name,) if stored.deleting and event.type != "DELETED" else ()
        if not stored.namespace or not (stored.deleting or event.type == "DELETED"):
            return ()
        namespace = self._store.get(NAMESPACE_STORAGE, stored.namespace)
        return (stored.namespace,) if namespace is not None and namespace.deleting else ()

    def keys(self, resource: Resource, obj: JsonObject, view: View) -> Iterable[str]:
        return (obj["metadata"]["name"],)

    def sweep(self, view: View, now: float) -> Iterator[str | None]:
        return self.source.take()

    def plan(self, key: str, view: View, now: float) -> Plan:
        namespace = view.get(NAMESPACES, "", key)
        if namespace is None:
            return Plan()
        return plan_namespace(namespace, self._content(key), now)

    def _content(self, namespace: str) -> list[Content]:
        storages = (storage for storage in self._table.storages() if storage not in self._computed)
        rows = (self._table.by_storage(storage) for storage in storages)
        kinds = (self._content_of(row, namespace) for row in rows if row.namespaced)
        return [kind for kind in kinds if kind.objects]

    def _content_of(self, row: ResourceType, namespace: str) -> Content:
        """Only what is told of is decoded."""
        every = self._store.list(row.storage, namespace)
        if len(every) > MOST_AT_ONCE:
            chosen = [stored for stored in every if not stored.deleting][:MOST_AT_ONCE] or every
        else:
            chosen = every
        return Content(row, [stored.object() for stored in chosen], len(every) - len(chosen))

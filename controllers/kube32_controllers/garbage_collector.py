"""The garbage collector: objects go when all their owners have gone, and owners wait or let go as they were asked to.

It knows every stored type, so it reads the store itself: owners by uid, dependents by owner.  A key is the uid of an
object to look at; `keys_of` says which objects an event of the store concerns, `plan` decides about one of them.
The rules are those of kube-controller-manager's garbage collector:

    background   dependents of an object that is gone are deleted
    foreground   finalizer `foregroundDeletion`: dependents are deleted first; those that block hold the owner back
    orphan       finalizer `orphan`: the dependents lose their reference to the owner, then it goes

Owners that wait for each other in a circle would never go: the references of one of them are made to block no more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Protocol

from kube32_controllers.pod_control import BURST
from kube32_controllers.source import AllTypes
from kube32_sim.api.resources import ResourceTable, ResourceType
from kube32_sim.causes import Cause, Ref
from kube32_sim.client import Resource
from kube32_sim.runtime.actions import Action, Delete, Emit, Patch, Plan, View, reference
from kube32_sim.runtime.view import Store
from kube32_sim.storage.interface import Stored

JsonObject = dict[str, Any]

COMPONENT = "garbage-collector-controller"
FOREGROUND, ORPHAN = "foregroundDeletion", "orphan"
PAUSE = 1.0
"""Seconds until an owner of more dependents than one plan deals with is looked at again."""
MANY = 500
"""Owners that have gone are remembered at least so many at a time, as many as by kube-controller-manager."""


class Objects(Store, Protocol):
    """What the collector reads of a store."""

    def by_uid(self, uid: str) -> Any | None: ...

    def storages(self) -> Iterable[tuple[str, str]]: ...


@dataclass(slots=True)
class Owners:
    """The ownerReferences of one object, by what has become of the owner."""

    solid: list[JsonObject] = field(default_factory=list)
    """The owner is there, or nobody can tell (a kind that is not served)."""
    dangling: list[JsonObject] = field(default_factory=list)
    waiting: list[JsonObject] = field(default_factory=list)
    """The owner is being deleted and waits for its dependents."""
    misplaced: list[JsonObject] = field(default_factory=list)
    """A namespaced owner that is not in the object's namespace."""


def finalizers(obj: JsonObject) -> list[str]:
    found: list[str] = obj["metadata"].get("finalizers", [])
    return found


def awaits_dependents(stored: Stored) -> bool:
    return stored.deleting and FOREGROUND in finalizers(stored.object())


class GarbageCollector:
    """See `runtime.loop.SweepingLoop`; its runner is to be given `source` for a view, and no interval."""

    name = "garbage-collector"
    watches: tuple[Resource, ...] = ()

    def __init__(self, store: Objects, table: ResourceTable, computed: Iterable[tuple[str, str]] = ()) -> None:
        """computed: types whose objects come and go by themselves and cannot be written."""
        self._computed = frozenset(computed)
        self._store = store
        self._table = table
        self._gone: dict[str, tuple[str, str]] = {}
        """Group and name, by uid, of owners that went before their dependents: once their kind goes, who else knows?"""
        self._most_gone = MANY
        self.source = AllTypes(store, self.keys_of, self.initial_keys())

    def keys(self, resource: Resource, obj: JsonObject, view: View) -> Iterable[str]:
        return (obj["metadata"]["uid"],)

    def sweep(self, view: View, now: float) -> Iterator[str | None]:
        return self.source.take()

    # which objects to look at

    def initial_keys(self) -> Iterator[str]:
        """Everything stored that may need looking at, for the start on a store with content."""
        for storage in self._store.storages():
            for stored in self._store.list(storage):
                yield from self._concerned(stored)

    def keys_of(self, event: Any) -> Iterator[str]:
        """uids to look at after an event (`type`, `stored`, `previous`) of the store; cheap where nothing is amiss."""
        stored, previous = event.stored, event.previous
        if event.type == "DELETED":
            dependents = [dependent.uid for dependent in self._store.by_owner(stored.uid)]
            if dependents:
                self._remember(stored)
            yield from dependents
            yield from self._leaving_owners(stored.owners)
            return
        yield from self._concerned(stored)
        if previous is not None and previous.owners:
            leaving = list(self._leaving_owners(previous.owners))
            if leaving and _references(previous) != _references(stored):
                yield from leaving

    def _remember(self, owner: Stored) -> None:
        """It has gone.  Those whose last dependent has gone too are forgotten when there are many."""
        if len(self._gone) >= self._most_gone:
            self._gone = {uid: known for uid, known in self._gone.items() if self._store.by_owner(uid)}
            self._most_gone = max(MANY, 2 * len(self._gone))
        self._gone[owner.uid] = owner.storage[0], owner.name

    def _concerned(self, stored: Stored) -> Iterator[str]:
        if stored.storage in self._computed:
            return
        if stored.deleting or not all(self._sound(uid, stored.namespace) for uid in stored.owners):
            yield stored.uid

    def _sound(self, uid: str, namespace: str) -> bool:
        owner = self._store.by_uid(uid)
        return owner is not None and not owner.deleting and owner.namespace in ("", namespace)

    def _leaving_owners(self, uids: Iterable[str]) -> Iterator[str]:
        for uid in uids:
            owner = self._store.by_uid(uid)
            if owner is not None and owner.deleting:
                yield uid

    # what to do about one

    def plan(self, key: str, view: View, now: float) -> Plan:
        """Decide about the object with this uid."""
        stored = self._store.by_uid(key)
        row = self._row(stored) if stored is not None else None
        if stored is None or row is None:
            return Plan()
        if not stored.deleting:
            return Plan(tuple(self._plan_dependent(stored, row)))
        held = finalizers(stored.object())
        if ORPHAN in held:
            return _some(self._plan_orphaning(stored, row), now)
        if FOREGROUND in held:
            return _some(self._plan_foreground(stored, row), now)
        return Plan()

    def _row(self, stored: Stored) -> ResourceType | None:
        if stored.storage in self._computed:
            return None
        try:
            return self._table.by_storage(stored.storage)
        except KeyError:
            return None  # its CustomResourceDefinition has just gone

    def _plan_orphaning(self, stored: Stored, row: ResourceType) -> Iterator[Action]:
        """First every dependent lets go; a later pass, when none is left, lets the owner go."""
        dependents = list(self._store.by_owner(stored.uid))
        for dependent in dependents:
            dependent_row = self._row(dependent)
            if dependent_row is not None:
                yield _disowned(dependent, dependent_row, {stored.uid})
        if not dependents:
            yield _without_finalizer(stored, row, ORPHAN)

    def _plan_foreground(self, stored: Stored, row: ResourceType) -> Iterator[Action]:
        blocking = False
        for dependent in self._store.by_owner(stored.uid):
            dependent_row = self._row(dependent)
            if dependent_row is None:
                continue
            blocking = blocking or _blocks(dependent, stored.uid)
            if not dependent.deleting:
                yield from self._plan_dependent(dependent, dependent_row)
        if not blocking:
            yield _without_finalizer(stored, row, FOREGROUND)
        elif stored.owners and self._in_circle(stored):
            yield _unblocking(stored, row)

    def _in_circle(self, stored: Stored) -> bool:
        """Whether what an object waits for waits for it in turn, itself included."""
        seen: set[str] = set()
        found = [stored]
        while found:
            owner = found.pop()
            for dependent in self._store.by_owner(owner.uid):
                if dependent.uid in seen or not awaits_dependents(dependent) or not _blocks(dependent, owner.uid):
                    continue
                if dependent.uid == stored.uid:
                    return True
                seen.add(dependent.uid)
                found.append(dependent)
        return False

    def _plan_dependent(self, stored: Stored, row: ResourceType) -> Iterator[Action]:
        owners = self._owners(stored, row)
        yield from (_misplaced_event(stored, row, owner) for owner in owners.misplaced)
        if owners.solid:
            gone = {owner["uid"] for owner in owners.dangling + owners.waiting}
            if gone:
                yield _disowned(stored, row, gone)
        elif owners.dangling or owners.waiting:
            yield self._delete(stored, row, owners)

    def _delete(self, stored: Stored, row: ResourceType, owners: Owners) -> Delete:
        awaited = bool(owners.waiting)
        held = finalizers(stored.object())
        policy = "Background"
        if awaited and any(True for _ in self._store.by_owner(stored.uid)):
            policy = "Foreground"
        elif ORPHAN in held:
            policy = "Orphan"
        elif FOREGROUND in held:
            policy = "Foreground"
        cause = _why_deleted(stored, (owners.waiting or owners.dangling)[0], awaited=awaited)
        return Delete(_resource(row), stored.namespace, stored.name, stored.uid, propagation=policy, cause=cause)

    def _owners(self, stored: Stored, row: ResourceType) -> Owners:
        owners = Owners()
        for owner in _references(stored):
            self._sort(stored, row, owner, owners)
        return owners

    def _sort(self, stored: Stored, row: ResourceType, owner: JsonObject, into: Owners) -> None:
        """Put one reference where it belongs; it has to fit in kind, name and namespace as well as uid."""
        group, _, version = owner["apiVersion"].rpartition("/")
        kind = self._table.by_kind(group, version, owner["kind"])
        if kind is None or not kind.stored:
            seen_to_go = self._gone.get(owner["uid"]) == (group, owner["name"])
            (into.dangling if seen_to_go else into.solid).append(owner)
            return
        found = self._store.by_uid(owner["uid"])
        if kind.namespaced and not row.namespaced:
            into.misplaced.append(owner)
            into.solid.append(owner)
            return
        if found is None or found.storage != kind.storage or found.name != owner["name"]:
            into.dangling.append(owner)
        elif kind.namespaced and found.namespace != stored.namespace:
            into.misplaced.append(owner)
            into.dangling.append(owner)
        elif awaits_dependents(found):
            into.waiting.append(owner)
        else:
            into.solid.append(owner)


def _why_deleted(stored: Stored, owner: JsonObject, *, awaited: bool) -> Cause:
    what = f"{owner['kind']} {owner['name']}, which owns it,"
    message = f"{what} is being deleted and waits for it" if awaited else f"{what} has gone"
    about = Ref(owner["kind"], stored.namespace, owner["name"], owner["uid"])
    return Cause(COMPONENT, "OwnerGone", message, about)


def _some(actions: Iterator[Action], now: float) -> Plan:
    """As many actions as one plan may have; what is left over is the next one's."""
    some = tuple(islice(actions, BURST))
    return Plan(some, now + PAUSE if len(some) == BURST else None)


def _references(stored: Stored) -> list[JsonObject]:
    found: list[JsonObject] = stored.object()["metadata"].get("ownerReferences", [])
    return found


def _blocks(dependent: Stored, uid: str) -> bool:
    return any(owner["uid"] == uid and owner.get("blockOwnerDeletion") for owner in _references(dependent))


def _unblocking(stored: Stored, row: ResourceType) -> Patch:
    owners = [{**owner, "blockOwnerDeletion": False} for owner in _references(stored)]
    return _metadata_patch(stored, row, {"ownerReferences": owners})


def _resource(row: ResourceType) -> Resource:
    return Resource(row.group, row.version, row.plural)


def _metadata_patch(stored: Stored, row: ResourceType, changes: JsonObject) -> Patch:
    """A patch that only applies to the revision that was looked at."""
    metadata = {"uid": stored.uid, "resourceVersion": str(stored.revision), **changes}
    return Patch(_resource(row), stored.namespace, stored.name, {"metadata": metadata})


def _disowned(stored: Stored, row: ResourceType, uids: set[str]) -> Patch:
    left = [owner for owner in _references(stored) if owner["uid"] not in uids]
    return _metadata_patch(stored, row, {"ownerReferences": left or None})


def _without_finalizer(stored: Stored, row: ResourceType, finalizer: str) -> Patch:
    left = [held for held in finalizers(stored.object()) if held != finalizer]
    return _metadata_patch(stored, row, {"finalizers": left or None})


def _misplaced_event(stored: Stored, row: ResourceType, owner: JsonObject) -> Emit:
    about = reference(row.api_version, row.kind, stored.object())
    where = f"{owner['apiVersion']}/{owner['kind']}, namespace: {stored.namespace}, name: {owner['name']}"
    message = f'ownerRef [{where}, uid: {owner["uid"]}] does not exist in namespace "{stored.namespace}"'
    return Emit(about, "Warning", "OwnerRefInvalidNamespace", message, COMPONENT)

"""What any write but an apply does to managedFields: who changes a field owns it, who else did loses it."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from kube32_sim.api.managed.comparing import compared
from kube32_sim.api.managed.entries import UPDATE, Manager, Owned, Owners, capped, without_empty
from kube32_sim.api.managed.fieldset import FieldSet, difference, intersection, ordered, union
from kube32_sim.api.managed.resets import Told
from kube32_sim.api.managed.shapes import Shape

JsonObject = dict[str, Any]


class Versions(Protocol):
    """The versions that objects of a type are served in; objects are without apiVersion and kind."""

    def shape(self, version: str) -> Shape | None:
        """None: they are not served in that version."""

    def convert(self, obj: JsonObject, source: str, target: str) -> JsonObject: ...


class Write(NamedTuple):
    """A write as managedFields tell of it.  version: of the request.  told: what counts of it."""

    manager: str
    subresource: str
    now: str
    version: str
    shape: Shape
    told: Told
    versions: Versions

    def compared(self, old: JsonObject, new: JsonObject, version: str) -> tuple[FieldSet, FieldSet] | None:
        """(changed, removed) in a version; None where it is not served."""
        shape = self.shape if version == self.version else self.versions.shape(version)
        if shape is None:
            return None
        if version != self.version:
            old, new = (self.versions.convert(obj, self.version, version) for obj in (old, new))
        changed, removed = compared(shape, old, new)
        return self.told.of(changed), self.told.of(removed)


Differences = dict[str, tuple[FieldSet, FieldSet] | None]
Conflicts = dict[Manager, FieldSet]


def differences(write: Write, owners: Owners, old: JsonObject, new: JsonObject) -> Differences:
    """version -> what changed, for the version of the request and those of all owners."""
    found: Differences = {write.version: write.compared(old, new, write.version)}
    for owned in owners.values():
        if owned.version not in found:
            found[owned.version] = write.compared(old, new, owned.version)
    return found


def dispossessed(owners: Owners, found: Differences, but: Manager | None) -> tuple[Owners, Conflicts]:
    """(what is left to all, with `but` untouched; what the others lose because it is changed)."""
    left: Owners = {}
    conflicts: Conflicts = {}
    for manager, owned in owners.items():
        differs = found[owned.version]
        if manager == but:
            left[manager] = owned
        elif differs is not None:
            changed, gone = differs
            lost = intersection(owned.fields, changed)
            if lost:
                conflicts[manager] = lost
            fields = difference(difference(owned.fields, lost), gone)
            left[manager] = owned if fields is owned.fields else Owned(fields, owned.version, owned.time)
    return without_empty(left), conflicts


def created(write: Write, said: FieldSet) -> Owners:
    """The owner of a new object: who made it."""
    fields = write.told.of(said)
    own = Manager(write.manager, UPDATE, write.version, write.subresource)
    return {own: Owned(fields, write.version, write.now)} if fields else {}


def updated(write: Write, owners: Owners, old: JsonObject, new: JsonObject) -> Owners:
    """The owners after a write that made `new` of `old` (both without managedFields, in the version of the request)."""
    found = differences(write, owners, old, new)
    changed, gone = found[write.version] or ({}, {})
    if not (changed or gone) and all(differs is not None and not any(differs) for differs in found.values()):
        return owners
    own = Manager(write.manager, UPDATE, write.version, write.subresource)
    left, _ = dispossessed(owners, found, own)
    before = left.get(own)
    if before is not None and gone:
        left[own] = before = Owned(difference(before.fields, gone), before.version, before.time)
    if changed:
        had = before.fields if before is not None else {}
        fields = union(had, changed)
        left[own] = Owned(fields if fields is had else ordered(fields), write.version, write.now)
    return capped(without_empty(left) if gone else left)

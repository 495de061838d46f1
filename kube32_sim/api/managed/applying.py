"""Server-side apply: an object that says all that its manager wants of another, and nothing else.

What the manager applied before and no longer does goes, unless somebody else owns it too; what it applies anew and
others own is a conflict, unless it is the same or forced.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

from kube32_sim.api.errors import MOST_FAILURES, ApiError
from kube32_sim.api.managed.comparing import owned, with_structs
from kube32_sim.api.managed.entries import APPLY, Manager, Owned, Owners
from kube32_sim.api.managed.fieldset import (
    FieldSet,
    difference,
    field,
    intersection,
    paths,
    single,
    text,
    union,
)
from kube32_sim.api.managed.merging import merged, removed
from kube32_sim.api.managed.shapes import Shape
from kube32_sim.api.managed.tracking import Conflicts, Versions, Write, differences, dispossessed

JsonObject = dict[str, Any]


_NAME = single((field("metadata"), field("name")))
"""Every configuration says it, and nobody owns it: what it is in is not given up with the last thing else in it."""


class Conflict(Exception):
    """Others own fields that are applied with other values."""

    def __init__(self, conflicts: Conflicts) -> None:
        super().__init__("conflict")
        self.conflicts = conflicts


def applied(
    write: Write, owners: Owners, live: JsonObject, config: JsonObject, *, force: bool
) -> tuple[JsonObject | None, Owners]:
    """(the object wanted, None where it is the live one; its owners).  Raises Conflict.

    All objects are without managedFields and in the version of the request; config has been checked (see `checking`).
    """
    manager = Manager(write.manager, APPLY, "", write.subresource)
    last = owners.get(manager)
    fields = write.told.of(owned(write.shape, config))
    own = Owned(fields, write.version, last.time if last is not None else "")
    made = merged(write.shape, live, config)
    if last is not None and (last.version != write.version or difference(last.fields, fields)):
        said = own._replace(fields=union(fields, _NAME))
        made = _pruned(write, made, {**owners, manager: said}, last)
    wanted = {**owners, manager: own}
    found = differences(write, wanted, live, made)
    left, conflicts = dispossessed(wanted, found, manager)
    if conflicts and not force:
        raise Conflict(conflicts)
    if made == live:
        return None, left
    if manager in left:
        left[manager] = left[manager]._replace(time=write.now)
    return made, left


def _pruned(write: Write, made: JsonObject, owners: Owners, last: Owned) -> JsonObject:
    """Without what only this manager had applied, and does no longer."""
    shape = write.versions.shape(last.version)
    if shape is None:
        return made
    made = write.versions.convert(made, write.version, last.version)
    before = with_structs(shape, last.fields)
    pruned = removed(shape, made, before) or {}
    pruned = _with_owned(write.versions, last.version, made, pruned, owners)
    everything, left = (with_structs(shape, owned(shape, one)) for one in (made, pruned))
    pruned = removed(shape, made, intersection(difference(everything, left), before)) or {}
    return write.versions.convert(pruned, last.version, write.version)


def _with_owned(versions: Versions, version: str, made: JsonObject, pruned: JsonObject, owners: Owners) -> JsonObject:
    """With what was taken out put back where somebody owns it, this manager's new configuration included."""
    by_version: dict[str, FieldSet] = {}
    for entry in owners.values():
        by_version[entry.version] = union(by_version.get(entry.version, {}), entry.fields)
    for other in sorted(by_version, key=lambda one: one != version):
        shape = versions.shape(other)
        if shape is not None:
            there, left = (versions.convert(obj, version, other) for obj in (made, pruned))
            pruned = versions.convert(_put_back(shape, there, left, by_version[other]), other, version)
    return pruned


def _put_back(shape: Shape, made: JsonObject, pruned: JsonObject, fields: FieldSet) -> JsonObject:
    everything, left = (with_structs(shape, owned(shape, one)) for one in (made, pruned))
    kept = union(left, with_structs(shape, fields))
    return removed(shape, made, difference(everything, kept)) or {}


def conflict_error(conflicts: Conflicts) -> ApiError:
    """409, with a cause for each field, or for as many as anybody reads."""
    managers = sorted(conflicts, key=Manager.identifier)
    fields = ((manager, path) for manager in managers for path in paths(conflicts[manager]))
    told = [(manager.shown(), text(path)) for manager, path in islice(fields, MOST_FAILURES)]
    causes = [
        {"reason": "FieldManagerConflict", "message": f"conflict with {who}", "field": path} for who, path in told
    ]
    return ApiError(409, "Conflict", _message(told), {"causes": causes})


def _message(told: list[tuple[str, str]]) -> str:
    if len(told) == 1:
        who, path = told[0]
        return f"Apply failed with 1 conflict: conflict with {who}: {path}"
    lines: list[str] = []
    count = f"at least {len(told)}" if len(told) == MOST_FAILURES else str(len(told))
    for who in dict.fromkeys(who for who, _ in told):
        lines.append(f"conflicts with {who}:")
        lines += [f"- {path}" for other, path in told if other == who]
    return f"Apply failed with {count} conflicts: " + "\n".join(lines)


def beyond(conflicts: Conflicts, allowed: FieldSet) -> Conflicts:
    """The conflicts about other fields than those allowed."""
    left = {manager: difference(fields, allowed) for manager, fields in conflicts.items()}
    return {manager: fields for manager, fields in left.items() if fields}

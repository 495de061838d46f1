"""`metadata.managedFields`, read into who owns what and written again.

An applier is one whatever version it applies; who updates is told apart by version too (as upstream).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from kube32_sim.api.managed.fieldset import NOTHING, FieldSet, ordered, read, union
from kube32_sim.api.managed.gotext import quoted

JsonObject = dict[str, Any]

APPLY, UPDATE = "Apply", "Update"
LONGEST_NAME = 128
MOST_UPDATERS = 10
"""Further ones are put together, oldest first, as `ancient-changes`."""
ANCIENT = "ancient-changes"
BEFORE_FIRST_APPLY = "before-first-apply"


class Manager(NamedTuple):
    """Whose an entry is.  version: the apiVersion, "" for an applier."""

    name: str
    operation: str
    version: str = ""
    subresource: str = ""

    def identifier(self) -> str:
        """As upstream knows it, which is also how it orders managers."""
        given = zip(("manager", "operation", "apiVersion", "subresource"), self, strict=True)
        return json.dumps({name: value for name, value in given if value}, ensure_ascii=False, separators=(",", ":"))

    def shown(self) -> str:
        """As conflicts name it."""
        text = quoted(self.name)
        if self.subresource:
            text += f" with subresource {quoted(self.subresource)}"
        return f"{text} using {self.version}" if self.operation == UPDATE else text


class Owned(NamedTuple):
    """What a manager owns of the object in a version; time: RFC 3339, "" where it never changed anything."""

    fields: FieldSet
    version: str
    time: str = ""


Owners = dict[Manager, Owned]


def manager_name(given: str, user_agent: str) -> str:
    """The field manager of a request: the one it names, else the program that sends it."""
    if given:
        return given
    name = "".join(filter(str.isprintable, user_agent.partition("/")[0]))
    return name.encode("utf-8", "ignore")[:LONGEST_NAME].decode("utf-8", "ignore")


def is_reset(entries: Any) -> bool:
    """Whether managedFields are what a client has them forgotten by: one empty entry, or none at all."""
    return isinstance(entries, list) and (not entries or (len(entries) == 1 and not any((entries[0] or {}).values())))


def decoded(entries: Any, *, trusted: bool = False) -> Owners:
    """Nobody where there are none, or one that cannot be read.  trusted: they are what was once encoded here."""
    owners: Owners = {}
    for entry in entries or ():
        given = entry.get("fieldsV1") or NOTHING
        fields = given if trusted else read(given)
        operation, version = entry.get("operation", ""), entry.get("apiVersion", "")
        known = version and operation in (APPLY, UPDATE) and entry.get("fieldsType") == "FieldsV1"
        if fields is None or not known:
            return {}
        kept = "" if operation == APPLY else version
        manager = Manager(entry.get("manager", ""), operation, kept, entry.get("subresource", ""))
        owners[manager] = Owned(fields, version, entry.get("time", ""))
    return owners


def encoded(owners: Owners) -> list[JsonObject]:
    """The entries, appliers first, then by time."""
    if len(owners) == 1:
        return [_entry(manager, owned) for manager, owned in owners.items()]
    return [_entry(manager, owners[manager]) for manager in sorted(owners, key=lambda one: _order(one, owners[one]))]


def _order(manager: Manager, owned: Owned) -> tuple[str, str, str, str, str]:
    return (manager.operation, owned.time, manager.name, owned.version, manager.subresource)


def _entry(manager: Manager, owned: Owned) -> JsonObject:
    entry: JsonObject = {"manager": manager.name, "operation": manager.operation, "apiVersion": owned.version}
    if owned.time:
        entry["time"] = owned.time
    entry["fieldsType"] = "FieldsV1"
    entry["fieldsV1"] = owned.fields
    if manager.subresource:
        entry["subresource"] = manager.subresource
    return entry


def sorted_fields(owners: Owners) -> Owners:
    return {manager: owned._replace(fields=ordered(owned.fields)) for manager, owned in owners.items()}


def capped(owners: Owners) -> Owners:
    """The owners, with the oldest of too many updaters put together, those of each version by themselves."""
    updaters = [manager for manager in owners if manager.operation == UPDATE]
    if len(updaters) <= MOST_UPDATERS:
        return owners
    updaters.sort(key=lambda manager: (owners[manager].time, manager.identifier()))
    left = dict(owners)
    first: dict[str, Manager] = {}
    count = len(updaters)
    for manager in updaters:
        if count <= MOST_UPDATERS:
            break
        owned = left[manager]
        bucket = Manager(ANCIENT, UPDATE, owned.version)
        if owned.version not in first:
            first[owned.version] = manager
            continue
        if bucket not in left:
            left[bucket] = left.pop(first[owned.version])
        if manager != bucket:
            del left[manager]
            left[bucket] = Owned(ordered(union(owned.fields, left[bucket].fields)), owned.version, owned.time)
        count -= 1
    return left


def without_empty(owners: Mapping[Manager, Owned]) -> Owners:
    return {manager: owned for manager, owned in owners.items() if owned.fields}

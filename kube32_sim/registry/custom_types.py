"""Custom types come and go with their CustomResourceDefinitions, within the write that changes those.

After every write of a definition (`Hooks.settled`) its names are accepted or not, its status says so, its rows are in
the table, and there are APIServices for its versions; so the answer to a create comes when the type is served.  A
definition that is deleted goes when the last of its objects has gone.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

import orjson

from kube32_sim.api import errors
from kube32_sim.api.customs.naming import DEFINITIONS, FINALIZER, CustomType, Taken, is_true, status_of, terminating
from kube32_sim.api.options import DeleteOptions
from kube32_sim.api.resources import ResourceType
from kube32_sim.registry.asked import Asked
from kube32_sim.registry.registry import Registry
from kube32_sim.storage.interface import JsonObject, Storage
from kube32_sim.storage.objects import Event, StoredObject

log = logging.getLogger(__name__)

API_SERVICES: Storage = ("apiregistration.k8s.io", "apiservices")
AUTOMANAGED = "kube-aggregator.kubernetes.io/automanaged"
MANAGER = "kube-apiserver"
MOST_TRIES = 5
"""To give a definition its status, where others change it each time."""
_NAMING: ContextVar[bool] = ContextVar("naming", default=False)
"""Whether this is within `CustomTypes._naming`."""
_BY_VALUE = orjson.OPT_SORT_KEYS


@dataclass(slots=True)
class _Served:
    """What the table has of one definition.  made_of: tells one state of the definition from another."""

    type: CustomType
    made_of: bytes = b""
    told_of: bytes = b""
    """The state for which there are APIServices."""
    rows: list[ResourceType] = field(default_factory=list)
    unwatch: Callable[[], None] | None = None


@contextmanager
def _unless(reason: str) -> Iterator[None]:
    """A refusal for that reason is none."""
    try:
        yield
    except errors.ApiError as error:
        if error.reason != reason:
            raise


class CustomTypes:
    """ended: called with the storage of a type whose rows are others now, so that open watches of it end, and whether
    it has none any more."""

    def __init__(self, registry: Registry, ended: Callable[[Storage, bool], None]) -> None:
        self._registry = registry
        self._store = registry.store
        self._table = registry.table
        self._ended = ended
        self._served: dict[str, _Served] = {}
        self._names: dict[str, JsonObject] = {}
        """The accepted names of each definition."""
        self._taken: dict[str, Taken] = {}
        """All of them, by group."""
        self._telling: dict[str, int] = {}
        """How often the status of a definition is being written: a webhook may change it as soon as it is."""

    async def begin(self) -> None:
        """Serve what is stored already."""
        definitions = self._store.list(DEFINITIONS)
        for stored in definitions:
            crd = stored.object()
            self._have(crd, self._others(crd["spec"]["group"], stored.name))
        for stored in definitions:
            await self.go_on_with(stored)
        for group in {stored.object()["spec"].get("group", "") for stored in self._store.list(API_SERVICES)}:
            try:
                await self._drop_api_services_left(group)
            except errors.ApiError as error:
                log.warning("the APIServices of %s are left as they are at the start: %s", group, error.message)

    async def go_on_with(self, stored: StoredObject) -> None:
        """One that is half done: its status may not be stored, and its deletion may be under way.

        A start goes on without a definition that others do not let us write.
        """
        try:
            if stored.deleting and is_true(stored.object(), "Established"):
                await self._serve(stored)  # its objects have to go first
            await self.follow(stored)
        except errors.ApiError as error:
            log.warning("the definition %s is left as it is for now: %s", stored.name, error.message)

    async def _drop_api_services_left(self, group: str) -> None:
        """Those of a group of which no version is served any more."""
        for stored in self._store.list(API_SERVICES):
            if stored.name.endswith(f".{group}") and stored.labels.get(AUTOMANAGED) == "true":
                spec = stored.object()["spec"]
                if spec.get("group", "") == group and not self._table.rows(group, spec["version"]):
                    await self._drop_api_service(group, spec["version"])

    # where others write too

    def hear(self, event: Event) -> None:
        """A definition was written, perhaps by another process: serve what it says.

        Whatever else follows from it is written by the process that wrote it, or if that has ended, by the leader.
        """
        stored = event.stored
        current = self._store.get(DEFINITIONS, stored.key)
        group, name = stored.object()["spec"]["group"], stored.name
        taken = self._others(group, name)
        if current is None or (event.previous is not None and event.previous.uid != current.uid):
            self._drop_rows(name)
        if current is None:
            if not taken:
                del self._taken[group]
            return
        crd = current.object()
        self._have(crd, taken)
        if is_true(crd, "Established"):
            self._put_rows(current)
            self._served[name].type.terminating = current.deleting and is_true(crd, "Terminating")

    async def follow(self, stored: StoredObject) -> None:
        """A definition was written or deleted; stored: its last state."""
        current = self._store.get(DEFINITIONS, stored.key)
        if current is None or current.uid != stored.uid:
            group = stored.object()["spec"]["group"]
            if not self._others(group, stored.name):
                del self._taken[group]
            self._drop_rows(stored.name)
            await self._drop_api_services_left(group)
            await self._look_again(group)
        if current is None:
            return
        if current.deleting:
            await self._empty(current)
        else:
            await self._bring_up(current)

    # names and status

    async def _bring_up(self, stored: StoredObject) -> None:
        crd = stored.object()
        group = crd["spec"]["group"]
        freed = is_true(crd, "NamesAccepted") and crd["status"].get("acceptedNames") != crd["spec"]["names"]
        if self._status(crd) != crd.get("status"):
            if self._telling.get(stored.name, 0) < MOST_TRIES:
                async with self._naming(group):
                    await self._write_status(stored, self._status)
            if freed:
                await self._look_again(group)
            return
        if is_true(crd, "Established"):
            await self._serve(stored)

    def _status(self, crd: JsonObject) -> JsonObject:
        """What the status of a definition should be, as long as others have the names that they have now."""
        taken = self._others(crd["spec"]["group"], crd["metadata"]["name"])
        status = status_of(crd, taken, self._registry.clock.timestamp())
        self._have(crd, taken)
        return status

    @asynccontextmanager
    async def _naming(self, group: str) -> AsyncIterator[None]:
        """While it lasts nobody else gives names of a group; what follows from a status is a part of it."""
        if _NAMING.get():
            yield
            return
        async with self._store.deciding(f"definitions/{group}"):
            token = _NAMING.set(True)
            try:
                yield
            finally:
                _NAMING.reset(token)

    def _others(self, group: str, name: str) -> Taken:
        """The names of the others of a group; the definition itself has none of them until it is put there again."""
        taken = self._taken.setdefault(group, Taken())
        taken.drop(self._names.pop(name, {}))
        return taken

    def _have(self, crd: JsonObject, taken: Taken) -> None:
        """A definition has the names that its status says; taken: those of the others."""
        names = (crd.get("status") or {}).get("acceptedNames") or {}
        self._names[crd["metadata"]["name"]] = names
        taken.add(names)

    async def _look_again(self, group: str) -> None:
        """Names have become free: who was refused may have them now."""
        for other in self._store.list(DEFINITIONS):
            crd = other.object()
            if crd["spec"]["group"] == group and not other.deleting and not is_true(crd, "NamesAccepted"):
                await self._bring_up(other)

    async def _write_status(self, stored: StoredObject, status: Callable[[JsonObject], JsonObject]) -> None:
        """status: of the definition as it is when the status is stored."""
        asked = self._asked(DEFINITIONS, "", stored.name)._replace(subresource="status")

        def changed(current: JsonObject) -> JsonObject:
            return {**current, "metadata": dict(current["metadata"]), "status": status(current)}

        self._telling[stored.name] = self._telling.get(stored.name, 0) + 1
        try:
            await self._registry.patch(asked, changed)
        finally:
            self._telling[stored.name] -= 1
            if not self._telling[stored.name]:
                del self._telling[stored.name]

    def _asked(self, storage: Storage, namespace: str, name: str) -> Asked:
        return Asked(self._table.by_storage(storage), namespace, name, manager=MANAGER)

    # rows

    async def _serve(self, stored: StoredObject) -> None:
        self._put_rows(stored)
        served = self._served[stored.name]
        if served.told_of == served.made_of:
            return
        for group, version in sorted({(row.group, row.version) for row in served.rows if row.verbs}):
            await self._make_api_service(group, version)
        await self._drop_api_services_left(stored.object()["spec"]["group"])
        served.told_of = served.made_of

    def _put_rows(self, stored: StoredObject) -> None:
        """The table has what a definition says, and objects are what they are by it."""
        crd = stored.object()
        from kube32_sim.api.customs.rows import rows_of  # with all that knows schemas: a start can do without

        served = self._served.setdefault(stored.name, _Served(CustomType(stored.name)))
        made_of = orjson.dumps([crd["spec"], crd["status"]["acceptedNames"]], option=_BY_VALUE)
        if made_of == served.made_of:
            return
        for row in served.rows:
            self._table.remove(row)
        made = rows_of(crd, served.type)
        before, served.rows, served.made_of = served.rows, [] if self._hidden(made[0]) else made, made_of
        served.told_of = b""
        for row in served.rows:
            self._table.add(row)
        for first in served.rows[:1]:
            if first.custom is not None:
                self._store.retype(first.storage, first, first.custom.reformed)
        if before:
            self._ended(before[0].storage, False)

    def _hidden(self, wanted: ResourceType) -> bool:
        """Whether the server has a type of that name or kind itself, which is served then: upstream asks it first."""
        built_in = (row for row in self._table.rows(wanted.group) if row.custom is None)
        return any(row.plural == wanted.plural or row.kind == wanted.kind for row in built_in)

    async def _make_api_service(self, group: str, version: str) -> None:
        name = f"{version}.{group}"
        if self._store.get(API_SERVICES, name) is not None:
            return
        spec = {"group": group, "version": version, "groupPriorityMinimum": 1000, "versionPriority": 100}
        obj: JsonObject = {"metadata": {"name": name, "labels": {AUTOMANAGED: "true"}}, "spec": spec}
        with _unless("AlreadyExists"):  # another process makes the same
            await self._registry.create(self._asked(API_SERVICES, "", name), obj)

    async def _drop_api_service(self, group: str, version: str) -> None:
        stored = self._store.get(API_SERVICES, f"{version}.{group}")
        if stored is not None and stored.labels.get(AUTOMANAGED) == "true":
            with _unless("NotFound"):
                await self._registry.delete(self._asked(API_SERVICES, "", stored.name), DeleteOptions())

    def _drop_rows(self, name: str) -> None:
        served = self._served.pop(name, None)
        if served is None:
            return
        served.type.gone = True
        if served.unwatch is not None:
            served.unwatch()
        for row in served.rows:
            self._table.remove(row)
        if served.rows:
            storage = served.rows[0].storage
            self._store.retype(storage, self._table.by_storage(storage), lambda obj: obj)
            self._ended(storage, True)

    # the end

    async def _empty(self, stored: StoredObject) -> None:
        """The definition is being deleted: its objects go first."""
        served = self._served.get(stored.name)
        if FINALIZER not in stored.object()["metadata"].get("finalizers", ()):
            return
        if served is not None and served.rows:
            served.type.terminating = True
            left = await self._delete_objects(served.rows[0])
            if left:
                await self._wait_for_objects(stored, served)
                return
        await self._release(stored.name)

    async def _delete_objects(self, row: ResourceType) -> int:
        """Ask for the deletion of all objects; answers how many have something that holds them."""
        for stored in self._store.list(row.storage):
            if not stored.deleting:
                asked = Asked(row, stored.namespace, stored.name, manager=MANAGER)
                try:
                    await self._registry.delete(asked, DeleteOptions(uid=stored.uid))
                except errors.ApiError as error:
                    log.info("%s %s cannot be deleted with its definition: %s", row.plural, stored.key, error.message)
        return self._store.count(row.storage)

    async def _wait_for_objects(self, stored: StoredObject, served: _Served) -> None:
        told = "True", "InstanceDeletionInProgress", "CustomResource deletion is in progress"
        now = self._registry.clock.timestamp()
        if served.unwatch is None:
            name, storage = stored.name, served.rows[0].storage

            def gone(event: Event) -> None:
                if event.type == "DELETED" and not self._store.count(storage):
                    self._registry.clock.spawn(self._release_emptied(name), f"end of {name}")

            served.unwatch = self._store.subscribe(gone, [storage])
        if terminating(stored.object(), *told, now) != stored.object().get("status"):
            await self._write_status(stored, lambda current: terminating(current, *told, now))

    async def _release_emptied(self, name: str) -> None:
        """After the last of its objects has gone, when nobody waits for it."""
        try:
            await self._release(name)
        except errors.ApiError as error:
            log.warning("the definition %s stays although its objects have gone: %s", name, error.message)

    async def _release(self, name: str) -> None:
        """Nothing is left: the definition may go."""
        stored = self._store.get(DEFINITIONS, name)
        if stored is None or not stored.deleting:
            return

        def released(current: JsonObject) -> JsonObject:
            metadata = dict(current["metadata"])
            left = [each for each in metadata.get("finalizers", ()) if each != FINALIZER]
            metadata.pop("finalizers", None)
            return {**current, "metadata": {**metadata, "finalizers": left} if left else metadata}

        try:
            await self._registry.patch(self._asked(DEFINITIONS, "", name), released)
        except errors.ApiError as error:
            if error.code != 404:
                raise
        held = self._store.get(DEFINITIONS, name)
        if held is not None and held.deleting:
            await self._go_on(held)

    async def _go_on(self, stored: StoredObject) -> None:
        """Somebody else holds a definition whose objects have gone: until he lets go it is served as before."""
        served = self._served.get(stored.name)
        if served is not None:
            served.type.terminating = False
        told = "False", "InstanceDeletionCompleted", "removed all instances"
        now = self._registry.clock.timestamp()
        await self._write_status(stored, lambda current: terminating(current, *told, now))

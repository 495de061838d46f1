"""A load as a whole: checked against what there is, then stored in one go.

Between the first and the last write nothing else runs, where the store does not wait to write: loops see all of it, or
nothing; and so does the disk.  CustomResourceDefinitions go before, for their types have to be served; a store that is
shared with other processes sees the writes one by one.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

import orjson

from kube32_sim.api import errors
from kube32_sim.api.customs.naming import DEFINITIONS
from kube32_sim.api.errors import ApiError, FieldError
from kube32_sim.importing.conflicts import Fate, OnConflict, fate
from kube32_sim.importing.judging import JsonObject, Judged
from kube32_sim.importing.ordering import NAMESPACES, rank, waves
from kube32_sim.importing.telling import refusal, some
from kube32_sim.importing.translating import NODES, Translator, adopt
from kube32_sim.importing.writing import in_place_of, namespace, still
from kube32_sim.registry.asked import Asked, Hooks
from kube32_sim.registry.registry import Registry
from kube32_sim.registry.service_addresses import held_by
from kube32_sim.registry.waiting import ATTEMPTS
from kube32_sim.storage.collector import without_collector
from kube32_sim.storage.interface import KeyExists, KeyMissing, Outrun, Storage

SERVICES: Storage = ("", "services")
_CHANGED = frozenset((SERVICES, NODES))
AT_A_TIME = 64
"""Writes under way, where each waits."""
WAY_OUT = "--on-conflict skip leaves what is there, --on-conflict replace takes the snapshot's instead"


@dataclass(frozen=True, slots=True)
class How:
    """See the fields of `SnapshotSpec`.  played: the nodes that boards run already."""

    policy: OnConflict = OnConflict.FAIL
    complete: bool = False
    foreign: bool = True
    leave_nodes: bool = False
    dry_run: bool = False
    played: Collection[str] = ()


@dataclass(slots=True)
class Outcome:
    loaded: int = 0
    replaced: int = 0
    off: list[str] = field(default_factory=list)
    """Nodes that are not Ready."""
    nodes: list[str] = field(default_factory=list)
    """Those to be run."""
    notes: list[str] = field(default_factory=list)


class Storing:
    """Stores one load.  objects: in the order of the snapshot; taken by `run`."""

    def __init__(self, registry: Registry, hooks: Hooks, objects: list[Judged], translator: Translator, how: How):
        self._registry = registry
        self._store = registry.store
        self._hooks = hooks
        self._objects = objects
        self._translator = translator if how.foreign else None
        self._how = how
        self._now = registry.clock.timestamp()
        self._uids: dict[str, str] = {}
        """What the snapshot calls an object that has another uid here -> its uid here."""
        self._here: set[str] = set()
        """uids of the objects of the snapshot."""
        self._giving_way: dict[tuple[Storage, str], str] = {}
        """What is replaced by an object with another uid: its key, and its uid."""
        self._dangling: Counter[str] = Counter()
        self._skipped: Counter[str] = Counter()
        """Kinds of what others wrote meanwhile, and is left as it is."""
        self._outcome = Outcome()

    async def run(self) -> Outcome:
        """Raises ApiError; `way_on` says then what is to be done."""
        self._objects.sort(key=lambda judged: rank(judged.row))
        wanted = self._checked(self._objects)
        self._objects = []
        made = self._missing_namespaces(wanted)
        self._check_addresses(wanted)
        if not self._how.dry_run:
            definitions = [judged for judged in wanted if judged.row.storage == DEFINITIONS]
            for judged in definitions:
                await self._persist(judged, partial(self._define, judged))
            wanted = [judged for judged in wanted if judged.row.storage != DEFINITIONS]
            if definitions:  # others had their turns meanwhile
                self._giving_way.clear()
                wanted = self._checked(self._of_served_types(wanted))
            with without_collector(), self._store.together():
                await self._put_all(made, wanted)
        elif wanted:
            self._outcome.loaded = len(wanted) + len(made)
        self._note_rest()
        return self._outcome

    def way_on(self) -> str:
        """After an error, of `run` or whatever else ended it: how much was stored nevertheless; "" for nothing."""
        loaded = self._outcome.loaded
        return f"; {loaded} objects were loaded; to load the rest, load it again: {WAY_OUT}" if loaded else ""

    # looking

    def _checked(self, objects: Sequence[Judged]) -> list[Judged]:
        """Those to store; raises ApiError 409 where others are in the way."""
        how, kept, clashes = self._how, list[Judged](), list[FieldError]()
        skipped: Counter[str] = Counter()
        served = frozenset(self._registry.table.storages())
        for judged in objects:
            there = self._store.get(judged.row.storage, judged.key) if judged.row.storage in served else None
            what = fate(judged, there, how.policy, how.played) if there is not None else None
            if there is None or what is Fate.REPLACE:
                kept.append(judged)
                if there is not None and there.uid != judged.uid and judged.row.storage != DEFINITIONS:
                    self._giving_way[judged.row.storage, judged.key] = there.uid
            elif what is Fate.FAIL:
                clashes.append(FieldError("FieldValueDuplicate", f"spec.lines[{judged.line}]", _in_the_way(judged)))
            else:
                self._call(judged, there.uid)
                if what is Fate.SKIP:
                    skipped[judged.row.kind] += 1
        if clashes and self._outcome.loaded:
            raise ApiError(409, "Conflict", f"{clashes[0].message} meanwhile")
        if clashes:
            raise refusal(clashes, 409, f"objects are there already; nothing was loaded ({WAY_OUT})")
        self._outcome.notes += [f"{kind}: {n} left out, being there already" for kind, n in skipped.items()]
        for judged in kept:
            self._know(judged)
        return kept

    def _check_addresses(self, objects: Sequence[Judged]) -> None:
        """Two Services cannot have the same address; raises ApiError 409."""
        services = [judged for judged in objects if judged.row.storage == SERVICES]
        if not services:
            return
        ours, clashes = {judged.key for judged in services}, list[FieldError]()
        there = (stored for stored in self._store.list(SERVICES) if stored.key not in ours)
        holders = {address: stored.key for stored in there for address in held_by(stored.object())}
        for judged in services:
            for address in sorted(held_by({"spec": {}, **orjson.loads(judged.raw)})):
                if holders.setdefault(address, judged.key) != judged.key:
                    told = f"{judged.title}: the Service {holders[address]} has the address {address}"
                    where = f"spec.lines[{judged.line}].spec.clusterIPs"
                    clashes.append(FieldError("FieldValueDuplicate", where, told))
        if clashes:
            raise refusal(clashes, 409, "addresses belong to others; nothing was loaded")

    def _of_served_types(self, objects: Sequence[Judged]) -> list[Judged]:
        """A definition whose names others have is not served, and nor are its objects."""
        served = frozenset(self._registry.table.storages())
        lost = Counter(judged.row.kind for judged in objects if judged.row.storage not in served)
        self._outcome.notes += [f"{kind}: {n} left out: their type has names of another" for kind, n in lost.items()]
        return [judged for judged in objects if judged.row.storage in served] if lost else list(objects)

    def _know(self, judged: Judged) -> None:
        """Note the uid that an object has in the snapshot; where that is somebody else's here, it gets another."""
        uid = judged.uid
        if not uid:
            return
        self._here.add(uid)
        other = self._store.by_uid(uid)
        place = (judged.row.storage, judged.key)
        if (
            other is not None
            and (other.storage, other.key) != place
            and (other.storage, other.key) not in self._giving_way
        ):
            self._uids.setdefault(uid, self._registry.ids.uid())

    def _missing_namespaces(self, objects: Sequence[Judged]) -> list[str]:
        made = {judged.key for judged in objects if judged.row.storage == NAMESPACES}
        used = {judged.key.partition("/")[0] for judged in objects if judged.row.namespaced}
        missing = [name for name in sorted(used - made) if self._store.get(NAMESPACES, name) is None]
        if missing:
            self._outcome.notes.append(f"namespaces made, which the snapshot does not hold: {some(missing)}")
        return missing

    # storing

    async def _define(self, judged: Judged) -> None:
        """A definition, so that its type is served; one that is there with another spec takes this one's."""
        obj = self._finished(judged)
        store, storage = self._store, DEFINITIONS
        there = store.get(storage, judged.key)
        if there is None:
            stored = (await store.create(storage, judged.key, obj)).stored
        else:
            self._call(judged, there.uid)
            obj["metadata"]["uid"] = there.uid
            stored = (await store.update(storage, judged.key, lambda current: obj)).stored
            self._outcome.replaced += 1
        self._outcome.loaded += 1
        await self._hooks.settled(judged.row, stored)

    async def _put_all(self, namespaces: Sequence[str], objects: list[Judged]) -> None:
        """Takes the objects out of the list: what is stored needs no room twice."""
        for storage, key in self._giving_way:
            with suppress(KeyMissing):
                await self._store.delete(storage, key, lambda current: None)
        for name in namespaces:
            with suppress(KeyExists):
                await self._store.create(NAMESPACES, name, namespace(name, self._registry.ids.uid(), self._now))
                self._outcome.loaded += 1
        if not self._store.optimistic:
            objects.reverse()
            while objects:
                await self._put_here(objects.pop())
            return
        for wave in waves(objects):
            for start in range(0, len(wave), AT_A_TIME):
                part = map(self._put_shared, wave[start : start + AT_A_TIME])
                for failure in await asyncio.gather(*part, return_exceptions=True):
                    if failure is not None:
                        raise failure

    async def _put_here(self, judged: Judged) -> None:
        """Where no others write."""
        storage, known = judged.row.storage, judged.ready
        if known is None or not self._stays(judged) or self._store.get(storage, judged.key) is not None:
            await self._put(judged, self._prepared(judged))
            return
        await self._store.create_ready(storage, judged.key, known)
        self._outcome.loaded += 1
        self._outcome.replaced += (storage, judged.key) in self._giving_way

    def _stays(self, judged: Judged) -> bool:
        """Whether it is stored as it was judged: nothing of it follows from others, and it needs no addresses."""
        row, uids, owners = judged.row, self._uids, judged.owners
        if not judged.uid or judged.uid in uids or row.storage in _CHANGED:
            return False
        if self._translator is not None and self._translator.changes(row, owned=bool(owners)):
            return False
        return all(uid not in uids and (self._how.complete or uid in self._here) for uid in owners)

    async def _put_shared(self, judged: Judged) -> None:
        """As `_put`, where others may be quicker."""
        pristine = orjson.dumps(self._prepared(judged))
        await self._persist(judged, lambda: self._put(judged, orjson.loads(pristine)))

    async def _persist(self, judged: Judged, write: Callable[[], Awaitable[None]]) -> None:
        """Write, and decide anew wherever others were quicker."""
        for _ in range(ATTEMPTS):
            if await self._tried(judged, write):
                return
        raise _was_quicker(judged)

    async def _tried(self, judged: Judged, write: Callable[[], Awaitable[None]]) -> bool:
        there = self._store.get(judged.row.storage, judged.key)
        what = fate(judged, there, self._how.policy, self._how.played) if there is not None else None
        if what is Fate.FAIL:
            raise _was_quicker(judged)
        if there is not None and what is not Fate.REPLACE:
            self._call(judged, there.uid)
            self._skipped[judged.row.kind] += 1
            return True
        try:
            await write()
        except (KeyExists, KeyMissing, Outrun):
            return False
        return True

    def _call(self, judged: Judged, uid: str) -> None:
        """What the snapshot says of an object is said of the one that is there."""
        if judged.uid:
            self._uids[judged.uid] = uid

    def _prepared(self, judged: Judged) -> JsonObject:
        obj = self._finished(judged)
        if judged.row.storage == NODES and not self._how.leave_nodes:
            self._take_node(obj)
        return obj

    async def _put(self, judged: Judged, obj: JsonObject) -> None:
        """Raises KeyExists, KeyMissing and Outrun where others write too."""
        storage, uid = judged.row.storage, obj["metadata"]["uid"]
        there = self._store.get(storage, judged.key)
        if there is not None and there.uid == uid:
            await self._store.update(storage, judged.key, in_place_of(uid, obj))
        else:
            if there is not None:
                await self._store.delete(storage, judged.key, still(there.uid))
            await self._create(judged, obj)
        self._outcome.loaded += 1
        self._outcome.replaced += there is not None or (storage, judged.key) in self._giving_way

    async def _create(self, judged: Judged, obj: JsonObject) -> None:
        """A Service with addresses that no other has; whoever decides on room or quotas has to know of any object."""
        row, store = judged.row, self._store
        subjects = self._hooks.decides(row, judged.key.partition("/")[0]) if store.optimistic else ()
        if row.storage != SERVICES:
            async with store.affecting(*subjects):
                await store.create(row.storage, judged.key, obj)
            return
        async with store.deciding(*subjects):
            try:
                await self._reserve(judged, obj)
                await store.create(row.storage, judged.key, obj)
            except Outrun:
                self._hooks.release(row, obj)
                raise

    async def _reserve(self, judged: Judged, service: JsonObject) -> None:
        """The addresses of a Service are its own; one that was never stored has none yet."""
        spec = service.setdefault("spec", {})
        if not spec.get("clusterIP") and spec.get("type") != "ExternalName":
            namespace, _, name = judged.key.partition("/")
            context = self._registry.context(Asked(judged.row, namespace, name))
            self._hooks.before_create(judged.row, service, context)
        await self._hooks.reserve(judged.row, service, None, self._now)

    def _finished(self, judged: Judged) -> JsonObject:
        """The object as it is stored: with a uid, and owners that are there."""
        obj: JsonObject = orjson.loads(judged.raw)
        if self._translator is not None:
            self._translator.translate(judged.row, obj)
        metadata = obj["metadata"]
        metadata["uid"] = self._uids.get(judged.uid, judged.uid) or self._registry.ids.uid()
        owners = metadata.get("ownerReferences")
        if owners:
            left = [self._owner(owner) for owner in owners if self._is_there(owner)]
            self._dangling[judged.row.kind] += len(owners) - len(left)
            if left:
                metadata["ownerReferences"] = left
            else:
                del metadata["ownerReferences"]
        return obj

    def _owner(self, owner: JsonObject) -> JsonObject:
        uid = self._uids.get(owner["uid"])
        return owner if uid is None else {**owner, "uid": uid}

    def _is_there(self, owner: JsonObject) -> bool:
        """Nobody is to be collected as garbage because only a part of a cluster was saved."""
        if self._how.complete or owner["uid"] in self._here or owner["uid"] in self._uids:
            return True
        group, _, version = owner["apiVersion"].rpartition("/")
        served = self._registry.table.by_kind(group, version, owner["kind"]) is not None
        return not served or self._store.by_uid(owner["uid"]) is not None

    def _take_node(self, node: JsonObject) -> None:
        name = node["metadata"]["name"]
        if adopt(node, self._how.played):
            self._outcome.off.append(name)
        if name not in self._how.played:
            self._outcome.nodes.append(name)

    def _note_rest(self) -> None:
        notes = self._outcome.notes
        notes += [f"{kind}: {n} left out: others wrote them meanwhile" for kind, n in self._skipped.items()]
        for kind, number in self._dangling.items():
            if number:
                notes.append(f"{kind}: {number} references to owners that are not there were left out")
        if self._translator is not None and self._translator.moved:
            notes.append(f"{self._translator.moved} pods of ReplicaSets belong to their Deployments now")
        if self._outcome.off:
            notes.append(f"nodes that were not Ready are switched off (sim.kube32.io/fault): {some(self._outcome.off)}")


def _was_quicker(judged: Judged) -> ApiError:
    why = f"{judged.title} was written by others meanwhile"
    return errors.conflict(judged.row.group, judged.row.plural, judged.key, why)


def _in_the_way(judged: Judged) -> str:
    return f"{judged.title} is there already"

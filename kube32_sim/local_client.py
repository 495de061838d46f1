"""The in-process client (`client.Client`): the registry itself, without HTTP in between.

What loops and in-process boards hold.  Objects go in through the same decoding as bodies do, and come out as copies;
failures, and the ends of watches, are those of HTTP.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import orjson

from kube32_sim.api import bodies, conversion, decode, errors, reviews, strictness
from kube32_sim.api.customs.decoding import decode_custom
from kube32_sim.api.field_selectors import select_fields
from kube32_sim.api.options import delete_options, parse_resource_version
from kube32_sim.api.resources import ResourceType
from kube32_sim.api.selectors import parse_labels
from kube32_sim.api.users import ADMIN, User
from kube32_sim.client import PATCHES, JsonObject, ListResult, Resource, WatchEvent
from kube32_sim.registry import subresources
from kube32_sim.registry.admitted_pulse import AdmittedPulse
from kube32_sim.registry.asked import Asked, Result
from kube32_sim.registry.deletion import success
from kube32_sim.registry.reading import list_page, select
from kube32_sim.registry.registry import Registry
from kube32_sim.registry.tokens import Tokens
from kube32_sim.storage.interface import Compacted, Heartbeat, Pulse
from kube32_sim.storage.objects import StoredObject
from kube32_sim.storage.watching import Hub, Objects, Selection


def _selection(row: ResourceType, namespace: str, labels: str, fields: str) -> Selection:
    return select(row, namespace, parse_labels(labels), select_fields(fields, row))


class LocalClient:
    """user: as whom it writes, for admission to know: nobody is refused.  program: which field manager that is."""

    def __init__(self, registry: Registry, hub: Hub, user: User = ADMIN, program: str = "kube32-sim") -> None:
        self._registry = registry
        self._hub = hub
        self._user = user
        self._program = program

    def of(self, program: str, user: User | None = None) -> LocalClient:
        """The same for another program, and for another user where one is given."""
        return LocalClient(self._registry, self._hub, user or self._user, program)

    def _row(self, resource: Resource, verb: str = "") -> ResourceType:
        """verb: that types of the simulator's own may not have."""
        row = self._registry.table.by_path(resource.group, resource.version, resource.plural)
        if row is None:
            raise errors.path_not_found()
        if verb and not row.stored and verb not in row.verbs:
            raise errors.method_not_allowed()
        return row

    def _asked(self, row: ResourceType, namespace: str, name: str, subresource: str = "") -> Asked:
        place = namespace if row.namespaced else ""
        return Asked(row, place, name, subresource, user=self._user, manager=self._program)

    @staticmethod
    def _shown(row: ResourceType, obj: JsonObject) -> JsonObject:
        """obj: the caller's own copy of what is stored."""
        return {"kind": row.kind, "apiVersion": row.api_version, **conversion.to_view(row, obj)}

    def _copy(self, row: ResourceType, result: Result) -> JsonObject:
        if result.stored is not None:
            return self._shown(row, result.stored.copy())
        return self._shown(row, orjson.loads(orjson.dumps(result.object())))

    @staticmethod
    def _decoded(row: ResourceType, obj: JsonObject) -> JsonObject:
        """What to store for an object in the row's form."""
        plain = {key: value for key, value in obj.items() if key not in ("apiVersion", "kind")}
        if not row.schema:
            return conversion.from_view(row, decode_custom(plain, row.kind, row)[0])
        if (
            not row.stored and "update" in row.verbs
        ):  # as over HTTP: nobody finds it stored without what was passed over
            return bodies.decode_body(orjson.dumps(plain), "json", row, strictness.STRICT)[0]
        decoded, _ = decode.decode(plain, row.schema, row.kind, row.api_version)
        return conversion.from_view(row, decoded)

    async def get(self, resource: Resource, namespace: str, name: str) -> JsonObject:
        row = self._row(resource)
        await self._registry.bring_up_to_date(row)
        return self._shown(row, self._registry.get(self._asked(row, namespace, name)).copy())

    async def list(
        self,
        resource: Resource,
        namespace: str = "",
        *,
        label_selector: str = "",
        field_selector: str = "",
        at: str = "",
    ) -> ListResult:
        row = self._row(resource, "list")
        await self._registry.bring_up_to_date(row)
        selection = _selection(row, namespace, label_selector, field_selector)
        if not row.stored:
            page = self._registry.own.page(row, selection)
            return ListResult([self._shown(row, stored.copy()) for stored in page.items], str(page.revision))
        revision = parse_resource_version(at)
        await self._refuse_future(revision)
        page = list_page(self._registry.store, row, selection, revision=revision)
        return ListResult([self._shown(row, stored.copy()) for stored in page.items], str(page.revision))

    async def _refuse_future(self, revision: int | None) -> None:
        store = self._registry.store
        if revision is not None and not await store.reached(revision):
            raise errors.timeout_rv_too_large(revision, store.revision)

    @asynccontextmanager
    async def watch(
        self,
        resource: Resource,
        namespace: str = "",
        *,
        resource_version: str = "",
        label_selector: str = "",
        field_selector: str = "",
        heartbeats: bool = True,
    ) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        row = self._row(resource, "watch")
        selection = _selection(row, namespace, label_selector, field_selector)
        since = parse_resource_version(resource_version)
        await self._registry.bring_up_to_date(row)
        await self._refuse_future(since)
        queue: deque[tuple[str, StoredObject] | None] = deque()
        signal = self._registry.clock.signal()

        def deliver(frames: Sequence[tuple[str, StoredObject] | None]) -> None:
            queue.extend(frames)
            signal.set()

        member = self._hub.join(
            row.storage, selection, Objects(), deliver, lambda: deliver([None]), heartbeats=heartbeats
        )
        refusal: WatchEvent | None = None
        try:
            queue.extend(self._past(row, selection, since))
        except Compacted as error:
            refusal = WatchEvent("ERROR", errors.too_old(error.requested, error.oldest).status())
        member.go_live()

        async def events() -> AsyncIterator[WatchEvent]:
            if refusal is not None:
                yield refusal
                return
            while True:
                while queue:
                    entry = queue.popleft()
                    if entry is None:
                        return
                    yield WatchEvent(entry[0], self._shown(row, entry[1].copy()))
                await signal.wait()

        try:
            yield events()
        finally:
            member.stop()

    def _past(self, row: ResourceType, selection: Selection, since: int | None) -> Sequence[tuple[str, StoredObject]]:
        store = self._registry.store
        if not since:
            return [("ADDED", stored) for stored in list_page(store, row, selection).items]
        seen = (selection.transition(event) for event in store.events_since(row.storage, since))
        return [step for step in seen if step is not None]

    async def create(
        self, resource: Resource, namespace: str, obj: JsonObject, *, subresource: str = "", name: str = ""
    ) -> JsonObject:
        row = self._row(resource)
        asked = self._asked(row, namespace, name, subresource)
        if subresource:
            return await subresources.create(self._registry, asked, obj)
        decoded = self._decoded(row, obj)
        if not row.stored and "get" in row.verbs:
            return self._copy(row, await self._registry.own.create(asked, decoded))
        if not row.stored:
            registry = self._registry
            answering = registry.own.answers(row)
            if answering is not None:
                answer: JsonObject = orjson.loads(orjson.dumps(await answering(asked, decoded)))
                return answer
            tokens = Tokens(None, registry.clock.now, registry.lookup, registry.signing_key)
            asking = reviews.Asking(self._user, registry.clock.timestamp(), registry.authorizer, tokens)
            return reviews.review(row, decoded, asking)
        return self._copy(row, await self._registry.create(asked, decoded))

    async def update(self, resource: Resource, namespace: str, obj: JsonObject, *, subresource: str = "") -> JsonObject:
        row = self._row(resource, "update")
        asked = self._asked(row, namespace, obj["metadata"]["name"], subresource)
        if not row.stored and not subresource:
            return await self._updated_own(asked, self._decoded(row, obj))
        if subresource in ("", "status"):
            return self._copy(row, await self._registry.update(asked, self._decoded(row, obj)))
        return await subresources.update(self._registry, asked, obj)

    async def _updated_own(self, asked: Asked, obj: JsonObject) -> JsonObject:
        answer: JsonObject = orjson.loads(orjson.dumps(await self._registry.own.update(asked, obj)))
        return answer

    def pulse(self, resource: Resource, namespace: str, name: str, version: str, heartbeat: Heartbeat) -> Pulse | None:
        row = self._row(resource)
        asked = self._asked(row, namespace, name)
        stored = self._registry.store.get(row.storage, asked.key)
        entries = stored.object()["metadata"].get("managedFields") if stored is not None else None
        if entries and entries[-1]["manager"] != self._program:
            return None  # others have written since: this write is to be told of after theirs
        pulse = self._registry.store.pulse(row.storage, asked.key, int(version), heartbeat)
        return AdmittedPulse(pulse, row, self._registry.dynamic) if pulse is not None else None

    async def patch(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        patch: JsonObject,
        *,
        subresource: str = "",
        kind: str = "merge",
    ) -> JsonObject:
        row = self._row(resource, "patch")
        asked = self._asked(row, namespace, name, subresource)
        if not row.stored and not subresource:
            own = bodies.patcher(orjson.dumps(patch), PATCHES[kind], row)
            current = self._registry.get(asked).object()
            return await self._updated_own(asked, own.apply(current, strictness.STRICT)[0])
        sub = row.subresource(subresource)
        scale = bodies.expected(sub.group, sub.version, sub.kind) if sub is not None and sub.kind == "Scale" else None
        patcher = bodies.patcher(orjson.dumps(patch), PATCHES[kind], scale or row)

        def change(current: JsonObject) -> JsonObject:
            return patcher.apply(current, strictness.IGNORE, subresource)[0]

        if scale is not None:
            return await subresources.put_scale(self._registry, asked, change)
        result = await self._registry.patch(
            asked, lambda current: conversion.from_view(row, change(conversion.to_view(row, current)))
        )
        return self._copy(row, result)

    async def delete(
        self, resource: Resource, namespace: str, name: str, *, options: Mapping[str, Any] | None = None
    ) -> JsonObject:
        row = self._row(resource)
        wanted = delete_options({}, dict(options) if options is not None else None)
        doing = self._registry if row.stored else self._registry.own
        result = await doing.delete(self._asked(row, namespace, name), wanted)
        if result.removed and not row.strategy.returns_deleted:
            return success(row, name, result.object())
        return self._copy(row, result)

"""The verbs over stored types, each in one fixed order (the order of a write is written here and nowhere else).

    row + strategy + admission + store + clock + ids -> create, get, list, update, patch, delete, deletecollection

Bodies arrive decoded (`api/bodies`, `api/decode`); what leaves is a `Result`: a stored object, or for a dry run the
object that would have been stored.  Nothing here knows HTTP; failures are `ApiError`.

A write that webhooks or policies want to know of (`dynamic_admission`) may wait between its steps.  What was looked at
before is then looked at again in the moment in which it is stored; an update of what has changed meanwhile begins anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from functools import partial

import orjson

from kube32_sim.api import account_tokens, admission, conversion, errors
from kube32_sim.api.authorization import ALWAYS_ALLOW, Authorizer
from kube32_sim.api.configuration import Configuration
from kube32_sim.api.dynamic_admission.request import CREATE, DELETE, UPDATE
from kube32_sim.api.managed.manager import Writer
from kube32_sim.api.options import DeleteOptions
from kube32_sim.api.resources import ResourceTable, ResourceType
from kube32_sim.api.strategies.base import Context
from kube32_sim.clock import Clock, turn
from kube32_sim.ids import Ids
from kube32_sim.registry.asked import Asked, Computed, Hooks, Result
from kube32_sim.registry.deletion import background, check_preconditions, plan_deletion
from kube32_sim.registry.dynamic_admission import DynamicAdmission, Through
from kube32_sim.registry.identity import check_named, fit_namespace, free_name, precondition_failed, taken
from kube32_sim.registry.lookup import StoreLookup, removed, still_there
from kube32_sim.registry.own import Own
from kube32_sim.registry.steps import Change, Steps, Update
from kube32_sim.registry.waiting import ATTEMPTS, Admitted, Waiting, named_anew, retried
from kube32_sim.storage.interface import JsonObject, KeyExists, KeyMissing, Outrun, Remove, Store, Updater
from kube32_sim.storage.objects import StoredObject

STRIDE = 100
"""After so many deletions of one request it is somebody else's turn."""


@dataclass(slots=True)
class _Outcome:
    """What an updater made of the current object.

    revision: the current one.  removed: the object goes.  at_once: without another state before that.
    """

    obj: JsonObject = field(default_factory=dict)
    revision: str = ""
    removed: bool = False
    at_once: bool = False
    warnings: list[str] = field(default_factory=list)


class Registry:
    def __init__(
        self,
        table: ResourceTable,
        store: Store,
        clock: Clock,
        ids: Ids,
        config: admission.AdmissionConfig,
        hooks: Hooks,
        *,
        collects_garbage: bool = True,
        counts_reports: bool = False,
        computed: Computed | None = None,
        authorizer: Authorizer = ALWAYS_ALLOW,
    ) -> None:
        self.table = table
        self.store = store
        self.clock = clock
        self.ids = ids
        self.lookup = StoreLookup(store)
        self.own = Own(store)
        self.authorizer = authorizer
        self.signing_key = account_tokens.OF_THIS_PROCESS
        self.steps = Steps(table, clock, ids, self.lookup, config, hooks, authorizer)
        self.fields = self.steps.fields
        self.dynamic = DynamicAdmission(table, self.lookup)
        self._waiting = Waiting(store, self.steps, self.dynamic)
        self._hooks = hooks
        self.misfit = hooks.misfit
        self._collects_garbage = collects_garbage
        self._counts_reports = counts_reports
        self._computed = computed

    def writer(self, asked: Asked) -> Writer:
        return self.steps.writer(asked)

    def context(self, asked: Asked) -> Context:
        return self.steps.context(asked)

    async def bring_up_to_date(self, row: ResourceType) -> str:
        """Before a read: make computed objects show what follows from the present state; answers why they do not."""
        return "" if self._computed is None else await self._computed.bring_up_to_date(row.storage)

    def refuse_computed(self, row: ResourceType, verb: str) -> None:
        """Types that are computed on every read cannot be written."""
        if self._computed is not None and row.storage in self._computed.storages:
            why = "they are computed from Services and Pods"
            raise errors.method_not_supported(row.group, row.plural, verb, why)

    # reading

    def get(self, asked: Asked) -> StoredObject:
        """Of a computed type as it was last brought up to date."""
        if not asked.row.stored:
            return self.own.get(asked)
        stored = self.store.get(asked.row.storage, asked.key)
        if stored is None:
            raise errors.not_found(asked.row.group, asked.row.plural, asked.name)
        return stored

    # create

    async def create(self, asked: Asked, obj: JsonObject, *, managed: bool = False) -> Result:
        """managed: its managedFields are what they should be."""
        row = asked.row
        self.refuse_computed(row, "create")
        metadata = obj.setdefault("metadata", {})
        fit_namespace(asked, metadata)
        if metadata.get("resourceVersion"):
            raise errors.bad_request("resourceVersion should not be set on objects to be created")
        if asked.name and "name" in metadata:
            check_named(metadata, asked.name)
        asked = asked._replace(name=metadata.get("name", "") or asked.name)
        warnings = self.steps.begin(asked, obj, managed=managed)
        stage = None
        if self.dynamic.concerns(row, asked.subresource, CREATE):
            stage, found = await self._waiting.begun(asked, obj)
            warnings += found
            obj, asked = stage.obj, named_anew(asked, stage.obj)
        if not obj["metadata"].get("name") and obj["metadata"].get("generateName"):
            asked = asked._replace(name=free_name(asked, obj, self.ids, self.store))
            obj["metadata"]["name"] = asked.name
        self.steps.check_new(asked, obj, more=stage is not None)
        if stage is not None:
            warnings += await stage.validate(asked.name, obj)
            self.steps.admit_again(asked, obj, None)
        stored, obj, found = await self._stored_new(asked, obj)
        warnings += found
        if stored is None:
            return Result(None, obj, created=True, warnings=warnings)
        await self._hooks.created(asked, stored)
        await self._hooks.settled(row, stored)
        return Result(stored, created=True, warnings=warnings)

    async def _stored_new(self, asked: Asked, obj: JsonObject) -> tuple[StoredObject | None, JsonObject, Sequence[str]]:
        """What follows from the cluster, and the end of a create: (what is stored unless dry-run, as what, warnings).

        Decided anew where others outran it.
        """
        row, store = asked.row, self.store
        pristine = orjson.dumps(obj) if store.optimistic else b""
        for _ in range(ATTEMPTS):
            async with self._deciding(row, asked.namespace):
                if store.get(row.storage, asked.key) is not None and await still_there(store, row.storage, asked.key):
                    raise taken(asked, obj, store)
                warnings = self.steps.complete_new(asked, obj, anew=store.optimistic)
                if asked.dry_run:
                    return None, obj, warnings
                try:
                    await self._hooks.reserve(row, obj, None, self.clock.timestamp())
                    return (await store.create(row.storage, asked.key, obj)).stored, obj, warnings
                except (KeyExists, Outrun) as error:
                    self._hooks.release(row, obj)
                    if isinstance(error, KeyExists):
                        raise taken(asked, obj, store) from None
                    obj = orjson.loads(pristine)
        raise errors.conflict(row.group, row.plural, asked.name, errors.MODIFIED)

    def _deciding(self, row: ResourceType, namespace: str) -> AbstractAsyncContextManager[None]:
        return self.store.deciding(*(self._hooks.decides(row, namespace) if self.store.optimistic else ()))

    # update and patch

    async def update(self, asked: Asked, obj: JsonObject) -> Result:
        """PUT: the whole object, or with asked.subresource its part."""
        metadata = obj.setdefault("metadata", {})
        fit_namespace(asked, metadata)
        check_named(metadata, asked.name)
        pristine = orjson.dumps(obj) if self.store.optimistic else b""
        change: Change = (lambda current: orjson.loads(pristine)) if pristine else (lambda current: obj)
        return await self._change(asked, change, Update(patch=False))

    async def patch(
        self, asked: Asked, change: Change, *, managed: bool = False, through: Through | None = None
    ) -> Result:
        """PATCH: `change` makes the wanted object of the current one, with its managedFields if managed.

        through: what webhooks and policies see instead of the object.
        """
        return await self._change(asked, change, Update(patch=True, managed=managed), through)

    async def apply(self, asked: Asked, configuration: Configuration, *, force: bool) -> Result:
        """PATCH with a configuration (server-side apply): of the object there is, or a new one."""
        writer, wanted = self.writer(asked), configuration.value

        def change(current: JsonObject | None) -> JsonObject:
            made = configuration.decoded(self.fields.applied(writer, wanted, current, force=force))
            return conversion.from_view(asked.row, made)

        try:
            return await self._change(asked, change, Update(patch=True, managed=True))
        except errors.ApiError as error:
            if error.code != 404 or asked.subresource or self.store.get(asked.row.storage, asked.key) is not None:
                raise
        obj = change(None)
        metadata = obj["metadata"]
        check_named(metadata, asked.name)
        if metadata.get("uid"):
            why = f"uid mismatch: the provided object specified uid {metadata['uid']}, and no existing object was found"
            raise errors.conflict(asked.row.group, asked.row.plural, asked.name, why)
        metadata.pop("resourceVersion", None)
        return await self.create(asked, obj, managed=True)

    async def _change(self, asked: Asked, change: Change, how: Update, through: Through | None = None) -> Result:
        row, outcome = asked.row, _Outcome()
        self.refuse_computed(row, "patch" if how.patch else "update")
        subresource = through.subresource if through is not None else asked.subresource

        def updater(current: StoredObject) -> JsonObject | Remove | None:
            old = current.object()
            obj = change(old) if how.patch else change({})
            outcome.warnings = self.steps.begin_update(asked, obj, old, how)
            self.steps.check_update(asked, obj, old, how, more=False)
            return self._settle(asked, obj, current, outcome)

        def waited(admitted: Admitted, current: StoredObject) -> JsonObject | Remove | None:
            admitted.check(asked, current, self.steps)
            outcome.warnings = list(admitted.warnings)
            return self._settle(asked, admitted.obj, current, outcome)

        async def write(chosen: Updater) -> StoredObject:
            async with self._deciding(row, asked.namespace):
                done = await self.store.update(row.storage, asked.key, chosen, always=self._is_report(asked))
            if done.changed and done.previous is not None and not outcome.removed:
                await self._hooks.reserve(row, outcome.obj, done.previous.object(), self.clock.timestamp())
            self._hooks.changed(asked, done, removed=outcome.removed)
            return done.stored

        async def wait_and_write() -> StoredObject:
            return await write(partial(waited, await self._waiting.updated(asked, change, how, through)))

        try:
            concerned = self.dynamic.concerns(row, subresource, UPDATE)
            stored = await (retried(asked, wait_and_write) if concerned else write(updater))
        except KeyMissing:
            meant = "" if how.patch else change({})["metadata"].get("uid", "")
            if meant:
                raise precondition_failed(asked, "UID", meant, "") from None
            if not how.patch and row.strategy.create_on_update and not asked.subresource:
                return await self.create(asked, change({}))
            raise errors.not_found(row.group, row.plural, asked.name) from None
        if not asked.dry_run:
            await self._hooks.settled(row, stored)
        if asked.dry_run or outcome.removed:
            outcome.obj["metadata"]["resourceVersion"] = outcome.revision
            return Result(None, outcome.obj, removed=outcome.removed, warnings=outcome.warnings)
        return Result(stored, warnings=outcome.warnings)

    def _settle(
        self, asked: Asked, obj: JsonObject, current: StoredObject, outcome: _Outcome
    ) -> JsonObject | Remove | None:
        """The end of an update, and what the store is told."""
        outcome.warnings += self.steps.complete_update(asked, obj, current.object())
        outcome.obj, outcome.revision = obj, str(current.revision)
        outcome.removed = current.deleting and self._may_go(asked.row, obj)
        if asked.dry_run:
            return None
        return Remove() if outcome.removed else obj

    def _is_report(self, asked: Asked) -> bool:
        """Whether this write counts though it may say nothing new: the scheduler goes by its revision."""
        return self._counts_reports and asked.subresource == "status" and asked.row.strategy.status_is_report

    @staticmethod
    def _may_go(row: ResourceType, obj: JsonObject) -> bool:
        metadata = obj["metadata"]
        waits = metadata.get("finalizers") or metadata.get("deletionGracePeriodSeconds", 0)
        return not waits and row.strategy.releasable(obj)

    async def finish(self, asked: Asked, change: Change, *, decides: bool = False) -> Result:
        """A change that skips strategies: binding, finalize and other subresources with rules of their own.

        `change` is handed a copy of the current object and answers the next one (or raises ApiError).
        decides: it rests on other objects as a create does.
        """
        row = asked.row
        outcome = _Outcome()

        def updater(current: StoredObject) -> JsonObject | Remove | None:
            outcome.obj = change(current.copy())
            self.steps.check_size(outcome.obj, current.object())
            if asked.dry_run:
                return None
            return Remove() if current.deleting and self._may_go(row, outcome.obj) else outcome.obj

        try:
            async with self._deciding(row, asked.namespace) if decides else self.store.deciding():
                done = await self.store.update(row.storage, asked.key, updater)
        except KeyMissing:
            raise errors.not_found(row.group, row.plural, asked.name) from None
        self._hooks.changed(
            asked, done, removed=done.changed and done.stored.deleting and self._may_go(row, outcome.obj)
        )
        return Result(None, outcome.obj) if asked.dry_run else Result(done.stored)

    async def admit(self, asked: Asked, operation: str, obj: JsonObject, body: ResourceType) -> JsonObject:
        """What is posted to a subresource, as webhooks and policies let it pass; nothing is stored.  Raises ApiError.

        obj: without apiVersion and kind.  body: its type.
        """
        if not self.dynamic.concerns(asked.row, asked.subresource, operation):
            return obj
        return await self._waiting.posted(asked, operation, obj, body)

    # delete

    def deletion_warnings(self, row: ResourceType, options: DeleteOptions) -> Sequence[str]:
        """What a client is told who leaves it open what becomes of dependents."""
        asked = options.propagation or self._collects_garbage or not row.strategy.orphan_warning
        return () if asked else (row.strategy.orphan_warning,)

    async def delete(self, asked: Asked, options: DeleteOptions) -> Result:
        row = asked.row
        self.refuse_computed(row, "delete")
        warnings = self.deletion_warnings(row, options)
        if self._collects_garbage:
            options = background(options)
        now, outcome = self.clock.now(), _Outcome()
        admitted: Admitted | None = None

        def updater(current: StoredObject) -> JsonObject | Remove | None:
            old = current.object()
            if admitted is not None:
                admitted.check(asked, current, self.steps)
            check_preconditions(row, asked.name, old["metadata"], options)
            self.steps.admit_deletion(asked, old)
            outcome.obj, outcome.removed = plan_deletion(row, old, options, now)
            outcome.at_once = outcome.obj is old
            if options.dry_run:
                return None
            return Remove() if outcome.at_once else outcome.obj

        async def write() -> StoredObject:
            done = await self.store.update(row.storage, asked.key, updater)
            self._hooks.changed(asked, done, removed=outcome.removed)
            return done.stored

        async def wait_and_write() -> StoredObject:
            nonlocal admitted
            admitted = await self._waiting.deleted(asked, options)
            return await write()

        try:
            concerned = not asked.subresource and self.dynamic.concerns(row, "", DELETE)  # evictions were asked about
            stored = await (retried(asked, wait_and_write) if concerned else write())
            if outcome.removed and not outcome.at_once and not options.dry_run:
                stored = await removed(self.store, stored)
        except KeyMissing:
            raise errors.not_found(row.group, row.plural, asked.name) from None
        warnings = (*warnings, *(admitted.warnings if admitted is not None else ()))
        if options.dry_run:
            return Result(None, outcome.obj, removed=outcome.removed, warnings=warnings)
        await self._hooks.settled(row, stored)
        return Result(stored, removed=outcome.removed, warnings=warnings)

    async def delete_collection(
        self, asked: Asked, items: Sequence[StoredObject], options: DeleteOptions
    ) -> Sequence[str]:
        """Delete what a list found; objects that went meanwhile or are new under their names are left alone.

        Answers the warnings of all.
        """
        self.refuse_computed(asked.row, "deletecollection")
        warnings = list(self.deletion_warnings(asked.row, options))
        for number, stored in enumerate(items):
            if number % STRIDE == STRIDE - 1:
                await turn()  # there may be a hundred thousand, and others are to be served
            one = asked._replace(namespace=stored.namespace, name=stored.name)
            try:
                warnings += (await self.delete(one, replace(options, uid=options.uid or stored.uid))).warnings
            except errors.ApiError as error:
                new_under_its_name = error.code == 409 and not (options.uid or options.resource_version)
                if error.code != 404 and not new_under_its_name:
                    raise
        return list(dict.fromkeys(warnings))

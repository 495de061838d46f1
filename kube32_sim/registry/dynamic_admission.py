"""What webhooks and policies have to say of a write: the part of admission that others configure, and that may wait.

The registry asks whether a write `concerns` anybody; if so it makes a `Stage` of it, through which the object goes
after the built-in mutators (`mutate`) and once more after validation (`validate`).  Upstream's order: mutating
policies, mutating webhooks, all of that again where the object was changed (with the built-in mutators, and those
webhooks that want it), and later validating policies, validating webhooks.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple, Protocol

import orjson

from kube32_sim.api import errors
from kube32_sim.api.dynamic_admission.request import AdmissionRequest, Policies
from kube32_sim.api.managed import entries
from kube32_sim.api.options import PLAIN_WRITE, DeleteOptions, WriteOptions
from kube32_sim.api.resources import ResourceTable, ResourceType
from kube32_sim.api.strategies.base import Lookup
from kube32_sim.registry.asked import Asked
from kube32_sim.storage.interface import JsonObject

INVALID_MANAGERS = (
    ".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating "
    "admission controller; please fix your requests: the entries cannot be read"
)
_OPTIONS = "meta.k8s.io/v1"


class Webhooks(Protocol):
    """All webhooks that there are, as `Policies` are; the answers take their time."""

    @property
    def active(self) -> bool: ...

    def concerns(self, row: ResourceType, subresource: str, operation: str) -> bool: ...

    async def mutate(self, request: AdmissionRequest, *, again: bool) -> Sequence[str]: ...

    async def validate(self, request: AdmissionRequest) -> Sequence[str]: ...


class Through(NamedTuple):
    """Another object as which webhooks and policies see what is written, such as the Scale of a Deployment.

    show: it, of an object.  back: the object, of itself and the other one as it has become.  Neither changes anything.
    """

    subresource: str
    body: ResourceType
    show: Callable[[JsonObject], JsonObject]
    back: Callable[[JsonObject, JsonObject], JsonObject]


class DynamicAdmission:
    """All that is asked.  Nobody is until `use` says who."""

    def __init__(self, table: ResourceTable, cluster: Lookup) -> None:
        self._table = table
        self._cluster = cluster
        self.policies: tuple[Policies, ...] = ()
        self.webhooks: Webhooks | None = None
        self._plugins: tuple[Policies | Webhooks, ...] = ()

    def use(self, *policies: Policies, webhooks: Webhooks | None = None) -> None:
        """Ask these too: policies in the order given, and webhooks after all policies."""
        self.policies = (*self.policies, *policies)
        self.webhooks = webhooks or self.webhooks
        self._plugins = (*self.policies, *([self.webhooks] if self.webhooks is not None else []))

    @property
    def active(self) -> bool:
        return any(plugin.active for plugin in self._plugins)

    def concerns(self, row: ResourceType, subresource: str, operation: str) -> bool:
        """Whether anybody could want to know of such a write; asked for every write."""
        return any(plugin.active and plugin.concerns(row, subresource, operation) for plugin in self._plugins)

    def stage(
        self,
        asked: Asked,
        operation: str,
        obj: JsonObject | None,
        old: JsonObject | None,
        options: JsonObject | None,
        *,
        through: Through | None = None,
        body: ResourceType | None = None,
    ) -> Stage:
        """body: the type of the objects where it is not the row's; `through` says it itself."""
        shown, shown_old = obj, old
        if through is not None:
            shown, shown_old = (None if one is None else through.show(one) for one in (obj, old))
        request = AdmissionRequest(
            asked.row,
            operation,
            asked.namespace,
            asked.name,
            self._table,
            self._cluster,
            subresource=through.subresource if through is not None else asked.subresource,
            user=asked.user,
            dry_run=asked.dry_run,
            options=options,
            obj=shown,
            old=shown_old,
            body=through.body if through is not None else body,
        )
        return Stage(self, request, obj, through)


class Stage:
    """One write on its way.  obj: the object wanted, as it has become."""

    def __init__(
        self, dynamic: DynamicAdmission, request: AdmissionRequest, obj: JsonObject | None, through: Through | None
    ) -> None:
        self._dynamic = dynamic
        self._request = request
        self._through = through
        self.obj = obj or {}
        self._warned: list[str] = []
        """By those who were asked before."""

    async def mutate(self, built_in: Callable[[JsonObject], Sequence[str]] | None = None) -> list[str]:
        """Ask all who may change the object; answers warnings, raises ApiError to refuse.

        built_in: changes an object as the built-in mutators do, and answers their warnings.
        """
        request, found = self._request, list[str]()
        managers = _managers(request.obj)
        await self._told(found, self._round(found, again=False))
        if request.changes and request.obj is not None:
            if built_in is not None and self._through is None:
                before = orjson.dumps(request.obj)
                found += built_in(request.obj)
                request.changes += orjson.dumps(request.obj) != before
            await self._told(found, self._round(found, again=True))
        if request.changes and request.obj is not None:
            found += _keep_readable(request.obj, managers)
            changed = request.obj
            self.obj = changed if self._through is None else self._through.back(self.obj, changed)
        self._warned += found
        return found

    async def validate(self, name: str, obj: JsonObject | None) -> list[str]:
        """Ask all who may refuse the object as it is to be stored.  name: it has got one by now."""
        request, found = self._request, list[str]()
        request.name = name
        if obj is not None:
            request.obj = obj if self._through is None else self._through.show(obj)
        await self._told(found, self._validators(found))
        return found

    async def _round(self, found: list[str], *, again: bool) -> None:
        request, webhooks = self._request, self._dynamic.webhooks
        for policies in self._dynamic.policies:
            if policies.active:
                found += policies.mutate(request, again=again)
        if webhooks is not None and webhooks.active:
            found += await webhooks.mutate(request, again=again)

    async def _validators(self, found: list[str]) -> None:
        request, webhooks = self._request, self._dynamic.webhooks
        for policies in self._dynamic.policies:
            if policies.active:
                found += policies.validate(request)
        if webhooks is not None and webhooks.active:
            found += await webhooks.validate(request)

    async def _told(self, found: list[str], step: Awaitable[None]) -> None:
        """Who is refused is told of the warnings so far too."""
        try:
            await step
        except errors.ApiError as error:
            error.warnings = (*self._warned, *found, *error.warnings)
            raise


def _managers(obj: JsonObject | None) -> object:
    return ((obj or {}).get("metadata") or {}).get("managedFields")


def _keep_readable(obj: JsonObject, before: object) -> Sequence[str]:
    """managedFields that nobody can read any more are as they were, with a warning."""
    now = _managers(obj)
    if not now or now == before or entries.decoded(now):
        return ()
    metadata = {name: value for name, value in obj["metadata"].items() if name != "managedFields"}
    obj["metadata"] = {**metadata, "managedFields": before} if before else metadata
    return (INVALID_MANAGERS,)


def write_options(kind: str, given: WriteOptions) -> JsonObject:
    """The options of a request as JSON.  kind: CreateOptions, UpdateOptions or PatchOptions."""
    options: JsonObject = {"kind": kind, "apiVersion": _OPTIONS}
    if given.dry_run:
        options["dryRun"] = ["All"]
    if given.field_manager:
        options["fieldManager"] = given.field_manager
    if given.field_validation != PLAIN_WRITE.field_validation:
        options["fieldValidation"] = given.field_validation
    if given.force:
        options["force"] = True
    return options


def deletion_options(given: DeleteOptions) -> JsonObject:
    """The DeleteOptions of a request as JSON."""
    options: JsonObject = {"kind": "DeleteOptions", "apiVersion": _OPTIONS}
    if given.grace is not None:
        options["gracePeriodSeconds"] = given.grace
    named = {"uid": given.uid, "resourceVersion": given.resource_version}
    preconditions = {name: value for name, value in named.items() if value is not None}
    if preconditions:
        options["preconditions"] = preconditions
    if given.propagation:
        options["propagationPolicy"] = given.propagation
    if given.dry_run:
        options["dryRun"] = ["All"]
    return options

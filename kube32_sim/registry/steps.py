"""What a write goes through before it is stored, one function a step; the order of the steps is the registry's.

All of them are plain functions: they look at the cluster as it is at that moment.  An object that had to wait between
two steps (`dynamic_admission`) is looked at once more (`admit_again`) in the moment in which it is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import orjson

from kube32_sim.api import admission, errors
from kube32_sim.api.admission import lifecycle
from kube32_sim.api.authorization import ALWAYS_ALLOW, Authorizer
from kube32_sim.api.managed.manager import FieldManager, Writer, keep_times
from kube32_sim.api.resources import ResourceTable
from kube32_sim.api.strategies.base import Context, Lookup
from kube32_sim.api.validation.meta import validate_metadata, validate_metadata_update
from kube32_sim.clock import Clock
from kube32_sim.ids import Ids
from kube32_sim.option_fields import flag
from kube32_sim.registry.asked import Asked, Hooks
from kube32_sim.registry.identity import check_current, check_named, fit_namespace
from kube32_sim.storage.interface import JsonObject

SYSTEM_FIELDS = ("creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "selfLink")
"""Metadata that an update never changes: what the server set stays."""

Change = Callable[[JsonObject], JsonObject]
"""(the current object) -> the object wanted, decoded; raises ApiError.

The current object is the stored one: what is answered shares nothing with it that defaults and allocation may change.
"""


@dataclass(frozen=True, slots=True)
class Update:
    """How an update is meant: as a patch of what there is, and with managedFields that are what they should be."""

    patch: bool
    managed: bool = False


class Steps:
    """Of all types, in one cluster.  Warnings are answered, refusals raised as ApiError."""

    def __init__(
        self,
        table: ResourceTable,
        clock: Clock,
        ids: Ids,
        lookup: Lookup,
        config: admission.AdmissionConfig,
        hooks: Hooks,
        authorizer: Authorizer = ALWAYS_ALLOW,
    ) -> None:
        self._table = table
        self._clock = clock
        self._ids = ids
        self._lookup = lookup
        self._config = config
        self._before_quota = replace(config, resource_quota=False)
        self._hooks = hooks
        self._authorizer = authorizer
        self.fields = FieldManager(table)

    def writer(self, asked: Asked) -> Writer:
        return Writer(asked.row, asked.manager, asked.subresource, self._clock.timestamp())

    def context(self, asked: Asked) -> Context:
        return Context(
            asked.row,
            asked.namespace,
            asked.name,
            self._clock.timestamp(),
            self._lookup,
            asked.dry_run,
            asked.user,
            asked.subresource,
            self._authorizer,
        )

    def invalid(self, asked: Asked, failures: Sequence[errors.FieldError]) -> errors.ApiError:
        """Named by the type objects are stored as, whichever version was asked for."""
        stored = self._table.by_storage(asked.row.storage)
        return errors.invalid(stored.group, stored.kind, asked.name, failures)

    # a new object

    def begin(self, asked: Asked, obj: JsonObject, *, managed: bool) -> list[str]:
        """Defaults, managedFields, built-in mutators; answers warnings, as all steps do."""
        asked.row.strategy.default(obj)
        if not managed:
            self.fields.created(self.writer(asked), obj)
        return self.mutate_new(asked, obj)

    def mutate_new(self, asked: Asked, obj: JsonObject) -> list[str]:
        return list(admission.mutate("create", obj, None, self.context(asked), self._config))

    def check_new(self, asked: Asked, obj: JsonObject, *, more: bool) -> None:
        """Prepare and validate.  more: others will be asked before the quotas are."""
        row, metadata, context = asked.row, obj["metadata"], self.context(asked)
        for name in ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"):
            metadata.pop(name, None)
        metadata["uid"] = self._ids.uid()
        metadata["creationTimestamp"] = context.now
        row.strategy.prepare_create(obj, context)
        strategy = row.strategy
        failures = errors.failures_of(lambda: validate_metadata(metadata, row) + strategy.validate(obj, context))
        if failures:
            raise self.invalid(asked, failures)
        admission.validate("create", obj, None, context, self._before_quota if more else self._config)

    def complete_new(self, asked: Asked, obj: JsonObject, *, anew: bool) -> list[str]:
        """What follows from the cluster in this moment: addresses, a node.  anew: a quota may be used up by now."""
        context = self.context(asked)
        if anew:
            admission.check_quota(obj, None, context, self._config)
        asked.row.strategy.check_served(context)
        self._fit_type(asked, obj)
        self.check_size(obj)
        warnings = [*admission.remarks(obj, None, context, self._config)]
        warnings += asked.row.strategy.warnings(obj, None, context)
        warnings += self._hooks.before_create(asked.row, obj, context)
        return warnings

    # a new state of an object

    def begin_update(self, asked: Asked, obj: JsonObject, old: JsonObject, how: Update) -> list[str]:
        """Whether this is the object, and the state of it, that is meant; then as `begin`."""
        metadata = obj.setdefault("metadata", {})
        if how.patch:
            fit_namespace(asked, metadata)
            check_named(metadata, asked.name)
        check_current(asked, metadata, old["metadata"], how.patch)
        if asked.subresource != "status" or not _only_status(obj, old):
            asked.row.strategy.default(obj)
        if not how.managed:
            self.fields.updated(self.writer(asked), obj, old)
        return self.mutate_update(asked, obj, old)

    def mutate_update(self, asked: Asked, obj: JsonObject, old: JsonObject) -> list[str]:
        return list(admission.mutate("update", obj, old, self.context(asked), self._config))

    def check_update(self, asked: Asked, obj: JsonObject, old: JsonObject, how: Update, *, more: bool) -> None:
        strategy, context = asked.row.strategy, self.context(asked)
        if how.managed:
            keep_times(obj, old)
        _keep_system_fields(obj["metadata"], old["metadata"])
        if asked.subresource == "status":
            strategy.prepare_status_update(obj, old, context)
            validate = strategy.validate_status_update
        else:
            strategy.prepare_update(obj, old, context)
            validate = strategy.validate_update
        metadata = obj["metadata"]
        failures = errors.failures_of(lambda: validate(obj, old, context))
        failures = errors.failures_of(lambda: validate_metadata_update(metadata, old["metadata"], asked.row)) + failures
        if failures:
            raise self.invalid(asked, failures)
        admission.validate("update", obj, old, context, self._before_quota if more else self._config)

    def complete_update(self, asked: Asked, obj: JsonObject, old: JsonObject) -> list[str]:
        context = self.context(asked)
        self._fit_type(asked, obj)
        self.check_size(obj, old)
        warnings = [*admission.remarks(obj, old, context, self._config)]
        warnings += asked.row.strategy.warnings(obj, old, context)
        warnings += self._hooks.before_update(asked.row, obj, old, context)
        return warnings

    def check_size(self, obj: JsonObject, old: JsonObject | None = None) -> None:
        """413 for an object that no etcd would take, unless it is one by now that only gets smaller."""
        size, most = len(orjson.dumps(obj)), self._config.object_bytes
        if size > most and (old is None or size > len(orjson.dumps(old))):
            option = flag("max_object_bytes")
            why = f"Request entity too large: the object has {size} bytes, limit is {most} ({option})"
            raise errors.too_large(why, option)

    def _fit_type(self, asked: Asked, obj: JsonObject) -> None:
        """A custom type may be another one by now than when the request began: the object takes its form."""
        row = asked.row
        if row.custom is None or self._table.by_path(row.group, row.version, row.plural) is row:
            return
        now = self._table.by_storage(row.storage)
        if now is not row and now.custom is not None:
            made = now.custom.reformed(obj)
            obj.clear()
            obj.update(made)

    # what had to wait, and what goes

    def admit_again(self, asked: Asked, obj: JsonObject, old: JsonObject | None) -> None:
        """What the cluster allowed before others were asked, it may not allow any more."""
        context, verb = self.context(asked), "create" if old is None else "update"
        lifecycle.check_namespace(verb, obj, context)
        admission.validate(verb, obj, old, context, self._config)

    def admit_deletion(self, asked: Asked, old: JsonObject) -> None:
        admission.validate("delete", old, old, self.context(asked), self._config)


def _keep_system_fields(metadata: JsonObject, old: JsonObject) -> None:
    metadata.setdefault("uid", old.get("uid", ""))
    for name in SYSTEM_FIELDS:
        if name in old:
            metadata[name] = old[name]
        else:
            metadata.pop(name, None)


def _only_status(obj: JsonObject, old: JsonObject) -> bool:
    """Whether everything but metadata and status is the old object's, which has its defaults."""
    rest = obj.keys() | old.keys()
    return all(obj.get(name) is old.get(name) for name in rest if name not in ("metadata", "status"))

"""The life of custom objects in the generic write (apiextensions-apiserver's `customResourceStrategy`)."""

from __future__ import annotations

from typing import Any

from kube32_sim.api import errors
from kube32_sim.api.customs.version import CustomVersion
from kube32_sim.api.errors import FieldError
from kube32_sim.api.strategies.base import Context, Strategy

JsonObject = dict[str, Any]

TERMINATING = "create not allowed while custom resource definition is terminating"


class CustomStrategy(Strategy):
    """Of one version."""

    unconditional_update = False

    def __init__(self, version: CustomVersion) -> None:
        self._version = version

    def default(self, obj: JsonObject) -> None:
        self._version.fill(obj)

    def reset_status(self, obj: JsonObject) -> None:
        obj.pop("status", None)

    def check_served(self, context: Context) -> None:
        kind = self._version.type
        if kind.gone:
            raise errors.path_not_found()
        if kind.terminating:
            raise errors.terminating_definition(context.row.group, context.row.plural, TERMINATING)

    def prepare_create(self, obj: JsonObject, context: Context) -> None:
        self.check_served(context)
        super().prepare_create(obj, context)

    def spec_of(self, obj: JsonObject) -> JsonObject:
        """All but the metadata, and the status where that is written by itself."""
        left = ("metadata", "status") if self._version.has_status else ("metadata",)
        return {key: value for key, value in obj.items() if key not in left}

    def prepare_status_update(self, obj: JsonObject, old: JsonObject, context: Context) -> None:
        """Only the status changes: of the metadata nothing but who manages it."""
        super().prepare_status_update(obj, old, context)
        written = obj["metadata"]
        kept = dict(old["metadata"])
        for name in ("managedFields", "resourceVersion"):
            if name in written:
                kept[name] = written[name]
        obj["metadata"] = kept

    def validate(self, obj: JsonObject, context: Context) -> list[FieldError]:
        return self._version.validate(obj, None)

    def validate_update(self, obj: JsonObject, old: JsonObject, context: Context) -> list[FieldError]:
        return self._version.validate(obj, old)

    def validate_status_update(self, obj: JsonObject, old: JsonObject, context: Context) -> list[FieldError]:
        return self._version.validate(obj, old, only_status=True)

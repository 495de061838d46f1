"""One version of a custom type: what its schema does to objects, and how they are shown, scaled and printed."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

import orjson

from kube32_sim.api.customs.naming import CustomType
from kube32_sim.api.customs.paths import simple_path
from kube32_sim.api.customs.scaling import ScalePaths, spec_faults, status_faults
from kube32_sim.api.errors import FieldError, invalid_value, too_large
from kube32_sim.api.structural import StructuralSchema
from kube32_sim.api.structural.defaulting import TooMuch

if TYPE_CHECKING:
    from kube32_sim.api.cel.rules import SchemaRules

JsonObject = dict[str, Any]

_BLOCKING = frozenset(f"FieldValue{kind}" for kind in ("Required", "TooLong", "TooMany", "NotSupported", "TypeInvalid"))
"""Failures after which upstream evaluates no rules."""
_NOT_CHECKED = (
    "some validation rules were not checked because the object was invalid; correct the existing errors to complete "
    "validation"
)


class CustomVersion:
    """Of one entry of `spec.versions`.  stored: the version that objects are stored in, None where it is this one."""

    def __init__(self, kind: CustomType, spec: JsonObject, version: JsonObject, stored: CustomVersion | None) -> None:
        self.type = kind
        self._raw: JsonObject = (version.get("schema") or {}).get("openAPIV3Schema") or {}
        self._preserves = bool(spec.get("preserveUnknownFields"))
        self._stored = stored
        self._kind: str = spec["names"]["kind"]
        self.api_version = f"{spec['group']}/{version['name']}"
        self.as_stored = stored is None or stored._raw == self._raw
        self.schema: StructuralSchema = StructuralSchema(self._raw)
        if stored is not None and self.as_stored:
            self.schema = stored.schema
        subresources = version.get("subresources") or {}
        self.has_status = "status" in subresources
        self.scale = _scale(subresources.get("scale"))
        self.fields = tuple(
            each["jsonPath"].removeprefix(".") for each in version.get("selectableFields") or () if each.get("jsonPath")
        )
        self.deprecation = _deprecation(version, self._kind, self.api_version)

    @property
    def declared(self) -> JsonObject:
        """The schema as the definition has it; never to be changed."""
        return self._raw

    @cached_property
    def rules(self) -> SchemaRules | None:
        """The schema's CEL rules, None where it has none."""
        if b'"x-kubernetes-validations":' not in orjson.dumps(self._raw):
            return None
        from kube32_sim.api.cel.rules import SchemaRules  # its library takes much memory, and few need it

        return SchemaRules(self._raw)

    def pruned(self, obj: JsonObject) -> tuple[JsonObject, list[str]]:
        """An object without apiVersion and kind as decoding leaves it, and the paths of unknown fields."""
        return self.schema.prune(obj, preserve=self._preserves)

    def _fitted(self, obj: JsonObject) -> JsonObject:
        """An object that is stored, or was in another version: what does not fit is left out, not refused."""
        return self.schema.prune(obj, preserve=self._preserves, stored=True)[0]

    def shown(self, stored: JsonObject) -> JsonObject:
        """A stored object in this version: no more than its schema knows."""
        return stored if self.as_stored else self._fitted(stored)

    def to_store(self, obj: JsonObject) -> JsonObject:
        """An object in this version as it is stored: what the stored version does not know is lost, as upstream.

        The stored version's defaults come in, which upstream adds whenever it reads the object.
        """
        if self.as_stored or self._stored is None:
            return obj
        self.fill(obj)
        return self._stored.reformed(obj)

    def fill(self, obj: JsonObject) -> None:
        """Give an object its defaults, in place; raises ApiError 413 where there would be far too many."""
        try:
            self.schema.default(obj)
        except TooMuch:
            raise too_large("the object would be too large with its defaults") from None

    def reformed(self, obj: JsonObject) -> JsonObject:
        """An object stored under an earlier schema as this one shows it."""
        made = self._fitted(obj)
        with suppress(TooMuch):  # then it lacks some of those that came with the new schema
            self.schema.default(made)
        return made

    def validate(self, obj: JsonObject, old: JsonObject | None, *, only_status: bool = False) -> list[FieldError]:
        """By the schema, and by its rules, unless they could not be evaluated for what is wrong already.

        only_status: the status is written by itself; how many replicas are wanted is not looked at then.
        """
        shown = self.shown(obj)
        before = None if old is None else self.shown(old)
        found = self.schema.validate(shown, before)
        if self.scale is not None:
            found += ([] if only_status else spec_faults(self.scale, shown)) + status_faults(self.scale, shown)
        if self.rules is None:
            return found
        if any(fault.reason in _BLOCKING for fault in found):
            return [*found, invalid_value("<nil>", None, _NOT_CHECKED)]
        return found + self.rules.validate(shown, before, api_version=self.api_version, kind=self._kind)


def _scale(scale: JsonObject | None) -> ScalePaths | None:
    if scale is None:
        return None
    paths = (scale.get(name, "") for name in ("specReplicasPath", "statusReplicasPath", "labelSelectorPath"))
    return ScalePaths(*map(simple_path, paths))


def _deprecation(version: JsonObject, kind: str, api_version: str) -> str | None:
    """The text of the `Warning` header that answers carry."""
    if not version.get("deprecated"):
        return None
    return version.get("deprecationWarning") or f"{api_version} {kind} is deprecated"


def paths_of(versions: Sequence[CustomVersion]) -> tuple[str, ...]:
    """All that objects may be selected by in any version."""
    return tuple(dict.fromkeys(path for version in versions for path in version.fields))

"""What the openAPIV3Schema of one version does to its custom resources: prune, default, validate, and who owns what.

The parts are compiled when first used.  `pruning`, `defaulting`, `checking` and `owning` have the quick ways;
`explaining` says what is wrong with a value that `checking` refused, `embedded` and `lists` look after embedded
resources and lists without repetitions, and `defaults` tells whether the defaults of a schema are good ones.  CEL rules
are elsewhere (`api.cel`), as is whether a schema may be stored at all (`api.validation`).
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from kube32_sim.api.decode import TOO_DEEP, DecodeError
from kube32_sim.api.errors import FieldError, invalid_value
from kube32_sim.api.jsontext import MOST_PARTS
from kube32_sim.api.managed.shapes import Shape
from kube32_sim.api.structural import defaulting
from kube32_sim.api.structural.checking import Checker
from kube32_sim.api.structural.embedded import coerce, embedded_faults, is_embedded, mend
from kube32_sim.api.structural.explaining import explain, explain_object
from kube32_sim.api.structural.faults import NOWHERE
from kube32_sim.api.structural.lists import is_set_or_map, list_faults
from kube32_sim.api.structural.owning import shape_of_object
from kube32_sim.api.structural.pruning import Pruner
from kube32_sim.api.structural.values import copied
from kube32_sim.api.structural.visiting import Visitor, visitor_of

JsonObject = dict[str, Any]

__all__ = ["StructuralSchema"]

_TYPE = ("apiVersion", "kind")


class StructuralSchema:
    """schema: as a CustomResourceDefinition stores it; never changed."""

    def __init__(self, schema: JsonObject) -> None:
        self._schema = schema

    def prune(self, obj: JsonObject, *, preserve: bool = False, stored: bool = False) -> tuple[JsonObject, list[str]]:
        """A new object, and the paths of the fields that it has not because nobody knows them.

        obj: without apiVersion and kind; its metadata, which is typed already, is in the result as it is, nothing else
        is shared.  Nulls that may not be there and have no default are gone, too.  preserve: of
        spec.preserveUnknownFields; drops nothing.  Raises DecodeError where an embedded resource cannot be decoded;
        stored: of an object that was stored before; its bad fields go instead.
        """
        unknown: list[str] = []
        try:
            made = _kept(obj) if preserve else self._pruner.prune(obj, unknown, None)
        except RecursionError:
            raise DecodeError(TOO_DEEP) from None
        unknown.sort()
        if self._embedded is not None:
            dropped: list[str] = []
            if stored:
                self._embedded.visit(made, "", lambda _, value, __: mend(value))
            self._embedded.visit(made, "", lambda _, value, path: dropped.extend(coerce(value, path)))
            unknown += sorted(dropped)
        return made, unknown

    def default(self, obj: JsonObject) -> None:
        """Fills an object in, in place: nulls that may not be there go, defaults come.

        obj: what `prune` made, or another that nobody else holds; its metadata is not changed.  Raises TooMuch where
        defaults would make more of it than a body may hold.
        """
        if self._defaulter is None:
            return
        if self._defaults_metadata and "metadata" in obj:
            obj["metadata"] = copied(obj["metadata"])
        self._defaulter.fill(obj, defaulting.Room(MOST_PARTS))

    def validate(self, obj: JsonObject, old: JsonObject | None = None) -> list[FieldError]:
        """All failures but those of CEL rules.

        old: what obj is to replace; what did not change is not held against it, except embedded resources and what is
        missing or too much at the very root.
        """
        try:
            found = [] if self._checker.valid(obj) else self._explained(obj, old)
        except RecursionError:
            return [invalid_value(NOWHERE, "", TOO_DEEP)]
        if self._embedded is not None:
            self._embedded.visit(obj, "", lambda _, value, path: found.extend(embedded_faults(value, path)))
        if self._lists is not None and (old is None or not _repetitions(self._lists, old)):
            found += _repetitions(self._lists, obj)
        return found

    def _explained(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        findings = explain(self._checked, obj) if old is None else explain_object(self._checked, obj, old)
        return [fault.error("") for fault in findings.faults.values()]

    def shape(self) -> Shape:
        """What is managed by itself: typed metadata, and the rest by its list types and map types."""
        return self._shape

    @property
    def has_defaults(self) -> bool:
        return self._has_defaults

    @cached_property
    def _pruner(self) -> Pruner:
        return Pruner(self._schema, root=True)

    @cached_property
    def _defaulter(self) -> defaulting.Defaulter | None:
        return defaulting.defaulter_of(self._schema)

    @cached_property
    def _has_defaults(self) -> bool:
        return defaulting.has_defaults(self._schema)

    @cached_property
    def _defaults_metadata(self) -> bool:
        return defaulting.has_defaults((self._schema.get("properties") or {}).get("metadata") or {})

    @cached_property
    def _checked(self) -> JsonObject:
        """The schema without what it says of apiVersion and kind, which are checked before they are taken off."""
        properties, required = self._schema.get("properties") or {}, self._schema.get("required") or []
        if not any(name in properties or name in required for name in _TYPE):
            return self._schema
        made = {**self._schema, "required": [name for name in required if name not in _TYPE]}
        made["properties"] = {name: each for name, each in properties.items() if name not in _TYPE}
        return made

    @cached_property
    def _checker(self) -> Checker:
        return Checker(self._checked)

    @cached_property
    def _embedded(self) -> Visitor | None:
        return visitor_of(self._schema, is_embedded)

    @cached_property
    def _lists(self) -> Visitor | None:
        return visitor_of(self._schema, is_set_or_map)

    @cached_property
    def _shape(self) -> Shape:
        return shape_of_object(self._schema)


def _kept(obj: JsonObject) -> JsonObject:
    return {name: item if name == "metadata" else copied(item) for name, item in obj.items()}


def _repetitions(lists: Visitor, obj: JsonObject) -> list[FieldError]:
    found: list[FieldError] = []
    lists.visit(obj, "", lambda schema, value, path: found.extend(list_faults(schema, value, path)))
    return found

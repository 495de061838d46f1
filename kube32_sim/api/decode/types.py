"""The Go types behind the OpenAPI definitions, as a graph of `Type`s that both decoders walk.

Built lazily, one struct at a time: a struct's fields are looked at when a value of that struct is first seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

from kube32_sim.api import schema
from kube32_sim.api.decode import gotypes

JsonObject = dict[str, Any]

_NONE: frozenset[str] = frozenset()
#: Definitions that are no plain structs, by their last name.
_LEAVES = {
    "Quantity": "quantity",
    "IntOrString": "intorstring",
    "Time": "time",
    "MicroTime": "microtime",
    "RawExtension": "raw",
    "FieldsV1": "raw",
    "JSON": "raw",
    "Patch": "raw",
    "JSONSchemaPropsOrArray": "schema-or-array",
    "JSONSchemaPropsOrBool": "schema-or-bool",
    "JSONSchemaPropsOrStringArray": "schema-or-strings",
}
_ZEROS: Mapping[str, Any] = {
    "string": "",
    "bool": False,
    "int": 0,
    "float": 0,
    "bytes": "",
    "quantity": "0",
    "intorstring": 0,
}
#: Leaves that are structs in Go, and where they are no pointers.
_VALUES: Mapping[str, Mapping[str, frozenset[str]]] = {
    "quantity": gotypes.VALUE_QUANTITIES,
    "time": gotypes.VALUE_TIMES,
    "microtime": gotypes.VALUE_TIMES,
}
#: Kinds whose zero value Go writes where the field is required.
_SCALARS = ("string", "bool", "int", "float", "bytes", "intorstring")


@dataclass(frozen=True, slots=True)
class Type:
    """kind: which decoding.  go: how Go prints the type.  key: the definition of a struct.  elem: of a list or map."""

    kind: str
    go: str
    key: str = ""
    elem: Type | None = None
    bits: int = 0

    @property
    def zero(self) -> Any:
        """What null decodes to inside a list or map (structs are made by their decoder)."""
        return _ZEROS.get(self.kind)


_KEPT = "managedFields"
"""A list that says something when it is empty: that they are to be forgotten.  No write stores it as it is."""


@dataclass(frozen=True, slots=True)
class Field:
    """keep: whether a zero value is written.  always: whether the field is written even where it is missing."""

    type: Type
    keep: bool
    always: bool


@dataclass(frozen=True)
class Struct:
    """A Go struct: its name in error messages, and its JSON fields."""

    key: str
    name: str
    schemas: Mapping[str, JsonObject]
    required: frozenset[str]
    whole: bool
    seen: dict[str, Field] = field(default_factory=dict)

    def field(self, name: str) -> Field | None:
        found = self.seen.get(name)
        if found is None and name in self.schemas:
            found = self.seen[name] = self._field(name, self.schemas[name])
        return found

    @cached_property
    def always(self) -> tuple[tuple[str, Type], ...]:
        """The fields that Go writes whatever their value."""
        found = ((name, self.field(name)) for name in self.schemas if name not in ("apiVersion", "kind"))
        return tuple((name, entry.type) for name, entry in found if entry is not None and entry.always)

    def _field(self, name: str, described: JsonObject) -> Field:
        kind = type_of(described, gotypes.NAMED_TYPES.get(f"{self.name}.{name}", ""))
        if kind.kind == "struct":
            value = self._is_value_struct(name, kind)
            return Field(kind, keep=True, always=value)
        if kind.kind in ("list", "map"):
            keep = name == _KEPT or name in self._in(gotypes.TELLING_LISTS)
            return Field(kind, keep=keep, always=name in self._in(gotypes.BARE_LISTS))
        if kind.kind in _SCALARS and name in self.required and name not in self._in(gotypes.POINTER_REQUIRED):
            return Field(kind, keep=True, always=True)
        if name in self._in(gotypes.ALWAYS_WRITTEN):
            return Field(kind, keep=True, always=True)
        always = name in self._in(_VALUES.get(kind.kind, {}))
        return Field(kind, keep=self._keeps_zero(name, kind), always=always)

    def _is_value_struct(self, name: str, kind: Type) -> bool:
        if name in self.required:
            return name not in self._in(gotypes.POINTER_STRUCTS)
        if kind.go in ("v1.ObjectMeta", "v1.ListMeta"):
            return True
        return (self.whole and name in ("spec", "status")) or name in self._in(gotypes.VALUE_STRUCTS)

    def _keeps_zero(self, name: str, kind: Type) -> bool:
        if kind.kind == "bool":
            return name not in self._in(gotypes.VALUE_BOOLS)
        if kind.kind == "int":
            return name not in self._in(gotypes.VALUE_INTS)
        if kind.kind == "string":
            return name in self._in(gotypes.POINTER_STRINGS)
        return kind.kind != "bytes"

    def _in(self, table: Mapping[str, frozenset[str]]) -> frozenset[str]:
        """The field names that a table has for this struct."""
        return table.get(self.name, _NONE) | table.get(f"{self.group}.{self.name}", _NONE)

    @property
    def group(self) -> str:
        """`core` of `io.k8s.api.core.v1.Event`."""
        return self.key.split(".")[-3]


@cache
def struct(key: str) -> Struct:
    described = schema.definition(key)
    return Struct(
        key=key,
        name=key.rsplit(".", 1)[-1],
        schemas=described.get("properties", {}),
        required=frozenset(described.get("required", ())),
        whole="x-kubernetes-group-version-kind" in described,
    )


def type_of(described: JsonObject, named: str = "") -> Type:
    """The type of a property; `named`: its own name in Go, where it has one."""
    key = schema.reference(described)
    if key is not None:
        return _referenced(key)
    kind = schema.json_type(described)
    if kind == "string":
        return Type("bytes", "[]uint8") if described.get("format") == "byte" else Type("string", named or "string")
    if kind == "boolean":
        return Type("bool", "bool")
    if kind == "number":
        return Type("float", "float64")
    if kind == "integer":
        bits = 32 if described.get("format") == "int32" else 64
        return Type("int", f"int{bits}", bits=bits)
    return _composed(kind, described, named)


def _composed(kind: str | None, described: JsonObject, named: str) -> Type:
    if kind == "array":
        inner = type_of(described["items"], named.removeprefix("[]"))
        return Type("list", named or f"[]{inner.go}", elem=inner)
    if kind == "object" and "additionalProperties" in described:
        inner = type_of(described["additionalProperties"])
        return Type("map", named or f"map[string]{inner.go}", elem=inner)
    return Type("raw", "interface {}")


@cache
def _referenced(key: str) -> Type:
    leaf = _LEAVES.get(key.rsplit(".", 1)[-1])
    return Type(leaf or "struct", schema.short_name(key), key)

"""How large the values of a schema can be: the lengths, item and entry counts that cost estimates multiply by.

Where a schema has no maxLength, maxItems or maxProperties, a request of 3 MiB is the bound.  The figures and rules are
those of apiserver's `pkg/cel/limits.go` and `pkg/cel/common/schemas.go`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kube32_sim.api.cel.cost_range import MOST, Range
from kube32_sim.api.cel.tree import Type

JsonObject = Mapping[str, Any]

MAX_REQUEST_SIZE = 3 * 1024 * 1024
"""Bytes; not what the server accepts, but what upstream estimates with."""
_MAX_STRING = MAX_REQUEST_SIZE - 2
_MIN_STRING = 2
_PLAIN = {"type": "string"}


@dataclass(frozen=True, slots=True)
class SizedType:
    """The type of a schema, with sizes.

    kind: dyn, bool, int, double, string, bytes, timestamp, duration, list, map or object.
    max_size: the most characters, bytes, items or entries a value has; 0 for numbers, booleans and objects.
    min_bytes: the least that a value takes in JSON.
    key and element: of a map (and the element of a list).  fields: of an object, by CEL identifier.
    """

    kind: str
    max_size: int = 0
    min_bytes: int = 1
    key: SizedType | None = None
    element: SizedType | None = None
    fields: Mapping[str, SizedType] = field(default_factory=dict)

    def at(self, path: Sequence[str]) -> SizedType | None:
        """The type a path of an expression leads to: names of fields, `@items`, `@values` and `@keys`.

        The first part is the variable (`self`, `oldSelf`), which stands for this type whatever its name.
        """
        found: SizedType | None = self if path else None
        for part in path[1:]:
            if found is None:
                return None
            match part:
                case "@items" | "@values":
                    found = found.element
                case "@keys":
                    found = found.key
                case _:
                    found = found.fields.get(part)
        return found

    @property
    def type(self) -> Type:
        """As the checker would call it, but for the names of objects."""
        if self.kind == "object":
            return Type("message")
        return Type(self.kind, tuple(part.type for part in (self.key, self.element) if part))

    @property
    def size(self) -> Range:
        return Range(0, min(self.max_size, MOST))

    @property
    def cardinality(self) -> int:
        """How often such a value fits into a request: how often a rule may run below lists and maps without bounds."""
        return MAX_REQUEST_SIZE // (self.min_bytes + 1)


_FORMATS = {
    "duration": SizedType("duration", 32, 3),
    "date": SizedType("timestamp", 12, 12),
    "date-time": SizedType("timestamp", 32, 21),
}
_NUMBERS = {
    "boolean": SizedType("bool", min_bytes=4),
    "number": SizedType("double"),
    "integer": SizedType("int"),
}


def sized_type(schema: JsonObject, *, resource_root: bool = False) -> SizedType | None:
    """The type of a structural schema in JSON; None where CEL has none for it (no type, lists of such).

    resource_root: of a whole custom resource, which has apiVersion, kind and the names of metadata without being told.
    """
    if schema.get("x-kubernetes-int-or-string"):
        return SizedType("dyn", _max_length(schema, 4))
    match schema.get("type"):
        case "array":
            return _list(schema)
        case "object":
            values = schema.get("additionalProperties")
            return _map(schema, values) if isinstance(values, Mapping) else _object(schema, resource_root)
        case "string":
            return _string(schema)
    return _NUMBERS.get(schema.get("type", ""))


def _list(schema: JsonObject) -> SizedType | None:
    items = schema.get("items")
    element = _nested(items) if isinstance(items, Mapping) else None
    if element is None:
        return None
    most = _limit(schema.get("maxItems"), (MAX_REQUEST_SIZE - 2) // (element.min_bytes + 1))
    return SizedType("list", most, 2, element=element)


def _map(schema: JsonObject, values: JsonObject) -> SizedType | None:
    element = _nested(values)
    if element is None:
        return None
    most = _limit(schema.get("maxProperties"), (MAX_REQUEST_SIZE - 2) // (element.min_bytes + 6))
    return SizedType("map", most, 2, key=_KEY, element=element)


_KEY = SizedType("string", 0, _MIN_STRING)
"""Upstream takes keys for free, too."""


def _object(schema: JsonObject, resource_root: bool) -> SizedType:
    fields: dict[str, SizedType] = {}
    required = set(schema.get("required") or ())
    least = 2  # {}
    properties: Mapping[str, JsonObject] = schema.get("properties") or {}
    for name, inner in (_with_object_meta(properties) if resource_root else properties).items():
        kind = _nested(inner)
        if kind is None:
            continue
        identifier = escape(name)
        if identifier is not None:
            fields[identifier] = kind
        if name in required and inner.get("default") is None:
            least += len(name.encode()) + kind.min_bytes + 4
    return SizedType("object", min_bytes=least, fields=fields)


def _with_object_meta(properties: Mapping[str, JsonObject]) -> Mapping[str, JsonObject]:
    """With what is always there: a schema that declares all of it is left alone, one that declares a part overruled."""
    metadata = properties.get("metadata", {})
    names = metadata.get("properties") or {}
    strings = (properties.get("kind"), properties.get("apiVersion"), names.get("name"), names.get("generateName"))
    if metadata.get("type") == "object" and all(one and one.get("type") == "string" for one in strings):
        return properties
    named = {"type": "object", "properties": {"name": _PLAIN, "generateName": _PLAIN}}
    return {**properties, "kind": _PLAIN, "apiVersion": _PLAIN, "metadata": named}


def _string(schema: JsonObject) -> SizedType:
    form = schema.get("format")
    if form == "byte":
        return SizedType("bytes", _max_length(schema, 1), _MIN_STRING)
    if form in _FORMATS:
        return _FORMATS[form]
    values = schema.get("enum")
    if values and schema.get("maxLength") is None:
        longest = max((len(value.encode()) for value in values if isinstance(value, str)), default=0)
        return SizedType("string", longest, _MIN_STRING)
    return SizedType("string", _max_length(schema, 4), _MIN_STRING)


def _nested(schema: JsonObject) -> SizedType | None:
    return sized_type(schema, resource_root=bool(schema.get("x-kubernetes-embedded-resource")))


def _max_length(schema: JsonObject, bytes_each: int) -> int:
    """maxLength counts code points, which take up to four bytes each in a request."""
    length = schema.get("maxLength")
    return _MAX_STRING if length is None else max(length, 0) * bytes_each


def _limit(declared: int | None, estimate: int) -> int:
    return estimate if declared is None else max(declared, 0)


_RESERVED = frozenset(
    (
        *("true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function"),
        *("if", "import", "let", "loop", "package", "namespace", "return", "var", "void", "while"),
    )
)
_ESCAPES = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_ESCAPED = re.compile("__|[./-]")
_PROPERTY = re.compile(r"[A-Za-z_./-][A-Za-z0-9_./-]*")


def escape(name: str) -> str | None:
    """The CEL identifier of a property: `a-b` is `a__dash__b`, `if` is `__if__`; None for names that have none."""
    if name in _RESERVED:
        return f"__{name}__"
    return _ESCAPED.sub(lambda found: _ESCAPES[found[0]], name) if _PROPERTY.fullmatch(name) else None

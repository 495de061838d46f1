"""The quick decoder: one closure a struct, for values in which nothing is wrong.

It makes a new object with Go's omissions and canonical texts.  Whatever is unusual (an unknown field, a wrong type, a
null in a list) raises `Unusual`, and `diagnose` then does the same work slowly, with paths and messages.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from kube32_sim.api.decode import leaves
from kube32_sim.api.decode.types import Field, Struct, Type, struct

Decoder = Callable[[Any], Any]


class Unusual(Exception):
    """Not a value the quick decoder takes; says nothing about whether it is right."""


class _NoClass:
    """The class of no value: fields with it are always left to their decoder."""


#: What a struct's decoder knows of a field: values of exactly this class are taken as they are; whether zero values
#: are written; the decoder for other classes.
_Entry = tuple[type, bool, Decoder]

_structs: dict[str, Decoder] = {}


def struct_decoder(key: str) -> Decoder:
    found = _structs.get(key)
    if found is None:
        found = _structs[key] = _make_struct(struct(key))
    return found


def _make_struct(of: Struct) -> Decoder:
    entries = _Entries(of)
    always: list[tuple[str, Any, Decoder | None]] | None = None

    def decode(value: Any) -> Any:
        nonlocal always
        if value.__class__ is not dict:
            raise Unusual
        made: dict[str, Any] = {}
        for name, item in value.items():
            exact, keep, inner = entries[name]
            if item.__class__ is exact:
                if item or keep:
                    made[name] = item
            elif item is not None:
                typed = inner(item)
                if typed or (keep and typed is not None):
                    made[name] = typed
        if always is None:
            always = _always(of)
        for name, zero, make in always:
            if name not in made:
                made[name] = zero if make is None else make({})
        return made

    return decode


class _Entries(dict[str, _Entry]):
    """The fields of a struct, each compiled when it is first seen."""

    def __init__(self, of: Struct) -> None:
        super().__init__()
        self._of = of

    def __missing__(self, name: str) -> _Entry:
        found = self._of.field(name)
        if found is None:
            raise Unusual
        entry = self[name] = _entry(found)
        return entry


def _always(of: Struct) -> list[tuple[str, Any, Decoder | None]]:
    return [(name, kind.zero, struct_decoder(kind.key) if kind.kind == "struct" else None) for name, kind in of.always]


def _entry(of: Field) -> _Entry:
    exact: type = {"string": str, "bool": bool}.get(of.type.kind, _NoClass)
    return exact, of.keep, decoder(of.type)


def decoder(of: Type) -> Decoder:
    """The decoder of a type."""
    if of.kind == "struct":
        return struct_decoder(of.key)
    if of.kind == "list" and of.elem is not None:
        return _list_of(of.elem)
    if of.kind == "map" and of.elem is not None:
        return _map_of(of.elem)
    if of.kind == "int":
        return _INTS[of.bits]
    return _LEAVES.get(of.kind, _unusual)


def _unusual(value: Any) -> Any:
    raise Unusual


def _list_of(elem: Type) -> Decoder:
    exact = _EXACT.get(elem.kind)
    inner = decoder(elem)

    def same(value: Any) -> Any:
        if value.__class__ is not list:
            raise Unusual
        for item in value:
            if item.__class__ is not exact:
                raise Unusual
        return value[:]

    def each(value: Any) -> Any:
        if value.__class__ is not list:
            raise Unusual
        return [inner(item) for item in value]

    return same if exact is not None else each


def _map_of(elem: Type) -> Decoder:
    exact = _EXACT.get(elem.kind)
    inner = decoder(elem)

    def same(value: Any) -> Any:
        if value.__class__ is not dict:
            raise Unusual
        for item in value.values():
            if item.__class__ is not exact:
                raise Unusual
        return value.copy()

    def each(value: Any) -> Any:
        if value.__class__ is not dict:
            raise Unusual
        return {name: inner(item) for name, item in value.items()}

    return same if exact is not None else each


def _int32(value: Any) -> Any:
    if value.__class__ is int and -(2**31) <= value < 2**31:
        return value
    raise Unusual


def _int64(value: Any) -> Any:
    if value.__class__ is int and -(2**63) <= value < 2**63:
        return value
    raise Unusual


def _text_leaf(parse: Callable[[str], Any], cached: int = 0) -> Decoder:
    """A leaf with a text form.  cached: how many results to keep, for texts that come again and again."""
    short = lru_cache(cached)(parse) if cached else parse

    def leaf(value: Any) -> Any:
        if value.__class__ is not str:
            raise Unusual
        try:
            return short(value) if len(value) < _SHORT else parse(value)
        except leaves.Refused:
            raise Unusual from None

    return leaf


def _int_or_string(value: Any) -> Any:
    return value if value.__class__ is str else _int32(value)


def _float(value: Any) -> Any:
    if value.__class__ is int or value.__class__ is float:
        return value
    raise Unusual


def _raw(value: Any) -> Any:
    if value is None:
        raise Unusual
    return value


_SCHEMA = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"


def _schema(value: Any) -> Any:
    """Where a schema may be, or something rarer."""
    return struct_decoder(_SCHEMA)(value)


def _schema_or_bool(value: Any) -> Any:
    return value if value.__class__ is bool else _schema(value)


#: Longer texts are not kept, so that what is kept is bounded.
_SHORT = 40
_EXACT: dict[str, type] = {"string": str, "bool": bool}
_INTS: dict[int, Decoder] = {32: _int32, 64: _int64}
_LEAVES: dict[str, Decoder] = {
    "quantity": _text_leaf(leaves.quantity_text, cached=4096),
    "intorstring": _int_or_string,
    "time": _text_leaf(leaves.time_text, cached=4096),
    "microtime": _text_leaf(leaves.microtime_text),
    "bytes": _text_leaf(leaves.base64_text),
    "float": _float,
    "raw": _raw,
    "schema-or-array": _schema,
    "schema-or-bool": _schema_or_bool,
}

"""The thorough decoder: the same result as `fast`, with paths, unknown fields and Go's error messages.

Follows Go's encoding/json: a value of the wrong type is remembered and decoding goes on, the first such error counts;
a type with a parser of its own (a quantity, a time) ends decoding at once, and its error comes before the others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kube32_sim.api.decode import leaves
from kube32_sim.api.decode.types import Struct, Type, struct

#: sigs.k8s.io/json reports no more than these.
MOST_UNKNOWN = 100

#: How apimachinery's converter names what it cannot make, and what it cannot make it from.
_RESTORED = {"list": "slice", "bytes": "slice", "map": "map", "struct": "struct"}
_GO_KINDS = {"bool": "bool", "number": "int64", "string": "string", "array": "slice", "object": "map"}

#: What Go would convert an integer, or else a float, to; the converter refuses that in other words than the rest.
_CONVERTIBLE = (("string", "int", "float"), ("int", "float"))


class Stopped(Exception):
    """Decoding ended at once; the message is Go's."""


def describe(value: Any) -> str:
    """A JSON value's type as Go's messages name it."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"


class Diagnosis:
    """One decoding.  error: the first type error.  unknown: paths of unknown fields, in input order.

    converting: errors are worded as for the result of a strategic merge patch.
    """

    def __init__(self, converting: bool = False) -> None:
        self._converting = converting
        self.error: str | None = None
        self.unknown: dict[str, None] = {}
        self.inexact = False
        self._struct = ""
        self._fields: list[str] = []
        self._path: list[str] = []
        self._silent = 0

    def decode(self, of: Type, value: Any) -> Any:
        """What Go writes back for a value."""
        if value is None:
            return self._zero(of)
        try:
            return _DECODERS[of.kind](self, of, value)
        except leaves.Refused as error:
            raise Stopped(str(error)) from None

    def _zero(self, of: Type) -> Any:
        return self._object(struct(of.key), {}) if of.kind == "struct" else of.zero

    def _wrong(self, of: Type, value: Any, exactly: bool = False) -> None:
        """Remember a type error.  exactly: the message quotes the number."""
        if self.error is None:
            self.error = self._conversion(of, value) if self._converting else self._unmarshalling(of, value, exactly)

    def _unmarshalling(self, of: Type, value: Any, exactly: bool) -> str:
        what = describe(value)
        if exactly and what == "number":
            self.inexact = self.inexact or value.__class__ is float
            what = f"number {leaves.number_text(value)}"
        where = f"Go struct field {self._struct}.{'.'.join(self._fields)}" if self._fields else "Go value"
        return f"json: cannot unmarshal {what} into {where} of type {of.go}"

    def _conversion(self, of: Type, value: Any) -> str:
        """The words of apimachinery's converter, which a strategic merge patch's result goes through."""
        given = describe(value)
        if of.kind in _RESTORED:
            return f"cannot restore {_RESTORED[of.kind]} from {_GO_KINDS[given]}"
        if given == "number" and of.kind in _CONVERTIBLE[isinstance(value, float)]:
            return f"cannot convert {'float64' if isinstance(value, float) else 'int64'} to {of.go}"
        return f"unrecognized type: {of.kind if of.kind in ('string', 'bool') else of.go}"

    def decode_struct(self, of: Type, value: Any) -> Any:
        if not isinstance(value, dict):
            self._wrong(of, value)
            return self._zero(of)
        return self._object(struct(of.key), value)

    def _object(self, of: Struct, value: dict[str, Any]) -> dict[str, Any]:
        made: dict[str, Any] = {}
        outer = self._struct
        for name, item in value.items():
            entry = of.field(name)
            if entry is None:
                self._report(name)
            elif item is not None:
                self._struct = of.name
                self._fields.append(name)
                typed = self._at(f".{name}" if self._path else name, entry.type, item)
                self._fields.pop()
                if typed or (entry.keep and typed is not None):
                    made[name] = typed
        self._struct = outer
        for name, kind in of.always:
            if name not in made:
                made[name] = self._zero(kind)
        return made

    def _at(self, step: str, of: Type, value: Any) -> Any:
        self._path.append(step)
        made = self.decode(of, value)
        self._path.pop()
        return made

    def _report(self, name: str) -> None:
        if not self._silent and len(self.unknown) < MOST_UNKNOWN:
            self.unknown["".join([*self._path, f".{name}" if self._path else name])] = None

    def decode_list(self, of: Type, value: Any) -> Any:
        if not isinstance(value, list):
            self._wrong(of, value)
            return None
        return [self._at(f"[{index}]", _elem(of), item) for index, item in enumerate(value)]

    def decode_map(self, of: Type, value: Any) -> Any:
        if not isinstance(value, dict):
            self._wrong(of, value)
            return None
        return {name: self._at(f".{name}", _elem(of), item) for name, item in value.items()}

    def decode_string(self, of: Type, value: Any) -> Any:
        if isinstance(value, str):
            return value
        self._wrong(of, value)
        return None

    def decode_bool(self, of: Type, value: Any) -> Any:
        if isinstance(value, bool):
            return value
        self._wrong(of, value)
        return None

    def decode_int(self, of: Type, value: Any) -> Any:
        limit = 2 ** (of.bits - 1)
        if isinstance(value, int) and not isinstance(value, bool) and -limit <= value < limit:
            return value
        self._wrong(of, value, exactly=True)
        return None

    def decode_float(self, of: Type, value: Any) -> Any:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value) if isinstance(value, leaves.ExactNumber) else value
        self._wrong(of, value)
        return None

    def decode_bytes(self, of: Type, value: Any) -> Any:
        if isinstance(value, str):
            try:
                return leaves.base64_text(value)
            except leaves.Refused as error:
                self.error = self.error or str(error)
                return None
        if isinstance(value, list) and all(type(item) is int and 0 <= item < 256 for item in value):
            return leaves.base64_of(bytes(value))
        self._wrong(of, value)
        return None

    def decode_quantity(self, of: Type, value: Any) -> Any:
        self.inexact = self.inexact or value.__class__ is float
        return leaves.quantity_text(value)

    def decode_time(self, of: Type, value: Any) -> Any:
        return leaves.time_text(self._text(value))

    def decode_microtime(self, of: Type, value: Any) -> Any:
        return leaves.microtime_text(self._text(value))

    def _text(self, value: Any) -> str:
        if isinstance(value, str):
            return value
        raise self._stop("string", value)

    def _stop(self, of: str, value: Any, exactly: bool = False) -> Stopped:
        """A type error in a type with a parser of its own: nothing comes after it."""
        return Stopped(self._unmarshalling(Type("", of), value, exactly))

    def decode_int_or_string(self, of: Type, value: Any) -> Any:
        if isinstance(value, str):
            return value
        if isinstance(value, int) and not isinstance(value, bool) and -(2**31) <= value < 2**31:
            return value
        raise self._stop("int32", value, exactly=True)

    def decode_raw(self, of: Type, value: Any) -> Any:
        return leaves.plain(value)

    def decode_schema_or_bool(self, of: Type, value: Any) -> Any:
        if isinstance(value, bool):
            return value
        if not isinstance(value, dict):
            raise Stopped("boolean or JSON schema expected")
        return self._schema(of, value)

    def decode_schema_or_array(self, of: Type, value: Any) -> Any:
        if isinstance(value, list):
            return [self._schema(of, item) for item in value]
        return self._schema(of, value) if isinstance(value, dict) else None

    def decode_schema_or_strings(self, of: Type, value: Any) -> Any:
        if isinstance(value, list):
            return [self.decode_string(Type("string", "string"), item) for item in value]
        return self._schema(of, value) if isinstance(value, dict) else None

    def _schema(self, of: Type, value: Any) -> Any:
        """A JSON schema in a field with a parser of its own, which drops unknown fields without a word."""
        key = of.key.rsplit(".", 1)[0] + ".JSONSchemaProps"
        self._silent += 1
        made = self.decode_struct(Type("struct", "v1.JSONSchemaProps", key), value)
        self._silent -= 1
        return made


def _elem(of: Type) -> Type:
    if of.elem is None:
        raise TypeError(f"{of.go} has no elements")
    return of.elem


_DECODERS: dict[str, Callable[[Diagnosis, Type, Any], Any]] = {
    "struct": Diagnosis.decode_struct,
    "list": Diagnosis.decode_list,
    "map": Diagnosis.decode_map,
    "string": Diagnosis.decode_string,
    "bool": Diagnosis.decode_bool,
    "int": Diagnosis.decode_int,
    "float": Diagnosis.decode_float,
    "bytes": Diagnosis.decode_bytes,
    "quantity": Diagnosis.decode_quantity,
    "time": Diagnosis.decode_time,
    "microtime": Diagnosis.decode_microtime,
    "intorstring": Diagnosis.decode_int_or_string,
    "raw": Diagnosis.decode_raw,
    "schema-or-bool": Diagnosis.decode_schema_or_bool,
    "schema-or-array": Diagnosis.decode_schema_or_array,
    "schema-or-strings": Diagnosis.decode_schema_or_strings,
}

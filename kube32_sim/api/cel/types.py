"""The types that CEL expressions are checked against: a small vocabulary of our own, without the CEL library.

`descriptors.py` turns the object types into what the library understands, `schema_types.py` makes types of schemas.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class CelType:
    """name: as CEL writes it (`int`, `list`, `google.protobuf.Timestamp`, the name of an object type).

    parameters: of `list`, `map` and `optional_type`.  fields: of an object type, by CEL identifier (escaped names).
    Two types with the same name and parameters are the same one.
    """

    name: str
    parameters: tuple[CelType, ...] = ()
    fields: Mapping[str, CelType] | None = field(default=None, compare=False)

    def __str__(self) -> str:
        """As in a signature: `map<string, list<int>>`."""
        return f"{self.name}<{', '.join(map(str, self.parameters))}>" if self.parameters else self.name

    def shown(self) -> str:
        """As Kubernetes' messages show it: `map(string, list(int))`."""
        if not self.parameters:
            return self.name
        return f"{self.name}({', '.join(part.shown() for part in self.parameters)})"


DYN = CelType("dyn")
NULL = CelType("null")
BOOL = CelType("bool")
INT = CelType("int")
UINT = CelType("uint")
DOUBLE = CelType("double")
STRING = CelType("string")
BYTES = CelType("bytes")
TIMESTAMP = CelType("google.protobuf.Timestamp")
DURATION = CelType("google.protobuf.Duration")
TYPE = CelType("type")
AUTHORIZER = CelType("kubernetes.authorization.Authorizer")
RESOURCE_CHECK = CelType("kubernetes.authorization.ResourceCheck")


def list_of(element: CelType) -> CelType:
    return CelType("list", (element,))


def map_of(value: CelType, key: CelType = STRING) -> CelType:
    return CelType("map", (key, value))


def optional_of(value: CelType) -> CelType:
    return CelType("optional_type", (value,))


def object_type(name: str, fields: Mapping[str, CelType]) -> CelType:
    """name: dotted identifiers, unique among the types of one environment.  fields: by CEL identifier."""
    return CelType(name, (), fields)


LIST_STRING = list_of(STRING)
MAP = map_of(DYN)

_LIBRARY_NAMES = {"TIMESTAMP": TIMESTAMP.name, "DURATION": DURATION.name}
_SIMPLE = ("DYN", "NULL", "BOOL", "INT", "UINT", "DOUBLE", "STRING", "BYTES", "LIST", "MAP", "TYPE")
_LIBRARY_NAMES.update({name: name.lower() for name in _SIMPLE})


def parse_type(text: str, objects: Mapping[str, CelType]) -> CelType:
    """A type from the library's notation, such as `LIST<DYN>`.  objects: the object types that it may name."""
    name, opened, rest = text.partition("<")
    name = _LIBRARY_NAMES.get(name, name)
    if not opened:
        return objects.get(name) or CelType(name)
    return CelType(name, tuple(parse_type(part, objects) for part in _split(rest.removesuffix(">"))))


def _split(text: str) -> list[str]:
    """The parts between commas that no bracket encloses."""
    parts, depth, start = [], 0, 0
    for position, letter in enumerate(text):
        depth += (letter == "<") - (letter == ">")
        if letter == "," and depth == 0:
            parts.append(text[start:position].strip())
            start = position + 1
    return [*parts, text[start:].strip()]

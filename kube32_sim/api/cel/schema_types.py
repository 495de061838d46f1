"""The types of schemas as the checker knows them; made of those of `cost_sizes`, which know how large values can be."""

from __future__ import annotations

from kube32_sim.api.cel.cost_sizes import SizedType
from kube32_sim.api.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    CelType,
    list_of,
    map_of,
    object_type,
)

_SIMPLE = {
    "dyn": DYN,
    "bool": BOOL,
    "int": INT,
    "double": DOUBLE,
    "string": STRING,
    "bytes": BYTES,
    "timestamp": TIMESTAMP,
    "duration": DURATION,
}


_MOST_FIELDS = 4000
"""Of one object: protobuf, which its type is made with, takes some 5,000.  Beyond, fields are not checked."""


def checked_type(kind: SizedType, name: str = "selfType") -> CelType:
    """name: of the type, should it be an object's; those inside it are called after it."""
    if kind.kind == "object":
        if len(kind.fields) > _MOST_FIELDS:
            return DYN
        return object_type(
            name, {field: checked_type(inner, f"{name}_{field}") for field, inner in kind.fields.items()}
        )
    if kind.element is None:
        return _SIMPLE[kind.kind]
    element = checked_type(kind.element, f"{name}_{'items' if kind.kind == 'list' else 'values'}")
    return list_of(element) if kind.kind == "list" else map_of(element)

"""Which fields of a custom object its Scale is made of, and whether they hold what a Scale can.

The rules and messages are those of apiextensions-apiserver's validator of custom resources and of
`unstructured.NestedInt64`.  The Scale itself is made in `api.scale`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from kube32_sim.api.errors import FieldError, invalid_value
from kube32_sim.api.managed.gotext import plain, type_name

JsonObject = dict[str, Any]

_MOST_INT32 = (1 << 31) - 1


class ScalePaths(NamedTuple):
    """Names of the fields that a Scale is made of; () where there is none."""

    replicas: tuple[str, ...]
    status: tuple[str, ...]
    selector: tuple[str, ...]


class AccessError(ValueError):
    """A value that is not what it should be; the message is upstream's."""


def number_at(obj: JsonObject, path: Sequence[str]) -> int | None:
    """The integer at a path, None where nothing is; raises AccessError."""
    found: int | None = _at(obj, path, "int64")
    return found


def text_at(obj: JsonObject, path: Sequence[str]) -> str | None:
    """The string at a path, None where nothing is; raises AccessError."""
    found: str | None = _at(obj, path, "string")
    return found


def _at(obj: JsonObject, path: Sequence[str], kind: str) -> Any:
    value: Any = obj
    for depth, name in enumerate(path):
        if value is None:
            return None
        if not isinstance(value, dict):
            raise _not_a("map[string]interface {}", value, path[: depth + 1])
        if name not in value:
            return None
        value = value[name]
    if _type_of(value) != kind:
        raise _not_a(kind, value, path)
    return value


def _not_a(kind: str, value: Any, path: Sequence[str]) -> AccessError:
    where = ".".join(("", *path))
    wanted = kind.replace(" ", "")
    return AccessError(f"{where} accessor error: {plain(value)} is of the type {_type_of(value)}, expected {wanted}")


def _type_of(value: Any) -> str:
    return "<nil>" if value is None else type_name(value)


def spec_faults(paths: ScalePaths, obj: JsonObject) -> list[FieldError]:
    """What is wrong with the replicas that are wanted."""
    return _number_faults(paths.replicas, obj)


def status_faults(paths: ScalePaths, obj: JsonObject) -> list[FieldError]:
    """What is wrong with the replicas that are there, and with the selector."""
    found = _number_faults(paths.status, obj)
    return found + _unreadable(text_at, obj, paths.selector, "") if paths.selector else found


def _number_faults(path: Sequence[str], obj: JsonObject) -> list[FieldError]:
    unreadable = _unreadable(number_at, obj, path, 0)
    if unreadable:
        return unreadable
    number = number_at(obj, path) or 0
    if 0 <= number <= _MOST_INT32:
        return []
    why = "should be a non-negative integer" if number < 0 else f"should be less than or equal to {_MOST_INT32}"
    return [invalid_value(".".join(("", *path)), number, why)]


def _unreadable(
    read: Callable[[JsonObject, Sequence[str]], object], obj: JsonObject, path: Sequence[str], zero: int | str
) -> list[FieldError]:
    try:
        read(obj, path)
    except AccessError as error:
        return [invalid_value(".".join(("", *path)), zero, str(error))]
    return []

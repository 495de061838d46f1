"""Values that are made of options, each field of one of the same name: `Limits`, `Election`, `EtcdAccess`."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    T = TypeVar("T", bound=DataclassInstance)


def flag(name: str) -> str:
    """The option of a field."""
    return f"--{name.replace('_', '-')}"


def taken(kind: type[T], values: dict[str, Any]) -> T:
    """Takes what a value is made of out of the values of options.  Raises ValueError."""
    return kind(**{each.name: values.pop(each.name) for each in fields(kind)})

"""What a value does wrong, in go-openapi's words, and how upstream's `apiserver/validation` makes a field error of it.

Two faults of the same words are one.  Those that say nothing of one field (`anyOf` and its like) are about `<nil>`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import Enum
from typing import Any

from kube32_sim.api.errors import FieldError, go_value, invalid_value, not_supported, required, too_long, too_many
from kube32_sim.api.managed.gotext import quoted
from kube32_sim.api.structural.enums import Enum as Enumeration
from kube32_sim.api.structural.values import shown

NOWHERE = "<nil>"


class Code(Enum):
    """Which field error a fault becomes."""

    REQUIRED = "required"
    ENUM = "enum"
    TOO_LONG = "too long"
    TOO_MANY = "too many"
    TYPE = "type"
    INVALID = "invalid"
    PLACELESS = "placeless"


@dataclass(frozen=True, slots=True)
class Fault:
    """name: the path, with a dot before it where upstream's has one.  valid: the limit, or the list."""

    code: Code
    name: str
    message: str
    value: Any = None
    valid: Any = None

    def error(self, base: str) -> FieldError:
        """base: the path of the validated value, "" for an object."""
        name = "" if self.code is Code.PLACELESS or self.name == "." else self.name.removeprefix(".")
        path = ".".join(part for part in (base, name) if part) or NOWHERE
        match self.code:
            case Code.REQUIRED:
                return required(path)
            case Code.ENUM:
                texts = [each if isinstance(each, str) else _json(each) for each in self.valid]
                return not_supported(path, shown(self.value), texts)
            case Code.TOO_LONG:
                return too_long(path, self.valid)
            case Code.TOO_MANY:
                return too_many(path, self.value, self.valid)
            case Code.TYPE:
                return FieldError(
                    "FieldValueTypeInvalid", path, f"Invalid value: {go_value(self.value)}: {self.message}"
                )
        return invalid_value(path, "" if self.value is None else shown(self.value), self.message)


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, sort_keys=True)


def wrong_type(name: str, wanted: str, value: str) -> Fault:
    return Fault(Code.TYPE, name, f"{name} in body must be of type {wanted}: {quoted(value)}", value)


def missing(name: str) -> Fault:
    return Fault(Code.REQUIRED, name, f"{name} in body is required")


def not_in(name: str, value: Any, allowed: Enumeration) -> Fault:
    return Fault(Code.ENUM, name, f"{name} in body should be one of {allowed.shown}", value, allowed.values)


def over(name: str, message: str, value: int, most: int) -> Fault:
    return Fault(Code.TOO_MANY, name, f"{name} in body {message}", value, most)


def invalid(name: str, message: str, value: Any) -> Fault:
    return Fault(Code.INVALID, name, f"{name} in body {message}", value)


def placeless(message: str) -> Fault:
    return Fault(Code.PLACELESS, "", message)

"""Validation of `metav1.Condition`s, which many kinds have in their status (upstream's `ValidateConditions`)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from kube32_sim.api.errors import FieldError, duplicate, invalid_value, not_supported, required, too_long
from kube32_sim.api.validation import names

JsonObject = dict[str, Any]

_STATUSES = ("False", "True", "Unknown")
_REASON = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"
_is_reason = re.compile(_REASON).fullmatch
_REASON_TEXT = names.regex_error(
    "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric "
    "characters or '_,:', and must end with an alphanumeric character or '_'",
    _REASON,
    "my_name",
    "MY_NAME",
    "MyName",
    "ReasonA,ReasonB",
    "ReasonA:ReasonB",
)
_LONGEST_REASON, _LONGEST_MESSAGE = 1024, 32 * 1024


def validate_conditions(conditions: Iterable[JsonObject] | None, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    seen: set[str] = set()
    for index, condition in enumerate(conditions or ()):
        at, kind = f"{path}[{index}]", condition.get("type", "")
        if kind in seen:
            found.append(duplicate(f"{at}.type", kind))
        seen.add(kind)
        found += _condition(condition, at)
    return found


def _condition(condition: JsonObject, path: str) -> list[FieldError]:
    kind, status = condition.get("type", ""), condition.get("status", "")
    found = [invalid_value(f"{path}.type", kind, why) for why in names.qualified_name(kind)]
    if status not in _STATUSES:
        found.append(not_supported(f"{path}.status", status, _STATUSES))
    generation = condition.get("observedGeneration", 0)
    if generation < 0:
        found.append(invalid_value(f"{path}.observedGeneration", generation, "must be greater than or equal to zero"))
    if not condition.get("lastTransitionTime"):
        found.append(required(f"{path}.lastTransitionTime", "must be set"))
    return found + _reason(condition.get("reason", ""), condition.get("message", ""), path)


def _reason(reason: str, message: str, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    if not reason:
        found.append(required(f"{path}.reason", "must be set"))
    elif not _is_reason(reason):
        found.append(invalid_value(f"{path}.reason", reason, _REASON_TEXT))
    if names.byte_length(reason) > _LONGEST_REASON:
        found.append(too_long(f"{path}.reason", _LONGEST_REASON))
    if names.byte_length(message) > _LONGEST_MESSAGE:
        found.append(too_long(f"{path}.message", _LONGEST_MESSAGE))
    return found

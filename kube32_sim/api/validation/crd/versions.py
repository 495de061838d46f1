"""What versions have besides a schema: deprecation warnings, printer columns, subresources."""

from __future__ import annotations

import unicodedata
from typing import Any

from kube32_sim.api.errors import FieldError, invalid_value, required

JsonObject = dict[str, Any]

_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_LONGEST_WARNING = 256


def deprecation_faults(version: JsonObject, path: str) -> list[FieldError]:
    """Of `deprecationWarning`."""
    text = version.get("deprecationWarning")
    if text is None:
        return []
    misplaced = ["can only be set for deprecated versions"]
    reasons = _warning(text) if version.get("deprecated") else misplaced
    return [invalid_value(f"{path}.deprecationWarning", text, why) for why in reasons]


def _warning(text: str) -> list[str]:
    raw = text.encode("utf-8", "surrogatepass")
    reasons = ["must be <= 256 characters long"] if len(raw) > _LONGEST_WARNING else []
    if not text:
        reasons.append("must not be an empty string")
    bad = next((index for index, letter in enumerate(text) if not _is_print(letter)), None)
    if bad is not None:
        where = len(text[:bad].encode("utf-8", "surrogatepass"))
        what = f"non-printable character found at index {where}"
        reasons.append(f"must only contain printable UTF-8 characters; {what}")
    return reasons


def _is_print(letter: str) -> bool:
    """Go's unicode.IsPrint: letters, marks, numbers, punctuation, symbols, and the ASCII space."""
    return letter == " " or unicodedata.category(letter)[0] in "LMNPS"


def column_faults(columns: list[JsonObject], path: str) -> list[FieldError]:
    """Of `additionalPrinterColumns`."""
    found: list[FieldError] = []
    for index, column in enumerate(columns):
        found += _column(column, f"{path}[{index}]")
    return found


def _column(column: JsonObject, path: str) -> list[FieldError]:
    found = [] if column.get("name") else [required(f"{path}.name")]
    kind, form, target = (column.get(each, "") for each in ("type", "format", "jsonPath"))
    why = f"must be one of {','.join(_COLUMN_TYPES)}"
    if not kind:
        found.append(required(f"{path}.type", why))
    elif kind not in _COLUMN_TYPES:
        found.append(invalid_value(f"{path}.type", kind, why))
    if form and form not in _COLUMN_FORMATS:
        found.append(invalid_value(f"{path}.format", form, f"must be one of {','.join(_COLUMN_FORMATS)}"))
    if not target:
        return [*found, required(f"{path}.JSONPath")]
    return found + _json_path(target, f"{path}.JSONPath")


def _json_path(text: str, path: str) -> list[FieldError]:
    if text.startswith("."):
        return []
    return [invalid_value(path, text, "must be a simple json path starting with .")]


def subresource_faults(subresources: JsonObject | None, path: str) -> list[FieldError]:
    """Of `subresources`, where only scale has fields."""
    scale = (subresources or {}).get("scale")
    if scale is None:
        return []
    found = _scale_path(scale, "specReplicasPath", path, ".spec.")
    found += _scale_path(scale, "statusReplicasPath", path, ".status.")
    if scale.get("labelSelectorPath"):
        found += _scale_path(scale, "labelSelectorPath", path, ".spec.", ".status.")
    return found


def _scale_path(scale: JsonObject, field: str, path: str, *under: str) -> list[FieldError]:
    at, text = f"{path}.scale.{field}", scale.get(field, "")
    if not text:
        return [required(at)]
    found = _json_path(text, at)
    if found or text.startswith(under):
        return found
    where = "either .spec or .status" if len(under) > 1 else under[0].rstrip(".")
    return [invalid_value(at, text, f"should be a json path under {where}")]

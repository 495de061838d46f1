"""Paths into schemas, as `selectableFields` and the `fieldPath` of rules have them: `.spec.size`, `.spec['a.b']`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from kube32_sim.api.errors import FieldError, duplicate, invalid_value, required, too_many

JsonObject = dict[str, Any]

_MOST = 8
_TYPES = ("string", "boolean", "integer")
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "'": "'", "\\": "\\"}
_escapes = re.compile(r"\\.")
_plain_text = re.compile(r"[^.\[\]]+")
_quoted = re.compile(r"'(?:[^']|(?<=\\)')*(?:(?<!\\)'|\Z)")
_NO_FIELD = "does not refer to a valid field"
_ENDS = "unexpected end of JSON path"
_WRONG_TYPE = (
    "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed."
)


class PathError(ValueError):
    """Why a path is none, in upstream's words."""


class FieldPath(NamedTuple):
    """text: the path as messages have it.  root: its first step.  schema: what it leads to; None: anything."""

    text: str
    root: str
    schema: JsonObject | None


def field_path(text: str, schema: JsonObject, *, brackets: bool = True) -> FieldPath:
    """Follow a path through a schema; raises PathError.  brackets: whether `['name']` may be written."""
    tokens = _tokens(text)
    at: JsonObject | None = schema
    steps: list[tuple[str, bool]] = []
    for token in tokens:
        if token == "[":
            if not brackets:
                raise PathError("array notation is not allowed")
            name = _in_brackets(tokens)
        elif token == ".":
            name = _next(tokens)
        else:
            raise PathError(f"expected [ or . but got: {token}")
        named, at = _step(at, name)
        steps.append((name, named))
        if token == "[" and (end := _next(tokens)) != "]":
            raise PathError(f"expected ] but got {end}")
    shown = "".join(f".{name}" if named else f"[{name}]" for name, named in steps).removeprefix(".")
    return FieldPath(shown, steps[0][0] if steps else "", at)


def is_field_path(text: str, schema: JsonObject) -> bool:
    try:
        field_path(text, schema)
    except PathError:
        return False
    return True


def _tokens(text: str) -> Iterator[str]:
    """`.`, `[` and `]`, and what stands between them; a text in quotes is one."""
    start = 0
    while start < len(text):
        match = _quoted.match(text, start) or _plain_text.match(text, start)
        end = match.end() if match else start + 1
        yield text[start:end]
        start = end


def _next(tokens: Iterator[str]) -> str:
    token = next(tokens, None)
    if token is None:
        raise PathError(_ENDS)
    return token


def _in_brackets(tokens: Iterator[str]) -> str:
    token = _next(tokens)
    if len(token) < 2 or token[0] != "'" or token[-1] != "'":
        raise PathError(f"expected single quoted string but got {token}")
    return _escapes.sub(_unescaped, token[1:-1])


def _unescaped(match: re.Match[str]) -> str:
    try:
        return _ESCAPES[match[0][1]]
    except KeyError:
        raise PathError(f"invalid string literal: invalid escape char {match[0]}") from None


def _step(schema: JsonObject | None, name: str) -> tuple[bool, JsonObject | None]:
    """Whether the step is to a field (or else to a key of a map), and the schema there."""
    properties = (schema or {}).get("properties")
    if properties:
        if name not in properties:
            raise PathError(_NO_FIELD)
        return True, properties[name]
    values = (schema or {}).get("additionalProperties")
    if values is None:
        raise PathError(_NO_FIELD)
    return False, values if isinstance(values, dict) else None


def selectable_faults(fields: list[JsonObject], schema: JsonObject, path: str) -> list[FieldError]:
    """Of the selectableFields of one version, or of all."""
    found: list[FieldError] = []
    seen: set[str] = set()
    for index, field in enumerate(fields):
        at, text = f"{path}[{index}].jsonPath", field.get("jsonPath", "")
        if not text:
            found.append(required(at))
            continue
        try:
            target = field_path(text, schema, brackets=False)
        except PathError as error:
            found.append(invalid_value(at, text, f"is an invalid path: {error}"))
            continue
        if target.root == "metadata":
            found.append(invalid_value(at, text, "must not point to fields in metadata"))
        if (target.schema or {}).get("type") not in _TYPES:
            found.append(invalid_value(at, text, _WRONG_TYPE))
        if target.text in seen:
            found.append(duplicate(at, text))
        seen.add(target.text)
    if len(seen) > _MOST:
        found.append(too_many(path, len(seen), _MOST))
    return found

"""JSON texts as Go reads them: error messages, numbers that keep their text, keys that occur twice.

The quick way is orjson; everything it refuses is read again with the standard library, which says where the fault is
and takes what Go takes and orjson does not (broken UTF-8, lone surrogates, each replaced by U+FFFD).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import orjson

from kube32_sim.api.decode.leaves import ExactNumber

JsonObject = dict[str, Any]

TOO_DEEP = "exceeded max depth"
MOST_PARTS = 100_000
"""Values in a body: one of 3 MB could hold ten times as many, and of real ones the largest hold some ten thousand."""
ROOM = 12
"""Levels that are left above a value: the fields of its managers are as deep as it is, and lie in its metadata."""
_SURROGATE = re.compile("[\ud800-\udfff]")
_AFTER = {
    "Expecting property name enclosed in double quotes": "looking for beginning of object key string",
    "Expecting ':' delimiter": "after object key",
    "Expecting ',' delimiter": "after object key:value pair",
    "Extra data": "after top-level value",
    "Invalid control character at": "in string literal",
    "Invalid \\escape": "in string escape code",
    "Invalid \\uXXXX escape": "in \\u hexadecimal character escape",
}


class JsonError(ValueError):
    """A text that is no JSON; the message is Go's."""


def loads(data: bytes) -> Any:
    """The value of a JSON text; of keys that occur twice the last one counts.  Raises JsonError."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return _loads_slowly(data, float, dict)


def loads_exact(data: bytes) -> Any:
    """As `loads`, with ExactNumbers for numbers that are no 64-bit integers, and repeated objects merged as Go does."""
    return _loads_slowly(data, ExactNumber, merged)


def check_extent(value: Any) -> bytes:
    """The encoded value; raises JsonError where it is nested too deeply to be stored, or has more parts than anybody's.

    Everything that is done with an object takes a time for each of its parts, in which nobody else is served.
    """
    try:
        encoded = orjson.dumps([[[[[[[[[[[[value]]]]]]]]]]]])[ROOM:-ROOM]
    except (orjson.JSONEncodeError, RecursionError):
        raise JsonError(TOO_DEEP) from None
    if len(encoded) > 2 * MOST_PARTS and parts_of(value) > MOST_PARTS:
        raise JsonError(f"exceeded max number of values: {MOST_PARTS}")
    return encoded


def parts_of(value: Any) -> int:
    """How many values there are in a value, itself among them."""
    count, inside = 0, [value]
    while inside:
        found = inside.pop()
        count += 1
        if found.__class__ is dict:
            inside.extend(found.values())
        elif found.__class__ is list:
            inside.extend(found)
    return count


def merged(pairs: list[tuple[str, Any]]) -> JsonObject:
    """An object of its pairs: a repeated object goes into the first one, anything else replaces it."""
    made: JsonObject = {}
    for name, value in pairs:
        earlier = made.get(name)
        if isinstance(value, dict) and isinstance(earlier, dict):
            _merge_into(earlier, value)
        else:
            made[name] = value
    return made


def _merge_into(earlier: JsonObject, value: JsonObject) -> None:
    for name, item in value.items():
        known = earlier.get(name)
        if isinstance(item, dict) and isinstance(known, dict):
            _merge_into(known, item)
        else:
            earlier[name] = item


def may_repeat(data: bytes, encoded: bytes) -> bool:
    """Whether a key may occur twice in `data`, whose value encodes to `encoded`.  Never says no wrongly.

    Every key has its colon; one that occurs twice is encoded once.  Colons inside strings count on both sides alike,
    unless they are written as an escape.
    """
    return data.count(b":") != encoded.count(b":") or b"\\u003" in data


class _Pairs(list[tuple[str, Any]]):
    """An object with all its pairs."""


def order_of_paths(data: bytes) -> tuple[dict[str, int], dict[str, int]]:
    """Where each path of a JSON text first occurs, and where paths that occur again do so: path -> position."""
    first: dict[str, int] = {}
    again: dict[str, int] = {}
    _note(_loads_slowly(data, float, _Pairs), "", first, again)
    return first, again


def _note(value: Any, path: str, first: dict[str, int], again: dict[str, int]) -> None:
    if isinstance(value, _Pairs):
        seen: set[str] = set()
        for name, item in value:
            inner = f"{path}.{name}" if path else name
            where = again if name in seen else first
            where.setdefault(inner, len(first) + len(again))
            seen.add(name)
            _note(item, inner, first, again)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _note(item, f"{path}[{index}]", first, again)


def _loads_slowly(data: bytes, number: Callable[[str], Any], make: Callable[[list[tuple[str, Any]]], Any]) -> Any:
    def integer(text: str) -> Any:
        if len(text) < 19:
            return int(text)
        fits = len(text) <= 20 and -(2**63) <= int(text) < 2**63
        return int(text) if fits else number(text)

    def no_number(text: str) -> Any:
        raise JsonError(f"invalid character {_quoted(text.lstrip('-')[0])} looking for beginning of value")

    text = data.decode("utf-8", "replace")
    try:
        value = json.loads(
            text, object_pairs_hook=make, parse_float=number, parse_int=integer, parse_constant=no_number
        )
        return _without_surrogates(value) if "\\u" in text else value
    except json.JSONDecodeError as error:
        raise JsonError(_go_message(text, error)) from None
    except RecursionError:
        raise JsonError(TOO_DEEP) from None


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, _Pairs):
        return _Pairs((_SURROGATE.sub("\ufffd", name), _without_surrogates(item)) for name, item in value)
    if isinstance(value, dict):
        return {_SURROGATE.sub("\ufffd", name): _without_surrogates(item) for name, item in value.items()}
    return [_without_surrogates(item) for item in value] if isinstance(value, list) else value


def _go_message(text: str, error: json.JSONDecodeError) -> str:
    if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated"):
        return "unexpected end of JSON input"
    where = _AFTER.get(error.msg, "looking for beginning of value")
    return f"invalid character {_quoted(text[error.pos])} {where}"


def _quoted(char: str) -> str:
    return "'\\''" if char == "'" else repr(char) if char.isascii() else f"'{char}'"

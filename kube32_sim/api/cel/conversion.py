"""Values of custom resources as expressions see them: typed by their schema, properties under their CEL identifiers.

JSON has no times, durations or bytes, and 1 for 1.0; identifiers cannot have dashes.  Where a schema has none of this,
values are left as they are and nothing is walked through.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from google.protobuf.message import Message

from kube32_sim.api.cel.cost_sizes import escape
from kube32_sim.api.cel.library import duration, timestamp

JsonObject = dict[str, Any]
Converter = Callable[[Any], Any]

_DURATION_PART = re.compile(r"([0-9]*\.?[0-9]+)\s*([a-zA-Zµμ]+)")
_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_ALIASES = {"µs": "us", "μs": "us", "hr": "h"}


def converter(schema: JsonObject) -> Converter | None:
    """What makes values of this schema; None where they are as they should be."""
    if schema.get("x-kubernetes-int-or-string"):
        return None
    match schema.get("type"):
        case "number":
            return _number
        case "string":
            return _FORMATS.get(schema.get("format", ""))
        case "array":
            inner = converter(schema.get("items") or {})
            return None if inner is None else partial(_list, inner)
        case "object":
            return _object_converter(schema)
    return None


def _object_converter(schema: JsonObject) -> Converter | None:
    values = schema.get("additionalProperties")
    if isinstance(values, dict):
        inner = converter(values)
        return None if inner is None else partial(_map, inner)
    fields = {}
    for name, property_schema in (schema.get("properties") or {}).items():
        identifier, inner = escape(name), converter(property_schema)
        if inner is not None or identifier not in (None, name):
            fields[name] = (identifier or name, inner)
    return partial(_object, fields) if fields else None


def _object(fields: dict[str, tuple[str, Converter | None]], value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    made = {}
    for name, item in value.items():
        identifier, inner = fields.get(name, (name, None))
        made[identifier] = item if inner is None else inner(item)
    return made


def _map(inner: Converter, value: Any) -> Any:
    return {key: inner(item) for key, item in value.items()} if isinstance(value, dict) else value


def _list(inner: Converter, value: Any) -> Any:
    return [inner(item) for item in value] if isinstance(value, list) else value


def _number(value: Any) -> Any:
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _converted(read: Callable[[str], Any]) -> Converter:
    """What has not the format of its schema stays a text: the schema's own validation says so."""

    def convert(value: Any) -> Any:
        try:
            return read(value) if isinstance(value, str) else value
        except (ValueError, OverflowError):
            return value

    return convert


def _date_time(text: str) -> Message:
    made = datetime.fromisoformat(re.sub(r"(\.[0-9]{6})[0-9]+", r"\1", text.upper()))
    return timestamp(made if made.tzinfo else made.replace(tzinfo=UTC))


def _date(text: str) -> Message:
    return timestamp(datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC))


def _duration(text: str) -> Message:
    """Go's (`1h30m`), or numbers with words (`3 days`)."""
    seconds = 0.0
    for amount, word in _DURATION_PART.findall(text):
        seconds += float(amount) * _SECONDS[_unit(word)]
    return duration(timedelta(seconds=-seconds if text.startswith("-") else seconds))


def _unit(word: str) -> str:
    word = _ALIASES.get(word, word.lower())
    if word in _SECONDS:
        return word
    for start, unit in (("milli", "ms"), ("micro", "us"), ("nano", "ns")):
        if word.startswith(start):
            return unit
    return word[0] if word[0] in _SECONDS else "s"


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from None


_FORMATS: dict[str, Converter] = {
    "date-time": _converted(_date_time),
    "date": _converted(_date),
    "duration": _converted(_duration),
    "byte": _converted(_bytes),
}


def has_unordered(schema: JsonObject) -> bool:
    """Whether somewhere in a schema is a list whose order does not matter."""
    if schema.get("x-kubernetes-list-type") in ("set", "map"):
        return True
    inner = [*(schema.get("properties") or {}).values(), schema.get("items"), schema.get("additionalProperties")]
    return any(has_unordered(each) for each in inner if isinstance(each, dict))


def aligned(schema: JsonObject, new: Any, old: Any) -> Any:
    """The old value with lists that are sets or maps in the order of the new one, as far as they have the same items.

    Upstream compares such lists without looking at order: this way `self.list == oldSelf.list` comes to the same.
    """
    if isinstance(new, dict) and isinstance(old, dict):
        properties, values = schema.get("properties") or {}, schema.get("additionalProperties")
        default = values if isinstance(values, dict) else {}
        return {
            name: aligned(properties.get(name, default), new[name], item) if name in new else item
            for name, item in old.items()
        }
    if not isinstance(new, list) or not isinstance(old, list) or len(new) != len(old):
        return old
    items = schema.get("items") or {}
    match schema.get("x-kubernetes-list-type"):
        case "set":
            return list(new) if sorted(map(repr, new)) == sorted(map(repr, old)) else old
        case "map":
            return _aligned_map(items, schema.get("x-kubernetes-list-map-keys") or (), new, old)
    return [aligned(items, new_item, old_item) for new_item, old_item in zip(new, old, strict=True)]


def _aligned_map(items: JsonObject, keys: Any, new: list[Any], old: list[Any]) -> list[Any]:
    by_key = {_key(item, keys): item for item in old}
    wanted = [_key(item, keys) for item in new]
    if len(by_key) != len(old) or set(wanted) != by_key.keys():
        return old
    return [aligned(items, item, by_key[key]) for item, key in zip(new, wanted, strict=True)]


def _key(item: Any, keys: Any) -> str:
    return repr([item.get(key) for key in keys]) if isinstance(item, dict) else repr(item)

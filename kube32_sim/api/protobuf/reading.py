"""From messages to the JSON form that Kubernetes gives them.

Every message has a reader, compiled when it is first needed.  What was on the wire is in the result, zero values and
empty strings too: which of those Go would leave out is for the JSON decoder to say, which runs after this.
"""

from __future__ import annotations

import math
from base64 import b64encode
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson

from kube32_sim.api.jsontext import MOST_PARTS
from kube32_sim.api.protobuf.messages import EXTENSIONS, META, RUNTIME, Field, fields_of

Reader = Callable[[Any], Any]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def reader(kind: str) -> Reader:
    """What makes JSON of a value of a scalar type or of a message.  It answers None for what JSON leaves out."""
    found = _readers.get(kind)
    if found is None:
        found = _readers[kind] = _struct(kind)
    return found


def _struct(message: str) -> Reader:
    entries: dict[int, tuple[str | None, Reader]] = {}

    def read(value: Any) -> dict[str, Any]:
        if not entries:
            entries.update((field.number, _entry(field)) for field in fields_of(message))
        made: dict[str, Any] = {}
        for descriptor, raw in value.ListFields():
            name, convert = entries[descriptor.number]
            item = convert(raw)
            if name is None:
                made.update(item)
            elif item is not None:
                made[name] = item
        return made

    return read


def _entry(field: Field) -> tuple[str | None, Reader]:
    """The name in JSON, None for an embedded struct, and what makes the value."""
    read = reader(field.type)
    if field.shape == "list":
        return field.name, list if read is _same else lambda items: [read(item) for item in _bounded(items)]
    if field.shape == "map":
        return field.name, dict if read is _same else lambda items: {key: read(item) for key, item in items.items()}
    return (None if field.shape == "embedded" else field.name), read


def _bounded(items: Any) -> Any:
    """An empty message takes two bytes: a body of 3 MB could hold more than anybody has."""
    if len(items) > MOST_PARTS:
        raise ValueError(f"exceeded max number of values: {MOST_PARTS}")
    return items


def _same(value: Any) -> Any:
    return value


def _double(value: float) -> float | int:
    """Go writes a whole number without a fraction."""
    if not math.isfinite(value):
        raise ValueError(f"unsupported value: {value}")
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def _base64(value: bytes) -> str:
    return b64encode(value).decode()


def _moment(value: Any) -> datetime | None:
    """The time in a message; None for Go's zero time, which is an empty message."""
    if not value.ListFields():
        return None
    try:
        return _EPOCH + timedelta(seconds=value.f1, microseconds=value.f2 // 1000)
    except OverflowError:
        raise ValueError("a time outside of the years 1 to 9999") from None


def _time(value: Any) -> str | None:
    moment = _moment(value)
    return None if moment is None else moment.replace(microsecond=0, tzinfo=None).isoformat() + "Z"


def _micro_time(value: Any) -> str | None:
    moment = _moment(value)
    return None if moment is None else moment.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def _duration(value: Any) -> str:
    from kube32_sim.durations import format_duration

    return format_duration(value.f1 / 1e9)


def _quantity(value: Any) -> str:
    return value.f1 or "0"


def _int_or_string(value: Any) -> int | str:
    number: int = value.f2
    text: str = value.f3
    if value.f1 not in (0, 1):
        raise ValueError(f"impossible IntOrString.Type: {value.f1}")
    return text if value.f1 else number


def _json(value: Any) -> Any:
    return orjson.loads(value.f1) if value.f1 else None


def _raw(value: Any) -> Any:
    """An embedded object: JSON, or protobuf in an envelope of its own."""
    from kube32_sim.api.protobuf.envelope import PREFIX, opened

    if value.f1.startswith(PREFIX):
        return opened(value.f1)
    return _json(value)


def _items(value: Any) -> list[Any]:
    """A message that only wraps a list of strings."""
    return list(value.f1)


def _schema_or_list(value: Any) -> Any:
    read = reader(f"{EXTENSIONS}.JSONSchemaProps")
    if value.f2:
        return [read(item) for item in value.f2]
    return read(value.f1) if value.HasField("f1") else None


def _schema_or_bool(value: Any) -> Any:
    return reader(f"{EXTENSIONS}.JSONSchemaProps")(value.f2) if value.HasField("f2") else value.f1


def _schema_or_strings(value: Any) -> Any:
    if value.f2:
        return list(value.f2)
    return reader(f"{EXTENSIONS}.JSONSchemaProps")(value.f1) if value.HasField("f1") else None


_readers: dict[str, Reader] = {
    "bool": _same,
    "bytes": _base64,
    "double": _double,
    "int32": _same,
    "int64": _same,
    "string": _same,
    "k8s.io.api.authentication.v1.ExtraValue": _items,
    "k8s.io.api.authorization.v1.ExtraValue": _items,
    "k8s.io.api.certificates.v1.ExtraValue": _items,
    "k8s.io.apimachinery.pkg.api.resource.Quantity": _quantity,
    "k8s.io.apimachinery.pkg.util.intstr.IntOrString": _int_or_string,
    f"{EXTENSIONS}.JSON": _json,
    f"{EXTENSIONS}.JSONSchemaPropsOrArray": _schema_or_list,
    f"{EXTENSIONS}.JSONSchemaPropsOrBool": _schema_or_bool,
    f"{EXTENSIONS}.JSONSchemaPropsOrStringArray": _schema_or_strings,
    f"{META}.Duration": _duration,
    f"{META}.FieldsV1": _json,
    f"{META}.MicroTime": _micro_time,
    f"{META}.Time": _time,
    f"{META}.Verbs": _items,
    f"{RUNTIME}.RawExtension": _raw,
}

"""From Kubernetes' JSON form to messages: the other way round of `reading`.

Fields that a message does not have are left out, as are nulls.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson

from kube32_sim.api.protobuf.messages import EXTENSIONS, META, RUNTIME, Field, fields_of

Writer = Callable[[Any, Any], None]
"""(message to fill, JSON value)"""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def write(kind: str, message: Any, value: Any) -> None:
    """Fill an empty message; ValueError or TypeError where the value does not fit."""
    writer = _writers.get(kind)
    if writer is not None:
        writer(message, value)
        return
    for field in fields_of(kind):
        if field.shape == "embedded":
            if any(inner.name in value for inner in _flattened(field.type)):
                write(field.type, _present(message, field), value)
        elif value.get(field.name) is not None:
            _write_field(message, field, value[field.name])


def _flattened(message: str) -> list[Field]:
    """The fields of an embedded struct, and of structs embedded in it."""
    fields = []
    for field in fields_of(message):
        fields += _flattened(field.type) if field.shape == "embedded" else [field]
    return fields


def _present(message: Any, field: Field) -> Any:
    inner = getattr(message, f"f{field.number}")
    inner.SetInParent()
    return inner


def _write_field(message: Any, field: Field, value: Any) -> None:
    name = f"f{field.number}"
    if field.shape == "list":
        items = getattr(message, name)
        for item in value:
            if field.scalar:
                items.append(_scalar(field.type, item))
            else:
                write(field.type, items.add(), item)
    elif field.shape == "map":
        entries = getattr(message, name)
        for key, item in value.items():
            if field.scalar:
                entries[key] = _scalar(field.type, item)
            else:
                write(field.type, entries[key], item)
    elif field.scalar:
        setattr(message, name, _scalar(field.type, value))
    else:
        write(field.type, _present(message, field), value)


def _scalar(kind: str, value: Any) -> Any:
    return b64decode(value, validate=True) if kind == "bytes" else value


def _time(message: Any, value: str) -> None:
    span = datetime.fromisoformat(value) - _EPOCH
    message.f1 = span // timedelta(seconds=1)
    message.f2 = 0


def _micro_time(message: Any, value: str) -> None:
    moment = datetime.fromisoformat(value)
    _time(message, value)
    message.f2 = moment.microsecond * 1000


def _duration(message: Any, value: str) -> None:
    from kube32_sim.durations import parse_duration

    message.f1 = round(parse_duration(value) * 1e9)


def _quantity(message: Any, value: Any) -> None:
    message.f1 = str(value)


def _int_or_string(message: Any, value: int | str) -> None:
    text = isinstance(value, str)
    message.f1 = int(text)
    message.f2 = 0 if text else value
    message.f3 = value if text else ""


def _json(message: Any, value: Any) -> None:
    message.f1 = orjson.dumps(value)


def _items(message: Any, value: list[str]) -> None:
    message.f1.extend(value)


def _schema(message: Any, value: Any) -> None:
    message.SetInParent()
    write(f"{EXTENSIONS}.JSONSchemaProps", message, value)


def _schema_or_list(message: Any, value: Any) -> None:
    if isinstance(value, list):
        for item in value:
            _schema(message.f2.add(), item)
    else:
        _schema(message.f1, value)


def _schema_or_bool(message: Any, value: Any) -> None:
    message.f1 = value is not False
    if not isinstance(value, bool):
        _schema(message.f2, value)


def _schema_or_strings(message: Any, value: Any) -> None:
    if isinstance(value, list):
        message.f2.extend(value)
    else:
        _schema(message.f1, value)


_writers: dict[str, Writer] = {
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
    f"{RUNTIME}.RawExtension": _json,
}

"""The envelope around every protobuf body: the bytes `k8s\\0`, then a `runtime.Unknown` that names the kind inside."""

from __future__ import annotations

from typing import Any

from kube32_sim.api.media import PROTOBUF
from kube32_sim.api.protobuf.messages import RUNTIME, message_class, message_for
from kube32_sim.api.protobuf.reading import reader

JsonObject = dict[str, Any]
PREFIX = b"k8s\0"
_UNKNOWN = f"{RUNTIME}.Unknown"


def unwrapped(data: bytes) -> tuple[str, str, bytes]:
    """(apiVersion, kind, message); ValueError or the runtime's DecodeError for what is no envelope."""
    if not data:
        raise ValueError("empty data")
    if not data.startswith(PREFIX):
        raise ValueError(f"provided data does not appear to be a protobuf message, expected prefix [{_bytes(PREFIX)}]")
    if len(data) == len(PREFIX):
        raise ValueError("empty body")
    unknown: Any = message_class(_UNKNOWN).FromString(data[len(PREFIX) :])
    if unknown.f3 or unknown.f4 not in ("", PROTOBUF):
        raise ValueError(f"unsupported content of the envelope: type {unknown.f4!r}, encoding {unknown.f3!r}")
    return unknown.f1.f1, unknown.f1.f2, unknown.f2


def _bytes(data: bytes) -> str:
    return " ".join(map(str, data))


def read_object(api_version: str, kind: str, data: bytes) -> JsonObject:
    """The object in an envelope, with apiVersion and kind first; errors as of `unwrapped`."""
    if not kind:
        raise ValueError("Object 'Kind' is missing in the protobuf body")
    if not api_version:
        raise ValueError("Object 'apiVersion' is missing in the protobuf body")
    message = message_for(api_version, kind)
    if message is None:
        raise ValueError(f'no kind "{kind}" is registered for version "{api_version}"')
    made: JsonObject = reader(message)(message_class(message).FromString(data))
    return {"apiVersion": api_version, "kind": kind, **made}


def opened(data: bytes) -> JsonObject:
    """The object in an envelope that stands inside another object."""
    return read_object(*unwrapped(data))


def wrapped(api_version: str, kind: str, data: bytes) -> bytes:
    unknown: Any = message_class(_UNKNOWN)()
    unknown.f1.f1 = api_version
    unknown.f1.f2 = kind
    unknown.f2 = data
    unknown.f3 = unknown.f4 = ""
    encoded: bytes = unknown.SerializeToString()
    return PREFIX + encoded

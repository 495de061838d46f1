"""Bodies in Kubernetes' protobuf form, which kubectl and Go clients send: `decode`, and `encode` the other way.

`listing` writes long lists item by item, `encode_event` what a watch sends.  `messages` knows the wire format,
`reading` and `writing` turn messages into JSON objects and back, `envelope` is what is around every body.  The protobuf
runtime is imported when the first such body comes.
"""

from __future__ import annotations

from typing import Any

from kube32_sim.api.confidential import KINDS, REDACTED
from kube32_sim.api.errors import ApiError, bad_request
from kube32_sim.api.jsontext import check_extent

JsonObject = dict[str, Any]
_SHOWN = 30


def decode(data: bytes, expected: tuple[str, str] = ("", "")) -> tuple[str, str, JsonObject]:
    """(apiVersion, kind, object) of a body; the object has its apiVersion and kind too.

    expected: the apiVersion and kind that the request is about, for bodies that name none and for messages.
    ApiError 400 for anything that cannot be read.
    """
    from google.protobuf.message import DecodeError

    from kube32_sim.api.protobuf.envelope import read_object, unwrapped

    try:
        api_version, kind, raw = unwrapped(data)
    except (DecodeError, ValueError) as error:
        raise _unrecognized(data, expected[1], _reason(error)) from None
    api_version, kind = api_version or expected[0], kind or expected[1]
    try:
        value = read_object(api_version, kind, raw)
        check_extent(value)
        return api_version, kind, value
    except (DecodeError, ValueError, RecursionError) as error:
        if not kind:
            raise _unrecognized(data, "", _reason(error)) from None
        version = api_version.rpartition("/")[2]
        why = f'{kind} in version "{version}" cannot be handled as a {expected[1] or kind}: {_reason(error)}'
        raise bad_request(why) from None


def _reason(error: Exception) -> str:
    """The message of an error, without the runtime's name for the message type."""
    if isinstance(error, RecursionError):
        return "exceeded max depth"
    runtime, separator, text = str(error).rpartition("': ")
    return f"proto: {text}" if separator and runtime.startswith("Error parsing message") else str(error)


def _unrecognized(data: bytes, kind: str, why: str) -> ApiError:
    of = f" (must be of type {kind})" if kind else ""
    shown = f"{data[:_SHOWN].hex()} ..." if len(data) > _SHOWN else data.hex() or "<empty>"
    if kind in KINDS:
        shown = REDACTED
    return bad_request(f"the object provided is unrecognized{of}: {why} ({shown})")


def encode(api_version: str, kind: str, obj: JsonObject) -> bytes:
    """The body of an object; ValueError for a kind without a message, and where a value does not fit its field."""
    from kube32_sim.api.protobuf.envelope import wrapped
    from kube32_sim.api.protobuf.messages import message_for

    name = message_for(api_version, kind)
    if name is None:
        raise ValueError(f'no kind "{kind}" is registered for version "{api_version}"')
    return wrapped(api_version, kind, serialized(name, obj))


def serialized(message: str, obj: JsonObject) -> bytes:
    """An object as a message of that name; ValueError where a value does not fit its field."""
    from kube32_sim.api.protobuf.messages import message_class
    from kube32_sim.api.protobuf.writing import write

    made: Any = message_class(message)()
    try:
        write(message, made, obj)
    except (TypeError, AttributeError) as error:
        raise ValueError(str(error)) from None
    data: bytes = made.SerializeToString()
    return data


def encode_event(kind: str, obj: bytes) -> bytes:
    """A frame of a watch in protobuf: four bytes that say how long, then a WatchEvent around an object's body."""
    from kube32_sim.api.protobuf.messages import META, message_class

    event: Any = message_class(f"{META}.WatchEvent")()
    event.f1 = kind
    event.f2.f1 = obj
    data: bytes = event.SerializeToString()
    return len(data).to_bytes(4, "big") + data

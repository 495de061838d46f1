"""How deep and how large a body may be, in JSON and in protobuf."""

from __future__ import annotations

import orjson
import pytest

from kube32_sim.api import jsontext
from kube32_sim.api.bodies import decode_body, expected
from kube32_sim.api.errors import ApiError


def nested(depth: int) -> bytes:
    return b'{"a":' * depth + b"1" + b"}" * depth


@pytest.mark.parametrize("media", ["json", "protobuf"])
def test_what_is_nested_too_deeply_is_refused_in_either_form(media: str) -> None:
    row = expected("apps", "v1", "ControllerRevision")
    body = b'{"apiVersion":"apps/v1","kind":"ControllerRevision","metadata":{"name":"c"},"data":%b}' % nested(300)
    if media == "protobuf":
        raw = nested(300)
        field = b"\x12" + varint(len(raw) + 1 + len(varint(len(raw)))) + b"\x0a" + varint(len(raw)) + raw
        body = b"k8s\0" + unknown("apps/v1", "ControllerRevision", b"\x0a\x03\x0a\x01c" + field)
    with pytest.raises(ApiError, match="exceeded max depth") as refused:
        decode_body(body, media, row, "Strict")
    assert refused.value.code == 400


def test_what_may_be_stored_may_lie_deeper_in_what_is_made_of_it() -> None:
    """What managers own of an object is as deep as the object, and lies in its metadata."""
    deepest = max(depth for depth in range(300) if fits(depth))
    managed = {"metadata": {"managedFields": [{"fieldsV1": orjson.loads(nested(deepest))}]}}
    listed = {"kind": "List", "items": [managed]}
    assert orjson.loads(orjson.dumps(listed)) == listed


def fits(depth: int) -> bool:
    try:
        jsontext.check_extent(orjson.loads(nested(depth)))
    except jsontext.JsonError:
        return False
    return True


def varint(number: int) -> bytes:
    made = b""
    while number > 127:
        made += bytes([number & 127 | 128])
        number >>= 7
    return made + bytes([number])


def unknown(api_version: str, kind: str, raw: bytes) -> bytes:
    """A runtime.Unknown around a message."""
    named = b"\x0a" + varint(len(api_version)) + api_version.encode() + b"\x12" + varint(len(kind)) + kind.encode()
    return b"\x0a" + varint(len(named)) + named + b"\x12" + varint(len(raw)) + raw


@pytest.mark.parametrize("media", ["json", "protobuf"])
def test_bodies_of_more_values_than_anybody_has_are_refused_before_they_are_worked_on(media: str) -> None:
    row = expected("", "v1", "Pod")
    count = jsontext.MOST_PARTS + 1
    body = b'{"apiVersion":"v1","kind":"Pod","spec":{"containers":[%b]}}' % b",".join([b"{}"] * count)
    if media == "protobuf":
        spec = b"\x12\x00" * count
        body = b"k8s\0" + unknown("v1", "Pod", b"\x12" + varint(len(spec)) + spec)
    with pytest.raises(ApiError, match="exceeded max number of values: 100000") as refused:
        decode_body(body, media, row, "Strict")
    assert refused.value.code == 400


def test_long_texts_are_no_many_values() -> None:
    row = expected("", "v1", "ConfigMap")
    text = ",{[" * jsontext.MOST_PARTS
    body = orjson.dumps({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": text}})
    assert decode_body(body, "json", row, "Strict")[0]["data"] == {"a": text}

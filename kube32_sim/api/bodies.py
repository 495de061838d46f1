"""Bodies of requests, from bytes to decoded objects: JSON, YAML or protobuf, with the checks that come with them.

`decode_body` is for creates and updates, `decode_plain` for the options of a delete, `patcher` for patches (the work
is done in `patching`).  Objects leave here without apiVersion and kind: a type's row says them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any

from kube32_sim.api import groupkinds, jsontext, schema, strictness
from kube32_sim.api.confidential import REDACTED, is_confidential, without_values
from kube32_sim.api.customs.decoding import decode_custom
from kube32_sim.api.decode import DecodeError, Unexact, cannot_be_handled, decode_value
from kube32_sim.api.decode.diagnose import describe
from kube32_sim.api.errors import ApiError, bad_request
from kube32_sim.api.patching import Patcher
from kube32_sim.api.resources import ResourceType, Subresource

JsonObject = dict[str, Any]

__all__ = ["Patcher", "decode_body", "decode_plain", "expected", "patcher"]

#: Kinds that a path takes in every version there is.
_ANY_VERSION = ("Eviction",)
_TYPE_META = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
_SHOWN = 30


@cache
def expected(group: str, version: str, kind: str) -> ResourceType:
    """A row for a kind that is only a body, such as Binding or Scale."""
    key = schema.key_for(group, version, kind) or ""
    return ResourceType(group, version, kind, plural="", singular="", namespaced=True, schema=key, verbs=())


def expected_of(row: ResourceType, sub: Subresource, data: bytes) -> ResourceType:
    """A row for what is posted or put to a subresource.  data: the body; it says which version of an Eviction it is."""
    version = sub.version or row.version
    if sub.kind == "Eviction" and b"policy/v1beta1" in data:
        version = "v1beta1"  # old clients evict by the version that was served before
    return expected(sub.group or row.group, version, sub.kind)


def patcher(data: bytes, content_type: str, row: ResourceType) -> Patcher:
    """What a PATCH body does to an object; raises ApiError 415 for a kind of patch that the type does not take."""
    return Patcher(data, content_type, row)


def decode_body(data: bytes, media: str, row: ResourceType, field_validation: str) -> tuple[JsonObject, list[str]]:
    """The object that a body holds, and texts of warnings.

    media: `json`, `yaml` or `protobuf`.  row: the type expected.  field_validation: what to do about unknown and
    repeated fields: Strict (refuse, 400), Warn or Ignore.  Raises ApiError.
    """
    try:
        body = _read(data, media, (row.api_version, row.kind))
    except _Unreadable as error:
        raise _unrecognized(data, row, str(error)) from None
    try:
        _check_type(body, row)
    except ApiError as error:
        if row.custom is not None and field_validation != strictness.IGNORE:
            error.warnings = _unknown_version(body, row)
        raise
    obj, unknown = _decoded(body, row)
    if field_validation == strictness.IGNORE:
        return obj, []
    faults = _faults(body, unknown)
    if faults and field_validation == strictness.STRICT:
        raise cannot_be_handled(row.kind, row.version, row.kind, strictness.strict_error(faults))
    return obj, faults


def decode_plain(data: bytes, media: str) -> JsonObject:
    """The JSON object that the body of a delete holds, of whatever kind and content; raises ApiError 400."""
    try:
        body = _read(data, media, ("v1", "DeleteOptions"))
    except _Unreadable as error:
        raise bad_request(str(error)) from None
    named = {"apiVersion": body.api_version, "kind": body.kind}
    return {**{name: text for name, text in named.items() if text}, **body.value}


@dataclass(slots=True)
class _Body:
    """A body as a JSON object.  may_repeat: a key may occur twice in the JSON text; repeated: keys that do in YAML."""

    data: bytes
    value: JsonObject
    api_version: str = ""
    kind: str = ""
    exact: bool = False
    may_repeat: bool = False
    repeated: list[str] = field(default_factory=list)


class _Unreadable(ValueError):
    """A body that is no object with a version and a kind; the message is upstream's."""


def _read(data: bytes, media: str, named: tuple[str, str]) -> _Body:
    """named: apiVersion and kind that the request is about."""
    if media == "protobuf":
        return _read_protobuf(data, named)
    try:
        body = _read_yaml(data) if media == "yaml" else _read_json(data)
        body.api_version = _type_text(body.value, "apiVersion")
        body.kind = _type_text(body.value, "kind")
    except jsontext.JsonError as error:
        raise _Unreadable(f"couldn't get version/kind; json parse error: {error}") from None
    return body


def _read_json(data: bytes) -> _Body:
    value = jsontext.loads(data)
    may_repeat = jsontext.may_repeat(data, jsontext.check_extent(value))
    if may_repeat:
        value = jsontext.loads_exact(data)
    return _Body(data, _object(value), exact=may_repeat, may_repeat=may_repeat)


def _read_yaml(data: bytes) -> _Body:
    from kube32_sim.api import yamltext

    try:
        value, repeated = yamltext.loads(data)
    except yamltext.YamlError as error:
        raise _Unreadable(str(error)) from None
    jsontext.check_extent(value)
    return _Body(data, _object(value), exact=True, repeated=repeated)


def _read_protobuf(data: bytes, named: tuple[str, str]) -> _Body:
    from kube32_sim.api import protobuf

    api_version, kind, value = protobuf.decode(data, named)
    value.pop("apiVersion", None)
    value.pop("kind", None)
    return _Body(data, value, api_version, kind, exact=True)


def _object(value: Any) -> JsonObject:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise jsontext.JsonError(f"json: cannot unmarshal {describe(value)} into Go value of type {_TYPE_META}")
    return value


def _type_text(value: JsonObject, name: str) -> str:
    """Take apiVersion or kind out of the object; "" where it says none."""
    text = value.pop(name, None)
    if text is None or isinstance(text, str):
        return text or ""
    raise jsontext.JsonError(f"json: cannot unmarshal {describe(text)} into Go struct field .{name} of type string")


def _unrecognized(data: bytes, row: ResourceType, why: str) -> ApiError:
    shown = _summary(data)
    if is_confidential(row):
        why, shown = without_values(why), REDACTED
    return bad_request(f"the object provided is unrecognized (must be of type {row.kind}): {why} ({shown})")


def _summary(data: bytes) -> str:
    """The start of a body: as it is where it looks like JSON, else in hexadecimal."""
    if not data:
        return "<empty>"
    start = data[:_SHOWN]
    text = start.decode("utf-8", "replace") if start.startswith(b"{") else start.hex()
    return f"{text} ..." if len(data) > _SHOWN else text


def _check_type(body: _Body, row: ResourceType) -> None:
    """Refuse a body of another kind or version than the path's; what it leaves out is taken from there."""
    if row.names_in_list:
        _check_named(body, row)
    api_version, kind = body.api_version or row.api_version, body.kind or row.kind
    if api_version == row.api_version and kind == row.kind:
        return
    if not row.names_in_list:
        why = groupkinds.mismatch(api_version, kind, row.group, row.kind)
        if why is not None:
            raise cannot_be_handled(kind, api_version, row.kind, why)
    if api_version != row.api_version and row.kind not in _ANY_VERSION:
        raise groupkinds.other_version(api_version, row.api_version)


def _unknown_version(body: _Body, row: ResourceType) -> list[str]:
    """What the version of a body does not know, as upstream tells beside its refusal; an unknown one knows nothing."""
    if row.custom is None or not body.kind or body.api_version in ("", row.api_version):
        return []
    other = row.custom.type.versions.get(body.api_version)
    if other is None:
        return [strictness.unknown_field(name) for name in sorted(body.value) if name != "metadata"]
    try:
        return [strictness.unknown_field(path) for path in other.pruned(body.value)[1]]
    except DecodeError:
        return []


def _check_named(body: _Body, row: ResourceType) -> None:
    """A custom resource must say what it is."""
    for name, value in (("Kind", body.kind), ("apiVersion", body.api_version)):
        if not value:
            text = body.data.decode("utf-8", "replace")
            raise _unrecognized(body.data, row, f"Object '{name}' is missing in '{text}'")


def _decoded(body: _Body, row: ResourceType) -> tuple[JsonObject, list[str]]:
    if not row.schema:
        return decode_custom(body.value, body.kind, row)
    try:
        return decode_value(body.value, row.schema, exact=not body.exact)
    except Unexact:
        body.value = jsontext.loads_exact(body.data)
        body.value.pop("apiVersion", None)
        body.value.pop("kind", None)
        body.exact = True
        return _decoded(body, row)
    except DecodeError as error:
        raise cannot_be_handled(row.kind, row.version, row.kind, str(error)) from None


def _faults(body: _Body, unknown: list[str]) -> list[str]:
    if body.may_repeat:
        return strictness.faults(body.data, unknown)
    return [*body.repeated, *map(strictness.unknown_field, unknown)][: strictness.MOST_FAULTS]

"""Decoding: what Go's JSON decoding into a typed object and encoding back makes of a JSON value.

`decode` is all that others need.  Nulls and unknown fields go, wrong types are refused with Go's words, zero values
that Go would omit are omitted, quantities, times and base64 get their canonical text; the order of fields stays.
`fast` does it for values with nothing wrong in them, `diagnose` for all others; `types` and `gotypes` say what the
types are.
"""

from __future__ import annotations

from typing import Any

from kube32_sim.api.decode import fast
from kube32_sim.api.decode.diagnose import Diagnosis, Stopped
from kube32_sim.api.decode.types import Type
from kube32_sim.api.errors import ApiError, bad_request
from kube32_sim.api.schema import short_name

JsonObject = dict[str, Any]

#: Go's words for nesting that its decoder does not follow.
TOO_DEEP = "exceeded max depth"


class DecodeError(ValueError):
    """A value that does not fit the schema.  The message is Go's, such as `json: cannot unmarshal …`."""


class Unexact(Exception):
    """Asked for by `exact`: a number's own text is needed; decode again with `leaves.ExactNumber`s."""


def decode_value(
    value: Any, schema_key: str, *, exact: bool = False, converting: bool = False
) -> tuple[JsonObject, list[str]]:
    """A new object made of `value`, and the paths of its unknown fields; raises DecodeError.

    Top-level apiVersion and kind stay where they are.  The input is not changed, and shared with the result only
    inside fields without a schema (RawExtension and the like).  exact: raise Unexact where floats are not enough.
    converting: errors are worded as for the result of a strategic merge patch.
    """
    try:
        made: JsonObject = fast.struct_decoder(schema_key)(value)
    except fast.Unusual:
        return _diagnosed(value, schema_key, exact, Diagnosis(converting))
    except RecursionError:
        raise DecodeError(TOO_DEEP) from None
    return made, []


def _diagnosed(value: Any, schema_key: str, exact: bool, diagnosis: Diagnosis) -> tuple[JsonObject, list[str]]:
    error: str | None = None
    made: Any = {}
    try:
        made = diagnosis.decode(Type("struct", short_name(schema_key), schema_key), value)
    except Stopped as stopped:
        error = str(stopped)
    except RecursionError:
        raise DecodeError(TOO_DEEP) from None
    if exact and diagnosis.inexact:
        raise Unexact
    error = error or diagnosis.error
    if error is not None:
        raise DecodeError(error)
    return made, list(diagnosis.unknown)


def empty(schema_key: str) -> JsonObject:
    """What Go writes for an object with nothing in it: `{"metadata": {}, "spec": {}, "status": {"replicas": 0}}`."""
    return decode_value({}, schema_key)[0]


def decode(value: Any, schema_key: str, go_kind: str, version: str = "v1") -> tuple[JsonObject, list[str]]:
    """`decode_value`, with errors as the 400 that a request body gets.  version: with its group, as in apiVersion."""
    try:
        return decode_value(value, schema_key)
    except DecodeError as error:
        raise cannot_be_handled(go_kind, version, go_kind, str(error)) from None


def cannot_be_handled(kind: str, version: str, as_kind: str, why: str) -> ApiError:
    """400 for a body of `kind` where `as_kind` is wanted.  version: of the body, without its group."""
    return bad_request(f'{kind} in version "{version.rpartition("/")[2]}" cannot be handled as a {as_kind}: {why}')

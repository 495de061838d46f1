"""AdmissionReview: what a webhook is sent of a request, and how its answer is read.  Words are upstream's."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from kube32_sim.api import errors, jsontext
from kube32_sim.api.decode.diagnose import describe
from kube32_sim.api.dynamic_admission.request import NAMESPACES, AdmissionRequest
from kube32_sim.api.errors import ApiError, go_value
from kube32_sim.api.resources import ResourceType

JsonObject = dict[str, Any]

GROUP, KIND = "admission.k8s.io", "AdmissionReview"
LONGEST = 16 << 20
"""Bytes that an answer may have: the object may be as large as a body, and the patch says it anew in base64."""
UNKNOWN_VERSIONS = (
    "could not create admission objects: webhook does not accept known AdmissionReview versions (v1, v1beta1)"
)
_SHOWN = 2048


class Unusable(Exception):
    """An answer that says nothing, or not what was asked; the text says why."""


class Answer(NamedTuple):
    """patch: a JSON Patch, not yet looked at.  status: of a refusal."""

    allowed: bool
    status: JsonObject
    patch: Any
    warnings: Sequence[str]


def review(uid: str, version: str, request: AdmissionRequest, row: ResourceType) -> JsonObject:
    """What to send.  row: the version that the webhook knows the object in."""
    of, asked = request.kind_row(row), request.kind_row()
    body: JsonObject = {
        "uid": uid,
        "kind": _kind(of),
        "resource": _resource(row),
        "requestKind": _kind(asked),
        "requestResource": _resource(request.row),
        "operation": request.operation,
        "userInfo": request.user.info(),
        "object": request.shown(row),
        "oldObject": request.shown_old(row),
        "dryRun": request.dry_run,
        "options": request.options,
    }
    if request.subresource:
        body["subResource"] = body["requestSubResource"] = request.subresource
    namespace = request.name if request.row.storage == NAMESPACES else request.namespace
    for name, value in (("name", request.name), ("namespace", namespace)):
        if value:
            body[name] = value
    return {"kind": KIND, "apiVersion": f"{GROUP}/{version}", "request": body}


def _kind(row: ResourceType) -> JsonObject:
    return {"group": row.group, "version": row.version, "kind": row.kind}


def _resource(row: ResourceType) -> JsonObject:
    return {"group": row.group, "version": row.version, "resource": row.plural}


# the answer


def read_answer(code: int, data: bytes, uid: str, version: str, *, mutating: bool) -> Answer:
    """What the webhook says; raises Unusable."""
    if not 200 <= code <= 206:
        raise _failed(_http_failure(code, data))
    if not data:
        raise _failed(f"0-length response with status code: {code} and content type: application/json")
    answer = _review(data)
    response = answer.get("response")
    if response is None:
        raise _invalid("webhook response was absent")
    if not isinstance(response, dict):
        raise _failed(_wrong_type(response, "response", "AdmissionResponse"))
    if version == "v1":
        _check_v1(answer, response, uid)
    return _answer(response, version, mutating=mutating)


def _failed(why: str) -> Unusable:
    return Unusable(f"failed to call webhook: {why}")


def _invalid(why: str) -> Unusable:
    return Unusable(f"received invalid webhook response: {why}")


def _review(data: bytes) -> JsonObject:
    try:
        answer = jsontext.loads(data)
        jsontext.check_extent(answer)
    except jsontext.JsonError as error:
        raise _failed(f"couldn't get version/kind; json parse error: {error}") from None
    if not isinstance(answer, dict):
        raise _failed("couldn't get version/kind; json parse error: json: cannot unmarshal the answer, it is no object")
    for name, shown in (("kind", "Kind"), ("apiVersion", "apiVersion")):
        if not isinstance(answer.get(name), str) or not answer[name]:
            raise _failed(f"Object '{shown}' is missing in '{data[:_SHOWN].decode('utf-8', 'replace')}'")
    if answer["kind"] != KIND or not answer["apiVersion"].startswith(f"{GROUP}/"):
        raise _failed(f'no kind "{answer["kind"]}" is registered for version "{answer["apiVersion"]}"')
    return answer


def _check_v1(answer: JsonObject, response: JsonObject, uid: str) -> None:
    given = response.get("uid", "")
    if given != uid:
        raise _invalid(f"expected response.uid={go_value(uid)}, got {go_value(given)}")
    if answer["apiVersion"] != f"{GROUP}/v1":
        wanted = f"{GROUP}/v1, Kind={KIND}"
        raise _invalid(f"expected webhook response of {wanted}, got {answer['apiVersion']}, Kind={answer['kind']}")


_TYPES: Mapping[str, tuple[type, str]] = {
    "allowed": (bool, "bool"),
    "status": (dict, "v1.Status"),
    "warnings": (list, "[]string"),
}
"""Of an answer's fields: what they are, and what Go calls it."""


def _answer(response: JsonObject, version: str, *, mutating: bool) -> Answer:
    for name, (kind, shown) in _TYPES.items():
        value = response.get(name)
        if value is not None and not isinstance(value, kind):
            raise _failed(_wrong_type(value, f"response.{name}", shown))
    patch = _patch(response, version, mutating=mutating)
    warnings = [text for text in response.get("warnings") or () if isinstance(text, str)]
    return Answer(bool(response.get("allowed")), response.get("status") or {}, patch, warnings)


def _patch(response: JsonObject, version: str, *, mutating: bool) -> Any:
    encoded, kind = response.get("patch") or "", response.get("patchType")
    if not isinstance(encoded, str):
        raise _failed(_wrong_type(encoded, "response.patch", "[]uint8"))
    if version == "v1":
        _check_patch_type(encoded, kind, mutating=mutating)
    if not mutating or not encoded:
        return None
    try:
        data = base64.b64decode(encoded, validate=True)
    except binascii.Error:
        raise _failed("illegal base64 data in response.patch") from None
    return _decoded_patch(data) if data else None


def _check_patch_type(encoded: str, kind: object, *, mutating: bool) -> None:
    if not mutating:
        if encoded:
            raise _invalid("validating webhook may not return response.patch")
        if kind is not None:
            raise _invalid("validating webhook may not return response.patchType")
        return
    if encoded and kind is None:
        raise _invalid("webhook returned response.patch but not response.patchType")
    if not encoded and kind is not None:
        raise _invalid("webhook returned response.patchType but not response.patch")
    if kind == "":
        raise _invalid('webhook returned invalid response.patchType of ""')
    if encoded and kind != "JSONPatch":
        raise Unusable(f"unsupported patch type {go_value(kind)}")


def _decoded_patch(data: bytes) -> Any:
    try:
        patch = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise Unusable(f"received undecodable patch in webhook response: {error}") from None
    if patch is not None and not (isinstance(patch, list) and all(isinstance(each, dict) for each in patch)):
        why = "json: cannot unmarshal it into Go value of type jsonpatch.Patch"
        raise Unusable(f"received undecodable patch in webhook response: {why}")
    return patch


def _wrong_type(value: object, path: str, kind: str) -> str:
    return f"json: cannot unmarshal {describe(value)} into Go struct field AdmissionReview.{path} of type {kind}"


_SAID: Mapping[int, str] = {
    400: "the server rejected our request for an unknown reason",
    401: "the server has asked for the client to provide credentials",
    404: "the server could not find the requested resource",
    405: "the server does not allow this method on the requested resource",
    409: "the server reported a conflict",
    422: "the server rejected our request due to an error in our request",
    429: "the server has received too many requests and has asked us to try again later",
    503: "the server is currently unable to handle the request",
    504: "the server was unable to return a response in the time allotted, but may still be processing the request",
}
"""What client-go makes of an HTTP status."""


def _http_failure(code: int, data: bytes) -> str:
    said = _SAID.get(code)
    if said is not None:
        return said
    text = data[:_SHOWN].decode("utf-8", "replace").strip() or "unknown"
    if code in (403, 406, 415):
        return text
    if code >= 500:
        return f"an error on the server ({go_value(text)}) has prevented the request from succeeding"
    return f"the server responded with the status code {code} but did not return more information"


# what follows from it


def failed(name: str, why: str) -> ApiError:
    """A webhook that could not be asked, and has to be."""
    return errors.internal_error(f"failed calling webhook {go_value(name)}: {why}")


def no_dry_run(name: str) -> ApiError:
    return errors.bad_request(f"admission webhook {go_value(name)} does not support dry run")


def not_patchable(name: str) -> ApiError:
    why = "attempted to modify the object, which is not supported for this operation"
    return errors.internal_error(f"admission webhook {go_value(name)} {why}")


def not_applicable(why: str) -> ApiError:
    """why: which operation does not apply, and why; upstream does not say whose it is."""
    return errors.internal_error(why)


def denied(name: str, status: JsonObject) -> ApiError:
    """The refusal of a webhook.  status: as it says it; what it leaves out is upstream's: code 400, and no reason."""
    code, reason, details = status.get("code"), status.get("reason"), status.get("details")
    reason = reason if isinstance(reason, str) else ""
    why = status.get("message") or reason
    text = f"admission webhook {go_value(name)} denied the request" + (f": {why}" if why else " without explanation")
    known = code if isinstance(code, int) and 400 <= code <= 599 else 400
    return ApiError(known, reason, text, details if isinstance(details, dict) else None)

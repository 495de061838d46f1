"""API errors: the closed family of failures a request can have, and their `Status` form.

The only module that knows HTTP codes and Kubernetes' reason strings.  Everything below the server raises
`ApiError` through one of the constructors here; the server turns it into an answer at one place.
Wording follows apimachinery's `pkg/api/errors` and `pkg/util/validation/field`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

JsonObject = dict[str, Any]

MOST_FAILURES = 1000
"""Of one object: validation goes no further, or a body of empty items would hold the server and fill its memory."""
MOST_FAILURE_TEXT = 1 << 20
"""Characters of all failures together, for those that show a whole list each."""


@dataclass(frozen=True, slots=True)
class FieldError:
    """One validation failure: where, what kind, which value, why.

    `reason` is one of the `FieldValue…` strings that `Status.details.causes[].reason` carries.
    """

    reason: str
    field: str
    message: str

    def __post_init__(self) -> None:
        noticed = _noticed.get()
        if noticed is not None:
            noticed.add(self)

    def __str__(self) -> str:
        return f"{self.field}: {self.message}" if self.field else self.message


class _TooMany(Exception):
    """More failures than anybody reads."""


class _Noticed:
    """The failures that a validation has made so far."""

    def __init__(self) -> None:
        self.failures: list[FieldError] = []
        self.text = 0

    def add(self, failure: FieldError) -> None:
        self.failures.append(failure)
        self.text += len(failure.field) + len(failure.message)
        if len(self.failures) >= MOST_FAILURES or self.text >= MOST_FAILURE_TEXT:
            raise _TooMany


_noticed: ContextVar[_Noticed | None] = ContextVar("noticed", default=None)


def failures_of(validate: Callable[[], list[FieldError]]) -> list[FieldError]:
    """What a validation finds; where that is a great deal, what it found until it was stopped, and that it was."""
    noticed = _Noticed()
    token = _noticed.set(noticed)
    try:
        return validate()
    except _TooMany:
        pass
    finally:
        _noticed.reset(token)
    return [*noticed.failures, FieldError("FieldValueTooMany", "", "Too many failures: the rest was not looked at")]


def go_value(value: Any) -> str:
    """A value as Go's field errors show it: strings quoted, everything else as compact JSON."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def go_list(values: Iterable[str]) -> str:
    """Strings as Go's `%q` shows a slice of them."""
    return f"[{' '.join(map(go_value, values))}]"


def _joined(kind: str, value: Any, detail: str) -> str:
    head = f"{kind}: {go_value(value)}"
    return f"{head}: {detail}" if detail else head


def required(field: str, detail: str = "") -> FieldError:
    return FieldError("FieldValueRequired", field, f"Required value: {detail}" if detail else "Required value")


def invalid_value(field: str, value: Any, detail: str) -> FieldError:
    return FieldError("FieldValueInvalid", field, _joined("Invalid value", value, detail))


def not_supported(field: str, value: Any, supported: Iterable[str]) -> FieldError:
    """`supported` is quoted and joined in the order given (upstream sorts it: pass it sorted)."""
    values = ", ".join(json.dumps(item, ensure_ascii=False) for item in supported)
    message = _joined("Unsupported value", value, f"supported values: {values}")
    return FieldError("FieldValueNotSupported", field, message)


def duplicate(field: str, value: Any) -> FieldError:
    return FieldError("FieldValueDuplicate", field, _joined("Duplicate value", value, ""))


def forbidden_field(field: str, detail: str) -> FieldError:
    return FieldError("FieldValueForbidden", field, f"Forbidden: {detail}" if detail else "Forbidden")


def not_found_field(field: str, value: Any) -> FieldError:
    return FieldError("FieldValueNotFound", field, _joined("Not found", value, ""))


def too_many(field: str, actual: int, maximum: int) -> FieldError:
    items = "item" if maximum == 1 else "items"
    return FieldError("FieldValueTooMany", field, f"Too many: {actual}: must have at most {maximum} {items}")


def too_long(field: str, maximum: int) -> FieldError:
    return FieldError("FieldValueTooLong", field, f"Too long: may not be more than {maximum} bytes")


class ApiError(Exception):
    """A failure with a `Status` form.

    code: the HTTP status.  reason: a Kubernetes StatusReason ("" for none).  details: Status.details or None
    (None leaves the key out, `{}` keeps it).  headers: extra answer headers, such as Retry-After.  warnings: texts for
    the client beside it.  bound: the option of the bound that was met, "" for what is none's.
    """

    warnings: Sequence[str] = ()
    bound = ""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        details: JsonObject | None = None,
        headers: Sequence[tuple[str, str]] = (),
        metadata: JsonObject | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.headers = tuple(headers)
        self.metadata = metadata or {}

    def status(self) -> JsonObject:
        body: JsonObject = {"kind": "Status", "apiVersion": "v1", "metadata": self.metadata, "status": "Failure"}
        body["message"] = self.message
        if self.reason:
            body["reason"] = self.reason
        if self.details is not None:
            body["details"] = self.details
        body["code"] = self.code
        return body


def qualified(group: str, plural: str) -> str:
    """Resource (or kind) with its group, as messages name it: `pods`, `deployments.apps`."""
    return f"{plural}.{group}" if group else plural


def _details(group: str, kind: str, name: str) -> JsonObject:
    details: JsonObject = {}
    if name:
        details["name"] = name
    if group:
        details["group"] = group
    if kind:
        details["kind"] = kind
    return details


def not_found(group: str, plural: str, name: str) -> ApiError:
    return ApiError(404, "NotFound", f'{qualified(group, plural)} "{name}" not found', _details(group, plural, name))


def path_not_found() -> ApiError:
    return ApiError(404, "NotFound", "the server could not find the requested resource", {})


def already_exists(group: str, plural: str, name: str) -> ApiError:
    message = f'{qualified(group, plural)} "{name}" already exists'
    return ApiError(409, "AlreadyExists", message, _details(group, plural, name))


def conflict(group: str, plural: str, name: str, why: str) -> ApiError:
    message = f'Operation cannot be fulfilled on {qualified(group, plural)} "{name}": {why}'
    return ApiError(409, "Conflict", message, _details(group, plural, name))


MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"

NOT_NEGATIVE = "must be greater than or equal to 0"


def aggregate(errors: Iterable[object]) -> str:
    """Several errors as one, as Kubernetes joins them: each once, in brackets where there are more than one."""
    once = list(dict.fromkeys(map(str, errors)))
    return once[0] if len(once) == 1 else f"[{', '.join(once)}]" if once else ""


def invalid(group: str, kind: str, name: str, errors: Sequence[FieldError]) -> ApiError:
    """422 Invalid.  `kind` is the Kind, not the plural; errors must not be empty."""
    details = _details(group, kind, name)
    details["causes"] = [{"reason": e.reason, "message": e.message, "field": e.field} for e in errors]
    return ApiError(422, "Invalid", f'{qualified(group, kind)} "{name}" is invalid: {aggregate(errors)}', details)


def bad_request(message: str) -> ApiError:
    return ApiError(400, "BadRequest", message)


def unauthorized() -> ApiError:
    return ApiError(401, "Unauthorized", "Unauthorized")


def forbidden(group: str, plural: str, name: str, message: str) -> ApiError:
    """403.  `message` is the whole text after `PLURAL "NAME" is forbidden: `."""
    subject = f'{qualified(group, plural)} "{name}"' if name else qualified(group, plural)
    text = f"{subject} is forbidden: {message}" if plural else message
    return ApiError(403, "Forbidden", text, _details(group, plural, name))


def method_not_allowed() -> ApiError:
    return ApiError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {})


def method_not_supported(group: str, plural: str, verb: str, why: str) -> ApiError:
    """405 for a verb that a served resource lacks (for us: writes to computed resources).  why: appended, our own."""
    message = f'{verb} is not supported on resources of kind "{qualified(group, plural)}": {why}'
    return ApiError(405, "MethodNotAllowed", message, _details(group, plural, ""))


def terminating_definition(group: str, plural: str, why: str) -> ApiError:
    """405 for a custom object that is to be created while its definition goes."""
    return ApiError(405, "MethodNotAllowed", why, _details(group, plural, ""))


def scale_missing(group: str, plural: str, name: str, path: str) -> ApiError:
    """404 for the Scale of a custom object that does not say how many replicas it wants.  (A 500 upstream.)"""
    message = f'the spec replicas field "{path}" does not exist'
    return ApiError(404, "NotFound", message, _details(group, plural, name))


def not_acceptable(message: str, details: JsonObject | None = None) -> ApiError:
    return ApiError(406, "NotAcceptable", message, details)


def unsupported_media_type(message: str) -> ApiError:
    return ApiError(415, "UnsupportedMediaType", message)


def expired(message: str, continue_token: str = "") -> ApiError:
    """410.  continue_token: how to go on with the rest of a list, inconsistently."""
    return ApiError(410, "Expired", message, metadata={"continue": continue_token} if continue_token else None)


def too_old(requested: int, oldest: int) -> ApiError:
    """410 for a watch that wants to start before the kept history."""
    return expired(f"too old resource version: {requested} ({oldest})")


def too_large(message: str, bound: str = "") -> ApiError:
    error = ApiError(413, "RequestEntityTooLarge", message)
    error.bound = bound
    return error


def too_many_requests(message: str, retry_after: int = 1, bound: str = "") -> ApiError:
    """429: of what there may be only so much there is that much now; retry_after: seconds.  bound: its option."""
    headers = [("Retry-After", str(retry_after))]
    error = ApiError(429, "TooManyRequests", message, {"retryAfterSeconds": retry_after}, headers)
    error.bound = bound
    return error


def timeout() -> ApiError:
    """504 for a request that takes longer than it may."""
    return ApiError(504, "Timeout", "Timeout: request did not complete within the allotted timeout", {})


def name_taken(group: str, plural: str, name: str) -> ApiError:
    """409 where even the last of several generated names is taken."""
    error = already_exists(group, plural, name)
    error.message += ", the server was not able to generate a unique name for the object"
    error.details = {**(error.details or {}), "retryAfterSeconds": 1}
    error.headers = (("Retry-After", "1"),)
    return error


def not_implemented(message: str) -> ApiError:
    """501: something real Kubernetes has and this simulator refuses, by name."""
    return ApiError(501, "NotImplemented", message)


def internal_error(why: str) -> ApiError:
    """500, where a webhook or policy outside failed that must not: upstream's answer (see `docs/differences.md`)."""
    details: JsonObject = {"causes": [{"message": why}]}
    return ApiError(500, "InternalError", f"Internal error occurred: {why}", details)


def unavailable(message: str, retry_after: int | None = None) -> ApiError:
    headers = [("Retry-After", str(retry_after))] if retry_after is not None else []
    return ApiError(503, "ServiceUnavailable", message, None, headers)


def timeout_rv_too_large(requested: int, current: int) -> ApiError:
    """504 for a read at a resourceVersion that the server has not reached yet."""
    causes = [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]
    return ApiError(
        504,
        "Timeout",
        f"Timeout: Too large resource version: {requested}, current: {current}",
        {"causes": causes, "retryAfterSeconds": 1},
        [("Retry-After", "1")],
    )

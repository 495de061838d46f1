"""The options of a request: read off its query parameters (or a DeleteOptions body) and checked.

Wording follows apimachinery's `pkg/apis/meta/v1/validation` and `pkg/apis/meta/internalversion/validation`, and Go's
strconv where a number does not parse (400).  What options mean is the registry's business.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kube32_sim.api.errors import (
    NOT_NEGATIVE,
    ApiError,
    FieldError,
    bad_request,
    forbidden_field,
    go_value,
    invalid,
    invalid_value,
    not_supported,
    required,
    too_long,
)
from kube32_sim.api.field_selectors import ALL_FIELDS, FieldRequirement, FieldSelector, select_fields
from kube32_sim.api.gotime import TimeError, canonical
from kube32_sim.api.paths import Query, is_true
from kube32_sim.api.resources import ResourceType
from kube32_sim.api.selectors import EVERYTHING, LabelSelector, parse_labels
from kube32_sim.clock import parse_time

JsonObject = dict[str, Any]

_INT = re.compile(r"[+-]?[0-9]+", re.ASCII).fullmatch
_UINT = re.compile(r"[0-9]+", re.ASCII).fullmatch
_MAX_MANAGER = 128
_EXACT = "Exact"
_NOT_OLDER = "NotOlderThan"
_VALIDATIONS = ("", "Ignore", "Strict", "Warn")
_POLICIES = ("Foreground", "Background", "Orphan")


@dataclass(frozen=True, slots=True)
class ListOptions:
    """For list, watch and deletecollection.

    resource_version: None where not given (or given empty), else a number; 0 means any.  match: `Exact`, `NotOlderThan`
    or "".  limit: 0 for no limit.  timeout_seconds: None where not given.
    """

    labels: LabelSelector
    fields: FieldSelector
    watch: bool = False
    limit: int = 0
    continue_: str = ""
    resource_version: int | None = None
    match: str = ""
    timeout_seconds: int | None = None
    allow_bookmarks: bool = False
    send_initial_events: bool | None = None


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """For create, update and patch.  field_validation is one of Ignore, Warn and Strict; force only for apply."""

    dry_run: bool = False
    field_manager: str = ""
    field_validation: str = "Warn"
    force: bool = False


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """grace: as asked for (it may be negative), None where not given.

    propagation: Foreground, Background, Orphan or None, with the deprecated orphanDependents translated.
    """

    dry_run: bool = False
    grace: int | None = None
    propagation: str | None = None
    uid: str | None = None
    resource_version: str | None = None


@dataclass(frozen=True, slots=True)
class LogOptions:
    """Of a pod's log.  Numbers are None where not given; since_time is in seconds since 1970."""

    container: str = ""
    previous: bool = False
    follow: bool = False
    timestamps: bool = False
    tail_lines: int | None = None
    limit_bytes: int | None = None
    since_seconds: int | None = None
    since_time: float | None = None


PLAIN_LIST = ListOptions(EVERYTHING, ALL_FIELDS)
PLAIN_WRITE = WriteOptions()
PLAIN_DELETE = DeleteOptions()


def _first(query: Query, key: str) -> str:
    values = query.get(key)
    return values[0] if values else ""


def _int(query: Query, key: str) -> int | None:
    """An int64 parameter, None where absent; raises 400 as Go's ParseInt words it."""
    values = query.get(key)
    if not values:
        return None
    text = values[0]
    if not _INT(text):
        raise bad_request(f"strconv.ParseInt: parsing {go_value(text)}: invalid syntax")
    value = int(text) if len(text) < 25 else 2**64
    if not -(2**63) <= value < 2**63:
        raise bad_request(f"strconv.ParseInt: parsing {go_value(text)}: value out of range")
    return value


def _bool(query: Query, key: str) -> bool | None:
    return is_true(query[key]) if key in query else None


def parse_resource_version(text: str) -> int | None:
    """None for "", else the number; raises ApiError 400."""
    if not text:
        return None
    if not _UINT(text):
        raise _bad_version(text, "invalid syntax")
    value = int(text) if len(text) < 25 else 2**64
    if value >= 2**64:
        raise _bad_version(text, "value out of range")
    return value


def _bad_version(text: str, why: str) -> ApiError:
    quoted = go_value(text)
    detail = f"resourceVersion: Invalid value: {quoted}: strconv.ParseUint: parsing {quoted}: {why}"
    return bad_request(f"invalid resource version: {detail}")


def _refuse(kind: str, errors: Sequence[FieldError]) -> None:
    if errors:
        raise invalid("meta.k8s.io", kind, "", errors)


def get_options(query: Query) -> int | None:
    """The resourceVersion a get asks for (at least that new; 0 means any)."""
    return parse_resource_version(_first(query, "resourceVersion")) if query else None


def list_options(query: Query, row: ResourceType, *, watch: bool = False, name: str = "") -> ListOptions:
    """Options of a list, or with `watch` of a watch; `name` restricts to one object (the old watch paths)."""
    if not query and not name and not watch:
        return PLAIN_LIST
    limit, timeout = _int(query, "limit"), _int(query, "timeoutSeconds")
    labels = parse_labels(_first(query, "labelSelector"))
    version, match, continue_ = (_first(query, key) for key in ("resourceVersion", "resourceVersionMatch", "continue"))
    initial = _bool(query, "sendInitialEvents")
    errors = _watch_errors(match, continue_, initial) if watch else _list_errors(match, version, continue_, initial)
    _refuse("ListOptions", errors)
    fields = select_fields(_first(query, "fieldSelector"), row)
    if name:
        fields = _of_one(fields, name)
    if continue_ and not watch and version not in ("", "0"):
        raise bad_request("specifying resource version is not allowed when using continue")
    return ListOptions(
        labels=labels,
        fields=fields,
        watch=watch,
        limit=max(limit or 0, 0),
        continue_=continue_,
        resource_version=parse_resource_version(version),
        match=match,
        timeout_seconds=timeout,
        allow_bookmarks=is_true(query.get("allowWatchBookmarks")),
        send_initial_events=initial,
    )


def _of_one(fields: FieldSelector, name: str) -> FieldSelector:
    """The selection of the one object that a path names; raises ApiError 400 where the selector asks for another."""
    if not fields.everything and fields.exact("metadata.name") != name:
        raise bad_request("fieldSelector metadata.name doesn't match requested name")
    return fields if not fields.everything else FieldSelector([FieldRequirement("metadata.name", "=", name)])


def _list_errors(match: str, version: str, continue_: str, initial: bool | None) -> list[FieldError]:
    errors = []
    field = "resourceVersionMatch"
    if match:
        if not version:
            errors.append(forbidden_field(field, f"{field} is forbidden unless resourceVersion is provided"))
        if continue_:
            errors.append(forbidden_field(field, f"{field} is forbidden when continue is provided"))
        if match not in (_EXACT, _NOT_OLDER):
            errors.append(not_supported(field, match, (_EXACT, _NOT_OLDER, "")))
        if match == _EXACT and version == "0":
            errors.append(forbidden_field(field, f'{field} "exact" is forbidden for resourceVersion "0"'))
    if initial is not None:
        errors.append(forbidden_field("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    return errors


def _watch_errors(match: str, continue_: str, initial: bool | None) -> list[FieldError]:
    errors = []
    field = "resourceVersionMatch"
    if initial is not None and match != _NOT_OLDER:
        errors.append(forbidden_field(field, f"sendInitialEvents requires setting {field} to {_NOT_OLDER}"))
    if match:
        if initial is None:
            errors.append(
                forbidden_field(field, f"{field} is forbidden for watch unless sendInitialEvents is provided")
            )
        if match != _NOT_OLDER:
            errors.append(not_supported(field, match, (_NOT_OLDER,)))
        if continue_:
            errors.append(forbidden_field(field, f"{field} is forbidden when continue is provided"))
    return errors


def create_options(query: Query) -> WriteOptions:
    return _write_options("CreateOptions", query, []) if query else PLAIN_WRITE


def update_options(query: Query) -> WriteOptions:
    return _write_options("UpdateOptions", query, []) if query else PLAIN_WRITE


def patch_options(query: Query, *, apply: bool = False) -> WriteOptions:
    """Options of a patch; `apply`: it is a server-side apply."""
    if not query and not apply:
        return PLAIN_WRITE
    errors = []
    if apply and not _first(query, "fieldManager"):
        errors.append(required("fieldManager", "is required for apply patch"))
    if not apply and "force" in query:
        errors.append(forbidden_field("force", "may not be specified for non-apply patch"))
    return _write_options("PatchOptions", query, errors)


def _write_options(kind: str, query: Query, errors: list[FieldError]) -> WriteOptions:
    manager = _first(query, "fieldManager")
    if len(manager.encode("utf-8", "surrogatepass")) > _MAX_MANAGER:
        errors.append(too_long("fieldManager", _MAX_MANAGER))
    errors.extend(_unprintable(manager))
    dry_run = query.get("dryRun", ())
    errors.extend(_dry_run_errors(dry_run))
    validation = _first(query, "fieldValidation")
    if validation not in _VALIDATIONS:
        errors.append(not_supported("fieldValidation", validation, _VALIDATIONS))
    _refuse(kind, errors)
    return WriteOptions(bool(dry_run), manager, validation or "Warn", is_true(query.get("force")))


def _unprintable(manager: str) -> list[FieldError]:
    """What Go's unicode.IsPrint takes for no printable character; places are counted in bytes."""
    if manager.isprintable():
        return []
    errors, place = [], 0
    for character in manager:
        if not character.isprintable():
            why = f"invalid character U+{ord(character):04X} (at position {place})"
            errors.append(invalid_value("fieldManager", manager, why))
        place += len(character.encode("utf-8", "surrogatepass"))
    return errors


def _dry_run_errors(values: Sequence[str]) -> list[FieldError]:
    if all(value == "All" for value in values):
        return []
    return [not_supported("dryRun", list(values), ("All",))]


def delete_options(query: Query, body: JsonObject | None = None) -> DeleteOptions:
    """Options of a delete or deletecollection: the decoded body where there is one, else the query parameters.

    `body` may be any JSON object; raises ApiError 400 for what is no DeleteOptions, 422 for bad values.
    """
    if body is not None:
        return _checked(*_from_body(body))
    if not query:
        return PLAIN_DELETE
    return _checked(
        list(query.get("dryRun", ())),
        _int(query, "gracePeriodSeconds"),
        query["propagationPolicy"][0] if query.get("propagationPolicy") else None,
        _bool(query, "orphanDependents"),
        {},
    )


def log_options(query: Query, name: str) -> LogOptions:
    """Options of the log of the pod `name`."""
    tail, limit, since = (_int(query, key) for key in ("tailLines", "limitBytes", "sinceSeconds"))
    since_time = _time(_first(query, "sinceTime"))
    errors = []
    if tail is not None and tail < 0:
        errors.append(invalid_value("tailLines", tail, NOT_NEGATIVE))
    if limit is not None and limit < 1:
        errors.append(invalid_value("limitBytes", limit, "must be greater than 0"))
    if since is not None and since_time is not None:
        errors.append(forbidden_field("[]", "at most one of `sinceTime` or `sinceSeconds` may be specified"))
    elif since is not None and since < 1:
        errors.append(invalid_value("sinceSeconds", since, "must be greater than 0"))
    if errors:
        raise invalid("", "PodLogOptions", name, errors)
    previous, follow, timestamps = (is_true(query.get(key)) for key in ("previous", "follow", "timestamps"))
    return LogOptions(_first(query, "container"), previous, follow, timestamps, tail, limit, since, since_time)


def _time(text: str) -> float | None:
    """A time parameter in seconds since 1970; None where it is empty or Go's zero time."""
    try:
        moment = canonical(text) if text not in ("", "null") else None
    except TimeError as error:
        raise bad_request(str(error)) from None
    return parse_time(moment) if moment is not None else None


_BODY_TYPES: tuple[tuple[str, type, str], ...] = (
    ("dryRun", list, "[]string"),
    ("gracePeriodSeconds", int, "int64"),
    ("propagationPolicy", str, "v1.DeletionPropagation"),
    ("orphanDependents", bool, "bool"),
    ("preconditions", dict, "v1.Preconditions"),
)


def _from_body(body: JsonObject) -> tuple[list[str], int | None, str | None, bool | None, JsonObject]:
    _check_kind(body)
    for field, wanted, shown in _BODY_TYPES:
        _check_type(body, field, wanted, f"DeleteOptions.{field}", shown)
    grace = body.get("gracePeriodSeconds")
    if grace is not None and not -(2**63) <= grace < 2**63:
        raise _mismatch(f"number {grace}", "DeleteOptions.gracePeriodSeconds", "int64")
    dry_run = body.get("dryRun") or []
    for value in dry_run:
        if not isinstance(value, str):
            raise _mismatch(_json_kind(value), "DeleteOptions.dryRun", "string")
    preconditions = body.get("preconditions") or {}
    _check_type(preconditions, "uid", str, "Preconditions.preconditions.uid", "types.UID")
    _check_type(preconditions, "resourceVersion", str, "Preconditions.preconditions.resourceVersion", "string")
    return dry_run, grace, body.get("propagationPolicy"), body.get("orphanDependents"), preconditions


def _check_kind(body: JsonObject) -> None:
    kind, version = body.get("kind") or "DeleteOptions", body.get("apiVersion") or "v1"
    if not isinstance(kind, str) or not isinstance(version, str):
        raise bad_request("couldn't get version/kind; json parse error: kind and apiVersion must be strings")
    if kind != "DeleteOptions":
        raise bad_request(
            f'no kind {go_value(kind)} is registered for version {go_value(version)} in scheme "pkg/api/legacyscheme"'
        )


def _check_type(holder: JsonObject, field: str, wanted: type, path: str, shown: str) -> None:
    value = holder.get(field)
    if value is not None and (not isinstance(value, wanted) or (wanted is int and isinstance(value, bool))):
        raise _mismatch(_json_kind(value), path, shown)


def _json_kind(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, float):
        return f"number {value}"
    return {str: "string", int: "number", list: "array", dict: "object"}.get(type(value), "null")


def _mismatch(found: str, path: str, wanted: str) -> ApiError:
    return bad_request(f"json: cannot unmarshal {found} into Go struct field {path} of type {wanted}")


def _checked(
    dry_run: list[str], grace: int | None, policy: str | None, orphan: bool | None, preconditions: JsonObject
) -> DeleteOptions:
    errors = []
    if policy is not None and orphan is not None:
        detail = "orphanDependents and deletionPropagation cannot be both set"
        errors.append(invalid_value("propagationPolicy", policy, detail))
    if policy is not None and policy not in _POLICIES:
        errors.append(not_supported("propagationPolicy", policy, (*_POLICIES, "nil")))
    errors.extend(_dry_run_errors(dry_run))
    _refuse("DeleteOptions", errors)
    if orphan is not None:
        policy = "Orphan" if orphan else "Background"
    uid, version = preconditions.get("uid"), preconditions.get("resourceVersion")
    return DeleteOptions(bool(dry_run), grace, policy, uid, version)

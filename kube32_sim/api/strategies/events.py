"""Events, which two API groups show: lax rules for those written through core/v1, strict ones for events.k8s.io.

Objects are in the form of core/v1 here, whichever group the request named.
"""

from __future__ import annotations

from typing import Any

from kube32_sim.api.errors import FieldError, invalid_value, required
from kube32_sim.api.strategies.base import Context, Strategy
from kube32_sim.api.validation.meta import IMMUTABLE
from kube32_sim.api.validation.names import dns1123_subdomain, path_segment, qualified_name

JsonObject = dict[str, Any]

_UNSET = "needs to be unset"
_MISMATCH = "does not match event.namespace"
_FIXED = (
    ("involvedObject", "involvedObject"),
    ("reason", "reason"),
    ("message", "message"),
    ("source", "source"),
    ("firstTimestamp", "firstTimestamp"),
    ("lastTimestamp", "lastTimestamp"),
    ("count", "count"),
    ("reason", "reason"),  # upstream looks twice, and says so twice
    ("type", "type"),
    ("eventTime", "eventTime"),
    ("action", "action"),
    ("related", "related"),
    ("reportingComponent", "reportingController"),
    ("reportingInstance", "reportingInstance"),
)
"""Fields that a write through events.k8s.io may not change, and how messages call them."""


class EventStrategy(Strategy):
    create_on_update = True

    def validate_name(self, name: str, *, prefix: bool) -> list[str]:
        return path_segment(name, prefix=prefix)

    def validate(self, obj: JsonObject, context: Context) -> list[FieldError]:
        found = _validate_any(obj, context)
        return found + _validate_names(obj["metadata"]) + _validate_strict(obj) if _strict(context) else found

    def validate_update(self, obj: JsonObject, old: JsonObject, context: Context) -> list[FieldError]:
        found = _validate_any(obj, context)
        if not _strict(context):
            return found
        if obj.get("series") != old.get("series"):
            found += _validate_series(obj)
        for key, shown in _FIXED:
            if obj.get(key) != old.get(key):
                found.append(invalid_value(shown, _as_go(key, obj.get(key)), IMMUTABLE))
        return found


_REFERENCE = ("Kind", "Namespace", "Name", "UID", "APIVersion", "ResourceVersion", "FieldPath")
_STRUCTS = {"involvedObject": _REFERENCE, "related": _REFERENCE, "source": ("Component", "Host")}


def _as_go(key: str, value: Any) -> Any:
    """A value as refusals show it: the fields of structures have their names in Go, and are all told."""
    fields = _STRUCTS.get(key)
    if fields is None or (value is None and key == "related"):
        return value
    given = {name.lower(): item for name, item in (value or {}).items()}
    return {field: given.get(field.lower(), "") for field in fields}


def _strict(context: Context) -> bool:
    return context.row.group == "events.k8s.io"


def _validate_any(event: JsonObject, context: Context) -> list[FieldError]:
    """What holds for every event; more for those with an eventTime."""
    namespace = event["metadata"].get("namespace", "")
    about = (event.get("involvedObject") or {}).get("namespace", "")
    if event.get("eventTime"):
        return _validate_about(about, namespace, ("default", "kube-system"), False) + _validate_report(
            event, "reportingController" if _strict(context) else "reportingComponent"
        )
    return _validate_about(about, namespace, ("", "default"), True)


def _validate_about(about: str, namespace: str, homes: tuple[str, ...], same: bool) -> list[FieldError]:
    """An event is where its object is; those about cluster-scoped objects have homes of their own."""
    fits = (not same or about == namespace) if about else namespace in homes
    return [] if fits else [invalid_value("involvedObject.namespace", about, _MISMATCH)]


def _validate_report(event: JsonObject, shown: str) -> list[FieldError]:
    """Who reports; `shown` is what the group of the request calls the controller."""
    found: list[FieldError] = []
    controller = event.get("reportingComponent", "")
    if not controller:
        found.append(required(shown))
    found += [invalid_value(shown, controller, why) for why in qualified_name(controller)]
    for key in ("reportingInstance", "action", "reason"):
        value = event.get(key, "")
        if not value:
            found.append(required(key))
        found += _at_most(key, value, 128)
    return found + _at_most("message", event.get("message", ""), 1024)


def _at_most(key: str, value: str, length: int) -> list[FieldError]:
    if len(value.encode("utf-8", "surrogatepass")) <= length:
        return []
    return [invalid_value(key, "", f"can have at most {length} characters")]


def _validate_names(metadata: JsonObject) -> list[FieldError]:
    """Events of core/v1 may have any name that fits in a path, those of events.k8s.io are named as most objects are."""
    prefix, name = metadata.get("generateName") or "", metadata.get("name", "")
    found = [
        invalid_value("metadata.generateName", prefix, why)
        for why in (dns1123_subdomain(prefix, prefix=True) if prefix else ())
    ]
    return found + [invalid_value("metadata.name", name, why) for why in dns1123_subdomain(name)]


def _validate_strict(event: JsonObject) -> list[FieldError]:
    found = _validate_series(event)
    if not event.get("eventTime"):
        found.append(required("eventTime"))
    if event.get("type") not in ("Normal", "Warning"):
        found.append(invalid_value("type", "", f"has invalid value: {event.get('type', '')}"))
    found += [invalid_value(key, "", _UNSET) for key in ("firstTimestamp", "lastTimestamp", "count") if event.get(key)]
    source = event.get("source") or {}
    if source.get("component") or source.get("host"):
        found.append(invalid_value("source", "", _UNSET))
    return found


def _validate_series(event: JsonObject) -> list[FieldError]:
    series = event.get("series")
    if series is None:
        return []
    found: list[FieldError] = []
    if series.get("count", 0) < 2:
        found.append(invalid_value("series.count", "", "should be at least 2"))
    if not series.get("lastObservedTime"):
        found.append(required("series.lastObservedTime"))
    return found

"""Two versions of the same objects: what is stored, seen through another row, and back.

Stored are core/v1 Events and autoscaling/v2 HorizontalPodAutoscalers (the first rows with their storage);
events.k8s.io/v1 and autoscaling/v1 are views; of custom types every version but the stored one is.  Functions take and
answer objects in their JSON form and never change what they are given; parts may be shared between the two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kube32_sim.api.hpa_conversion import hpa_v1_to_v2, hpa_v2_to_v1
from kube32_sim.api.resources import ResourceType

JsonObject = dict[str, Any]
Conversion = Callable[[JsonObject], JsonObject]

_EVENT_NAMES = {
    "involvedObject": "regarding",
    "message": "note",
    "reportingComponent": "reportingController",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
}
"""Fields of core/v1 -> fields of events.k8s.io/v1; all others are the same."""

_OLD_EVENT_NAMES = {new: old for old, new in _EVENT_NAMES.items()}


def _renamed(obj: JsonObject, names: Mapping[str, str]) -> JsonObject:
    return {names.get(key, key): value for key, value in obj.items()}


def _event_to_new(event: JsonObject) -> JsonObject:
    new = _renamed(event, _EVENT_NAMES)
    for field in ("reportingController", "reportingInstance"):
        if not new.get(field):
            new.pop(field, None)
    new.setdefault("deprecatedSource", {})
    return new


def _event_from_new(event: JsonObject) -> JsonObject:
    old = _renamed(event, _OLD_EVENT_NAMES)
    return {"involvedObject": {}, "source": {}, "reportingComponent": "", "reportingInstance": "", **old}


_VIEWS: dict[tuple[str, str, str], tuple[Conversion, Conversion]] = {
    ("events.k8s.io", "v1", "Event"): (_event_to_new, _event_from_new),
    ("autoscaling", "v1", "HorizontalPodAutoscaler"): (hpa_v2_to_v1, hpa_v1_to_v2),
}


def to_view(row: ResourceType, stored: JsonObject) -> JsonObject:
    """A stored object as the row shows it; the object itself where that is how it is stored."""
    if row.custom is not None:
        return row.custom.shown(stored)
    conversions = _VIEWS.get((row.group, row.version, row.kind))
    return conversions[0](stored) if conversions else stored


def from_view(row: ResourceType, obj: JsonObject) -> JsonObject:
    """What to store for an object in the row's form; the object itself where it is stored like that."""
    if row.custom is not None:
        return row.custom.to_store(obj)
    conversions = _VIEWS.get((row.group, row.version, row.kind))
    return conversions[1](obj) if conversions else obj

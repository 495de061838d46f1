"""Events are kept for an hour after they were last told of, whoever wrote them (upstream: `--event-ttl`)."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from kube32_sim.client import EVENTS, Resource
from kube32_sim.clock import parse_time
from kube32_sim.runtime.actions import Delete, Plan, View
from kube32_sim.runtime.recorder import TTL

JsonObject = dict[str, Any]


def last_told(event: JsonObject) -> float:
    """The latest of the times that an event carries (seconds since 1970), as far as they are times."""
    times = (
        event.get("lastTimestamp"),
        event.get("eventTime"),
        (event.get("series") or {}).get("lastObservedTime"),
        event["metadata"].get("creationTimestamp"),
    )
    told = 0.0
    for text in times:
        with suppress(ValueError):
            told = max(told, parse_time(text) if text else 0.0)
    return told


class EventExpiry:
    """The loop that removes them.  ttl: seconds."""

    name = "event-ttl"
    watches: tuple[Resource, ...] = (EVENTS,)

    def __init__(self, ttl: float = TTL) -> None:
        self._ttl = ttl

    def keys(self, resource: Resource, obj: JsonObject, view: View) -> Iterable[str]:
        metadata = obj["metadata"]
        return (f"{metadata.get('namespace', '')}/{metadata['name']}",)

    def plan(self, key: str, view: View, now: float) -> Plan:
        namespace, _, name = key.partition("/")
        event = view.get(EVENTS, namespace, name)
        if event is None:
            return Plan()
        # A time in the future is the writer's clock, not a wish to be kept for longer.
        due = min(last_told(event), now) + self._ttl
        if now < due:
            return Plan(again_at=due)
        return Plan((Delete(EVENTS, namespace, name, event["metadata"].get("uid", "")),))

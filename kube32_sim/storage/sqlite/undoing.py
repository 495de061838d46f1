"""Writes that cannot be kept are taken back, as if they had never been; only their revisions nobody gets again.

Who heard of them hears of the opposite, newest first: what came goes, what went comes, what changed changes back.
"""

from __future__ import annotations

from kube32_sim.storage.interface import EventType
from kube32_sim.storage.objects import Beaten, Event, StoredObject

_OPPOSITE: dict[EventType, EventType] = {"ADDED": "DELETED", "MODIFIED": "MODIFIED", "DELETED": "ADDED"}


def opposite(event: Event, current: StoredObject | None) -> Event:
    """current: what is there under the key; None where the event has removed it."""
    if event.previous is None:
        before = current or event.stored
        return Event("DELETED", before.at_revision(event.revision), before, event.time)
    heartbeat = ""
    if event.heartbeat and isinstance(event.stored, Beaten):
        previous = event.previous
        heartbeat = previous.text if isinstance(previous, Beaten) else event.stored.told.text
    return Event(_OPPOSITE[event.type], event.previous, current, event.time, heartbeat)

"""What objects and events still say of a pod whose beginning was not noted.  Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from math import floor, inf
from typing import Any

from kube32_sim.causes import Ref, ref
from kube32_sim.clock import parse_time
from kube32_sim.explaining.story import EVENT, OBJECT, Link

JsonObject = dict[str, Any]

TELLING = frozenset(("Scheduled", "FailedScheduling", "Evicted", "NodeNotReady", "Preempted", "Killing", "Terminated"))
"""Reasons of events that tell why a pod is where it is, or is not."""
BEGINNING = ("Created", "Scheduled", "Bound")


def _seconds(text: object) -> float | None:
    try:
        return parse_time(text) if isinstance(text, str) and text else None
    except ValueError:
        return None


def of_object(pod: JsonObject, scheduled: bool) -> Iterator[Link]:
    """What the pod itself says.  scheduled: that it was bound is told by somebody else."""
    metadata, about = pod["metadata"], ref("Pod", pod)
    created = _seconds(metadata.get("creationTimestamp"))
    manager = _first_manager(metadata)
    by = f" by {manager}" if manager else ""
    owner = next((one for one in metadata.get("ownerReferences") or () if one.get("controller")), None)
    of = f" for {owner['kind']} {owner['name']}, which owns it" if owner else ""
    yield Link(
        created or 0.0, manager or "unknown", "Created", f"created{by}{of}", about, manager=manager, source=OBJECT
    )
    node = pod.get("spec", {}).get("nodeName", "")
    for condition in pod.get("status", {}).get("conditions") or ():
        at = _seconds(condition.get("lastTransitionTime")) or created or 0.0
        kind, status = condition.get("type"), condition.get("status")
        if kind == "PodScheduled" and node and not scheduled:
            yield Link(at, "unknown", "Bound", f"bound to {node}", about, node=node, source=OBJECT)
        elif kind == "PodScheduled" and status == "False" and condition.get("message"):
            yield Link(
                at, "unknown", "FailedScheduling", f"no node for it: {condition['message']}", about, source=OBJECT
            )
        elif kind == "DisruptionTarget" and status == "True":
            reason, message = condition.get("reason") or "DisruptionTarget", condition.get("message") or ""
            yield Link(at, "unknown", reason, message or "it was to be disrupted", about, source=OBJECT)
    deleted = _seconds(metadata.get("deletionTimestamp"))
    if deleted is not None:
        since = deleted - (metadata.get("deletionGracePeriodSeconds") or 0)
        yield Link(since, "unknown", "Deleted", "its deletion was asked for", about, source=OBJECT)


def _first_manager(metadata: JsonObject) -> str:
    entries = [one for one in metadata.get("managedFields") or () if not one.get("subresource")]
    entries.sort(key=lambda one: one.get("time") or "")
    return str(entries[0].get("manager", "")) if entries else ""


def of_events(events: Iterable[JsonObject], about: Ref) -> Iterator[Link]:
    """about: the pod of these events."""
    for event in events:
        if event.get("reason") not in TELLING:
            continue
        times = [event.get("firstTimestamp"), event.get("eventTime"), event["metadata"].get("creationTimestamp")]
        at = next((at for at in map(_seconds, times) if at is not None), 0.0)
        actor = event.get("reportingComponent") or (event.get("source") or {}).get("component") or "unknown"
        message, node = str(event.get("message", "")), ""
        if event["reason"] == "Scheduled":
            node = message.rpartition(" to ")[2]
        yield Link(at, actor, event["reason"], message.removesuffix("."), about, node=node, source=EVENT)


def together(earlier: Sequence[Link], noted: Sequence[Link]) -> list[Link]:
    """One chain: what is told of before the first of the noted links, in the order of the times, then those.

    Objects and events tell whole seconds: of what seems to be of the same one, all but the beginning was noted.
    """
    first = min((link.at for link in noted), default=inf)
    whole = floor(first) if noted else inf
    told = (link for link in earlier if link.at < whole or (link.at <= first and link.reason in BEGINNING))
    before = sorted(told, key=lambda link: link.at)
    moved = len(before)
    after = [_moved(link, moved) for link in noted]
    return [*before, *after]


def _moved(link: Link, by: int) -> Link:
    return replace(link, because=tuple(place + by for place in link.because)) if by else link

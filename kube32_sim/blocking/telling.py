"""Why something is not as it was waited for: what an object says of itself, its pods, and the events about them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

JsonObject = dict[str, Any]
MOST = 10
"""Lines of one sort: the newest events, the first pods."""


def of_status(obj: JsonObject) -> str:
    """The plain values of a status, on one line."""
    status = obj.get("status")
    if not isinstance(status, dict):
        return ""
    plain = ((name, value) for name, value in status.items() if not isinstance(value, list | dict))
    return ", ".join(f"{name} {value if isinstance(value, str) else json.dumps(value)}" for name, value in plain)


def of_conditions(obj: JsonObject) -> list[str]:
    found = (obj.get("status") or {}).get("conditions") or ()
    lines = []
    for one in found:
        why = ": ".join(part for part in (one.get("reason"), one.get("message")) if part)
        lines.append(f"{one.get('type')}={one.get('status')}" + (f" ({why})" if why else ""))
    return lines


def of_pod(pod: JsonObject) -> str:
    """`web-7d4c Pending: 0/2 nodes are available: …`."""
    status = pod.get("status") or {}
    text = f"{pod['metadata']['name']} {status.get('phase', 'Pending')}"
    node = (pod.get("spec") or {}).get("nodeName")
    text += f" on {node}" if node else ""
    why = [status.get("message") or status.get("reason")]
    why += [one.get("message") for one in status.get("conditions") or () if one.get("status") == "False"]
    why += [_waiting(one) for one in status.get("containerStatuses") or ()]
    found = list(dict.fromkeys(one for one in why if one))
    return f"{text}: {'; '.join(found)}" if found else text


def _waiting(container: JsonObject) -> str:
    state = container.get("state") or {}
    told = state.get("waiting") or state.get("terminated") or {}
    return ": ".join(part for part in (told.get("reason"), told.get("message")) if part)


def moment(event: JsonObject) -> str:
    return str(event.get("lastTimestamp") or event.get("eventTime") or event["metadata"].get("creationTimestamp") or "")


def of_event(event: JsonObject) -> str:
    about = event.get("involvedObject") or {}
    count = event.get("count") or (event.get("series") or {}).get("count") or 1
    times = f" (x{count})" if count > 1 else ""
    who = f"{str(about.get('kind', '')).lower()}/{about.get('name', '')}"
    return f"{moment(event)} {event.get('type', '')} {event.get('reason', '')} {who}: {event.get('message', '')}{times}"


def section(title: str, lines: Sequence[str], last: bool = False) -> Iterable[str]:
    """A title with its lines below; nothing where there are none.  last: the last of too many are shown."""
    if not lines:
        return
    yield f"  {title}:"
    shown = lines[-MOST:] if last else lines[:MOST]
    yield from (f"    {line}" for line in shown)
    if len(lines) > len(shown):
        yield f"    and {len(lines) - len(shown)} {'earlier' if last else 'more'}"

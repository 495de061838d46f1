"""How much of anything the server takes: one value, made of the options of `kube32-sim serve`.

What goes beyond a bound gets a Status that says which; `docs/limits.md` lists them all, those too that have no option
since more of it can only be a mistake or an attack (how deep a body is nested, how many operations a patch has).
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from kube32_sim.option_fields import flag


def _bound(default: float, text: str, least: float = 1) -> Any:
    """A field with its option: a number, or where the default is a float, a duration in seconds."""
    return field(default=default, metadata={"text": text, "least": least})


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Each field is an option of the same name; sizes are bytes, durations seconds.  Raises ValueError."""

    max_request_body_bytes: int = _bound(3 << 20, "size of a request's body; beyond it: 413")
    max_object_bytes: int = _bound(1536 << 10, "size of an object as it is stored, as etcd's; beyond it: 413")
    max_url_bytes: int = _bound(64 << 10, "length of a request's URL; beyond it: 414", 1 << 10)
    max_header_bytes: int = _bound(1 << 20, "size of a request's head, all its headers; beyond it: 431", 4 << 10)
    max_connections: int = _bound(10_000, "open connections; one more gets a 429 and is closed")
    max_requests_inflight: int = _bound(400, "reads worked on at a time; others wait their turn, not for long: 429")
    max_mutating_requests_inflight: int = _bound(200, "the same of writes")
    max_watches: int = _bound(10_000, "open watches and followed logs together; one more: 429")
    max_watch_backlog_bytes: int = _bound(
        32 << 20, "what may wait for one watcher that does not read: cut off", 1 << 16
    )
    max_total_backlog_bytes: int = _bound(
        512 << 20, "the same of all watchers together: who is furthest behind is cut off", 1 << 16
    )
    request_timeout: float = _bound(60.0, "what a request may take that is no watch; beyond it: 504", 0.1)
    min_request_timeout: int = _bound(
        1800, "seconds that a watch lasts at least, and twice that at most, if its client does not say how long", 1
    )
    watch_history_events: int = _bound(
        50_000, "changes that watches and lists of the past can start from; before them: 410"
    )
    watch_history_bytes: int = _bound(64 << 20, "the same by the size of the objects that only they keep")
    watch_history_duration: float = _bound(600.0, "the same by their age", 1.0)
    read_header_timeout: float = _bound(32.0, "time for a request's head to arrive; beyond it: 408", 0.1)

    def __post_init__(self) -> None:
        for bound in fields(self):
            value, least = getattr(self, bound.name), bound.metadata["least"]
            if value < least:
                raise ValueError(f"{flag(bound.name)}: {value} is less than {least}")


DEFAULTS = Limits()

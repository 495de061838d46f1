"""What was refused because a bound was met: counted for `/metrics`, and told in the log, of each bound once a minute.

Who looks after a server sees there which bound others meet, and the option that sets it (`docs/limits.md`).
"""

from __future__ import annotations

import logging
from collections import Counter

from kube32_sim.api.errors import ApiError
from kube32_sim.clock import RealClock

log = logging.getLogger(__name__)

QUIET_SECONDS = 60.0
"""How long nothing more is said of the same thing, in real time."""


class Seldom:
    """Says whether something may be told again, and counts what was not told meanwhile."""

    def __init__(self) -> None:
        self._clock = RealClock()
        self._quiet_until: dict[str, float] = {}
        self._untold: Counter[str] = Counter()

    def more(self, what: str) -> int | None:
        """How many were not told since the last that was; None where this one is not to be told either.

        what: out of a few, for they are remembered.
        """
        now = self._clock.now()
        if now < self._quiet_until.get(what, now):
            self._untold[what] += 1
            return None
        self._quiet_until[what] = now + QUIET_SECONDS
        return self._untold.pop(what, 0)


class Refusals:
    """Of one server.  counts: how many by status code."""

    def __init__(self) -> None:
        self.counts: Counter[int] = Counter()
        self._seldom = Seldom()

    def note(self, error: ApiError) -> None:
        """Take notice of an answer, if it is for a bound."""
        if not error.bound:
            return
        self.counts[error.code] += 1
        self.tell(error.bound, f"a client got {error.code}, {error.message}")

    def tell(self, bound: str, what: str) -> None:
        """Log that a bound was met, unless it was a moment ago."""
        more = self._seldom.more(bound)
        if more is not None:
            besides = f" ({more} more since this was last told)" if more else ""
            log.warning("%s: %s%s", bound, what, besides)

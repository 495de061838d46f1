"""Chance as an object: uids, the random ends of generated names, and whatever else must differ.

Seeded, the same calls give the same answers; unseeded, they come from the machine.  Who goes on with what an earlier
run has left says how far that came, and gets others than it had: the same again every time, but none of them twice.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable
from typing import Any

ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
"""The letters of generated names (apimachinery `util/rand`): no vowels, so no words."""


class Ids:
    """reached: the revision that an earlier run came to; 0: there was none.

    called: (type, new object without a name) -> its name; "" where that is left to chance.
    """

    called: Callable[[tuple[str, str], dict[str, Any]], str] = staticmethod(lambda storage, obj: "")

    def __init__(self, seed: int | None = None, reached: int = 0) -> None:
        chosen = seed if seed is None or not reached else f"{seed} from revision {reached}"
        self._random = random.Random(chosen)  # without a seed it takes one from the machine
        self._origin = "" if chosen is None else str(chosen)

    def turn_off(self, marker: int) -> None:
        """Go another way from here, the same for the same marker: what comes may not be what others have been given."""
        self._random = random.Random(f"{self._random.getrandbits(64)} and {marker}")

    def branch(self, moment: str) -> Ids:
        """Others than these, the same every time for the same moment.  These go on as if nobody had asked."""
        if not self._origin:
            self._origin = str(self._random.getrandbits(64))
        made = Ids(0)
        made._origin = f"{self._origin}, branch at {moment}"
        made._random = random.Random(made._origin)
        return made

    def uid(self) -> str:
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))

    def suffix(self, length: int = 5) -> str:
        return "".join(self._random.choice(ALPHABET) for _ in range(length))

    def integer(self, below: int) -> int:
        return self._random.randrange(below)

"""Chance as an object: uids, the random ends of generated names, and whatever else must differ.

Seeded, the same calls give the same answers; unseeded, they come from the machine.
"""

from __future__ import annotations

import random
import uuid

ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
"""The letters of generated names (apimachinery `util/rand`): no vowels, so no words."""


class Ids:
    def __init__(self, seed: int | None = None) -> None:
        self._random = random.Random(seed)  # without a seed it takes one from the machine

    def uid(self) -> str:
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))

    def suffix(self, length: int = 5) -> str:
        return "".join(self._random.choice(ALPHABET) for _ in range(length))

    def integer(self, below: int) -> int:
        return self._random.randrange(below)

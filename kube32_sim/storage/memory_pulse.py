"""Heartbeats of one object in the memory store: written without a copy, an encoding or a word to most listeners."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kube32_sim.storage.interface import Heartbeat
from kube32_sim.storage.objects import StoredObject

if TYPE_CHECKING:
    from kube32_sim.storage.memory import MemoryStore
    from kube32_sim.storage.memory_bucket import Bucket


class MemoryPulse:
    """See `interface.Pulse`."""

    __slots__ = ("_base", "_bucket", "_current", "_store", "_told", "revision")

    def __init__(self, store: MemoryStore, bucket: Bucket, base: StoredObject, told: Heartbeat) -> None:
        self._store, self._bucket, self._told = store, bucket, told
        self._base = self._current = base
        self.revision = base.revision

    def beat(self, text: str) -> bool:
        current = self._current
        if self._bucket.objects.get(current.key) is not current or len(text) != len(self._told.text):
            return False
        if text == getattr(current, "text", self._told.text):
            return True  # at the same moment: nothing is another
        self.revision = self._store.last + 1
        self._current = self._base.beaten(self.revision, self._told, text)
        self._store.renew(self._bucket, self._current, current, text)
        return True

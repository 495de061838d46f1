"""Definitions of custom types that are half done: another process has ended, or what followed could not be kept.

What follows from a definition is `custom_types`' business; here is only when it is gone on with.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from kube32_sim.api.customs.naming import DEFINITIONS, is_true
from kube32_sim.clock import Clock
from kube32_sim.storage.interface import Store
from kube32_sim.storage.objects import Event, StoredObject

LOOK_EVERY = 5.0
"""Seconds between two looks."""


def is_unfinished(stored: StoredObject) -> bool:
    crd = stored.object()
    accepted = (crd.get("status") or {}).get("acceptedNames") == crd["spec"]["names"]
    return stored.deleting or not accepted or not is_true(crd, "Established")


class UnfinishedTypes:
    """go_on_with: called with a definition that is half done; fails for nothing that others can repair."""

    def __init__(self, store: Store, clock: Clock, go_on_with: Callable[[StoredObject], Awaitable[None]]) -> None:
        self._store, self._clock, self._go_on_with = store, clock, go_on_with
        self._looking: asyncio.Task[None] | None = None

    async def look_after(self) -> None:
        """For as long as this runs."""
        while True:
            await self._look()

    def hear(self, event: Event) -> None:
        """A definition was written, or that was undone: it is looked after until it is as it should be."""
        if is_unfinished(event.stored) and (self._looking is None or self._looking.done()):
            self._looking = self._clock.spawn(self._until_done(), "unfinished definitions")

    async def stop(self) -> None:
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)

    async def _until_done(self) -> None:
        while self._unfinished():
            await self._look()

    def _unfinished(self) -> list[StoredObject]:
        return list(filter(is_unfinished, self._store.list(DEFINITIONS)))

    async def _look(self) -> None:
        await self._clock.sleep(LOOK_EVERY)
        for stored in self._unfinished():
            await self._go_on_with(stored)

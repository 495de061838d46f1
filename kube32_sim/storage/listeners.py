"""Who is told of events, and of which types'."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from kube32_sim.storage.interface import Storage
from kube32_sim.storage.objects import Event

log = logging.getLogger(__name__)

Listener = Callable[[Event], None]
_Heard = dict[Storage | None, tuple[Listener, ...]]


class Listeners:
    """attentive: those who are told of heartbeats too, by type."""

    def __init__(self) -> None:
        self._all: _Heard = {None: ()}
        self.attentive: _Heard = {}

    def add(
        self, listener: Listener, storages: Iterable[Storage] | None, heartbeats: Iterable[Storage]
    ) -> Callable[[], None]:
        """See `Store.subscribe`; answers how to stop."""
        places: list[Storage | None] = [None] if storages is None else list(storages)
        told = [(self._all, place) for place in places] + [(self.attentive, place) for place in heartbeats]
        for listeners, place in told:
            listeners[place] = (*listeners.get(place, ()), listener)

        def stop() -> None:
            for listeners, place in told:
                left = listeners[place] = tuple(other for other in listeners[place] if other != listener)
                if not left and place is not None:
                    del listeners[place]

        return stop

    def tell(self, event: Event) -> None:
        """Of a change that is no heartbeat."""
        _tell(event, self._all.get(event.stored.storage, ()))
        _tell(event, self._all[None])

    def tell_of(self, heartbeat: Event) -> None:
        _tell(heartbeat, self.attentive.get(heartbeat.stored.storage, ()))


def _tell(event: Event, listeners: Iterable[Listener]) -> None:
    for listener in listeners:
        try:
            listener(event)
        except Exception:
            log.exception("a listener failed on %s %s %s", event.type, event.stored.storage[1], event.stored.key)

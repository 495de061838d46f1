"""What loops listen to that are concerned with every stored type, custom resources included.

An ordinary loop names the types it watches; the garbage collector and the namespace loop cannot.  An `AllTypes` hears
every change, keeps the keys that `concerned` finds in it, and wakes the runner only for those (see `runtime.loop`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from kube32_sim.client import Resource
from kube32_sim.runtime.view import Event, Store, StoreView

STRIDE = 16
"""Keys handed out before others get their turn."""


class AllTypes(StoreView):
    def __init__(self, store: Store, concerned: Callable[[Any], Iterable[str]], initial: Iterable[str]) -> None:
        """concerned(event) -> keys, called inside the write, so cheap; initial: keys of the first pass."""
        super().__init__(store)
        self._concerned = concerned
        self._initial = initial
        self._pending: dict[str, None] = {}

    def subscribe(
        self, resources: Iterable[Resource], listener: Callable[[Event], None], heartbeats: Iterable[Resource] = ()
    ) -> Callable[[], None]:
        def hear(event: Any) -> None:
            keys = dict.fromkeys(self._concerned(event))
            if keys:
                self._pending.update(keys)
                listener(event)

        return self._store.subscribe(hear)

    def take(self) -> Iterator[str | None]:
        """Keys to look at now, those that turn up meanwhile too; None every few, where others may run."""
        initial, self._initial = self._initial, ()
        self._pending.update(dict.fromkeys(initial))
        done = 0
        while self._pending:
            key = next(iter(self._pending))
            del self._pending[key]
            yield key
            done += 1
            if done % STRIDE == 0:
                yield None

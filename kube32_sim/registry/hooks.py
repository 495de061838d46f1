"""What takes part in writes beyond admission: addresses of Services, and binding inside the create request."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from kube32_sim.api.allocation import ServiceAllocation
from kube32_sim.api.resources import ResourceType
from kube32_sim.api.strategies.base import Context
from kube32_sim.client import JsonObject
from kube32_sim.runtime.actions import Emit
from kube32_sim.storage.objects import StoredObject


class Binder(Protocol):
    """The scheduler as the create request sees it."""

    def bind_on_create(self, pod: JsonObject, now: str) -> Sequence[Emit]:
        """Choose a node for a pod that is being created: changes the pod in place, answers events to record."""


class WriteHooks:
    """binder: None where the scheduler does not run.  emit: records an event."""

    def __init__(self, services: ServiceAllocation, binder: Binder | None, emit: Callable[[Emit], None]) -> None:
        self._services = services
        self._binder = binder
        self._emit = emit
        self._events: dict[str, Sequence[Emit]] = {}

    def before_create(self, row: ResourceType, obj: JsonObject, context: Context) -> Sequence[str]:
        if row.storage == ("", "services"):
            self._services.allocate(obj, None, dry_run=context.dry_run)
        elif self._binder is not None and row.storage == ("", "pods") and not context.dry_run:
            events = self._binder.bind_on_create(obj, context.now)
            if events:
                self._events[obj["metadata"]["uid"]] = events
        return ()

    def before_update(self, row: ResourceType, obj: JsonObject, old: JsonObject, context: Context) -> Sequence[str]:
        if row.storage == ("", "services") and not context.subresource:
            self._services.allocate(obj, old, dry_run=context.dry_run)
        return ()

    def created(self, row: ResourceType, stored: StoredObject) -> None:
        for event in self._events.pop(stored.uid, ()):
            self._emit(event)

    def discarded(self, row: ResourceType, obj: JsonObject) -> None:
        self._events.pop(obj["metadata"]["uid"], None)

"""Parts of a cluster as its options say: what admission does, and the types of the simulator's own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

from kube32_controllers.scheduler import Scheduler

from kube32_sim.api.admission import AdmissionConfig
from kube32_sim.api.own import GROUP
from kube32_sim.client import CLOCKS
from kube32_sim.options import ServeOptions
from kube32_sim.registry.asked import Asked
from kube32_sim.registry.clocks import Clocks
from kube32_sim.registry.computed import COMPUTED
from kube32_sim.registry.hooks import WriteHooks
from kube32_sim.registry.registry import Registry
from kube32_sim.storage.interface import JsonObject

if TYPE_CHECKING:
    from kube32_sim.importing.snapshots import Snapshots
    from kube32_sim.preview.answering import Previews

T = TypeVar("T")


class Stoppable(Protocol):
    """Anything with an end."""

    async def stop(self) -> None: ...


class Alone(Protocol):
    """Does a work while no loops run, here or elsewhere."""

    async def __call__(self, work: Callable[[], Awaitable[T]]) -> T: ...


@dataclass(frozen=True, slots=True)
class Parts:
    """What the simulator's own types are about.  scheduler: None where it is switched off."""

    options: ServeOptions
    registry: Registry
    hooks: WriteHooks
    scheduler: Scheduler | None
    alone: Alone


def admission_config(options: ServeOptions) -> AdmissionConfig:
    loops = options.loops
    return AdmissionConfig(
        default_toleration_seconds=options.default_toleration_seconds,
        taint_new_nodes="node-lifecycle" not in loops,
        service_accounts="serviceaccount" in loops,
        idle_warnings=bool(loops),
        steering_warnings=bool(loops),
        quota_by_status=not loops,
        object_bytes=options.limits.max_object_bytes,
    )


def serve_own_types(parts: Parts) -> Sequence[Stoppable]:
    """Let the registry answer for the group `sim.kube32.io`; answers what is to be stopped with the server.

    What makes an answer is imported when somebody asks for it: most clusters never do.
    """
    registry = parts.registry
    clocks = Clocks(registry.clock, registry.ids, registry.store.keep_time)
    registry.own.serve(CLOCKS.group, CLOCKS.plural, clocks)
    registry.own.answer(GROUP, "snapshots", _Loading(parts).post)
    registry.own.answer(GROUP, "schedulingpreviews", _Previewing(parts).post)
    return (clocks,)


class _Loading:
    """Answers the parts of snapshots."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._snapshots: Snapshots | None = None

    async def post(self, asked: Asked, obj: JsonObject) -> JsonObject:
        if self._snapshots is None:
            from kube32_sim.importing.snapshots import Snapshots

            options, parts = self._parts.options, self._parts
            computed = COMPUTED if "endpoints" in options.loops else ()
            played = [name for name, _ in options.boards]
            most = options.limits.max_object_bytes
            self._snapshots = Snapshots(parts.registry, parts.hooks, parts.alone, computed, played, most)
        return await self._snapshots.post(asked, obj)


class _Previewing:
    """Answers where pods would go."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._previews: Previews | None = None

    async def post(self, asked: Asked, obj: JsonObject) -> JsonObject:
        if self._previews is None:
            from kube32_sim.preview.answering import Previews

            self._previews = Previews(self._parts.registry, self._parts.scheduler)
        return self._previews.answer(asked, obj)

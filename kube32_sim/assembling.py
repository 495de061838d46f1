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
from kube32_sim.recording.tape import Tape
from kube32_sim.registry.asked import Asked
from kube32_sim.registry.clocks import Clocks
from kube32_sim.registry.computed import COMPUTED
from kube32_sim.registry.hooks import WriteHooks
from kube32_sim.registry.registry import Registry
from kube32_sim.storage.interface import JsonObject

if TYPE_CHECKING:
    from kube32_sim.importing.snapshots import Snapshots

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
    tape: Tape


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


_PLACING = (
    *("reconcile_interval", "lease_check_interval", "not_ready_timeout", "eviction_timeout"),
    *("default_toleration_seconds", "controllers", "node_lease_duration_seconds", "node_status_update_frequency"),
)


def placing_options(options: ServeOptions) -> dict[str, str]:
    """Those that decide where pods go and when, by the names of `ServeOptions`; unset ones are left out."""
    values = {name: getattr(options, name) for name in _PLACING}
    return {name: str(value) for name, value in values.items() if value is not None}


def serve_own_types(parts: Parts) -> Sequence[Stoppable]:
    """Let the registry answer for the group `sim.kube32.io`; answers what is to be stopped with the server.

    What makes an answer is imported when somebody asks for it: most clusters never do.
    """
    registry = parts.registry
    clocks = Clocks(registry.clock, registry.ids, registry.store.keep_time)
    registry.own.serve(CLOCKS.group, CLOCKS.plural, clocks)
    registry.own.answer(GROUP, "recordings", parts.tape.post)
    registry.own.answer(GROUP, "snapshots", _Loading(parts).post)
    registry.own.answer(GROUP, "explanations", _Explaining(parts).post)
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


class _Explaining:
    """Answers why pods are where they are."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def post(self, asked: Asked, obj: JsonObject) -> JsonObject:
        from kube32_sim.explaining.answering import Explaining

        parts = self._parts
        return Explaining(parts.registry, parts.hooks.journal, parts.scheduler).answer(obj)

"""Parts of a cluster as its options say: what admission does, and the types of the simulator's own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

from kube32_controllers.scheduler import Scheduler

from kube32_sim.api.admission import AdmissionConfig
from kube32_sim.api.errors import ApiError
from kube32_sim.api.own import GROUP
from kube32_sim.client import CLOCKS
from kube32_sim.clock import Clock
from kube32_sim.options import OptionError, ServeOptions
from kube32_sim.registry import fault_scenarios
from kube32_sim.registry.asked import Asked
from kube32_sim.registry.clocks import Clocks
from kube32_sim.registry.computed import COMPUTED
from kube32_sim.registry.fault_scenarios import FaultScenarios
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
    faults: FaultScenarios


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


def made_faults(options: ServeOptions, clock: Clock) -> FaultScenarios:
    """Faults of the API: none, unless a file has a scenario.  Raises OptionError, which names what is wrong with it."""
    faults = FaultScenarios(clock)
    if options.faults is not None:
        from kube32_sim.api.fault_scenarios import decoded, problem
        from kube32_sim.special_files import read_patiently

        try:
            faults.set(decoded(read_patiently(options.faults)))
        except OSError as error:
            raise OptionError(f"--faults {options.faults}: {error.strerror}") from error
        except ApiError as error:
            raise OptionError(f"--faults {options.faults}: {problem(error)}") from error
    return faults


def serve_own_types(parts: Parts) -> Sequence[Stoppable]:
    """Let the registry answer for the group `sim.kube32.io`; answers what is to be stopped with the server.

    What makes an answer is imported when somebody asks for it: most clusters never do.
    """
    registry = parts.registry
    clocks = Clocks(registry.clock, registry.ids, registry.store.keep_time)
    registry.own.serve(CLOCKS.group, CLOCKS.plural, clocks)
    registry.own.answer(GROUP, "snapshots", _Loading(parts).post)
    registry.own.serve(GROUP, fault_scenarios.PLURAL, parts.faults)
    registry.own.answer(GROUP, fault_scenarios.PLURAL, parts.faults.create)
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

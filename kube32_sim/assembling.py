"""Parts of a cluster as its options say: what admission does, and the types of the simulator's own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from kube32_controllers.scheduler import Scheduler

from kube32_sim.api.admission import AdmissionConfig
from kube32_sim.api.errors import ApiError
from kube32_sim.api.options import DeleteOptions
from kube32_sim.api.own import GROUP
from kube32_sim.client import CLOCKS, FORKS
from kube32_sim.clock import Clock
from kube32_sim.options import OptionError, ServeOptions
from kube32_sim.recording.tape import Tape
from kube32_sim.registry import fault_scenarios
from kube32_sim.registry.asked import Asked
from kube32_sim.registry.clocks import Clocks
from kube32_sim.registry.computed import COMPUTED
from kube32_sim.registry.fault_scenarios import FaultScenarios
from kube32_sim.registry.hooks import WriteHooks
from kube32_sim.registry.registry import Registry
from kube32_sim.storage.interface import JsonObject

if TYPE_CHECKING:
    from kube32_sim.branches import Fork
    from kube32_sim.importing.snapshots import Snapshots
    from kube32_sim.preview.answering import Previews
    from kube32_sim.registry.forks import Forks, Room

T = TypeVar("T")
Making = Callable[[int], Awaitable["Fork[Any]"]]
"""(port) -> a fork of the cluster from this moment on; raises OSError, ApiError."""


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
    forking: Forking
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


_PLACING = (
    *("reconcile_interval", "lease_check_interval", "not_ready_timeout", "eviction_timeout"),
    *(
        "default_toleration_seconds",
        "controllers",
        "scheduler_profile",
        "node_lease_duration_seconds",
        "node_status_update_frequency",
    ),
)


def placing_options(options: ServeOptions) -> dict[str, str]:
    """Those that decide where pods go and when, by the names of `ServeOptions`; unset ones are left out."""
    values = {name: getattr(options, name) for name in _PLACING}
    return {name: str(value) for name, value in values.items() if value is not None}


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
    registry.own.answer(GROUP, "recordings", parts.tape.post)
    registry.own.answer(GROUP, "snapshots", _Loading(parts).post)
    registry.own.answer(GROUP, "schedulingpreviews", _Previewing(parts).post)
    registry.own.answer(GROUP, "explanations", _Explaining(parts).post)
    registry.own.serve(GROUP, fault_scenarios.PLURAL, parts.faults)
    registry.own.serve(GROUP, "forks", parts.forking)
    return (clocks, parts.forking, parts.tape)


class Forking:
    """Answers for forks: an `own.Makes`.  room: for how many more, of a fork that of its original."""

    def __init__(self, make: Making, registry: Registry, room: Room | None) -> None:
        self._make, self._registry, self._room = make, registry, room
        self._made: Forks[Fork[Any]] | None = None

    @property
    def _forks(self) -> Forks[Fork[Any]]:
        if self._made is None:
            from kube32_sim.registry.forks import Forks

            self._made = Forks(self._make, self.room)
        return self._made

    @property
    def room(self) -> Room:
        """Shared by all that come of one cluster."""
        if self._room is None:
            from kube32_sim.registry.forks import Room

            self._room = Room()
        return self._room

    def objects(self) -> Iterable[JsonObject]:
        return () if self._made is None else self._made.objects()

    async def post(self, asked: Asked, obj: JsonObject) -> JsonObject:
        return await self._forks.post(asked, obj)

    def coming(self) -> Collection[str]:
        return self._forks.coming()

    async def create(self, asked: Asked, obj: JsonObject) -> JsonObject:
        return await self._forks.create(asked, obj)

    async def delete(self, asked: Asked) -> None:
        await self._forks.delete(asked)

    @asynccontextmanager
    async def forked(self, name: str, port: int) -> AsyncIterator[Fork[Any]]:
        """A fork, by its name or a generated one, until the end of the block.  Raises ApiError."""
        row = self._registry.table.by_path(FORKS.group, FORKS.version, FORKS.plural)
        assert row is not None
        metadata = {"name": name} if name else {"generateName": "fork-"}
        wanted = {"metadata": metadata, "spec": {"port": port}}
        made = (await self._registry.own.create(Asked(row, name=name), wanted)).object()["metadata"]
        try:
            yield self._forks.branch(made["name"])
        finally:
            with suppress(ApiError):  # somebody has deleted it
                await self._registry.own.delete(Asked(row, name=made["name"]), DeleteOptions(uid=made["uid"]))

    async def stop(self) -> None:
        if self._made is not None:
            await self._made.stop()


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
        return Explaining(parts.registry, parts.hooks.journal, parts.scheduler).answer(asked, obj)


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

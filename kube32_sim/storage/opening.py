"""Opens the store that the options name."""

from __future__ import annotations

from typing import Any

from kube32_sim.api.resources import ResourceTable
from kube32_sim.clock import Clock
from kube32_sim.limits import DEFAULTS, Limits
from kube32_sim.options import StorePlace
from kube32_sim.storage.interface import Store, StoreError, Unavailable
from kube32_sim.storage.memory import MemoryStore


async def open_store(place: StorePlace, table: ResourceTable, clock: Clock, limits: Limits = DEFAULTS) -> Store:
    """A store with everything that was kept in it.  A virtual clock goes on from the time that it had reached.

    limits: of the history.  Raises StoreError.
    """
    history: dict[str, Any] = {
        "history_events": limits.watch_history_events,
        "history_bytes": limits.watch_history_bytes,
        "history_seconds": limits.watch_history_duration,
    }
    if place.kind == "memory":
        return MemoryStore(table, clock, **history)
    if place.kind == "etcd":
        from kube32_sim.storage.etcd.store import EtcdStore  # with gRPC, which nobody else needs

        return await EtcdStore.open(table, clock, place.endpoints, place.prefix, access=place.access, **history)
    if place.kind == "sqlite":
        from kube32_sim.storage.sqlite.store import SqliteStore

        return SqliteStore(place.path, table, clock, **history)
    raise StoreError(f"--store: {place.kind} is not supported")


def cannot_start(error: Unavailable, place: StorePlace) -> StoreError:
    """What there is to say of a store that could be opened, but not written as much as a start needs to."""
    if place.kind != "sqlite":
        return StoreError(error.message)
    from kube32_sim.storage.sqlite.journal import TRIED_AGAIN

    return StoreError(f"--store: {error.message.removesuffix(TRIED_AGAIN)}; make room, or name another file")

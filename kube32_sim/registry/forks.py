"""The forks of a cluster as objects of the API: making one takes a branch of everything, removing it ends that."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Awaitable, Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from kube32_sim.api import errors
from kube32_sim.api.own import GROUP
from kube32_sim.clock import rfc3339, rfc3339_micro
from kube32_sim.registry.asked import Asked
from kube32_sim.storage.interface import JsonObject

KIND, PLURAL, PORT = "Fork", "forks", "spec.port"
MOST = 16
"""Forks of one process at a time, those of forks among them."""


class Branch(Protocol):
    """What a fork stands for.  url: where it is served.  uid: of the fork.  revision, moment: where it begins."""

    url: str
    uid: str
    revision: int
    moment: float

    async def stop(self) -> None: ...


B = TypeVar("B", bound=Branch)


@dataclass(slots=True)
class Room:
    """For how many more there is room, shared by a cluster and all forks of it."""

    left: int = MOST


@dataclass(slots=True)
class _Fork(Generic[B]):
    obj: JsonObject
    branch: B
    ending: asyncio.Task[None] | None = None


class Forks(Generic[B]):
    """An `own.OwnType` of which clients make and remove objects (`own.Makes`)."""

    def __init__(self, make: Callable[[int], Awaitable[B]], room: Room) -> None:
        """make: (port) -> a branch from this moment on, which listens; raises OSError where it cannot, ApiError."""
        self._make = make
        self._room = room
        self._forks: dict[str, _Fork[B]] = {}
        self._coming: set[str] = set()
        self._making: set[asyncio.Task[JsonObject]] = set()
        self._stopped = False

    def objects(self) -> Iterable[JsonObject]:
        for name in sorted(self._forks):
            obj = self._forks[name].obj
            yield {**obj, "metadata": dict(obj["metadata"])}

    def branch(self, name: str) -> B:
        """KeyError where there is none of the name."""
        return self._forks[name].branch

    async def post(self, asked: Asked, obj: JsonObject) -> JsonObject:
        raise errors.path_not_found()  # the type has no subresources

    def coming(self) -> Collection[str]:
        return self._coming

    async def create(self, asked: Asked, obj: JsonObject) -> JsonObject:
        port = self._port(asked.name, obj.get("spec") or {})
        if asked.name in self._coming:
            raise errors.already_exists(GROUP, PLURAL, asked.name)
        if self._room.left <= 0:
            why = f"there are {MOST} forks already, the most that there may be; delete one first"
            raise errors.conflict(GROUP, PLURAL, asked.name, why)
        obj = {"metadata": obj["metadata"], "spec": {"port": port}}
        if asked.dry_run:
            return obj
        self._coming.add(asked.name)
        self._room.left -= 1
        # A task of its own: nothing is left half done where the client hangs up.
        making = asyncio.get_running_loop().create_task(self._created(asked.name, obj, port), name="fork")
        self._making.add(making)
        making.add_done_callback(self._making.discard)
        return await asyncio.shield(making)

    async def _created(self, name: str, obj: JsonObject, port: int) -> JsonObject:
        try:
            branch = await self._make(port)
        except BaseException as error:
            self._room.left += 1
            if isinstance(error, OSError):
                why = os.strerror(error.errno or errno.EADDRNOTAVAIL)
                failure = errors.invalid_value(PORT, port, f"cannot listen there: {why}; 0 takes a free one")
                raise errors.invalid(GROUP, KIND, name, [failure]) from error
            raise
        finally:
            self._coming.discard(name)
        if self._stopped:
            await branch.stop()
            raise errors.unavailable("the server is stopping; nothing was forked")
        obj["metadata"] |= {"uid": branch.uid, "creationTimestamp": rfc3339(branch.moment)}
        obj["status"] = {
            "server": branch.url,
            "revision": str(branch.revision),
            "forkedAt": rfc3339_micro(branch.moment),
        }
        self._forks[name] = _Fork(obj, branch)
        return {**obj, "metadata": dict(obj["metadata"])}

    async def delete(self, asked: Asked) -> None:
        """When it answers everything of the fork has ended, and its port is free."""
        await asyncio.shield(self._end(asked.name))

    def _end(self, name: str) -> asyncio.Task[None]:
        fork = self._forks[name]
        if fork.ending is None:
            fork.ending = asyncio.get_running_loop().create_task(self._ended(name, fork), name=f"end of fork {name}")
        return fork.ending

    async def _ended(self, name: str, fork: _Fork[B]) -> None:
        try:
            await fork.branch.stop()
        finally:
            del self._forks[name]
            self._room.left += 1

    async def stop(self) -> None:
        self._stopped = True
        await asyncio.gather(*self._making, return_exceptions=True)
        await asyncio.gather(*map(self._end, tuple(self._forks)))

    @staticmethod
    def _port(name: str, spec: JsonObject) -> int:
        port: int = spec.get("port") or 0
        if not 0 <= port <= 65535:
            failure = errors.invalid_value(PORT, port, "must be between 0 and 65535, inclusive; 0 takes a free one")
            raise errors.invalid(GROUP, KIND, name, [failure])
        return port

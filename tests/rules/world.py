"""A simulator as the tests of the rules see it: on the virtual clock, or as processes on the real one.

A test written against `World` runs in both (mark it `everywhere`), each with timings that suit it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from kube32_sim.client import EVENTS, NODES, PODS, Client
from kube32_sim.cluster import Cluster

JsonObject = dict[str, Any]
T = TypeVar("T")

FAULT = "sim.kube32.io/fault"


@dataclass(frozen=True)
class Timings:
    """Seconds.  lease: duration of the boards' Leases.  eviction: from Unknown until the NoExecute taint."""

    lease: float = 15.0
    eviction: float = 15.0
    toleration: float = 300.0
    reconcile: float = 1.0
    lease_check: float = 0.5


class World(Protocol):
    """nodes: names of its boards.  client: an administrator's.  namespace: for the objects of the test.

    A test that runs everywhere shares its server with others: it keeps to these nodes and this namespace.
    """

    @property
    def nodes(self) -> tuple[str, ...]: ...

    namespace: str
    client: Client
    timings: Timings

    async def now(self) -> float:
        """Seconds since 1970, by the world's clock."""

    async def wait(self, seconds: float) -> None:
        """Let time pass, and everything due by then happen."""

    async def until(self, condition: Callable[[], Awaitable[T]], what: str, within: float) -> T:
        """Let time pass until the answer is true, and answer it.  within: seconds of the world's clock."""

    async def unplug(self, node: str) -> None:
        """The board loses its network: it goes on, but nothing it sends arrives."""

    async def plug_in(self, node: str) -> None: ...


class VirtualWorld:
    namespace = "default"

    def __init__(self, cluster: Cluster, timings: Timings) -> None:
        self.cluster = cluster
        self.client = cluster.client
        self.timings = timings
        self.nodes = tuple(name for name, _ in cluster.options.boards)

    async def now(self) -> float:
        return self.cluster.clock.now()

    async def wait(self, seconds: float) -> None:
        await self.cluster.advance(seconds)

    async def until(self, condition: Callable[[], Awaitable[T]], what: str, within: float) -> T:
        return await self.cluster.run_until(condition, within, what)

    async def unplug(self, node: str) -> None:
        await self._fault(node, "partitioned")

    async def plug_in(self, node: str) -> None:
        await self._fault(node, None)

    async def _fault(self, node: str, fault: str | None) -> None:
        await self.client.patch(NODES, "", node, {"metadata": {"annotations": {FAULT: fault}}})
        await self.cluster.settle()


# asking


async def pods_of(world: World, namespace: str = "") -> list[JsonObject]:
    return (await world.client.list(PODS, namespace or world.namespace)).items


async def events_of(world: World, name: str, reason: str = "") -> list[JsonObject]:
    """Events about the object of that name, oldest first."""
    found = (await world.client.list(EVENTS, field_selector=f"involvedObject.name={name}")).items
    found.sort(key=lambda event: int(event["metadata"]["resourceVersion"]))
    return [event for event in found if not reason or event["reason"] == reason]


def condition(obj: JsonObject, kind: str) -> JsonObject:
    """The condition of that type, or an empty one."""
    conditions = (obj.get("status") or {}).get("conditions") or ()
    return next((one for one in conditions if one["type"] == kind), {})


def is_ready(obj: JsonObject) -> bool:
    return condition(obj, "Ready").get("status") == "True"


def taints(node: JsonObject) -> dict[str, JsonObject]:
    """The unreachable taints of a node by effect."""
    found = node["spec"].get("taints") or ()
    return {taint["effect"]: taint for taint in found if taint["key"] == "node.kubernetes.io/unreachable"}

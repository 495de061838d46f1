"""A picture kept true over HTTP: what a cluster has is listed and watched, and again where the server was away."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

from kube32_sim.api.errors import ApiError
from kube32_sim.client import CLOCKS, NODES, PODS, Client, Resource, Unreachable, WatchEvent
from kube32_sim.clock import RealClock, parse_time, rfc3339
from kube32_sim.registry.clocks import NAME
from kube32_sim.top.picture import Picture

JsonObject = dict[str, Any]

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 10.0


class Following:
    """Nodes and pods of a cluster, put into a picture.  trouble: by what is followed, why it is not.

    heard: set when there is something new to be seen.
    """

    def __init__(self, client: Client, picture: Picture) -> None:
        self._client = client
        self._picture = picture
        self._real = RealClock()
        self._revisions: dict[str, str] = {}
        self._ahead: float | None = None
        """Of the real time, the cluster's clock, in seconds; None where it has none to look at."""
        self._virtual: float | None = None
        self.trouble: dict[str, str] = {}
        self.heard = asyncio.Event()

    async def begin(self) -> None:
        """Everything as it is now; raises ApiError and Unreachable."""
        await self._list(NODES, self._picture.list_nodes)
        await self._list(PODS, self._picture.list_pods)
        await self.look()

    async def _list(self, resource: Resource, take: Callable[[Iterable[JsonObject]], None]) -> None:
        found = await self._client.list(resource)
        take(found.items)
        self._revisions[resource.plural] = found.resource_version

    async def look(self) -> None:
        """What time it is; another cluster than a simulator's has no clock of its own."""
        try:
            status = (await self._client.get(CLOCKS, "", NAME))["status"]
            now = parse_time(status["now"])
        except (ApiError, Unreachable, KeyError, TypeError, ValueError):
            return
        self._virtual = now if status["mode"] == "Virtual" else None
        self._ahead = now - self._real.now()

    @property
    def moves_by_itself(self) -> bool:
        return self._virtual is None

    def now(self) -> str:
        """What time it is in the cluster (RFC 3339); "" where that is not known."""
        if self._virtual is not None:
            return rfc3339(self._virtual)
        return "" if self._ahead is None else rfc3339(self._real.now() + self._ahead)

    def clock(self) -> str:
        """The same in words."""
        return self.now() + (" (virtual)" if self._virtual is not None else "")

    async def follow(self) -> None:
        """For ever."""
        picture = self._picture
        async with asyncio.TaskGroup() as group:
            group.create_task(self._follow(NODES, picture.list_nodes, picture.hear_node))
            group.create_task(self._follow(PODS, picture.list_pods, picture.hear_pod))

    async def _follow(
        self, resource: Resource, take: Callable[[Iterable[JsonObject]], None], hear: Callable[[WatchEvent], None]
    ) -> None:
        pause = FIRST_PAUSE
        while True:
            started = self._real.now()
            try:
                if not self._revisions.get(resource.plural):
                    await self._list(resource, take)
                self._tell(resource, "")
                await self._watch(resource, hear)
                why = ""
            except (ApiError, Unreachable) as error:
                self._revisions[resource.plural] = ""
                why = error.message if isinstance(error, ApiError) else str(error)
                if isinstance(error, ApiError) and error.code == 410:
                    continue
            pause = FIRST_PAUSE if self._real.now() - started > 1.0 else min(LONGEST_PAUSE, 2 * pause)
            if why:
                self._tell(resource, f"{why}; trying again")
                await self._real.sleep(pause)
            elif pause > FIRST_PAUSE:
                await self._real.sleep(pause)

    async def _watch(self, resource: Resource, hear: Callable[[WatchEvent], None]) -> None:
        plural = resource.plural
        async with self._client.watch(resource, resource_version=self._revisions[plural]) as events:
            async for event in events:
                if event.type == "ERROR":
                    code, message = event.object.get("code"), str(event.object.get("message"))
                    raise ApiError(code if isinstance(code, int) else 410, "", message, None)
                if event.type != "BOOKMARK":
                    before = self._picture.changes
                    hear(event)
                    if self._picture.changes != before:
                        self.heard.set()
                self._revisions[plural] = event.object["metadata"]["resourceVersion"]

    def _tell(self, resource: Resource, trouble: str) -> None:
        if self.trouble.get(resource.plural, "") != trouble:
            self.trouble[resource.plural] = trouble
            self.heard.set()

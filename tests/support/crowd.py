"""Writers and watchers that use one server at the same time, each through a connection of its own."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import AsyncIterator, Mapping
from typing import Any

import aiohttp
import orjson

from tests.support.truth import Seen, Selection, Truth, revision

NAMESPACES = [f"crowd-{number}" for number in range(5)]
GROUPS = [f"g{number}" for number in range(10)]
NODES = [f"board-{number}" for number in range(10)]
SHARED = 40
"""Pods of each namespace that all writers quarrel about."""


class Writer:
    """Creates, changes, binds and deletes pods at random, and tells the truth about it.

    Also does what must have no effect: stale updates, second creations, patches that change nothing.
    """

    def __init__(self, number: int, session: aiohttp.ClientSession, truth: Truth) -> None:
        self._random = random.Random(number)
        self._own = (f"own-{number}-{count}" for count in itertools.count())
        self._session = session
        self._truth = truth
        self.effective = 0
        self.refused = 0

    async def write_until(self, deadline: float) -> None:
        clock = asyncio.get_running_loop().time
        actions = [self._create, self._patch, self._patch, self._patch, self._update, self._delete, self._live]
        while clock() < deadline:
            await self._random.choice(actions)()

    def _shared(self) -> tuple[str, str]:
        namespace = self._random.choice(NAMESPACES)
        return namespace, f"shared-{self._random.randrange(SHARED)}"

    def _pod(self, name: str, node: str) -> dict[str, Any]:
        labels = {"group": self._random.choice(GROUPS)}
        spec = {"containers": [{"name": "c", "image": "i"}], **({"nodeName": node} if node else {})}
        return {"metadata": {"name": name, "labels": labels}, "spec": spec}

    async def _create(self) -> None:
        namespace, name = self._shared()
        await self._write("POST", pods(namespace), self._pod(name, self._random.choice(["", *NODES])))

    async def _patch(self) -> None:
        """Mostly to another group; now and then to the one it is in."""
        namespace, name = self._shared()
        labels = {"group": self._random.choice(GROUPS)}
        await self._write("PATCH", f"{pods(namespace)}/{name}", {"metadata": {"labels": labels}})

    async def _update(self) -> None:
        """Read, change, write back; somebody else may have been there meanwhile."""
        namespace, name = self._shared()
        path = f"{pods(namespace)}/{name}"
        status, pod = await self._request("GET", path)
        if status == 200:
            pod["metadata"].setdefault("annotations", {})["count"] = str(self._random.random())
            await self._write("PUT", path, pod)

    async def _delete(self) -> None:
        namespace, name = self._shared()
        status, answer = await self._request("DELETE", f"{pods(namespace)}/{name}?gracePeriodSeconds=0")
        self._count(status)
        if status == 200:
            self._truth.removed(answer)

    async def _live(self) -> None:
        """The whole life of a pod of its own: made, bound, gone."""
        namespace, name = self._random.choice(NAMESPACES), next(self._own)
        path = f"{pods(namespace)}/{name}"
        await self._write("POST", pods(namespace), self._pod(name, ""))
        target = {"metadata": {"name": name}, "target": {"kind": "Node", "name": self._random.choice(NODES)}}
        status, answer = await self._request("POST", f"{path}/binding", target)
        assert status == 201, answer
        status, bound = await self._request("GET", path)
        assert status == 200, bound
        self._truth.wrote(bound)
        status, gone = await self._request("DELETE", f"{path}?gracePeriodSeconds=0")
        assert status == 200, gone
        self._truth.removed(gone)
        self.effective += 2

    async def _write(self, method: str, path: str, body: Mapping[str, Any]) -> None:
        status, answer = await self._request(method, path, body)
        self._count(status)
        if status in (200, 201):
            self._truth.wrote(answer)

    def _count(self, status: int) -> None:
        assert status in (200, 201, 404, 409), status
        if status in (200, 201):
            self.effective += 1
        else:
            self.refused += 1

    async def _request(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> tuple[int, Any]:
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        data = None if body is None else orjson.dumps(body)
        async with self._session.request(method, path, data=data, headers={"Content-Type": kind}) as answer:
            return answer.status, orjson.loads(await answer.read())


class Watcher:
    """Keeps what a watch of a selection shows, over as many connections as it takes.

    initial: the objects it began with, as {key: revision}; start: the revision they were of.
    """

    def __init__(
        self, path: str, query: Mapping[str, str], selection: Selection, session: aiohttp.ClientSession
    ) -> None:
        self.selection = selection
        self.initial: dict[tuple[str, str], int] | None = None
        self.start = 0
        self.seen: list[Seen] = []
        self._more = asyncio.Event()
        self._path, self._query, self._session = path, query, session

    def __str__(self) -> str:
        return f"watcher of {self._path} {dict(self._query)} from {self.start}"

    async def watch_from(self, start: int) -> None:
        """Everything after a revision, which the caller got from somewhere."""
        self.start = start
        await self._follow({"resourceVersion": str(start)})

    async def list_and_watch(self) -> None:
        async with self._session.get(self._path, params=self._query) as answer:
            listed = orjson.loads(await answer.read())
            assert answer.status == 200, listed
        self.initial = {key_of(item): revision(item) for item in listed["items"]}
        await self.watch_from(revision(listed))

    async def watch_with_initial_events(self) -> None:
        """As a reflector of the newer kind does: the state arrives as events, up to a bookmark."""
        initial = {}
        query = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}
        async for event in self._events(query):
            if event["type"] == "BOOKMARK" and self.initial is None:
                self.initial, self.start = initial, revision(event["object"])
            elif self.initial is None:
                assert event["type"] == "ADDED", event
                initial[key_of(event["object"])] = revision(event["object"])
            else:
                self._see(event)
        await self._follow({"resourceVersion": self._last()})

    async def _follow(self, query: Mapping[str, str]) -> None:
        """Watch on for ever, from where it was cut off."""
        while True:
            async for event in self._events(query):
                self._see(event)
            query = {"resourceVersion": self._last()}

    async def has_seen(self, count: int) -> None:
        """Wait until there were so many events."""
        while len(self.seen) < count:
            self._more.clear()
            await self._more.wait()

    def _last(self) -> str:
        return str(self.seen[-1][1] if self.seen else self.start)

    def _see(self, event: Mapping[str, Any]) -> None:
        if event["type"] != "BOOKMARK":
            assert event["type"] != "ERROR", event
            self.seen.append((event["type"], revision(event["object"]), key_of(event["object"])))
            self._more.set()

    async def _events(self, query: Mapping[str, str]) -> AsyncIterator[Any]:
        async with self._session.get(self._path, params={"watch": "1", **self._query, **query}) as answer:
            assert answer.status == 200, await answer.text()
            rest = b""
            async for chunk in answer.content.iter_any():
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    yield orjson.loads(line)


def pods(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/pods"


def key_of(obj: Mapping[str, Any]) -> tuple[str, str]:
    return obj["metadata"]["namespace"], obj["metadata"]["name"]

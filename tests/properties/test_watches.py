"""Whoever lists and then watches knows what is there: at the end, what he has made of the events is the list."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Any, NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from kube32_sim.api.errors import ApiError
from kube32_sim.client import NODES, Client, Resource, WatchEvent
from kube32_sim.cluster import Cluster
from kube32_sim.http_client import HttpClient
from kube32_sim.options import ServeOptions
from tests.properties.making import trying
from tests.support.objects import MAPS

JsonObject = dict[str, Any]
END = "end"
"""Annotation of the object by which a follower knows that he has seen everything."""


class Chosen(NamedTuple):
    """What is followed: a type, by labels and fields; and what an object needs to be among it."""

    resource: Resource
    labels: str
    fields: str
    matching: JsonObject


CHOICES = (
    Chosen(MAPS, "", "", {}),
    Chosen(MAPS, "app=a", "", {"labels": {"app": "a"}}),
    Chosen(MAPS, "app!=a", "", {}),
    Chosen(MAPS, "app in (a, b)", "", {"labels": {"app": "b"}}),
    Chosen(MAPS, "!app", "", {}),
    Chosen(MAPS, "app=a", "metadata.name!=two", {"labels": {"app": "a"}}),
    Chosen(NODES, "", "spec.unschedulable=true", {"unschedulable": True}),
    Chosen(NODES, "app", "spec.unschedulable=false", {"labels": {"app": "a"}}),
)


class Write(NamedTuple):
    verb: str
    resource: Resource
    name: str
    labels: JsonObject
    unschedulable: bool


class Follow(NamedTuple):
    """Start to watch, at the revision so many writes ago."""

    chosen: Chosen
    ago: int


class Compact(NamedTuple):
    """Forget all events but the last few."""

    kept: int


Step = Write | Follow | Compact

writes = st.builds(
    Write,
    st.sampled_from(["update", "update", "patch", "strategic", "delete"]),
    st.sampled_from([MAPS, NODES]),
    st.sampled_from(["one", "two"]),
    st.sampled_from([{}, {"app": "a"}, {"app": "b"}, {"other": "c"}]),
    st.booleans(),
)
follows = st.builds(Follow, st.sampled_from(CHOICES), st.integers(0, 6))
few = st.one_of(follows, follows, st.builds(Compact, st.integers(0, 4)))
histories = st.lists(st.lists(writes, min_size=1, max_size=6).flatmap(lambda made: few.map(lambda one: [one, *made])),
                     min_size=3, max_size=6).map(lambda parts: [step for part in parts for step in part])  # fmt: skip


class Follower:
    """Lists, then watches; `known` is what he makes of it."""

    def __init__(self, client: Client, chosen: Chosen, number: int) -> None:
        self.known: dict[str, JsonObject] = {}
        self.revision = 0
        self.chosen = chosen
        self.number = number
        self._client = client

    async def listed(self, at: str = "") -> dict[str, JsonObject]:
        """What is there; in place of a revision that is forgotten, as of now."""
        chosen = self.chosen
        try:
            found = await self._client.list(
                chosen.resource, "", label_selector=chosen.labels, field_selector=chosen.fields, at=at
            )
        except ApiError as error:
            if not at or error.reason != "Expired":
                raise
            return await self.listed()
        self.revision = int(found.resource_version)
        return {item["metadata"]["name"]: plain(item) for item in found.items}

    async def start(self, at: int, stack: AsyncExitStack) -> asyncio.Task[None]:
        self.known = await self.listed(str(at))
        chosen = self.chosen
        watch = self._client.watch(
            chosen.resource,
            resource_version=str(self.revision),
            label_selector=chosen.labels,
            field_selector=chosen.fields,
        )
        events = await stack.enter_async_context(watch)

        async def follow() -> None:
            async for event in events:
                if event.type != "BOOKMARK" and self._learn(event):
                    return

        return asyncio.create_task(follow())

    def _learn(self, event: WatchEvent) -> bool:
        """Whether it was the last event."""
        obj = event.object
        name, revision = obj["metadata"]["name"], int(obj["metadata"]["resourceVersion"])
        assert revision > self.revision
        assert (event.type == "ADDED") == (name not in self.known), event
        self.revision = revision
        if event.type == "DELETED":
            del self.known[name]
        else:
            self.known[name] = plain(obj)
        return bool((obj["metadata"].get("annotations") or {}).get(END) == str(self.number))


def plain(obj: JsonObject) -> JsonObject:
    return {name: value for name, value in obj.items() if name not in ("kind", "apiVersion")}


def body(resource: Resource, name: str, labels: JsonObject, unschedulable: bool) -> JsonObject:
    made: JsonObject = {"metadata": {"name": name, "labels": labels}}
    return made | ({"spec": {"unschedulable": unschedulable}} if resource == NODES else {})


async def write(client: Client, step: Write) -> None:
    """What is not there is made."""
    namespace = "default" if step.resource == MAPS else ""
    obj = body(step.resource, step.name, step.labels, step.unschedulable)
    try:
        if step.verb == "update":
            await client.update(step.resource, namespace, obj)
        elif step.verb == "delete":
            await client.delete(step.resource, namespace, step.name)
        else:
            kind = "merge" if step.verb == "patch" else "strategic"
            await client.patch(step.resource, namespace, step.name, obj, kind=kind)
    except ApiError as error:
        if error.reason != "NotFound":
            raise
        await client.create(step.resource, namespace, obj)


async def play(history: Sequence[Step], over_http: bool) -> None:
    options = ServeOptions(port=0, nodes=0, controllers="none", clock="virtual")
    async with Cluster(options) as cluster, AsyncExitStack() as stack:
        client: Client = await stack.enter_async_context(HttpClient(cluster.access)) if over_http else cluster.client
        followers: list[tuple[Follower, asyncio.Task[None]]] = []
        first = cluster.store.revision
        for step in history:
            if isinstance(step, Write):
                await write(client, step)
            elif isinstance(step, Compact):
                cluster.store.compact(max(cluster.store.revision - step.kept, first))
            else:
                follower = Follower(client, step.chosen, len(followers))
                task = await follower.start(max(cluster.store.revision - step.ago, first), stack)
                followers.append((follower, task))
        for follower, task in followers:
            await finish(client, follower, task)
        cluster.store.check()


async def finish(client: Client, follower: Follower, task: asyncio.Task[None]) -> None:
    """The last event of a follower; then he must know what is there."""
    chosen, number = follower.chosen, str(follower.number)
    obj = body(chosen.resource, f"last-{number}", {}, chosen.matching.get("unschedulable", False))
    obj["metadata"] |= {"labels": chosen.matching.get("labels", {}), "annotations": {END: number}}
    await client.create(chosen.resource, "default" if chosen.resource == MAPS else "", obj)
    async with asyncio.timeout(10):
        await task
    assert follower.known == await follower.listed(str(follower.revision))
    assert follower.known == await follower.listed()


@trying(40)
@given(histories)
def test_events_add_up_to_the_list_in_process(history: list[Step]) -> None:
    asyncio.run(play(history, over_http=False))


@trying(15)
@given(histories)
def test_events_add_up_to_the_list_over_http(history: list[Step]) -> None:
    asyncio.run(play(history, over_http=True))

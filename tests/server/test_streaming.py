"""Watches over HTTP: nothing lost, nothing doubled, however a stream begins, goes on and ends."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from typing import Any

import pytest

from kube32_sim.client import NAMESPACES, PODS, Resource
from kube32_sim.cluster import Cluster
from kube32_sim.limits import Limits
from kube32_sim.server import streaming
from tests.support.waiting import eventually
from tests.support.wire import Wire, connected

MAPS = Resource("", "v1", "configmaps")
PATH = "/api/v1/namespaces/default/configmaps"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
METADATA = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
Event = dict[str, Any]
Events = AsyncIterator[Event]


def config_map(name: str, size: int = 0, **labels: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": labels}, "data": {"text": "x" * size}}


async def put(cluster: Cluster, name: str, size: int = 0, **labels: str) -> int:
    """Create or change; answers the new revision."""
    obj = config_map(name, size, **labels)
    if cluster.store.get(("", "configmaps"), f"default/{name}") is None:
        stored = await cluster.client.create(MAPS, "default", obj)
    else:
        stored = await cluster.client.update(MAPS, "default", obj)
    return int(stored["metadata"]["resourceVersion"])


async def drop(cluster: Cluster, name: str) -> None:
    await cluster.client.delete(MAPS, "default", name)


def revision(event: Event) -> int:
    return int(event["object"]["metadata"]["resourceVersion"])


def brief(event: Event) -> tuple[str, str]:
    return event["type"], event["object"]["metadata"].get("name", "")


async def take(events: Events, count: int) -> list[Event]:
    return [await anext(events) for _ in range(count)]


async def everything(events: Events) -> list[Event]:
    return [event async for event in events]


# from the past into the present


async def mutate(cluster: Cluster, rng: random.Random, steps: int, size: int) -> None:
    for _ in range(steps):
        name = f"m{rng.randrange(40)}"
        if rng.random() < 0.3 and cluster.store.get(("", "configmaps"), f"default/{name}") is not None:
            await drop(cluster, name)
        else:
            await put(cluster, name, size + rng.randrange(100), app=rng.choice("xy"))
        await asyncio.sleep(0)


def folded(events: list[Event], state: dict[str, str] | None = None) -> dict[str, str]:
    """What a client knows after these events; asserts that each of them is news."""
    known, last = dict(state or {}), 0
    for event in events:
        kind, name = brief(event)
        if kind == "BOOKMARK":
            last = max(last, revision(event))
            continue
        if last:
            assert revision(event) > last, f"{kind} {name} comes after a bookmark that told of it"
        if kind == "DELETED":
            del known[name]
        else:
            assert (name in known) == (kind == "MODIFIED"), (kind, name)
            known[name] = event["object"]["metadata"]["resourceVersion"]
    return known


async def read_slowly(wire: Wire, query: str, rng: random.Random) -> list[Event]:
    found = []
    async for event in await wire.watch(f"{PATH}?watch=true&{query}"):
        found.append(event)
        if rng.random() < 0.05:
            await asyncio.sleep(0.002)
        if event["object"]["metadata"].get("name") == "the-end":
            break
    return found


@pytest.mark.parametrize("size", [10, 20_000])
@pytest.mark.parametrize("selector", ["", "&labelSelector=app=x"])
async def test_nothing_is_lost_or_doubled_while_writes_go_on(bare: Cluster, size: int, selector: str) -> None:
    rng = random.Random(size)
    await mutate(bare, rng, 60, size)
    writing = asyncio.create_task(mutate(bare, rng, 150, size))
    readers: list[tuple[str, dict[str, str], asyncio.Task[list[Event]]]] = []
    async with asyncio.TaskGroup() as group:
        for number in range(12):
            await asyncio.sleep(0.002)
            listed = await bare.client.list(MAPS, "default", label_selector=selector.partition("=")[2])
            state = {o["metadata"]["name"]: o["metadata"]["resourceVersion"] for o in listed.items}
            query, given = [
                ("", {}),
                ("resourceVersion=0", {}),
                (f"resourceVersion={listed.resource_version}", state),
                ("sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true", {}),
            ][number % 4]

            async def reader(query: str = query) -> list[Event]:
                async with connected(bare.port, room=4096) as wire:
                    return await read_slowly(wire, query + selector, random.Random(1))

            readers.append((query, given, group.create_task(reader())))
        await writing
        await eventually(lambda: bare.hub.count() == 12, "12 open watches")
        await put(bare, "the-end", app="x")
    final = await bare.client.list(MAPS, "default", label_selector=selector.partition("=")[2])
    expected = {o["metadata"]["name"]: o["metadata"]["resourceVersion"] for o in final.items}
    for query, given, task in readers:
        assert folded(task.result(), given) == expected, query


async def test_the_bookmark_that_ends_the_initial_events_promises_no_more_than_was_sent(bare: Cluster) -> None:
    for number in range(200):
        await put(bare, f"m{number}", 60_000)  # more than the buffers on the way take
    query = "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    async with connected(bare.port, room=4096) as wire:
        events = await wire.watch(f"{PATH}?{query}")
        first = await take(events, 1)
        await put(bare, "meanwhile")  # the rest of the snapshot is still on its way
        later = await take(events, 201)
    assert brief(later[-2])[0] == "BOOKMARK"
    assert later[-2]["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert brief(later[-1]) == ("ADDED", "meanwhile")
    folded(first + later)


async def test_bookmarks_never_run_ahead_of_the_events(
    bare: Cluster, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "BOOKMARK_SECONDS", 0.0)
    events = await wire.watch(f"{PATH}?watch=true&allowWatchBookmarks=true&timeoutSeconds=1")
    seen = [await anext(events)]
    for number in range(200):
        await put(bare, f"m{number}")
        await asyncio.sleep(0)
    async for event in events:
        seen.append(event)
        if brief(event) == ("ADDED", "m199"):
            break
    kinds = [event["type"] for event in seen]
    assert kinds.count("ADDED") == 200
    assert "BOOKMARK" in kinds
    revisions = [revision(event) for event in seen]
    assert revisions == sorted(revisions)
    folded(seen)


async def test_a_bookmark_tells_the_newest_revision_of_all(
    bare: Cluster, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "BOOKMARK_SECONDS", 0.01)
    events = await wire.watch(f"{PATH}?watch=true&allowWatchBookmarks=true")
    await bare.client.create(NAMESPACES, "", {"metadata": {"name": "elsewhere"}})
    newest = bare.store.revision
    async with asyncio.timeout(10):
        while True:
            event = await anext(events)
            assert event["type"] == "BOOKMARK"
            assert event["object"]["kind"] == "ConfigMap"
            if revision(event) == newest:
                break


async def test_who_asked_for_no_bookmarks_gets_none(bare: Cluster, wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "BOOKMARK_SECONDS", 0.0)
    query = "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=1"
    await put(bare, "a")
    assert [brief(event) for event in await everything(await wire.watch(f"{PATH}?{query}"))] == [("ADDED", "a")]


async def test_initial_events_can_be_declined(bare: Cluster, wire: Wire) -> None:
    await put(bare, "a")
    query = "watch=true&sendInitialEvents=false&resourceVersionMatch=NotOlderThan"
    events = await wire.watch(f"{PATH}?{query}")
    await put(bare, "b")
    assert brief(await anext(events)) == ("ADDED", "b")


# ends


async def test_timeout_seconds_ends_the_stream_and_leaves_the_connection_usable(bare: Cluster, wire: Wire) -> None:
    await put(bare, "a")
    events = await everything(await wire.watch(f"{PATH}?watch=true&timeoutSeconds=1&allowWatchBookmarks=true"))
    assert brief(events[0]) == ("ADDED", "a")
    assert events[-1]["type"] == "BOOKMARK"
    assert (await wire("GET", "/healthz")).body == b"ok"
    assert bare.hub.count() == 0


async def test_nothing_is_written_after_the_end_of_a_stream(bare: Cluster) -> None:
    """The reader is slow, so that the end waits for it; what happens meanwhile is not for this stream any more."""
    async with connected(bare.port, room=4096) as wire:
        events = await wire.watch(f"{PATH}?watch=true&timeoutSeconds=1")
        for number in range(60):
            await put(bare, f"m{number}", 60_000)
        for number in range(150):  # well past the end
            await put(bare, f"late{number}", 10)
            await asyncio.sleep(0.01)
        seen = [brief(event)[1] async for event in events]
        assert seen[:60] == [f"m{number}" for number in range(60)]
        assert seen[60:] == [f"late{number}" for number in range(len(seen) - 60)]
        assert len(seen) < 210
        assert (await wire("GET", "/healthz")).body == b"ok"


async def test_a_client_that_goes_away_is_forgotten(bare: Cluster) -> None:
    async with connected(bare.port) as one, connected(bare.port) as two:
        await one.watch(f"{PATH}?watch=true")
        await two.watch(f"{PATH}?watch=true", Accept=TABLE)
        await eventually(lambda: bare.hub.count() == 2, "2 open watches")
        one.abort()
        two.abort()
        await eventually(lambda: bare.hub.count() == 0, "0 open watches")
    assert not bare.hub.watching(("", "configmaps"))


@pytest.mark.parametrize("reading", [True, False], ids=["live", "catching up"])
async def test_who_does_not_read_is_cut_off_and_the_others_are_not(reading: bool) -> None:
    limits = Limits(max_watch_backlog_bytes=1 << 20)
    async with (
        Cluster(port=0, nodes=0, controllers="none", limits=limits) as cluster,
        connected(cluster.port) as wire,
    ):
        await one_reader_of_two_is_cut_off(cluster, wire, reading)


async def one_reader_of_two_is_cut_off(bare: Cluster, wire: Wire, reading: bool) -> None:
    if not reading:
        for number in range(100):
            await put(bare, f"before{number}", 60_000)
    start = bare.store.revision
    async with connected(bare.port, room=4096) as lazy:
        await lazy.ask("GET", f"{PATH}?watch=true")
        await eventually(lambda: bare.hub.count() == 1, "1 open watches")
        await asyncio.sleep(0.02)
        events = await wire.watch(f"{PATH}?watch=true&resourceVersion={start}")
        for number in range(100):
            await put(bare, f"m{number}", 60_000)
            assert brief(await anext(events)) == ("ADDED", f"m{number}")
        await eventually(lambda: bare.hub.count() == 1, "1 open watches")
        await put(bare, "after")
        assert brief(await anext(events)) == ("ADDED", "after")
        await lazy.begin()
        with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
            async for _ in lazy.events():
                pass


async def test_stopping_ends_streams_at_once_even_those_that_are_not_read(
    bare: Cluster, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(100):
        await put(bare, f"m{number}", 60_000)
    async with connected(bare.port, room=4096) as lazy:
        await lazy.ask("GET", f"{PATH}?watch=true")
        events = await wire.watch(f"{PATH}?watch=true&resourceVersion={bare.store.revision}")
        await eventually(lambda: bare.hub.count() == 2, "2 open watches")
        async with asyncio.timeout(1.0):
            await bare.stop()
        assert await everything(events) == []
    assert bare.hub.count() == 0


# too old


async def test_a_start_before_the_kept_history_is_told_so_in_the_stream(bare: Cluster, wire: Wire) -> None:
    await put(bare, "a")
    middle = await put(bare, "b")
    last = await put(bare, "c")
    bare.store.compact(middle)
    for path in (f"{PATH}?watch=true", "/api/v1/pods?watch=1", "/api/v1/watch/pods?x=y"):
        answer = await wire("GET", f"{path}&resourceVersion={middle - 1}")
        assert answer.status == 200
        event = answer.json()
        status = event["object"]
        assert (event["type"], status["code"], status["reason"]) == ("ERROR", 410, "Expired")
        assert status["message"] == f"too old resource version: {middle - 1} ({middle})"
    events = await wire.watch(f"{PATH}?watch=true&resourceVersion={middle}")
    assert [brief(event) for event in await take(events, 1)] == [("ADDED", "c")]
    assert last == bare.store.revision


async def test_a_list_of_a_forgotten_revision_is_gone(bare: Cluster, wire: Wire) -> None:
    first = await put(bare, "a")
    second = await put(bare, "a", 5)
    exact = await wire("GET", f"{PATH}?resourceVersion={first}&resourceVersionMatch=Exact")
    assert exact.json()["items"][0]["metadata"]["resourceVersion"] == str(first)
    assert exact.json()["metadata"]["resourceVersion"] == str(first)
    bare.store.compact(second)
    gone = await wire("GET", f"{PATH}?resourceVersion={first}&resourceVersionMatch=Exact")
    assert (gone.status, gone.json()["reason"]) == (410, "Expired")
    newer = await wire("GET", f"{PATH}?resourceVersion={first}&resourceVersionMatch=NotOlderThan")
    assert newer.json()["items"][0]["metadata"]["resourceVersion"] == str(second)


# selections and forms


async def test_objects_come_into_a_selection_and_leave_it(bare: Cluster, wire: Wire) -> None:
    events = await wire.watch(f"{PATH}?watch=true&labelSelector=app%20in%20(x,z),!gone")
    await put(bare, "a", app="y")
    await put(bare, "a", app="x")
    await put(bare, "a", app="z")
    left = await put(bare, "a", app="z", gone="")
    await put(bare, "a", app="x")
    await drop(bare, "a")
    seen = await take(events, 5)
    assert [event["type"] for event in seen] == ["ADDED", "MODIFIED", "DELETED", "ADDED", "DELETED"]
    assert revision(seen[2]) == left
    assert seen[2]["object"]["metadata"]["labels"] == {"app": "z"}  # its last state inside the selection
    assert revision(seen[4]) == bare.store.revision


async def test_transitions_are_the_same_when_told_of_the_past(bare: Cluster, wire: Wire) -> None:
    start = bare.store.revision
    await put(bare, "a", app="x")
    await put(bare, "a", app="y")
    await put(bare, "b", app="y")
    await put(bare, "a", app="x")
    events = await wire.watch(f"{PATH}?watch=true&labelSelector=app=x&resourceVersion={start}")
    assert [event["type"] for event in await take(events, 3)] == ["ADDED", "DELETED", "ADDED"]


async def test_pods_of_a_node(bare: Cluster, wire: Wire) -> None:
    events = await wire.watch("/api/v1/pods?watch=true&fieldSelector=spec.nodeName=n1")
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    target = {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n1"}}
    await bare.client.create(PODS, "default", pod)
    await bare.client.create(PODS, "default", target, subresource="binding", name="p")
    assert brief(await anext(events)) == ("ADDED", "p")


@pytest.mark.parametrize(
    "path", ["/api/v1/watch/namespaces/default/configmaps/a", f"{PATH}?watch=1&fieldSelector=metadata.name%3Da"]
)
async def test_one_object_is_watched_by_name(bare: Cluster, wire: Wire, path: str) -> None:
    await put(bare, "a")
    await put(bare, "b")
    events = await wire.watch(path)
    await put(bare, "b", 3)
    await drop(bare, "a")
    assert [brief(event) for event in await take(events, 2)] == [("ADDED", "a"), ("DELETED", "a")]


@pytest.mark.parametrize(
    "path", ["/api/v1/watch/configmaps", "/api/v1/watch/namespaces/default/configmaps", "/api/v1/configmaps?watch"]
)
async def test_old_watch_paths(bare: Cluster, wire: Wire, path: str) -> None:
    await put(bare, "a")
    assert brief(await anext(await wire.watch(path))) == ("ADDED", "a")


async def test_a_table_has_columns_in_the_first_event_only(bare: Cluster) -> None:
    async with connected(bare.port) as early, connected(bare.port) as late, connected(bare.port) as plain:
        before = await early.watch(f"{PATH}?watch=true", Accept=TABLE)
        await put(bare, "a", 5)
        await put(bare, "b")
        after = await late.watch(f"{PATH}?watch=true", Accept=TABLE)
        objects = await plain.watch(f"{PATH}?watch=true&resourceVersion={bare.store.revision}")
        await put(bare, "c")
        for events in (before, after):
            tables = [event["object"] for event in await take(events, 3)]
            assert [table["kind"] for table in tables] == ["Table"] * 3
            assert [bool(table.get("columnDefinitions")) for table in tables] == [True, False, False]
            assert [table["rows"][0]["object"]["metadata"]["name"] for table in tables] == ["a", "b", "c"]
            assert tables[0]["rows"][0]["cells"][:2] == ["a", 1]
        assert (await anext(objects))["object"]["data"] == {"text": ""}


async def test_metadata_alone_can_be_watched(bare: Cluster, wire: Wire) -> None:
    events = await wire.watch(f"{PATH}?watch=true", Accept=METADATA)
    await put(bare, "a", 5)
    obj = (await anext(events))["object"]
    assert (obj["kind"], obj["apiVersion"], set(obj)) == (
        "PartialObjectMetadata",
        "meta.k8s.io/v1",
        {"kind", "apiVersion", "metadata"},
    )


async def test_events_keep_no_encoded_forms(bare: Cluster) -> None:
    """History is bounded in bytes; what was encoded for watchers of the moment must not be kept with it."""
    async with connected(bare.port) as one, connected(bare.port) as two:
        first = await one.watch(f"{PATH}?watch=true", Accept=TABLE)
        second = await two.watch(f"{PATH}?watch=true")
        await put(bare, "a", 1_000)
        await anext(first)
        await anext(second)
    event = bare.store.events_since(("", "configmaps"), bare.store.revision - 1)[-1]
    kept = [getattr(event, slot) for slot in event.__slots__ if isinstance(getattr(event, slot), bytes | dict | list)]
    assert not any(kept)


async def test_a_stream_over_http_1_0_needs_no_chunks(bare: Cluster, wire: Wire) -> None:
    await put(bare, "a")
    await wire.send(f"GET {PATH}?watch=true&timeoutSeconds=1 HTTP/1.0\r\n\r\n".encode())
    answer = await wire.begin()
    assert (answer.status, answer.header("transfer-encoding")) == (200, "")
    await put(bare, "b")
    lines = (await wire.rest()).splitlines()
    assert [line.startswith(b'{"type":"ADDED"') for line in lines] == [True, True]


class Held:
    """An open stream about Widgets, as far as its end goes."""

    storage = ("example.com", "widgets")
    ended = False

    def end(self) -> None:
        self.ended = True

    close = end


@pytest.mark.parametrize("gone", [False, True], ids=["changed", "gone"])
async def test_watches_of_a_type_outlive_it_a_little_but_not_its_change(
    monkeypatch: pytest.MonkeyPatch, gone: bool
) -> None:
    monkeypatch.setattr(streaming, "GONE_SECONDS", 0.0)
    streams, held, later = streaming.Streams(), Held(), Held()
    streams.add(held)
    streams.end_of(Held.storage, gone)
    assert held.ended is not gone, "who hears of a type's end at the same time is not to ask for it again"
    streams.add(later)
    await eventually(lambda: held.ended, "it ends")
    assert not later.ended, "of the next type of that name"

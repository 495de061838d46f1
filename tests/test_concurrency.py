"""50 writers and 50 watchers at once: every watcher sees every change of its selection once, in order.

What happened is known from the answers to the writes alone; a list or initial state has to be what was then.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager, suppress
from typing import Any

import aiohttp
import pytest

from tests.support.crowd import GROUPS, NAMESPACES, NODES, SHARED, Watcher, Writer, pods
from tests.support.servers import Server
from tests.support.truth import Selection, Truth

SECONDS = 12.0
WRITERS = 50
WATCHERS = 50
PATIENCE = 30.0
"""Seconds for the watchers to catch up when the writing has ended."""

AFTERMATH = 0.3
"""Seconds in which nothing more may come."""


def selections() -> list[tuple[str, dict[str, str], Selection]]:
    """(path, query, what it selects), one a watcher: everything, by namespace, label, node, name, and combined."""
    everywhere = "/api/v1/pods"
    chosen: list[tuple[str, dict[str, str], Selection]] = []
    for number in range(WATCHERS // 5):
        namespace, group, node = NAMESPACES[number % len(NAMESPACES)], GROUPS[number], NODES[number]
        name, two = f"shared-{number % SHARED}", {group, GROUPS[number - 1]}
        chosen += [
            (everywhere, {}, lambda state: True)
            if number % 2
            else (everywhere, {"labelSelector": f"group notin ({group})"}, lambda s, g=group: s.labels["group"] != g),
            (pods(namespace), {}, lambda s, n=namespace: s.key[0] == n),
            (everywhere, {"labelSelector": f"group in ({','.join(two)})"}, lambda s, t=two: s.labels["group"] in t),
            (everywhere, {"fieldSelector": f"spec.nodeName={node}"}, lambda s, n=node: s.node == n),
            (pods(namespace), {"fieldSelector": f"metadata.name={name}"}, lambda s, k=(namespace, name): s.key == k),
        ]
    return chosen


async def join(watcher: Watcher, number: int, begin: int, seconds: float) -> None:
    """Every other one is there from the start, the others come while it is busy, in one of three ways."""
    if number % 2 == 0:
        await watcher.watch_from(begin)
    await asyncio.sleep(random.Random(number).uniform(0.05, 0.6) * seconds)
    ways: list[Callable[[], Coroutine[Any, Any, None]]] = [
        watcher.list_and_watch,
        watcher.watch_with_initial_events,
        lambda: watcher.watch_from(begin),
    ]
    await ways[number // 2 % 3]()


@pytest.fixture
def server(start_server: Callable[..., AbstractContextManager[Server]]):
    with start_server("--controllers", "none", "--nodes", "0") as server:
        yield server


async def test_every_watcher_sees_every_change_once_and_in_order(server: Server) -> None:
    truth = Truth()
    connector = aiohttp.TCPConnector(limit=0)
    timeout = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(server.url, connector=connector, timeout=timeout) as session:
        begin = await make_namespaces(session)
        watchers = [Watcher(path, query, selection, session) for path, query, selection in selections()]
        writers = [Writer(number, session, truth) for number in range(WRITERS)]
        watching = [
            asyncio.create_task(join(watcher, number, begin, SECONDS)) for number, watcher in enumerate(watchers)
        ]
        try:
            deadline = asyncio.get_running_loop().time() + SECONDS
            await asyncio.gather(*(writer.write_until(deadline) for writer in writers))
            await caught_up(watchers, truth, watching)
        finally:
            for task in watching:
                task.cancel()
            await asyncio.gather(*watching, return_exceptions=True)
    check(watchers, truth, begin)
    assert all(writer.effective > 5 for writer in writers)
    assert sum(writer.refused for writer in writers) > WRITERS


async def make_namespaces(session: aiohttp.ClientSession) -> int:
    """Answers the revision at which it all begins."""
    for name in NAMESPACES:
        async with session.post("/api/v1/namespaces", json={"metadata": {"name": name}}) as answer:
            assert answer.status == 201, await answer.text()
            begin = int((await answer.json())["metadata"]["resourceVersion"])
    return begin


async def caught_up(watchers: list[Watcher], truth: Truth, watching: list[asyncio.Task[None]]) -> None:
    """Wait until each has seen as much as it has to, and a little for what it must not see."""
    with suppress(TimeoutError):  # `check` then says what is missing
        async with asyncio.timeout(PATIENCE):
            for watcher in watchers:
                await watcher.has_seen(sum(1 for _ in truth.events(watcher.start, watcher.selection)))
    await asyncio.sleep(AFTERMATH)
    for task in watching:
        assert not task.done(), task.result()


def check(watchers: list[Watcher], truth: Truth, begin: int) -> None:
    revisions = truth.revisions()
    assert revisions == list(range(begin + 1, begin + 1 + len(revisions))), "a revision that no answer accounts for"
    for watcher in watchers:
        if watcher.initial is not None:
            assert watcher.initial == truth.at(watcher.start, watcher.selection), f"{watcher} began with another state"
        wanted = list(truth.events(watcher.start, watcher.selection))
        first = next(
            (n for n, (one, other) in enumerate(zip(wanted, watcher.seen, strict=False)) if one != other), None
        )
        assert first is None, f"{watcher}: event {first} should be {wanted[first]}, was {watcher.seen[first]}"
        assert len(watcher.seen) == len(wanted), f"{watcher} saw {len(watcher.seen)} events of {len(wanted)}"


def pod(name: str, revision: int, group: str) -> dict[str, Any]:
    metadata = {"namespace": "n", "name": name, "labels": {"group": group}, "resourceVersion": str(revision)}
    return {"metadata": metadata, "spec": {}}


def small_truth() -> Truth:
    truth = Truth()
    truth.wrote(pod("a", 3, "red"))
    truth.wrote(pod("a", 2, "blue"))
    truth.removed(pod("a", 6, "blue"))
    truth.wrote(pod("a", 4, "blue"))
    truth.wrote(pod("a", 4, "blue"))
    return truth


def test_a_selection_turns_changes_into_additions_and_deletions() -> None:
    a = ("n", "a")
    blue = small_truth().events(1, lambda state: state.labels["group"] == "blue")
    assert [event[:2] for event in blue] == [
        ("ADDED", 2), ("DELETED", 3), ("ADDED", 4), ("MODIFIED", 5), ("DELETED", 6),
    ]  # fmt: skip
    assert small_truth().at(3, lambda state: True) == {a: 3}
    assert small_truth().at(6, lambda state: True) == {}


@pytest.mark.parametrize(
    "spoil",
    [
        lambda seen: seen.pop(1),
        lambda seen: seen.pop(),
        lambda seen: seen.insert(2, seen[1]),
        lambda seen: seen.append(seen[-1]),
        lambda seen: seen.reverse(),
        lambda seen: seen.__setitem__(1, ("ADDED", *seen[1][1:])),
    ],
    ids=["lost", "last lost", "doubled", "last doubled", "out of order", "wrong type"],
)
async def test_the_check_notices(spoil: Callable[[list[Any]], object]) -> None:
    truth = small_truth()
    async with aiohttp.ClientSession() as session:
        watcher = Watcher("/", {}, lambda state: True, session)
    watcher.start = 1
    watcher.seen = list(truth.events(1, watcher.selection))
    check([watcher], truth, 1)
    spoil(watcher.seen)
    with pytest.raises(AssertionError):
        check([watcher], truth, 1)

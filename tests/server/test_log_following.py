"""A log that is followed stays open while its run goes on, and no longer; and logs as answers of HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from kube32_sim.client import NODES, PODS
from kube32_sim.cluster import Cluster
from tests.support.objects import node, pod
from tests.support.waiting import eventually
from tests.support.wire import Wire, connected

PATH = "/api/v1/namespaces/default/pods/p"
RUNNING = {"running": {"startedAt": "2026-01-01T00:00:30Z"}}
ENDED = {"terminated": {"exitCode": 0, "startedAt": "2026-01-01T00:00:10Z", "finishedAt": "2026-01-01T00:00:20Z"}}

End = Callable[[Cluster], Coroutine[Any, Any, Any]]


async def tell(cluster: Cluster, state: dict[str, Any], restarts: int = 0) -> None:
    status = {"name": "c", "image": "i", "imageID": "", "ready": True, "restartCount": restarts, "state": state}
    await cluster.client.patch(PODS, "default", "p", {"status": {"containerStatuses": [status]}}, subresource="status")


async def run_pod(cluster: Cluster, text: str = "on\n") -> None:
    made = pod("p", spec={"nodeName": "n"}, annotations={"sim.kube32.io/log": text})
    await cluster.client.create(NODES, "", node("n"))
    await cluster.client.create(PODS, "default", made)
    await tell(cluster, RUNNING)


async def delete(cluster: Cluster) -> None:
    await cluster.client.delete(PODS, "default", "p", options={"gracePeriodSeconds": 0})


@pytest.mark.parametrize(
    "end",
    [lambda cluster: tell(cluster, ENDED), lambda cluster: tell(cluster, RUNNING, 1), delete, Cluster.stop],
    ids=["ended", "restarted", "deleted", "server stopped"],
)
async def test_it_ends_with_the_run(bare: Cluster, wire: Wire, end: End) -> None:
    await run_pod(bare)
    await wire.ask("GET", f"{PATH}/log?follow=true")
    assert (await wire.begin()).status == 200
    chunks = wire.chunks()
    assert await anext(chunks) == b"on\n"
    label = {"metadata": {"labels": {"a": "b"}}}
    await bare.client.patch(PODS, "default", "p", label)
    rest = asyncio.create_task(anext(chunks, None))
    async with connected(bare.port) as other:
        await other("GET", "/healthz")
    assert not rest.done(), "another change of the pod is no end"
    await end(bare)
    assert await rest is None


async def test_a_silent_log_can_be_followed(bare: Cluster, wire: Wire) -> None:
    await run_pod(bare, text="")
    await wire.ask("GET", f"{PATH}/log?follow=true")
    assert (await wire.begin()).status == 200
    await tell(bare, ENDED)
    assert [chunk async for chunk in wire.chunks()] == []


async def test_who_goes_away_leaves_nothing_behind(bare: Cluster) -> None:
    await run_pod(bare)
    before = bare.hub.count()
    async with connected(bare.port) as wire:
        await wire.ask("GET", f"{PATH}/log?follow=true")
        await wire.begin()
        assert bare.hub.count() == before + 1
    await eventually(lambda: bare.hub.count() == before, "nobody watches")


async def test_what_has_ended_is_answered_at_once(bare: Cluster, wire: Wire) -> None:
    await run_pod(bare)
    await tell(bare, ENDED)
    for query in ("follow=true", ""):
        answer = await wire("GET", f"{PATH}/log?{query}")
        assert (answer.status, answer.body) == (200, b"on\n")
        assert answer.header("content-type") == "text/plain; charset=utf-8"
    assert (await wire("GET", f"{PATH}/log?tailLines=0")).status == 200
    assert (await wire("GET", f"{PATH}/log?sinceTime=noon")).status == 400

"""Every answer says the cluster's time in its header Date: boards have no clock of their own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from email.utils import formatdate, parsedate_to_datetime

import pytest
import pytest_asyncio

from kube32_sim.clock import EPOCH, RealClock
from kube32_sim.cluster import Cluster
from tests.support.wire import connected

PODS = "/api/v1/namespaces/default/pods"
POD = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


@pytest_asyncio.fixture
async def later() -> AsyncIterator[Cluster]:
    """A virtual cluster 100,000 s after its start."""
    async with Cluster(nodes=0, clock="virtual") as cluster:
        await cluster.advance(100_000)
        yield cluster


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", PODS, None, 200),
        ("HEAD", "/healthz", None, 200),
        ("POST", PODS, POD, 201),
        ("POST", PODS, {"kind": "Service"}, 400),
        ("POST", PODS, {"metadata": {"name": "p"}}, 422),
        ("GET", f"{PODS}/none", None, 404),
        ("GET", "/nothing/here", None, 404),
        ("GET", "/apis/example.com/v1/things", None, 404),
        ("DELETE", "/version", None, 405),
        ("GET", f"{PODS}?resourceVersion=999999999", None, 504),
        ("PATCH", f"{PODS}/p", {}, 415),
        ("GET", f"{PODS}/none/log", None, 404),
        ("GET", "/healthz", None, 200),
        ("GET", "/readyz/nothing", None, 404),
        ("GET", "/metrics", None, 200),
        ("GET", "/openapi/v3", None, 200),
    ],
)
async def test_every_answer_says_the_clusters_time(
    later: Cluster, method: str, path: str, body: object, status: int
) -> None:
    async with connected(later.port) as wire:
        answer = await wire(method, path, body)
    assert answer.status == status
    assert answer.headers["date"] == [formatdate(EPOCH + 100_000, usegmt=True)]


@pytest.mark.parametrize("query", ["watch=true", "watch=true&resourceVersion=0", "watch=true&sendInitialEvents=oops"])
async def test_watches_do_too(later: Cluster, query: str) -> None:
    async with connected(later.port) as wire:
        await wire.ask("GET", f"{PODS}?{query}&timeoutSeconds=1")
        begun = await wire.begin()
    assert begun.headers["date"] == [formatdate(EPOCH + 100_000, usegmt=True)]


async def test_what_is_no_http_is_answered_with_the_time(later: Cluster) -> None:
    async with connected(later.port) as wire:
        await wire.send(b"HELLO\r\n\r\n")
        answer = await wire.answer()
    assert (answer.status, answer.header("date")) == (400, formatdate(EPOCH + 100_000, usegmt=True))


async def test_the_date_moves_with_the_clock(later: Cluster) -> None:
    async with connected(later.port) as wire:
        first = await wire("GET", "/livez")
        await later.advance("90s")
        second = await wire("GET", "/livez")
    moved = parsedate_to_datetime(second.header("date")) - parsedate_to_datetime(first.header("date"))
    assert moved.total_seconds() == 90


async def test_on_a_real_clock_it_is_the_time_of_the_machine(bare: Cluster) -> None:
    async with connected(bare.port) as wire:
        said = parsedate_to_datetime((await wire("GET", "/livez")).header("date")).timestamp()
    assert abs(RealClock().now() - said) < 30

"""Recorded answers of a real API server, played against a bare one of ours; `judging` says what is made of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from kube32_sim.cluster import Cluster
from kube32_sim.options import ServeOptions
from tests.conformance.judging import KNOWN_GAPS, all_cases, judge
from tests.conformance.player import Result, load_cases, play
from tests.support.servers import Server

CASES = load_cases()
SPECIAL = {identity for identity, case in CASES.items() if case.get("requires")}
ORDINARY = sorted(CASES.keys() - SPECIAL)
PLAYERS = 16
"""Cases played at once: most of their time is waiting."""

Outcome = Callable[[str], Result]


@pytest.fixture(scope="module")
def outcome(request: pytest.FixtureRequest, bare_server: Server) -> Iterator[Outcome]:
    """Plays the cases that this run of pytest asks for, many at once; answers the result of one."""
    chosen = [item.callspec.params["identity"] for item in request.session.items if hasattr(item, "callspec")
              and item.path == request.path]  # fmt: skip
    with ThreadPoolExecutor(PLAYERS) as players:
        results: dict[str, Future[Result]] = {
            identity: players.submit(play, CASES[identity], bare_server.url, bare_server.token) for identity in chosen
        }
        yield lambda identity: results[identity].result()
        players.shutdown(cancel_futures=True)


@pytest.mark.parametrize("identity", ORDINARY)
def test_case(identity: str, outcome: Outcome) -> None:
    judge(identity, CASES[identity], outcome(identity))


async def test_resource_versions_from_before_the_kept_history() -> None:
    """The case that needs a server which has forgotten its first events."""
    (identity,) = SPECIAL
    async with Cluster(ServeOptions(port=0, nodes=0, controllers="none")) as cluster:
        cluster.store.compact(cluster.store.revision)
        judge(identity, CASES[identity], await asyncio.to_thread(play, CASES[identity], cluster.url))


def test_known_gaps_are_cases_with_reasons() -> None:
    assert KNOWN_GAPS.keys() <= all_cases().keys()
    assert all(gap["steps"] and len(gap["reason"].split()) >= 3 for gap in KNOWN_GAPS.values())

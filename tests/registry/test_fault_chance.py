"""Which requests meet a fault: counted, drawn by chance from a seed, and told in a transcript."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kube32_sim.api.fault_scenarios import Request, read
from kube32_sim.clock import VirtualClock
from kube32_sim.registry.fault_scenarios import MOST_TOLD, Running
from tests.support.faults import rule

JsonObject = dict[str, Any]
REQUEST = Request("get", "", "pods", "default", "a", "me", "bob")


def running(*rules: JsonObject, seed: int = 0, clock: VirtualClock | None = None) -> Running:
    scenario, wrong = read({"seed": seed, "rules": list(rules)})
    assert not wrong
    return Running(scenario, clock or VirtualClock())


def hits(works: Running, many: int, request: Request = REQUEST) -> list[int]:
    """The numbers, from 1, of those requests that fail."""
    return [number for number in range(1, many + 1) if works.meet(request, "/p").failing is not None]


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"probability": 1}, [1, 2, 3, 4, 5, 6, 7, 8]),
        ({"probability": 0}, []),
        ({"every": 3}, [3, 6]),
        ({"every": 1, "times": 2}, [1, 2]),
        ({"times": 1}, [1]),
        ({"match": {"first": 3}}, [1, 2, 3]),
        ({"match": {"first": 5}, "every": 2}, [2, 4]),
    ],
)
def test_how_often(more: JsonObject, expected: list[int]) -> None:
    works = running({**rule(), **more})
    assert hits(works, 8) == expected
    counts = works.status()["rules"][0]
    assert counts["hit"] == len(expected)
    assert counts["matched"] == (more.get("match") or {}).get("first", 8)


def test_never_is_never_and_always_is_always() -> None:
    assert not hits(running(rule(probability=0)), 5000)
    assert len(hits(running(rule(probability=1)), 5000)) == 5000


def test_about_as_often_as_it_says() -> None:
    assert 2300 <= len(hits(running(rule(probability=0.25), seed=1), 10_000)) <= 2700


def test_the_seed_decides() -> None:
    flaky = rule(probability=0.5)
    assert hits(running(flaky, seed=3), 100) == hits(running(flaky, seed=3), 100)
    assert hits(running(flaky, seed=3), 100) != hits(running(flaky, seed=4), 100)


def test_rules_do_not_change_each_others_chance() -> None:
    flaky, late = rule(probability=0.5), rule("late", {"latency": "1s", "latencyMost": "2s"}, probability=0.3)
    assert hits(running(flaky), 100) == hits(running(late, flaky), 100)


def test_a_failure_ends_the_looking_and_delays_add_up() -> None:
    late, later = rule("late", {"latency": "1s"}), rule("later", {"latency": "2s", "when": "After"})
    works = running(late, later, rule("fails"), rule("never"))
    met = works.meet(REQUEST._replace(verb="create"), "/p")
    assert (met.before, met.after, met.rules) == (1.0, 2.0, ("late", "later", "fails"))
    assert [counts["matched"] for counts in works.status()["rules"]] == [1, 1, 1, 0]


async def test_times_are_the_cluster_s() -> None:
    clock = VirtualClock()
    works = running(rule(match={"from": "10s", "until": "20s"}), clock=clock)
    assert hits(works, 2) == []
    await clock.advance(15)
    assert hits(works, 2) == [1, 2]
    assert works.status()["transcript"][0]["time"] == "2026-01-01T00:00:15.000000Z"
    await clock.advance(5)
    assert hits(works, 2) == []


def test_the_transcript_is_bounded_and_counts_what_it_forgets() -> None:
    works = running(rule())
    for _ in range(MOST_TOLD + 5):
        works.meet(REQUEST, "/p" * 10_000)
    status = works.status()
    assert (len(status["transcript"]), status["forgotten"], status["requests"]) == (MOST_TOLD, 5, MOST_TOLD + 5)
    assert status["transcript"][0]["n"] == 6
    assert all(len(str(met)) < 1500 for met in status["transcript"])


REQUESTS = st.lists(
    st.builds(
        Request,
        st.sampled_from(["get", "list", "watch", "create", "update", "patch", "delete"]),
        st.sampled_from(["", "apps"]),
        st.sampled_from(["pods", "pods/status", "deployments"]),
        st.sampled_from(["default", "kube-system"]),
        st.sampled_from(["", "a", "b"]),
        st.sampled_from(["kubectl/v1", "kopf"]),
        st.just("bob"),
        st.booleans(),
    ),
    max_size=60,
)
RULES = [
    rule("late", {"latency": "1ms", "latencyMost": "9ms"}, probability=0.5),
    rule("lost", {"status": 500, "when": "After"}, {"resources": ["pods", "pods/*"]}, every=3),
    rule("conflicts", {"status": 409}, {"userAgents": ["kopf*"]}, probability=0.4, times=5),
    rule("cut", {"watch": {"afterEvents": 2}}, probability=0.7),
    rule("gone", {"status": 410}, probability=0.3),
]


@settings(max_examples=60, deadline=None)
@given(REQUESTS, st.integers(0, 2**31 - 1), st.permutations(RULES))
def test_the_same_requests_meet_the_same_faults(requests: list[Request], seed: int, rules: list[JsonObject]) -> None:
    first, second = running(*rules, seed=seed), running(*rules, seed=seed)
    assert [first.meet(one, "/p") for one in requests] == [second.meet(one, "/p") for one in requests]
    status = first.status()
    assert status == second.status()
    assert sum(counts["hit"] for counts in status["rules"]) == len(status["transcript"])
    assert all(counts["hit"] <= counts["matched"] for counts in status["rules"])

"""Where pods went, and how two runs are compared."""

from __future__ import annotations

from typing import Any

import pytest

from kube32_sim.recording.history import BOUND, EVICTED, GONE, WAITS, Placements, Step, compare, from_json


class Kept(Placements):
    """With all its steps."""

    def __init__(self, begin: float) -> None:
        super().__init__(begin)
        self.steps: list[Step] = []

    def changed(self, pod: dict[str, Any], now: float, *, gone: bool = False) -> Step | None:
        step = super().changed(pod, now, gone=gone)
        self.steps += [step] if step is not None else []
        return step


def pod(name: str, node: str = "", *, uid: str = "", owner: str = "", **status: Any) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name, "namespace": "default", "uid": uid or name}
    if owner:
        metadata["ownerReferences"] = [{"kind": "Deployment", "name": owner, "controller": True, "uid": "o"}]
    return {"metadata": metadata, "spec": {"nodeName": node} if node else {}, "status": status}


def unschedulable(message: str) -> dict[str, Any]:
    return {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}]}


def test_a_pod_gets_a_node_loses_it_gets_another_and_goes() -> None:
    placements = Kept(100.0)
    placements.changed(pod("web"), 100.0)
    placements.changed(pod("web", "one"), 101.0)
    placements.changed(pod("web", "one", phase="Running"), 102.0)
    placements.changed(pod("web", phase="Pending"), 430.0)
    placements.changed(pod("web", "two"), 431.5)
    placements.changed(pod("web", "two"), 500.0, gone=True)
    steps = [(step.after, step.what, step.node) for step in placements.steps]
    assert steps == [(1.0, BOUND, "one"), (330.0, EVICTED, ""), (331.5, BOUND, "two"), (400.0, GONE, "")]


def test_who_waits_says_why_once() -> None:
    placements = Kept(0.0)
    placements.changed(pod("web", **unschedulable("0/2 nodes")), 1.0)
    placements.changed(pod("web", **unschedulable("0/3 nodes")), 2.0)
    assert [(step.what, step.why) for step in placements.steps] == [(WAITS, "0/2 nodes")]


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_who_has_ended_is_gone_and_its_deletion_is_no_step(phase: str) -> None:
    placements = Kept(0.0)
    placements.changed(pod("once", "one"), 1.0)
    placements.changed(pod("once", "one", phase=phase), 2.0)
    placements.changed(pod("once", "one", phase=phase), 3.0, gone=True)
    assert [step.what for step in placements.steps] == [BOUND, GONE]


def test_pods_of_one_owner_are_numbered_in_the_order_in_which_they_came() -> None:
    placements = Kept(0.0)
    placements.there(pod("web-a", "one", owner="web"))
    placements.changed(pod("web-c", "one", owner="web"), 1.0)
    placements.changed(pod("web-b", "two", owner="web"), 2.0)
    assert [step.pod for step in placements.steps] == ["default/Deployment/web#2", "default/Deployment/web#3"]
    assert placements.name_of("default/Deployment/web#1") == "web-a"
    assert placements.name_of("default/Deployment/web#3") == "web-b"


def test_what_was_there_is_no_step() -> None:
    placements = Kept(0.0)
    placements.there(pod("web", "one"))
    placements.changed(pod("web", "one", phase="Running"), 1.0)
    assert placements.steps == []


def step(name: str, what: str, node: str = "", after: float = 1.0, why: str = "") -> Step:
    return Step(after, name, what, node, why=why)


def test_the_same_places_at_other_moments_are_the_same() -> None:
    before = [step("a", BOUND, "one"), step("b", WAITS), step("b", BOUND, "two", 5.0)]
    now = [step("b", BOUND, "two", 0.5), step("a", BOUND, "one", 7.0)]
    assert compare(before, now) == []


def test_the_first_step_that_differs_is_told_of_each_pod() -> None:
    before = [
        step("a", BOUND, "one"),
        step("a", EVICTED, after=2.0),
        step("b", BOUND, "one"),
        step("c", BOUND, "one", 3),
    ]
    now = [step("a", BOUND, "two"), step("b", WAITS, why="0/2 nodes are available"), step("d", BOUND, "one", 9.0)]
    told = [line for one in compare(before, now) for line in one.lines()]
    assert told == [
        "a: to one at +1.000s",
        "   now to two at +1.000s",
        "b: to one at +1.000s",
        "   now waits at +1.000s: 0/2 nodes are available",
        "c: no more: to one at +3.000s",
        "d: there was no such step before: to one at +9.000s",
    ]


def test_a_step_is_read_back() -> None:
    one = Step(1.5, "a", BOUND, "one", "default/a", "why")
    assert from_json(one.to_json()) == one
    with pytest.raises(ValueError, match="no step"):
        from_json({"after": "1", "pod": "a", "what": "Bound"})

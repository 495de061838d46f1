"""Thousands of pods that fit nowhere: they are tried again and again, and everybody else gets a turn all the while."""

import asyncio
from collections import Counter

from control_plane import control_plane
from kube32_controllers import scheduler
from kube32_controllers.scheduler import REFUSALS, STRIDE, unschedulable
from scheduling_objects import container, node, pod

from kube32_sim.client import EVENTS, NODES, PODS
from kube32_sim.clock import turn


class Turns:
    """Counts what the scheduler does between two turns of somebody else, who is always ready to run."""

    def __init__(self, plane, monkeypatch):
        self.done = {"decided": 0, "written": 0}
        self.most = {"decided": 0, "written": 0}
        self.all = {"decided": 0, "written": 0}
        decide = plane.scheduler.cache.decide
        monkeypatch.setattr(plane.scheduler.cache, "decide", lambda request: self._did("decided") or decide(request))
        plane.store.subscribe(lambda event: self._did("written"), [("", "pods"), ("", "events")])

    def _did(self, what):
        self.done[what] += 1
        self.all[what] += 1

    async def watch(self):
        while True:
            self.most = {what: max(most, self.done[what]) for what, most in self.most.items()}
            self.done = dict.fromkeys(self.done, 0)
            await turn()

    async def during(self, work):
        """What was done in all, and at most in one go, while that ran."""
        self.all = dict.fromkeys(self.all, 0)
        onlooker = asyncio.ensure_future(self.watch())
        await work
        onlooker.cancel()
        return self.all, self.most


async def crowd(plane, many, *, distinct=False, told=""):
    """Pods that wait.  distinct: whether each asks for something else.  told: why they wait, as far as they know."""
    status = {"conditions": [unschedulable(told, "2026-01-01T00:00:00Z", 1)]} if told else {}
    for number in range(many):
        asked = container({"memory": f"{1000 + (number if distinct else 0)}Ki"})
        made = pod(f"p{number}", containers=[{**asked, "image": "i"}], status=status)
        await plane.store.create(("", "pods"), f"default/p{number}", made)


async def add_node(plane, name, memory, **args):
    made = node(name, allocatable={"memory": memory}, capacity={"memory": memory}, **args)
    del made["metadata"]["uid"]
    await plane.client.create(NODES, "", made)


async def messages(plane):
    """How many pods say what of why they wait."""
    pods = (await plane.client.list(PODS, "default")).items
    return Counter(one["message"] for found in pods for one in found["status"].get("conditions", ()))


async def test_five_thousand_pods_that_fit_nowhere_leave_others_their_turn(monkeypatch):
    async with control_plane() as plane:
        await add_node(plane, "small", "100Ki")
        await crowd(plane, 5000, distinct=True)
        turns = Turns(plane, monkeypatch)
        plane.run(plane.scheduler, 1.0)
        done, most = await turns.during(plane.clock.advance(1.0))
        assert done["decided"] > 2 * 5000
        assert done["written"] >= 2 * 2 * REFUSALS
        assert most["decided"] <= 2 * STRIDE
        assert most["written"] <= STRIDE
        assert await messages(plane) == {"0/1 nodes are available: 1 Insufficient memory.": 2 * REFUSALS}


async def test_news_reach_all_pods_that_wait_a_part_at_a_time(monkeypatch):
    monkeypatch.setattr(scheduler, "REFUSALS", 50)
    async with control_plane() as plane:
        await crowd(plane, 160)
        plane.run(plane.scheduler, 1.0)
        await plane.clock.advance(10.5)
        await add_node(plane, "cordoned", "1Gi", unschedulable=True)
        told = "0/1 nodes are available: 1 node(s) were unschedulable."
        await plane.clock.advance(1.0)
        assert 50 <= (await messages(plane))[told] < 160  # those whose turn it is, and those that are due anyway
        await plane.clock.advance(3.0)
        assert (await messages(plane))[told] == 160


async def test_each_of_many_pods_is_told_again_though_no_object_changes(monkeypatch):
    monkeypatch.setattr(scheduler, "REFUSALS", 50)
    async with control_plane() as plane:
        await crowd(plane, 160, told="no nodes available to schedule pods")
        plane.run(plane.scheduler, 1.0)
        before = await messages(plane)
        await plane.clock.advance(3.0)
        assert await messages(plane) == before
        events = (await plane.client.list(EVENTS, "default")).items
        assert len(events) == len({event["involvedObject"]["name"] for event in events}) == 160


async def test_room_for_one_goes_to_the_oldest_of_those_that_wait_at_the_next_pass(monkeypatch):
    monkeypatch.setattr(scheduler, "REFUSALS", 50)
    async with control_plane() as plane:
        await crowd(plane, 160)
        plane.run(plane.scheduler, 1.0)
        await plane.clock.advance(12.0)
        await add_node(plane, "new", "1000Ki")
        await plane.clock.advance(1.0)
        bound = (await plane.client.list(PODS, "default", field_selector="spec.nodeName=new")).items
        assert [found["metadata"]["name"] for found in bound] == ["p0"]

"""Binding inside create, the Unschedulable condition, the retry loop.  Times are the virtual clock's."""

import pytest
from control_plane import control_plane
from kube32_controllers.pod_conditions import with_condition
from kube32_controllers.scheduler import (
    Scheduler,
    bind_actions,
    refuse_actions,
    retry_period,
    unschedulable,
)
from scheduling_objects import node, pod

from kube32_sim.client import EVENTS, NODES, PODS
from kube32_sim.runtime.actions import Create, Emit, Patch, Update

ROOM = {"memory": "100Ki", "esp32.io/gpio": "10"}
NOW = "2026-01-01T00:00:10Z"
TOO_BIG = "0/1 nodes are available: 1 Insufficient memory."


def new_pod(name, memory="10Ki", **spec):
    resources = {"requests": {"memory": memory}}
    return {
        "metadata": {"name": name},
        "spec": {"containers": [{"name": "c", "image": "i", "resources": resources}], **spec},
    }


def condition(obj, kind="PodScheduled"):
    return next((c for c in obj["status"].get("conditions", ()) if c["type"] == kind), None)


def scheduler_with(*nodes):
    scheduler = Scheduler()
    for revision, obj in enumerate(nodes, 1):
        scheduler.cache.put_node(obj, revision)
    return scheduler


# inside the create request


def test_create_binds_and_says_so():
    obj = pod("p", {"memory": "10Ki"})
    events = scheduler_with(node("a", allocatable=ROOM)).bind_on_create(obj, NOW)
    assert obj["spec"]["nodeName"] == "a"
    assert obj["status"] == {
        "phase": "Pending",
        "conditions": [{"type": "PodScheduled", "status": "True", "lastTransitionTime": NOW}],
    }
    about = {"kind": "Pod", "apiVersion": "v1", "namespace": "default", "name": "p", "uid": "uid-p"}
    assert events == [Emit(about, "Normal", "Scheduled", "Successfully assigned default/p to a", "default-scheduler")]


def test_create_of_what_fits_nowhere():
    obj = pod("p", {"memory": "1Mi"})
    (event,) = scheduler_with(node("a", allocatable=ROOM)).bind_on_create(obj, NOW)
    assert "nodeName" not in obj["spec"]
    assert condition(obj) == {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": TOO_BIG,
        "lastTransitionTime": NOW,
        "observedGeneration": 1,
    }
    assert (event.type, event.reason, event.message) == ("Warning", "FailedScheduling", TOO_BIG)


@pytest.mark.parametrize(
    "spec",
    [{"nodeName": "elsewhere"}, {"schedulingGates": [{"name": "wait"}]}, {"schedulerName": "my-scheduler"}],
)
def test_pods_that_skip_the_scheduler(spec):
    obj = pod("p", **spec)
    before = {**obj["spec"]}, {**obj["status"]}
    assert scheduler_with(node("a", allocatable=ROOM)).bind_on_create(obj, NOW) == []
    assert (obj["spec"], obj["status"]) == before


# what the retry loop decides


def test_condition_keeps_its_transition_time_until_it_flips():
    old = with_condition({}, unschedulable("one", "2026-01-01T00:00:00Z"))
    assert with_condition(old, unschedulable("two", NOW))["conditions"] == [
        unschedulable("two", "2026-01-01T00:00:00Z")
    ]
    flipped = {"type": "PodScheduled", "status": "True", "lastTransitionTime": NOW}
    assert with_condition(old, flipped)["conditions"] == [flipped]


def test_refusal_writes_the_condition_only_when_it_says_something_new():
    obj = pod("p", status={"conditions": [unschedulable("old", "2026-01-01T00:00:00Z")]})
    update, event = refuse_actions(obj, "new", NOW)
    assert isinstance(update, Update)
    assert update.subresource == "status"
    assert condition(update.obj) == unschedulable("new", "2026-01-01T00:00:00Z", 1)
    assert obj["status"]["conditions"][0]["message"] == "old"
    obj["status"]["conditions"] = [unschedulable("old", "2026-01-01T00:00:00Z", 1)]
    assert refuse_actions(obj, "old", NOW) == (
        Emit(event.about, "Warning", "FailedScheduling", "old", "default-scheduler"),
    )


def test_binding_goes_through_the_binding_subresource():
    (bind,) = bind_actions(pod("p"), "a")
    assert isinstance(bind, Create)
    assert (bind.resource, bind.namespace, bind.name, bind.subresource) == (PODS, "default", "p", "binding")
    assert bind.obj["target"] == {"apiVersion": "v1", "kind": "Node", "name": "a"}
    assert bind.obj["metadata"]["uid"] == "uid-p"
    assert bind.succeeded.message == "Successfully assigned default/p to a"


def test_binding_of_an_evicted_pod_clears_reason_and_message_first():
    obj = pod("p", status={"reason": "Evicted", "message": "why"})
    patch, bind = bind_actions(obj, "a")
    assert patch == Patch(PODS, "default", "p", {"status": {"reason": None, "message": None}}, "status")
    assert isinstance(bind, Create)


def test_hopeless_pods_are_tried_less_often_the_longer_and_the_more_they_are():
    assert retry_period(1, 1, 1.0) == 1.0
    assert retry_period(100, 1, 1.0) == 10.0
    assert retry_period(1, 5000, 1.0) == 50.0
    assert retry_period(100, 1, 30.0) == 30.0


def swept(scheduler):
    return [key for key in scheduler.sweep(None, 0.0) if key]


def test_sweep_takes_pods_in_the_order_of_their_creation_and_only_where_there_is_news():
    scheduler = scheduler_with(node("a", allocatable=ROOM))
    pods = [pod("z", {"memory": "1Mi"}, created="2026-01-01T00:00:00Z"), pod("a", {"memory": "1Mi"}, created=NOW)]
    for revision, obj in enumerate(reversed(pods), 10):
        obj["status"]["conditions"] = [unschedulable(TOO_BIG, NOW)]
        scheduler.cache.put_pod(obj, revision)
    assert swept(scheduler) == ["default/z", "default/a"]
    scheduler._tries = {("uid-z", 1): 1, ("uid-a", 1): 1}
    assert swept(scheduler) == []
    scheduler.cache.put_node(node("a", allocatable={**ROOM, "memory": "90Ki"}), 20)
    assert swept(scheduler) == []
    scheduler.cache.put_node(node("a", allocatable=ROOM, unschedulable=True), 21)
    assert swept(scheduler) == ["default/z", "default/a"]
    scheduler.cache.put_node(node("a", allocatable={"memory": "2Mi"}), 22)
    assert swept(scheduler) == ["default/z", "default/a"]
    asks_less = pod("a", {"memory": "1Ki"}, created=NOW)
    asks_less["metadata"]["generation"] = 2
    scheduler.cache.put_node(node("a", allocatable=ROOM), 23)
    assert swept(scheduler) == []
    scheduler.cache.put_pod(asks_less, 24)
    assert swept(scheduler) == ["default/a"]


def test_a_pass_tells_only_so_many_that_they_fit_nowhere_and_the_others_next(monkeypatch):
    monkeypatch.setattr("kube32_controllers.scheduler.REFUSALS", 4)
    scheduler = scheduler_with(node("a", allocatable=ROOM))
    for number in range(10):
        scheduler.cache.put_pod(pod(f"p{number}", {"memory": "1Mi"}), 10 + number)
    told = []
    for _ in range(3):
        keys = swept(scheduler)
        told += keys
        for key in keys:
            name = key.partition("/")[2]
            obj = pod(name, {"memory": "1Mi"}, status={"conditions": [unschedulable(TOO_BIG, NOW)]})
            scheduler.cache.put_pod(obj, 100 + len(told))
            scheduler._tries[f"uid-{name}", 1] = 1
    assert told == [f"default/p{number}" for number in range(10)]
    assert swept(scheduler) == []


# the whole


async def add_node(plane, name, **args):
    obj = node(name, allocatable=ROOM, capacity=ROOM, **args)
    status = obj.pop("status")
    del obj["metadata"]["uid"]
    created = await plane.client.create(NODES, "", obj)
    await plane.client.update(NODES, "", {**created, "status": status}, subresource="status")


async def failures(plane, name):
    selector = f"involvedObject.name={name},reason=FailedScheduling"
    found = await plane.client.list(EVENTS, "default", field_selector=selector)
    return [(event["message"], event["count"]) for event in found.items]


async def test_retry_binds_when_a_node_comes():
    async with control_plane() as plane:
        created = await plane.client.create(PODS, "default", new_pod("p"))
        assert condition(created)["message"] == "no nodes available to schedule pods"
        plane.run(plane.scheduler, 1.0)
        await plane.clock.advance(3.0)
        await add_node(plane, "a")
        await plane.clock.advance(1.0)
        bound = await plane.client.get(PODS, "default", "p")
        assert bound["spec"]["nodeName"] == "a"
        assert condition(bound)["status"] == "True"
        assert condition(bound)["lastTransitionTime"] == "2026-01-01T00:00:04Z"
        assert await failures(plane, "p") == [("no nodes available to schedule pods", 5)]


async def test_one_event_a_message_and_the_transition_time_stays():
    async with control_plane() as plane:
        await add_node(plane, "a")
        await plane.client.create(PODS, "default", new_pod("p", "1Mi"))
        plane.run(plane.scheduler, 1.0)
        await plane.clock.advance(5.5)
        assert await failures(plane, "p") == [(TOO_BIG, 7)]
        await add_node(plane, "b", ready=False)
        await plane.clock.advance(2.0)
        counted = dict(await failures(plane, "p"))
        assert counted[TOO_BIG] == 7
        assert counted["0/2 nodes are available: 1 Insufficient memory, 1 node(s) were not ready."] == 2
        waiting = await plane.client.get(PODS, "default", "p")
        assert condition(waiting)["message"].startswith("0/2")
        assert condition(waiting)["lastTransitionTime"] == "2026-01-01T00:00:00Z"


async def test_older_pods_come_first_when_room_appears():
    async with control_plane() as plane:
        await plane.client.create(PODS, "default", new_pod("z", "60Ki"))
        await plane.clock.advance(1.0)
        await plane.client.create(PODS, "default", new_pod("a", "60Ki"))
        plane.run(plane.scheduler, 1.0)
        await plane.clock.advance(1.0)
        await add_node(plane, "n")
        await plane.clock.advance(1.0)
        assert (await plane.client.get(PODS, "default", "z"))["spec"].get("nodeName") == "n"
        assert "nodeName" not in (await plane.client.get(PODS, "default", "a"))["spec"]


async def test_pods_created_at_once_do_not_overbook_a_node():
    async with control_plane() as plane:
        await add_node(plane, "a")
        for number in range(12):
            await plane.client.create(PODS, "default", new_pod(f"p{number}", "10Ki"))
        found = (await plane.client.list(PODS, "default", field_selector="spec.nodeName=a")).items
        assert len(found) == 10


async def test_dry_run_and_refused_creates_leave_nothing_behind():
    async with control_plane() as plane:
        await add_node(plane, "a")
        free = plane.scheduler.cache.table.nodes["a"].free
        obj = pod("p", {"memory": "10Ki"})
        plane.scheduler.bind_on_create(obj, NOW)
        assert plane.scheduler.cache.table.nodes["a"].free == free


async def test_an_idle_scheduler_writes_nothing():
    async with control_plane() as plane:
        await add_node(plane, "a")
        await plane.client.create(PODS, "default", new_pod("p"))
        plane.run(plane.scheduler, 1.0)
        await plane.clock.advance(2.0)
        before = plane.store.revision
        await plane.clock.advance(100.0)
        assert plane.store.revision == before

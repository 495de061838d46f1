"""The runner: when passes happen, which keys they look at, and what failures do to them."""

import logging
from contextlib import asynccontextmanager

import pytest

from kube32_sim.api import errors
from kube32_sim.api.builtin import builtin_table
from kube32_sim.client import PODS, Resource
from kube32_sim.clock import EPOCH, VirtualClock, turn
from kube32_sim.runtime.actions import Create, Delete, Emit, Patch, Plan, Update
from kube32_sim.runtime.apply import apply
from kube32_sim.runtime.loop import Agenda, Runner
from kube32_sim.runtime.view import StoreView
from kube32_sim.storage.interface import Unavailable
from kube32_sim.storage.memory import MemoryStore

MAPS = Resource("", "v1", "configmaps")
STORAGE = ("", "configmaps")


class Noted:
    """A client and recorder that notes what it is asked for; `fails` maps a verb to the error it answers."""

    def __init__(self):
        self.calls, self.fails = [], {}

    def _answer(self, verb, *args):
        self.calls.append((verb, *args))
        if verb in self.fails:
            raise self.fails[verb]
        return {"metadata": {"name": "made-up"}}

    async def create(self, resource, namespace, obj, *, subresource="", name=""):
        return self._answer("create", namespace, obj["metadata"].get("name"), subresource)

    async def update(self, resource, namespace, obj, *, subresource=""):
        return self._answer("update", namespace, obj["metadata"]["name"], subresource)

    async def patch(self, resource, namespace, name, patch, *, subresource="", kind="merge"):
        return self._answer("patch", namespace, name, patch)

    async def delete(self, resource, namespace, name, *, options=None):
        return self._answer("delete", namespace, name, options)

    def record(self, emit):
        self.calls.append(("event", emit.reason, emit.message))


class Looking:
    """A loop that notes (seconds since the start, key) and answers what `answer` says."""

    name = "looking"
    watches = (MAPS,)

    def __init__(self, answer=None):
        self.seen, self.answer = [], answer or (lambda key, now: Plan())

    def keys(self, resource, obj, view):
        return (f"{obj['metadata']['namespace']}/{obj['metadata']['name']}",)

    def plan(self, key, view, now):
        self.seen.append((round(now - EPOCH, 6), key))
        return self.answer(key, now)


class Stage:
    def __init__(self):
        self.clock = VirtualClock()
        self.store = MemoryStore(builtin_table(), self.clock)
        self.client = Noted()
        self.runners = []

    def run(self, loop, interval):
        runner = Runner(loop, StoreView(self.store), self.client, self.client, self.clock, interval)
        runner.start()
        self.runners.append(runner)

    async def put(self, name, **data):
        key, obj = f"d/{name}", {"metadata": {"name": name, "namespace": "d", "uid": name}, "data": data}
        if self.store.get(STORAGE, key) is None:
            await self.store.create(STORAGE, key, obj)
        else:
            await self.store.update(STORAGE, key, lambda _: obj)


@asynccontextmanager
async def stage():
    built = Stage()
    try:
        yield built
    finally:
        for runner in built.runners:
            await runner.stop()


async def test_first_pass_is_at_the_start_then_one_every_interval():
    async with stage() as on:
        await on.put("a")
        loop = Looking()
        on.run(loop, 1.0)
        await on.clock.settle()
        assert loop.seen == [(0.0, "d/a")]
        await on.clock.advance(0.3)
        await on.put("b")
        await on.clock.advance(0.6)
        assert len(loop.seen) == 1
        await on.clock.advance(5.0)
        assert loop.seen[1:] == [(1.0, "d/b")]
        await on.put("a", x="1")
        await on.put("a", x="2")
        await on.clock.advance(5.0)
        assert loop.seen[2:] == [(6.0, "d/a")]


async def test_no_pass_where_nothing_changed_and_nothing_is_due():
    async with stage() as on:
        on.run(Looking(), 1.0)
        await on.clock.settle()
        assert not on.clock._due


async def test_without_interval_a_change_is_looked_at_at_once():
    async with stage() as on:
        loop = Looking()
        on.run(loop, None)
        await on.clock.advance(0.3)
        await on.put("a")
        await on.clock.settle()
        assert loop.seen == [(0.3, "d/a")]


async def test_the_state_before_a_change_counts_too():
    class ByData(Looking):
        def keys(self, resource, obj, view):
            return (obj["data"]["belongs"],)

    async with stage() as on:
        await on.put("a", belongs="x")
        loop = ByData()
        on.run(loop, 1.0)
        await on.clock.settle()
        await on.put("a", belongs="between")
        await on.put("a", belongs="y")
        await on.clock.advance(1.0)
        assert [key for _, key in loop.seen] == ["x", "x", "between", "y"]


async def test_again_at_is_kept_to_the_interval_and_replaced_by_a_later_plan():
    wanted = {"d/a": EPOCH + 2.5}
    async with stage() as on:
        await on.put("a")
        loop = Looking(lambda key, now: Plan(again_at=wanted.pop(key, None)))
        on.run(loop, 1.0)
        await on.clock.advance(10.0)
        assert [when for when, _ in loop.seen] == [0.0, 3.0]
        wanted["d/a"] = EPOCH + 20
        await on.put("a", x="1")
        await on.clock.advance(1.0)
        await on.put("a", x="2")
        await on.clock.advance(30.0)
        assert [when for when, _ in loop.seen] == [0.0, 3.0, 11.0, 12.0]


async def test_a_loop_that_is_due_all_the_time_lets_time_go_on():
    async with stage() as on:
        await on.put("a")
        loop = Looking(lambda key, now: Plan(again_at=now))
        on.run(loop, None)
        await on.clock.advance(1.0)
        assert 2 < len(loop.seen) < 200


async def test_conflict_means_look_again():
    async with stage() as on:
        await on.put("a")
        obj = {"metadata": {"name": "a"}}
        on.client.fails["update"] = errors.conflict("", "configmaps", "a", errors.MODIFIED)
        loop = Looking(lambda key, now: Plan((Update(MAPS, "d", obj), Emit({}, "Normal", "Done", "", "x"))))
        on.run(loop, 1.0)
        await on.clock.settle()
        assert on.client.calls == [("update", "d", "a", "")]
        on.client.fails.clear()
        await on.clock.advance(5.0)
        assert [when for when, _ in loop.seen] == [0.0, 1.0]
        assert on.client.calls[-1] == ("event", "Done", "")


async def test_an_exception_is_logged_with_the_key_and_the_others_go_on(caplog):
    async with stage() as on:
        await on.put("a")
        await on.put("b")

        def answer(key, now):
            if key == "d/a":
                raise RuntimeError("broken")
            return Plan()

        loop = Looking(answer)
        on.run(loop, 1.0)
        await on.clock.settle()
        assert [key for _, key in loop.seen] == ["d/a", "d/b"]
        assert "looking: failed on d/a" in caplog.text
        assert "broken" in caplog.text


async def test_a_store_that_is_away_is_told_of_by_the_store_and_not_once_for_each_key(caplog):
    async with stage() as on:
        for name in "abc":
            await on.put(name)
        away = [True]

        def answer(key, now):
            if away:
                raise Unavailable("etcd is away")
            return Plan()

        loop = Looking(answer)
        on.run(loop, 1.0)
        await on.clock.settle()
        assert len(loop.seen) == 3
        assert caplog.messages == []
        away.clear()
        await on.clock.advance(10)
        assert len(loop.seen) > 3, "it is tried again"


async def test_a_key_that_fails_is_retried_ever_more_seldom_and_success_forgets_it():
    async with stage() as on:
        await on.put("a")
        failing = [True]

        def answer(key, now):
            if failing:
                raise errors.bad_request("no")
            return Plan()

        loop = Looking(answer)
        on.run(loop, None)
        await on.clock.advance(600.0)
        gaps = [later - earlier for (earlier, _), (later, _) in zip(loop.seen, loop.seen[1:], strict=False)]
        assert gaps[:4] == pytest.approx([0.01, 0.02, 0.04, 0.08])
        assert max(gaps) == pytest.approx(60.0)
        assert len(loop.seen) < 30
        failing.clear()
        await on.clock.advance(60.0)
        seen = len(loop.seen)
        await on.clock.advance(600.0)
        assert len(loop.seen) == seen


async def test_a_failure_to_tell_keys_is_logged_and_survived(caplog):
    class Confused(Looking):
        def keys(self, resource, obj, view):
            if obj["metadata"]["name"] == "a":
                raise ValueError("confused")
            return super().keys(resource, obj, view)

    async with stage() as on:
        await on.put("a")
        await on.put("b")
        loop = Confused()
        on.run(loop, 1.0)
        await on.clock.settle()
        assert loop.seen == [(0.0, "d/b")]
        assert "what a change of configmaps d/a concerns" in caplog.text


async def test_sweeping_loop_is_asked_at_each_pass_and_sees_its_own_effects():
    class Sweeping(Looking):
        def sweep(self, view, now):
            for key in ("x", None, "y"):
                yield key if key != "y" else f"after-{len(self.seen)}"

    async with stage() as on:
        loop = Sweeping()
        on.run(loop, 1.0)
        await on.clock.advance(5.0)
        assert loop.seen == [(0.0, "x"), (0.0, "after-1")]
        await on.put("a")
        await on.clock.advance(5.0)
        assert loop.seen[2:] == [(6.0, "x"), (6.0, "after-3")]


async def test_a_broken_sweep_is_logged_and_due_keys_still_run(caplog):
    class Broken(Looking):
        def sweep(self, view, now):
            if not self.seen:
                yield "x"
            raise RuntimeError("swept away")

    async with stage() as on:
        loop = Broken(lambda key, now: Plan(again_at=EPOCH + 3))
        on.run(loop, 1.0)
        await on.clock.advance(3.0)
        assert [when for when, _ in loop.seen] == [0.0, 3.0]
        assert "swept away" in caplog.text


async def test_long_passes_let_others_run():
    async with stage() as on:
        for number in range(100):
            await on.put(f"a{number:03}")
        loop, seen = Looking(), []

        async def other():
            for _ in range(8):
                seen.append(len(loop.seen))
                await turn()

        on.run(loop, 1.0)
        on.clock.spawn(other(), "other")
        await on.clock.settle()
        assert len(loop.seen) == 100
        assert any(0 < count < 100 for count in seen)


async def test_a_clock_that_is_set_back_does_not_stop_the_passes():
    async with stage() as on:
        loop = Looking()
        on.run(loop, 1.0)
        await on.clock.advance(1000.0)
        await on.put("a")
        await on.clock.advance(1.0)
        on.clock._now -= 900.0
        await on.put("b")
        await on.clock.advance(2.0)
        assert [key for _, key in loop.seen] == ["d/a", "d/b"]


@pytest.mark.parametrize("interval", [1.0, None])
@pytest.mark.parametrize(("due", "looked_at"), [(100.0, {"d/a", "d/b"}), (None, {"d/b"})])
async def test_what_is_due_or_has_changed_when_the_clock_is_set_back_is_looked_at_soon(due, looked_at, interval):
    async with stage() as on:
        loop = Looking(lambda key, now: Plan((), due and now + due))
        on.run(loop, interval)
        await on.clock.advance(1000.0)
        await on.put("a")
        await on.clock.advance(1.0)
        await on.put("b")
        on.clock._now -= 900.0
        before = len(loop.seen)
        await on.clock.advance(2.0)
        assert {key for _, key in loop.seen[before:]} == looked_at


def test_agenda_keeps_one_time_a_key_and_stays_small():
    agenda = Agenda()
    for when in range(10_000):
        agenda.set("a", float(when))
    agenda.set("b", 5.0)
    agenda.set("c", 5.0)
    agenda.drop("c")
    assert len(agenda._heap) < 200
    assert agenda.first() == 5.0
    assert list(agenda.take(10_000.0)) == ["b", "a"]
    assert agenda.first() is None


# apply


async def test_actions_happen_in_order():
    client = Noted()
    emit = Emit({}, "Normal", "R", "m", "c")
    actions = (emit, Create(PODS, "d", {"metadata": {"name": "p"}}), Patch(PODS, "d", "p", {"x": 1}), emit)
    assert await apply(actions, client, client) is False
    assert [call[0] for call in client.calls] == ["event", "create", "patch", "event"]


async def test_create_tells_how_it_went():
    client = Noted()
    create = Create(
        PODS,
        "d",
        {"metadata": {"generateName": "p-"}},
        succeeded=Emit({}, "Normal", "Made", "made {name}", "c"),
        refused=Emit({}, "Warning", "Refused", "not made: {error}", "c"),
    )
    await apply((create,), client, client)
    assert client.calls[-1] == ("event", "Made", "made made-up")
    client.fails["create"] = errors.bad_request("no room")
    with pytest.raises(errors.ApiError):
        await apply((create,), client, client)
    assert client.calls[-1] == ("event", "Refused", "not made: no room")


async def test_a_refused_create_keeps_only_others_of_its_type_from_being_made():
    client = Noted()
    client.fails["create"] = errors.bad_request("no room")
    pod, told = {"metadata": {"name": "p"}}, {"status": {"why": ["{error}"], "n": 1}}
    actions = (
        Create(PODS, "d", pod),
        Create(PODS, "d", pod),
        Create(MAPS, "d", pod),
        Delete(PODS, "d", "q", "uid"),
        Patch(PODS, "d", "q", {"status": {}}, "status", told),
        Patch(PODS, "d", "r", {"status": {}}, "status"),
        Emit({}, "Normal", "R", "m", "c"),
    )
    with pytest.raises(errors.ApiError, match="no room"):
        await apply(actions, client, client)
    assert [call[0] for call in client.calls] == ["create", "create", "delete", "patch", "patch", "event"]
    assert client.calls[3:5] == [
        ("patch", "d", "q", {"status": {"why": ["no room"], "n": 1}}),
        ("patch", "d", "r", {"status": {}}),
    ]
    assert told == {"status": {"why": ["{error}"], "n": 1}}


async def test_what_is_to_be_said_of_a_refusal_only_is_not_said_without_one():
    client = Noted()
    await apply((Patch(PODS, "d", "p", {}, "status", {"status": {"why": "{error}"}}),), client, client)
    assert client.calls == []


async def test_a_refused_patch_or_update_ends_the_plan():
    client = Noted()
    client.fails["patch"] = errors.bad_request("no")
    with pytest.raises(errors.ApiError):
        await apply((Patch(PODS, "d", "p", {"x": 1}), Delete(PODS, "d", "q", "uid")), client, client)
    assert [call[0] for call in client.calls] == ["patch"]


async def test_a_key_that_fails_is_looked_at_by_the_time_its_loop_asked_for():
    async with stage() as on:
        await on.put("a")
        on.client.fails["create"] = errors.bad_request("no")
        create = Create(PODS, "d", {"metadata": {"name": "p"}})
        loop = Looking(lambda key, now: Plan((create,), EPOCH + 500 if now < EPOCH + 500 else None))
        on.run(loop, None)
        await on.clock.advance(600.0)
        assert 500.0 in [when for when, _ in loop.seen]


async def test_what_is_there_or_gone_already_is_no_error():
    client = Noted()
    client.fails = {
        "create": errors.already_exists("", "pods", "p"),
        "delete": errors.not_found("", "pods", "p"),
    }
    assert await apply((Create(PODS, "d", {"metadata": {"name": "p"}}),), client, client) is True
    assert await apply((Delete(PODS, "d", "p", "uid"),), client, client) is False
    client.fails["delete"] = errors.conflict("", "pods", "p", "another uid")
    assert await apply((Delete(PODS, "d", "p", "uid"),), client, client) is True


async def test_delete_is_for_that_uid_only():
    client = Noted()
    await apply((Delete(PODS, "d", "p", "uid", 0, "Orphan"),), client, client)
    options = {"propagationPolicy": "Orphan", "preconditions": {"uid": "uid"}, "gracePeriodSeconds": 0}
    assert client.calls == [("delete", "d", "p", options)]


async def test_refusals_are_warnings_conflicts_are_not(caplog):
    caplog.set_level(logging.DEBUG)
    async with stage() as on:
        await on.put("a")
        on.client.fails["update"] = errors.conflict("", "configmaps", "a", errors.MODIFIED)
        on.run(Looking(lambda key, now: Plan((Update(MAPS, "d", {"metadata": {"name": "a"}}),))), 1.0)
        await on.clock.settle()
        assert [r.levelname for r in caplog.records if "looking" in r.message] == ["DEBUG"]
        on.client.fails["update"] = errors.bad_request("never")
        await on.clock.advance(1.0)
        assert [r.levelname for r in caplog.records if "looking" in r.message] == ["DEBUG", "WARNING"]

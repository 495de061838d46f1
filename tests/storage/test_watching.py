"""The watch hub: every member sees every change of its selection once, in order, however it came to watch."""

import random

import pytest

from kube32_sim.api import selectors
from kube32_sim.api.builtin import builtin_table
from kube32_sim.api.field_selectors import select_fields
from kube32_sim.clock import VirtualClock
from kube32_sim.registry.reading import select
from kube32_sim.storage.watching import Hub, Selection

PODS = ("", "pods")


class Plain:
    """Hands over (type, key, revision) as it is."""

    key = "plain"

    def encode(self, kind, stored):
        return kind, stored.key, stored.revision

    def join(self, frames):
        return list(frames)


class Rig:
    def __init__(self, make_store) -> None:
        self.clock = VirtualClock()
        self.table = builtin_table()
        self.store = make_store(self.clock)
        self.hub = Hub(self.store, self.clock.gauge)
        self.row = self.table.by_path("", "v1", "pods")

    def selection(self, namespace="", labels="", fields="") -> Selection:
        return select(self.row, namespace, selectors.parse_labels(labels), select_fields(fields, self.row))

    def watch(self, selection: Selection, seen: list, **more):
        return self.hub.join(PODS, selection, Plain(), seen.extend, more.pop("overflow", lambda: None), **more)

    async def put(self, namespace, name, node="", app="x"):
        obj = {
            "metadata": {"name": name, "namespace": namespace, "uid": f"{namespace}-{name}", "labels": {"app": app}},
            "spec": {"nodeName": node},
        }
        key = f"{namespace}/{name}"
        if self.store.get(PODS, key) is None:
            await self.store.create(PODS, key, obj)
        else:
            await self.store.update(PODS, key, lambda stored: obj)

    async def drop(self, namespace, name):
        if self.store.get(PODS, f"{namespace}/{name}") is not None:
            await self.store.delete(PODS, f"{namespace}/{name}", lambda stored: None)


@pytest.fixture
def rig(make_store) -> Rig:
    return Rig(make_store)


async def test_changes_of_one_turn_arrive_together_and_in_order(rig: Rig) -> None:
    batches: list = []
    member = rig.hub.join(PODS, rig.selection(), Plain(), batches.append, lambda: None)
    member.go_live()
    await rig.put("a", "one")
    await rig.put("a", "one", app="y")
    await rig.drop("a", "one")
    assert batches == []
    await rig.clock.gauge.at_rest()
    assert [[kind for kind, _, _ in batch] for batch in batches] == [["ADDED", "MODIFIED", "DELETED"]]


async def test_what_comes_while_catching_up_waits_and_is_not_told_twice(rig: Rig) -> None:
    seen: list = []
    await rig.put("a", "before")
    member = rig.watch(rig.selection(), seen)
    await rig.put("a", "during")
    await rig.clock.gauge.at_rest()
    assert seen == []
    member.go_live()
    await rig.put("a", "after")
    await rig.clock.gauge.at_rest()
    assert [key for _, key, _ in seen] == ["a/during", "a/after"]


async def test_a_change_of_the_same_turn_before_joining_is_not_told(rig: Rig) -> None:
    first: list = []
    second: list = []
    rig.watch(rig.selection(), first).go_live()
    await rig.put("a", "one")
    rig.watch(rig.selection(), second).go_live()  # the same group, whose frame of "one" is still pending
    await rig.put("a", "two")
    await rig.clock.gauge.at_rest()
    assert [key for _, key, _ in first] == ["a/one", "a/two"]
    assert [key for _, key, _ in second] == ["a/two"]


async def test_objects_that_come_into_or_leave_a_selection_are_added_or_deleted(rig: Rig) -> None:
    by_label: list = []
    by_node: list = []
    rig.watch(rig.selection(labels="app=x"), by_label).go_live()
    rig.watch(rig.selection(fields="spec.nodeName=n1"), by_node).go_live()
    await rig.put("a", "p", node="n1", app="x")
    await rig.put("a", "p", node="n2", app="y")
    left = rig.store.revision
    await rig.put("a", "p", node="n1", app="x")
    await rig.clock.gauge.at_rest()
    for seen in (by_label, by_node):
        assert [kind for kind, _, _ in seen] == ["ADDED", "DELETED", "ADDED"]
        assert seen[1][2] == left  # told at the revision at which it left


async def test_a_watcher_of_one_node_is_not_even_asked_about_others(rig: Rig, monkeypatch) -> None:
    asked = []
    matches = Selection.matches

    def counting(selection, stored):
        asked.append(selection.exact)
        return matches(selection, stored)

    for number in range(50):
        rig.watch(rig.selection(fields=f"spec.nodeName=n{number}"), []).go_live()
    monkeypatch.setattr(Selection, "matches", counting)
    await rig.put("a", "p", node="n7")
    assert set(asked) == {("spec.nodeName", "n7")}


async def test_a_member_that_never_catches_up_is_cut_once(rig: Rig) -> None:
    cuts: list = []
    rig.watch(rig.selection(), [], overflow=lambda: cuts.append(1), limit=3)
    for number in range(10):
        await rig.put("a", f"p{number}")
        await rig.clock.gauge.at_rest()
    assert cuts == [1]
    assert not rig.hub.watching(PODS)


async def test_nothing_is_left_behind_by_members_that_left(rig: Rig) -> None:
    members = [
        rig.watch(rig.selection(namespace=ns, fields=f), []) for ns in ("", "a") for f in ("", "metadata.name=p")
    ]
    assert rig.hub.count() == 4
    for member in members:
        member.stop()
        member.stop()
    assert rig.hub.count() == 0
    assert not rig.hub.watching(PODS)


@pytest.mark.parametrize("seed", range(10))
async def test_members_follow_random_histories_exactly(rig: Rig, seed: int) -> None:
    """Each member's fold of what it was told is at every rest what a list would say."""
    rng = random.Random(seed)
    asked = [
        ("", "", ""),
        ("a", "", ""),
        ("", "app=x", ""),
        ("", "", "spec.nodeName=n1"),
        ("a", "app!=y", "metadata.name=p1"),
    ]
    watchers: list = []
    for _ in range(150):
        if rng.random() < 0.1:
            selection = rig.selection(*rng.choice(asked))
            state = {s.key: s.revision for s in rig.store.list(PODS) if selection.matches(s)}
            seen: list = []
            member = rig.watch(selection, seen)
            member.go_live()
            watchers.append((selection, state, seen, member))
        namespace, name = rng.choice("ab"), f"p{rng.randrange(4)}"
        if rng.random() < 0.7:
            await rig.put(namespace, name, node=rng.choice(("", "n1", "n2")), app=rng.choice("xy"))
        else:
            await rig.drop(namespace, name)
        if rng.random() < 0.05 and watchers:
            watchers.pop(rng.randrange(len(watchers)))[3].stop()
    await rig.clock.gauge.at_rest()
    assert watchers
    for selection, state, seen, _ in watchers:
        revisions = [revision for _, _, revision in seen]
        assert revisions == sorted(set(revisions))
        for kind, key, revision in seen:
            if kind == "DELETED":
                del state[key]
            else:
                assert (key in state) == (kind == "MODIFIED")
                state[key] = revision
        assert state == {s.key: s.revision for s in rig.store.list(PODS) if selection.matches(s)}

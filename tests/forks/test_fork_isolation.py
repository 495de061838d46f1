"""A fork shares the past with its original and nothing else: writes on either side never show on the other."""

from __future__ import annotations

import asyncio
import gc
import random
import weakref
from contextlib import suppress
from typing import Any

import pytest

from kube32_sim.api.errors import ApiError
from kube32_sim.client import DEPLOYMENTS, EVENTS, NAMESPACES, NODES, PODS
from kube32_sim.clock import VirtualClock
from kube32_sim.cluster import Cluster
from kube32_sim.ids import Ids
from kube32_sim.storage.branching import branched
from tests.support.definitions import CRDS, custom, definition, object_schema, served, version
from tests.support.objects import MAPS, config_map, pod
from tests.support.scenario import template, workload

JsonObject = dict[str, Any]
OWN_PLACE = {("", "services"), ("", "endpoints"), ("discovery.k8s.io", "endpointslices")}


def contents(cluster: Cluster) -> dict[tuple[object, str], bytes]:
    """Every stored object, byte by byte."""
    store = cluster.store
    return {(storage, each.key): each.raw for storage in store.storages() for each in store.list(storage)}


async def churn(cluster: Cluster, chance: random.Random, steps: int, side: str) -> None:
    """Objects come, change and go; those that both sides have are changed on either."""
    client = cluster.client
    for step in range(steps):
        name = f"{chance.choice(('both', side))}-{chance.randrange(12)}"
        match chance.randrange(6):
            case 0 | 1:
                doing = client.create(MAPS, "default", config_map(name, side=side, step=str(step)))
            case 2:
                doing = client.patch(MAPS, "default", name, {"data": {"side": side, "step": str(step)}})
            case 3:
                doing = client.delete(MAPS, "default", name)
            case 4:
                doing = client.create(PODS, "default", pod(name))
            case _:
                doing = client.delete(PODS, "default", name)
        with suppress(ApiError):  # it is there already, or not there
            await doing
        if chance.random() < 0.2:
            await cluster.advance(chance.choice((0.5, 7, 31)))
    await cluster.settle()


@pytest.mark.parametrize("seed", range(4))
async def test_churn_on_both_sides_stays_on_its_side(seed: int) -> None:
    chance = random.Random(seed)
    async with Cluster(nodes=2, clock="virtual") as cluster:
        await churn(cluster, chance, 40, "both")
        async with cluster.fork() as fork:
            before = contents(cluster)
            await churn(fork, random.Random(seed + 100), 60, "fork")
            assert contents(cluster) == before
            there = contents(fork)
            await churn(cluster, random.Random(seed + 200), 60, "original")
            assert contents(fork) == there
            fork.store.check()  # type: ignore[attr-defined]
            cluster.store.check()  # type: ignore[attr-defined]


async def test_the_original_goes_on_as_if_nobody_had_forked_it() -> None:
    async def life(*, forked: bool) -> dict[tuple[object, str], bytes]:
        async with Cluster(nodes=2, clock="virtual", port=0) as cluster:
            await churn(cluster, random.Random(1), 30, "x")
            if forked:
                async with cluster.fork() as fork:
                    await churn(fork, random.Random(2), 30, "y")
            await churn(cluster, random.Random(3), 30, "z")
            return {place: raw for place, raw in contents(cluster).items() if place[0] not in OWN_PLACE}

    assert await life(forked=True) == await life(forked=False)


async def test_forks_of_one_moment_driven_alike_are_alike_whatever_the_original_does() -> None:
    async with Cluster(nodes=3, clock="virtual") as cluster:
        await churn(cluster, random.Random(5), 30, "both")
        async with cluster.fork("one") as one, cluster.fork("other") as other:
            found = []
            for fork in (one, other):
                await fork.client.create(DEPLOYMENTS, "default", workload("web", template("web"), replicas=3))
                await churn(fork, random.Random(6), 40, "fork")
                found.append({at: raw for at, raw in contents(fork).items() if at[0] not in OWN_PLACE})
                await churn(cluster, random.Random(7), 10, "original")
            assert found[0] == found[1]
            names = {key for (storage, key) in found[0] if storage == ("", "pods") and "web" in key}
            assert len(names) == 3


async def test_forks_of_different_moments_have_other_uids() -> None:
    async with Cluster(nodes=0, clock="virtual") as cluster:
        uids = set()
        for moment in range(3):
            async with cluster.fork() as fork:
                made = await fork.client.create(MAPS, "default", config_map("new"))
            uids.add(made["metadata"]["uid"])
            await cluster.client.create(MAPS, "default", config_map(f"moment-{moment}"))
        own = await cluster.client.create(MAPS, "default", config_map("new"))
        assert len(uids | {own["metadata"]["uid"]}) == 4


async def test_unseeded_forks_of_one_moment_are_alike_and_unlike_those_of_others() -> None:
    one, other = Ids(), Ids()
    assert one.branch("x").uid() == one.branch("x").uid() != one.branch("y").uid()
    assert one.branch("x").uid() != other.branch("x").uid()
    assert one.branch("x").branch("x").uid() == one.branch("x").branch("x").uid() != one.branch("x").uid()


async def test_the_past_is_shared_and_goes_on() -> None:
    """Revisions, history and watches that start before the fork."""
    async with Cluster(nodes=0, clock="virtual") as cluster:
        first = await cluster.client.create(MAPS, "default", config_map("before"))
        await cluster.client.patch(MAPS, "default", "before", {"data": {"now": "1"}})
        async with cluster.fork() as fork:
            since = first["metadata"]["resourceVersion"]
            made = await fork.client.create(MAPS, "default", config_map("after"))
            assert int(made["metadata"]["resourceVersion"]) > cluster.store.revision
            seen = []
            async with fork.client.watch(MAPS, "default", resource_version=since) as events:
                async for event in events:
                    seen.append((event.type, event.object["metadata"]["name"]))
                    if len(seen) == 2:
                        break
            assert seen == [("MODIFIED", "before"), ("ADDED", "after")]
            old = await fork.client.list(MAPS, "default", at=since)
            assert [each["metadata"]["name"] for each in old.items if "data" not in each] == ["before"]


async def test_watches_hear_of_their_own_side_only() -> None:
    async with Cluster(nodes=0, clock="virtual") as cluster, cluster.fork() as fork:
        heard: dict[str, list[str]] = {"original": [], "fork": []}

        async def listen(of: Cluster, side: str) -> None:
            revision = str(of.store.revision)
            async with of.client.watch(MAPS, "default", resource_version=revision) as events:
                async for event in events:
                    heard[side].append(event.object["metadata"]["name"])

        tasks = [cluster.clock.spawn(listen(cluster, "original"), "w"), fork.clock.spawn(listen(fork, "fork"), "w")]
        await cluster.settle()
        await fork.settle()
        await cluster.client.create(MAPS, "default", config_map("mine"))
        await fork.client.create(MAPS, "default", config_map("theirs"))
        await cluster.settle()
        await fork.settle()
        assert heard == {"original": ["mine"], "fork": ["theirs"]}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def test_custom_types_come_along_and_part(caplog: pytest.LogCaptureFixture) -> None:
    async with Cluster(nodes=0, clock="virtual") as cluster:
        things = served("things")
        made = version(schema=object_schema(spec=object_schema(size={"type": "integer"})))
        await cluster.client.create(CRDS, "", definition("things", "Thing", made))
        group = f"{things.group}/{things.version}"
        await cluster.client.create(things, "default", custom("one", "Thing", group, spec={"size": 1}))
        async with cluster.fork() as fork:
            there = await fork.client.get(things, "default", "one")
            assert there == await cluster.client.get(things, "default", "one")
            await fork.client.create(things, "default", custom("two", "Thing", group, spec={"size": 2}))
            await fork.client.delete(CRDS, "", f"things.{things.group}")
            with pytest.raises(ApiError):
                await fork.client.list(things, "default")
            assert [each["metadata"]["name"] for each in (await cluster.client.list(things, "default")).items] == [
                "one"
            ]
            fork.store.check()  # type: ignore[attr-defined]
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


async def test_nothing_that_was_under_way_in_the_original_leaks() -> None:
    """Events that its loops and boards had still to write are its own."""
    async with Cluster(nodes=2, clock="virtual") as cluster:
        await cluster.client.create(NAMESPACES, "", {"metadata": {"name": "busy"}})
        making = [cluster.client.create(PODS, "busy", pod(f"p{number}")) for number in range(20)]
        working = asyncio.gather(*making)
        async with cluster.fork() as fork:
            await working
            before = contents(fork)
            await cluster.advance("40s")
            assert contents(fork) == before
            events = {each["metadata"]["uid"] for each in (await fork.client.list(EVENTS, "busy")).items}
            assert events <= {each["metadata"]["uid"] for each in (await cluster.client.list(EVENTS, "busy")).items}


async def test_a_fork_that_has_ended_leaves_nothing() -> None:
    async with Cluster(nodes=3, clock="virtual") as cluster:
        await cluster.client.create(PODS, "default", pod("p"))
        await cluster.advance("30s")
        tasks = len(asyncio.all_tasks())
        listeners = cluster.store._listeners._all  # type: ignore[attr-defined]
        before = {place: len(each) for place, each in listeners.items()}
        async with cluster.fork() as fork:
            await fork.advance("60s")
            async with fork.fork() as deeper:
                await deeper.advance("5s")
            store = weakref.ref(fork.store)
        del fork, deeper
        await asyncio.sleep(0)
        gc.collect()
        assert store() is None
        assert len(asyncio.all_tasks()) == tasks
        assert {place: len(each) for place, each in listeners.items()} == before
        assert list(cluster.registry.own.page(_row(cluster), _everything()).items) == []


def _row(cluster: Cluster) -> Any:
    return cluster.registry.table.by_path("sim.kube32.io", "v1alpha1", "forks")


def _everything() -> Any:
    from kube32_sim.storage.watching import Selection

    return Selection()


async def test_a_branched_store_copies_containers_only() -> None:
    async with Cluster(nodes=1, clock="virtual") as cluster:
        await cluster.client.create(MAPS, "default", config_map("shared"))
        store = cluster.store
        branch = branched(store, cluster.registry.table, VirtualClock(store._clock.now()))  # type: ignore
        branch.check()
        place = MAPS.group, MAPS.plural
        assert branch.get(place, "default/shared") is store.get(place, "default/shared")
        assert branch.revision == store.revision
        await branch.delete(place, "default/shared", lambda _: None)
        assert store.get(place, "default/shared") is not None
        store.check()  # type: ignore[attr-defined]
        branch.check()


async def test_a_node_deleted_before_anything_runs_in_the_fork_stays_away() -> None:
    async with Cluster(nodes=2, clock="virtual") as cluster:
        await cluster.advance("20s")
        async with cluster.fork() as fork:
            await fork.client.delete(NODES, "", "esp32-0")
            await fork.advance("120s")
            assert [each["metadata"]["name"] for each in (await fork.client.list(NODES)).items] == ["esp32-1"]
        assert len((await cluster.client.list(NODES)).items) == 2

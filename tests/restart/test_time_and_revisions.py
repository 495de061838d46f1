"""Time and revisions go on: a virtual clock from where it was, resourceVersions from the last, watches from any one."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from kube32_sim.client import CLOCKS, LEASES, NAMESPACES, PODS
from kube32_sim.clock import EPOCH, parse_time
from kube32_sim.http_client import HttpClient
from tests.support.objects import MAPS, config_map, pod
from tests.support.restarting import Manner, Outliving, contents

JsonObject = dict[str, Any]
BARE: JsonObject = {"nodes": 0, "controllers": "none"}


@pytest.mark.parametrize("manner", ["stop", "crash"])
@pytest.mark.parametrize("over", ["library", "http"])
async def test_a_virtual_clock_goes_on_from_the_last_advance(tmp_path: Path, manner: Manner, over: str) -> None:
    """Though nothing happened in it."""
    async with Outliving(tmp_path, **BARE) as kept:
        for step in (1, 2):
            if over == "library":
                await kept.cluster.advance("1h1s")
            else:
                async with HttpClient(kept.cluster.access) as client:
                    obj = {"spec": {"duration": "1h1s"}}
                    await client.create(CLOCKS, "", obj, subresource="advance", name="cluster")
            cluster = await kept.restart(manner)
            assert cluster.clock.now() == EPOCH + step * 3601


async def test_a_condition_that_was_waited_for_has_its_time_too(tmp_path: Path) -> None:
    async with Outliving(tmp_path, **BARE) as kept:
        clock = kept.cluster.clock
        clock.call_at(EPOCH + 100, lambda: None)
        await kept.cluster.run_until(lambda: clock.now() >= EPOCH + 100, "200s")
        assert (await kept.restart()).clock.now() == EPOCH + 100


async def test_no_time_that_anything_tells_of_is_in_the_future(tmp_path: Path) -> None:
    """A crash in the middle of an advance: the clock stands no earlier than anything that is kept."""
    async with Outliving(tmp_path) as kept:
        cluster = kept.cluster
        await cluster.client.create(PODS, "default", pod("p", annotations={"sim.kube32.io/run-seconds": "7"}))
        for _ in range(100):  # as an advance does, but that it ends
            await cluster.clock.step(EPOCH + 600)
        stood = cluster.clock.now()
        await kept.restart("crash")
        now = kept.cluster.clock.now()
        assert EPOCH + 5 < now <= stood < EPOCH + 600
        ran = (await kept.cluster.client.get(PODS, "default", "p"))["status"]["startTime"]
        assert EPOCH <= parse_time(ran) <= now
        renewed = [each["spec"]["renewTime"] for each in (await kept.cluster.client.list(LEASES)).items]
        assert len(renewed) == 2
        assert all(EPOCH < parse_time(text) <= now for text in renewed)
        created = [each["metadata"]["creationTimestamp"] for each in (await kept.cluster.client.list(PODS)).items]
        assert all(parse_time(text) <= now for text in created)


@pytest.mark.parametrize("manner", ["stop", "crash"])
async def test_everything_is_back_to_the_byte(tmp_path: Path, manner: Manner) -> None:
    async with Outliving(tmp_path, **BARE) as kept:
        client = kept.cluster.client
        for number in range(20):
            await client.create(MAPS, "default", config_map(f"m{number}", text='ä\u2028"\\ \U0001f600', n=str(number)))
        for number in range(0, 20, 3):
            await client.patch(MAPS, "default", f"m{number}", {"data": {"n": "changed"}})
        await client.patch(MAPS, "default", "m1", {"metadata": {"finalizers": ["me.io/x"]}})
        for number in range(0, 20, 4):
            await client.delete(MAPS, "default", f"m{number}")
        await client.delete(MAPS, "default", "m1")
        before, revision = contents(kept.cluster), kept.cluster.store.revision
        cluster = await kept.restart(manner, port=kept.cluster.port)
        assert contents(cluster) == before
        assert cluster.store.revision == revision
        assert (await cluster.client.get(MAPS, "default", "m1"))["metadata"]["deletionTimestamp"]
        made = await cluster.client.create(MAPS, "default", config_map("new"))
        assert int(made["metadata"]["resourceVersion"]) > revision
        await cluster.client.patch(MAPS, "default", "m1", {"metadata": {"finalizers": None}})
        assert "default/m1" not in {key for _, _, key in contents(cluster)}
        cluster.store.check()  # type: ignore[attr-defined]


async def test_a_watch_goes_on_where_it_was(tmp_path: Path) -> None:
    async with Outliving(tmp_path, **BARE) as kept:
        async with HttpClient(kept.cluster.access) as client:
            start = (await client.list(MAPS, "default")).resource_version
            await client.create(MAPS, "default", config_map("a"))
            await client.create(NAMESPACES, "", {"metadata": {"name": "other"}})
            middle = (await client.create(MAPS, "default", config_map("b")))["metadata"]["resourceVersion"]
            await client.patch(MAPS, "default", "a", {"data": {"x": "y"}})
            await client.delete(MAPS, "default", "b")
        cluster = await kept.restart()
        async with HttpClient(cluster.access) as client:
            assert await told(client, start, 4) == [("ADDED", "a"), ("ADDED", "b"), ("MODIFIED", "a"), ("DELETED", "b")]
            assert await told(client, middle, 2) == [("MODIFIED", "a"), ("DELETED", "b")]
            newer = asyncio.get_running_loop().create_task(told(client, middle, 3))
            await client.create(MAPS, "default", config_map("c"))
            assert (await newer)[2] == ("ADDED", "c")


async def told(client: HttpClient, since: str, number: int) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    async with asyncio.timeout(20), client.watch(MAPS, "default", resource_version=since) as events:
        async for event in events:
            found.append((event.type, event.object["metadata"].get("name") or event.object["reason"]))
            if len(found) == number:
                break
    return found


async def test_a_watch_from_before_what_is_retained_is_told_so(tmp_path: Path) -> None:
    """As before the restart: history that had been forgotten does not come back."""
    async with Outliving(tmp_path, **BARE) as kept:
        client = kept.cluster.client
        start = (await client.list(MAPS, "default")).resource_version
        for name in "abc":
            await client.create(MAPS, "default", config_map(name))
        kept.cluster.store.compact(kept.cluster.store.revision)
        later = (await client.create(MAPS, "default", config_map("d")))["metadata"]["resourceVersion"]
        cluster = await kept.restart()
        async with HttpClient(cluster.access) as http:
            assert await told(http, start, 1) == [("ERROR", "Expired")]
            await http.create(MAPS, "default", config_map("e"))
            assert await told(http, later, 1) == [("ADDED", "e")]


async def test_a_page_token_of_before_goes_on(tmp_path: Path) -> None:
    """A list in pages that a restart interrupts ends as of the revision it began at, or is told that it cannot."""
    async with Outliving(tmp_path, **BARE) as kept:
        for number in range(10):
            await kept.cluster.client.create(MAPS, "default", config_map(f"m{number}"))
        first = await page(kept, "limit=4")
        await kept.cluster.client.delete(MAPS, "default", "m7")
        await kept.restart(port=kept.cluster.port)
        rest = await page(kept, f"limit=20&continue={first['metadata']['continue']}")
        assert rest["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
        found = [each["metadata"]["name"] for each in (*first["items"], *rest["items"])]
        assert [name for name in found if name.startswith("m")] == [f"m{number}" for number in range(10)]


async def page(kept: Outliving, query: str) -> JsonObject:
    async with HttpClient(kept.cluster.access) as client:
        answer: JsonObject = await client._call("GET", f"/api/v1/namespaces/default/configmaps?{query}")
        return answer

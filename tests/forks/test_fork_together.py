"""Forks together with what else the simulator does: causes, faults of the API, advances, many at once."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import orjson

from kube32_sim.api.errors import ApiError
from kube32_sim.client import CLOCKS, DEPLOYMENTS, FORKS, PODS, Resource
from kube32_sim.cluster import Cluster
from kube32_sim.http_client import HttpClient
from kube32_sim.kubeconfig import Access
from kube32_sim.registry.forks import MOST
from tests.support.faults import SCENARIOS, rule, scenario
from tests.support.scenario import template, workload
from tests.support.waiting import eventually
from tests.support.wire import connected

JsonObject = dict[str, Any]
EXPLANATIONS = Resource("sim.kube32.io", "v1alpha1", "explanations")


def access_of(cluster: Cluster, made: JsonObject) -> Access:
    return Access(made["status"]["server"], cluster.access.token, cluster.access.ca)


async def causes(cluster: Cluster, pod: str) -> list[tuple[str, str]]:
    answer = await cluster.client.create(EXPLANATIONS, "", {"spec": {"pod": {"name": pod}}})
    return [(cause["reason"], cause["source"]) for cause in answer["status"]["causes"]]


async def test_a_fork_knows_causes_from_before_it_and_the_original_none_of_the_forks() -> None:
    async with Cluster(nodes=2, clock="virtual") as cluster:
        await cluster.client.create(DEPLOYMENTS, "default", workload("web", template("web"), replicas=1))
        await cluster.advance("10s")
        name = (await cluster.client.list(PODS, "default")).items[0]["metadata"]["name"]
        before, since = await causes(cluster, name), len(cluster.journal)
        assert [reason for reason, _ in before] == ["Created", "ScaledUp", "Scheduled"]
        async with cluster.fork() as fork:
            assert await causes(fork, name) == before
            await fork.client.delete(PODS, "default", name)
            await fork.advance("10s")
            made = (await fork.client.list(PODS, "default")).items[0]["metadata"]["name"]
            assert (await causes(fork, made))[:2] == [("Deleted", "Recorded"), ("Missing", "Recorded")]
            async with fork.fork() as again:
                assert await causes(again, made) == await causes(fork, made)
        assert len(cluster.journal) == since


async def test_a_fork_begins_without_faults_of_the_api_whatever_became_of_their_file(tmp_path: Path) -> None:
    file = tmp_path / "faults.json"
    file.write_bytes(orjson.dumps(scenario(rule(effect={"status": 503}))))
    async with Cluster(nodes=0, clock="virtual", faults=file) as cluster, cluster.fork() as fork:
        file.unlink()
        async with connected(cluster.port) as wire, connected(fork.port) as there:
            assert (await wire("GET", "/api/v1/nodes")).status == 503
            assert (await there("GET", "/api/v1/nodes")).status == 200
            assert (await there("GET", SCENARIOS)).json()["items"] == []


async def test_a_fork_that_ends_tells_who_waits_for_its_clock() -> None:
    async with Cluster(nodes=2, clock="virtual") as cluster, HttpClient(cluster.access) as client:
        made = await client.create(FORKS, "", {"metadata": {"name": "one"}})
        async with HttpClient(access_of(cluster, made)) as there:
            advance = {"spec": {"duration": "8760h"}}
            work = asyncio.create_task(there.create(CLOCKS, "", advance, name="cluster", subresource="advance"))
            branch = cluster._forking._forks.branch("one")
            clock = (await branch.wake()).clock
            await eventually(lambda: clock.now() > branch.moment, "the clock of the fork moves")
            await client.delete(FORKS, "", "one")
            (told,) = await asyncio.gather(work, return_exceptions=True)
            assert isinstance(told, ApiError)
            assert "the server is stopping; the clock stands at" in told.message


class Sleeper:
    """A cluster whose start never comes to an end."""

    async def start(self) -> None:
        await asyncio.Event().wait()

    async def stop(self) -> None:
        return


async def test_who_wakes_a_fork_that_ends_is_told_so() -> None:
    async with Cluster(nodes=0, clock="virtual") as cluster:
        made = await cluster.client.create(FORKS, "", {"metadata": {"name": "one"}})
        branch = cluster._forking._forks.branch("one")
        branch._cluster = Sleeper()  # type: ignore[assignment]
        async with HttpClient(access_of(cluster, made)) as there:
            asked = asyncio.create_task(there.list(PODS))
            await eventually(lambda: branch._waking is not None, "the request has woken it")
            await cluster.client.delete(FORKS, "", "one")
            for waits in (asked, branch.wake()):
                (told,) = await asyncio.gather(waits, return_exceptions=True)
                assert isinstance(told, ApiError)
                assert (told.code, told.message) == (503, "the fork is ending")
        assert cluster._forking.room.left == MOST


async def test_generated_names_of_forks_that_are_made_at_once_are_their_own() -> None:
    async with Cluster(nodes=0, clock="virtual") as cluster, HttpClient(cluster.access) as client:
        wanted = {"metadata": {"generateName": "f-"}}
        made = await asyncio.gather(*(client.create(FORKS, "", wanted) for _ in range(8)))
        assert sorted(one["metadata"]["name"] for one in made) == [f"f-{number}" for number in range(1, 9)]

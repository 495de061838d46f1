"""Boards after a restart: what ran runs on, what was stopping stops, what was finished is not run again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kube32_sim.client import EVENTS, LEASES, NODES, PODS, SERVICES, Client
from kube32_sim.clock import RealClock, parse_time
from kube32_sim.cluster import Cluster
from kube32_sim.http_client import HttpClient
from kube32_sim.ids import Ids
from kube32_sim.kubelet.process import Boards
from tests.support.objects import pod, service
from tests.support.restarting import Manner, Outliving
from tests.support.waiting import eventually

JsonObject = dict[str, Any]
FAULT = "sim.kube32.io/fault"


async def status_of(client: Client, name: str) -> JsonObject:
    found: JsonObject = (await client.get(PODS, "default", name))["status"]
    return found


async def names(cluster: Cluster) -> set[str]:
    return {each["metadata"]["name"] for each in (await cluster.client.list(PODS, "default")).items}


@pytest.mark.parametrize("manner", ["stop", "crash"])
async def test_what_runs_runs_on_as_if_nothing_had_been(tmp_path: Path, manner: Manner) -> None:
    async with Outliving(tmp_path) as kept:
        client = kept.cluster.client
        crashes = {"sim.kube32.io/run-seconds": "3", "sim.kube32.io/exit-code": "1"}
        await client.create(PODS, "default", pod("steady"))
        await client.create(PODS, "default", pod("restarts", annotations=crashes))
        short = {"sim.kube32.io/run-seconds": "5"}
        await client.create(PODS, "default", pod("done", annotations=short, spec={"restartPolicy": "Never"}))
        await client.create(SERVICES, "default", service("web", {"app": "web"}))
        await kept.cluster.advance("30s")
        before = {name: await status_of(client, name) for name in ("steady", "restarts", "done")}
        assert before["restarts"]["containerStatuses"][0]["restartCount"] > 0
        assert before["done"]["phase"] == "Succeeded"

        cluster = await kept.restart(manner)
        assert {name: await status_of(cluster.client, name) for name in before} == before
        await cluster.advance("1s")
        assert await status_of(cluster.client, "steady") == before["steady"]
        assert await status_of(cluster.client, "done") == before["done"]
        nodes = (await cluster.client.list(NODES)).items
        assert {
            ready["status"] for node in nodes for ready in node["status"]["conditions"] if ready["type"] == "Ready"
        } == {"True"}
        reasons = {event["reason"] for event in (await cluster.client.list(EVENTS, "default")).items}
        assert not {"NodeNotReady", "Evicted", "Failed"} & reasons


@pytest.mark.parametrize(("ran", "down"), [("20s", 0), ("20s", 25)])
async def test_run_seconds_count_from_the_start_of_the_container(tmp_path: Path, ran: str, down: int) -> None:
    """down: boards that are away for seconds, too, come back to a pod whose time was over meanwhile."""
    async with Outliving(tmp_path) as kept:
        wanted = pod("job", annotations={"sim.kube32.io/run-seconds": "40"}, spec={"restartPolicy": "Never"})
        await kept.cluster.client.create(PODS, "default", wanted)
        await kept.cluster.advance(ran)
        started = (await status_of(kept.cluster.client, "job"))["containerStatuses"][0]["state"]["running"]["startedAt"]
        if down:
            await (await kept.restart("stop", nodes=0)).advance(down)
        cluster = await kept.restart("crash", nodes=2)
        await cluster.settle()
        left = 20 - down
        if left > 0:
            await cluster.advance(left - 1)
            assert (await status_of(cluster.client, "job"))["phase"] == "Running"
            await cluster.advance("2s")
        (ended,) = (await status_of(cluster.client, "job"))["containerStatuses"]
        assert ended["restartCount"] == 0
        terminated = ended["state"]["terminated"]
        assert terminated["startedAt"] == started
        assert parse_time(terminated["finishedAt"]) - parse_time(started) >= 40


async def test_pods_that_were_being_deleted_end_in_their_time(tmp_path: Path) -> None:
    """A preStop hook goes on from when it began; past its time the pod is gone at once; neither starts anew."""
    async with Outliving(tmp_path) as kept:
        client = kept.cluster.client
        sleeps = {"lifecycle": {"preStop": {"sleep": {"seconds": 20}}}}
        for name in ("early", "late"):
            spec = {"containers": [{"name": "c", "image": "i", **sleeps}]}
            await client.create(PODS, "default", pod(name, spec=spec))
        await kept.cluster.advance("10s")
        await client.delete(PODS, "default", "late")
        await kept.cluster.advance("15s")
        await client.delete(PODS, "default", "early")
        cluster = await kept.restart()
        assert await names(cluster) == {"early", "late"}
        await cluster.advance("6s")
        assert await names(cluster) == {"early"}
        await cluster.advance("15s")
        assert await names(cluster) == set()

        await cluster.client.create(PODS, "default", pod("past", spec=spec))
        await cluster.advance("5s")
        await cluster.client.delete(PODS, "default", "past")
        cluster = await kept.restart(nodes=0)
        await cluster.advance("5s")  # no board to end it
        assert await names(cluster) == {"past"}
        cluster = await kept.restart(nodes=2)
        await cluster.advance("14s")
        assert await names(cluster) == {"past"}
        await cluster.advance("2s")
        assert await names(cluster) == set()


async def test_pods_that_no_board_had_seen_yet_are_started_or_go(tmp_path: Path) -> None:
    async with Outliving(tmp_path) as kept:
        client = kept.cluster.client
        for name in ("new", "unwanted"):
            assert (await client.create(PODS, "default", pod(name)))["spec"]["nodeName"]
        await client.delete(PODS, "default", "unwanted")
        cluster = await kept.restart()
        await cluster.advance("2s")
        assert await names(cluster) == {"new"}
        assert (await status_of(cluster.client, "new"))["phase"] == "Running"


async def test_leases_are_renewed_again(tmp_path: Path) -> None:
    async with Outliving(tmp_path) as kept:
        await kept.cluster.advance("60s")
        before = {each["metadata"]["name"]: each for each in (await kept.cluster.client.list(LEASES)).items}
        cluster = await kept.restart()
        await cluster.advance("60s")
        after = {each["metadata"]["name"]: each for each in (await cluster.client.list(LEASES)).items}
        for name, lease in before.items():
            assert after[name]["metadata"]["uid"] == lease["metadata"]["uid"]
            ago = parse_time(after[name]["spec"]["renewTime"]) - parse_time(lease["spec"]["renewTime"])
            assert ago >= 55


async def test_fewer_boards_than_before(tmp_path: Path) -> None:
    """The one that is away is lost by the rules, and what ran on it moves; when it comes back it is as good as ever."""
    async with Outliving(tmp_path) as kept:
        client = kept.cluster.client
        for name in ("a", "b"):
            await client.create(PODS, "default", pod(name))
        await kept.cluster.advance("10s")
        homes = {name: (await client.get(PODS, "default", name))["spec"]["nodeName"] for name in ("a", "b")}
        assert set(homes.values()) == {"esp32-0", "esp32-1"}
        (moving,) = (name for name, home in homes.items() if home == "esp32-1")
        cluster = await kept.restart(nodes=1)
        await cluster.advance("14s")
        assert await ready(cluster, "esp32-1") == "True"
        await cluster.advance("2s")
        assert await ready(cluster, "esp32-1") == "Unknown"
        await cluster.advance("330s")
        moved = await cluster.client.get(PODS, "default", moving)
        assert (moved["spec"]["nodeName"], moved["status"]["phase"]) == ("esp32-0", "Running")
        cluster = await kept.restart(nodes=2)
        await cluster.advance("1s")
        assert await ready(cluster, "esp32-1") == "True"
        assert not (await cluster.client.get(NODES, "", "esp32-1"))["spec"].get("taints")


async def ready(cluster: Cluster, name: str) -> str:
    node = await cluster.client.get(NODES, "", name)
    status: str = next(each["status"] for each in node["status"]["conditions"] if each["type"] == "Ready")
    return status


@pytest.mark.parametrize("fault", ["stopped", "partitioned"])
async def test_a_board_with_a_fault_stays_silent(tmp_path: Path, fault: str) -> None:
    async with Outliving(tmp_path) as kept:
        client = kept.cluster.client
        await client.patch(NODES, "", "esp32-1", {"metadata": {"annotations": {FAULT: fault}}})
        await kept.cluster.advance("60s")
        before = await client.get(NODES, "", "esp32-1")
        assert await ready(kept.cluster, "esp32-1") == "Unknown"
        cluster = await kept.restart()
        await cluster.advance("60s")
        assert await cluster.client.get(NODES, "", "esp32-1") == before
        await cluster.client.patch(NODES, "", "esp32-1", {"metadata": {"annotations": {FAULT: None}}})
        await cluster.advance("1s")
        assert await ready(cluster, "esp32-1") == "True"


async def test_boards_of_another_process_go_on_when_that_is_started_anew() -> None:
    """They speak HTTP, to a server that runs on."""
    async with Cluster(nodes=0, port=0) as cluster, HttpClient(cluster.access) as http:

        async def boards() -> Boards:
            made = Boards(lambda _: http, RealClock(), Ids(), [("mine", "esp32-s3")])
            await made.start()
            return made

        first = await boards()
        await cluster.client.create(PODS, "default", pod("runs"))
        await cluster.client.create(PODS, "default", pod("goes"))
        await eventually(lambda: phases(cluster) == {"runs": "Running", "goes": "Running"}, "both run")
        before = await status_of(cluster.client, "runs")
        await first.stop()
        await cluster.client.delete(PODS, "default", "goes")
        second = await boards()
        try:
            await eventually(lambda: phases(cluster) == {"runs": "Running"}, "the other is gone")
            assert await status_of(cluster.client, "runs") == before
        finally:
            await second.stop()


def phases(cluster: Cluster) -> dict[str, str]:
    return {each.name: each.object()["status"]["phase"] for each in cluster.store.list(("", "pods"))}

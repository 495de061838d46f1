"""A replay comes to the same as what was recorded, however requests were sent; where it does not, it says why."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import orjson
import pytest

from kube32_sim import cli
from kube32_sim.api import protobuf
from kube32_sim.client import NODES, PODS
from kube32_sim.cluster import Cluster
from kube32_sim.recording.history import GONE, compare
from kube32_sim.replaying import files
from kube32_sim.replaying.playing import options_of, play
from kube32_sim.snapshot.files import content
from tests.replaying.test_record_and_replay import (
    DEPLOYMENTS,
    FAULT,
    MAPS,
    Client,
    deployment,
    recorded,
    replayed,
    story,
    written,
)
from tests.support.objects import config_map, pod, pod_spec

PROTOBUF = "application/vnd.kubernetes.protobuf"
ENDS = {"name": "ends", "annotations": {"sim.kube32.io/run-seconds": "3"}}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "recording.jsonl"


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_rollouts_go_as_before_though_pods_are_told_apart_by_name_only(seed: int, path: Path) -> None:
    """Which of several pods that are alike goes first is a matter of their generated names."""
    async with Cluster(nodes=3, clock="virtual", seed=seed) as cluster, recorded(cluster, path) as client:
        await client.create(DEPLOYMENTS, "default", deployment("web", 5))
        await cluster.advance("10s")
        for image in ("web:2", "web:3"):
            containers = [{"name": "c", "image": image}]
            await client.patch(
                DEPLOYMENTS, "default", "web", {"spec": {"template": {"spec": {"containers": containers}}}}
            )
            await cluster.advance("20s")
        await client.patch(DEPLOYMENTS, "default", "web", {"spec": {"replicas": 2}})
        await cluster.advance("40s")
    recording, played = await replayed(path)
    assert played.refused == []
    assert compare(recording.steps, played.steps) == []
    assert [step.name for step in played.steps] == [step.name for step in recording.steps]


async def test_a_json_patch_that_names_a_state_is_played_without_it(path: Path) -> None:
    """As kubectl makes them when a configuration becomes a server-side one."""
    async with Cluster(nodes=1, clock="virtual") as cluster, recorded(cluster, path) as client:
        await client.create(MAPS, "default", config_map("one"))
        for _ in range(3):
            await client.create(MAPS, "default", {"metadata": {"generateName": "other-"}})
        one = await client.get(MAPS, "default", "one")
        steps = [
            {"op": "test", "path": "/metadata/uid", "value": one["metadata"]["uid"]},
            {"op": "replace", "path": "/metadata/resourceVersion", "value": one["metadata"]["resourceVersion"]},
            {"op": "add", "path": "/data", "value": {"a": "b"}},
        ]
        where = "/api/v1/namespaces/default/configmaps/one"
        await client.ask("PATCH", where, body=steps, media="application/json-patch+json")
    recording = files.read(str(path))
    recording.state.lines, recording.state.sources = [], []  # so that revisions are others
    seen: list[Any] = []
    played = await play(recording, options_of(recording), look=lambda cluster: seen.append(_map(cluster)))
    assert played.refused == []
    assert seen == [{"a": "b"}]


def _map(cluster: Cluster) -> Any:
    stored = cluster.store.get(("", "configmaps"), "default/one")
    return stored.object().get("data") if stored is not None else None


async def test_bodies_in_protobuf_that_are_no_objects_are_recorded(path: Path) -> None:
    """What is posted to a subresource, and the options of a delete, as clients written in Go send them."""
    account, pods = "/api/v1/namespaces/default/serviceaccounts/default/token", "/api/v1/namespaces/default/pods"
    async with Cluster(nodes=1, clock="virtual") as cluster:
        for name in ("one", "two"):
            await cluster.client.create(PODS, "default", pod(name))
        await cluster.advance("5s")
        async with recorded(cluster, path) as client:
            await _send(client, "DELETE", f"{pods}/one", ("v1", "DeleteOptions", {"gracePeriodSeconds": 7}))
            eviction = {"metadata": {"name": "two"}}
            await _send(client, "POST", f"{pods}/two/eviction", ("policy/v1", "Eviction", eviction))
            wanted = {"spec": {"audiences": ["me"], "expirationSeconds": 700}}
            await _send(client, "POST", account, ("authentication.k8s.io/v1", "TokenRequest", wanted))
            await cluster.advance("60s")
    recording, played = await replayed(path)
    options, evicted, token = [entry.body for entry in recording.entries]
    assert (token["kind"], token["spec"]["expirationSeconds"]) == ("TokenRequest", 700)
    assert options["gracePeriodSeconds"] == 7
    assert (evicted["kind"], evicted["metadata"]["name"]) == ("Eviction", "two")
    assert played.refused == []
    assert compare(recording.steps, played.steps) == []


async def _send(client: Client, method: str, where: str, what: tuple[str, str, dict[str, Any]]) -> None:
    body = protobuf.encode(*what)
    url = f"{client._base}{where}"
    sent = await client._session.request(method, url, data=body, headers={"Content-Type": PROTOBUF})
    assert sent.status < 300, await sent.text()


# why


async def command(arguments: list[str]) -> int:
    return await asyncio.to_thread(cli.run, arguments)


async def test_steps_of_a_replay_say_why(path: Path) -> None:
    async with Cluster(nodes=2, clock="virtual") as cluster, recorded(cluster, path) as client:
        await client.create(PODS, "default", pod("first"))
        await client.create(PODS, "default", {"metadata": ENDS, "spec": pod_spec(restartPolicy="Never")})
        await client.create(DEPLOYMENTS, "default", deployment("web", 1))
        await cluster.advance("10s")
        await client.patch(DEPLOYMENTS, "default", "web", {"spec": {"replicas": 0}})
        await cluster.advance("40s")
    _, played = await replayed(path)
    why = {(step.pod, step.what): step.why for step in played.steps}
    assert why["default/first", "Bound"].startswith("score ")
    assert "esp32-1" in why["default/first", "Bound"]
    assert why["default/ends", GONE] == "its phase is Succeeded"
    assert why["default/Deployment/web#1", GONE] == "Deployment web wants 0 pods and has 1"


async def test_a_difference_says_why_the_pod_goes_there_now(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with Cluster(nodes=2, clock="virtual") as cluster, recorded(cluster, path) as client:
        await story(cluster, client)
    lines = content(str(path)).splitlines()
    moved = [line.replace(b'"node":"esp32-1"', b'"node":"esp32-7"') for line in lines]
    written(path, b"\n".join(moved))
    assert await command(["replay", str(path)]) == 1
    told = capsys.readouterr().out
    assert "now to esp32-1 at +1.000s: score " in told
    assert await command(["replay", str(path), "-o", "json"]) == 1
    status = orjson.loads(capsys.readouterr().out)["status"]
    assert all(one["now"]["why"] for one in status["differences"])


async def test_where_a_step_is_missing_the_last_one_is_told(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with Cluster(nodes=2, clock="virtual") as cluster, recorded(cluster, path) as client:
        await client.create(PODS, "default", pod("one"))
        await cluster.advance("5s")
        await client.patch(NODES, "", "esp32-0", {"metadata": {"annotations": {FAULT: "stopped"}}})
        await cluster.advance("400s")
    assert await command(["replay", str(path), "--default-toleration-seconds", "1000"]) == 1
    told = capsys.readouterr().out
    assert "default/one: no more: evicted" in told
    assert "now its last step is to esp32-0 at +0.000s: score" in told
    assert await command(["replay", str(path), "--default-toleration-seconds", "1000", "-o", "json"]) == 1
    (found,) = orjson.loads(capsys.readouterr().out)["status"]["differences"]
    assert (found["now"], found["last"]["node"]) == (None, "esp32-0")

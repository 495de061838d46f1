"""A cluster is recorded and played again: pods go where they went, or it is told which went otherwise."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest

from kube32_sim import cli
from kube32_sim.api.errors import ApiError
from kube32_sim.client import NODES, PODS, Resource
from kube32_sim.cluster import Cluster
from kube32_sim.http_client import HttpClient
from kube32_sim.recording import tape
from kube32_sim.recording.history import BOUND, EVICTED, compare
from kube32_sim.replaying import files
from kube32_sim.replaying.playing import Played, options_of, play
from kube32_sim.replaying.taking import Taking
from kube32_sim.snapshot.files import content
from tests.support.objects import config_map, pod, pod_spec

MAPS = Resource("", "v1", "configmaps")
DEPLOYMENTS = Resource("apps", "v1", "deployments")
OWN = "sim.kube32.io/v1alpha1"
FAULT = "sim.kube32.io/fault"


def deployment(name: str, replicas: int, **spec: Any) -> dict[str, Any]:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": pod_spec(**spec)}
    return {
        "metadata": {"name": name},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template},
    }


Client = HttpClient


@asynccontextmanager
async def recorded(cluster: Cluster, path: Path) -> AsyncIterator[Client]:
    """What is done meanwhile by a client outside is recorded into a file."""
    lines: list[bytes] = []
    async with HttpClient(cluster.access, program="somebody") as client:
        taking = Taking(client, "test", lambda obj: lines.append(orjson.dumps(obj)))
        await taking.begin()
        yield client
        await taking.end()
    written(path, b"\n".join(lines) + b"\n")


def written(path: Path, data: bytes) -> None:
    path.write_bytes(data)


async def replayed(path: Path, **options: Any) -> tuple[files.Recording, Played]:
    recording = files.read(str(path))
    return recording, await play(recording, options_of(recording, **options))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "recording.jsonl"


async def story(cluster: Cluster, client: Client) -> None:
    """A rollout, a pod deleted by its generated name, a lost board, more replicas."""
    await client.create(DEPLOYMENTS, "default", deployment("web", 3))
    await cluster.advance("5s")
    first = (await client.list(PODS, "default")).items[0]
    await client.delete(
        PODS, "default", first["metadata"]["name"], options={"preconditions": {"uid": first["metadata"]["uid"]}}
    )
    await cluster.advance("5s")
    await client.patch(NODES, "", "esp32-1", {"metadata": {"annotations": {FAULT: "stopped"}}})
    await cluster.advance("400s")
    web = await client.get(DEPLOYMENTS, "default", "web")
    web["spec"]["replicas"] = 5
    await client.update(DEPLOYMENTS, "default", web)
    await cluster.advance("10s")


async def test_pods_go_where_they_went_under_the_names_they_had(path: Path) -> None:
    async with Cluster(nodes=3, clock="virtual", seed=7) as cluster:
        await cluster.client.create(PODS, "default", pod("before"))
        await cluster.advance("10s")
        async with recorded(cluster, path) as client:
            await story(cluster, client)
    recording, played = await replayed(path)
    assert played.refused == []
    assert (played.requests, played.passed_over) == (4, 0)
    assert compare(recording.steps, played.steps) == []
    whats = [step.what for step in played.steps]
    assert whats.count(BOUND) >= 6
    assert EVICTED in whats
    for step, other in zip(played.steps, recording.steps, strict=True):
        assert abs(step.after - other.after) <= 1.0, (step, other)  # loops began at another part of a second
    assert {step.name for step in played.steps} == {step.name for step in recording.steps}


async def test_other_rules_send_pods_elsewhere(path: Path) -> None:
    async with Cluster(nodes=3, clock="virtual") as cluster, recorded(cluster, path) as client:
        await story(cluster, client)
    recording, played = await replayed(path, controllers="*,-node-lifecycle")
    differences = compare(recording.steps, played.steps)
    assert differences
    assert any(one.before is not None and one.before.what == EVICTED for one in differences)


async def test_a_replay_is_the_same_every_time(path: Path) -> None:
    async with Cluster(nodes=3, clock="virtual") as cluster, recorded(cluster, path) as client:
        await story(cluster, client)
    (_, one), (_, other) = await replayed(path), await replayed(path)
    assert one.steps == other.steps


async def test_every_way_of_writing_is_played(path: Path) -> None:
    """Creates with generated names, applies, patches of all kinds, status, scale, evictions, deletes of many."""
    async with Cluster(nodes=2, clock="virtual") as cluster, recorded(cluster, path) as client:
        await client.create(MAPS, "default", {"metadata": {"generateName": "made-"}, "data": {"a": "1"}})
        (made,) = [one for one in (await client.list(MAPS, "default")).items if "made-" in one["metadata"]["name"]]
        name = made["metadata"]["name"]
        maps = f"/api/v1/namespaces/default/configmaps/{name}"
        await client.patch(MAPS, "default", name, {"data": {"b": "2"}})
        await client.ask("PATCH", maps, body=[{"op": "remove", "path": "/data/a"}], media="application/json-patch+json")
        applied = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"c": "3"}}
        query = {"fieldManager": "me", "force": "true"}
        await client.ask("PATCH", maps, query, body=applied, media="application/apply-patch+yaml")
        await client.create(DEPLOYMENTS, "default", deployment("web", 1))
        await cluster.advance("3s")
        scale = f"{_deployment('web')}/scale"
        await client.ask("PATCH", scale, body={"spec": {"replicas": 3}}, media="application/merge-patch+json")
        await cluster.advance("3s")
        await client.ask("DELETE", "/api/v1/namespaces/default/pods", {"labelSelector": "app=web"})
        await cluster.advance("60s")
        wanted = (await client.get(MAPS, "default", name))["data"]
    recording = files.read(str(path))
    seen: list[dict[str, Any]] = []
    played = await play(recording, options_of(recording), look=lambda cluster: seen.append(_data(cluster, "made-")))
    assert played.refused == []
    assert compare(recording.steps, played.steps) == []
    assert seen == [wanted] == [{"b": "2", "c": "3"}]


def _deployment(name: str) -> str:
    return f"/apis/apps/v1/namespaces/default/deployments/{name}"


def _data(cluster: Cluster, prefix: str) -> dict[str, Any]:
    stored = (one.object() for one in cluster.store.list(("", "configmaps"), "default"))
    (found,) = [one for one in stored if one["metadata"]["name"].startswith(prefix)]
    return dict(found["data"])


async def test_what_was_refused_or_only_tried_is_not_played(path: Path) -> None:
    async with Cluster(nodes=1, clock="virtual") as cluster, recorded(cluster, path) as client:
        await client.create(MAPS, "default", config_map("one"))
        with pytest.raises(ApiError):
            await client.create(MAPS, "default", config_map("one"))
        await client.ask("POST", "/api/v1/namespaces/default/configmaps", {"dryRun": "All"}, body=config_map("two"))
    _, played = await replayed(path)
    assert (played.requests, played.passed_over, played.refused) == (1, 2, [])


async def test_what_is_refused_now_is_told(path: Path) -> None:
    async with Cluster(nodes=1, clock="virtual") as cluster, recorded(cluster, path) as client:
        await client.create(MAPS, "default", config_map("one"))
        await client.patch(MAPS, "default", "one", {"data": {"a": "b"}})
    lines = content(str(path)).splitlines()
    written(path, b"\n".join(line for line in lines if b'"verb":"create"' not in line))
    _, played = await replayed(path)
    (told,) = played.refused
    assert told.startswith("PATCH /api/v1/namespaces/default/configmaps/one: it was answered 200, and now 404: ")


async def test_a_log_of_a_real_cluster_is_played_on_boards_of_ones_own(path: Path) -> None:
    entry = {
        "kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "Request", "stage": "ResponseComplete",
        "user": {"username": "ada"}, "userAgent": "kubectl/v1.36.0", "responseStatus": {"code": 201},
        "requestURI": "/api/v1/namespaces/default/pods", "verb": "create",
    }  # fmt: skip
    lines = [
        {**entry, "requestObject": pod(f"pod-{n}"), "requestReceivedTimestamp": f"2026-03-01T10:0{n}:00.000000Z"}
        for n in range(3)
    ]
    written(path, b"\n".join(map(orjson.dumps, lines)))
    recording, played = await replayed(path, nodes="2")
    assert recording.is_log
    assert [(step.after, step.pod, step.what) for step in played.steps] == [
        (0.0, "default/pod-0", BOUND),
        (60.0, "default/pod-1", BOUND),
        (120.0, "default/pod-2", BOUND),
    ]


# the simulator's side


async def ask(client: Client, name: str, **spec: Any) -> dict[str, Any]:
    body = {"apiVersion": "sim.kube32.io/v1alpha1", "kind": "Recording", "metadata": {"name": name}, "spec": spec}
    answer = await client.ask("POST", "/apis/sim.kube32.io/v1alpha1/recordings", body=body)
    return dict(answer["status"])


@pytest.fixture
async def client(virtual_cluster: Cluster) -> AsyncIterator[Client]:
    async with HttpClient(virtual_cluster.access) as made:
        yield made


async def test_nothing_is_kept_while_nobody_records(virtual_cluster: Cluster, client: Client) -> None:
    assert not virtual_cluster._tape.on
    await ask(client, "one")
    await client.create(MAPS, "default", config_map("one"))
    assert len((await ask(client, "one", end=True))["lines"].splitlines()) == 1
    assert not virtual_cluster._tape.on
    assert not virtual_cluster._tape._lines
    await client.create(MAPS, "default", config_map("two"))
    assert not virtual_cluster._tape._lines


async def test_recordings_do_not_disturb_each_other(client: Client) -> None:
    await ask(client, "one")
    await client.create(MAPS, "default", config_map("first"))
    await ask(client, "two")
    await client.create(MAPS, "default", config_map("second"))
    assert [_named(await ask(client, name)) for name in ("one", "two")] == [["first", "second"], ["second"]]


def _named(status: dict[str, Any]) -> list[str]:
    return [json.loads(line)["requestObject"]["metadata"]["name"] for line in status["lines"].splitlines()]


async def test_who_does_not_ask_records_no_more(
    virtual_cluster: Cluster, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    await ask(client, "one")
    monkeypatch.setattr(tape, "PATIENCE", -1.0)
    await ask(client, "two", end=True)
    assert not virtual_cluster._tape.on
    with pytest.raises(ApiError, match="nobody records under this name") as caught:
        await ask(client, "one", after=3)
    assert caught.value.code == 422


async def test_who_is_too_far_behind_is_told_what_was_lost(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    await ask(client, "one")
    monkeypatch.setattr(tape, "MOST_BYTES", 3000)
    for number in range(20):
        await client.create(MAPS, "default", config_map(f"map-{number}"))
    status = await ask(client, "one")
    assert 0 < status["lost"] < 20
    assert status["lost"] + len(status["lines"].splitlines()) == 20


async def test_a_recording_without_a_name_is_refused(client: Client) -> None:
    with pytest.raises(ApiError, match=r"metadata\.name: Required value") as caught:
        await ask(client, "")
    assert caught.value.code == 422


async def test_there_are_only_so_many_recordings(client: Client) -> None:
    for number in range(tape.MOST_RECORDINGS):
        await ask(client, f"recording-{number}")
    with pytest.raises(ApiError, match="end one of them") as caught:
        await ask(client, "one-more")
    assert caught.value.code == 429


async def test_bodies_in_protobuf_and_yaml_are_told_as_json(virtual_cluster: Cluster, client: Client) -> None:
    await ask(client, "one")
    await client.ask("POST", "/api/v1/namespaces/default/configmaps", body=config_map("one"), media="application/yaml")
    assert _named(await ask(client, "one")) == ["one"]


# the commands


def write(path: Path, *lines: object) -> str:
    path.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines), "utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        (["{"], "line 1: it is no JSON: "),
        (["# Notes", "", "Something else."], "it is no recording, and no audit log: none of its lines is JSON"),
        (["[]"], "line 1: it is no object"),
        ([{"apiVersion": "audit.k8s.io/v1", "kind": "EventList", "items": []}], "line 1: kind: EventList; write one"),
        (
            [{"apiVersion": "sim.kube32.io/v1alpha1", "kind": "PlacementStep", "spec": {"pod": 7}}],
            "no step of a placement",
        ),
        (
            [{"apiVersion": "sim.kube32.io/v1alpha1", "kind": "Recording", "spec": {"begin": "noon"}}],
            "spec.begin: 'noon'",
        ),
        ([{"apiVersion": "sim.kube32.io/v1alpha1", "kind": "Recording", "spec": 1}], "spec: must be an object"),
        (
            [{"apiVersion": "audit.k8s.io/v1", "kind": "Event", "verb": "create", "stage": "ResponseComplete"}],
            "requestURI: '' is no path",
        ),
        ([], "there is nothing to play in it"),
    ],
)
def test_what_cannot_be_read_is_told_by_its_line(
    lines: Sequence[object], why: str, path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["replay", write(path, *lines)]) == 1
    told = capsys.readouterr().err
    assert why in told
    assert "Traceback" not in told


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ("--speed 0", "'0' is neither max nor a number above 0"),
        ("--speed fast", "'fast' is neither max"),
        ("--nodes x", "--nodes: 'x' is neither a number nor a mix"),
        ("--controllers nonsense", "--controllers"),
    ],
)
def test_wrong_options_are_named(arguments: str, why: str, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recording = {"options": {}, "begin": "2026-01-01T00:00:00Z"}
    own = {"apiVersion": "sim.kube32.io/v1alpha1", "kind": "Recording", "spec": recording}
    file = write(path, own, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}})
    with pytest.raises(SystemExit) as caught:
        cli.run(["replay", file, *arguments.split()])
    assert caught.value.code == 2
    assert why in capsys.readouterr().err


Replay = Callable[..., tuple[int, str]]


@pytest.fixture
def replay(capsys: pytest.CaptureFixture[str]) -> Replay:
    def run(*arguments: str) -> tuple[int, str]:
        capsys.readouterr()
        code = cli.run(["replay", *arguments])
        return code, capsys.readouterr().out

    return run


@pytest.fixture
async def told(path: Path) -> Path:
    async with Cluster(nodes=3, clock="virtual") as cluster, recorded(cluster, path) as client:
        await story(cluster, client)
    return path


def test_the_command_compares_writes_a_golden_history_and_explains(told: Path, replay: Replay, tmp_path: Path) -> None:
    golden = str(tmp_path / "golden.jsonl")
    code, text = replay(str(told), "--write-golden", golden)
    assert code == 0
    assert "4 requests in 7m0s of the cluster's time" in text
    assert text.endswith("6 pods went as before\n")
    assert replay(str(told), "--golden", golden)[0] == 0
    code, text = replay(str(told), "--golden", golden, "--default-toleration-seconds", "1000")
    assert code == 1
    assert "went otherwise:" in text
    code, text = replay(str(told), "--golden", golden, "--default-toleration-seconds", "1000", "-o", "json")
    assert code == 1
    status = json.loads(text)["status"]
    assert status["differences"][0]["before"]["what"] == "Evicted"
    assert status["requests"] == 4

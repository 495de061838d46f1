"""What is saved, loaded and saved again is the same, and goes on where it was."""

from __future__ import annotations

import string
from pathlib import Path
from typing import Any

import orjson
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kube32_sim import Cluster
from kube32_sim.client import DEPLOYMENTS, JOBS, NODES, PODS, SERVICES, Resource
from kube32_sim.snapshot.files import writing
from tests.snapshot.loads import by_identity, config_map, load_files, load_objects, save_all

JsonObject = dict[str, Any]

CRDS = Resource("apiextensions.k8s.io", "v1", "customresourcedefinitions")
TUNES = Resource("example.com", "v1", "tunes")
BARE: JsonObject = {"nodes": 0, "controllers": "none", "clock": "virtual"}
TEMPLATE: JsonObject = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {"containers": [{"name": "web", "image": "web:1", "resources": {"requests": {"memory": "8Ki"}}}]},
}


def definition() -> JsonObject:
    schema = {
        "type": "object",
        "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
    }
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "tunes", "singular": "tune", "kind": "Tune", "listKind": "TuneList"}
    spec = {"group": "example.com", "names": names, "scope": "Namespaced", "versions": [version]}
    return {"metadata": {"name": "tunes.example.com"}, "spec": spec}


async def filled(cluster: Cluster) -> None:
    """Something of many kinds, in many states."""
    client = cluster.client
    await client.create(CRDS, "", definition())
    await client.create(TUNES, "default", {"metadata": {"name": "first"}, "spec": {"notes": ["c", {"d": 1.5}]}})
    spec = {"selector": {"matchLabels": {"app": "web"}}, "template": TEMPLATE, "replicas": 3}
    await client.create(DEPLOYMENTS, "default", {"metadata": {"name": "web"}, "spec": spec})
    service = {"selector": {"app": "web"}, "ports": [{"port": 80}], "type": "NodePort"}
    await client.create(SERVICES, "default", {"metadata": {"name": "web"}, "spec": service})
    once: JsonObject = {"metadata": {"annotations": {"sim.kube32.io/run-seconds": "100"}}, "spec": {**TEMPLATE["spec"]}}
    once["spec"]["restartPolicy"] = "Never"
    await client.create(JOBS, "default", {"metadata": {"name": "once"}, "spec": {"template": once}})
    held = config_map("held", finalizers=["example.com/hold"])
    config_maps = Resource("", "v1", "configmaps")
    await client.create(config_maps, "default", held)
    await client.delete(config_maps, "default", "held")


async def test_everything_comes_back() -> None:
    async with Cluster(nodes=2, clock="virtual") as first:
        await filled(first)
        await first.advance("30s")
        saved = await save_all(first)
    async with Cluster(**BARE) as second:
        done = await load_objects(second, saved[1:], saved[0]["spec"], leave_nodes=True)
        again = await save_all(second)
        second.store.check()  # type: ignore[attr-defined]
        assert again[0]["spec"]["time"] == saved[0]["spec"]["time"]
    left_out = [note for note in done.notes if "left out" in note]
    assert left_out == []
    before, after = by_identity(saved), by_identity(again)
    assert before.keys() == after.keys()
    assert {key: after[key] for key in before if after[key] != before[key]} == {}
    assert {"Tune", "Job", "Event", "Lease", "Secret", "APIService"} - {kind for kind, _, _ in before} <= {"Secret"}


async def test_it_goes_on() -> None:
    """Pods are where they were, a Job ends in its time, and boards that were lost are."""
    async with Cluster(nodes=2, clock="virtual") as first:
        await filled(first)
        await first.advance("30s")
        runs_job = (await first.client.list(PODS, label_selector="batch.kubernetes.io/job-name=once")).items[0]
        stays = runs_job["spec"]["nodeName"]
        lost = "esp32-0" if stays == "esp32-1" else "esp32-1"
        await first.client.patch(NODES, "", lost, {"metadata": {"annotations": {"sim.kube32.io/fault": "stopped"}}})
        await first.advance("20s")
        saved = await save_all(first)
        places = await bound(first)
    async with Cluster(nodes=2, clock="virtual") as second:
        await load_objects(second, saved[1:], saved[0]["spec"])
        assert await bound(second) == places
        await second.advance("30s")
        assert await bound(second) == places
        assert not await job_done(second)
        await second.advance("25s")
        assert await job_done(second)
        await second.advance("330s")
        left = {node for name, node in (await bound(second)).items() if name.startswith("web")}
        assert left == {stays}
        second.store.check()  # type: ignore[attr-defined]


async def bound(cluster: Cluster) -> dict[str, str]:
    pods = (await cluster.client.list(PODS)).items
    return {pod["metadata"]["name"]: pod["spec"].get("nodeName", "") for pod in pods}


async def job_done(cluster: Cluster) -> bool:
    job = await cluster.client.get(JOBS, "default", "once")
    return bool(job["status"].get("succeeded"))


async def test_boards_of_a_snapshot_are_run_where_there_are_none() -> None:
    async with Cluster(nodes=1, board="esp32-c3", clock="virtual") as first:
        saved = await save_all(first)
    async with Cluster(nodes=0, clock="virtual") as second:
        await load_objects(second, saved[1:], saved[0]["spec"])
        await second.advance("1m")
        node = await second.client.get(NODES, "", "esp32-0")
        assert node["metadata"]["annotations"]["sim.kube32.io/runs-as"] == "esp32-c3"
        assert [one["status"] for one in node["status"]["conditions"] if one["type"] == "Ready"] == ["True"]


async def test_they_are_run_again_after_a_restart(tmp_path: Path) -> None:
    options: JsonObject = {"nodes": 0, "clock": "virtual", "store": f"sqlite:{tmp_path / 'state.db'}"}
    async with Cluster(nodes=1, clock="virtual") as first:
        saved = await save_all(first)
    async with Cluster(**options) as second:
        await load_objects(second, saved[1:], saved[0]["spec"])
        now = second.clock.now()
    async with Cluster(**options) as third:
        assert third.clock.now() == now
        await third.advance("1m")
        node = await third.client.get(NODES, "", "esp32-0")
        assert [one["status"] for one in node["status"]["conditions"] if one["type"] == "Ready"] == ["True"]


# odd objects

names = st.from_regex(r"[a-z]([a-z0-9.]{0,20}[a-z0-9])?", fullmatch=True).filter(lambda name: ".." not in name)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
label_values = st.from_regex(r"([A-Za-z0-9]([A-Za-z0-9._-]{0,20}[A-Za-z0-9])?)?", fullmatch=True)
data_keys = st.text(string.ascii_letters + string.digits + "-_.", min_size=1, max_size=20)


@st.composite
def config_maps(draw: st.DrawFn) -> JsonObject:
    metadata: JsonObject = {"name": draw(names), "namespace": draw(st.sampled_from(("default", "other")))}
    metadata["labels"] = draw(st.dictionaries(names.filter(lambda n: len(n) < 20), label_values, max_size=2))
    metadata["annotations"] = draw(st.dictionaries(names, texts, max_size=2))
    if draw(st.booleans()):
        metadata["uid"] = str(draw(st.uuids()))
    if draw(st.booleans()):
        metadata["finalizers"] = ["example.com/hold"]
        metadata["deletionTimestamp"] = "2025-12-31T23:59:59Z"
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata,
        "data": draw(st.dictionaries(data_keys, texts)),
    }


def _plain(obj: JsonObject) -> JsonObject:
    """Without what a server adds, or leaves out where it is empty."""
    metadata = {name: value for name, value in obj["metadata"].items() if value and name != "creationTimestamp"}
    return {"metadata": metadata, "data": obj.get("data") or {}}


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(config_maps(), max_size=6, unique_by=lambda obj: (obj["metadata"]["namespace"], obj["metadata"]["name"]))
)
async def test_odd_objects_come_back(objects: list[JsonObject]) -> None:
    async with Cluster(**BARE) as first, Cluster(**BARE) as second:
        await load_objects(first, objects)
        saved = await save_all(first)
        await load_objects(second, saved[1:], saved[0]["spec"])
        again = by_identity(await save_all(second))
    assert by_identity(saved) == again
    for obj in objects:
        found = again["ConfigMap", obj["metadata"]["namespace"], obj["metadata"]["name"]]
        expected = {**_plain(obj)["metadata"], "uid": obj["metadata"].get("uid") or found["metadata"]["uid"]}
        assert _plain(found) == {**_plain(obj), "metadata": expected}


async def test_a_file_of_yaml_says_the_same(tmp_path: Path) -> None:
    async with Cluster(nodes=1, clock="virtual") as first:
        await filled(first)
        await first.advance("5s")
        saved = await save_all(first)
    for name in ("state.yaml", "state.jsonl.gz", "state.yaml.gz", "state.json"):
        file = str(tmp_path / name)
        with writing(file) as writer:
            for obj in saved:
                writer.write(obj)
        async with Cluster(**BARE) as second:
            await load_files(second, file, leave_nodes=True)
            again = by_identity(await save_all(second))
        assert again == by_identity(orjson.loads(orjson.dumps(saved))), name

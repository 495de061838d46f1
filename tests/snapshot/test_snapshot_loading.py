"""What a load refuses, leaves out or changes, and that nothing of it is there before all of it is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from kube32_sim import Cluster
from kube32_sim.api.errors import ApiError
from kube32_sim.api.own import GROUP
from kube32_sim.client import NAMESPACES, PODS, Resource
from kube32_sim.http_client import HttpClient
from kube32_sim.importing import snapshots
from kube32_sim.options import CommandError
from tests.snapshot.loads import config_map, load_objects, owner_reference
from tests.support.http import Http
from tests.support.waiting import eventually

JsonObject = dict[str, Any]

CONFIG_MAPS = Resource("", "v1", "configmaps")
PATH = "/apis/sim.kube32.io/v1alpha1/snapshots"
UID, OTHER = "11111111-2222-4333-8444-555555555555", "66666666-7777-4888-8999-000000000000"


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    async with Cluster(nodes=0, clock="virtual") as cluster:
        yield cluster


async def there(cluster: Cluster, name: str) -> JsonObject | None:
    found = (await cluster.client.list(CONFIG_MAPS, "default")).items
    return next((obj for obj in found if obj["metadata"]["name"] == name), None)


@pytest.mark.parametrize(
    ("obj", "told"),
    [
        ({"kind": "ConfigMap", "metadata": {"name": "a"}}, "apiVersion: Required value"),
        ({"apiVersion": "v1", "kind": 7, "metadata": {"name": "a"}}, "kind: Invalid value: 7: must be a string"),
        ({"apiVersion": "v1", "kind": "ConfigMap", "metadata": []}, "metadata: Invalid value"),
        (config_map("A"), 'metadata.name: Invalid value: "A"'),
        (config_map(""), "metadata.name: Required value"),
        (config_map("a", ""), "metadata.namespace: Required value"),
        (config_map("a") | {"data": {"a": 7}}, "ConfigMap default/a: json: cannot unmarshal number"),
        (config_map("a") | {"data": {"a": "x" * 1_600_000}}, "--max-object-bytes"),
        (config_map("a", creationTimestamp="today"), "today"),
        (
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "default"}, "spec": {}},
            "spec.containers: Required value",
        ),
        (
            {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": {"name": "a", "namespace": "default"},
                "spec": {"template": {"spec": {"containers": [{"image": "x"}]}}},
            },
            "spec.template.spec.containers[0].name: Required value",
        ),
        (
            {
                "apiVersion": "apiextensions.k8s.io/v1",
                "kind": "CustomResourceDefinition",
                "metadata": {"name": "a.example.com"},
                "spec": {"group": "example.com", "names": {"plural": "a", "kind": "A"}, "scope": "Namespaced"},
            },
            "spec.versions",
        ),
    ],
)
async def test_one_wrong_object_keeps_all_out(cluster: Cluster, obj: JsonObject, told: str) -> None:
    revision = cluster.store.revision
    with pytest.raises(CommandError) as caught:
        await load_objects(cluster, [config_map("good"), obj])
    line, last = str(caught.value).splitlines()[0], str(caught.value).splitlines()[-1]
    assert line.startswith("test.jsonl, line 2: ")
    assert told in line
    assert last == "nothing was loaded"
    assert cluster.store.revision == revision


async def test_all_wrong_objects_are_told(cluster: Cluster) -> None:
    with pytest.raises(CommandError) as caught:
        await load_objects(cluster, [config_map("A"), config_map("fine"), config_map("B")])
    assert [line.partition(":")[0] for line in str(caught.value).splitlines()] == [
        "test.jsonl, line 1",
        "test.jsonl, line 3",
        "nothing was loaded",
    ]


async def test_an_object_is_there_once(cluster: Cluster) -> None:
    with pytest.raises(CommandError, match=r"line 2: metadata.name: ConfigMap default/a is there twice"):
        await load_objects(cluster, [config_map("a"), config_map("a")])
    with pytest.raises(CommandError, match=r"line 2: metadata.uid: Duplicate value"):
        await load_objects(cluster, [config_map("a", uid=UID), config_map("b", uid=UID)])


async def test_what_is_there_stops_a_load(cluster: Cluster) -> None:
    await cluster.client.create(CONFIG_MAPS, "default", config_map("old"))
    with pytest.raises(CommandError, match=r"test.jsonl, line 2: ConfigMap default/old is there already"):
        await load_objects(cluster, [config_map("new"), config_map("old")])
    assert await there(cluster, "new") is None


async def test_what_is_there_is_kept_and_owns_what_is_loaded(cluster: Cluster) -> None:
    old = await cluster.client.create(CONFIG_MAPS, "default", config_map("owner") | {"data": {"old": "1"}})
    child = config_map("child", ownerReferences=[owner_reference("owner", UID)])
    done = await load_objects(cluster, [child, config_map("owner", uid=UID)], on_conflict="Skip")
    assert done.notes == ["ConfigMap: 1 left out, being there already"]
    kept, found = await there(cluster, "owner"), await there(cluster, "child")
    assert kept == old
    assert found is not None
    assert found["metadata"]["ownerReferences"][0]["uid"] == old["metadata"]["uid"]
    await cluster.advance("1m")
    assert await there(cluster, "child") == found


async def test_what_is_there_and_has_no_uid_in_the_snapshot_gives_its_own_to_nobody(cluster: Cluster) -> None:
    old = await cluster.client.create(CONFIG_MAPS, "default", config_map("old"))
    await load_objects(cluster, [config_map("old"), config_map("a"), config_map("b")], on_conflict="Skip")
    found = [await there(cluster, name) for name in ("a", "b")]
    assert len({old["metadata"]["uid"], *(one["metadata"]["uid"] for one in found if one is not None)}) == 3


async def test_what_is_there_is_replaced(cluster: Cluster) -> None:
    await cluster.client.create(CONFIG_MAPS, "default", config_map("old") | {"data": {"old": "1"}})
    done = await load_objects(cluster, [config_map("old", uid=UID)], on_conflict="Replace")
    assert (done.loaded, done.replaced) == (1, 1)
    found = await there(cluster, "old")
    assert found is not None
    assert (found["metadata"]["uid"], found["data"]) == (UID, {"a": "b"})
    again = await load_objects(cluster, [config_map("old", uid=UID) | {"data": {"new": "1"}}], on_conflict="Replace")
    assert again.replaced == 1
    assert (await there(cluster, "old") or {})["data"] == {"new": "1"}
    cluster.store.check()  # type: ignore[attr-defined]


async def test_a_uid_that_another_object_has_is_another_one_here(cluster: Cluster) -> None:
    taken = await cluster.client.create(CONFIG_MAPS, "default", config_map("old"))
    uid = taken["metadata"]["uid"]
    child = config_map("child", ownerReferences=[owner_reference("new", uid)])
    await load_objects(cluster, [child, config_map("new", uid=uid)])
    new, found = await there(cluster, "new"), await there(cluster, "child")
    assert new is not None
    assert found is not None
    assert found["metadata"]["ownerReferences"][0]["uid"] == new["metadata"]["uid"] != uid
    cluster.store.check()  # type: ignore[attr-defined]


async def test_owners_that_are_not_there(cluster: Cluster) -> None:
    """Without them a part of a cluster would be garbage; of a whole one they have really gone."""
    child = config_map("child", ownerReferences=[owner_reference("gone", UID)])
    done = await load_objects(cluster, [child])
    assert done.notes == ["ConfigMap: 1 references to owners that are not there were left out"]
    whole = config_map("garbage", ownerReferences=[owner_reference("gone", OTHER)])
    await load_objects(cluster, [whole], {"complete": True, "foreign": False})
    await cluster.advance("1m")
    assert await there(cluster, "child") is not None
    assert await there(cluster, "garbage") is None


async def test_owners_come_after_what_they_own(cluster: Cluster) -> None:
    child = config_map("child", ownerReferences=[owner_reference("owner", UID)])
    await load_objects(cluster, [child, config_map("owner", uid=UID)], {"complete": True})
    await cluster.advance("1m")
    assert await there(cluster, "child") is not None


async def test_namespaces_are_made(cluster: Cluster) -> None:
    done = await load_objects(cluster, [config_map("a", "elsewhere")])
    assert done.notes == ["namespaces made, which the snapshot does not hold: elsewhere"]
    made = await cluster.client.get(NAMESPACES, "", "elsewhere")
    assert made["status"]["phase"] == "Active"


async def test_what_is_not_known_is_left_out_or_refused(cluster: Cluster) -> None:
    unserved = {"apiVersion": "example.com/v1", "kind": "Tune", "metadata": {"name": "a"}}
    old = {"apiVersion": "autoscaling/v2beta2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "a"}}
    objects = [unserved, old, config_map("a") | {"colour": "red"}]
    notes = [
        "Tune (example.com/v1): 1 left out: the simulator does not serve this type",
        "HorizontalPodAutoscaler (autoscaling/v2beta2): 1 left out: "
        "the simulator does not serve this type, only in v2 and v1",
        'ConfigMap (v1): unknown field "colour" in 1 objects, left out',
    ]
    with pytest.raises(CommandError) as caught:
        await load_objects(cluster, objects, strict=True)
    assert str(caught.value).splitlines() == [*notes, "nothing was loaded"]
    assert await there(cluster, "a") is None
    assert (await load_objects(cluster, objects)).notes == notes
    assert await there(cluster, "a") is not None


async def test_a_dry_run_loads_nothing(cluster: Cluster) -> None:
    revision = cluster.store.revision
    done = await load_objects(cluster, [config_map("a", "elsewhere")], {"time": "2027-01-01T00:00:00Z"}, dry_run=True)
    assert done.loaded == 2
    assert cluster.store.revision == revision
    assert cluster.clock.timestamp() == "2026-01-01T00:00:00Z"


async def test_a_service_without_an_address_gets_one(cluster: Cluster) -> None:
    meta = {"name": "web", "namespace": "default"}
    spec = {"ports": [{"port": 80}], "selector": {"app": "web"}}
    await load_objects(cluster, [{"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": spec}])
    service = await cluster.client.get(Resource("", "v1", "services"), "default", "web")
    assert service["spec"]["clusterIP"].startswith("10.96.")


async def test_a_pod_that_has_no_node_gets_one() -> None:
    async with Cluster(nodes=1, clock="virtual") as cluster:
        spec = {"containers": [{"name": "a", "image": "a"}]}
        meta = {"name": "late", "namespace": "default"}
        await load_objects(cluster, [{"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}])
        await cluster.advance("10s")
        pod = await cluster.client.get(PODS, "default", "late")
        assert (pod["spec"]["nodeName"], pod["status"]["phase"]) == ("esp32-0", "Running")


# the requests


async def post(cluster: Cluster, name: str, **spec: Any) -> JsonObject:
    body = {"apiVersion": "sim.kube32.io/v1alpha1", "kind": "Snapshot", "metadata": {"name": name}, "spec": spec}
    async with HttpClient(cluster.access) as client:
        return await client.ask("POST", PATH, body=body)


LINE = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"%s","namespace":"default"}}\n'


async def test_parts_belong_together(cluster: Cluster) -> None:
    staged = await post(cluster, "one", part=0, more=True, lines=LINE % "a")
    assert staged["status"]["phase"] == "Staged"
    assert await there(cluster, "a") is None
    done = await post(cluster, "one", part=1, lines=LINE % "b")
    assert (done["status"]["phase"], done["status"]["loaded"]) == ("Loaded", 2)
    assert await there(cluster, "a") is not None


async def test_parts_that_do_not_follow_are_refused(cluster: Cluster) -> None:
    with pytest.raises(ApiError, match="part 1 of it came, and part 0 was expected") as caught:
        await post(cluster, "one", part=1, lines=LINE % "b")
    assert caught.value.code == 409
    with pytest.raises(ApiError, match=r"metadata\.name: Required value"):
        await post(cluster, "", lines=LINE % "b")
    with pytest.raises(ApiError, match='Unsupported value: "Merge"'):
        await post(cluster, "one", onConflict="Merge")
    with pytest.raises(ApiError, match="must be an RFC 3339 time"):
        await post(cluster, "one", time="yesterday")


async def test_a_load_with_a_problem_is_not_finished(cluster: Cluster) -> None:
    with pytest.raises(ApiError, match=r"spec\.lines\[0\]"):
        await post(cluster, "one", part=0, more=True, lines='{"kind":')
    with pytest.raises(ApiError, match="a part of it had a problem; nothing was loaded"):
        await post(cluster, "one", part=1, lines=LINE % "b")
    assert await there(cluster, "b") is None


async def test_loads_that_nobody_goes_on_with_are_forgotten(cluster: Cluster) -> None:
    for number in range(6):
        await post(cluster, f"load-{number}", part=0, more=True, lines=LINE % "a")
    with pytest.raises(ApiError, match="part 0 was expected"):
        await post(cluster, "load-0", part=1, lines=LINE % "b")
    assert (await post(cluster, "load-5", part=1, lines=LINE % "b"))["status"]["loaded"] == 2


async def test_a_load_that_nobody_goes_on_with_is_forgotten_after_a_while(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "PATIENCE", 0.05)
    await post(cluster, "one", part=0, more=True, lines=LINE % "a")
    staged = cluster.registry.own._answering[GROUP, "snapshots"].__self__._snapshots
    await eventually(lambda: not staged._loads, "it is forgotten")
    with pytest.raises(ApiError, match="begin anew with part 0"):
        await post(cluster, "one", part=1, lines=LINE % "b")


async def test_all_that_a_load_keeps_counts(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also the names by which the rest of a load with a problem is looked at."""
    monkeypatch.setattr(snapshots, "MOST_BYTES", 5 * snapshots.BYTES_OF_NAMES)
    with pytest.raises(ApiError, match=r"spec\.lines\[3\]"):
        await post(cluster, "one", part=0, more=True, lines=LINE % "a" + LINE % "b" + LINE % "c" + '{"kind":')
    with pytest.raises(ApiError, match="loads together have more than"):
        await post(cluster, "one", part=1, more=True, lines=LINE % "d" + LINE % "e")


@pytest.mark.parametrize("query", ["", "?dryRun=All"])
async def test_the_answer_names_its_load(cluster: Cluster, query: str) -> None:
    body = {"metadata": {"name": "one"}, "spec": {"lines": LINE % "a"}}
    http = Http(cluster.url)
    status, said = await asyncio.to_thread(http.request, "POST", PATH + query, body)
    http.close()
    assert (status, said["metadata"]["name"], said["status"]["loaded"]) == (201, "one", 1)


async def test_only_administrators_load() -> None:
    async with Cluster(nodes=0) as cluster:
        body = {"apiVersion": "sim.kube32.io/v1alpha1", "kind": "Snapshot", "metadata": {"name": "a"}, "spec": {}}
        jane = {"Impersonate-User": "jane"}
        http = Http(cluster.url)
        status, said = await asyncio.to_thread(http.request, "POST", PATH, body, jane)
        http.close()
        assert (status, said["reason"]) == (403, "Forbidden")

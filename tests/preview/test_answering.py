"""SchedulingPreview over the API: what it answers, that it leaves no trace, and how it refuses."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
import pytest_asyncio
from worlds import ONLY_SCHEDULER, World, refusal

from kube32_sim import Cluster, ServeOptions
from kube32_sim.api.errors import ApiError
from kube32_sim.client import DEPLOYMENTS, NODES, PODS, Resource
from kube32_sim.preview.placing import make_placer, place_all
from kube32_sim.preview.printing import document
from kube32_sim.preview.state import read_cluster
from kube32_sim.preview.workloads import wanted_pods
from tests.support.rbac import binding, rule
from tests.support.wire import Answer, connected

JsonObject = dict[str, Any]
PREVIEWS = Resource("sim.kube32.io", "v1alpha1", "schedulingpreviews")
PATH = "/apis/sim.kube32.io/v1alpha1/schedulingpreviews"
ROLES = "rbac.authorization.k8s.io"


def pod(name: str = "web", memory: str = "20Ki", **spec: Any) -> JsonObject:
    asked = {"requests": {"memory": memory}}
    return {
        "metadata": {"name": name},
        "spec": {"containers": [{"name": "c", "image": "i", "resources": asked}], **spec},
    }


def deployment(replicas: int, memory: str = "20Ki") -> JsonObject:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": pod(memory=memory)["spec"]}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}


async def preview(cluster: Cluster, **spec: Any) -> JsonObject:
    return (await cluster.client.create(PREVIEWS, "", {"spec": spec}))["status"]


def placed(status: JsonObject) -> dict[str, str | None]:
    return {placement["pod"]: placement["node"] for placement in status["placements"]}


async def add_node(cluster: Cluster, name: str, memory: str = "100Ki") -> None:
    ready = {"type": "Ready", "status": "True"}
    room = {"memory": memory, "esp32.io/gpio": "8", "cpu": "2"}
    status = {"conditions": [ready], "allocatable": room, "capacity": room}
    await cluster.client.create(NODES, "", {"metadata": {"name": name}, "status": status})
    await cluster.client.patch(NODES, "", name, {"status": status}, subresource="status")


@pytest_asyncio.fixture
async def cluster() -> AsyncIterator[Cluster]:
    """Two nodes, and nothing that moves."""
    async with Cluster(ONLY_SCHEDULER) as made:
        for name in ("a", "b"):
            await add_node(made, name)
        yield made


def traces(cluster: Cluster) -> bytes:
    """Everything that a preview could have changed: what is stored, and what the scheduler believes."""
    cluster.store.check()
    scheduler: Any = cluster.hooks._binder._scheduler
    nodes = {name: (node.free, node.capacity, node.barred) for name, node in scheduler.cache.table.nodes.items()}
    return orjson.dumps([cluster.store.revision, nodes])


# the same answer everywhere


async def commanded(cluster: Cluster, pods: list[JsonObject], profile: str, limit: int = 0) -> JsonObject:
    """What the command answers at this state."""
    from kube32_sim.preview.manifests import manifests_of

    values = [({"apiVersion": "v1", "kind": "Pod", **one}, f"spec.pods[{index}]") for index, one in enumerate(pods)]
    wanted, state = wanted_pods(
        manifests_of(values), await read_cluster(cluster.access), of_kubernetes=profile == "kestrel"
    )
    placer = make_placer(profile, state, wanted)
    return document(place_all(placer, wanted, details=True, limit=limit), profile)["status"]


@pytest.mark.parametrize("seed", range(25))
async def test_api_command_and_creates_agree(seed: int) -> None:
    async with Cluster(ONLY_SCHEDULER) as cluster:
        world = World(cluster, seed)
        await world.populate()
        await cluster.clock.settle()
        pods = [manifest.obj for manifest in world.manifests()]
        before = traces(cluster)
        answer = await preview(cluster, pods=pods)
        assert traces(cluster) == before
        assert answer["placements"] == (await commanded(cluster, pods, "kube32"))["placements"]
        assert await preview(cluster, pods=pods) == answer, "the first one has left no trace in the picture"
        for placement, obj in zip(answer["placements"], pods, strict=True):
            made = await cluster.client.create(PODS, "default", obj)
            assert made["spec"].get("nodeName") == placement["node"]
            if placement["node"] is None:
                assert refusal(made) == placement["message"]


@pytest.mark.parametrize("seed", range(25, 45))
async def test_what_is_there_is_replaced_as_the_command_has_it(seed: int) -> None:
    """Of pods that run their board's report is relieved; that, too, is undone."""
    async with Cluster(ONLY_SCHEDULER) as cluster:
        world = World(cluster, seed)
        await world.populate()
        await cluster.clock.settle()
        there = [one["metadata"]["name"] for one in (await cluster.client.list(PODS, namespace="default")).items]
        chosen = random.Random(seed).sample(there, min(3, len(there)))
        pods = [{"metadata": {"name": name}, "spec": world.spec()} for name in chosen] + [pod("new")]
        before = traces(cluster)
        answer = await preview(cluster, pods=pods)
        assert traces(cluster) == before
        assert answer == {**(await commanded(cluster, pods, "kube32")), **warned(answer)}
        assert await preview(cluster, pods=pods) == answer


def warned(status: JsonObject) -> JsonObject:
    return {"warnings": status["warnings"]} if "warnings" in status else {}


@pytest.mark.parametrize("seed", range(10))
async def test_the_other_profile_agrees_with_the_command(seed: int) -> None:
    async with Cluster(ONLY_SCHEDULER) as cluster:
        world = World(cluster, seed)
        await world.populate()
        await cluster.clock.settle()
        pods = [pod(f"new-{number}", f"{10 + number}Ki") for number in range(4)]
        before = traces(cluster)
        for _ in range(2):
            answer = await preview(cluster, profile="kestrel", pods=pods)
            assert answer["placements"] == (await commanded(cluster, pods, "kestrel"))["placements"]
        assert traces(cluster) == before


async def test_a_server_that_schedules_by_kestrels_rules_previews_by_both() -> None:
    async with Cluster(replace(ONLY_SCHEDULER, scheduler_profile="kestrel")) as cluster:
        await add_node(cluster, "a")
        for profile in ("kube32", "kestrel"):
            pods = [pod("one", "60Ki"), pod("two", "60Ki")]
            answer = await preview(cluster, profile=profile, pods=pods)
            assert answer == await commanded(cluster, pods, profile)
            assert profile == "kestrel" or placed(answer) == {"one": "a", "two": None}


@pytest.mark.parametrize("seed", range(10, 16))
async def test_what_kestrel_remembers_follows_every_change(seed: int) -> None:
    """Pods come, run and go, boards report: each answer is the one that somebody who knows nothing comes to."""
    async with Cluster(ONLY_SCHEDULER) as cluster:
        world = World(cluster, seed)
        await world.populate()
        for number in range(12):
            chance = world.rng.random()
            there = (await cluster.client.list(PODS, namespace="default")).items
            if chance < 0.4:
                await world.live(f"more-{number}")
            elif chance < 0.7:
                await world.report(f"n{world.rng.randrange(6)}")
            elif there:
                await cluster.client.delete(PODS, "default", world.rng.choice(there)["metadata"]["name"])
            await cluster.clock.settle()
            pods = [pod("x", f"{10 + number}Ki"), pod("old-0", "12Ki")]
            answer = await preview(cluster, profile="kestrel", pods=pods)
            assert answer["placements"] == (await commanded(cluster, pods, "kestrel"))["placements"]


async def test_what_kestrel_remembers_is_bounded(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    from kube32_sim.preview import answering, remembered

    made = []
    monkeypatch.setattr(answering, "Remembered", lambda store: made.append(1) or remembered.Remembered(store))
    for kept, times in ((1, 2), (100, 1)):
        monkeypatch.setattr(answering, "MOST_KEPT", kept)
        made.clear()
        for _ in range(2):
            tolerating = pod(tolerations=[{"operator": "Exists"}])
            assert placed(await preview(cluster, profile="kestrel", pods=[tolerating])) == {"web": "a"}
        assert len(made) == times


async def test_without_a_scheduler_the_store_is_asked() -> None:
    async with Cluster(ServeOptions(port=0, nodes=0, controllers="none", clock="virtual")) as cluster:
        await add_node(cluster, "a")
        answer = await preview(cluster, pods=[pod("x", "60Ki"), pod("y", "60Ki")])
        assert placed(answer) == {"x": "a", "y": None}


# what is asked


async def test_workloads_come_after_pods(cluster: Cluster) -> None:
    answer = await preview(cluster, objects=[deployment(3)], pods=[pod("first", "90Ki")])
    assert placed(answer) == {"first": "a", "web-0": "b", "web-1": "b", "web-2": "b"}
    assert {one.get("owner") for one in answer["placements"]} == {None, "Deployment/web"}


async def test_pods_of_a_workload_that_is_there_are_replaced(virtual_cluster: Cluster) -> None:
    client = virtual_cluster.client
    obj = deployment(4, "70Ki")
    del obj["apiVersion"], obj["kind"]
    await client.create(DEPLOYMENTS, "default", obj)
    await virtual_cluster.advance("30s")
    assert len((await client.list(PODS, namespace="default")).items) == 4
    answer = await preview(virtual_cluster, objects=[deployment(4, "70Ki")])
    assert sorted(filter(None, placed(answer).values())) == ["esp32-0", "esp32-0", "esp32-1", "esp32-1"]
    assert "with 4 pods, which count as replaced" in answer["warnings"][0]
    again = await preview(virtual_cluster, objects=[deployment(4, "70Ki"), deployment(1) | {"metadata": {"name": "x"}}])
    assert again["placements"][:4] == answer["placements"]


async def test_nodes_on_paper_count_and_are_forgotten(cluster: Cluster) -> None:
    room = {"memory": "500Ki", "esp32.io/gpio": "8"}
    ready = {"type": "Ready", "status": "True"}
    more = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "paper"}}
    more["status"] = {"capacity": room, "allocatable": room, "conditions": [ready]}
    before = traces(cluster)
    assert placed(await preview(cluster, objects=[more], pods=[pod("x", "300Ki")])) == {"x": "paper"}
    assert placed(await preview(cluster, pods=[pod("x", "300Ki")])) == {"x": None}
    assert traces(cluster) == before


async def test_the_best_nodes_alone(cluster: Cluster) -> None:
    await add_node(cluster, "c", "10Ki")
    answer = await preview(cluster, pods=[pod(), pod("large", "200Ki")], limit=1)
    assert [[one["name"] for one in each["nodes"]] for each in answer["placements"]] == [["a"], ["a"]]
    assert [each["nodesOmitted"] for each in answer["placements"]] == [2, 2]
    whole = await preview(cluster, pods=[pod()], limit=3)
    assert [one["name"] for one in whole["placements"][0]["nodes"]] == ["a", "b", "c"]
    assert "nodesOmitted" not in whole["placements"][0]


async def test_the_whole_object_is_answered(cluster: Cluster) -> None:
    given = {
        "metadata": {"name": "mine"},
        "spec": {"pods": [{"metadata": {"generateName": "w-"}, "spec": pod()["spec"]}]},
    }
    answer = await cluster.client.create(PREVIEWS, "", given)
    assert (answer["apiVersion"], answer["kind"]) == ("sim.kube32.io/v1alpha1", "SchedulingPreview")
    assert answer["metadata"] == {"name": "mine"}
    assert answer["spec"] == {"profile": "kube32", "pods": [{**given["spec"]["pods"][0], "status": {}}]}
    (placement,) = answer["status"]["placements"]
    nodes = placement.pop("nodes")
    assert placement == {
        "pod": "w-0",
        "namespace": "default",
        "node": "a",
        "score": 90,
        "message": "Successfully assigned default/w-0 to a",
        "tieBreak": ["a", "b"],
    }
    left = {"memory": 80, "esp32.io/gpio": 100}
    assert nodes[0] == {"name": "a", "feasible": True, "reason": "", "score": 90, "percentages": left}


async def test_a_preview_is_no_news_to_the_retry_loop(cluster: Cluster) -> None:
    """It changes figures and changes them back: pods that wait are not tried again for that."""
    await cluster.client.create(PODS, "default", pod("hopeless", "900Ki"))
    await cluster.advance("5s")
    revision = cluster.store.revision
    for _ in range(3):
        answer = await preview(cluster, pods=[pod("x"), pod("y")])
    assert any("default/hopeless" in warning for warning in answer["warnings"])
    assert cluster.store.revision == revision


# refusals


async def refused(cluster: Cluster, **spec: Any) -> dict[str, str]:
    """Messages by field."""
    with pytest.raises(ApiError) as caught:
        await preview(cluster, **spec)
    assert caught.value.code == 422, caught.value
    causes = caught.value.details["causes"]
    return {cause["field"]: cause["message"] for cause in causes}


WRONG: list[tuple[JsonObject, str, str]] = [
    ({}, "spec.pods", "Required value"),
    ({"profile": "fast", "pods": [pod()]}, "spec.profile", 'supported values: "kestrel", "kube32"'),
    ({"limit": -1, "pods": [pod()]}, "spec.limit", "greater than or equal to 0"),
    ({"pods": [{"spec": pod()["spec"]}]}, "spec.pods[0].metadata.name", "name or generateName is required"),
    ({"pods": [pod(), {**pod(), "kind": "Node"}]}, "spec.pods[1].kind", "Unsupported value"),
    ({"pods": [{"metadata": {"name": "x"}}]}, "spec.pods[0].spec.containers", "Required value"),
    ({"pods": [pod("No Name")]}, "spec.pods[0].metadata.name", "RFC 1123"),
    ({"pods": [pod(), pod()]}, "spec.pods[1]", "the same object as in spec.pods[0]"),
    ({"pods": [pod(priorityClassName="none")]}, "spec.pods[0]", "no PriorityClass with name none was found"),
    ({"objects": [{"kind": "Pod"}]}, "spec.objects[0].apiVersion", "not set"),
    ({"objects": [{"apiVersion": "v1", "kind": "Pod"}]}, "spec.objects[0].metadata.name", "not set"),
    (
        {"objects": [{"apiVersion": "v1", "kind": "List", "items": [3]}]},
        "spec.objects[0].items[0]",
        "must be an object",
    ),
    (
        {"objects": [{"apiVersion": "v1", "kind": "Deployment", "metadata": {"name": "x"}}]},
        "spec.objects[0]",
        "no match",
    ),
    ({"objects": [deployment(0)]}, "spec.objects[0]", "makes no pods: spec.replicas is 0"),
    ({"objects": [deployment(2_000_000_000)]}, "spec.objects[0]", "a preview places 5000 at most"),
    ({"objects": [deployment(1) | {"spec": {}}]}, "spec.objects[0].spec.selector", "Required value"),
    (
        {"profile": "kestrel", "pods": [pod(topologySpreadConstraints=[])], "objects": [deployment(-1)]},
        "spec.objects[0].spec.replicas",
        "greater than or equal to 0",
    ),
    ({"profile": "kestrel", "pods": [pod(hostNetwork=True, nodeName="a")]}, "spec.pods[0].spec.nodeName", "Kestrel"),
]


@pytest.mark.parametrize(("spec", "field", "message"), WRONG)
async def test_a_refusal_names_the_field(cluster: Cluster, spec: JsonObject, field: str, message: str) -> None:
    before = traces(cluster)
    found = await refused(cluster, **spec)
    assert message in found.get(field, ""), found
    assert traces(cluster) == before


async def test_names_of_any_letters_are_quoted_and_do_no_harm(cluster: Cluster) -> None:
    for name in ("a (Pod b): spec.x: y", "a\nspec.pods[7]: b", "\x1b[2J"):
        assert await refused(cluster, pods=[pod(name)])


async def test_an_answer_is_bounded(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    from kube32_sim.preview import answering

    monkeypatch.setattr(answering, "MOST_VERDICTS", 6)
    assert len((await preview(cluster, objects=[deployment(3)]))["placements"]) == 3
    assert "places 3 at most" in (await refused(cluster, objects=[deployment(4)]))["spec.objects[0]"]


async def test_strange_values_are_never_an_accident(cluster: Cluster) -> None:
    """Any value in any place of a good request: a 4xx or an answer."""
    rng = random.Random(8)
    strange = [None, 0, -1, 2**40, 1.5, True, "", "x", [], {}, [None], {"a": None}, [[]], "\ud800"]
    good = {"spec": {"profile": "kube32", "limit": 1, "pods": [pod()], "objects": [deployment(2)]}}
    async with connected(cluster.port) as wire:
        for _ in range(400):
            obj = orjson.loads(orjson.dumps(good))
            spoil(obj, rng, strange)
            answer = await wire("POST", PATH, obj)
            assert answer.status == 201 or 400 <= answer.status < 500, (obj, answer.body)
        assert (await wire("POST", PATH, good)).status == 201


def spoil(obj: Any, rng: random.Random, strange: list[Any]) -> None:
    """Put a strange value somewhere."""
    while True:
        place = rng.choice(list(obj) if isinstance(obj, dict) else range(len(obj)))
        below = obj[place]
        if not isinstance(below, dict | list) or not below or rng.random() < 0.15:
            obj[place] = rng.choice(strange)
            return
        obj = below


# who may ask


async def test_who_asks_has_to_be_allowed_to_see_what_is_shown(tmp_path: Path) -> None:
    (tmp_path / "tokens.csv").write_text('admin,admin,1,"system:masters"\nann,ann,2\n')
    options = ServeOptions(port=0, nodes=0, controllers="none", clock="virtual", authorization_mode="RBAC")
    async with Cluster(options, token_file=tmp_path / "tokens.csv") as cluster:
        assert (await ask(cluster, "admin")).status == 201
        for name, granted, missing in (
            (
                "first",
                rule("create", "schedulingpreviews", "sim.kube32.io"),
                'cannot create resource "schedulingpreviews"',
            ),
            ("second", rule("list", "nodes"), 'cannot list resource "nodes"'),
            ("third", rule("list", "pods"), 'cannot list resource "pods"'),
        ):
            answer = await ask(cluster, "ann")
            assert answer.status == 403
            assert missing in answer.json()["message"]
            await cluster.client.create(
                Resource(ROLES, "v1", "clusterroles"), "", {"metadata": {"name": name}, "rules": [granted]}
            )
            await cluster.client.create(
                Resource(ROLES, "v1", "clusterrolebindings"), "", binding(name, name, "User:ann")
            )
        assert (await ask(cluster, "ann")).status == 201


async def ask(cluster: Cluster, who: str) -> Answer:
    async with connected(cluster.port) as wire:
        return await wire("POST", PATH, {"spec": {"pods": [pod()]}}, Authorization=f"Bearer {who}")

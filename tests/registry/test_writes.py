"""Writes through the registry: their order, dry runs, races, names, preconditions, and writes that change nothing."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from kube32_sim.api import admission
from kube32_sim.api.errors import MOST_FAILURE_TEXT, ApiError
from kube32_sim.api.options import DeleteOptions
from kube32_sim.client import NAMESPACES, NODES, PODS, SERVICES, Resource
from kube32_sim.cluster import Cluster
from kube32_sim.registry import steps as steps_module
from kube32_sim.registry import subresources
from kube32_sim.registry.asked import Asked
from tests.support.objects import BUDGETS, MAPS, config_map, node, pod, service

JsonObject = dict[str, Any]


def asked(
    cluster: Cluster, resource: Resource, name: str = "", subresource: str = "", *, dry_run: bool = False
) -> Asked:
    row = cluster.registry.table.by_path(resource.group, resource.version, resource.plural)
    assert row is not None
    return Asked(row, "default" if row.namespaced else "", name, subresource, dry_run)


async def refused(work: Awaitable[Any]) -> ApiError:
    with pytest.raises(ApiError) as caught:
        await work
    return caught.value


# order


async def test_the_order_of_a_write(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []

    def told(step: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **more: Any) -> Any:
            steps.append(step)
            return real(*arguments, **more)

        return call

    strategy = asked(cluster, MAPS).row.strategy
    for name in ("default", "prepare_create", "validate", "warnings", "prepare_update", "validate_update"):
        monkeypatch.setattr(strategy, name, told(name, getattr(strategy, name)))
    for name in ("mutate", "validate"):
        monkeypatch.setattr(admission, name, told(f"admission.{name}", getattr(admission, name)))
    for name in ("validate_metadata", "validate_metadata_update"):
        monkeypatch.setattr(steps_module, name, told(name, getattr(steps_module, name)))
    hooks = cluster.registry._hooks
    for name in ("before_create", "created", "before_update"):
        monkeypatch.setattr(hooks, name, told(name, getattr(hooks, name)))
    cluster.store.subscribe(lambda event: steps.append(event.type))
    await cluster.client.create(MAPS, "default", config_map("a"))
    assert steps == [
        "default",
        "admission.mutate",
        "prepare_create",
        "validate_metadata",
        "validate",
        "admission.validate",
        "warnings",
        "before_create",
        "ADDED",
        "created",
    ]
    steps.clear()
    await cluster.client.update(MAPS, "default", config_map("a", k="v"))
    assert [step for step in steps if step != "validate"] == [
        "default",
        "admission.mutate",
        "prepare_update",
        "validate_update",
        "validate_metadata_update",
        "admission.validate",
        "warnings",
        "before_update",
        "MODIFIED",
    ]


# dry run


def traces(cluster: Cluster) -> tuple[Any, ...]:
    """Everything that a write might leave behind."""
    hooks: Any = cluster.registry._hooks
    allocators = hooks._allocators
    scheduler = hooks._binder._scheduler
    return (
        cluster.store.revision,
        [stored.raw for storage in cluster.store.storages() for stored in cluster.store.list(storage)],
        dict(allocators._taken),
        dict(allocators._node_ports._held),
        scheduler.cache.position,
        sorted(scheduler.cache.waiting),
    )


async def test_a_dry_run_leaves_no_trace(scheduling: Cluster) -> None:
    cluster, client, registry = scheduling, scheduling.client, scheduling.registry
    await client.create(NODES, "", node("n1"))
    await client.create(PODS, "default", pod("there", labels={"app": "x"}))
    await client.create(PODS, "default", pod("waits", spec={"schedulingGates": [{"name": "g"}]}))
    await client.create(SERVICES, "default", service("there", {"app": "x"}))
    await client.create(NAMESPACES, "", {"metadata": {"name": "there"}})
    budget = {"metadata": {"name": "b"}, "spec": {"selector": {"matchLabels": {"app": "x"}}, "minAvailable": 0}}
    await client.create(BUDGETS, "default", budget)
    ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    await client.patch(PODS, "default", "there", {"status": ready}, subresource="status")
    await scheduling.clock.advance(5)  # type: ignore[attr-defined]
    assert (await client.get(BUDGETS, "default", "b"))["status"]["disruptionsAllowed"] == 1
    before = traces(cluster)

    def dry(resource: Resource, name: str = "", subresource: str = "") -> Asked:
        return asked(cluster, resource, name, subresource, dry_run=True)

    def changed(current: JsonObject) -> JsonObject:
        made: JsonObject = copy.deepcopy(current)
        made["metadata"]["labels"] = {"changed": "yes"}
        return made

    made = await registry.create(dry(PODS), pod("new"))
    assert made.stored is None
    assert made.object()["metadata"]["uid"]
    balanced = service("new", {"a": "b"}, type="LoadBalancer", externalTrafficPolicy="Local")
    assert (await registry.create(dry(SERVICES), balanced)).object()["spec"]["clusterIP"].startswith("10.96.")
    await registry.create(dry(NAMESPACES), {"metadata": {"generateName": "x-"}})
    for resource, name in ((PODS, "there"), (SERVICES, "there"), (NAMESPACES, "there"), (NODES, "n1")):
        patched = await registry.patch(dry(resource, name), changed)
        assert patched.object()["metadata"]["labels"]["changed"] == "yes"
        await registry.delete(asked(cluster, resource, name), DeleteOptions(dry_run=True))

    def exposed(current: JsonObject) -> JsonObject:
        made: JsonObject = copy.deepcopy(current)
        made["spec"]["type"] = "NodePort"
        return made

    assert (await registry.patch(dry(SERVICES, "there"), exposed)).object()["spec"]["ports"][0]["nodePort"]
    items = cluster.store.list(("", "pods"))
    await registry.delete_collection(asked(cluster, PODS), items, DeleteOptions(dry_run=True))
    await subresources.create(registry, dry(PODS, "there", "eviction"), {"metadata": {"name": "there"}})
    evicted = {"metadata": {"name": "there"}, "deleteOptions": {"dryRun": ["All"]}}
    await subresources.create(registry, asked(cluster, PODS, "there", "eviction"), evicted)
    binding = {"metadata": {"name": "waits"}, "target": {"name": "n1"}}
    error = await refused(subresources.create(registry, dry(PODS, "waits", "binding"), binding))
    assert error.code == 409
    assert traces(cluster) == before
    await scheduling.clock.advance(5)  # type: ignore[attr-defined]
    assert traces(cluster) == before


async def test_a_dry_run_is_refused_where_the_write_would_be(cluster: Cluster) -> None:
    await cluster.client.create(MAPS, "default", config_map("a"))
    registry = cluster.registry
    dry = asked(cluster, MAPS, dry_run=True)
    assert (await refused(registry.create(dry, config_map("a")))).reason == "AlreadyExists"
    assert (await refused(registry.create(dry, config_map("A!")))).reason == "Invalid"
    stale = config_map("a") | {"metadata": {"name": "a", "resourceVersion": "1"}}
    assert (await refused(registry.update(asked(cluster, MAPS, "a", dry_run=True), stale))).reason == "Conflict"
    gone = asked(cluster, MAPS, "b", dry_run=True)
    assert (await refused(registry.delete(gone, DeleteOptions(dry_run=True)))).reason == "NotFound"


# optimistic concurrency


async def test_of_two_updates_of_one_revision_one_wins(cluster: Cluster) -> None:
    created = await cluster.client.create(MAPS, "default", config_map("a"))

    async def update(value: str) -> str:
        try:
            await cluster.client.update(MAPS, "default", created | {"data": {"k": value}})
        except ApiError as error:
            return error.reason
        return value

    outcomes = await asyncio.gather(*(update(str(number)) for number in range(10)))
    assert sorted(outcomes)[1:] == ["Conflict"] * 9
    stored = await cluster.client.get(MAPS, "default", "a")
    assert stored["data"]["k"] == sorted(outcomes)[0]


async def test_an_update_without_a_version_overwrites(cluster: Cluster) -> None:
    await cluster.client.create(MAPS, "default", config_map("a", k="1"))
    await cluster.client.update(MAPS, "default", config_map("a", l="2"))
    assert (await cluster.client.get(MAPS, "default", "a"))["data"] == {"l": "2"}


async def test_a_patch_may_insist_on_a_version(cluster: Cluster) -> None:
    made = await cluster.client.create(MAPS, "default", config_map("a"))
    version = made["metadata"]["resourceVersion"]
    patch = {"metadata": {"resourceVersion": version}, "data": {"k": "1"}}
    await cluster.client.patch(MAPS, "default", "a", patch)
    error = await refused(cluster.client.patch(MAPS, "default", "a", patch))
    assert (error.code, error.reason) == (409, "Conflict")


async def test_an_update_may_not_be_of_another_incarnation(cluster: Cluster) -> None:
    first = await cluster.client.create(MAPS, "default", config_map("a"))
    await cluster.client.delete(MAPS, "default", "a")
    await cluster.client.create(MAPS, "default", config_map("a"))
    stale = {"metadata": {"name": "a", "uid": first["metadata"]["uid"]}}
    assert (await refused(cluster.client.update(MAPS, "default", stale))).reason == "Conflict"
    assert (await refused(cluster.client.patch(MAPS, "default", "a", stale))).reason in ("Conflict", "Invalid")


# nothing changes


async def test_what_changes_nothing_writes_nothing(cluster: Cluster) -> None:
    made = await cluster.client.create(MAPS, "default", config_map("a", k="1"))
    before = cluster.store.revision
    again = await cluster.client.update(MAPS, "default", made)
    patched = await cluster.client.patch(MAPS, "default", "a", {"data": {"k": "1", "gone": None}})
    assert again == patched == made
    assert cluster.store.revision == before


@pytest.mark.parametrize(("one", "other"), [(True, 1), (False, 0), (1, 1.5), ([True], [1]), ({"a": 0}, {"a": False})])
async def test_true_is_not_1(cluster: Cluster, one: Any, other: Any) -> None:
    """Free-form JSON, such as a custom resource's fields or their defaults: Python takes some of it for equal."""
    definition = Resource("apiextensions.k8s.io", "v1", "customresourcedefinitions")
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"f": {"default": one}}}
    free["properties"]["f"]["x-kubernetes-preserve-unknown-fields"] = True  # type: ignore[index]
    names = {"plural": "things", "singular": "thing", "kind": "Thing"}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": free}}
    spec = {"group": "x.example", "names": names, "scope": "Namespaced", "versions": [version]}
    await cluster.client.create(definition, "", {"metadata": {"name": "things.x.example"}, "spec": spec})
    before = cluster.store.revision
    current = await cluster.client.get(definition, "", "things.x.example")
    field = current["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["f"]
    field["default"] = other
    changed = await cluster.client.update(definition, "", current)
    assert cluster.store.revision == before + 1
    kept = changed["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["f"]["default"]
    assert type(kept) is type(other)
    assert kept == other


# names


class Suffixes:
    """Chance that repeats itself: makes up names in this order."""

    def __init__(self, real: Any, *suffixes: str) -> None:
        self._suffixes = list(suffixes)
        self.uid = real.uid

    def called(self, storage: object, obj: object) -> str:
        return ""

    def suffix(self, length: int = 5) -> str:
        return self._suffixes.pop(0)


async def test_a_generated_name_that_is_taken_is_made_up_again(cluster: Cluster) -> None:
    cluster.registry.ids = Suffixes(cluster.ids, "aaaaa", "aaaaa", "aaaaa", "bbbbb")  # type: ignore[assignment]
    given = {"metadata": {"generateName": "n-"}}
    first = await cluster.client.create(NAMESPACES, "", given)
    second = await cluster.client.create(NAMESPACES, "", given)
    assert [made["metadata"]["name"] for made in (first, second)] == ["n-aaaaa", "n-bbbbb"]
    assert second["metadata"]["labels"]["kubernetes.io/metadata.name"] == "n-bbbbb"
    assert second["metadata"]["generateName"] == "n-"


async def test_after_eight_tries_it_is_a_conflict(cluster: Cluster) -> None:
    cluster.registry.ids = Suffixes(cluster.ids, *["aaaaa"] * 9)  # type: ignore[assignment]
    await cluster.client.create(PODS, "default", pod(generateName="p-"))
    before = cluster.store.revision
    error = await refused(cluster.client.create(PODS, "default", pod(generateName="p-")))
    assert (error.code, error.reason) == (409, "AlreadyExists")
    assert cluster.store.revision == before


async def test_generated_names_fit(cluster: Cluster) -> None:
    made = await cluster.client.create(PODS, "default", pod(generateName="x" * 80))
    assert len(made["metadata"]["name"]) == 63


# preconditions


@pytest.mark.parametrize("key", ["uid", "resourceVersion"])
async def test_a_delete_may_insist(cluster: Cluster, key: str) -> None:
    made = await cluster.client.create(MAPS, "default", config_map("a"))
    wrong = {"preconditions": {key: "12345"}}
    error = await refused(cluster.client.delete(MAPS, "default", "a", options=wrong))
    assert (error.code, error.reason) == (409, "Conflict")
    assert "in the precondition (12345)" in error.message
    right = {"preconditions": {key: made["metadata"][key]}}
    await cluster.client.delete(MAPS, "default", "a", options=right)
    assert (await refused(cluster.client.get(MAPS, "default", "a"))).reason == "NotFound"


async def test_an_object_with_failures_without_end_is_refused_with_some_of_them(cluster: Cluster) -> None:
    owners = [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": str(n), "controller": True} for n in range(3000)]
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "many", "ownerReferences": owners}}
    error = await refused(cluster.client.create(MAPS, "default", obj))
    assert error.code == 422
    assert len(error.message) < 4 * MOST_FAILURE_TEXT


# whom a write means


@pytest.mark.parametrize(
    ("resource", "namespace", "key"),
    [
        (MAPS, "default", "configmaps/default/x"),
        (NODES, "", "minions/x"),
        (SERVICES, "default", "services/specs/default/x"),
        (Resource("networking.k8s.io", "v1", "ingresses"), "default", "ingress/default/x"),
    ],
)
async def test_who_means_one_that_is_gone_writes_no_other(
    cluster: Cluster, resource: Resource, namespace: str, key: str
) -> None:
    body = {"metadata": {"name": "x", "uid": "old"}}
    error = await refused(cluster.registry.update(asked(cluster, resource, "x"), body))
    assert error.code == 409
    assert f"Code: 4, Key: /registry/{key}, ResourceVersion: 0, AdditionalErrorMsg" in error.message
    assert error.message.endswith("Precondition failed: UID in precondition: old, UID in object meta: ")
    assert (await refused(cluster.registry.update(asked(cluster, MAPS, "x"), {"metadata": {"name": "x"}}))).code == 404


@pytest.mark.parametrize("name", ["", None])
async def test_a_patch_takes_no_name_away(cluster: Cluster, name: str | None) -> None:
    await cluster.client.create(MAPS, "default", config_map("a"))
    error = await refused(cluster.client.patch(MAPS, "default", "a", {"metadata": {"name": name}}))
    why = "the name of the object (a based on URL) was undeterminable: name must be provided"
    assert (error.code, error.message) == (400, why)


async def test_the_namespace_is_looked_at_before_the_name(cluster: Cluster) -> None:
    await cluster.client.create(MAPS, "default", config_map("a"))
    wrong = {"metadata": {"name": "b", "namespace": "other"}}
    for work in (
        cluster.client.patch(MAPS, "default", "a", wrong),
        cluster.registry.update(asked(cluster, MAPS, "a"), wrong),
    ):
        assert "the namespace of the provided object does not match" in (await refused(work)).message

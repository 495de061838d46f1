"""Endpoints and EndpointSlices follow from Services and Pods: at every read, in every watch, and cheaply."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import pytest
import pytest_asyncio

from kube32_sim.api.endpoint_slices import compute_slices
from kube32_sim.api.endpoints import compute_endpoints
from kube32_sim.api.errors import ApiError
from kube32_sim.client import NAMESPACES, PODS, SERVICES, WatchEvent
from kube32_sim.clock import VirtualClock
from kube32_sim.cluster import Cluster
from kube32_sim.options import ServeOptions
from kube32_sim.registry import computed
from tests.support.objects import ENDPOINTS, SLICES, pod, service

JsonObject = dict[str, Any]


@pytest_asyncio.fixture
async def cluster() -> AsyncIterator[Cluster]:
    async with Cluster(ServeOptions(port=0, nodes=0, controllers="endpoints", clock="virtual")) as started:
        for storage in (ENDPOINTS, SLICES):  # those of the API server follow from nothing
            await started.store.delete((storage.group, storage.plural), "default/kubernetes", lambda _: None)
        yield started
        started.store.check()


async def run_pod(cluster: Cluster, name: str, address: str, *, ready: bool = True, **labels: str) -> None:
    await cluster.client.create(PODS, "default", pod(name, labels=labels or {"app": "x"}, spec={"nodeName": "n1"}))
    await tell(cluster, name, podIP=address, podIPs=[{"ip": address}], phase="Running")
    if ready:
        await make_ready(cluster, name)


async def tell(cluster: Cluster, name: str, **status: Any) -> None:
    await cluster.client.patch(PODS, "default", name, {"status": status}, subresource="status")


async def make_ready(cluster: Cluster, name: str, status: str = "True") -> None:
    await tell(cluster, name, conditions=[{"type": "Ready", "status": status}])


async def endpoints(cluster: Cluster, name: str) -> tuple[list[str], list[str]]:
    """(addresses, addresses that are not ready)."""
    subsets = (await cluster.client.get(ENDPOINTS, "default", name)).get("subsets", [])
    kinds = ("addresses", "notReadyAddresses")
    ready, waiting = ([a["ip"] for subset in subsets for a in subset.get(kind, ())] for kind in kinds)
    return ready, waiting


async def slices(cluster: Cluster, name: str) -> list[JsonObject]:
    found = await cluster.client.list(SLICES, "default", label_selector=f"kubernetes.io/service-name={name}")
    return found.items


async def in_slices(cluster: Cluster, name: str) -> dict[str, bool]:
    found = await slices(cluster, name)
    return {a: e["conditions"]["ready"] for s in found for e in s.get("endpoints") or () for a in e["addresses"]}


class Watching:
    """What a watcher has been told so far, read without waiting."""

    def __init__(self, cluster: Cluster, events: AsyncIterator[WatchEvent]) -> None:
        self._cluster = cluster
        self._events = events
        self._told: list[WatchEvent] = []
        clock = cluster.clock
        clock.spawn(self._follow(), "watching")

    async def _follow(self) -> None:
        async for event in self._events:
            self._told.append(event)

    async def told(self) -> list[WatchEvent]:
        """Events since the last call."""
        assert isinstance(self._cluster.clock, VirtualClock)
        await self._cluster.clock.settle()
        told, self._told = self._told, []
        return told


@pytest_asyncio.fixture
async def watching(cluster: Cluster) -> AsyncIterator[Any]:
    """`await watching(RESOURCE)`: a watcher of it."""
    async with AsyncExitStack() as stack:

        async def start(resource: Any) -> Watching:
            return Watching(cluster, await stack.enter_async_context(cluster.client.watch(resource, "default")))

        yield start


# current at every read


async def test_a_pod_comes_becomes_ready_and_goes(cluster: Cluster) -> None:
    await cluster.client.create(SERVICES, "default", service("s", {"app": "x"}))
    assert await endpoints(cluster, "s") == ([], [])
    assert [s["endpoints"] for s in await slices(cluster, "s")] == [[]]
    await cluster.client.create(PODS, "default", pod("p", labels={"app": "x"}, spec={"nodeName": "n1"}))
    assert await endpoints(cluster, "s") == ([], [])
    await tell(cluster, "p", phase="Running", podIP="10.0.0.1", podIPs=[{"ip": "10.0.0.1"}])
    assert await endpoints(cluster, "s") == ([], ["10.0.0.1"])
    assert await in_slices(cluster, "s") == {"10.0.0.1": False}
    await make_ready(cluster, "p")
    assert await endpoints(cluster, "s") == (["10.0.0.1"], [])
    assert await in_slices(cluster, "s") == {"10.0.0.1": True}
    await make_ready(cluster, "p", "False")
    assert await endpoints(cluster, "s") == ([], ["10.0.0.1"])
    await cluster.client.delete(PODS, "default", "p")  # terminating
    assert await endpoints(cluster, "s") == ([], [])
    assert await in_slices(cluster, "s") == {}


async def test_a_finished_pod_is_an_address_that_is_not_ready(cluster: Cluster) -> None:
    await cluster.client.create(SERVICES, "default", service("s", {"app": "x"}))
    await run_pod(cluster, "p", "10.0.0.1")
    await tell(cluster, "p", phase="Succeeded")
    assert await endpoints(cluster, "s") == ([], ["10.0.0.1"])


async def test_labels_and_selectors_change(cluster: Cluster) -> None:
    await cluster.client.create(SERVICES, "default", service("s", {"app": "x", "tier": "front"}))
    await run_pod(cluster, "a", "10.0.0.1", app="x", tier="front")
    await run_pod(cluster, "b", "10.0.0.2", app="x", tier="back")
    assert await endpoints(cluster, "s") == (["10.0.0.1"], [])
    await cluster.client.patch(PODS, "default", "b", {"metadata": {"labels": {"tier": "front"}}})
    assert await endpoints(cluster, "s") == (["10.0.0.1", "10.0.0.2"], [])
    await cluster.client.patch(PODS, "default", "a", {"metadata": {"labels": {"app": None}}})
    assert await endpoints(cluster, "s") == (["10.0.0.2"], [])
    await cluster.client.patch(SERVICES, "default", "s", {"spec": {"selector": {"app": None, "tier": "front"}}})
    assert await endpoints(cluster, "s") == (["10.0.0.1", "10.0.0.2"], [])
    await cluster.client.patch(SERVICES, "default", "s", {"spec": {"ports": [{"port": 80, "targetPort": 9090}]}})
    assert (await slices(cluster, "s"))[0]["ports"][0]["port"] == 9090


async def test_a_service_that_goes_takes_them_with_it(cluster: Cluster) -> None:
    await cluster.client.create(SERVICES, "default", service("s", {"app": "x"}))
    await run_pod(cluster, "p", "10.0.0.1")
    old = await cluster.client.get(ENDPOINTS, "default", "s")
    await cluster.client.delete(SERVICES, "default", "s")
    with pytest.raises(ApiError, match="not found"):
        await cluster.client.get(ENDPOINTS, "default", "s")
    assert await slices(cluster, "s") == []
    await cluster.client.create(SERVICES, "default", service("s", {"app": "x"}))
    assert await endpoints(cluster, "s") == (["10.0.0.1"], [])
    new = await cluster.client.get(ENDPOINTS, "default", "s")
    assert new["metadata"]["uid"] != old["metadata"]["uid"]


async def test_services_without_selector_have_none(cluster: Cluster) -> None:
    await cluster.client.create(SERVICES, "default", service("s", None))
    await cluster.client.create(SERVICES, "default", service("t", {"app": "x"}))
    await run_pod(cluster, "p", "10.0.0.1")
    found = (await cluster.client.list(ENDPOINTS, "default")).items
    assert [e["metadata"]["name"] for e in found] == ["t"]
    await cluster.client.patch(SERVICES, "default", "t", {"spec": {"type": "ExternalName", "externalName": "x.y"}})
    assert (await cluster.client.list(ENDPOINTS, "default")).items == []
    assert (await cluster.client.list(SLICES, "default")).items == []


async def test_other_namespaces_do_not_matter(cluster: Cluster) -> None:
    await cluster.client.create(NAMESPACES, "", {"metadata": {"name": "other"}})
    await cluster.client.create(SERVICES, "default", service("s", {"app": "x"}))
    await cluster.client.create(SERVICES, "other", service("s", {"app": "x"}))
    await run_pod(cluster, "p", "10.0.0.1")
    assert "subsets" not in await cluster.client.get(ENDPOINTS, "other", "s")
    assert await endpoints(cluster, "s") == (["10.0.0.1"], [])


@pytest.mark.parametrize("seed", range(8))
async def test_whatever_happens_they_are_what_follows_from_the_present(
    cluster: Cluster, watching: Any, seed: int
) -> None:
    """Random histories, read now and then; watchers' folds agree with reads, and both with computing from nothing."""
    rng = random.Random(seed)
    watchers = {resource: await watching(resource) for resource in (ENDPOINTS, SLICES)} if seed % 2 else {}
    folds: dict[Any, dict[str, JsonObject]] = {ENDPOINTS: {}, SLICES: {}}
    for _ in range(120):
        await anything(cluster, rng)
        if rng.random() < 0.2:
            for resource, watcher in watchers.items():
                fold(folds[resource], await watcher.told())
            services = [s.object() for s in cluster.store.list(("", "services"), "default")]
            pods = [p.object() for p in cluster.store.list(("", "pods"), "default")]
            wanted: dict[Any, list[JsonObject]] = {ENDPOINTS: [], SLICES: []}
            for each in services:
                selector = each["spec"].get("selector") or {}
                mine = [p for p in pods if selector.items() <= (p["metadata"].get("labels") or {}).items()]
                made = compute_endpoints(each, mine)
                wanted[ENDPOINTS] += [made] if made else []
                wanted[SLICES] += compute_slices(each, mine)
            for resource, expected in wanted.items():
                items = (await cluster.client.list(resource, "default")).items
                assert contents(items) == contents(expected)
                assert not watchers or folds[resource] == {item["metadata"]["name"]: item for item in items}


def contents(items: Any) -> dict[str, list[str]]:
    """What objects say, endpoints by what they share: in which slice they are depends on what was before."""
    said: dict[str, list[str]] = {}
    for subsets, endpoints, *shared in by_name(items).values():
        said.setdefault(repr((subsets, shared)), []).extend(map(repr, endpoints or ()))
    return {shared: sorted(endpoints) for shared, endpoints in said.items()}


def by_name(items: Any) -> dict[str, tuple[Any, ...]]:
    parts = ("subsets", "endpoints", "ports", "addressType")
    return {o["metadata"]["name"]: (*map(o.get, parts), o["metadata"]["labels"]) for o in items}


def fold(known: dict[str, JsonObject], events: list[WatchEvent]) -> None:
    for event in events:
        name = event.object["metadata"]["name"]
        if event.type == "DELETED":
            del known[name]
            continue
        assert (name in known) == (event.type == "MODIFIED")
        old = known.get(name)
        assert old is None or by_name([old]) != by_name([event.object]), "an event that tells nothing new"
        known[name] = event.object


async def anything(cluster: Cluster, rng: random.Random) -> None:
    """One random change of a few pods and services."""
    client, name = cluster.client, f"p{rng.randrange(6)}"
    number = rng.randrange(200)
    labels = {"app": rng.choice("xy"), "tier": rng.choice("ab")}
    selector = rng.choice([{"app": "x"}, {"app": "y", "tier": "a"}, {"tier": "b"}])
    ports = rng.choice([[{"port": 80}], [{"port": 80, "targetPort": "web"}, {"port": 81, "name": "b"}][:1]])
    container = {"name": "c", "image": "i", "ports": [{"name": "web", "containerPort": 8000 + number % 2}]}
    try:
        match rng.randrange(9):
            case 0 | 1:
                spec = {"nodeName": "n1", "containers": [container]}
                await client.create(PODS, "default", pod(name, labels=labels, spec=spec))
            case 2:
                options = {"gracePeriodSeconds": rng.choice([0, 5])}
                await client.delete(PODS, "default", name, options=options)
            case 3 | 4:
                address = f"10.0.0.{number}"
                await tell(cluster, name, phase="Running", podIP=address, podIPs=[{"ip": address}])
            case 5:
                await make_ready(cluster, name, rng.choice(["True", "False"]))
            case 6:
                await client.patch(PODS, "default", name, {"metadata": {"labels": labels}})
            case 7:
                await client.create(SERVICES, "default", service(f"s{number % 3}", selector, ports=ports))
            case 8:
                if rng.random() < 0.5:
                    await client.delete(SERVICES, "default", f"s{number % 3}")
                else:
                    without: JsonObject = {"spec": {"selector": None, "ports": ports}}
                    await client.patch(SERVICES, "default", f"s{number % 3}", without)
                    await client.patch(SERVICES, "default", f"s{number % 3}", {"spec": {"selector": selector}})
    except ApiError as error:
        if error.code not in (404, 409, 422):
            raise


async def test_a_service_that_is_created_anew_at_once_has_endpoints_of_its_own(cluster: Cluster, watching: Any) -> None:
    watchers = [await watching(ENDPOINTS), await watching(SLICES)]
    await cluster.client.create(SERVICES, "default", service("s", {"app": "x"}))
    await run_pod(cluster, "p", "10.0.0.1")
    uids = [{event.object["metadata"]["uid"] for event in await watcher.told()} for watcher in watchers]
    await cluster.client.delete(SERVICES, "default", "s")
    await cluster.client.create(SERVICES, "default", service("s", {"app": "x"}))
    for watcher, old in zip(watchers, uids, strict=True):
        gone, new = await watcher.told()
        assert (gone.type, new.type) == ("DELETED", "ADDED")
        assert (gone.object["metadata"]["uid"] in old, new.object["metadata"]["uid"] in old) == (True, False)


# watches


async def test_a_watch_tells_what_has_changed_and_nothing_else(cluster: Cluster, watching: Any) -> None:
    await cluster.client.create(SERVICES, "default", service("s", {"app": "x"}))
    await cluster.client.create(SERVICES, "default", service("other", {"app": "y"}))
    for resource in (ENDPOINTS, SLICES):
        watcher = await watching(resource)
        assert [event.type for event in await watcher.told()] == ["ADDED", "ADDED"]
        name = f"p-{resource.plural}"
        await cluster.client.create(PODS, "default", pod(name, labels={"app": "x"}, spec={"nodeName": "n1"}))
        assert await watcher.told() == []  # it has no address yet
        await tell(cluster, name, phase="Running", podIP="10.0.0.1", podIPs=[{"ip": "10.0.0.1"}])
        (event,) = await watcher.told()
        assert (event.type, event.object["metadata"]["name"].partition("-")[0]) == ("MODIFIED", "s")
        await tell(cluster, name, message="what nobody needs to know")
        await cluster.client.patch(PODS, "default", name, {"metadata": {"annotations": {"a": "b"}}})
        await cluster.client.patch(SERVICES, "default", "s", {"metadata": {"annotations": {"a": resource.plural}}})
        assert await watcher.told() == []
        await make_ready(cluster, name)
        assert [event.type for event in await watcher.told()] == ["MODIFIED"]
        await cluster.client.delete(PODS, "default", name, options={"gracePeriodSeconds": 0})
        assert [event.type for event in await watcher.told()] == ["MODIFIED"]


async def test_changes_of_one_turn_are_one_event(cluster: Cluster, watching: Any) -> None:
    await cluster.client.create(SERVICES, "default", service("s", {"app": "x"}))
    watcher = await watching(ENDPOINTS)
    await watcher.told()
    for number in range(5):
        await run_pod(cluster, f"p{number}", f"10.0.0.{number}")
    (event,) = await watcher.told()
    assert [a["ip"] for a in event.object["subsets"][0]["addresses"]] == [f"10.0.0.{number}" for number in range(5)]


async def test_a_slice_counts_its_generations(cluster: Cluster) -> None:
    await cluster.client.create(SERVICES, "default", service("s", {"app": "x"}))
    assert (await slices(cluster, "s"))[0]["metadata"]["generation"] == 1
    await run_pod(cluster, "p", "10.0.0.1")
    assert (await slices(cluster, "s"))[0]["metadata"]["generation"] == 2
    await cluster.client.patch(SERVICES, "default", "s", {"metadata": {"labels": {"l": "m"}}})
    relabelled = (await slices(cluster, "s"))[0]["metadata"]
    assert (relabelled["labels"]["l"], relabelled["generation"]) == ("m", 2)


# who may write them


@pytest.mark.parametrize("resource", [ENDPOINTS, SLICES], ids=["endpoints", "slices"])
async def test_nobody_writes_them_while_they_are_computed(cluster: Cluster, resource: Any) -> None:
    client, obj = cluster.client, {"metadata": {"name": "s"}, "addressType": "IPv4", "endpoints": []}
    obj = obj if resource is SLICES else {"metadata": {"name": "s"}}
    for work in (
        client.create(resource, "default", obj),
        client.update(resource, "default", obj),
        client.patch(resource, "default", "s", {"metadata": {"labels": {"a": "b"}}}),
        client.delete(resource, "default", "s"),
    ):
        with pytest.raises(ApiError) as caught:
            await work
        assert (caught.value.code, caught.value.reason) == (405, "MethodNotAllowed")


@pytest.mark.parametrize("resource", [ENDPOINTS, SLICES], ids=["endpoints", "slices"])
async def test_with_the_loop_switched_off_they_are_objects_like_others(resource: Any) -> None:
    async with Cluster(ServeOptions(port=0, nodes=0, controllers="*,-endpoints", clock="virtual")) as cluster:
        client = cluster.client
        await client.create(SERVICES, "default", service("s", {"app": "x"}))
        await run_pod(cluster, "p", "10.0.0.1")
        assert [o["metadata"]["name"] for o in (await client.list(resource, "default")).items] == ["kubernetes"]
        obj = {"metadata": {"name": "s"}, "addressType": "IPv4", "endpoints": []}
        await client.create(resource, "default", obj if resource is SLICES else {"metadata": {"name": "s"}})
        changed = await client.patch(resource, "default", "s", {"metadata": {"labels": {"a": "b"}}})
        assert changed["metadata"]["labels"] == {"a": "b"}
        await client.delete(resource, "default", "s")


# cost


class Counting:
    def __init__(self, cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls: Counter[str] = Counter()
        for name in ("entries_of", "endpoints_of", "slices_of"):
            monkeypatch.setattr(computed, name, self._counted(name, getattr(computed, name)))
        monkeypatch.setattr(computed.Selecting, "hear", self._counted("hear", computed.Selecting.hear))
        cluster.store.subscribe(self._wrote, [("", "endpoints"), computed.SLICES])

    def _counted(self, name: str, real: Any) -> Any:
        def call(*arguments: Any) -> Any:
            self.calls[name] += 1
            return real(*arguments)

        return call

    def _wrote(self, event: Any) -> None:
        self.calls["bytes"] += len(event.stored.raw)

    def taken(self) -> Counter[str]:
        taken, self.calls = self.calls, Counter()
        return taken


async def test_nobody_looks_nobody_computes(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    counting = Counting(cluster, monkeypatch)
    await cluster.client.create(SERVICES, "default", service("s", {"app": "x"}))
    for number in range(20):
        await run_pod(cluster, f"p{number}", f"10.0.0.{number}")
    assert set(counting.taken()) <= {"hear"}
    assert len((await endpoints(cluster, "s"))[0]) == 20
    assert counting.taken() == {"entries_of": 20, "endpoints_of": 1, "bytes": pytest.approx(4500, rel=0.5)}
    await endpoints(cluster, "s")
    assert counting.taken() == {}


async def test_a_pod_costs_its_own_services_only(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    counting = Counting(cluster, monkeypatch)
    for number in range(300):
        await cluster.client.create(SERVICES, "default", service(f"s{number}", {"app": "x", "n": str(number)}))
    await cluster.client.create(SERVICES, "default", service("mine", {"app": "x"}))
    await cluster.client.list(ENDPOINTS, "default")
    counting.taken()
    await run_pod(cluster, "p", "10.0.0.1", app="x", n="7", more="labels")
    taken = counting.taken()
    assert taken["entries_of"] == 2 * 3  # three changes of the pod, which two services select
    await cluster.client.list(ENDPOINTS, "default")
    assert counting.taken()["endpoints_of"] == 2


async def test_a_thousand_pods_behind_one_watched_service(
    cluster: Cluster, watching: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    await cluster.client.create(SERVICES, "default", service("s", {"app": "x"}))
    for number in range(1000):
        await run_pod(cluster, f"p{number}", f"10.0.{number // 250}.{number % 250}")
    watcher = await watching(SLICES)
    assert len(await watcher.told()) == 10
    counting = Counting(cluster, monkeypatch)
    await make_ready(cluster, "p500", "False")
    (event,) = await watcher.told()
    assert len(event.object["endpoints"]) <= 100
    taken = counting.taken()
    assert (taken["entries_of"], taken["slices_of"], taken["endpoints_of"]) == (1, 1, 0)
    assert taken["bytes"] < 40_000  # the one slice
    for number in range(10):
        await tell(cluster, f"p{number}", message="nothing that matters")
    assert await watcher.told() == []
    taken = counting.taken()
    assert (taken["entries_of"], taken["slices_of"], taken["bytes"]) == (10, 0, 0)


async def test_they_are_as_old_as_their_service_whenever_somebody_first_looks(cluster: Cluster) -> None:
    assert isinstance(cluster.clock, VirtualClock)
    made = await cluster.client.create(SERVICES, "default", service("web", {"app": "x"}))
    await run_pod(cluster, "a", "10.0.0.1")
    await cluster.clock.advance(90.0)
    since = made["metadata"]["creationTimestamp"]
    assert (await cluster.client.get(ENDPOINTS, "default", "web"))["metadata"]["creationTimestamp"] == since
    assert [found["metadata"]["creationTimestamp"] for found in await slices(cluster, "web")] == [since]

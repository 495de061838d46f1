"""`recordings` over HTTP: whatever clients send and faults do, what happened is told, and nobody is failed by it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from kube32_sim.client import PODS, Resource
from kube32_sim.cluster import Cluster
from kube32_sim.http_client import HttpClient
from kube32_sim.recording import tape
from kube32_sim.replaying.taking import Taking
from tests.support.faults import SCENARIO, rule, scenario
from tests.support.objects import config_map, pod
from tests.support.waiting import eventually
from tests.support.wire import Answer, Wire, connected

JsonObject = dict[str, Any]
PATH = "/apis/sim.kube32.io/v1alpha1/recordings"
MAPS_PATH = "/api/v1/namespaces/default/configmaps"
MAPS = Resource("", "v1", "configmaps")
ROLES = Resource("rbac.authorization.k8s.io", "v1", "clusterroles")
BINDINGS = Resource("rbac.authorization.k8s.io", "v1", "clusterrolebindings")


@pytest_asyncio.fixture
async def cluster() -> AsyncIterator[Cluster]:
    async with Cluster(nodes=0, clock="virtual", controllers="none") as cluster:
        yield cluster


@pytest_asyncio.fixture
async def wire(cluster: Cluster) -> AsyncIterator[Wire]:
    async with connected(cluster.port) as wire:
        yield wire


async def post(wire: Wire, path: str = PATH, **spec: Any) -> Answer:
    return await wire("POST", path, {"metadata": {"name": "r"}, "spec": spec})


async def told(wire: Wire, **spec: Any) -> list[JsonObject]:
    answer = await post(wire, **spec)
    assert answer.status == 201, answer.body
    return [json.loads(line) for line in answer.json()["status"]["lines"].split("\n") if line]


UNREADABLE = [
    b"{",
    b"\x00",
    b"\xff\xfe",
    b"a: [",
    b"a: &a [*a]",
    b"a: !!set {x, y}",
    b"? {a: 1}\n: 2",
    b"1: 2",
    b"a: !!binary aGVsbG8=",
    b'{"a":"\\ud800"}',
    b"a: 0x7fffffffffffffffffffffff",
    b"[" * 5000,
]
PATCHES = [
    "application/merge-patch+json",
    "application/json-patch+json",
    "application/apply-patch+yaml",
    "application/yaml",
    "text/\xff",
]


@pytest.mark.parametrize("media", PATCHES)
async def test_a_patch_that_cannot_be_read_is_answered_as_without_a_recording(
    cluster: Cluster, wire: Wire, media: str
) -> None:
    await cluster.client.create(MAPS, "default", config_map("a"))

    async def answers() -> list[int]:
        path = f"{MAPS_PATH}/a?fieldManager=m"
        return [(await wire("PATCH", path, body, Content_Type=media)).status for body in UNREADABLE]

    expected = await answers()
    await post(wire)
    assert await answers() == expected
    assert [one["responseStatus"]["code"] for one in await told(wire)] == expected


async def test_a_user_agent_that_is_no_text_is_told_as_far_as_it_is(wire: Wire) -> None:
    await post(wire)
    answer = await wire("POST", MAPS_PATH, {"metadata": {"name": "a"}}, User_Agent="a\xff")
    assert answer.status == 201
    assert [one["userAgent"][:1] for one in await told(wire)] == ["a"]


@pytest.mark.parametrize(
    ("effect", "codes"),
    [
        ({"reset": True, "when": "After"}, [201]),
        ({"status": 500, "when": "After"}, [201]),
        ({"status": 500}, []),
        ({"reset": True}, []),
    ],
)
async def test_what_a_fault_hides_is_recorded_as_it_was(
    cluster: Cluster, wire: Wire, effect: JsonObject, codes: list[int]
) -> None:
    await post(wire)
    put = await wire("PUT", SCENARIO, scenario(rule(match={"verbs": ["create"]}, effect=effect)))
    assert put.status == 200, put.body
    async with connected(cluster.port) as other:
        try:
            await other("POST", MAPS_PATH, {"metadata": {"name": "a"}})
        except (ConnectionError, AssertionError):  # it was reset
            assert "reset" in effect
    assert len((await cluster.client.list(MAPS, "default")).items) == len(codes)
    assert [one["responseStatus"]["code"] for one in await told(wire)] == codes


async def test_text_with_any_end_of_line_in_it_is_taken(cluster: Cluster) -> None:
    taken: list[JsonObject] = []
    async with HttpClient(cluster.access, program="somebody") as client:
        taking = Taking(client, "test", taken.append)
        await taking.begin()
        data = {"a": "b\u2028c\x85d\x0ce"}
        await client.create(MAPS, "default", {**config_map("a"), "data": data})
        await taking.end()
    assert [one["requestObject"]["data"] for one in taken if one.get("verb") == "create"] == [data]


@pytest.mark.parametrize("after", [-1, 2, 2**31 - 1])
async def test_nobody_goes_on_where_nothing_is(wire: Wire, after: int) -> None:
    await post(wire)
    await wire("POST", MAPS_PATH, {"metadata": {"name": "a"}})
    refused = await post(wire, after=after)
    assert refused.status == 422
    assert refused.json()["details"]["causes"][0]["field"] == "spec.after"
    assert len(await told(wire)) == 1


async def test_a_dry_run_begins_and_ends_nothing(cluster: Cluster, wire: Wire) -> None:
    dry = await post(wire, f"{PATH}?dryRun=All")
    assert dry.json()["status"]["resourceVersion"] == str(cluster.store.revision)
    assert not cluster._tape.on
    await post(wire)
    await wire("POST", MAPS_PATH, {"metadata": {"name": "a"}})
    assert (await post(wire, f"{PATH}?dryRun=All", after=1, end=True)).status == 201
    assert len(await told(wire)) == 1


async def test_an_answer_has_no_more_bytes_than_are_good_for_it(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tape, "PAGE_BYTES", 1500)
    await post(wire)
    for name in "abc":
        await wire("POST", MAPS_PATH, {"metadata": {"name": name}, "data": {"a": "x" * 1000}})
    found, after, more = [], 0, True
    while more:
        status = (await post(wire, after=after)).json()["status"]
        found.append(status["lines"].count("\n") + 1)
        after, more = status["next"], status["more"]
    assert found == [1, 1, 1]


async def test_a_recording_that_nobody_asks_for_ends_by_itself(
    cluster: Cluster, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tape, "PATIENCE", 0.05)
    await post(wire)
    await cluster.client.create(PODS, "default", pod("a"))
    await eventually(lambda: not cluster._tape.on, "nobody records")


async def test_only_who_may_read_secrets_may_record() -> None:
    async with Cluster(nodes=0, clock="virtual", authorization_mode="RBAC") as cluster, connected(cluster.port) as wire:
        rules = [{"apiGroups": ["sim.kube32.io"], "resources": ["recordings"], "verbs": ["create"]}]
        await cluster.client.create(ROLES, "", {"metadata": {"name": "taper"}, "rules": rules})
        group = "rbac.authorization.k8s.io"
        role = {"kind": "ClusterRole", "name": "taper", "apiGroup": group}
        subjects = [{"kind": "User", "name": "mary", "apiGroup": group}]
        await cluster.client.create(BINDINGS, "", {"metadata": {"name": "t"}, "roleRef": role, "subjects": subjects})
        body = {"metadata": {"name": "r"}}
        refused = await wire("POST", PATH, body, Impersonate_User="mary")
        assert refused.status == 403
        assert 'cannot list resource "secrets"' in refused.json()["message"]
        rules.append({"apiGroups": [""], "resources": ["secrets"], "verbs": ["list"]})
        await cluster.client.patch(ROLES, "", "taper", {"rules": rules})
        assert (await wire("POST", PATH, body, Impersonate_User="mary")).status == 201

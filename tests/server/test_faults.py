"""Faults of the API as a client on the wire meets them: each with Kubernetes' words, and none that nobody asked for."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from kube32_sim.api.errors import ApiError
from kube32_sim.client import PODS
from kube32_sim.cluster import Cluster
from kube32_sim.http_client import HttpClient
from kube32_sim.ids import Ids
from kube32_sim.kubelet.agent import Board, Pace
from kube32_sim.kubelet.boards import profiles
from kube32_sim.options import OptionError
from tests.support.faults import SCENARIO, SCENARIOS, rule, scenario
from tests.support.objects import MAPS
from tests.support.waiting import eventually
from tests.support.wire import Answer, Wire, connected

JsonObject = dict[str, Any]
MAPS_PATH = "/api/v1/namespaces/default/configmaps"
HEADER = "Sim-Kube32-Fault"


@pytest_asyncio.fixture
async def other(bare: Cluster) -> AsyncIterator[Wire]:
    """A second connection."""
    async with connected(bare.port) as opened:
        yield opened


async def put(wire: Wire, *rules: JsonObject, seed: int = 0) -> JsonObject:
    answer = await wire("PUT", SCENARIO, scenario(*rules, seed=seed))
    assert answer.status == 200, answer.body
    made: JsonObject = answer.json()
    return made


async def create(wire: Wire, name: str) -> Answer:
    return await wire("POST", MAPS_PATH, {"metadata": {"name": name}})


async def exists(cluster: Cluster, name: str) -> bool:
    return any(one["metadata"]["name"] == name for one in (await cluster.client.list(MAPS, "default")).items)


# the object


async def test_there_is_none_until_one_is_set_and_after_it_was_deleted(wire: Wire) -> None:
    assert (await wire("GET", SCENARIO)).status == 404
    assert (await wire("GET", SCENARIOS)).json()["items"] == []
    assert (await wire("POST", SCENARIOS, scenario(rule()))).status == 201
    again = await wire("POST", SCENARIOS, scenario(rule()))
    assert (again.status, again.json()["reason"]) == (409, "AlreadyExists")
    (one,) = (await wire("GET", SCENARIOS)).json()["items"]
    assert one["spec"]["rules"][0]["effect"] == {"status": 503}
    assert (await wire("DELETE", SCENARIO)).json()["status"] == "Success"
    assert (await wire("DELETE", SCENARIO)).status == 404
    assert (await wire("GET", MAPS_PATH)).status == 200


async def test_a_patch_changes_it_and_begins_anew(wire: Wire) -> None:
    await put(wire, rule(effect={"status": 503}))
    assert (await wire("GET", MAPS_PATH)).status == 503
    patch = {"spec": {"rules": [rule(effect={"status": 429})]}}
    answer = await wire("PATCH", SCENARIO, patch, Content_Type="application/merge-patch+json")
    assert (answer.status, answer.json()["status"]["requests"]) == (200, 0)
    assert (await wire("GET", MAPS_PATH)).status == 429
    applied = await wire(
        "PATCH", f"{SCENARIO}?fieldManager=x", scenario(rule()), Content_Type="application/apply-patch+yaml"
    )
    assert (applied.status, "server-side apply" in applied.json()["message"]) == (415, True)


async def test_a_dry_run_sets_and_deletes_nothing(wire: Wire) -> None:
    assert (await wire("PUT", f"{SCENARIO}?dryRun=All", scenario(rule()))).status == 200
    assert (await wire("GET", SCENARIO)).status == 404
    await put(wire, rule())
    assert (await wire("DELETE", f"{SCENARIO}?dryRun=All")).status == 200
    assert (await wire("GET", SCENARIO)).status == 200


@pytest.mark.parametrize("method", ["POST", "PUT"])
async def test_what_cannot_be_is_refused_by_its_field(wire: Wire, method: str) -> None:
    path = SCENARIOS if method == "POST" else SCENARIO
    refused = await wire(method, path, scenario(rule("a"), rule("b", {"status": 418})))
    assert refused.status == 422
    (cause,) = refused.json()["details"]["causes"]
    assert cause["field"] == "spec.rules[1].effect.status"
    unknown = await wire(method, path, scenario(rule(chance=0.5)))
    assert (unknown.status, 'unknown field "spec.rules[0].chance"' in unknown.json()["message"]) == (400, True)
    assert (await wire("GET", SCENARIO)).status == 404


async def test_other_names_are_refused(wire: Wire) -> None:
    body = scenario(rule())
    body["metadata"]["name"] = "mine"
    assert (await wire("POST", SCENARIOS, body)).status == 422
    assert (await wire("PUT", f"{SCENARIOS}/mine", body)).status == 404


async def test_it_can_always_be_seen_and_taken_away(wire: Wire) -> None:
    await put(wire, rule(effect={"reset": True}))
    for path in (SCENARIO, SCENARIOS, "/healthz", "/readyz", "/api", "/apis/sim.kube32.io/v1alpha1/clocks"):
        assert (await wire("GET", path)).status == 200, path
    assert (await wire("GET", MAPS_PATH, User_Agent="kube32-sim/1.0 (kube32-sim)")).status == 200
    assert (await wire("DELETE", SCENARIO)).status == 200


# failures

UNABLE = "the server is currently unable to handle the request"
CONTINUE_TOO_OLD = "The provided continue parameter is too old to display a consistent list result"
CONFLICT = (
    'Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to the '
    "latest version and try again"
)


@pytest.mark.parametrize(
    ("effect", "reason", "message", "retry_after"),
    [
        ({"status": 409}, "Conflict", CONFLICT, ""),
        ({"status": 429}, "TooManyRequests", "Too many requests, please try again later.", "1"),
        ({"status": 429, "retryAfter": 7}, "TooManyRequests", "Too many requests, please try again later.", "7"),
        ({"status": 500}, "InternalError", "Internal error occurred: etcdserver: leader changed", ""),
        ({"status": 503}, "ServiceUnavailable", UNABLE, ""),
        ({"status": 503, "retryAfter": 2}, "ServiceUnavailable", UNABLE, "2"),
        ({"status": 504}, "Timeout", "Timeout: request did not complete within the allotted timeout", ""),
    ],
)  # fmt: skip
async def test_failures_have_kubernetes_words(
    wire: Wire, bare: Cluster, effect: JsonObject, reason: str, message: str, retry_after: str
) -> None:
    before = (await create(wire, "a")).json()
    await put(wire, rule("on-purpose", effect))
    answer = await wire("PUT", f"{MAPS_PATH}/a", {**before, "data": {"led": "on"}})
    status = answer.json()
    assert (answer.status, status["code"], status["kind"]) == (effect["status"], effect["status"], "Status")
    assert (status["reason"], status["message"]) == (reason, message)
    assert answer.header("Retry-After") == retry_after
    assert answer.header(HEADER) == "on-purpose"
    assert (await bare.client.get(MAPS, "default", "a")) == before  # nothing was written


@pytest.mark.parametrize("effect", [{"status": 500}, {"status": 503}, {"status": 504}, {"reset": True}])
async def test_after_it_the_write_has_happened_and_its_answer_is_lost(
    bare: Cluster, wire: Wire, other: Wire, effect: JsonObject
) -> None:
    await put(wire, rule(effect={**effect, "when": "After"}, match={"verbs": ["create"]}))
    if "reset" in effect:
        with pytest.raises((ConnectionError, AssertionError)):
            await create(other, "a")
    else:
        assert (await create(other, "a")).status == effect["status"]
    assert await exists(bare, "a")
    await wire("DELETE", SCENARIO)
    assert (await create(wire, "a")).json()["reason"] == "AlreadyExists"
    bare.store.check()


async def test_a_reset_is_told_as_one_and_nothing_is_written(bare: Cluster, wire: Wire, other: Wire) -> None:
    await put(wire, rule(effect={"reset": True}))
    with pytest.raises(ConnectionResetError):
        await create(other, "a")
    assert not await exists(bare, "a")


async def test_answers_are_late_in_the_client_s_time_whatever_the_cluster_s(virtual_cluster: Cluster) -> None:
    """Time stands still here, and goes on for who waits."""
    async with connected(virtual_cluster.port) as wire:
        await put(wire, rule("late", {"latency": "60ms"}, {"verbs": ["get", "create"]}))
        for answer in (lambda: wire("GET", "/api/v1/nodes/esp32-0"), lambda: create(wire, "a")):
            began = time.monotonic()
            got = await answer()
            assert time.monotonic() - began >= 0.06
            assert (got.status < 300, got.header(HEADER)) == (True, "late")
        assert virtual_cluster.clock.now() == pytest.approx(1767225600.0)


async def test_who_is_delayed_keeps_nobody_waiting(bare: Cluster, wire: Wire, other: Wire) -> None:
    await put(wire, rule(effect={"latency": "10m"}, match={"userAgents": ["patient"]}))
    await other.ask("GET", MAPS_PATH, User_Agent="patient")
    assert (await wire("GET", MAPS_PATH)).status == 200
    assert (await wire("DELETE", SCENARIO)).status == 200


async def test_a_list_that_is_a_stream_tells_its_fault(wire: Wire) -> None:
    await put(wire, rule("late", {"latency": "1ms"}))
    answer = await wire("GET", MAPS_PATH)
    assert (answer.status, answer.header(HEADER)) == (200, "late")


# the past


async def test_a_page_after_a_compaction(wire: Wire) -> None:
    for name in ("a", "b", "c"):
        await create(wire, name)
    first = (await wire("GET", f"{MAPS_PATH}?limit=1")).json()
    token = first["metadata"]["continue"]
    await put(wire, rule("compacted", {"status": 410}))
    assert (await wire("GET", f"{MAPS_PATH}?limit=1")).status == 200  # it asks for nothing of the past
    gone = await wire("GET", f"{MAPS_PATH}?limit=1&continue={token}")
    status = gone.json()
    assert (gone.status, status["reason"]) == (410, "Expired")
    assert status["message"].startswith(
        "The provided continue parameter is too old to display a consistent list result"
    )
    rest = (await wire("GET", f"{MAPS_PATH}?continue={status['metadata']['continue']}")).json()
    assert [one["metadata"]["name"] for one in rest["items"]] == ["b", "c"]
    exact = await wire(
        "GET", f"{MAPS_PATH}?resourceVersion={first['metadata']['resourceVersion']}&resourceVersionMatch=Exact"
    )
    assert (exact.status, exact.json()["message"]) == (410, "The resourceVersion for the provided list is too old.")
    assert (await wire("GET", f"{MAPS_PATH}?continue=nonsense")).status == 400


async def test_a_watch_after_a_compaction(wire: Wire, other: Wire) -> None:
    revision = (await create(wire, "a")).json()["metadata"]["resourceVersion"]
    await put(wire, rule("compacted", {"status": 410}, {"verbs": ["watch"]}))
    answer = await other("GET", f"{MAPS_PATH}?watch=1&resourceVersion={revision}")
    (event,) = [answer.json()]
    assert (answer.status, answer.header(HEADER), event["type"]) == (200, "compacted", "ERROR")
    assert (event["object"]["code"], event["object"]["reason"]) == (410, "Expired")
    assert event["object"]["message"].startswith("too old resource version: ")


# watches


async def events(wire: Wire, query: str = "") -> list[JsonObject]:
    return [event async for event in await wire.watch(f"{MAPS_PATH}?watch=1{query}")]


@pytest.mark.parametrize("form", ["application/json", "application/json;as=Table;g=meta.k8s.io;v=v1"])
async def test_a_watch_is_closed_after_so_many_events_of_the_past(wire: Wire, other: Wire, form: str) -> None:
    for number in range(5):
        await create(wire, f"a{number}")
    await put(wire, rule("cut", {"watch": {"afterEvents": 3}}))
    seen = [event async for event in await other.watch(f"{MAPS_PATH}?watch=1", Accept=form)]
    assert [event["type"] for event in seen] == ["ADDED"] * 3


@pytest.mark.parametrize(("ending", "last"), [("Close", []), ("Expired", ["ERROR"])])
async def test_a_watch_ends_after_so_many_events_as_they_come(
    bare: Cluster, wire: Wire, other: Wire, ending: str, last: list[str]
) -> None:
    await put(wire, rule("cut", {"watch": {"afterEvents": 3, "ending": ending}}))
    seen = []
    async for event in await other.watch(f"{MAPS_PATH}?watch=1&sendInitialEvents=true&allowWatchBookmarks=true"
                                   "&resourceVersionMatch=NotOlderThan"):  # fmt: skip
        seen.append(event)
        if event["type"] == "BOOKMARK":
            for number in range(5):
                await bare.client.create(MAPS, "default", {"metadata": {"name": f"a{number}"}})
    assert [event["type"] for event in seen] == ["BOOKMARK", "ADDED", "ADDED", "ADDED", *last]
    assert [event["object"]["metadata"]["name"] for event in seen[1:4]] == ["a0", "a1", "a2"]
    if last:
        assert seen[-1]["object"]["code"] == 410


@pytest.mark.parametrize("ending", ["Close", "Expired"])
async def test_watches_and_lost_answers_on_a_store_in_a_file(tmp_path: Path, ending: str) -> None:
    """There events are told when they are kept, in a turn of their own."""
    store = f"sqlite:{tmp_path / 'store'}"
    async with (
        Cluster(nodes=0, controllers="none", store=store) as cluster,
        connected(cluster.port) as wire,
        connected(cluster.port) as other,
    ):
        lost = rule("lost", {"status": 500, "when": "After"}, {"verbs": ["create"]})
        await put(wire, lost, rule("cut", {"watch": {"afterEvents": 2, "ending": ending}}))
        watch = await other.watch(f"{MAPS_PATH}?watch=1")
        assert [(await create(wire, name)).status for name in ("a", "b", "c")] == [500] * 3
        seen = [event async for event in watch]
        assert [event["object"].get("metadata", {}).get("name") for event in seen[:2]] == ["a", "b"]
        assert [event["type"] for event in seen[2:]] == ["ERROR"] * (ending == "Expired")
        assert await exists(cluster, "c")
        cluster.store.check()


async def test_a_watch_is_reset(wire: Wire, other: Wire) -> None:
    await create(wire, "a")
    await put(wire, rule("cut", {"watch": {"afterEvents": 1, "ending": "Reset"}}))
    with pytest.raises((ConnectionError, AssertionError)):
        await events(other)


async def test_a_watch_ends_after_so_long(wire: Wire, other: Wire) -> None:
    await put(wire, rule("cut", {"watch": {"after": "50ms", "ending": "Expired"}}))
    (event,) = await events(other)
    assert event["type"] == "ERROR"


async def test_bookmarks_are_dropped_but_for_that_which_ends_the_initial_events(wire: Wire, other: Wire) -> None:
    await create(wire, "a")
    query = "&allowWatchBookmarks=true&timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
    usual = [event["type"] for event in await events(other, query)]
    assert (usual[:2], len(usual) > 2) == (["ADDED", "BOOKMARK"], True)
    await put(wire, rule("quiet", {"watch": {"dropBookmarks": True}}))
    assert [event["type"] for event in await events(other, query)] == ["ADDED", "BOOKMARK"]


async def test_others_who_watch_the_same_are_not_cut(bare: Cluster, wire: Wire, other: Wire) -> None:
    await put(wire, rule("cut", {"watch": {"afterEvents": 1}}, {"userAgents": ["unlucky"]}))
    watch = f"{MAPS_PATH}?watch=1&timeoutSeconds=1"
    cut, whole = await other.watch(watch, User_Agent="unlucky"), await wire.watch(watch)
    for number in range(3):
        await bare.client.create(MAPS, "default", {"metadata": {"name": f"a{number}"}})
    assert len([event async for event in cut]) == 1
    assert len([event async for event in whole]) == 3


# whom it meets


async def test_who_may_not_write_it_is_refused(wire: Wire) -> None:
    refused = await wire("PUT", SCENARIO, scenario(rule()), Impersonate_User="bob")
    assert (refused.status, "faultscenarios.sim.kube32.io" in refused.json()["message"]) == (403, True)


async def test_whatever_a_client_calls_itself_can_be_told(wire: Wire, other: Wire) -> None:
    await put(wire, rule(match={"userAgents": ["*"]}))
    agents = (b"\xff\xfe\x80", "\u00e9".encode(), b"a" * 5000, b'"; drop')
    for agent in agents:
        await other.send(b"GET %b HTTP/1.1\r\nHost: localhost\r\nUser-Agent: %b\r\n\r\n" % (MAPS_PATH.encode(), agent))
        assert (await other.answer()).status == 503
    await other.send(b"GET %b/%%ff%%00 HTTP/1.1\r\nHost: localhost\r\n\r\n" % MAPS_PATH.encode())
    assert (await other.answer()).status in (400, 503)
    found = await wire("GET", SCENARIO)
    assert (found.status, len(found.json()["status"]["transcript"]) >= 4) == (200, True)


async def test_a_board_over_http_meets_them_and_lives_on() -> None:
    async with Cluster(nodes=0, reconcile_interval=0.1) as cluster:
        only = {"userAgents": ["kubelet/*"]}
        cluster.faults.set(
            scenario(
                rule("broken", {"status": 500}, {**only, "verbs": ["create", "update", "patch"]}, times=1),
                rule("lost", {"status": 504, "when": "After"}, {**only, "verbs": ["create", "patch"]}, times=2),
                rule("reset", {"reset": True}, {**only, "verbs": ["list"]}, times=1),
                rule("cut", {"watch": {"afterEvents": 1, "after": "300ms", "ending": "Expired"}}, only),
            )
        )
        async with HttpClient(cluster.access, program="kubelet") as client:
            board = Board(client, cluster.clock, Ids(1), "esp32-0", profiles()["esp32-s3"], Pace(report=0.5))
            board.start()
            pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
            await cluster.client.create(PODS, "default", pod)

            def runs() -> bool:
                stored = cluster.store.get(("", "pods"), "default/p")
                return stored is not None and stored.object()["status"]["phase"] == "Running"

            await eventually(runs, "the pod runs")
            await board.stop()
        counts = {one["name"]: one["hit"] for one in next(iter(cluster.faults.objects()))["status"]["rules"]}
        assert all(counts[name] for name in ("broken", "lost", "reset")), counts
        cluster.store.check()


async def test_the_cluster_s_own_loops_and_boards_meet_nothing() -> None:
    async with Cluster(nodes=1, clock="virtual") as cluster:
        cluster.faults.set(scenario(rule(effect={"status": 500})))
        pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        await cluster.client.create(PODS, "default", pod)
        await cluster.advance(60)
        assert (await cluster.client.get(PODS, "default", "p"))["status"]["phase"] == "Running"
        status = next(iter(cluster.faults.objects()))["status"]
        assert status["requests"] == 0


async def test_the_library_sets_them_too(bare: Cluster, wire: Wire) -> None:
    with pytest.raises(ApiError, match=r'unknown field "spec.rules\[0\].chance"'):
        bare.faults.load(scenario(rule(chance=0.5)))
    with pytest.raises(ApiError, match="of type float64"):
        bare.faults.load(scenario(rule(probability="often")))
    assert (await wire("GET", MAPS_PATH)).status == 200
    bare.faults.load(scenario(rule()))
    assert (await wire("GET", MAPS_PATH)).status == 503
    bare.faults.clear()
    assert (await wire("GET", MAPS_PATH)).status == 200


async def test_a_file_from_the_start(tmp_path: Any) -> None:
    file = tmp_path / "faults.yaml"
    file.write_text(json.dumps(scenario(rule("a"))))
    async with Cluster(nodes=0, controllers="none", faults=file) as cluster, connected(cluster.port) as wire:
        assert (await wire("GET", MAPS_PATH)).header(HEADER) == "a"
    file.write_text(file.read_text().replace("503", "302"))
    with pytest.raises(OptionError, match=r"--faults .*: spec.rules\[0\].effect.status: Unsupported value: 302"):
        await Cluster(nodes=0, controllers="none", faults=file).start()
    with pytest.raises(OptionError, match=r"--faults .*missing: No such file"):
        await Cluster(nodes=0, controllers="none", faults=tmp_path / "missing").start()


# the same again


async def story(seed: int) -> tuple[list[int], JsonObject]:
    """Statuses of a run of requests over HTTP, and what the scenario says afterwards."""
    rules = (
        rule("late", {"latency": "1ms", "latencyMost": "3ms"}, probability=0.2),
        rule("lost", {"status": 500, "when": "After"}, {"resources": ["configmaps"]}, probability=0.3),
        rule("busy", {"status": 429}, {"userAgents": ["teller/*"]}, every=5),
    )
    async with Cluster(nodes=0, controllers="none", clock="virtual", seed=1) as cluster:
        async with connected(cluster.port) as wire:
            await put(wire, *rules, seed=seed)
            statuses = []
            for number in range(40):
                name, method = f"a{number % 7}", ("POST", "GET", "DELETE")[number % 3]
                path = MAPS_PATH if method == "POST" else f"{MAPS_PATH}/{name}"
                body = {"metadata": {"name": name}} if method == "POST" else None
                statuses.append((await wire(method, path, body, User_Agent="teller/1.0")).status)
                if number % 10 == 0:
                    await cluster.advance(1)
            found = (await wire("GET", SCENARIO)).json()["status"]
        cluster.store.check()
    return statuses, found


async def test_the_same_requests_have_the_same_transcript() -> None:
    statuses, found = await story(5)
    assert await story(5) == (statuses, found)
    assert (await story(6))[1]["transcript"] != found["transcript"]
    assert {429, 500} <= set(statuses)
    one = next(met for met in found["transcript"] if met["rule"] == "lost")
    assert one.keys() == {"n", "time", "verb", "path", "userAgent", "rule", "effect"}
    assert (one["userAgent"], one["effect"]) == ("teller/1.0", "500 after")

"""The clock over HTTP: `clocks/cluster`, and POSTs to its `advance`, long ones and several at once too."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from kube32_sim.api.openapi import answers
from kube32_sim.client import CLOCKS, LEASES
from kube32_sim.clock import EPOCH, parse_time
from kube32_sim.cluster import Cluster
from tests.support.objects import pod
from tests.support.servers import ADMIN_TOKEN, Server, admin_token_file
from tests.support.waiting import eventually
from tests.support.wire import Answer, Wire, connected

GROUP = "/apis/sim.kube32.io/v1alpha1"
CLOCK = f"{GROUP}/clocks/cluster"
ADVANCE = f"{CLOCK}/advance"
FOR_YEARS = "87600h"
"""Longer than any test waits."""


def advance(duration: Any, **more: Any) -> dict[str, Any]:
    return {
        "apiVersion": "sim.kube32.io/v1alpha1",
        "kind": "ClockAdvance",
        "spec": {"duration": duration},
        **more,
    }


@pytest_asyncio.fixture
async def virtual(virtual_cluster: Cluster) -> AsyncIterator[Wire]:
    """A connection to two boards and all loops, whose time stands still."""
    async with connected(virtual_cluster.port) as opened:
        yield opened


async def seconds(wire: Wire) -> float:
    """How far the virtual clock is, over HTTP."""
    return parse_time((await wire("GET", CLOCK)).json()["status"]["now"]) - EPOCH


# reading


async def test_the_clock_is_an_object(virtual: Wire) -> None:
    clock = (await virtual("GET", CLOCK)).json()
    assert (clock["apiVersion"], clock["kind"]) == ("sim.kube32.io/v1alpha1", "Clock")
    assert clock["status"] == {"mode": "Virtual", "now": "2026-01-01T00:00:00.000000Z"}
    metadata = clock["metadata"]
    assert (metadata["name"], metadata["creationTimestamp"]) == ("cluster", "2026-01-01T00:00:00Z")
    assert metadata.keys() == {"name", "uid", "resourceVersion", "creationTimestamp"}

    listed = (await virtual("GET", f"{GROUP}/clocks")).json()
    assert (listed["kind"], listed["metadata"]) == ("ClockList", {"resourceVersion": metadata["resourceVersion"]})
    assert listed["items"] == [{key: clock[key] for key in ("metadata", "status")}]
    assert (await virtual("GET", f"{GROUP}/clocks?fieldSelector=metadata.name%3Dother")).json()["items"] == []


async def test_looking_at_the_clock_changes_nothing(virtual: Wire, virtual_cluster: Cluster) -> None:
    before = virtual_cluster.store.revision
    assert await virtual("GET", CLOCK) == await virtual("GET", CLOCK)
    assert virtual_cluster.store.revision == before


async def test_the_clock_is_printed_with_its_mode_and_time(virtual: Wire) -> None:
    table = (await virtual("GET", CLOCK, Accept="application/json;as=Table;v=v1;g=meta.k8s.io")).json()
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Mode", "Now"]
    assert [row["cells"] for row in table["rows"]] == [["cluster", "Virtual", "2026-01-01T00:00:00.000000Z"]]


async def test_a_real_clock_is_what_the_machine_says(wire: Wire, bare: Cluster) -> None:
    before = bare.clock.now()
    status = (await wire("GET", CLOCK)).json()["status"]
    assert status["mode"] == "Real"
    assert before - 1e-6 <= parse_time(status["now"]) <= bare.clock.now() + 1e-6


async def test_clients_find_the_type(wire: Wire) -> None:
    groups = (await wire("GET", "/apis")).json()["groups"]
    assert groups[-1]["name"] == "sim.kube32.io"
    clocks, advances, *_ = (await wire("GET", GROUP)).json()["resources"]
    assert (clocks["name"], clocks["kind"], clocks["verbs"]) == ("clocks", "Clock", ["get", "list"])
    assert (advances["name"], advances["kind"], advances["verbs"]) == ("clocks/advance", "ClockAdvance", ["create"])
    assert not clocks["namespaced"]

    schemas = (await wire("GET", f"/openapi/v3{GROUP}")).json()["components"]["schemas"]
    for kind in ("Clock", "ClockList", "ClockAdvance"):
        (named,) = schemas[f"io.kube32.sim.v1alpha1.{kind}"]["x-kubernetes-group-version-kind"]
        assert named == {"group": "sim.kube32.io", "version": "v1alpha1", "kind": kind}
    old = await wire("GET", "/openapi/v2")
    assert "io.kube32.sim.v1alpha1.ClockAdvanceSpec" in old.json()["definitions"]
    assert (await wire("GET", "/openapi/v2", Accept=answers.PROTOBUF)).status == 200


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        *((method, CLOCK, 405) for method in ("PUT", "PATCH", "DELETE")),
        *((method, f"{GROUP}/clocks", 405) for method in ("POST", "DELETE")),
        ("GET", f"{GROUP}/clocks?watch=true", 405),
        ("GET", ADVANCE, 405),
        ("GET", f"{CLOCK}/status", 404),
        ("GET", f"{GROUP}/clocks/other", 404),
        ("GET", f"{GROUP}/namespaces/default/clocks", 404),
        ("GET", f"{GROUP}/clocks?limit=1&continue=x", 400),
    ],
)
async def test_what_else_is_asked_of_it_is_refused(wire: Wire, method: str, path: str, status: int) -> None:
    answer = await wire(method, path, {})
    assert (answer.status, answer.json()["kind"]) == (status, "Status")


async def test_nobody_advances_a_clock_anonymously(tmp_path: Path) -> None:
    options = {"nodes": 0, "controllers": "none", "token_file": admin_token_file(tmp_path)}
    async with Cluster(clock="virtual", **options) as cluster, connected(cluster.port) as wire:
        answer = await wire("POST", ADVANCE, advance("1s"))
        allowed = await wire("POST", ADVANCE, advance("1s"), Authorization=f"Bearer {ADMIN_TOKEN}")
    assert (answer.status, answer.json()["reason"], allowed.status) == (403, "Forbidden", 201)
    where = 'resource "clocks/advance" in API group "sim.kube32.io" at the cluster scope'
    assert answer.json()["message"].endswith(f'User "system:anonymous" cannot create {where}')


async def test_clients_in_process_have_it_too(virtual_cluster: Cluster) -> None:
    client = virtual_cluster.client
    made = await client.create(CLOCKS, "", advance("90"), subresource="advance", name="cluster")
    clock = await client.get(CLOCKS, "", "cluster")
    assert made["status"] == clock["status"] == {"mode": "Virtual", "now": "2026-01-01T00:01:30.000000Z"}
    assert [one["status"] for one in (await client.list(CLOCKS)).items] == [clock["status"]]


# advancing


async def test_an_advance_answers_when_all_that_is_due_has_run(virtual: Wire, virtual_cluster: Cluster) -> None:
    answer = await virtual("POST", ADVANCE, advance("1m1.5s"))
    assert answer.status == 201
    made = answer.json()
    assert (made["kind"], made["spec"], made["metadata"]["name"]) == ("ClockAdvance", {"duration": "1m1.5s"}, "cluster")
    assert made["status"] == {"mode": "Virtual", "now": "2026-01-01T00:01:01.500000Z"}
    assert await seconds(virtual) == 61.5
    lease = await virtual_cluster.client.get(LEASES, "kube-node-lease", "esp32-0")
    assert parse_time(lease["spec"]["renewTime"]) - EPOCH > 55


async def test_a_dry_run_tells_the_time_and_leaves_it(virtual: Wire) -> None:
    answer = await virtual("POST", f"{ADVANCE}?dryRun=All", advance("1h"))
    assert (answer.status, answer.json()["status"]["now"]) == (201, "2026-01-01T01:00:00.000000Z")
    assert await seconds(virtual) == 0


async def test_a_real_clock_cannot_be_advanced(wire: Wire) -> None:
    answer = await wire("POST", ADVANCE, advance("1s"))
    status = answer.json()
    assert (answer.status, status["reason"]) == (409, "Conflict")
    assert status["message"] == (
        'Operation cannot be fulfilled on clocks.sim.kube32.io "cluster": '
        "the clock is real: time moves by itself; only a virtual clock can be advanced"
    )


END = "the clock goes no further than 9999-12-31T23:59:59Z"


@pytest.mark.parametrize(
    ("body", "reason", "why"),
    [
        (advance(None), "FieldValueRequired", "Required value: how far to advance, such as 330s"),
        ({"spec": {}}, "FieldValueRequired", "Required value: how far to advance, such as 330s"),
        ({}, "FieldValueRequired", "Required value: how far to advance, such as 330s"),
        (advance("-5s"), "FieldValueInvalid", "Invalid value: \"-5s\": invalid duration '-5s': write it like"),
        (advance("soon"), "FieldValueInvalid", "Invalid value: \"soon\": invalid duration 'soon': write it like"),
        (advance("9" * 400), "FieldValueInvalid", "too long"),
        (advance("90000000h"), "FieldValueInvalid", f'Invalid value: "90000000h": {END}'),
    ],
)
async def test_what_is_no_duration_is_named(virtual: Wire, body: Any, reason: str, why: str) -> None:
    answer = await virtual("POST", ADVANCE, body)
    assert answer.status == 422
    (cause,) = answer.json()["details"]["causes"]
    assert (cause["field"], cause["reason"]) == ("spec.duration", reason)
    assert why in cause["message"]
    assert await seconds(virtual) == 0


@pytest.mark.parametrize(
    ("path", "body", "status", "why"),
    [
        (ADVANCE, advance(330), 400, "cannot unmarshal number into Go struct field ClockAdvanceSpec.spec.duration"),
        (ADVANCE, advance("1s", kind="Clock"), 400, "Clock in version"),
        (ADVANCE, advance("1s", apiVersion="v1"), 400, 'no kind "ClockAdvance" is registered for version "v1"'),
        (ADVANCE, advance("1s", metadata={"name": "other"}), 400, "name in URL does not match name in ClockAdvance"),
        (ADVANCE, b"soon", 400, "invalid character 's'"),
        (f"{ADVANCE}?fieldValidation=Strict", advance("1s", speck=1), 400, 'unknown field "speck"'),
        (f"{GROUP}/clocks/other/advance", advance("1s"), 404, 'clocks.sim.kube32.io "other" not found'),
    ],
)
async def test_other_bodies_are_refused(virtual: Wire, path: str, body: Any, status: int, why: str) -> None:
    answer = await virtual("POST", path, body)
    assert answer.status == status
    assert why in answer.json()["message"]
    assert await seconds(virtual) == 0


async def test_two_advances_come_one_after_the_other(virtual: Wire, virtual_cluster: Cluster) -> None:
    async with connected(virtual_cluster.port) as second:
        await virtual.ask("POST", ADVANCE, advance("1h"))
        await second.ask("POST", ADVANCE, advance("30m"))
        answers = [(await wire.answer()).json()["status"]["now"] for wire in (virtual, second)]
    assert sorted(answers)[1] == "2026-01-01T01:30:00.000000Z"
    assert sorted(answers)[0] in ("2026-01-01T01:00:00.000000Z", "2026-01-01T00:30:00.000000Z")


async def test_an_advance_that_another_has_taken_beyond_the_end_is_refused(
    virtual: Wire, virtual_cluster: Cluster
) -> None:
    """Both would have been possible alone."""
    virtual_cluster.clock._now = parse_time("9999-12-31T23:50:00Z")  # type: ignore[attr-defined]
    async with connected(virtual_cluster.port) as second:
        for wire in (virtual, second):
            await wire.ask("POST", ADVANCE, advance("6m"))
        answers = [await wire.answer() for wire in (virtual, second)]
    assert sorted(answer.status for answer in answers) == [201, 422]
    (refused,) = (answer.json() for answer in answers if answer.status == 422)
    assert END in refused["message"]


# long advances


async def test_others_are_answered_during_an_advance_which_ends_with_its_asker(
    virtual: Wire, virtual_cluster: Cluster
) -> None:
    asker = await stays(virtual_cluster)
    first = await seconds(virtual)
    await eventually(lambda: virtual_cluster.clock.now() - EPOCH > first + 60, "time passes")
    made = await virtual("POST", "/api/v1/namespaces/default/pods", pod("p"))
    assert (made.status, "nodeName" in made.json()["spec"]) == (201, True)

    asker.abort()
    await eventually(lambda: not advances(), "the advance ends")
    await virtual_cluster.settle()
    stands = await seconds(virtual)
    assert (await virtual("POST", ADVANCE, advance("1s"))).status == 201
    assert await seconds(virtual) == stands + 1
    virtual_cluster.store.check()


async def stays(cluster: Cluster) -> Wire:
    """Who waits for an advance of years, which is under way."""
    reader, writer = await asyncio.open_connection("127.0.0.1", cluster.port)
    wire = Wire(reader, writer)
    await wire.ask("POST", ADVANCE, advance(FOR_YEARS))
    await eventually(lambda: cluster.clock.now() > EPOCH + 10, "time passes")
    return wire


def advances() -> list[asyncio.Task[Any]]:
    return [task for task in asyncio.all_tasks() if task.get_name() == "advance"]


async def test_watches_are_told_during_an_advance(virtual: Wire, virtual_cluster: Cluster) -> None:
    async with connected(virtual_cluster.port) as watcher:
        events = await watcher.watch("/api/v1/namespaces/default/pods?watch=true")
        await virtual("POST", "/api/v1/namespaces/default/pods", pod("p"))
        asker = await stays(virtual_cluster)
        phases = set()
        async for event in events:
            phases.add(event["object"]["status"]["phase"])
            if "Running" in phases:
                break
        assert phases == {"Pending", "Running"}
        assert advances(), "the advance is still under way"
        asker.abort()
        await eventually(lambda: not advances(), "the advance ends")


async def test_watches_live_in_the_time_of_those_who_watch(virtual: Wire, virtual_cluster: Cluster) -> None:
    pods = "/api/v1/namespaces/default/pods"
    async with connected(virtual_cluster.port) as short, connected(virtual_cluster.port) as long:
        brief = await short.watch(f"{pods}?watch=true&timeoutSeconds=1")
        patient = await long.watch(f"{pods}?watch=true&timeoutSeconds=3600")
        await virtual("POST", ADVANCE, advance("2h"))
        await virtual("POST", pods, pod("p"))
        assert (await anext(patient))["type"] == "ADDED"
        assert "ADDED" in [event["type"] async for event in brief], "it ends though time stands still"
        assert await seconds(virtual) == 7200


async def test_a_server_that_stops_says_where_its_clock_stands() -> None:
    cluster = Cluster(nodes=1, clock="virtual")
    await cluster.start()
    asker = await stays(cluster)
    await asyncio.wait_for(cluster.stop(), 10)
    answer: Answer = await asker.answer()
    await asker.close()
    assert answer.status == 503
    told = answer.json()["message"]
    assert told.startswith("the server is stopping; the clock stands at 2026-")
    assert parse_time(told.rpartition(" ")[2]) > EPOCH + 10


def test_sigterm_during_an_advance_is_a_clean_end(start_server: Callable[..., AbstractContextManager[Server]]) -> None:
    with start_server("--clock", "virtual") as server:
        http, other = server.http(), server.http()
        body = json.dumps(advance(FOR_YEARS))
        http._connection.request("POST", ADVANCE, body, {"Content-Type": "application/json"})
        while other.get(CLOCK)["status"]["now"] < "2026-01-01T00:01":
            pass
    answer = http._connection.getresponse()
    assert answer.status == 503
    assert "the clock stands at" in answer.read().decode()
    http.close()
    other.close()


# the same every time


async def test_what_a_write_brings_about_at_once_is_there_for_the_next_request(
    virtual: Wire, virtual_cluster: Cluster
) -> None:
    """However quickly it comes: otherwise the same requests would not always find the same."""
    await virtual.ask("POST", "/api/v1/namespaces/default/pods", pod("p"))
    await virtual.ask("GET", "/api/v1/namespaces/default/events")
    assert (await virtual.answer()).status == 201
    listed = (await virtual.answer()).json()
    told = [event for event in listed["items"] if event["involvedObject"]["name"] == "p"]
    assert {event["reason"] for event in told} == {"Scheduled", "Pulled", "Created", "Started"}
    await virtual_cluster.clock.gauge.at_rest()
    assert listed["metadata"]["resourceVersion"] == str(virtual_cluster.store.revision)

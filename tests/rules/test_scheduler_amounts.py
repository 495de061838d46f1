"""What the scheduler counts: amounts, what no report contains yet, and the score, on nodes made by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import pytest_asyncio
from kube32_controllers.scheduler_figures import node_figures, pod_request

from kube32_sim.api.errors import ApiError
from kube32_sim.client import NODES, PODS
from kube32_sim.kestrel.filters import evaluate
from kube32_sim.kestrel.profiles import KUBE32
from tests.rules.conftest import MakeWorld
from tests.rules.scheduling import (
    ROOM,
    add_node,
    asking,
    container,
    fits,
    get_pod,
    node_of,
    place,
    report,
    tell,
    verdict,
)
from tests.rules.world import JsonObject, World, condition, events_of, is_ready
from tests.support.objects import node

MISMATCH = "node(s) didn't match Pod's node affinity/selector"


@pytest_asyncio.fixture
async def alone(make_world: MakeWorld) -> World:
    """The scheduler alone, and no boards."""
    return await make_world(nodes=0, controllers="scheduler")


# amounts


@pytest.mark.rule("S13")
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1Ki", 1 << 10),
        ("1Mi", 1 << 20),
        ("1Gi", 1 << 30),
        ("1k", 10**3),
        ("1M", 10**6),
        ("1G", 10**9),
        ("5000m", 5),
        ("5001m", 6),
        ("1.5Ki", 1536),
        ("2e3", 2000),
        ("1E", 10**18),
        ("7Ei", 7 << 60),
    ],
)
async def test_s13_quantities_are_kubernetes(alone: World, text: str, value: int) -> None:
    await add_node(alone, "n", {"memory": str(value)})
    assert await verdict(alone, asking("p", {"memory": text})) == "n"
    await report(alone, "n", allocatable={"memory": str(value - 1)})
    assert await verdict(alone, asking("p", {"memory": text})) == "Insufficient memory"
    await report(alone, "n", allocatable={"memory": text})
    await fits(alone, "memory", value)


@pytest.mark.rule("S14")
async def test_s14_a_suffix_that_nobody_knows_makes_the_amount_0() -> None:
    room = {"memory": "100Foo", "esp32.io/gpio": "10", "esp32.io/i2c": "2xyz"}
    figures = node_figures(node("n", allocatable=room, capacity=room))
    assert dict(zip(KUBE32.fitted, figures.free, strict=True))["memory"] == 0
    asked = pod_request({"containers": [container({"memory": "12Foo", "esp32.io/gpio": "3Qi"})]})
    assert isinstance(evaluate(KUBE32, asked, figures), int)
    one = pod_request({"containers": [container({"memory": "0", "esp32.io/i2c": "1"})]})
    assert evaluate(KUBE32, one, figures) == "Insufficient esp32.io/i2c"


@pytest.mark.rule("S14")
@pytest.mark.parametrize("text", ["12Foo", "12ki", "1KiB", "many"])
async def test_s14_the_api_refuses_such_an_amount_and_names_it(alone: World, text: str) -> None:
    with pytest.raises(ApiError) as caught:
        await alone.client.create(PODS, "default", asking("p", {"memory": text}))
    assert caught.value.code == 400
    assert "quantit" in caught.value.message


@pytest.mark.rule("S15")
async def test_s15_capacity_stands_in_for_what_is_not_said_to_be_allocatable(alone: World) -> None:
    await add_node(alone, "n", None, capacity={"memory": "100Ki", "esp32.io/gpio": "4"})
    await fits(alone, "memory", 100, "Ki")
    await fits(alone, "esp32.io/gpio", 4)
    await report(alone, "n", allocatable={"memory": "50Ki"})
    await fits(alone, "memory", 50, "Ki")


# what no report contains yet


@pytest.mark.rule("S16")
async def test_s16_only_pods_that_the_report_cannot_contain_are_subtracted(alone: World) -> None:
    await add_node(alone, "n")
    assert await place(alone, asking("p", {"memory": "60Ki", "esp32.io/gpio": "6"})) == "n"
    await report(alone, "n", allocatable={"memory": "90Ki"})
    await fits(alone, "memory", 30, "Ki")  # Pending: whatever the node writes, it cannot mean this pod
    await tell(alone, "p", phase="Running")
    await fits(alone, "memory", 30, "Ki")  # it runs, and the report is older
    await fits(alone, "esp32.io/gpio", 4)
    await report(alone, "n", allocatable={"memory": "40Ki", "esp32.io/gpio": "4"})
    await fits(alone, "memory", 40, "Ki")  # in the report
    await fits(alone, "esp32.io/gpio", 4)
    await alone.client.patch(PODS, "default", "p", {"metadata": {"labels": {"a": "b"}}})
    assert await verdict(alone, asking("q")) == "Insufficient memory"  # changed after the report: 40 - 60 are left
    await report(alone, "n", allocatable={"memory": "41Ki"})
    await fits(alone, "memory", 41, "Ki")


@pytest.mark.rule("S16")
async def test_s16_a_report_counts_though_it_says_nothing_new(alone: World) -> None:
    await add_node(alone, "n")
    assert await place(alone, asking("p", {"memory": "60Ki"})) == "n"
    await tell(alone, "p", phase="Running")
    await fits(alone, "memory", 40, "Ki")
    before = await alone.client.get(NODES, "", "n")
    after = await alone.client.update(NODES, "", before, subresource="status")
    assert int(after["metadata"]["resourceVersion"]) > int(before["metadata"]["resourceVersion"])
    await fits(alone, "memory", 100, "Ki")
    same = await alone.client.patch(NODES, "", "n", {"metadata": {"labels": {}}})
    assert same == after, "that holds for reports only"


@pytest.mark.rule("S16")
@pytest.mark.parametrize("kind", ["containerStatuses", "initContainerStatuses"])
async def test_s16_a_container_that_waits_to_restart_is_in_no_report(alone: World, kind: str) -> None:
    await add_node(alone, "n")
    assert await place(alone, asking("p", {"memory": "60Ki"})) == "n"
    waiting = {"name": "c", "state": {"waiting": {"reason": "CrashLoopBackOff"}}, "restartCount": 1}
    told = {"ready": False, "image": "i", "imageID": "i"}
    await tell(alone, "p", phase="Running", **{kind: [{**waiting, **told}]})
    await report(alone, "n", allocatable={"memory": "99Ki"})
    await fits(alone, "memory", 39, "Ki")
    running = {**waiting, "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}}
    await tell(alone, "p", **{kind: [{**running, **told}]})
    await report(alone, "n", allocatable={"memory": "38Ki"})
    await fits(alone, "memory", 38, "Ki")


@pytest.mark.rule("S16")
@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
async def test_s16_pods_that_have_ended_take_nothing(alone: World, phase: str) -> None:
    await add_node(alone, "n")
    assert await place(alone, asking("p", {"memory": "60Ki"})) == "n"
    await tell(alone, "p", phase=phase)
    await fits(alone, "memory", 100, "Ki")


@pytest.mark.rule("S16")
async def test_s16_pods_count_on_the_node_that_they_name_and_from_the_moment_it_is_there(alone: World) -> None:
    await place(alone, asking("p", {"memory": "60Ki"}, nodeName="n"))
    await add_node(alone, "n")
    await fits(alone, "memory", 40, "Ki")
    await alone.client.delete(NODES, "", "n")
    await add_node(alone, "n")
    await fits(alone, "memory", 40, "Ki")
    await alone.client.delete(PODS, "default", "p", options={"gracePeriodSeconds": 0})
    await fits(alone, "memory", 100, "Ki")


@pytest.mark.rule("S16")
async def test_s16_a_board_and_the_scheduler_never_count_a_pod_twice(world: World) -> None:
    chosen = {"kubernetes.io/hostname": world.nodes[0]}
    wanted = asking("p", {"memory": "60Ki"}, nodeSelector=chosen)
    before = (await world.client.get(NODES, "", world.nodes[0]))["status"]["allocatable"]["memory"]
    assert await place(world, wanted) == world.nodes[0]
    await world.wait(30)
    assert is_ready(await get_pod(world, "p"))
    after = (await world.client.get(NODES, "", world.nodes[0]))["status"]["allocatable"]["memory"]
    left = int(before.removesuffix("Ki")) - 60
    assert after == f"{left}Ki"
    assert await place(world, asking("more", {"memory": f"{left + 1}Ki"}, nodeSelector=chosen)) == (
        f"0/2 nodes are available: 1 Insufficient memory, 1 {MISMATCH}."
    )
    assert await place(world, asking("fits", {"memory": f"{left}Ki"}, nodeSelector=chosen)) == world.nodes[0]


@pytest.mark.rule("S24")
@pytest.mark.parametrize(
    "change", [{"metadata": {"labels": {"a": "b"}}}, {"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}}]
)
async def test_s24_a_label_or_taint_hides_a_pod_that_started_until_the_next_report(
    alone: World, change: Mapping[str, Any]
) -> None:
    await add_node(alone, "n")
    assert await place(alone, asking("p", {"memory": "60Ki"})) == "n"
    await tell(alone, "p", phase="Running")
    await fits(alone, "memory", 40, "Ki")
    await alone.client.patch(NODES, "", "n", dict(change))
    await fits(alone, "memory", 100, "Ki")  # the node is newer now, though it has reported nothing
    await report(alone, "n", allocatable={"memory": "40Ki"})
    await fits(alone, "memory", 40, "Ki")


# the score


@pytest.mark.rule("S19", "S20")
@pytest.mark.parametrize(
    ("left", "right", "winner"),
    [
        (("100Ki", "40"), ("100Ki", "41"), "a"),  # 40 and 38 % against 40 and 39 %: both come to 39
        (("100Ki", "40"), ("100Ki", "44"), "b"),
        (("200Ki", "30"), ("100Ki", "40"), "a"),
        (("120Ki", "10"), ("100Ki", "40"), "b"),
    ],
)
async def test_s19_memory_and_gpios_left_decide_and_the_highest_score_wins(
    alone: World, left: tuple[str, str], right: tuple[str, str], winner: str
) -> None:
    capacity = {"memory": "200Ki", "esp32.io/gpio": "100"}
    for name, (memory, pins) in (("a", left), ("b", right)):
        await add_node(alone, name, {"memory": memory, "esp32.io/gpio": pins}, capacity=capacity)
    assert await place(alone, asking("p", {"memory": "20Ki", "esp32.io/gpio": "2"})) == winner


@pytest.mark.rule("S19")
@pytest.mark.parametrize(
    ("status", "score"),
    [
        ({"allocatable": {"memory": "100Ki", "esp32.io/gpio": "10"}}, (50 + 50) // 2),
        ({"capacity": {"memory": "100Ki", "esp32.io/gpio": "10"}}, (50 + 50) // 2),
        ({"allocatable": {"memory": "90Ki", "esp32.io/gpio": "9"}, "capacity": {"memory": "200Ki"}}, (20 + 44) // 2),
        ({"allocatable": {"memory": "100Ki"}}, None),
        ({"allocatable": ROOM, "capacity": {"memory": "0", "esp32.io/gpio": "0"}}, 0),
        ({"allocatable": ROOM, "capacity": {"memory": "0", "esp32.io/gpio": "11"}}, (0 + 45) // 2),
        ({"allocatable": ROOM, "capacity": {"memory": "333Ki", "esp32.io/gpio": "33"}}, (15 + 15) // 2),
    ],
)
async def test_s19_percentages_are_whole_and_0_of_no_capacity(status: JsonObject, score: int | None) -> None:
    made = {"metadata": {"name": "n"}, "status": {"conditions": [{"type": "Ready", "status": "True"}], **status}}
    asked = pod_request({"containers": [container({"memory": "50Ki", "esp32.io/gpio": "5"})]})
    expected = "Insufficient esp32.io/gpio" if score is None else score
    assert evaluate(KUBE32, asked, node_figures(made)) == expected
    without_pins = pod_request({"containers": [container({"memory": "50Ki"})]})
    if score is None:
        assert evaluate(KUBE32, without_pins, node_figures(made)) == 50 // 2


@pytest.mark.rule("S19")
async def test_s19_pods_that_no_report_contains_count_in_the_score(alone: World) -> None:
    for name in ("a", "b"):
        await add_node(alone, name)
    places = [await place(alone, asking(f"p{number}", {"memory": "10Ki"})) for number in range(6)]
    assert places == ["a", "b"] * 3


@pytest.mark.rule("S21")
async def test_s21_of_equal_scores_the_name_that_comes_first_wins(alone: World) -> None:
    for name in ("esp32-9", "esp32-10", "b", "a.b", "c"):
        await add_node(alone, name)
    places = [await place(alone, asking(f"p{number}")) for number in range(5)]
    assert places == ["a.b", "b", "c", "esp32-10", "esp32-9"]
    assert [await node_of(alone, f"p{number}") for number in range(5)] == places
    assert condition(await get_pod(alone, "p0"), "PodScheduled")["status"] == "True"
    assert await events_of(alone, "p0", "FailedScheduling") == []

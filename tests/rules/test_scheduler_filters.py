"""The scheduler's six filters in their order, what each compares, and what none of them looks at."""

from __future__ import annotations

from typing import Any

import pytest
import pytest_asyncio
from kube32_controllers.scheduler_figures import node_figures, pod_request

from kube32_sim.client import NODES
from kube32_sim.kestrel.filters import evaluate
from kube32_sim.kestrel.profiles import KUBE32
from tests.rules.conftest import MakeWorld
from tests.rules.scheduling import add_node, asking, container, fits, get_pod, place, report, verdict
from tests.rules.world import JsonObject, World
from tests.support.objects import PLENTY, node, pod

MISMATCH = "node(s) didn't match Pod's node affinity/selector"
UNREADY = "node(s) were not ready"
CORDONED = "node(s) were unschedulable"


@pytest_asyncio.fixture
async def alone(make_world: MakeWorld) -> World:
    """The scheduler alone, and no boards."""
    return await make_world(nodes=0, controllers="scheduler")


# filters 1 to 3


@pytest.mark.rule("S4")
@pytest.mark.parametrize("status", ["True", "False", "Unknown"])
@pytest.mark.parametrize("cordoned", [None, False, True])
async def test_s4_only_ready_nodes_that_are_not_cordoned(alone: World, status: str, cordoned: bool | None) -> None:
    await add_node(alone, "n", ready=status, spec={} if cordoned is None else {"unschedulable": cordoned})
    expected = CORDONED if cordoned else "n" if status == "True" else UNREADY
    assert await verdict(alone, asking("p")) == expected


@pytest.mark.rule("S4")
@pytest.mark.parametrize(
    "status", [None, {}, {"conditions": []}, {"conditions": [{"type": "Other", "status": "True"}]}]
)
async def test_s4_a_node_without_status_or_ready_condition_is_not_ready(alone: World, status: Any) -> None:
    made: JsonObject = {"metadata": {"name": "n"}, **({} if status is None else {"status": status})}
    await alone.client.create(NODES, "", made)
    assert await verdict(alone, asking("p")) == UNREADY


@pytest.mark.rule("S4")
async def test_s4_a_cordoned_board_gets_no_pods(world: World) -> None:
    first, second = world.nodes
    for name in world.nodes:
        await world.client.patch(NODES, "", name, {"metadata": {"labels": {"mine": world.namespace}}})
    await world.client.patch(NODES, "", first, {"spec": {"unschedulable": True}})
    wanted = [asking(f"p{number}", {"memory": "16Ki"}, nodeSelector={"mine": world.namespace}) for number in range(3)]
    assert [await place(world, one) for one in wanted] == [second] * 3


@pytest.mark.rule("S5")
async def test_s5_a_name_that_the_pod_gives_is_the_nodes() -> None:
    figures = node_figures(node("n"))
    wanted = "node(s) didn't match the requested node name"
    assert evaluate(KUBE32, pod_request({}, node_name="other"), figures) == wanted
    assert isinstance(evaluate(KUBE32, pod_request({}, node_name="n"), figures), int)
    figures.barred = CORDONED
    assert evaluate(KUBE32, pod_request({}, node_name="other"), figures) == CORDONED


@pytest.mark.rule("S5")
async def test_s5_a_pod_is_on_the_node_that_it_names(alone: World) -> None:
    for name in ("a", "b"):
        await add_node(alone, name)
    assert await place(alone, asking("p", nodeName="b")) == "b"


@pytest.mark.rule("S6")
@pytest.mark.parametrize(
    ("selector", "takes"),
    [
        ({"board": "s3"}, True),
        ({"board": "s3", "zone": "a"}, True),
        ({"board": "s3", "zone": "b"}, False),
        ({"board": "s3", "row": "1"}, False),
        ({"board": "S3"}, False),
        ({"empty": ""}, True),
        ({"missing": ""}, False),
        ({}, True),
    ],
)
async def test_s6_every_label_of_the_selector_is_on_the_node(
    alone: World, selector: dict[str, str], takes: bool
) -> None:
    await add_node(alone, "n", labels={"board": "s3", "zone": "a", "empty": ""})
    assert await verdict(alone, asking("p", nodeSelector=selector)) == ("n" if takes else MISMATCH)


# filters 4 to 6


@pytest.mark.rule("S7")
async def test_s7_memory_fits_to_the_byte(alone: World) -> None:
    await add_node(alone, "n", {"memory": "100Ki"})
    await fits(alone, "memory", 102_400)


@pytest.mark.rule("S7")
@pytest.mark.parametrize(
    ("containers", "kib"),
    [
        ([container({}, {"memory": "60Ki"})], 60),
        ([container({"memory": "20Ki"}, {"memory": "90Ki"})], 20),
        ([container({"memory": "20Ki"}), container({}, {"memory": "30Ki"})], 50),
        ([container({"memory": "20Ki"}), container()], 20),
    ],
)
async def test_s7_a_limit_counts_where_nothing_is_requested(
    alone: World, containers: list[JsonObject], kib: int
) -> None:
    named = [{**one, "name": f"c{number}"} for number, one in enumerate(containers)]
    await add_node(alone, "n", {"memory": f"{kib}Ki"})
    assert await verdict(alone, pod("p", spec={"containers": named})) == "n"
    await report(alone, "n", allocatable={"memory": f"{kib * 1024 - 1}"})
    assert await verdict(alone, pod("p", spec={"containers": named})) == "Insufficient memory"


@pytest.mark.rule("S7")
@pytest.mark.parametrize(("initial", "kib"), [(("25Ki", "10Ki"), 30), (("10Ki", "45Ki"), 45)])
async def test_s7_init_containers_count_by_the_largest_of_them(
    alone: World, initial: tuple[str, ...], kib: int
) -> None:
    init = [{**container({"memory": memory}), "name": f"i{number}"} for number, memory in enumerate(initial)]
    spec = {"containers": [container({"memory": "30Ki"})], "initContainers": init}
    await add_node(alone, "n", {"memory": f"{kib}Ki"})
    assert await verdict(alone, pod("p", spec=spec)) == "n"
    await report(alone, "n", allocatable={"memory": f"{kib * 1024 - 1}"})
    assert await verdict(alone, pod("p", spec=spec)) == "Insufficient memory"


@pytest.mark.rule("S8")
async def test_s8_a_pod_that_says_nothing_counts_16_kib_once_and_a_declared_0_is_0(alone: World) -> None:
    two = [{**container(), "name": name} for name in ("a", "b")]
    await add_node(alone, "n", {"memory": "16Ki"})
    assert await verdict(alone, pod("p", spec={"containers": two})) == "n"
    await report(alone, "n", allocatable={"memory": "16383"})
    assert await verdict(alone, pod("p", spec={"containers": two})) == "Insufficient memory"
    await report(alone, "n", allocatable={"memory": "0"})
    assert await verdict(alone, asking("p", {"memory": "0"})) == "n"
    declared = {"containers": [container()], "initContainers": [{**container({"memory": "0"}), "name": "i"}]}
    assert await verdict(alone, pod("p", spec=declared)) == "n"


@pytest.mark.rule("S9")
async def test_s9_psram_under_both_of_its_names(alone: World) -> None:
    await add_node(alone, "n", PLENTY)
    await fits(alone, "esp32.io/psram", 8 << 20)
    await fits(alone, "esp.io/psram", 8 << 20)
    await report(alone, "n", allocatable={"esp32.io/psram": None, "esp.io/psram": "4Mi"}, capacity=None)
    await fits(alone, "esp32.io/psram", 4, "Mi")
    await fits(alone, "esp.io/psram", 4, "Mi")


@pytest.mark.rule("S10")
@pytest.mark.parametrize("resource", [name for name in PLENTY if name not in ("memory", "esp32.io/psram")])
async def test_s10_counts_fit_into_what_is_allocatable(alone: World, resource: str) -> None:
    await add_node(alone, "n", PLENTY)
    await fits(alone, resource, int(PLENTY[resource]))
    await report(alone, "n", allocatable={resource: None}, capacity=None)
    assert await verdict(alone, asking("p", {resource: "1"})) == f"Insufficient {resource}"


@pytest.mark.rule("S11")
async def test_s11_a_bus_asked_for_by_name_takes_one_of_its_kind(alone: World) -> None:
    await add_node(alone, "n", PLENTY)
    buses = ("esp32.io/i2c-bus-0", "esp32.io/i2c-bus-1", "esp32.io/i2c-bus-2")
    assert await verdict(alone, asking("p", dict.fromkeys(buses[:2], "1"))) == "n"
    assert await verdict(alone, asking("p", dict.fromkeys(buses, "1"))) == "Insufficient esp32.io/i2c-bus-2"
    beside = {"esp32.io/i2c": "2", "esp32.io/i2c-bus-0": "1"}
    assert await verdict(alone, asking("p", beside)) == "Insufficient esp32.io/i2c-bus-0"
    assert await verdict(alone, asking("p", {"esp32.io/uart-1": "7", "esp32.io/uart": "2"})) == "n"
    assert await verdict(alone, asking("p", {"esp32.io/uart-1": "1", "esp32.io/uart": "3"})) == (
        "Insufficient esp32.io/uart-1"
    )
    assert await place(alone, asking("first", {"esp32.io/i2c-bus-0": "1"})) == "n"
    assert await place(alone, asking("second", {"esp32.io/i2c-bus-0": "1"})) == "n"
    assert await verdict(alone, asking("third", {"esp32.io/i2c-bus-0": "1"})) == "Insufficient esp32.io/i2c-bus-0"


@pytest.mark.rule("S12")
async def test_s12_the_first_filter_that_fails_names_the_reason(alone: World) -> None:
    await add_node(alone, "n", dict.fromkeys(PLENTY, "0"), ready="False", spec={"unschedulable": True})
    wanted = asking("p", dict.fromkeys(PLENTY, "1"), nodeSelector={"board": "s3"})
    assert await verdict(alone, wanted) == CORDONED
    await alone.client.patch(NODES, "", "n", {"spec": {"unschedulable": None}})
    assert await verdict(alone, wanted) == UNREADY
    await report(alone, "n", conditions=[{"type": "Ready", "status": "True"}])
    assert await verdict(alone, wanted) == MISMATCH
    await alone.client.patch(NODES, "", "n", {"metadata": {"labels": {"board": "s3"}}})
    for resource in PLENTY:
        assert await verdict(alone, wanted) == f"Insufficient {resource}"
        await report(alone, "n", allocatable={resource: "1"})
    assert await verdict(alone, wanted) == "n"


# what is not looked at


@pytest.mark.rule("S17")
async def test_s17_taints_affinity_topology_and_other_resources_are_not_looked_at(alone: World) -> None:
    await add_node(alone, "n", spec={"taints": [{"key": "a", "effect": "NoSchedule"}]})
    await place(alone, asking("other", labels={"app": "x"}))
    never = {"matchExpressions": [{"key": "no-such", "operator": "Exists"}]}
    apart = {"labelSelector": {"matchLabels": {"app": "x"}}, "topologyKey": "kubernetes.io/hostname"}
    spec = {
        "affinity": {
            "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [never]}},
            "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]},
        },
        "topologySpreadConstraints": [{**apart, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}],
    }
    asked = {"cpu": "64", "hardware.kube32.io/wifi7": "1", "esp32.io/gpio-99": "1", "example.com/gpu": "8"}
    assert await verdict(alone, asking("p", asked, **spec)) == "n"


@pytest.mark.rule("S18")
async def test_s18_hardware_and_pins_are_checked_by_the_board(world: World) -> None:
    for name, resource in (("p", "hardware.kube32.io/wifi7"), ("q", "esp32.io/gpio-99")):
        assert await place(world, asking(name, {resource: "1"})) in world.nodes
        await world.wait(1)
        refused = (await get_pod(world, name))["status"]
        assert (refused["phase"], refused["reason"]) == ("Failed", f"OutOf{resource}")

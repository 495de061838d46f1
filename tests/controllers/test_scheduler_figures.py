"""What a pod asks, what a node has, and the filters' order and words."""

from collections import Counter

import pytest
from kube32_controllers.scheduler_figures import NOT_READY, UNSCHEDULABLE, amount, node_figures, pod_request
from scheduling_objects import container, node, pod

from kube32_sim.api.requests import DEFAULT_MEMORY
from kube32_sim.kestrel import filters
from kube32_sim.kestrel.filters import MISMATCH, WRONG_NAME, no_fit
from kube32_sim.kestrel.profiles import KUBE32
from tests.support.objects import PLENTY


def evaluate(figures, request):
    return filters.evaluate(KUBE32, request, figures)


def verdict(requests, *, spec=None, **node_args):
    node_args.setdefault("allocatable", PLENTY)
    request = pod_request(pod("p", requests, **(spec or {}))["spec"])
    return evaluate(node_figures(node("n", **node_args)), request)


def needs(**spec):
    return dict(zip(("memory", "psram", "gpio", "i2c", "uart"), pod_request(spec).amounts, strict=False))


def test_filter_1_unschedulable_status_present_ready_true():
    assert verdict({}, unschedulable=True, ready=False) == UNSCHEDULABLE
    assert verdict({}, ready=False) == NOT_READY
    bare = {"metadata": {"name": "n"}, "spec": {}}
    assert evaluate(node_figures(bare), pod_request({})) == NOT_READY
    assert evaluate(node_figures({**bare, "status": {}}), pod_request({})) == NOT_READY


def test_filter_2_node_name():
    figures = node_figures(node("n", allocatable=PLENTY))
    assert evaluate(figures, pod_request({}, node_name="other")) == WRONG_NAME
    assert isinstance(evaluate(figures, pod_request({}, node_name="n")), int)


def test_filter_3_node_selector_matches_every_label():
    selector = {"spec": {"nodeSelector": {"board": "s3", "zone": "a"}}}
    assert verdict({}, labels={"board": "s3"}, **selector) == MISMATCH
    assert verdict({}, labels={"board": "s3", "zone": "b"}, **selector) == MISMATCH
    assert isinstance(verdict({}, labels={"board": "s3", "zone": "a"}, **selector), int)
    assert verdict({}, spec={"nodeSelector": {"empty": ""}}) == MISMATCH


def test_boards_and_scheduler_count_alike_for_pods_that_do_not_say():
    assert KUBE32.defaults == {"memory": DEFAULT_MEMORY}


def test_filter_4_memory_defaults_to_16_kib():
    assert verdict({}, allocatable={"memory": "16Ki"}) == 0
    assert verdict({}, allocatable={"memory": str(DEFAULT_MEMORY - 1)}) == "Insufficient memory"
    assert isinstance(verdict({"memory": "0"}, allocatable={}), int)


def test_filters_4_to_6_come_in_order():
    everything = dict.fromkeys(PLENTY, "1Gi")
    for name in PLENTY:
        assert verdict(everything) == f"Insufficient {name}"
        everything[name] = "1"


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({"esp32.io/psram": "9Mi"}, "Insufficient esp32.io/psram"),
        ({"esp.io/psram": "9Mi"}, "Insufficient esp.io/psram"),
        ({"esp32.io/gpio": "31"}, "Insufficient esp32.io/gpio"),
        ({"esp32.io/i2c": "3"}, "Insufficient esp32.io/i2c"),
    ],
)
def test_reason_names_the_resource_as_the_pod_did(asked, expected):
    assert verdict(asked) == expected


def test_psram_alias_holds_for_nodes_too():
    assert isinstance(verdict({"esp32.io/psram": "1Mi"}, allocatable={**PLENTY, "esp.io/psram": "0"}), int)
    nodes = {name: value for name, value in PLENTY.items() if name != "esp32.io/psram"} | {"esp.io/psram": "8Mi"}
    assert isinstance(verdict({"esp.io/psram": "8Mi"}, allocatable=nodes), int)
    assert verdict({"esp.io/psram": "9Mi"}, allocatable=nodes) == "Insufficient esp.io/psram"


def test_psram_is_one_resource_whatever_its_containers_call_it():
    asked = {
        "containers": [container({"esp32.io/psram": "4Mi"})],
        "initContainers": [container({"esp.io/psram": "4Mi"})],
    }
    assert needs(**asked)["psram"] == 4 << 20
    asked["containers"].append(container({"esp.io/psram": "3Mi"}))
    assert needs(**asked)["psram"] == 7 << 20
    assert verdict({}, spec={**asked, "containers": asked["containers"] * 2}) == "Insufficient esp32.io/psram"
    both = [container({"esp32.io/psram": "1Mi", "esp.io/psram": "2Mi"})]
    assert needs(containers=both)["psram"] == 1 << 20


def test_named_buses_each_consume_one_of_the_count():
    assert needs(containers=[container({"esp32.io/i2c-bus-0": "1", "esp32.io/i2c-bus-1": "1"})])["i2c"] == 2
    assert needs(containers=[container({"esp32.io/uart-1": "5"})])["uart"] == 1
    assert needs(containers=[container({"esp32.io/uart-1": "0"})])["uart"] == 0
    one = {**PLENTY, "esp32.io/i2c": "1"}
    assert isinstance(verdict({"esp32.io/i2c-bus-0": "1"}, allocatable=one), int)
    assert (
        verdict({"esp32.io/i2c-bus-10": "1", "esp32.io/i2c-bus-2": "1"}, allocatable=one)
        == "Insufficient esp32.io/i2c-bus-10"
    )
    assert (
        verdict({"esp32.io/i2c": "1", "esp32.io/i2c-bus-0": "1"}, allocatable=one) == "Insufficient esp32.io/i2c-bus-0"
    )
    assert verdict({"esp32.io/i2c": "2", "esp32.io/i2c-bus-0": "1"}, allocatable=one) == "Insufficient esp32.io/i2c"


def test_two_containers_that_name_one_bus_share_it():
    both = [container({"esp32.io/uart-1": "1"}), container({"esp32.io/uart-1": "1"})]
    assert needs(containers=both)["uart"] == 1


def test_request_is_the_larger_of_containers_and_largest_init_container():
    spec = {
        "containers": [container({"memory": "10Ki"}), container({"memory": "20Ki"})],
        "initContainers": [container({"memory": "25Ki", "esp32.io/gpio": "3"}), container({"memory": "40Ki"})],
    }
    assert needs(**spec)["memory"] == 40 * 1024
    assert needs(**spec)["gpio"] == 3
    spec["initContainers"].pop()
    assert needs(**spec)["memory"] == 30 * 1024


def test_limit_counts_where_there_is_no_request():
    assert needs(containers=[container({}, {"memory": "20Ki"})])["memory"] == 20 * 1024
    assert needs(containers=[container({"memory": "10Ki"}, {"memory": "20Ki"})])["memory"] == 10 * 1024
    mixed = [container({"memory": "10Ki"}), container({}, {"memory": "20Ki", "esp32.io/gpio": "2"})]
    assert needs(containers=mixed) == {"memory": 30 * 1024, "psram": 0, "gpio": 2, "i2c": 0, "uart": 0}


@pytest.mark.parametrize(
    ("text", "expected"),
    [("16Ki", 16384), ("1k", 1000), ("1500m", 2), ("1e3", 1000), ("12Foo", 0), ("", 0), ("Ki", 0), (7, 7), (None, 0)],
)
def test_quantities_and_unknown_suffixes(text, expected):
    assert amount(text) == expected


def test_ignored_are_cpu_hardware_pins_taints_and_affinity():
    asked = {"cpu": "1000", "hardware.kube32.io/wifi6": "1", "esp32.io/gpio-4": "1", "nvidia.com/gpu": "8"}
    free = verdict({})
    assert verdict(asked) == free
    assert (
        verdict({}, spec={"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {}}}}) == free
    )
    tainted = node("n", allocatable=PLENTY)
    tainted["spec"]["taints"] = [{"key": "a", "effect": "NoSchedule"}]
    assert evaluate(node_figures(tainted), pod_request({"containers": [container()]})) == free


def test_score_is_the_mean_of_memory_and_gpio_after_binding():
    capacity = {"memory": "200Ki", "esp32.io/gpio": "40"}
    free = {"memory": "100Ki", "esp32.io/gpio": "10"}
    assert verdict({"memory": "50Ki", "esp32.io/gpio": "3"}, allocatable=free, capacity=capacity) == (25 + 17) // 2


def test_allocatable_and_capacity_stand_in_for_each_other():
    only = {"memory": "100Ki", "esp32.io/gpio": "10"}
    asked = {"memory": "50Ki", "esp32.io/gpio": "5"}
    assert verdict(asked, allocatable=only) == verdict(asked, allocatable=None, capacity=only) == 50
    assert verdict(asked, allocatable={"memory": "100Ki"}, capacity=only) == 50


def test_percentage_of_no_capacity_is_0():
    assert verdict({"memory": "50Ki"}, allocatable={"memory": "100Ki"}) == 25


def test_message_is_kube_schedulers():
    reasons = Counter({MISMATCH: 1, "Insufficient esp32.io/psram": 1, NOT_READY: 0})
    assert no_fit(reasons, 2) == (
        "0/2 nodes are available: 1 Insufficient esp32.io/psram, 1 node(s) didn't match Pod's node affinity/selector."
    )
    assert no_fit(Counter({UNSCHEDULABLE: 2, "Insufficient memory": 10}), 12) == (
        "0/12 nodes are available: 10 Insufficient memory, 2 node(s) were unschedulable."
    )
    assert no_fit(Counter(), 0) == "no nodes available to schedule pods"

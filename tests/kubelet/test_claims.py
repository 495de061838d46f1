"""What pods take of a board, and which of them the capability firewall keeps out."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube32_sim.kubelet.boards import KIB, profiles
from kube32_sim.kubelet.claims import Rejection, admit, free, pod_requests, usage

S3 = profiles()["esp32-s3"]
C3 = profiles()["esp32-c3"]


def pod(*containers: dict[str, str], init: tuple[dict[str, str], ...] = ()) -> dict[str, Any]:
    return {
        "metadata": {"name": "p", "namespace": "n", "uid": "u"},
        "spec": {
            "containers": [{"name": f"c{n}", "resources": {"requests": wants}} for n, wants in enumerate(containers)],
            "initContainers": [{"name": f"i{n}", "resources": {"requests": wants}} for n, wants in enumerate(init)],
        },
    }


def taken(**wants: str) -> dict[str, int]:
    return pod_requests(pod(wants))


def test_containers_add_up_and_the_largest_init_container_counts() -> None:
    both = pod(
        {"memory": "20Ki", "esp32.io/gpio": "1"}, {"memory": "10Ki"}, init=({"memory": "25Ki"}, {"memory": "40Ki"})
    )
    assert pod_requests(both) == {"memory": 40 * KIB, "esp32.io/gpio": 1}


def test_a_limit_counts_where_there_is_no_request() -> None:
    resources = {"limits": {"memory": "64Ki", "esp32.io/adc": "2"}, "requests": {"memory": "32Ki"}}
    assert pod_requests({"spec": {"containers": [{"resources": resources}]}}) == {"memory": 32 * KIB, "esp32.io/adc": 2}


@pytest.mark.parametrize(
    ("wants", "memory"),
    [
        ({}, 16 * KIB),
        ({"memory": "0"}, 0),
        ({"memory": "1"}, KIB),
        ({"memory": "1025"}, 2 * KIB),
        ({"memory": "7Zi"}, 0),
    ],
)
def test_memory_is_counted_in_kib_and_16_where_nothing_is_said(wants: dict[str, str], memory: int) -> None:
    assert pod_requests(pod(wants))["memory"] == memory


def test_the_short_name_of_psram() -> None:
    assert pod_requests(pod({"esp.io/psram": "1Ki"}))["esp32.io/psram"] == KIB


def test_named_buses_and_pins_take_from_the_counts() -> None:
    used = usage(
        [
            taken(**{"esp32.io/i2c-bus-0": "1", "esp32.io/i2c": "1", "memory": "0"}),
            taken(**{"esp32.io/uart-1": "1", "memory": "0"}),
            taken(**{"esp32.io/gpio-4": "1", "esp32.io/gpio-5": "1", "memory": "0"}),
            taken(**{"esp32.io/gpio": "3", "esp32.io/gpio-6": "1", "memory": "0"}),
        ]
    )
    assert used == {"memory": 0, "esp32.io/i2c": 2, "esp32.io/uart": 1, "esp32.io/gpio": 5}


def test_what_is_free_shrinks_and_never_goes_below_zero() -> None:
    rest = free(S3, [taken(memory="88Ki", **{"esp32.io/gpio": "4"}), taken(**{"esp32.io/rmt-tx": "9", "cpu": "7"})])
    assert rest["memory"] == (288 - 88 - 16) * KIB
    assert rest["esp32.io/gpio"] == 34 - 4
    assert rest["esp32.io/rmt-tx"] == 0
    assert rest["cpu"] == 2
    assert rest["hardware.kube32.io/wifi"] == 1


@pytest.mark.parametrize(
    "wants",
    [
        {},
        {"memory": "288Ki"},
        {"cpu": "64", "ephemeral-storage": "1Ti"},
        {"hardware.kube32.io/wifi": "1"},
        {"hardware.kube32.io/dac": "0"},
        {"esp32.io/gpio-4": "1"},
        {"esp32.io/uart-1": "1"},
        {"esp32.io/i2c-bus-1": "1"},
        {"esp32.io/rmt-tx": "4"},
    ],
)
def test_admitted(wants: dict[str, str]) -> None:
    assert admit(pod(wants), S3, []) is None


@pytest.mark.parametrize(
    ("wants", "reason", "numbers"),
    [
        ({"memory": "289Ki"}, "memory", "requested: 295936, used: 0, capacity: 294912"),
        ({"esp32.io/psram": "1"}, "esp32.io/psram", "requested: 1024, used: 0, capacity: 0"),
        ({"esp32.io/gpio": "35"}, "esp32.io/gpio", "requested: 35, used: 0, capacity: 34"),
        ({"hardware.kube32.io/dac": "1"}, "hardware.kube32.io/dac", "requested: 1, used: 0, capacity: 0"),
        ({"esp32.io/gpio-27": "1"}, "esp32.io/gpio-27", "requested: 1, used: 0, capacity: 0"),
        ({"esp32.io/gpio-04": "1"}, "esp32.io/gpio-04", "requested: 1, used: 0, capacity: 0"),
        ({"esp32.io/gpio-pin-4": "1"}, "esp32.io/gpio-pin-4", "requested: 1, used: 0, capacity: 0"),
        ({"esp32.io/gpio-99999": "1"}, "esp32.io/gpio-99999", "requested: 1, used: 0, capacity: 0"),
        ({"esp32.io/gpio-43": "1"}, "esp32.io/gpio-43", "requested: 1, used: 0, capacity: 0"),
        ({"esp32.io/gpio-4": "2"}, "esp32.io/gpio-4", "requested: 2, used: 0, capacity: 1"),
        ({"esp32.io/uart-0": "1"}, "esp32.io/uart-0", "requested: 1, used: 0, capacity: 0"),
        ({"esp32.io/i2c-bus-2": "1"}, "esp32.io/i2c-bus-2", "requested: 1, used: 0, capacity: 0"),
        ({"esp32.io/i2c-bus": "1"}, "esp32.io/i2c-bus", "requested: 1, used: 0, capacity: 0"),
        ({"example.com/laser": "1"}, "example.com/laser", "requested: 1, used: 0, capacity: 0"),
    ],
)
def test_what_the_board_does_not_have_is_refused(wants: dict[str, str], reason: str, numbers: str) -> None:
    message = f"Pod was rejected: Node didn't have enough resource: {reason}, {numbers}"
    assert admit(pod(wants), S3, []) == Rejection(f"OutOf{reason}", message)


def test_what_other_pods_hold_is_refused() -> None:
    others = [taken(memory="200Ki", **{"esp32.io/gpio-4": "1", "esp32.io/i2c-bus-0": "1"})]
    assert admit(pod({"memory": "88Ki"}), S3, others) is None
    assert admit(pod({"memory": "89Ki"}), S3, others) == Rejection(
        "OutOfmemory",
        "Pod was rejected: Node didn't have enough resource: memory, requested: 91136, used: 204800, capacity: 294912",
    )
    refused = [admit(pod({name: "1"}), S3, others) for name in ("esp32.io/gpio-4", "esp32.io/i2c-bus-0")]
    assert [rejection.reason for rejection in refused if rejection] == [
        "OutOfesp32.io/gpio-4",
        "OutOfesp32.io/i2c-bus-0",
    ]
    assert admit(pod({"esp32.io/gpio-5": "1", "esp32.io/i2c-bus-1": "1"}), S3, others) is None


def test_a_bus_is_one_bus_whatever_it_is_called() -> None:
    others = [taken(**{"esp32.io/i2c-bus-0": "1"})]
    refused = admit(pod({"esp32.io/i2c-0": "1"}), S3, others)
    assert refused is not None
    assert refused.message.endswith("esp32.io/i2c-0, requested: 1, used: 1, capacity: 1")
    twice = admit(pod({"esp32.io/uart-1": "1"}, {"esp32.io/uart-port-1": "1"}), S3, [])
    assert twice is not None
    assert twice.message.endswith("esp32.io/uart-1, requested: 2, used: 0, capacity: 1")


def test_two_containers_do_not_share_a_pin() -> None:
    refused = admit(pod({"esp32.io/gpio-4": "1"}, {"esp32.io/gpio-4": "1"}), S3, [])
    assert refused is not None
    assert refused.message.endswith("esp32.io/gpio-4, requested: 2, used: 0, capacity: 1")


def test_a_named_pin_is_one_of_the_boards_pins() -> None:
    refused = admit(pod({"esp32.io/gpio-4": "1"}), S3, [taken(**{"esp32.io/gpio": "34"})])
    assert refused is not None
    assert refused.reason == "OutOfesp32.io/gpio"


def test_channels_that_send_or_receive_are_given_away_once() -> None:
    """The 8 RMT channels of an ESP32 do either; those of later chips are of one kind."""
    esp32 = profiles()["esp32"]
    six = [taken(**{"esp32.io/rmt-tx": "4", "esp32.io/rmt-rx": "2"})]
    rest = free(esp32, six)
    assert (rest["esp32.io/rmt-tx"], rest["esp32.io/rmt-rx"]) == (2, 2)
    assert admit(pod({"esp32.io/rmt-rx": "2"}), esp32, six) is None
    refused = admit(pod({"esp32.io/rmt-rx": "2", "esp32.io/rmt-tx": "1"}), esp32, six)
    assert refused is not None
    assert refused.message.endswith("esp32.io/rmt-tx, requested: 3, used: 6, capacity: 8")
    assert admit(pod({"esp32.io/rmt-rx": "4", "esp32.io/rmt-tx": "4"}), S3, []) is None
    assert (free(S3, six)["esp32.io/rmt-tx"], free(S3, six)["esp32.io/rmt-rx"]) == (0, 2)


@given(
    st.lists(st.dictionaries(st.sampled_from(["memory", "esp32.io/psram"]), st.integers(0, 9 << 20)), max_size=5),
    st.sampled_from(sorted(profiles())),
)
def test_what_is_free_is_in_whole_kib(wants: list[dict[str, int]], board: str) -> None:
    requests = [pod_requests(pod({name: str(amount) for name, amount in each.items()})) for each in wants]
    rest = free(profiles()[board], requests)
    assert all(rest.get(name, 0) % KIB == 0 for name in ("memory", "esp32.io/psram"))


def test_the_only_free_uart_of_a_small_chip_is_number_one() -> None:
    assert admit(pod({"esp32.io/uart-1": "1"}), C3, []) is None

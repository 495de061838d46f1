"""Board profiles: the data file holds plain facts of the chips, and addresses do not collide."""

import ipaddress
import tomllib
from importlib.resources import files
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube32_sim.kubelet import addresses
from kube32_sim.kubelet.boards import KIB, Chip, Profile, boards
from kube32_sim.kubelet.node_object import amounts, heartbeat, lease_object, node_object

NAMES = sorted(boards())
DATA: dict[str, dict[str, Any]] = tomllib.loads(
    files("kube32_sim.kubelet").joinpath("boards.toml").read_text(encoding="utf-8")
)


class Caps(NamedTuple):
    """Numbers of `components/soc/CHIP/include/soc/soc_caps.h` of ESP-IDF 5, copied by hand."""

    gpio_mask: int
    cores: int
    i2c: int
    uart_hp: int
    adc: tuple[int, ...]
    rmt: int
    rmt_tx: int
    rmt_rx: int
    supported: frozenset[str]


COMMON = {"WIFI", "BLE", "TWAI", "I2S"}
S3 = Caps(
    0x1_FFFF_FC3F_FFFF, 2, 2, 3, (10, 10), 8, 4, 4,
    frozenset(COMMON | {"TOUCH_SENSOR", "USB_OTG", "USB_SERIAL_JTAG", "PCNT", "MCPWM", "SDMMC_HOST", "LCDCAM"}),
)  # fmt: skip
CAPS = {
    "esp32": Caps(
        0xFF_0EFF_FFFF, 2, 2, 3, (8, 10), 8, 8, 8,
        frozenset(COMMON | {"BT_CLASSIC", "DAC", "TOUCH_SENSOR", "EMAC", "PCNT", "MCPWM", "SDMMC_HOST"}),
    ),
    "esp32-s3": S3,
    "esp32-s3-psram8": S3,
    "esp32-c3": Caps(0x3F_FFFF, 1, 1, 2, (5, 1), 4, 2, 2, frozenset(COMMON | {"USB_SERIAL_JTAG"})),
    "esp32-c6": Caps(
        0x7FFF_FFFF, 1, 1, 2, (7,), 4, 2, 2,
        frozenset(COMMON | {"IEEE802154", "PCNT", "MCPWM", "USB_SERIAL_JTAG", "LP_CORE"}),
    ),
}  # fmt: skip
ONLY_IN_OTHER_PACKAGES = {"esp32": {20}}
"""GPIO20 is a pin of the ESP32-PICO-V3 alone."""
ELSEWHERE = {"vector", "psram"}
"""Capabilities that no macro of soc_caps.h decides."""


def chip(name: str) -> Chip:
    found = boards()[name].chip
    assert found is not None
    return found


@pytest.mark.parametrize("name", NAMES)
def test_counts_are_those_of_soc_caps(name: str) -> None:
    row, caps = DATA[name], CAPS[name]
    valid = {pin for pin in range(64) if caps.gpio_mask >> pin & 1}
    assert set(row["chip-pins"]) == valid - ONLY_IN_OTHER_PACKAGES.get(name, set())
    assert row["cores"] == caps.cores
    assert row["i2c"] == caps.i2c
    assert row["uart"] == caps.uart_hp - 1  # the console
    assert len(row["adc-pins"]) == sum(caps.adc)
    assert (row["rmt"], row["rmt-tx"], row["rmt-rx"]) == (caps.rmt, caps.rmt_tx, caps.rmt_rx)
    macros = {DATA["capabilities"][hardware] for hardware in row["hardware"] if hardware not in ELSEWHERE}
    assert macros == {f"SOC_{word}_SUPPORTED" for word in caps.supported}


@pytest.mark.parametrize("name", NAMES)
def test_pins_are_the_chips_less_those_of_memory_and_console(name: str) -> None:
    row, pins = DATA[name], chip(name).pins
    memory, absent, console = (set(row[key]) for key in ("memory-pins", "absent-pins", "console"))
    assert all(part <= set(row["chip-pins"]) for part in (memory, absent, console, set(row["adc-pins"])))
    assert len(memory | absent | console) == len(memory) + len(absent) + len(console)
    assert row["module-gpios"] == len(row["chip-pins"]) - len(memory) - len(absent) == len(pins) + 2
    assert not pins & (memory | absent | console)


def test_pins_and_channels_that_pods_can_have() -> None:
    told = {name: (len(chip(name).pins), chip(name).adc) for name in boards()}
    assert told == {
        "esp32": (24, 16),  # GPIO37 and 38, with a channel each, are not led out
        "esp32-s3": (34, 20),
        "esp32-s3-psram8": (31, 20),
        "esp32-c3": (13, 6),
        "esp32-c6": (21, 7),
    }
    assert not chip("esp32").pins & {6, 7, 8, 9, 10, 11}
    assert not chip("esp32-s3-psram8").pins & {*range(26, 38)}
    assert not chip("esp32-c3").pins & {*range(11, 18)}
    assert not chip("esp32-c6").pins & {*range(24, 31)}


@pytest.mark.parametrize("name", NAMES)
def test_memory_is_what_the_header_of_the_file_says(name: str) -> None:
    row, profile = DATA[name], boards()[name]
    assert row["heap"] == round(row["hello-world"] / KIB / 8) * 8
    assert 64 < row["heap"] - row["system"] < row["heap"] < row["sram"]
    assert profile.allocatable()["memory"] == (row["heap"] - row["system"]) * KIB
    assert (chip(name).psram > 0) == ("psram" in chip(name).hardware) == ("esp32.io/psram" in profile.capacity())


@pytest.mark.parametrize("name", NAMES)
def test_no_more_is_allocatable_than_there_is(name: str) -> None:
    capacity, allocatable = boards()[name].capacity(), boards()[name].allocatable()
    assert set(allocatable) == set(capacity)
    assert all(allocatable[resource] <= capacity[resource] for resource in capacity)
    sizes = ("memory", "ephemeral-storage", "esp32.io/psram")
    assert all(amounts.get(size, 0) % KIB == 0 for amounts in (capacity, allocatable) for size in sizes)


def test_sources_are_named() -> None:
    assert set(DATA) == {"capabilities", *NAMES}
    assert all(row["source"].endswith("_datasheet_en.pdf") for row in map(DATA.__getitem__, NAMES))
    used = {hardware for name in NAMES for hardware in DATA[name]["hardware"]}
    assert set(DATA["capabilities"]) == used


def test_only_one_board_has_psram() -> None:
    assert [name for name in NAMES if chip(name).psram] == ["esp32-s3-psram8"]
    assert boards()["esp32-s3-psram8"].capacity()["esp32.io/psram"] == 8 * 1024 * KIB


def test_amounts_are_written_as_kubernetes_writes_them() -> None:
    values = {"cpu": 2, "memory": 288 * KIB, "esp32.io/psram": 8192 * KIB, "esp32.io/gpio": 0}
    assert amounts(values) == {"cpu": "2", "memory": "288Ki", "esp32.io/psram": "8Mi", "esp32.io/gpio": "0"}


@given(st.integers(0, 40_000))
def test_neighbours_have_addresses_of_their_own(start: int) -> None:
    numbers = [addresses.node_number(f"board-{start + step}") for step in range(50)]
    assert len({addresses.node_ip(number) for number in numbers}) == 50
    assert len({addresses.pod_cidr(number) for number in numbers}) == 50


@given(st.text(alphabet="abc-.0123456789", max_size=40))
def test_addresses_are_in_their_ranges(name: str) -> None:
    number = addresses.node_number(name)
    assert ipaddress.ip_address(addresses.node_ip(number)) in ipaddress.ip_network("172.16.0.0/16")
    pods = ipaddress.ip_network(addresses.pod_cidr(number))
    assert pods.subnet_of(ipaddress.ip_network("10.128.0.0/9"))
    assert ipaddress.ip_address(addresses.pod_ip(number, set())) in pods


def test_addresses_do_not_depend_on_what_is_no_board() -> None:
    """They are the same from one release to the next: each of five kinds has a fifth."""
    told = {name: addresses.node_number(f"{name}-1") for name in boards()}
    assert told == {"esp32": 1, "esp32-s3": 6554, "esp32-s3-psram8": 13107, "esp32-c3": 19660, "esp32-c6": 26213}


def test_pod_addresses_are_used_again() -> None:
    taken = {addresses.pod_ip(7, set())}
    second = addresses.pod_ip(7, taken)
    assert second not in taken
    assert addresses.pod_ip(7, {second}) in taken


def c3() -> Profile:
    return boards()["esp32-c3"]


def test_a_node_tells_what_it_is() -> None:
    node = node_object("bench-1", c3(), c3().allocatable(), 0.0)
    assert (
        node["metadata"]["labels"].items()
        >= {
            "kubernetes.io/hostname": "bench-1",
            "kubernetes.io/arch": "riscv32",
            "esp32.io/board": "esp32-c3",
            "hardware.kube32.io/wifi": "true",
        }.items()
    )
    assert node["status"]["allocatable"]["memory"] == "224Ki"
    assert node["status"]["capacity"]["memory"] == "320Ki"
    assert {c["type"]: c["status"] for c in node["status"]["conditions"]} == {
        "MemoryPressure": "False",
        "DiskPressure": "False",
        "PIDPressure": "False",
        "Ready": "True",
    }


def test_transition_times_move_only_when_a_status_flips() -> None:
    free = c3().allocatable()
    node = {"status": heartbeat(free, None, 100.0)}
    node["status"]["conditions"][3] |= {"status": "Unknown", "lastTransitionTime": "1970-01-01T00:03:00Z"}
    conditions = {c["type"]: c for c in heartbeat(free, node, 200.0)["conditions"]}
    assert conditions["DiskPressure"]["lastTransitionTime"] == "1970-01-01T00:01:40Z"
    assert conditions["DiskPressure"]["lastHeartbeatTime"] == "1970-01-01T00:03:20Z"
    assert conditions["Ready"]["lastTransitionTime"] == "1970-01-01T00:03:20Z"


def test_a_lease_goes_with_its_node() -> None:
    lease = lease_object({"metadata": {"name": "bench-1", "uid": "u"}}, 15, 1.5)
    assert lease["metadata"]["ownerReferences"] == [{"apiVersion": "v1", "kind": "Node", "name": "bench-1", "uid": "u"}]
    assert lease["spec"] == {
        "holderIdentity": "bench-1",
        "leaseDurationSeconds": 15,
        "renewTime": "1970-01-01T00:00:01.500000Z",
    }

"""Board profiles: the data file is whole and plausible, and addresses do not collide."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube32_sim.kubelet import addresses
from kube32_sim.kubelet.boards import KIB, Profile, profiles
from kube32_sim.kubelet.node_object import amounts, heartbeat, lease_object, node_object

NAMES = sorted(profiles())


@pytest.mark.parametrize("name", NAMES)
def test_a_profile_is_plausible(name: str) -> None:
    profile = profiles()[name]
    assert 64 * KIB < profile.allocatable()["memory"] < profile.heap <= 520 * KIB
    assert profile.capacity()["esp32.io/gpio"] == len(profile.pins) > 10
    assert (profile.psram > 0) == ("psram" in profile.hardware) == ("esp32.io/psram" in profile.capacity())
    assert set(profile.allocatable()) == set(profile.capacity())
    assert {"wifi", "ble"} <= set(profile.hardware)


def test_only_one_board_has_psram() -> None:
    assert [name for name in NAMES if profiles()[name].psram] == ["esp32-s3-psram8"]
    assert profiles()["esp32-s3-psram8"].capacity()["esp32.io/psram"] == 8 * 1024 * KIB


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


def test_pod_addresses_are_used_again() -> None:
    taken = {addresses.pod_ip(7, set())}
    second = addresses.pod_ip(7, taken)
    assert second not in taken
    assert addresses.pod_ip(7, {second}) in taken


def c3() -> Profile:
    return profiles()["esp32-c3"]


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
    lease = lease_object({"metadata": {"name": "bench-1", "uid": "u"}}, 1.5)
    assert lease["metadata"]["ownerReferences"] == [{"apiVersion": "v1", "kind": "Node", "name": "bench-1", "uid": "u"}]
    assert lease["spec"] == {
        "holderIdentity": "bench-1",
        "leaseDurationSeconds": 15,
        "renewTime": "1970-01-01T00:00:01.500000Z",
    }

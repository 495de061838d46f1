"""What options may be; the command line and the library share these checks."""

from pathlib import Path
from typing import Any

import pytest

from kube32_sim.kubelet.addresses import node_ip, node_number, pod_cidr
from kube32_sim.kubelet.boards import profiles
from kube32_sim.options import BOARDS, LINUX, LOOPS, MOST_BOARDS, MOST_LINUX, OptionError, ServeOptions, selected_loops


@pytest.mark.parametrize(
    ("selection", "loops"),
    [
        ("*", set(LOOPS)),
        ("none", set()),
        ("", set()),
        ("scheduler", {"scheduler"}),
        ("scheduler, job", {"scheduler", "job"}),
        ("*,-job", set(LOOPS) - {"job"}),
        ("-job", set()),
        ("*,-job,job", set(LOOPS)),
    ],
)
def test_controllers_as_kube_controller_manager_reads_them(selection: str, loops: set[str]) -> None:
    assert selected_loops(selection) == loops


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({"port": -1}, "--port: -1"),
        ({"port": 65536}, "--port: 65536"),
        ({"nodes": -1}, "--nodes: -1"),
        ({"nodes": 32769}, "--nodes: 32769 is more than 32768"),
        ({"nodes": "many"}, "--nodes: 'many' is neither a number nor a mix like esp32-s3=20,esp32-c3=5"),
        ({"nodes": ""}, "--nodes: '' is neither"),
        ({"nodes": "5.5"}, "--nodes: '5.5' is neither"),
        ({"nodes": "-1"}, "--nodes: -1 is less than 0"),
        ({"nodes": "esp32-s3=2,"}, "--nodes: 'esp32-s3=2,' is neither"),
        ({"nodes": "esp32-s3=2,3"}, "--nodes: 'esp32-s3=2,3' is neither"),
        ({"nodes": "arduino=2"}, "--nodes: unknown board 'arduino'; there are: esp32, "),
        ({"nodes": "=2"}, "--nodes: unknown board ''; there are: esp32, "),
        ({"nodes": "esp32=2,esp32=3"}, "--nodes: esp32 is there twice"),
        ({"nodes": "esp32=2,esp32-c3=x"}, "--nodes: 'x' is no number of esp32-c3 boards"),
        ({"nodes": "esp32=-2"}, "--nodes: '-2' is no number of esp32 boards"),
        ({"nodes": "esp32="}, "--nodes: '' is no number of esp32 boards"),
        ({"nodes": "esp32=6554"}, "--nodes: 6554 of esp32 are more than 6553, the most of one kind in a mix"),
        ({"nodes": "linux=16385"}, "--nodes: 16385 of linux are more than 16384, the most of one kind in a mix"),
        ({"nodes": 16385, "board": "linux"}, "--nodes: 16385 is more than 16384"),
        ({"nodes": "esp32=1", "board": "esp32"}, "--board: not together with a mix of boards (--nodes esp32=1)"),
        ({"board": "arduino"}, "--board: unknown board 'arduino'; there are: esp32, "),
        ({"clock": "wall"}, "--clock: 'wall'"),
        ({"store": "sqlite::memory:"}, "--store: 'sqlite::memory:' would be a file of that name; say memory"),
        ({"store": "sqlite:"}, "--store: 'sqlite:' names no file; say sqlite:PATH"),
        ({"store": "redis://localhost"}, "--store: 'redis://localhost' is none of memory, sqlite:PATH and etcd://"),
        ({"store": "etcd://a:1,b/x"}, "--store: 'b' in 'etcd://a:1,b/x' is no HOST:PORT of an etcd member"),
        ({"store": "etcd://root:secret@a:1"}, "--store: etcd is spoken to without user and password"),
        ({"store": "etcd://a:0"}, "--store: 'a:0' in 'etcd://a:0' is no HOST:PORT"),
        ({"scheduler_profile": "kestral"}, "--scheduler-profile: 'kestral' is none; there are: kube32, kestrel"),
        (
            {"scheduler_profile": "kestrel", "controllers": "job"},
            "--scheduler-profile: kestrel needs the scheduler, which --controllers switches off",
        ),
        ({"controllers": "scheduler,jobs"}, "--controllers: unknown controller 'jobs'"),
        ({"authorization_mode": "Node,RBAC"}, "--authorization-mode: Node is not supported, only AlwaysAllow, RBAC,"),
        ({"authorization_mode": "Webhook"}, "--authorization-mode: Webhook is not supported"),
        ({"authorization_mode": "rbac"}, "--authorization-mode: 'rbac' is not a valid mode; there are: AlwaysAllow,"),
        ({"authorization_mode": ","}, "--authorization-mode: '' is not a valid mode"),
        ({"authorization_mode": "RBAC,RBAC"}, "--authorization-mode: RBAC is there twice"),
        ({"reconcile_interval": 0.0}, "--reconcile-interval: shorter"),
        ({"lease_check_interval": 0.0}, "--lease-check-interval: shorter"),
        ({"default_toleration_seconds": -1}, "--default-toleration-seconds: -1"),
        ({"tls_cert": Path("cert.pem")}, "--tls-cert and --tls-key"),
        ({"tls_key": Path("key.pem")}, "--tls-cert and --tls-key"),
        ({"tls_cert": Path("c"), "tls_key": Path("k"), "tls_self_signed": True}, "--tls-self-signed: not together"),
        ({"host": "0.0.0.0"}, "--host: 0.0.0.0 can be reached from other machines"),
        ({"host": "example.org"}, "--host: example.org can be reached"),
        ({"service_cluster_ip_range": "10.96.0.0"}, "--service-cluster-ip-range: 10.96.0.0/32"),
        ({"service_cluster_ip_range": "10.96.0.1/16"}, "--service-cluster-ip-range: 10.96.0.1/16 has host bits set"),
        ({"service_node_port_range": "32767-30000"}, "--service-node-port-range: '32767-30000' is no range"),
    ],
)
def test_refused_by_name(values: dict[str, Any], complaint: str) -> None:
    with pytest.raises(OptionError) as caught:
        ServeOptions(**values)
    assert str(caught.value).startswith(complaint)


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"host": "::1"},
        {"host": "127.0.0.2"},
        {"host": "localhost"},
        {"host": "0.0.0.0", "allow_anonymous": True},
        {"host": "0.0.0.0", "token_file": Path("tokens.csv")},
        {"tls_cert": Path("c"), "tls_key": Path("k")},
        {"clock": "virtual", "nodes": 0},
    ],
)
def test_accepted(values: dict[str, Any]) -> None:
    ServeOptions(**values)


@pytest.mark.parametrize(
    ("values", "boards"),
    [
        ({"nodes": 2, "board": "esp32-c3"}, [("esp32-0", "esp32-c3"), ("esp32-1", "esp32-c3")]),
        ({"nodes": "1", "board": "esp32"}, [("esp32-0", "esp32")]),
        ({}, [("esp32-0", "esp32-s3"), ("esp32-1", "esp32-s3")]),
        ({"nodes": "0"}, []),
        ({"nodes": 2, "board": "linux"}, [("linux-0", "linux"), ("linux-1", "linux")]),
        ({"nodes": "linux=1,esp32=1"}, [("linux-0", "linux"), ("esp32-0", "esp32")]),
        (
            {"nodes": "esp32-s3=2, esp32=1,esp32-c3=0 , esp32-s3-psram8=1"},
            [
                ("esp32-s3-0", "esp32-s3"),
                ("esp32-s3-1", "esp32-s3"),
                ("esp32-0", "esp32"),
                ("esp32-s3-psram8-0", "esp32-s3-psram8"),
            ],
        ),
    ],
)
def test_boards_are_named_in_order(values: dict[str, Any], boards: list[tuple[str, str]]) -> None:
    assert ServeOptions(**values).boards == boards


def test_no_two_boards_of_a_process_share_an_address() -> None:
    share = MOST_BOARDS // (len(BOARDS) - 1)
    mix = [f"{kind}={MOST_LINUX if kind == LINUX else share}" for kind in BOARDS]
    for options in (ServeOptions(nodes=MOST_BOARDS), ServeOptions(nodes=",".join(mix))):
        numbers = [node_number(name) for name, _ in options.boards]
        assert len({node_ip(number) for number in numbers}) == len(numbers) > 32000
        assert len({pod_cidr(number) for number in numbers}) == len(numbers)


def test_ranges() -> None:
    options = ServeOptions(service_node_port_range="30000-30002", service_cluster_ip_range="10.0.0.0/24")
    assert list(options.node_ports) == [30000, 30001, 30002]
    assert options.service_network.num_addresses == 256


def test_every_profile_can_be_named() -> None:
    assert set(BOARDS) == set(profiles())

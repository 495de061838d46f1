"""What is printed at the start, and by what a server on every address of the machine is reached."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509

from kube32_sim import greeting, interfaces
from kube32_sim.arguments import PROGRAM
from kube32_sim.client import NODES
from kube32_sim.cluster import Cluster
from kube32_sim.hosts import address_of, bracketed
from kube32_sim.http_client import HttpClient
from kube32_sim.options import ServeOptions
from kube32_sim.server import tls

KUBECONFIG = Path("/k")


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(PROGRAM, raising=False)
    monkeypatch.setattr(greeting, "own_addresses", lambda: ["192.0.2.7", "2001:db8::7"])
    monkeypatch.setattr(greeting, "own_name", lambda: "bench")


def greeted(**options: Any) -> list[str]:
    made = ServeOptions(**options)
    return greeting.greeting(made, f"http{'s' * made.tls}://{bracketed(made.host)}:1", 1, KUBECONFIG)


def test_on_this_machine_only() -> None:
    first = "kube32-sim is serving on http://127.0.0.1:1"
    use = "Use it:  export KUBECONFIG=/k  and then  kubectl get nodes"
    see = "See it:  http://127.0.0.1:1/ui/  in a browser"
    assert greeted() == [first, use, see]
    moved = "Its clock stands still until it is moved:  kube32-sim clock advance 10s"
    assert greeted(clock="virtual") == [first, use, see, moved]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"tls_self_signed": True}, "https://192.0.2.7:1  (by another name: --allowed-host NAME)"),
        (
            {"tls_self_signed": True, "allowed_hosts": ["sim.example"]},
            "https://sim.example:1 or https://192.0.2.7:1  (by another name: --allowed-host NAME)",
        ),
        (
            {"host": "::", "tls_self_signed": True},
            "https://[2001:db8::7]:1  (by another name: --allowed-host NAME)",
        ),
        ({"allow_anonymous": True}, "http://192.0.2.7:1  (by another name: --allowed-host NAME)"),
        ({"token_file": Path("t")}, "http://192.0.2.7:1"),
    ],
)
def test_on_every_address_others_are_told_one(options: dict[str, Any], said: str) -> None:
    first, _, _, line = greeted(**{"host": "0.0.0.0", **options})
    assert first.startswith("kube32-sim is serving on http")
    assert line == f"Others reach it at  {said}"


def test_the_page_is_where_this_machine_reaches_it() -> None:
    assert greeted(host="::", tls_self_signed=True)[2] == "See it:  https://[::1]:1/ui/  in a browser"
    assert greeted(host="0.0.0.0", token_file=Path("t"))[2] == "See it:  http://127.0.0.1:1/ui/  in a browser"


def test_what_somebody_elses_certificate_is_good_for_he_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"tls_cert": Path("c"), "tls_key": Path("k")}
    assert greeted(host="0.0.0.0", **files)[3] == "Others reach it by what its certificate is good for, on port 1"
    monkeypatch.setattr(greeting, "own_addresses", list)
    line = greeted(host="0.0.0.0", token_file=Path("t"))[3]
    assert line == "Others reach it at  an address of this machine, port 1"


async def test_a_server_on_every_address_is_known_by_each(monkeypatch: pytest.MonkeyPatch) -> None:
    chains: list[bytes] = []
    make = tls.self_signed_context

    def seen(hosts: Any, now: float, authority: Any = None) -> Any:
        chains.append(authority_names(hosts, now, authority))
        return make(hosts, now, authority)

    monkeypatch.setattr(tls, "self_signed_context", seen)
    options = ServeOptions(host="0.0.0.0", port=0, nodes=0, controllers="none", tls_self_signed=True)
    async with Cluster(options) as cluster:
        assert cluster.url == f"https://0.0.0.0:{cluster.port}"
        assert cluster.access.server == f"https://127.0.0.1:{cluster.port}"
        async with HttpClient(cluster.access) as client:
            assert (await client.list(NODES)).items == []
    names = x509.load_pem_x509_certificate(chains[0]).extensions.get_extension_for_class(x509.SubjectAlternativeName)
    assert "bench" in names.value.get_values_for_type(x509.DNSName)
    assert {"192.0.2.7", "2001:db8::7"} <= set(map(str, names.value.get_values_for_type(x509.IPAddress)))


def authority_names(hosts: Any, now: float, authority: Any) -> bytes:
    from kube32_sim.server.authority import server_certificate

    return server_certificate(hosts, now, authority)[0]


def test_addresses_of_the_machine_are_others_to_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    found = ["192.0.2.9", "127.0.0.1", "fe80::1", "192.0.2.8", "192.0.2.9"]
    monkeypatch.setattr(interfaces, "_on_the_way_out", lambda: iter(found[:3]))
    monkeypatch.setattr(interfaces, "_of_interfaces", lambda: iter(found[3:]))
    assert interfaces.own_addresses() == ["192.0.2.9", "192.0.2.8"]


def test_the_system_tells_addresses_without_asking_anybody() -> None:
    assert all(address_of(address) for address in (*interfaces._on_the_way_out(), *interfaces._of_interfaces()))
    assert "127.0.0.1" in interfaces._of_interfaces() or not hasattr(socket, "AF_PACKET")


@pytest.mark.parametrize(("name", "told"), [("Bench", "bench"), ("localhost", ""), ("a b", ""), ("", "")])
def test_a_name_that_others_can_use(name: str, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: name)
    assert interfaces.own_name() == told

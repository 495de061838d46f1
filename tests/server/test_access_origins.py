"""Pages in a browser cannot drive a server that listens on this machine: Host, Origin, absolute targets."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from kube32_sim.cluster import Cluster
from kube32_sim.options import OptionError, ServeOptions
from kube32_sim.server.origins import Origins, origins_of
from tests.support.wire import Answer, Wire, connected, head

NAMESPACES = "/api/v1/namespaces"


@pytest_asyncio.fixture
async def called() -> AsyncIterator[Cluster]:
    """Reachable under two more names."""
    options = ServeOptions(port=0, nodes=0, controllers="none", allowed_hosts=("Sim.Example.com", "fd00::1"))
    async with Cluster(options) as cluster:
        yield cluster


async def asked(cluster: Cluster, method: str = "GET", path: str = "/api", **headers: str) -> Answer:
    async with connected(cluster.port) as wire:
        return await wire(method, path, **headers)


@pytest.mark.parametrize(
    "host",
    [
        "localhost", "LOCALHOST:1", "localhost.:6443", "127.0.0.1", "127.0.0.1:6443", "127.8.8.8:1", "[::1]:1", "[::1]",
        "[::ffff:127.0.0.1]:80", "kubernetes", "kubernetes.default", "kubernetes.default.svc:443",
        "kubernetes.default.svc.cluster.local", "sim.example.com", "sim.example.com:8080", "[fd00::1]:6443",
    ],
)  # fmt: skip
async def test_its_own_names(called: Cluster, host: str) -> None:
    assert (await asked(called, Host=host)).status == 200


@pytest.mark.parametrize(
    "host",
    [
        "", "evil.example", "evil.example:6443", "localhost.evil.example", "127.0.0.1.evil.example", "evil.localhost",
        "0.0.0.0:6443", "192.168.0.1", "[fd00::2]", "2130706433", "0x7f000001", "127.1", "0177.0.0.1", "localhost:x",
        "localhost@evil.example", "evil.example@localhost", "localhost,evil.example", "localhost evil.example", "[::1",
        "::1", "localhost/", "localhost#", "h\xe9", "127.0.0.1:80:80", "a" * 5000, "localhost..", "*",
    ],
)  # fmt: skip
async def test_other_names_are_refused(called: Cluster, host: str) -> None:
    for path in ("/api", "/healthz", "/nowhere", f"{NAMESPACES}?watch=1"):
        answer = await asked(called, path=path, Host=host)
        assert (answer.status, answer.json()["reason"]) == (403, "Forbidden")
        assert answer.json()["message"].startswith("this server is not called ")


async def test_the_answer_says_what_to_do(called: Cluster) -> None:
    message = (await asked(called, Host="host.docker.internal:6443")).json()["message"]
    assert message == (
        'this server is not called "host.docker.internal:6443": if you want to reach it by that name, '
        "start it with --allowed-host host.docker.internal"
    )


async def test_a_target_that_is_a_url_says_the_host(called: Cluster) -> None:
    for target, host, code in (
        ("http://localhost/api", "evil.example", 200),
        (f"http://127.0.0.1:{called.port}/api", "localhost", 200),
        ("http://evil.example/api", "localhost", 403),
        ("http://localhost@evil.example/api", "localhost", 403),
        ("HTTP://evil.example:80/api", "localhost", 403),
        ("*", "localhost", 400),
    ):
        async with connected(called.port) as wire:
            await wire.send(head(f"GET {target} HTTP/1.1", {"Host": host}))
            assert (await wire.answer()).status == code, target


async def test_no_tunnels(wire: Wire) -> None:
    await wire.send(head("CONNECT evil.example:80 HTTP/1.1", {"Host": "localhost"}))
    assert (await wire.answer()).status in (400, 403)


@pytest.mark.parametrize("hosts", [[], ["localhost", "localhost"], ["localhost", "evil.example"]])
async def test_one_host_exactly(called: Cluster, hosts: list[str]) -> None:
    async with connected(called.port) as wire:
        lines = "".join(f"Host: {host}\r\n" for host in hosts)
        await wire.send(f"GET /api HTTP/1.1\r\n{lines}\r\n".encode())
        assert (await wire.answer()).status == 400


async def test_http_1_0_needs_no_host(called: Cluster) -> None:
    """No browser speaks it."""
    async with connected(called.port) as wire:
        await wire.send(b"GET /api HTTP/1.0\r\n\r\n")
        assert (await wire.answer()).status == 200


SAME = {"Host": "localhost:6443", "Origin": "http://localhost:6443"}
FOREIGN = ("http://evil.example", "https://evil.example:6443", "null", "http://localhost", "http://localhost:3000",
           "http://127.0.0.1:6443", "file://", "http://localhost:6443.evil.example", "", "\xff",
           "chrome-extension://x", "http://localhost:6443, http://evil.example")  # fmt: skip


@pytest.mark.parametrize("origin", [origin for origin in FOREIGN if origin])
async def test_pages_of_others_are_refused(called: Cluster, origin: str) -> None:
    for method, path in (
        ("POST", NAMESPACES),
        ("GET", NAMESPACES),
        ("OPTIONS", NAMESPACES),
        ("DELETE", f"{NAMESPACES}/x"),
    ):
        answer = await asked(called, method, path, Host="localhost:6443", Origin=origin)
        assert (answer.status, answer.json()["reason"]) == (403, "Forbidden")
        assert "may not send requests to this server" in answer.json()["message"]


@pytest.mark.parametrize("site", ["", "Sec-Fetch-Site: cross-site\r\n"])
async def test_every_origin_counts(called: Cluster, site: str) -> None:
    own = "Origin: http://localhost:6443\r\n"
    for more, code in (("", 200), (own, 200), ("Origin: http://evil.example\r\n", 403), ("Origin: \r\n", 403)):
        for lines in (own + more, more + own):
            async with connected(called.port) as wire:
                await wire.send(f"GET /api HTTP/1.1\r\nHost: localhost:6443\r\n{site}{lines}\r\n".encode())
                assert (await wire.answer()).status == code, lines


async def test_the_refusal_names_the_option_only_where_it_helps(called: Cluster) -> None:
    said = 'pages of other sites may not send requests to this server, and this one is of "http://dash.example:3000"'
    told = "; if that is a proxy in front of this server, start it with --allowed-host dash.example"
    for headers, more in (
        ({}, told),
        ({"Sec-Fetch-Site": "cross-site"}, ""),
        ({"Sec-Fetch-Site": "same-site"}, ""),
        ({"Access-Control-Request-Method": "POST"}, ""),
    ):
        async with connected(called.port) as wire:
            sent = {"Host": "localhost:6443", "Origin": "http://dash.example:3000", **headers}
            await wire.send(head(f"OPTIONS {NAMESPACES} HTTP/1.1", sent))
            assert (await wire.answer()).json()["message"] == said + more
    # another program's page on this machine: no option lets it in
    for origin in ("http://localhost:3000", "http://127.0.0.1:8000"):
        async with connected(called.port) as wire:
            await wire.send(head(f"GET {NAMESPACES} HTTP/1.1", {"Host": "localhost:6443", "Origin": origin}))
            assert (await wire.answer()).json()["message"] == said.replace("http://dash.example:3000", origin)


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"])
async def test_a_form_of_another_page_changes_nothing(called: Cluster, kind: str) -> None:
    body = b'{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"forged"}}'
    for headers in ({"Origin": "http://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}):
        async with connected(called.port) as wire:
            sent = {"Host": "localhost", "Content-Type": kind, "Content-Length": str(len(body)), **headers}
            await wire.send(head(f"POST {NAMESPACES} HTTP/1.1", sent) + body)
            assert (await wire.answer()).status == 403
    assert (await asked(called, path=f"{NAMESPACES}/forged")).status == 404


async def test_sockets_of_another_page_are_refused(called: Cluster) -> None:
    """Browsers let a page open a WebSocket anywhere, and say only where the page is from."""
    path = "/api/v1/namespaces/default/pods/p/exec?command=sh&stdin=true"
    headers = {"Connection": "Upgrade", "Upgrade": "websocket", "Origin": "http://evil.example"}
    assert (await asked(called, path=path, **headers)).status == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://localhost:6443"},
        {"Origin": "http://LOCALHOST:6443"},
        {"Origin": "https://localhost:6443"},
        {"Origin": "http://sim.example.com:3000"},
        {"Sec-Fetch-Site": "same-origin"},
        {"Sec-Fetch-Site": "none"},
        {"Sec-Fetch-Site": "same-origin", "Origin": "http://localhost:8001"},  # through `kubectl proxy`
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"},
    ],
)
async def test_its_own_pages_and_links_are_let_in(called: Cluster, headers: dict[str, str]) -> None:
    answer = await asked(called, Host="localhost:6443", **headers)
    assert answer.status == 200
    assert not [name for name in answer.headers if name.startswith("access-control-")]


@pytest.mark.parametrize("site", ["cross-site", "same-site", "", "what"])
async def test_what_the_browser_says_of_the_page(called: Cluster, site: str) -> None:
    headers = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}
    assert (await asked(called, **headers)).status == 403
    frame = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}
    assert (await asked(called, **frame)).status == 403
    link = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    assert (await asked(called, "POST", NAMESPACES, **link)).status == 403


# which servers look at the host


def accepts(origins: Origins, host: str) -> bool:
    try:
        origins._check_host(host)
    except Exception:
        return False
    return True


def test_an_open_server_on_every_address_takes_any_address_but_no_name() -> None:
    origins = origins_of(ServeOptions(host="0.0.0.0", allow_anonymous=True))
    assert all(accepts(origins, host) for host in ("0.0.0.0:6443", "192.168.0.1:6443", "[fe80::1]:1", "localhost"))
    assert not accepts(origins, "evil.example")
    assert accepts(origins_of(ServeOptions(host="Sim.Local", allow_anonymous=True)), "sim.local:1")


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
def test_a_server_on_loopback_looks_at_the_host_though_it_asks_for_tokens(host: str) -> None:
    assert not origins_of(ServeOptions(host=host, token_file=Path("tokens.csv")))._any_host


def test_a_server_for_others_that_asks_for_tokens_has_any_name() -> None:
    assert origins_of(ServeOptions(host="0.0.0.0", token_file=Path("tokens.csv")))._any_host


@pytest.mark.parametrize("host", ["", " ", "http://a", "a:80", "*", "*.example.com", "[::1]:80", "a b", "a/b"])
def test_what_is_no_name_is_refused(host: str) -> None:
    with pytest.raises(OptionError, match="--allowed-host"):
        ServeOptions(allowed_hosts=[host])


@pytest.mark.parametrize("host", ["", "  "])
def test_no_address_is_not_every_address(host: str) -> None:
    with pytest.raises(OptionError, match="--host: no address"):
        ServeOptions(host=host, allow_anonymous=True)


async def test_programs_on_other_ports_of_this_machine_may_be_let_in() -> None:
    options = ServeOptions(port=0, nodes=0, controllers="none", allowed_hosts=["localhost"])
    async with Cluster(options) as cluster:
        for origin, code in (("http://localhost:3000", 200), ("http://127.0.0.1:3000", 403), ("null", 403)):
            assert (await asked(cluster, Host="localhost:6443", Origin=origin)).status == code


def test_how_many_hosts_are_remembered() -> None:
    origins = Origins("127.0.0.1")
    for port in range(3000):
        origins._check_host(f"localhost:{port}")
    assert len(origins._good) <= 1000


async def test_the_made_certificate_is_good_for_every_name() -> None:
    options = ServeOptions(
        port=0, nodes=0, controllers="none", tls_self_signed=True, allowed_hosts=["Sim.Example.com", "fd00::1"]
    )
    async with Cluster(options) as cluster:
        context = ssl.create_default_context(cadata=(cluster.access.ca or b"").decode())
        names = ("127.0.0.1", "::1", "localhost", "kubernetes.default.svc", "sim.example.com", "fd00::1")
        for name in names:
            _, writer = await asyncio.open_connection("127.0.0.1", cluster.port, ssl=context, server_hostname=name)
            writer.close()
        with pytest.raises(ssl.SSLCertVerificationError):
            await asyncio.open_connection("127.0.0.1", cluster.port, ssl=context, server_hostname="evil.example")

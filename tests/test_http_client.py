"""The client over HTTP: streams cut anywhere, answers of every kind, and the same verbs as in process."""

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
import pytest_asyncio
from aiohttp import web
from aiohttp.test_utils import TestServer

from kube32_sim.api.errors import ApiError
from kube32_sim.client import DEPLOYMENTS, LEASES, NODES, PODS, Resource, Unreachable, WatchEvent
from kube32_sim.cluster import Cluster
from kube32_sim.http_client import HttpClient, path_of
from kube32_sim.kubeconfig import Access
from kube32_sim.options import ServeOptions

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Serve = Callable[[Handler], Awaitable[HttpClient]]


@pytest_asyncio.fixture
async def serve() -> AsyncIterator[Serve]:
    """`await serve(handler)` answers a client of a server that answers everything with the handler."""
    opened: list[Any] = []

    async def start(handler: Handler) -> HttpClient:
        application = web.Application()
        application.router.add_route("*", "/{path:.*}", handler)
        server = TestServer(application)
        await server.start_server()
        client = HttpClient(Access(str(server.make_url("/")), token="secret"))
        opened.extend((server, client))
        return client

    yield start
    for thing in reversed(opened):
        await thing.close()


def chunks(*parts: bytes, broken: bool = False) -> Handler:
    """A stream of exactly these chunks; broken: the connection is cut instead of ended."""

    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for part in parts:
            await response.write(part)
        if broken:
            assert request.transport is not None
            request.transport.abort()
        return response

    return handler


def line(event: str, **obj: Any) -> bytes:
    return orjson.dumps({"type": event, "object": obj}) + b"\n"


async def watched(client: HttpClient) -> list[WatchEvent]:
    async with client.watch(PODS) as events:
        return [event async for event in events]


async def test_a_stream_may_be_cut_anywhere(serve: Serve) -> None:
    long = "ü" * 200_000
    stream = line("ADDED", n=1, text=long) + line("BOOKMARK", n=2) + b"\n" + line("DELETED", n=3)
    expected = [("ADDED", 1), ("BOOKMARK", 2), ("DELETED", 3)]
    for size in (len(stream), 65536, 9_999):
        pieces = [stream[start : start + size] for start in range(0, len(stream), size)]
        events = await watched(await serve(chunks(*pieces)))
        assert [(event.type, event.object["n"]) for event in events] == expected
        assert events[0].object["text"] == long
    tail = line("ADDED", n=1) + line("MODIFIED", n=2).rstrip()
    events = await watched(await serve(chunks(*(tail[i : i + 1] for i in range(len(tail))))))
    assert [(event.type, event.object["n"]) for event in events] == [("ADDED", 1), ("MODIFIED", 2)]


async def test_an_error_in_the_stream_is_an_event(serve: Serve) -> None:
    (event,) = await watched(await serve(chunks(line("ERROR", kind="Status", code=410, reason="Expired"))))
    assert event == WatchEvent("ERROR", {"kind": "Status", "code": 410, "reason": "Expired"})


async def test_a_stream_that_breaks_is_unreachable(serve: Serve) -> None:
    client = await serve(chunks(line("ADDED", n=1), broken=True))
    async with client.watch(PODS) as events:
        assert (await anext(events)).type == "ADDED"
        with pytest.raises(Unreachable, match="broke"):
            await anext(events)


@pytest.mark.parametrize("text", [b"no json\n", b"[]\n", b'{"type":"ADDED"}\n', b'{"type":"ADDED","object":1}\n'])
async def test_a_line_that_is_no_event_is_unreachable(serve: Serve, text: bytes) -> None:
    with pytest.raises(Unreachable, match="no event"):
        await watched(await serve(chunks(text)))


async def test_a_refused_watch_is_an_api_error(serve: Serve) -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        return web.json_response({"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}, status=410)

    with pytest.raises(ApiError) as caught:
        await watched(await serve(handler))
    assert (caught.value.code, caught.value.reason, caught.value.message) == (410, "Expired", "too old")


async def test_a_status_becomes_an_api_error(serve: Serve) -> None:
    status = {"kind": "Status", "code": 429, "reason": "TooManyRequests", "message": "slow down", "details": {"a": 1}}

    async def handler(request: web.Request) -> web.StreamResponse:
        return web.json_response(status, status=429, headers={"Retry-After": "3"})

    with pytest.raises(ApiError) as caught:
        await (await serve(handler)).get(PODS, "default", "a")
    assert caught.value.status() == {"apiVersion": "v1", "metadata": {}, "status": "Failure", **status}
    assert caught.value.headers == (("Retry-After", "3"),)


async def test_an_answer_of_somebody_in_between_is_an_api_error_too(serve: Serve) -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        return web.Response(text="<h1>Bad Gateway</h1>", status=502)

    with pytest.raises(ApiError, match="the server answered 502: <h1>Bad Gateway</h1>") as caught:
        await (await serve(handler)).list(PODS)
    assert caught.value.code == 502


async def test_an_answer_that_is_no_json_is_unreachable(serve: Serve) -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        return web.Response(text="hello")

    with pytest.raises(Unreachable, match="no JSON object"):
        await (await serve(handler)).get(PODS, "default", "a")


async def test_nobody_there_is_unreachable() -> None:
    async with HttpClient(Access("http://127.0.0.1:1")) as client:
        with pytest.raises(Unreachable, match="1/api/v1/nodes/a"):
            await client.get(NODES, "", "a")
        with pytest.raises(Unreachable):
            await watched(client)


async def test_what_is_sent(serve: Serve) -> None:
    seen: list[tuple[str, str, str, bytes]] = []

    async def handler(request: web.Request) -> web.StreamResponse:
        assert request.headers["Authorization"] == "Bearer secret"
        seen.append((request.method, request.path_qs, request.content_type, await request.read()))
        return web.json_response({"kind": "List", "metadata": {"resourceVersion": "7"}})

    client = await serve(handler)
    await client.create(PODS, "default", {"a": 1})
    await client.create(PODS, "default", {"a": 1}, subresource="binding", name="web")
    await client.update(LEASES, "kube-node-lease", {"metadata": {"name": "n"}})
    await client.patch(NODES, "", "n", {"status": {}}, subresource="status", kind="strategic")
    await client.patch(PODS, "default", "a", {"x": None})
    await client.delete(PODS, "default", "a")
    await client.delete(PODS, "default", "a", options={"gracePeriodSeconds": 0})
    assert (await client.list(PODS, label_selector="a in (b,c)", field_selector="spec.nodeName=n")).items == []
    pods = "/api/v1/namespaces/default/pods"
    options = b'{"apiVersion":"v1","kind":"DeleteOptions","gracePeriodSeconds":0}'
    assert seen == [
        ("POST", pods, "application/json", b'{"a":1}'),
        ("POST", f"{pods}/web/binding", "application/json", b'{"a":1}'),
        (
            "PUT",
            "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n",
            "application/json",
            b'{"metadata":{"name":"n"}}',
        ),
        ("PATCH", "/api/v1/nodes/n/status", "application/strategic-merge-patch+json", b'{"status":{}}'),
        ("PATCH", f"{pods}/a", "application/merge-patch+json", b'{"x":null}'),
        ("DELETE", f"{pods}/a", "application/octet-stream", b""),
        ("DELETE", f"{pods}/a", "application/json", options),
        (
            "GET",
            "/api/v1/pods?labelSelector=a+in+(b,c)&fieldSelector=spec.nodeName%3Dn",
            "application/octet-stream",
            b"",
        ),
    ]


def test_paths() -> None:
    assert path_of(DEPLOYMENTS, "default", "web", "scale") == "/apis/apps/v1/namespaces/default/deployments/web/scale"
    assert path_of(NODES, "", "a/b?") == "/api/v1/nodes/a%2Fb%3F"
    assert path_of(Resource("", "v1", "pods")) == "/api/v1/pods"


CONFIG_MAPS = Resource("", "v1", "configmaps")


async def test_the_same_verbs_as_in_process(virtual_cluster: Cluster) -> None:
    async with HttpClient(virtual_cluster.access) as client:
        revision = (await client.list(CONFIG_MAPS, "default")).resource_version
        created = await client.create(CONFIG_MAPS, "default", config_map("a"))
        created["data"] = {"k": "v"}
        await client.update(CONFIG_MAPS, "default", created)
        await client.patch(CONFIG_MAPS, "default", "a", {"data": {"k": None, "l": "w"}})
        assert (await client.get(CONFIG_MAPS, "default", "a"))["data"] == {"l": "w"}
        with pytest.raises(ApiError) as caught:
            await client.update(CONFIG_MAPS, "default", created)
        assert caught.value.reason == "Conflict"
        await client.delete(CONFIG_MAPS, "default", "a")
        for each in (client, virtual_cluster.client):
            kinds = []
            async with each.watch(CONFIG_MAPS, "default", resource_version=revision) as events:
                async for event in events:
                    kinds.append((event.type, event.object.get("data")))
                    if event.type == "DELETED":
                        break
            assert kinds == [
                ("ADDED", None),
                ("MODIFIED", {"k": "v"}),
                ("MODIFIED", {"l": "w"}),
                ("DELETED", {"l": "w"}),
            ]


def config_map(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}


async def test_tls_with_the_authority_of_the_kubeconfig() -> None:
    async with Cluster(ServeOptions(port=0, nodes=0, clock="virtual", tls_self_signed=True)) as cluster:
        async with HttpClient(cluster.access) as client:
            assert (await client.list(NODES)).items == []
        async with HttpClient(Access(cluster.url, token=cluster.access.token)) as client:
            with pytest.raises(Unreachable, match="certificate verify failed"):
                await client.list(NODES)
        async with HttpClient(Access(cluster.url, insecure=True, token="wrong")) as client:
            with pytest.raises(ApiError) as caught:
                await client.list(NODES)
            assert caught.value.code == 401


def test_a_client_certificate_is_loaded_and_its_file_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from kube32_sim.http_client import _load_client_certificate

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(ssl.SSLError):
        _load_client_certificate(ssl.create_default_context(), b"no certificate", b"no key")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "body",
    [{}, {"items": []}, {"metadata": {}}, {"metadata": "x"}, {"metadata": {"resourceVersion": 7}}]
    + [{"metadata": {"resourceVersion": "7"}, "items": items} for items in ("x", [1], [{}], [{"metadata": {}}])],
)
async def test_a_list_that_is_none(serve: Serve, body: Any) -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        return web.json_response(body)

    client = await serve(handler)
    with pytest.raises(Unreachable, match=r"GET http://.*/api/v1/pods: the answer is no list of pods"):
        await client.list(PODS)


@pytest.mark.parametrize("server", ["http://a..b", f"http://{'x' * 64}.example", "http://[::1"])
async def test_addresses_that_are_none(server: str) -> None:
    async with HttpClient(Access(server)) as client:
        with pytest.raises(Unreachable, match="GET "):
            await client.list(PODS)

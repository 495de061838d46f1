"""What leaves the server around its objects: codes, headers, forms and failures; and all the HTTP that is legal."""

from __future__ import annotations

import asyncio
import gzip
import json
from typing import Any

import pytest
import yaml

from kube32_sim.api import paths
from kube32_sim.api.builtin import builtin_table
from kube32_sim.client import Resource
from kube32_sim.cluster import Cluster
from kube32_sim.server.documents import Documents
from tests.support.objects import REPLICASETS, replica_set
from tests.support.wire import Wire, connected, head

MAPS = Resource("", "v1", "configmaps")
PATH = "/api/v1/namespaces/default/configmaps"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


def config_map(name: str, size: int = 0) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"text": "x" * size}}


async def fill(cluster: Cluster, count: int, size: int) -> None:
    for number in range(count):
        await cluster.client.create(MAPS, "default", config_map(f"m{number}", size))


# compression


@pytest.mark.parametrize(
    ("accepted", "compressed"),
    [
        ("gzip", True),
        ("deflate, gzip ,br", True),
        ("", False),
        ("deflate", False),
        ("gzip;q=0", False),
        ("x-gzip", False),
    ],
)
async def test_large_answers_are_compressed_for_those_who_accept_it(
    bare: Cluster, wire: Wire, accepted: str, compressed: bool
) -> None:
    await fill(bare, 3, 60_000)
    answer = await wire("GET", PATH, Accept_Encoding=accepted)
    assert (answer.header("content-encoding") == "gzip") == compressed
    text = gzip.decompress(answer.body) if compressed else answer.body
    assert [item["metadata"]["name"] for item in json.loads(text)["items"]] == ["m0", "m1", "m2"]
    assert ("Accept-Encoding" in answer.header("vary")) == compressed


async def test_small_answers_are_not_compressed(bare: Cluster, wire: Wire) -> None:
    await fill(bare, 1, 100_000)
    answer = await wire("GET", PATH, Accept_Encoding="gzip")
    assert answer.header("content-encoding") == ""
    assert answer.json()["items"][0]["metadata"]["name"] == "m0"


# forms


async def test_yaml_goes_in_and_out(wire: Wire) -> None:
    text = b"metadata:\n  name: yaml\ndata: {a: 'no', b: 'x: y'}\n"
    made = await wire("POST", PATH, text, Content_Type="application/yaml", Accept="application/yaml")
    assert (made.status, made.header("content-type")) == (201, "application/yaml")
    assert yaml.safe_load(made.body)["data"] == {"a": "no", "b": "x: y"}
    failed = await wire("POST", PATH, text, Content_Type="application/yaml", Accept="application/yaml")
    assert (failed.status, yaml.safe_load(failed.body)["reason"]) == (409, "AlreadyExists")


async def test_health_is_told_check_by_check(wire: Wire) -> None:
    started = "poststarthook/start-cluster"
    alive = ("ping", "log", "etcd")
    ready = (*alive, "etcd-readiness", "informer-sync", started, "shutdown")
    for path, checks in (("livez", alive), ("readyz", ready), ("healthz", (*alive, started))):
        answer = await wire("GET", f"/{path}?verbose")
        assert answer.body.decode() == "".join(f"[+]{check} ok\n" for check in checks) + f"{path} check passed\n"
        assert (answer.status, answer.header("content-type")) == (200, "text/plain; charset=utf-8")
        for check in checks:
            assert (await wire("GET", f"/{path}/{check}")).body == b"ok"
    answer = await wire("GET", "/livez?verbose=true&exclude=ping")
    assert answer.body == b"[+]ping excluded: ok\n[+]log ok\n[+]etcd ok\nlivez check passed\n"
    assert (await wire("GET", f"/livez/{started}")).status == 404


def test_health_names_what_is_missing() -> None:
    documents = Documents(builtin_table(), lambda: "", lambda: False)

    def ask(path: str) -> tuple[int, bytes]:
        path, _, query = path.partition("?")
        found = documents.find(paths.parse("GET", path), paths.parse_query(query), "", "")
        assert found is not None
        return found.status, found.body

    told = "[+]ping ok\n[+]log ok\n[+]etcd ok\n[-]poststarthook/start-cluster failed: reason withheld\n"
    assert ask("/healthz?verbose") == ask("/healthz") == (503, f"{told}healthz check failed\n".encode())
    assert ask("/readyz")[0] == 503
    assert ask("/readyz?exclude=poststarthook/start-cluster") == (200, b"ok")
    assert ask("/readyz/poststarthook/start-cluster") == (503, b"not ready\n")
    assert ask("/readyz/ping") == ask("/livez") == (200, b"ok")


def test_a_store_in_trouble_is_not_ready() -> None:
    trouble = ["etcd is away"]
    documents = Documents(builtin_table(), lambda: "", lambda: True, trouble=lambda: "".join(trouble))

    def ask(path: str) -> tuple[int, bytes]:
        found = documents.find(paths.parse("GET", path), {}, "", "")
        assert found is not None
        return found.status, found.body

    status, body = ask("/readyz")
    assert status == 503
    assert b"[-]etcd failed: reason withheld\n[-]etcd-readiness failed: reason withheld\n" in body
    assert ask("/livez/etcd")[0] == 503
    trouble.clear()
    assert ask("/readyz") == (200, b"ok")


@pytest.mark.parametrize(
    ("path", "status"),
    [
        *(("/healthz", 200), ("/apis", 200), ("/apis/apps", 200), ("/openapi/v2", 200), ("/nowhere", 404)),
        *(("/version", 405), ("/api", 405), ("/api/v1", 405), ("/apis/apps/v1", 405), (PATH, 405)),
    ],
)
async def test_head_answers_without_a_body(wire: Wire, path: str, status: int) -> None:
    answer = await wire("HEAD", path)
    assert (answer.status, answer.body) == (status, b"")
    assert (await wire("GET", "/healthz")).body == b"ok"


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("OPTIONS", PATH, 405),
        ("POST", "/version", 405),
        ("POST", "/api/v1/pods", 405),
        ("DELETE", "/api/v1/pods", 405),
        ("PUT", PATH, 405),
        ("PATCH", PATH, 405),
        ("PATCH", "/api/v1/namespaces/default/pods/x/eviction", 405),
        ("GET", "/api/v1/namespaces/default/pods/x/nothing", 404),
        ("GET", "/api/v1/nothings", 404),
        ("GET", "/api/v9/pods", 404),
        ("GET", "/apis/apps/v9/deployments", 404),
        ("GET", "/api/v1/namespaces/default/nodes", 404),
        ("GET", "/api/v1/pods/x", 404),
    ],
)
async def test_what_is_not_served_is_a_status(wire: Wire, method: str, path: str, status: int) -> None:
    answer = await wire(method, path)
    body = answer.json()
    assert (answer.status, body["code"], body["kind"], body["status"]) == (status, status, "Status", "Failure")


@pytest.mark.parametrize("path", ["/nowhere", "/apis/no.such/v1/x", "/healthz/nothing"])
async def test_paths_outside_the_api_are_plainly_not_found(wire: Wire, path: str) -> None:
    answer = await wire("GET", path)
    assert (answer.status, answer.body) == (404, b"404 page not found\n")


@pytest.mark.parametrize("method", ["POST", "PUT", "OPTIONS", "DELETE"])
async def test_what_has_no_route_answers_every_method(wire: Wire, method: str) -> None:
    for path in ("/healthz", "/apis", "/apis/apps"):
        answer = await wire(method, path)
        assert (answer.status, answer.body) == (200, (await wire("GET", path)).body)


async def test_discovery_is_known_by_its_tag(wire: Wire) -> None:
    for path in ("/api", "/apis", "/openapi/v3", "/openapi/v2"):
        first = await wire("GET", path, Accept="application/json")
        tag = first.header("etag")
        assert (first.status, bool(tag)) == (200, True), path
        again = await wire("GET", path, Accept="application/json", If_None_Match=tag)
        assert (again.status, again.body) == (304, b""), path
        other = await wire("GET", path, Accept="application/json", If_None_Match='"other"')
        assert (other.status, other.body) == (200, first.body), path


async def test_bodies_that_are_too_large_are_refused(wire: Wire) -> None:
    answer = await wire("POST", PATH, config_map("big", 3 << 20))
    assert (answer.status, answer.json()["reason"]) == (413, "RequestEntityTooLarge")


async def test_a_chunked_body_that_is_too_large_is_refused(bare: Cluster) -> None:
    async with connected(bare.port) as wire:
        await wire.send(head(f"POST {PATH} HTTP/1.1", {"Host": "localhost", "Transfer-Encoding": "chunked"}))
        piece = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
        try:
            for _ in range(64):
                await wire.send(piece)
            await wire.send(b"0\r\n\r\n")
        except ConnectionError:
            return  # refused before all of it was sent
        assert (await wire.answer()).status == 413


@pytest.mark.parametrize("content_type", ["text/plain", "application/xml", "image/png; q=1"])
async def test_unknown_media_are_refused(wire: Wire, content_type: str) -> None:
    answer = await wire("POST", PATH, b"<x/>", Content_Type=content_type)
    assert (answer.status, answer.json()["reason"]) == (415, "UnsupportedMediaType")
    assert (await wire("PATCH", f"{PATH}/x", b"{}", Content_Type="application/json")).status == 415


@pytest.mark.parametrize("accept", ["text/html", "application/xml", "image/*"])
async def test_forms_that_do_not_exist_are_not_acceptable(wire: Wire, accept: str) -> None:
    answer = await wire("GET", PATH, Accept=accept)
    assert (answer.status, answer.json()["reason"]) == (406, "NotAcceptable")


async def test_deprecation_is_told_with_successes_failures_and_watches(bare: Cluster) -> None:
    path = "/api/v1/namespaces/default/endpoints"
    for suffix, status in (("", 200), ("/none", 404), ("?watch=true&timeoutSeconds=1", 200), ("?limit=x", 400)):
        async with connected(bare.port) as wire:
            await wire.ask("GET", path + suffix)
            answer = await wire.begin()
            assert answer.status == status
            assert answer.header("warning").startswith('299 - "v1 Endpoints is deprecated in v1.33+'), suffix


async def test_a_refusal_tells_the_warnings_too(wire: Wire) -> None:
    refused = await wire("POST", PATH, {"metadata": {"name": "BAD"}, "dta": {}})
    assert (refused.status, refused.header("warning")) == (422, '299 - "unknown field \\"dta\\""')
    await wire("POST", PATH, config_map("a"))
    patch = {"dta": {}, "metadata": {"labels": {"bad key": ""}}}
    refused = await wire("PATCH", f"{PATH}/a", patch, Content_Type="application/merge-patch+json")
    assert (refused.status, refused.header("warning")) == (422, '299 - "unknown field \\"dta\\""')


async def test_scales_are_read_and_written_as_objects_are(bare: Cluster, wire: Wire) -> None:
    await bare.client.create(REPLICASETS, "default", replica_set("r"))
    path = "/apis/apps/v1/namespaces/default/replicasets/r/scale"
    body = {"metadata": {"name": "r"}, "spec": {"replicas": 2}, "odd": 1}
    for method, media in (("PUT", "application/json"), ("PATCH", "application/merge-patch+json")):
        answer = await wire(method, path, body, Content_Type=media)
        assert (answer.status, answer.header("warning")) == (200, '299 - "unknown field \\"odd\\""'), method
    assert (await wire("GET", f"{path}?resourceVersion=x")).status == 400
    assert (await wire("GET", f"{path}?resourceVersion=999999999")).status == 504


async def test_warnings_are_headers_whatever_they_quote(wire: Wire) -> None:
    body = config_map("w") | {'odd"\\\n\x01é': 1}
    answer = await wire("POST", f"{PATH}?fieldValidation=Warn", body)
    assert answer.status == 201
    assert answer.header("warning").startswith('299 - "unknown field')


async def test_every_version_prints_the_same_table(bare: Cluster, wire: Wire) -> None:
    metric = {
        "type": "Resource",
        "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "1Gi"}},
    }
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
    spec = {"maxReplicas": 3, "scaleTargetRef": target, "metrics": [metric]}
    scalers = "namespaces/default/horizontalpodautoscalers"
    await wire("POST", f"/apis/autoscaling/v2/{scalers}", {"metadata": {"name": "h"}, "spec": spec})
    tables = [
        (await wire("GET", f"/apis/autoscaling/{version}/{scalers}", Accept=TABLE)).json() for version in ("v1", "v2")
    ]
    assert tables[0]["rows"][0]["cells"][:6] == tables[1]["rows"][0]["cells"][:6]
    assert tables[0]["rows"][0]["cells"][2] == "memory: <unknown>/1Gi"


# HTTP


async def test_header_names_have_no_case(bare: Cluster, wire: Wire) -> None:
    body = json.dumps(config_map("a")).encode()
    lines = f"POST {PATH} HTTP/1.1\r\nhost: [::1]\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
    await wire.send(lines.encode() + b"aCcEpT: " + TABLE.encode() + b"\r\n\r\n" + body)
    answer = await wire.answer()
    assert (answer.status, answer.json()["kind"]) == (201, "Table")


async def test_bodies_may_come_in_chunks(wire: Wire) -> None:
    body = json.dumps(config_map("a", 100)).encode()
    headers = {"Host": "localhost", "Content-Type": "application/json", "Transfer-Encoding": "chunked"}
    await wire.send(head(f"POST {PATH} HTTP/1.1", headers))
    for start in range(0, len(body), 7):
        part = body[start : start + 7]
        await wire.send(b"%x;ext=1\r\n%b\r\n" % (len(part), part))
        await asyncio.sleep(0)
    await wire.send(b"0\r\n\r\n")
    assert (await wire.answer()).status == 201


async def test_a_client_may_wait_to_be_told_to_send_its_body(wire: Wire) -> None:
    body = json.dumps(config_map("a")).encode()
    headers = {
        "Host": "localhost",
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
        "Expect": "100-continue",
    }
    await wire.send(head(f"POST {PATH} HTTP/1.1", headers))
    assert (await wire.answer()).status == 100
    await wire.send(body)
    assert (await wire.answer()).status == 201


async def test_requests_may_be_sent_before_the_answers_to_those_before(bare: Cluster, wire: Wire) -> None:
    await fill(bare, 3, 10)
    requests = [head(f"GET {PATH}/m{number} HTTP/1.1", {"Host": "localhost"}) for number in (2, 0, 9, 1)]
    await wire.send(b"".join(requests))
    answers = [await wire.answer() for _ in requests]
    assert [answer.status for answer in answers] == [200, 200, 404, 200]
    assert [answer.json()["metadata"].get("name") for answer in answers] == ["m2", "m0", None, "m1"]


async def test_http_1_0(bare: Cluster) -> None:
    await fill(bare, 1, 10)
    async with connected(bare.port) as wire:
        await wire.send(f"GET {PATH}/m0 HTTP/1.0\r\n\r\n".encode())
        answer = await wire.answer()
        assert (answer.status, answer.json()["metadata"]["name"]) == (200, "m0")
        assert await wire.rest() == b""


async def test_a_whole_address_may_stand_in_the_request_line(bare: Cluster, wire: Wire) -> None:
    await fill(bare, 1, 10)
    await wire.send(head(f"GET http://127.0.0.1:{bare.port}{PATH}/m0?pretty=true HTTP/1.1", {"Host": "localhost"}))
    assert (await wire.answer()).json()["metadata"]["name"] == "m0"


@pytest.mark.parametrize(
    "junk",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /\xff\xfe HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /api/v1/namespaces/\xed\xa0\x80/pods/%ed%a0%80 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /api/v1/pods?labelSelector=\xff%ff HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /api HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * 100_000 + b"\r\n\r\n",
        b"GET /" + b"y" * 100_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"POST /api/v1/namespaces HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"POST /api/v1/pods HTTP/1.1\r\nHost: [::1]\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",  # noqa: E501
        b"POST /api/v1/namespaces HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"POST /api/v1/namespaces HTTP/1.1\r\nHost: [::1]\r\nContent-Length: 3\r\nContent-Encoding: gzip\r\n\r\nabc",
        b"GET /api HTTP/1.1\r\nHost: localhost\r\nAccept: \xff\xfe\r\nAuthorization: Bearer \xff\r\n\r\n",
    ],
    ids=range(13),
)
async def test_junk_on_the_socket_harms_nobody(bare: Cluster, wire: Wire, caplog: Any, junk: bytes) -> None:
    async with connected(bare.port) as other:
        await other.send(junk)
        try:
            async with asyncio.timeout(2):
                answer = await other.begin()
            assert answer.status < 500
        except (TimeoutError, asyncio.IncompleteReadError, ConnectionError):
            pass  # it waits for more, or has hung up
    assert (await wire("GET", "/healthz")).body == b"ok"
    assert not [record for record in caplog.records if record.levelname == "ERROR"]

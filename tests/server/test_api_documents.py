"""OpenAPI and discovery documents as they leave the server."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

from kube32_sim.client import Resource
from kube32_sim.cluster import Cluster
from kube32_sim.options import ServeOptions
from tests.support.wire import Wire, connected

CRDS = Resource("apiextensions.k8s.io", "v1", "customresourcedefinitions")
SCHEMA = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}}


def widgets() -> dict[str, Any]:
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": SCHEMA}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "names": {"kind": "Widget", "plural": "widgets"},
            "scope": "Namespaced",
            "versions": [version],
        },
    }


async def index(wire: Wire) -> dict[str, str]:
    answer = await wire("GET", "/openapi/v3")
    return {name: entry["serverRelativeURL"] for name, entry in json.loads(answer.body)["paths"].items()}


async def test_a_document_with_its_hash_may_be_kept_for_a_year(wire: Wire) -> None:
    url = (await index(wire))["apis/apps/v1"]
    answer = await wire("GET", url)
    assert answer.status == 200
    assert answer.header("cache-control") == "public, immutable"
    expires = parsedate_to_datetime(answer.header("expires"))
    assert timedelta(days=364) < expires - datetime.now(UTC) < timedelta(days=366)
    etag = answer.header("etag")
    assert etag.strip('"') == url.partition("hash=")[2]
    again = await wire("GET", url, If_None_Match=etag)
    assert (again.status, again.body) == (304, b"")
    plain = await wire("GET", url.partition("?")[0])
    assert (plain.status, plain.header("etag"), plain.header("expires")) == (200, etag, "")
    moved = await wire("GET", "/openapi/v3/apis/apps/v1?hash=OTHER")
    assert (moved.status, moved.header("location")) == (301, url)


async def test_the_root_tells_all_paths_there_are(wire: Wire) -> None:
    answer = await wire("GET", "/")
    assert (answer.status, answer.header("content-type")) == (200, "application/json")
    found = answer.json()["paths"]
    assert found == sorted(found)
    assert {"/api", "/api/v1", "/apis", "/apis/", "/apis/apps", "/apis/apps/v1", "/version"} <= set(found)
    for path in found:
        assert (await wire("GET", path)).status == 200, path


async def test_documents_are_compressed(wire: Wire) -> None:
    for accept in ("application/json", "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"):
        answer = await wire("GET", "/openapi/v2", Accept=accept, Accept_Encoding="gzip")
        assert answer.header("content-encoding") == "gzip"
        plain = await wire("GET", "/openapi/v2", Accept=accept)
        assert gzip.decompress(answer.body) == plain.body


async def test_head_says_what_get_would(wire: Wire) -> None:
    for path in ("/openapi/v2", "/openapi/v3", "/apis"):
        looked, got = await wire("HEAD", path), await wire("GET", path)
        assert (looked.status, looked.body) == (200, b"")
        assert looked.header("etag") == got.header("etag")


async def test_schemas_come_and_go_with_their_definition(bare: Cluster, wire: Wire) -> None:
    before = await index(wire)
    await bare.client.create(CRDS, "", widgets())
    after = await index(wire)
    assert after.keys() - before.keys() == {"apis/example.com/v1"}
    whole = json.loads((await wire("GET", after["apis/example.com/v1"])).body)
    spec = whole["components"]["schemas"]["com.example.v1.Widget"]["properties"]["spec"]
    assert spec == SCHEMA["properties"]["spec"]  # type: ignore[index]
    assert b"com.example.v1.WidgetList" in (await wire("GET", "/openapi/v2")).body
    await bare.client.patch(
        CRDS, "", "widgets.example.com", {"spec": {"versions": [{**widgets()["spec"]["versions"][0], "served": False}]}}
    )
    assert await index(wire) == before
    assert b"com.example.v1.Widget" not in (await wire("GET", "/openapi/v2")).body


async def test_e1_discovery_tells_that_computed_objects_cannot_be_written() -> None:
    async with Cluster(ServeOptions(port=0, nodes=0, clock="virtual")) as cluster, connected(cluster.port) as wire:
        resources = (await wire("GET", "/apis/discovery.k8s.io/v1")).json()["resources"]
        assert [entry["verbs"] for entry in resources] == [["get", "list", "watch"]]


async def test_a_bare_server_takes_writes_of_endpoints(wire: Wire) -> None:
    resources = (await wire("GET", "/apis/discovery.k8s.io/v1")).json()["resources"]
    assert "create" in resources[0]["verbs"]

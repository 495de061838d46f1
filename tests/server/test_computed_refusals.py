"""Endpoints and EndpointSlices are computed: whatever a write of them looks like, it is one that is not allowed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from kube32_sim.cluster import Cluster
from kube32_sim.options import ServeOptions
from tests.support.wire import Wire, connected

COLLECTIONS = (
    "/api/v1/namespaces/default/endpoints",
    "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
)
APPLY = "application/apply-patch+yaml"


@pytest_asyncio.fixture
async def wire() -> AsyncIterator[Wire]:
    async with Cluster(ServeOptions(port=0, nodes=0, clock="virtual")) as cluster, connected(cluster.port) as opened:
        yield opened


@pytest.mark.parametrize("collection", COLLECTIONS)
@pytest.mark.parametrize(
    ("method", "name", "body", "headers"),
    [
        ("POST", "", b"{}", {}),
        ("POST", "?dryRun=All", b"no JSON", {}),
        ("PUT", "/s", b"{}", {}),
        ("PUT", "/s", b'{"metadata":{"name":"other"}}', {}),
        ("PATCH", "/s", b"{}", {"Content_Type": "application/merge-patch+json"}),
        ("PATCH", "/s", b"{}", {"Content_Type": "application/json"}),
        ("PATCH", "/s?fieldManager=me", b"{}", {"Content_Type": APPLY}),
        ("PATCH", "/s", b"{}", {"Content_Type": APPLY}),
        ("DELETE", "/s", b"", {}),
        ("DELETE", "", b"no options", {}),
    ],
)
async def test_e1_no_write_is_allowed(
    wire: Wire, collection: str, method: str, name: str, body: bytes, headers: dict[str, Any]
) -> None:
    answer = await wire(method, f"{collection}{name}", body, **headers)
    assert (answer.status, answer.json()["reason"]) == (405, "MethodNotAllowed")
    assert answer.json()["message"].endswith(": they are computed from Services and Pods")

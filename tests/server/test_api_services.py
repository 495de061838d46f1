"""APIServices that name other servers are stored; what they are for is refused by name."""

from __future__ import annotations

import json

import pytest

from kube32_sim.client import Resource
from kube32_sim.cluster import Cluster
from tests.support.wire import Wire

API_SERVICES = Resource("apiregistration.k8s.io", "v1", "apiservices")
METRICS = {
    "metadata": {"name": "v1beta1.metrics.k8s.io"},
    "spec": {
        "group": "metrics.k8s.io",
        "version": "v1beta1",
        "groupPriorityMinimum": 100,
        "versionPriority": 100,
        "insecureSkipTLSVerify": True,
        "service": {"namespace": "kube-system", "name": "metrics-server"},
    },
}


@pytest.mark.parametrize(
    "path", ["/apis/metrics.k8s.io", "/apis/metrics.k8s.io/v1beta1", "/apis/metrics.k8s.io/v1beta1/nodes"]
)
async def test_what_another_server_would_serve_is_refused(bare: Cluster, wire: Wire, path: str) -> None:
    assert (await wire("GET", path)).status == 404
    made = await bare.client.create(API_SERVICES, "", json.loads(json.dumps(METRICS)))
    (condition,) = made["status"]["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == ("Available", "False", "NotForwarded")
    answer = await wire("GET", path)
    assert (answer.status, answer.json()["reason"]) == (501, "NotImplemented")
    assert answer.json()["message"] == (
        "kube32-sim forwards no requests to other API servers: APIService v1beta1.metrics.k8s.io is stored only"
    )
    assert (await wire("GET", "/apis/metrics.k8s.io/v2/nodes")).status == 404
    assert "metrics.k8s.io" not in (await wire("GET", "/apis")).body.decode()

"""What is refused by name, for docs/compatibility.md; `test_compatibility.py` asks for each and is refused so.

Requests go to a simulator with all loops and a board, in a namespace with a running pod and a Service, both named `it`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

NAMESPACED = "/api/v1/namespaces/{namespace}"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices"
NOTHING_RUNS = "{what} is not supported: {kind} it is simulated, nothing runs in it"


@dataclass(frozen=True)
class Refusal:
    """what: in the words of the page.  message: how the answer's begins."""

    what: str
    method: str
    path: str
    status: int
    message: str
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)


def _nothing_runs(what: str, told: str) -> Refusal:
    message = NOTHING_RUNS.format(what=what, kind="pod")
    return Refusal(told, "POST", f"{NAMESPACED}/pods/it/{what}", 501, message)


REFUSALS = (
    _nothing_runs("exec", "`kubectl exec`, `kubectl cp`"),
    _nothing_runs("attach", "`kubectl attach`, `kubectl run -it`"),
    _nothing_runs("portforward", "`kubectl port-forward`"),
    _nothing_runs("proxy", "the proxy to a pod"),
    Refusal(
        "the proxy to a Service",
        "GET",
        f"{NAMESPACED}/services/it/proxy/",
        501,
        NOTHING_RUNS.format(what="proxy", kind="service"),
    ),
    Refusal(
        "the proxy to a node",
        "GET",
        "/api/v1/nodes/{node}/proxy/stats",
        501,
        "proxy is not supported: node {node} is simulated, nothing runs in it",
    ),
    Refusal(
        "writing Endpoints",
        "POST",
        f"{NAMESPACED}/endpoints",
        405,
        'create is not supported on resources of kind "endpoints": they are computed from Services and Pods',
        {"metadata": {"name": "mine"}},
    ),
    Refusal(
        "writing EndpointSlices",
        "POST",
        SLICES,
        405,
        'create is not supported on resources of kind "endpointslices.discovery.k8s.io"'
        ": they are computed from Services and Pods",
        {"metadata": {"name": "mine"}, "addressType": "IPv4", "endpoints": []},
    ),
    Refusal(
        "versions that are not stable (as in a cluster that does not enable them)",
        "GET",
        "/apis/policy/v1beta1/poddisruptionbudgets",
        404,
        "the server could not find the requested resource",
    ),
    Refusal("the metrics API: `kubectl top`", "GET", "/apis/metrics.k8s.io/v1beta1/pods", 404, "404 page not found"),
    Refusal(
        "bodies in CBOR",
        "POST",
        f"{NAMESPACED}/configmaps",
        415,
        "the body of the request was in an unknown format",
        {"metadata": {"name": "mine"}},
        {"Content-Type": "application/cbor"},
    ),
    Refusal(
        "answers in CBOR only",
        "GET",
        f"{NAMESPACED}/configmaps",
        406,
        "406: Not Acceptable",
        None,
        {"Accept": "application/cbor"},
    ),
)

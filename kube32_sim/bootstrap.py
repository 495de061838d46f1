"""What is there from the start: the four system namespaces, the range of cluster addresses, the Service
default/kubernetes, two PriorityClasses.

As upstream, an API server makes these itself; whatever else exists, a loop made.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from contextlib import contextmanager

from kube32_sim.api.errors import ApiError
from kube32_sim.client import NAMESPACES, SERVICES, JsonObject, Resource
from kube32_sim.local_client import LocalClient

API_SERVER = "kube-apiserver"
"""The field manager of what is there from the start."""
SYSTEM_NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")
SERVICE_CIDRS = Resource("networking.k8s.io", "v1", "servicecidrs")
PRIORITY_CLASSES = Resource("scheduling.k8s.io", "v1", "priorityclasses")


def kubernetes_service(network: ipaddress.IPv4Network, port: int) -> JsonObject:
    """The Service that names the API server, at the first address of the service range."""
    return {
        "metadata": {"name": "kubernetes", "labels": {"component": "apiserver", "provider": "kubernetes"}},
        "spec": {
            "clusterIP": str(network.network_address + 1),
            "clusterIPs": [str(network.network_address + 1)],
            "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": port or 6443}],
            "type": "ClusterIP",
        },
    }


async def _service_cidr(client: LocalClient, network: ipaddress.IPv4Network) -> None:
    """The range that Services get their addresses from, which is ready from the start."""
    made = await client.create(
        SERVICE_CIDRS, "", {"metadata": {"name": "kubernetes"}, "spec": {"cidrs": [str(network)]}}
    )
    ready = {
        "type": "Ready",
        "status": "True",
        "reason": "",
        "message": "Kubernetes default Service CIDR is ready",
        "lastTransitionTime": made["metadata"]["creationTimestamp"],
    }
    await client.update(SERVICE_CIDRS, "", {**made, "status": {"conditions": [ready]}}, subresource="status")


def priority_class(name: str, value: int, description: str) -> JsonObject:
    return {"metadata": {"name": name}, "value": value, "description": description}


async def bootstrap(client: LocalClient, network: ipaddress.IPv4Network, port: int) -> None:
    """Create what is missing; what is there stays as it is."""
    with _suppress_existing():
        await _service_cidr(client, network)
    wanted: list[tuple[Resource, str, JsonObject]] = [
        (NAMESPACES, "", {"metadata": {"name": name}}) for name in SYSTEM_NAMESPACES
    ]
    wanted.append((SERVICES, "default", kubernetes_service(network, port)))
    for name, value, of in (
        ("system-node-critical", 2_000_001_000, "not be moved from their current node."),
        (
            "system-cluster-critical",
            2_000_000_000,
            "run in the cluster, but can be moved to another node if necessary.",
        ),
    ):
        description = f"Used for system critical pods that must {of}"
        wanted.append((PRIORITY_CLASSES, "", priority_class(name, value, description)))
    for resource, namespace, obj in wanted:
        with _suppress_existing():
            await client.create(resource, namespace, obj)


@contextmanager
def _suppress_existing() -> Iterator[None]:
    """What is there already is no failure."""
    try:
        yield
    except ApiError as error:
        if error.reason != "AlreadyExists":
            raise

"""What is there from the start: the four system namespaces, the range of cluster addresses, the Service
default/kubernetes with its endpoints, two PriorityClasses, an APIService for each group version, and the FlowSchemas
and PriorityLevelConfigurations that every API server has; where RBAC decides, its roles and bindings, too.

As upstream, an API server makes these itself; whatever else exists, a loop made.
"""

from __future__ import annotations

import ipaddress
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from kube32_sim.api.errors import ApiError
from kube32_sim.api.rbac.bootstrap import bootstrap_objects
from kube32_sim.api.rbac.policy import GROUP as RBAC_GROUP
from kube32_sim.bootstrap_objects import (
    NAME,
    api_services,
    flow_schemas,
    not_dangling,
    own_address,
    own_endpoints,
    own_slice,
    priority_levels,
)
from kube32_sim.client import NAMESPACES, SERVICES, JsonObject, Resource
from kube32_sim.ids import Ids
from kube32_sim.local_client import LocalClient
from kube32_sim.registry.asked import Asked
from kube32_sim.registry.computed import ENDPOINTS, SLICES
from kube32_sim.registry.rbac import RulesWriter
from kube32_sim.registry.registry import Registry
from kube32_sim.storage.interface import KeyExists, Store

log = logging.getLogger(__name__)

API_SERVER = "kube-apiserver"
"""The field manager of what is there from the start."""
SYSTEM_NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")
SERVICE_CIDRS = Resource("networking.k8s.io", "v1", "servicecidrs")
PRIORITY_CLASSES = Resource("scheduling.k8s.io", "v1", "priorityclasses")
API_SERVICES = Resource("apiregistration.k8s.io", "v1", "apiservices")
FLOW_SCHEMAS = Resource("flowcontrol.apiserver.k8s.io", "v1", "flowschemas")
PRIORITY_LEVELS = Resource("flowcontrol.apiserver.k8s.io", "v1", "prioritylevelconfigurations")


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
    wanted += [(API_SERVICES, "", obj) for obj in api_services()]
    for resource, namespace, obj in wanted:
        with _suppress_existing():
            await client.create(resource, namespace, obj)
    await _flow_control(client.of("api-priority-and-fairness-config-producer-v1"))


async def make_roles(registry: Registry) -> None:
    """The roles and bindings of every API server that goes by them.

    They go to the store at once: there are more than a hundred at each start, and a test knows that a client who
    creates them gets the same.
    """
    store, steps, now = registry.store, registry.steps, registry.clock.timestamp()
    for made in bootstrap_objects():
        row = registry.table.by_storage((RBAC_GROUP, made.plural))
        asked = Asked(row, made.namespace, made.obj["metadata"]["name"], manager=API_SERVER)
        metadata = {**made.obj["metadata"], "uid": registry.ids.uid(), "creationTimestamp": now}
        obj = {**made.obj, "metadata": metadata}
        steps.fields.created(steps.writer(asked), obj)
        with suppress(KeyExists):
            await store.create(row.storage, asked.key, obj)


def rules_writer(client: LocalClient) -> RulesWriter:
    """How the rules of an aggregated ClusterRole are written, as this client."""
    resource = Resource(RBAC_GROUP, "v1", "clusterroles")

    async def write(name: str, rules: Sequence[JsonObject]) -> bool:
        try:
            await client.patch(resource, "", name, {"rules": list(rules)})
        except ApiError as error:  # no failure of the write that it follows
            log.warning("the ClusterRole %s is not made of those that it selects: %s", name, error)
            return False
        return True

    return write


async def _flow_control(client: LocalClient) -> None:
    for level in priority_levels():
        with _suppress_existing():
            await client.create(PRIORITY_LEVELS, "", level)
    consumer = client.of("api-priority-and-fairness-config-consumer-v1")
    for schema in flow_schemas():
        with _suppress_existing():
            made = await client.create(FLOW_SCHEMAS, "", schema)
            metadata = made["metadata"]
            status = {"conditions": [not_dangling(metadata["name"], metadata["creationTimestamp"])]}
            await consumer.update(FLOW_SCHEMAS, "", {**made, "status": status}, subresource="status")


async def make_endpoints(store: Store, ids: Ids, now: str, host: str, port: int) -> None:
    """The endpoints of default/kubernetes, which no rule computes: they name the server itself.

    They go to the store at once, for nobody could write them: Endpoints are computed, or may name no loopback address.
    """
    address = own_address(host)
    for storage, obj in ((ENDPOINTS, own_endpoints(address, port)), (SLICES, own_slice(address, port))):
        obj["metadata"] |= {"uid": ids.uid(), "creationTimestamp": now}
        with suppress(KeyExists):
            await store.create(storage, f"default/{NAME}", obj)


@contextmanager
def _suppress_existing() -> Iterator[None]:
    """What is there already is no failure."""
    try:
        yield
    except ApiError as error:
        if error.reason != "AlreadyExists":
            raise

"""What is there from the start: the four system namespaces, the range of cluster addresses, the Service
default/kubernetes with its endpoints, two PriorityClasses, an APIService for each group version, and the FlowSchemas
and PriorityLevelConfigurations that every API server has; where RBAC decides, its roles and bindings, too.

As upstream, an API server makes these itself; whatever else exists, a loop made.  After a restart most of it is there
already, and stays as it is: only what is missing is made, and what says where the server is follows it.  Webhooks and
policies that are stored may refuse that, or be away; then it is missing, the log says so, and everything else goes on.
"""

from __future__ import annotations

import ipaddress
import logging
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from kube32_sim.api.errors import ApiError
from kube32_sim.api.rbac.bootstrap import bootstrap_objects
from kube32_sim.api.rbac.policy import GROUP as RBAC_GROUP
from kube32_sim.bootstrap_objects import (
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
from kube32_sim.registry.computed import ENDPOINTS, OWN, SLICES
from kube32_sim.registry.rbac import RulesWriter
from kube32_sim.registry.registry import Registry
from kube32_sim.storage.interface import KeyExists, KeyMissing, Store, Unavailable
from kube32_sim.storage.objects import StoredObject

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


class Bootstrap:
    """Makes what is missing, as a client.  store: what is there is asked there, so that no webhook hears of it."""

    def __init__(self, client: LocalClient, store: Store) -> None:
        self._client = client
        self._store = store

    def find(self, resource: Resource, namespace: str, name: str) -> JsonObject | None:
        key = f"{namespace}/{name}" if namespace else name
        stored = self._store.get((resource.group, resource.plural), key)
        return None if stored is None else stored.object()

    async def make(self, resource: Resource, namespace: str, obj: JsonObject) -> JsonObject | None:
        """What is there of an object's name, made where it was missing; None where it cannot be made."""
        name: str = obj["metadata"]["name"]
        found = self.find(resource, namespace, name)
        if found is not None:
            return found
        try:
            return await self._client.create(resource, namespace, obj)
        except ApiError as error:
            if error.reason == "AlreadyExists":  # another server makes the same
                return self.find(resource, namespace, name)
            _tell(resource, name, error)
            return None

    async def update(self, resource: Resource, namespace: str, obj: JsonObject, subresource: str = "") -> None:
        try:
            await self._client.update(resource, namespace, obj, subresource=subresource)
        except ApiError as error:
            if error.reason not in ("Conflict", "NotFound"):  # another server does the same, or somebody else writes
                _tell(resource, obj["metadata"]["name"], error)

    async def add_condition(self, resource: Resource, obj: JsonObject | None, condition: JsonObject) -> None:
        """A condition of an object that has none of its type."""
        if obj is None:
            return
        conditions = (obj.get("status") or {}).get("conditions") or []
        if all(each["type"] != condition["type"] for each in conditions):
            moment = obj["metadata"]["creationTimestamp"]
            status = {"conditions": [*conditions, {**condition, "lastTransitionTime": moment}]}
            await self.update(resource, "", {**obj, "status": {**obj.get("status", {}), **status}}, "status")


def _tell(resource: Resource, name: str, error: ApiError) -> None:
    """A start goes on without it; not where nothing can be stored at all."""
    if isinstance(error, Unavailable):
        raise error
    log.warning("%s %s is not what it should be from the start: %s", resource.plural, name, error)


READY = {"type": "Ready", "status": "True", "reason": "", "message": "Kubernetes default Service CIDR is ready"}


async def _service_cidr(make: Bootstrap, network: ipaddress.IPv4Network) -> None:
    """The range that Services get their addresses from, which is ready from the start."""
    wanted: JsonObject = {"metadata": {"name": "kubernetes"}, "spec": {"cidrs": [str(network)]}}
    found = await make.make(SERVICE_CIDRS, "", wanted)
    if found is not None and found["spec"] != wanted["spec"]:
        log.warning(
            "the ServiceCIDR kubernetes says %s, and --service-cluster-ip-range %s: Services get addresses of both",
            ", ".join(found["spec"]["cidrs"]),
            network,
        )
    await make.add_condition(SERVICE_CIDRS, found, READY)


async def _service(make: Bootstrap, network: ipaddress.IPv4Network, port: int) -> None:
    """default/kubernetes; after a restart at another port it leads there, as upstream's does."""
    wanted = kubernetes_service(network, port)
    found = await make.make(SERVICES, "default", wanted)
    if found is not None and found["spec"]["ports"][0]["targetPort"] != port:
        first, *others = found["spec"]["ports"]
        spec = {**found["spec"], "ports": [{**first, "targetPort": port}, *others]}
        await make.update(SERVICES, "default", {**found, "spec": spec})


def priority_class(name: str, value: int, description: str) -> JsonObject:
    return {"metadata": {"name": name}, "value": value, "description": description}


async def bootstrap(client: LocalClient, store: Store, network: ipaddress.IPv4Network, port: int) -> None:
    """Create what is missing; what is there stays as it is, but for where it says that the server is."""
    make = Bootstrap(client, store)
    await _service_cidr(make, network)
    for name in SYSTEM_NAMESPACES:
        await make.make(NAMESPACES, "", {"metadata": {"name": name}})
    await _service(make, network, port)
    for name, value, of in (
        ("system-node-critical", 2_000_001_000, "not be moved from their current node."),
        (
            "system-cluster-critical",
            2_000_000_000,
            "run in the cluster, but can be moved to another node if necessary.",
        ),
    ):
        description = f"Used for system critical pods that must {of}"
        await make.make(PRIORITY_CLASSES, "", priority_class(name, value, description))
    for obj in api_services():
        await make.make(API_SERVICES, "", obj)
    await _flow_control(client, store)


async def relocate(client: LocalClient, store: Store, network: ipaddress.IPv4Network, port: int) -> None:
    """Say where the server is, in what says that; where somebody has removed it, it stays away."""
    if store.get(("", "services"), "default/kubernetes") is not None:
        await _service(Bootstrap(client, store), network, port)


async def make_roles(registry: Registry) -> None:
    """The roles and bindings of every API server that goes by them.

    They go to the store at once: there are more than a hundred at each start, and a test knows that a client who
    creates them gets the same.
    """
    store, steps, now = registry.store, registry.steps, registry.clock.timestamp()
    again = _BEGUN.again()
    for made in bootstrap_objects():
        row = registry.table.by_storage((RBAC_GROUP, made.plural))
        asked = Asked(row, made.namespace, made.obj["metadata"]["name"], manager=API_SERVER)
        if store.get(row.storage, asked.key) is not None:
            continue
        metadata = {**made.obj["metadata"], "uid": registry.ids.uid(), "creationTimestamp": now}
        obj = {**made.obj, "metadata": metadata}
        known = _BEGUN.entries.get((made.plural, asked.key))
        if known is None:
            steps.fields.created(steps.writer(asked), obj)
        else:
            metadata["managedFields"] = [{**known, "time": now}]
        if again and known is None:
            (_BEGUN.entries[made.plural, asked.key],) = metadata["managedFields"]
        with suppress(KeyExists):
            await store.create(row.storage, asked.key, obj)


class _Begun:
    """Who manages which field of the roles is the same at every start but for the time.

    A process that starts one cluster keeps nothing of it; tests start hundreds.
    """

    def __init__(self) -> None:
        self.entries: dict[tuple[str, str], JsonObject] = {}
        self._before = False

    def again(self) -> bool:
        before, self._before = self._before, True
        return before


_BEGUN = _Begun()


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


async def _flow_control(client: LocalClient, store: Store) -> None:
    make = Bootstrap(client.of("api-priority-and-fairness-config-producer-v1"), store)
    for level in priority_levels():
        await make.make(PRIORITY_LEVELS, "", level)
    consumer = Bootstrap(client.of("api-priority-and-fairness-config-consumer-v1"), store)
    for schema in flow_schemas():
        made = await make.make(FLOW_SCHEMAS, "", schema)
        await consumer.add_condition(FLOW_SCHEMAS, made, not_dangling(schema["metadata"]["name"]))


async def make_endpoints(store: Store, ids: Ids, now: str, host: str, port: int) -> None:
    """The endpoints of default/kubernetes, which no rule computes: they name the server itself.

    They go to the store at once, for nobody could write them: Endpoints are computed, or may name no loopback address.
    """
    address = own_address(host)
    for storage, obj in ((ENDPOINTS, own_endpoints(address, port)), (SLICES, own_slice(address, port))):
        if store.get(storage, OWN) is None:
            obj["metadata"] |= {"uid": ids.uid(), "creationTimestamp": now}
            with suppress(KeyExists):
                await store.create(storage, OWN, obj)
        else:
            with suppress(KeyMissing):
                await store.update(storage, OWN, partial(_moved, obj))


def _moved(wanted: JsonObject, current: StoredObject) -> JsonObject:
    """Endpoints that lead elsewhere now."""
    old = current.copy()
    new = {**old, **{field: value for field, value in wanted.items() if field != "metadata"}}
    if new != old and "generation" in old["metadata"]:
        new["metadata"]["generation"] += 1
    return new

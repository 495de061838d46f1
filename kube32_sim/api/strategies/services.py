"""Services and what leads traffic to pods: Endpoints, EndpointSlice, Ingress, IngressClass, NetworkPolicy, and the
address types of networking.k8s.io.

Addresses and node ports are given out by `kube32_sim.api.allocation`, after validation.
"""

from __future__ import annotations

from typing import Any

from kube32_sim.api.errors import FieldError
from kube32_sim.api.strategies.base import Context, Strategy
from kube32_sim.api.strategies.spec import SpecStrategy
from kube32_sim.api.validation import services_endpoints as endpoints
from kube32_sim.api.validation import services_net as net
from kube32_sim.api.validation import services_warnings as warnings
from kube32_sim.api.validation.addresses import is_ipv6, parse_ip
from kube32_sim.api.validation.names import dns1123_label
from kube32_sim.api.validation.services_addresses import validate_addresses
from kube32_sim.api.validation.services_service import (
    asks_twice_for_a_node_port,
    is_externally_accessible,
    needs_health_check,
    validate_service,
    validate_service_status,
    validate_service_update,
)
from kube32_sim.api.validation.workloads_common import immutable

JsonObject = dict[str, Any]


class Service(SpecStrategy):
    create_on_update = True
    returns_deleted = True

    def reset_status(self, obj: JsonObject) -> None:
        obj["status"] = {"loadBalancer": {}}

    def default_spec(self, obj: JsonObject, spec: JsonObject) -> None:
        affinity = spec.setdefault("sessionAffinity", "None")
        if affinity == "None":
            spec.pop("sessionAffinityConfig", None)
        elif affinity == "ClientIP":
            config = spec.setdefault("sessionAffinityConfig", {})
            config.setdefault("clientIP", {}).setdefault("timeoutSeconds", 10800)
        kind = spec.setdefault("type", "ClusterIP")
        for port in spec.get("ports") or ():
            port.setdefault("protocol", "TCP")
            if not port.get("targetPort"):
                port["targetPort"] = port.get("port", 0)
        if is_externally_accessible(spec):
            spec.setdefault("externalTrafficPolicy", "Cluster")
        if kind in ("ClusterIP", "NodePort", "LoadBalancer"):
            spec.setdefault("internalTrafficPolicy", "Cluster")
        if kind == "LoadBalancer":
            spec.setdefault("allocateLoadBalancerNodePorts", True)

    def prepare_create(self, obj: JsonObject, context: Context) -> None:
        super().prepare_create(obj, context)
        spec = obj["spec"]
        if spec.get("clusterIP") and not spec.get("clusterIPs"):
            spec["clusterIPs"] = [spec["clusterIP"]]

    def prepare_update(self, obj: JsonObject, old: JsonObject, context: Context) -> None:
        super().prepare_update(obj, old, context)
        spec, before = obj["spec"], old["spec"]
        _keep_allocated(spec, before)
        _agree_on_addresses(spec, before)
        _infer_families(spec, before)
        _drop_what_the_type_lacks(spec, before)
        if spec.get("type") != "LoadBalancer" and (obj.get("status") or {}).get("loadBalancer"):
            obj["status"] = {**obj["status"], "loadBalancer": {}}

    def prepare_status_update(self, obj: JsonObject, old: JsonObject, context: Context) -> None:
        super().prepare_status_update(obj, old, context)
        balancer = obj["status"].get("loadBalancer") or {}
        if obj["spec"].get("type") == "LoadBalancer" and balancer.get("ingress"):
            entries = [
                {**each, "ipMode": each.get("ipMode", "VIP")} if each.get("ip") else each
                for each in balancer["ingress"]
            ]
            obj["status"] = {**obj["status"], "loadBalancer": {**balancer, "ingress": entries}}

    def validate_name(self, name: str, *, prefix: bool) -> list[str]:
        return dns1123_label(name, prefix=prefix)

    def validate(self, obj: JsonObject, context: Context) -> list[FieldError]:
        spec = obj["spec"]
        refused_later = asks_twice_for_a_node_port(spec) and not validate_addresses(spec)
        return [] if refused_later else validate_service(obj)

    def validate_update(self, obj: JsonObject, old: JsonObject, context: Context) -> list[FieldError]:
        return validate_service_update(obj, old) + validate_service(obj)

    def validate_status_update(self, obj: JsonObject, old: JsonObject, context: Context) -> list[FieldError]:
        return validate_service_status(obj)

    def warnings(self, obj: JsonObject, old: JsonObject | None, context: Context) -> list[str]:
        if context.subresource == "status":
            return warnings.balancer_warnings(obj)
        return warnings.service_warnings(obj)


def _has_address(spec: JsonObject) -> bool:
    return spec.get("type") != "ExternalName"


def _has_node_ports(spec: JsonObject) -> bool:
    return spec.get("type") in ("NodePort", "LoadBalancer")


def _node_ports(spec: JsonObject) -> set[int]:
    return {port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort")}


def _keep_allocated(spec: JsonObject, before: JsonObject) -> None:
    """What was given out stays where the client leaves it out: a PUT need not know addresses and node ports."""
    if _has_address(spec) and _has_address(before):
        for field in ("clusterIP", "clusterIPs"):
            if not spec.get(field) and before.get(field):
                spec[field] = before[field]
    if _has_node_ports(spec) and _has_node_ports(before):
        _keep_node_ports(spec, before)
    if needs_health_check(spec) and needs_health_check(before) and not spec.get("healthCheckNodePort"):
        spec["healthCheckNodePort"] = before.get("healthCheckNodePort", 0)


def _keep_node_ports(spec: JsonObject, before: JsonObject) -> None:
    """Ports are known again by their names, whatever else of them changed."""
    used = _node_ports(spec) & _node_ports(before)
    given = {port.get("name", ""): port.get("nodePort", 0) for port in before.get("ports") or ()}
    for port in spec.get("ports") or ():
        number = given.get(port.get("name", ""), 0)
        if number and not port.get("nodePort") and number not in used:
            port["nodePort"] = number


def _agree_on_addresses(spec: JsonObject, before: JsonObject) -> None:
    """A client that changes `clusterIP` alone means the first of `clusterIPs` too."""
    first, last = spec.get("clusterIP", ""), before.get("clusterIP", "")
    addresses, had = spec.get("clusterIPs") or [], before.get("clusterIPs") or []
    if had and not addresses and first == last:
        spec["clusterIPs"] = had
    elif first != last and addresses == had:
        if first:
            spec["clusterIPs"] = [first]
        else:
            spec.pop("clusterIPs", None)


def _infer_families(spec: JsonObject, before: JsonObject) -> None:
    """Families that are left out follow from the addresses; a policy that is left out stays."""
    if not _has_address(spec):
        return
    if not spec.get("ipFamilyPolicy") and before.get("ipFamilyPolicy"):
        spec["ipFamilyPolicy"] = before["ipFamilyPolicy"]
    addresses = [text for text in spec.get("clusterIPs") or () if parse_ip(text) is not None]
    if addresses and not spec.get("ipFamilies"):
        spec["ipFamilies"] = ["IPv6" if is_ipv6(text) else "IPv4" for text in addresses]


def _drop_what_the_type_lacks(spec: JsonObject, before: JsonObject) -> None:
    """Another type does without some fields: those that the client only handed back go silently."""
    if _has_address(before) and not _has_address(spec):
        for fields in (("clusterIP", "clusterIPs"), ("ipFamilies",), ("ipFamilyPolicy",)):
            if all(spec.get(field) == before.get(field) for field in fields):
                for field in fields:
                    spec.pop(field, None)
    if _has_node_ports(before) and not _has_node_ports(spec) and _node_ports(spec) <= _node_ports(before):
        for port in spec.get("ports") or ():
            port.pop("nodePort", None)
    if needs_health_check(before) and not needs_health_check(spec):
        _drop_same("healthCheckNodePort", spec, before)
    if is_externally_accessible(before) and not is_externally_accessible(spec):
        _drop_same("externalTrafficPolicy", spec, before)
    if before.get("type") == "LoadBalancer" and spec.get("type") != "LoadBalancer":
        _drop_same("loadBalancerClass", spec, before)
        _drop_same("allocateLoadBalancerNodePorts", spec, before)


def _drop_same(field: str, spec: JsonObject, before: JsonObject) -> None:
    if spec.get(field) == before.get(field):
        spec.pop(field, None)


class Endpoints(Strategy):
    create_on_update = True

    def default(self, obj: JsonObject) -> None:
        for subset in obj.get("subsets") or ():
            for port in subset.get("ports") or ():
                port.setdefault("protocol", "TCP")

    def validate(self, obj: JsonObject, context: Context) -> list[FieldError]:
        return endpoints.validate_endpoints(obj)

    def warnings(self, obj: JsonObject, old: JsonObject | None, context: Context) -> list[str]:
        return warnings.endpoints_warnings(obj)


class EndpointSlice(Strategy):
    def default(self, obj: JsonObject) -> None:
        for port in obj.get("ports") or ():
            port.setdefault("name", "")
            port.setdefault("protocol", "TCP")
        for endpoint in obj.get("endpoints") or ():
            endpoint.setdefault("conditions", {})

    def prepare_update(self, obj: JsonObject, old: JsonObject, context: Context) -> None:
        """Labels count as content here: consumers act on them."""
        super().prepare_update(obj, old, context)
        metadata, before = obj["metadata"], old["metadata"]
        if metadata.get("generation") == before.get("generation"):
            labels_changed = (metadata.get("labels") or {}) != (before.get("labels") or {})
            metadata["generation"] = before.get("generation", 0) + labels_changed

    def validate(self, obj: JsonObject, context: Context) -> list[FieldError]:
        return endpoints.validate_endpoint_slice(obj)

    def validate_update(self, obj: JsonObject, old: JsonObject, context: Context) -> list[FieldError]:
        return self.validate(obj, context) + immutable(obj.get("addressType"), old.get("addressType"), "addressType")

    def warnings(self, obj: JsonObject, old: JsonObject | None, context: Context) -> list[str]:
        return warnings.endpoint_slice_warnings(obj, new=old is None)


class Ingress(SpecStrategy):
    def default_spec(self, obj: JsonObject, spec: JsonObject) -> None:
        """Rules that are none go where they are not needed; validation shows those that are missed."""
        if not spec.get("rules") and "defaultBackend" in spec:
            spec.pop("rules", None)

    def reset_status(self, obj: JsonObject) -> None:
        obj["status"] = {"loadBalancer": {}}

    def validate(self, obj: JsonObject, context: Context) -> list[FieldError]:
        return net.validate_ingress(obj, new=True)

    def validate_update(self, obj: JsonObject, old: JsonObject, context: Context) -> list[FieldError]:
        return net.validate_ingress(obj, new=False, lax_secrets=net.has_odd_secrets(old))

    def validate_status_update(self, obj: JsonObject, old: JsonObject, context: Context) -> list[FieldError]:
        return net.validate_ingress_status(obj)

    def warnings(self, obj: JsonObject, old: JsonObject | None, context: Context) -> list[str]:
        if context.subresource == "status":
            return warnings.balancer_warnings(obj)
        return net.ingress_warnings(obj) if old is None else []


class IngressClass(SpecStrategy):
    def default_spec(self, obj: JsonObject, spec: JsonObject) -> None:
        if "parameters" in spec:
            spec["parameters"].setdefault("scope", "Cluster")

    def validate(self, obj: JsonObject, context: Context) -> list[FieldError]:
        return net.validate_ingress_class(obj["spec"])

    def validate_update(self, obj: JsonObject, old: JsonObject, context: Context) -> list[FieldError]:
        controller = obj["spec"].get("controller", "")
        fixed = immutable(controller, old["spec"].get("controller", ""), "spec.controller")
        return fixed + self.validate(obj, context)


class NetworkPolicy(SpecStrategy):
    def default_spec(self, obj: JsonObject, spec: JsonObject) -> None:
        for field in ("ingress", "egress"):
            for rule in spec.get(field) or ():
                for port in rule.get("ports") or ():
                    port.setdefault("protocol", "TCP")
        if not spec.get("policyTypes"):
            spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]

    def validate(self, obj: JsonObject, context: Context) -> list[FieldError]:
        return net.validate_network_policy(obj["spec"])

    def validate_update(self, obj: JsonObject, old: JsonObject, context: Context) -> list[FieldError]:
        return net.validate_network_policy(obj["spec"], net.networks_of(old))

    def warnings(self, obj: JsonObject, old: JsonObject | None, context: Context) -> list[str]:
        return warnings.network_policy_warnings(obj)


class IPAddress(SpecStrategy):
    def validate(self, obj: JsonObject, context: Context) -> list[FieldError]:
        return net.validate_ip_address(obj)

    def validate_update(self, obj: JsonObject, old: JsonObject, context: Context) -> list[FieldError]:
        return net.parent_fixed(obj, old)

    def validate_name(self, name: str, *, prefix: bool) -> list[str]:
        return net.address_name(name)


class ServiceCIDR(SpecStrategy):
    def validate(self, obj: JsonObject, context: Context) -> list[FieldError]:
        return net.validate_service_cidr(obj["spec"])

    def validate_update(self, obj: JsonObject, old: JsonObject, context: Context) -> list[FieldError]:
        return net.service_cidr_fixed(obj["spec"], old["spec"])


STRATEGIES: dict[tuple[str, str], Strategy] = {
    ("", "Service"): Service(),
    ("", "Endpoints"): Endpoints(),
    ("discovery.k8s.io", "EndpointSlice"): EndpointSlice(),
    ("networking.k8s.io", "Ingress"): Ingress(),
    ("networking.k8s.io", "IngressClass"): IngressClass(),
    ("networking.k8s.io", "NetworkPolicy"): NetworkPolicy(),
    ("networking.k8s.io", "IPAddress"): IPAddress(),
    ("networking.k8s.io", "ServiceCIDR"): ServiceCIDR(),
}

"""Printing columns of services, their endpoints, ingresses, network policies and addresses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kube32_sim.api.columns.form import (
    AGE,
    NAME,
    SELECTOR,
    age_of,
    labels_text,
    name_of,
    section,
    selector_or_none,
    shortened,
    text,
)
from kube32_sim.api.tables import Cell, Columns

JsonObject = dict[str, Any]


def _ingress_points(status: JsonObject) -> list[str]:
    points = section(status, "loadBalancer").get("ingress") or ()
    return sorted({point.get("ip") or point.get("hostname") or "" for point in points} - {""})


def _external_ip(spec: JsonObject, status: JsonObject) -> str:
    kind = spec.get("type")
    if kind == "ExternalName":
        name: str = spec.get("externalName", "")
        return name
    external = spec.get("externalIPs") or []
    if kind == "LoadBalancer":
        return ",".join([*_ingress_points(status), *external]) or "<pending>"
    if kind in ("ClusterIP", "NodePort"):
        return ",".join(external) or "<none>"
    return "<unknown>"


def _port(port: JsonObject) -> str:
    node_port = port.get("nodePort")
    number = f"{port.get('port', 0)}:{node_port}" if node_port else f"{port.get('port', 0)}"
    return f"{number}/{port.get('protocol', '')}"


def _service(obj: JsonObject) -> Sequence[Cell]:
    spec = section(obj, "spec")
    addresses = spec.get("clusterIPs") or [spec.get("clusterIP") or "<none>"]
    return (
        name_of(obj),
        spec.get("type", ""),
        addresses[0],
        _external_ip(spec, section(obj, "status")),
        ",".join(map(_port, spec.get("ports") or ())) or "<none>",
        age_of(obj),
        labels_text(spec.get("selector")),
    )


def _host_port(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _subset_addresses(subset: JsonObject) -> list[str]:
    addresses = [address.get("ip", "") for address in subset.get("addresses") or ()]
    ports = subset.get("ports")
    if not ports:
        return addresses
    return [_host_port(address, port.get("port", 0)) for port in ports for address in addresses]


def _endpoints(obj: JsonObject) -> Sequence[Cell]:
    subsets = obj.get("subsets")
    found = [address for subset in subsets or () for address in _subset_addresses(subset)]
    return name_of(obj), shortened(found, nothing="") if subsets else "<none>", age_of(obj)


def _slice_port(port: JsonObject) -> str:
    number = port.get("port")
    return str(port.get("name", "*") if number is None else number)


def _endpoint_slice(obj: JsonObject) -> Sequence[Cell]:
    addresses = [address for endpoint in obj.get("endpoints") or () for address in endpoint.get("addresses") or ()]
    ports = [_slice_port(port) for port in obj.get("ports") or ()]
    return name_of(obj), obj.get("addressType", ""), shortened(ports), shortened(addresses), age_of(obj)


def _hosts(rules: Sequence[JsonObject]) -> str:
    hosts: list[str] = []
    for rule in rules:
        if len(hosts) == 3:
            # As upstream counts: rules without a host are among those that are not shown.
            return f"{','.join(hosts)} + {len(rules) - 3} more..."
        if host := rule.get("host"):
            hosts.append(host)
    return ",".join(hosts) or "*"


def _ingress(obj: JsonObject) -> Sequence[Cell]:
    spec = section(obj, "spec")
    return (
        name_of(obj),
        spec.get("ingressClassName", "<none>"),
        _hosts(spec.get("rules") or ()),
        ",".join(_ingress_points(section(obj, "status"))),
        "80, 443" if spec.get("tls") else "80",
        age_of(obj),
    )


def _ingress_class(obj: JsonObject) -> Sequence[Cell]:
    spec = section(obj, "spec")
    parameters = spec.get("parameters")
    shown = "<none>"
    if parameters is not None:
        group = parameters.get("apiGroup")
        kind = parameters.get("kind", "") + (f".{group}" if group is not None else "")
        shown = f"{kind}/{parameters.get('name', '')}"
    return name_of(obj), spec.get("controller", ""), shown, age_of(obj)


def _network_policy(obj: JsonObject) -> Sequence[Cell]:
    return name_of(obj), selector_or_none(section(obj, "spec").get("podSelector")), age_of(obj)


def _service_cidr(obj: JsonObject) -> Sequence[Cell]:
    return name_of(obj), ",".join(section(obj, "spec").get("cidrs") or ()), age_of(obj)


def _ip_address(obj: JsonObject) -> Sequence[Cell]:
    parent = section(obj, "spec").get("parentRef")
    if parent is None:
        return name_of(obj), "<none>", age_of(obj)
    group, resource = parent.get("group"), parent.get("resource", "")
    path = [f"{resource}.{group}" if group else resource, parent.get("namespace"), parent.get("name", "")]
    return name_of(obj), "/".join(part for part in path if part), age_of(obj)


COLUMNS = {
    ("", "Service"): Columns(
        (
            NAME,
            text("Type", "How the service is reached."),
            text("Cluster-IP", "Its address in the cluster."),
            text("External-IP", "Its addresses outside the cluster."),
            text("Port(s)", "Its ports, with node ports, and their protocols."),
            AGE,
            SELECTOR,
        ),
        _service,
    ),
    ("", "Endpoints"): Columns((NAME, text("Endpoints", "Addresses and ports that are ready."), AGE), _endpoints),
    ("discovery.k8s.io", "EndpointSlice"): Columns(
        (
            NAME,
            text("AddressType", "The kind of the addresses."),
            text("Ports", "The ports of each endpoint."),
            text("Endpoints", "The addresses of the endpoints."),
            AGE,
        ),
        _endpoint_slice,
    ),
    ("networking.k8s.io", "Ingress"): Columns(
        (
            NAME,
            text("Class", "The ingress class that serves it."),
            text("Hosts", "The hosts it has rules for."),
            text("Address", "Where it is reached."),
            text("Ports", "The ports it opens."),
            AGE,
        ),
        _ingress,
    ),
    ("networking.k8s.io", "IngressClass"): Columns(
        (
            NAME,
            text("Controller", "Who serves ingresses of the class."),
            text("Parameters", "An object with more settings."),
            AGE,
        ),
        _ingress_class,
    ),
    ("networking.k8s.io", "NetworkPolicy"): Columns(
        (NAME, text("Pod-Selector", "The pods it rules."), AGE), _network_policy
    ),
    ("networking.k8s.io", "ServiceCIDR"): Columns(
        (NAME, text("CIDRs", "Its ranges of addresses."), AGE), _service_cidr
    ),
    ("networking.k8s.io", "IPAddress"): Columns((NAME, text("ParentRef", "What uses the address."), AGE), _ip_address),
}

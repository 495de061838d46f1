"""Validation of Endpoints and EndpointSlice.  Rules and words are upstream's core and discovery validation."""

from __future__ import annotations

from typing import Any

from kube32_sim.api.errors import (
    FieldError,
    duplicate,
    invalid_value,
    not_supported,
    required,
    too_many,
)
from kube32_sim.api.validation import names
from kube32_sim.api.validation.services_ip import ip_errors, is_ipv6, special_ip_errors
from kube32_sim.api.validation.workloads_common import one_of

JsonObject = dict[str, Any]

_PROTOCOLS = ("SCTP", "TCP", "UDP")


def validate_endpoints(endpoints: JsonObject) -> list[FieldError]:
    found: list[FieldError] = []
    for index, subset in enumerate(endpoints.get("subsets") or ()):
        path = f"subsets[{index}]"
        ready, waiting = subset.get("addresses") or [], subset.get("notReadyAddresses") or []
        if not ready and not waiting:
            found.append(required(path, "must specify `addresses` or `notReadyAddresses`"))
        for field, addresses in (("addresses", ready), ("notReadyAddresses", waiting)):
            for place, address in enumerate(addresses):
                found += _endpoint_address(address, f"{path}.{field}[{place}]")
        ports = subset.get("ports") or []
        for place, port in enumerate(ports):
            found += _endpoint_port(port, len(ports) > 1, f"{path}.ports[{place}]")
    return found


def _endpoint_address(address: JsonObject, path: str) -> list[FieldError]:
    ip, hostname, node = address.get("ip", ""), address.get("hostname", ""), address.get("nodeName")
    found = ip_errors(ip, f"{path}.ip") or special_ip_errors(ip, f"{path}.ip")
    if hostname:
        found += [invalid_value(f"{path}.hostname", hostname, why) for why in names.dns1123_label(hostname)]
    if node is not None:
        found += [invalid_value(f"{path}.nodeName", node, why) for why in names.dns1123_subdomain(node)]
    return found


def _endpoint_port(port: JsonObject, named: bool, path: str) -> list[FieldError]:
    name, number = port.get("name", ""), port.get("port", 0)
    found: list[FieldError] = []
    if name:
        found += [invalid_value(f"{path}.name", name, why) for why in names.dns1123_label(name)]
    elif named:
        found.append(required(f"{path}.name"))
    found += [invalid_value(f"{path}.port", number, why) for why in names.port_number(number)]
    found += one_of(port, path, "protocol", _PROTOCOLS)
    return found + _app_protocol(port, path)


def _app_protocol(port: JsonObject, path: str) -> list[FieldError]:
    protocol = port.get("appProtocol")
    if protocol is None:
        return []
    return [invalid_value(f"{path}.appProtocol", protocol, why) for why in names.qualified_name(protocol)]


_ADDRESS_TYPES = ("FQDN", "IPv4", "IPv6")
_MOST_ENDPOINTS = 1000
_MOST_PORTS = 20000
_MOST_ADDRESSES = 100


def validate_endpoint_slice(obj: JsonObject) -> list[FieldError]:
    kind = obj.get("addressType", "")
    found: list[FieldError] = []
    if not kind:
        found.append(required("addressType"))
    elif kind not in _ADDRESS_TYPES:
        found.append(not_supported("addressType", kind, _ADDRESS_TYPES))
    endpoints, ports = obj.get("endpoints") or [], obj.get("ports") or []
    if len(endpoints) > _MOST_ENDPOINTS:
        return [*found, too_many("endpoints", len(endpoints), _MOST_ENDPOINTS)]
    for index, endpoint in enumerate(endpoints):
        found += _slice_endpoint(endpoint, kind, f"endpoints[{index}]")
    if len(ports) > _MOST_PORTS:
        return [*found, too_many("ports", len(ports), _MOST_PORTS)]
    seen: set[str] = set()
    for index, port in enumerate(ports):
        found += _slice_port(port, seen, f"ports[{index}]")
    return found


def _slice_endpoint(endpoint: JsonObject, kind: str, path: str) -> list[FieldError]:
    addresses = endpoint.get("addresses") or []
    found: list[FieldError] = []
    if not addresses:
        found.append(required(f"{path}.addresses", "must contain at least 1 address"))
    elif len(addresses) > _MOST_ADDRESSES:
        found.append(too_many(f"{path}.addresses", len(addresses), _MOST_ADDRESSES))
    for index, address in enumerate(addresses):
        found += _slice_address(address, kind, f"{path}.addresses[{index}]")
    node, hostname = endpoint.get("nodeName"), endpoint.get("hostname")
    if node is not None:
        found += [invalid_value(f"{path}.nodeName", node, why) for why in names.dns1123_subdomain(node)]
    if hostname is not None:
        found += [invalid_value(f"{path}.hostname", hostname, why) for why in names.dns1123_label(hostname)]
    return found


def _slice_address(address: str, kind: str, path: str) -> list[FieldError]:
    if kind == "FQDN":
        return [invalid_value(path, address, why) for why in names.dns1123_subdomain(address.removesuffix("."))]
    broken = ip_errors(address, path)
    if broken or kind not in ("IPv4", "IPv6"):
        return broken
    if is_ipv6(address) != (kind == "IPv6"):
        return [invalid_value(path, address, f"must be a valid {kind} address")]
    return special_ip_errors(address, path)


def _slice_port(port: JsonObject, seen: set[str], path: str) -> list[FieldError]:
    name = port.get("name") or ""
    found = [invalid_value(f"{path}.name", name, why) for why in names.dns1123_label(name)] if name else []
    if name in seen:
        found.append(duplicate(f"{path}.name", name))
    seen.add(name)
    number = port.get("port")
    if number is not None:
        found += [invalid_value(f"{path}.port", number, why) for why in names.port_number(number)]
    found += one_of(port, path, "protocol", _PROTOCOLS)
    return found + _app_protocol(port, path)

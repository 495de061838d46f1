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
from kube32_sim.api.validation.addresses import ip_errors, is_ipv6, special_ip_errors
from kube32_sim.api.validation.meta import validate_labels
from kube32_sim.api.validation.workloads_common import PROTOCOLS, one_of

JsonObject = dict[str, Any]


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
    """An address that is none is told of twice, as upstream does."""
    ip, hostname, node = address.get("ip", ""), address.get("hostname", ""), address.get("nodeName")
    found = ip_errors(ip, f"{path}.ip")
    if hostname:
        found += [invalid_value(f"{path}.hostname", hostname, why) for why in names.dns1123_label(hostname)]
    if node is not None:
        found += [invalid_value(f"{path}.nodeName", node, why) for why in names.dns1123_subdomain(node)]
    return found + special_ip_errors(ip, f"{path}.ip")


def _endpoint_port(port: JsonObject, named: bool, path: str) -> list[FieldError]:
    name, number = port.get("name", ""), port.get("port", 0)
    found: list[FieldError] = []
    if name:
        found += [invalid_value(f"{path}.name", name, why) for why in names.dns1123_label(name)]
    elif named:
        found.append(required(f"{path}.name"))
    found += [invalid_value(f"{path}.port", number, why) for why in names.port_number(number)]
    found += one_of(port, path, "protocol", PROTOCOLS)
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
_MOST_LABELS = 16
_MOST_HINTS = 8


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
    node, hostname, labels = endpoint.get("nodeName"), endpoint.get("hostname"), endpoint.get("deprecatedTopology")
    if node is not None:
        found += [invalid_value(f"{path}.nodeName", node, why) for why in names.dns1123_subdomain(node)]
    if labels:
        if len(labels) > _MOST_LABELS:
            found.append(too_many(f"{path}.deprecatedTopology", len(labels), _MOST_LABELS))
        found += validate_labels(labels, f"{path}.deprecatedTopology")
    if hostname is not None:
        found += [invalid_value(f"{path}.hostname", hostname, why) for why in names.dns1123_label(hostname)]
    return found + _hints(endpoint.get("hints") or {}, f"{path}.hints")


def _slice_address(address: str, kind: str, path: str) -> list[FieldError]:
    if kind == "FQDN":
        return _domain_name(address, path)
    if kind not in ("IPv4", "IPv6"):
        return []
    if broken := ip_errors(address, path):
        return broken
    other = is_ipv6(address) != (kind == "IPv6")
    found = [invalid_value(path, address, f"must be an {kind} address")] if other else []
    return found + special_ip_errors(address, path)


def _domain_name(text: str, path: str) -> list[FieldError]:
    if not text:
        return [required(path)]
    name = text.removesuffix(".")
    if whys := names.dns1123_subdomain(name):
        return [invalid_value(path, name, ",".join(whys))]
    if "." not in name:
        return [invalid_value(path, name, "should be a domain with at least two segments separated by dots")]
    for label in name.split("."):
        if whys := names.dns1123_label(label):
            return [invalid_value(path, label, ",".join(whys))]
    return []


def _hints(hints: JsonObject, path: str) -> list[FieldError]:
    """For which zones, and which nodes, an endpoint is meant."""
    found: list[FieldError] = []
    checks = (("forZones", names.label_value), ("forNodes", names.dns1123_subdomain))
    for field, check in checks:
        entries, seen = hints.get(field) or [], set()
        if len(entries) > _MOST_HINTS:
            return [*found, too_many(f"{path}.{field}", len(entries), _MOST_HINTS)]
        for index, entry in enumerate(entries):
            at, name = f"{path}.{field}[{index}].name", entry.get("name", "")
            if name in seen:
                found.append(duplicate(at, name))
            seen.add(name)
            found += [invalid_value(at, name, why) for why in check(name)]
    return found


def _slice_port(port: JsonObject, seen: set[str], path: str) -> list[FieldError]:
    """(That a number is a port's is not looked at, as upstream does not.)"""
    name = port.get("name") or ""
    found = [invalid_value(f"{path}.name", name, why) for why in names.dns1123_label(name)] if name else []
    if name in seen:
        found.append(duplicate(f"{path}.name", name))
    seen.add(name)
    found += one_of(port, path, "protocol", PROTOCOLS)
    return found + _app_protocol(port, path)

"""Validation of Services.  Rules, order and words are upstream's `ValidateService` and `ValidateServiceUpdate`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kube32_sim.api.errors import FieldError, duplicate, forbidden_field, invalid_value, not_supported, required
from kube32_sim.api.validation import names
from kube32_sim.api.validation.addresses import cidr_errors, ip_errors, parse_ip, special_ip_errors
from kube32_sim.api.validation.meta import validate_labels
from kube32_sim.api.validation.services_addresses import NO_IP, addresses_fixed, is_headless, validate_addresses
from kube32_sim.api.validation.workloads_common import IMMUTABLE, PROTOCOLS, one_of

JsonObject = dict[str, Any]

TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_DISTRIBUTIONS = ("PreferClose", "PreferSameNode", "PreferSameZone")
_TRAFFIC = ("Cluster", "Local")
_DAY = 86400
_ONLY_LOAD_BALANCER = "may only be used when `type` is 'LoadBalancer'"
_SOURCE_RANGES = "service.beta.kubernetes.io/load-balancer-source-ranges"


def is_externally_accessible(spec: JsonObject) -> bool:
    kind = spec.get("type")
    return kind in ("LoadBalancer", "NodePort") or (kind == "ClusterIP" and bool(spec.get("externalIPs")))


def needs_health_check(spec: JsonObject) -> bool:
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def validate_service(service: JsonObject) -> list[FieldError]:
    """Failures of a Service.  Those of its addresses come alone: upstream gives out addresses before all else."""
    spec = service["spec"]
    ports, kind = spec.get("ports") or [], spec.get("type", "")
    if found := validate_addresses(spec):
        return found
    found += _topology(service["metadata"].get("annotations") or {})
    if not ports and not is_headless(spec) and kind != "ExternalName":
        found.append(required("spec.ports"))
    found += _of_type(spec, kind)
    seen: set[str] = set()
    for index, port in enumerate(ports):
        found += _port(port, len(ports) > 1, seen, f"spec.ports[{index}]")
    if spec.get("selector"):
        found += validate_labels(spec["selector"], "spec.selector")
    found += _session_affinity(spec)
    for index, address in enumerate(spec.get("externalIPs") or ()):
        path = f"spec.externalIPs[{index}]"
        found += ip_errors(address, path) or special_ip_errors(address, path)
    found += one_of(spec, "spec", "type", TYPES)
    found += _port_numbers(ports, kind)
    found += _load_balancer(service, spec, kind)
    return found + _traffic(spec, kind)


TOPOLOGY_HINTS, TOPOLOGY_MODE = "service.kubernetes.io/topology-aware-hints", "service.kubernetes.io/topology-mode"


def _topology(annotations: Mapping[str, str]) -> list[FieldError]:
    hints = annotations.get(TOPOLOGY_HINTS)
    if hints is None or annotations.get(TOPOLOGY_MODE, hints) == hints:
        return []
    why = f"must match annotations[{TOPOLOGY_HINTS}] when both are specified"
    return [invalid_value(f"metadata.annotations[{TOPOLOGY_MODE}]", annotations[TOPOLOGY_MODE], why)]


def _of_type(spec: JsonObject, kind: str) -> list[FieldError]:
    if kind == "ExternalName":
        return _external_name(spec)
    if kind in ("LoadBalancer", "NodePort") and is_headless(spec):
        return [invalid_value("spec.clusterIPs[0]", NO_IP, f"may not be set to 'None' for {kind} services")]
    return []


def _external_name(spec: JsonObject) -> list[FieldError]:
    why = "may not be set for ExternalName services"
    found = [
        forbidden_field(f"spec.{field}", why)
        for field in ("clusterIPs", "ipFamilies", "ipFamilyPolicy")
        if spec.get(field)
    ]
    name = spec.get("externalName", "").removesuffix(".")
    if not name:
        return [*found, required("spec.externalName")]
    return found + [invalid_value("spec.externalName", name, why) for why in names.dns1123_subdomain(name)]


def _port(port: JsonObject, named: bool, seen: set[str], path: str) -> list[FieldError]:
    found: list[FieldError] = []
    name, number, target = port.get("name", ""), port.get("port", 0), port.get("targetPort", 0)
    if name:
        found += [invalid_value(f"{path}.name", name, why) for why in names.dns1123_label(name)]
        if name in seen:
            found.append(duplicate(f"{path}.name", name))
        seen.add(name)
    elif named:
        found.append(required(f"{path}.name"))
    found += [invalid_value(f"{path}.port", number, why) for why in names.port_number(number)]
    found += one_of(port, path, "protocol", PROTOCOLS)
    whys = names.port_name(target) if isinstance(target, str) else names.port_number(target)
    found += [invalid_value(f"{path}.targetPort", target, why) for why in whys]
    protocol = port.get("appProtocol")
    if protocol is not None:
        found += [invalid_value(f"{path}.appProtocol", protocol, why) for why in names.qualified_name(protocol)]
    return found


def _session_affinity(spec: JsonObject) -> list[FieldError]:
    found = one_of(spec, "spec", "sessionAffinity", ("ClientIP", "None"))
    config, path = spec.get("sessionAffinityConfig"), "spec.sessionAffinityConfig"
    if spec.get("sessionAffinity") == "ClientIP":
        found += _client_ip(config, path)
    elif spec.get("sessionAffinity") == "None" and config is not None:
        found.append(forbidden_field(path, "must not be set when session affinity is None"))
    return found


def _client_ip(config: JsonObject | None, path: str) -> list[FieldError]:
    if config is None:
        return [required(path, "when session affinity type is ClientIP")]
    client = config.get("clientIP")
    if client is None:
        return [required(f"{path}.clientIP", "when session affinity type is ClientIP")]
    seconds = client.get("timeoutSeconds")
    path += ".clientIP.timeoutSeconds"
    if seconds is None:
        return [required(path, "when session affinity type is ClientIP")]
    why = f"must be greater than 0 and less than {_DAY}"
    return [] if 0 < seconds <= _DAY else [invalid_value(path, seconds, why)]


def _port_numbers(ports: list[JsonObject], kind: str) -> list[FieldError]:
    found: list[FieldError] = []
    if kind == "ClusterIP":
        why = "may not be used when `type` is 'ClusterIP'"
        found += [forbidden_field(f"spec.ports[{i}].nodePort", why) for i, p in enumerate(ports) if p.get("nodePort")]
    node_ports: set[tuple[Any, Any]] = set()
    for index, port in enumerate(ports):
        number = port.get("nodePort")
        if number and (port.get("protocol"), number) in node_ports:
            found.append(duplicate(f"spec.ports[{index}].nodePort", number))
        node_ports.add((port.get("protocol"), number))
    seen: set[tuple[Any, Any]] = set()
    for index, port in enumerate(ports):
        key = (port.get("protocol", ""), port.get("port", 0))
        if key in seen:
            found.append(duplicate(f"spec.ports[{index}]", _only_protocol_and_port(*key)))
        seen.add(key)
    return found


def asks_twice_for_a_node_port(spec: JsonObject) -> bool:
    """Whether a new Service cannot be given its node ports: only ports of one number may share theirs.

    Upstream gives them out before it validates, so this is all such a Service hears of.
    """
    if spec.get("type") not in ("NodePort", "LoadBalancer"):
        return False
    holders: dict[int, int] = {}
    return any(
        holders.setdefault(port["nodePort"], port.get("port", 0)) != port.get("port", 0)
        for port in spec.get("ports") or ()
        if port.get("nodePort")
    )


def _only_protocol_and_port(protocol: str, port: int) -> JsonObject:
    return {"Name": "", "Protocol": protocol, "AppProtocol": None, "Port": port, "TargetPort": 0, "NodePort": 0}


def _load_balancer(service: JsonObject, spec: JsonObject, kind: str) -> list[FieldError]:
    found = _source_ranges(service["metadata"].get("annotations") or {}, spec.get("loadBalancerSourceRanges"), kind)
    if spec.get("allocateLoadBalancerNodePorts") is not None and kind != "LoadBalancer":
        found.append(forbidden_field("spec.allocateLoadBalancerNodePorts", _ONLY_LOAD_BALANCER))
    return found + _balancer_class(spec)


def _balancer_class(spec: JsonObject) -> list[FieldError]:
    balancer, path = spec.get("loadBalancerClass"), "spec.loadBalancerClass"
    if balancer is None:
        return []
    if spec.get("type") != "LoadBalancer":
        return [forbidden_field(path, _ONLY_LOAD_BALANCER)]
    return [invalid_value(path, balancer, why) for why in names.qualified_name(balancer)]


def _source_ranges(annotations: Mapping[str, str], ranges: list[str] | None, kind: str) -> list[FieldError]:
    """The field, or the annotation that was there before it."""
    if not ranges and _SOURCE_RANGES not in annotations:
        return []
    path = "spec.LoadBalancerSourceRanges" if ranges else f"metadata.annotations[{_SOURCE_RANGES}]"
    found = [] if kind == "LoadBalancer" else [forbidden_field(path, _ONLY_LOAD_BALANCER)]
    if ranges:
        for index, text in enumerate(ranges):
            found += cidr_errors(text.strip(), f"{path}[{index}]")
    elif annotations[_SOURCE_RANGES].strip():
        for text in annotations[_SOURCE_RANGES].split(","):
            found += cidr_errors(text.strip(), path)
    return found


def _traffic(spec: JsonObject, kind: str) -> list[FieldError]:
    found: list[FieldError] = []
    external = spec.get("externalTrafficPolicy", "")
    if is_externally_accessible(spec):
        found += one_of(spec, "spec", "externalTrafficPolicy", _TRAFFIC)
    elif external:
        why = "may only be set for externally-accessible services"
        found.append(invalid_value("spec.externalTrafficPolicy", external, why))
    health, path = spec.get("healthCheckNodePort", 0), "spec.healthCheckNodePort"
    if health and needs_health_check(spec):
        found += [invalid_value(path, health, why) for why in names.port_number(health)]
    elif health:
        why = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        found.append(invalid_value(path, health, why))
    if kind in ("ClusterIP", "LoadBalancer", "NodePort") or "internalTrafficPolicy" in spec:
        found += one_of(spec, "spec", "internalTrafficPolicy", _TRAFFIC)
    distribution = spec.get("trafficDistribution")
    if distribution is not None and distribution not in _DISTRIBUTIONS:
        found.append(not_supported("spec.trafficDistribution", distribution, _DISTRIBUTIONS))
    return found


def validate_service_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """Failures of the change alone, before those of the new Service; those of its addresses come alone."""
    spec, before = new["spec"], old["spec"]
    if validate_addresses(spec):
        return []
    found = addresses_fixed(spec, before)
    balancer = spec.get("loadBalancerClass")
    if before.get("type") == spec.get("type") == "LoadBalancer" and balancer != before.get("loadBalancerClass"):
        found.append(invalid_value("spec.loadBalancerClass", balancer, "may not change once set"))
    found += _balancer_class(spec)
    checked = needs_health_check(spec) and needs_health_check(before)
    if checked and spec.get("healthCheckNodePort", 0) != before.get("healthCheckNodePort", 0):
        found.append(forbidden_field("spec.healthCheckNodePort", IMMUTABLE))
    return found


_IP_MODES = ("Proxy", "VIP")


def validate_service_status(service: JsonObject) -> list[FieldError]:
    """Failures of what a load balancer reports about itself."""
    found: list[FieldError] = []
    status = (service.get("status") or {}).get("loadBalancer") or {}
    for index, entry in enumerate(status.get("ingress") or ()):
        path, ip, mode = f"status.loadBalancer.ingress[{index}]", entry.get("ip", ""), entry.get("ipMode")
        if ip:
            found += ip_errors(ip, f"{path}.ip")
        if mode is None:
            found += [required(f"{path}.ipMode", "must be specified when `ip` is set")] if ip else []
        elif not ip:
            found.append(forbidden_field(f"{path}.ipMode", "may not be specified when `ip` is not set"))
        elif mode not in _IP_MODES:
            found.append(not_supported(f"{path}.ipMode", mode, _IP_MODES))
        found += balancer_host_errors(entry.get("hostname", ""), f"{path}.hostname")
    return found


def balancer_host_errors(host: str, path: str) -> list[FieldError]:
    if not host:
        return []
    found = [invalid_value(path, host, why) for why in names.dns1123_subdomain(host)]
    if parse_ip(host) is not None:
        found.append(invalid_value(path, host, "must be a DNS name, not an IP address"))
    return found

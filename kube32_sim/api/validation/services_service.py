"""Validation of Services.  Rules, order and words are upstream's `ValidateService` and `ValidateServiceUpdate`."""

from __future__ import annotations

from typing import Any

from kube32_sim.api.errors import FieldError, duplicate, forbidden_field, invalid_value, not_supported, required
from kube32_sim.api.validation import names
from kube32_sim.api.validation.meta import validate_labels
from kube32_sim.api.validation.services_ip import cidr_errors, ip_errors, is_ipv6, special_ip_errors
from kube32_sim.api.validation.workloads_common import NOT_NEGATIVE, one_of

JsonObject = dict[str, Any]

TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
NO_IP = "None"
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_FAMILIES = ("IPv4", "IPv6")
_POLICIES = ("PreferDualStack", "RequireDualStack", "SingleStack")
_DISTRIBUTIONS = ("PreferClose", "PreferSameNode", "PreferSameZone")
_TRAFFIC = ("Cluster", "Local")
_DAY = 86400
_ONLY_LOAD_BALANCER = "may only be used when `type` is 'LoadBalancer'"
_SOURCE_RANGES = "service.beta.kubernetes.io/load-balancer-source-ranges"


def is_headless(spec: JsonObject) -> bool:
    addresses = spec.get("clusterIPs") or [spec.get("clusterIP", "")]
    return len(addresses) == 1 and addresses[0] == NO_IP


def is_externally_accessible(spec: JsonObject) -> bool:
    kind = spec.get("type")
    return kind in ("LoadBalancer", "NodePort") or (kind == "ClusterIP" and bool(spec.get("externalIPs")))


def validate_service(service: JsonObject) -> list[FieldError]:
    spec = service["spec"]
    ports, kind = spec.get("ports") or [], spec.get("type", "")
    found: list[FieldError] = []
    if not ports and not is_headless(spec) and kind != "ExternalName":
        found.append(required("spec.ports"))
    found += _of_type(spec, kind, ports)
    seen: set[str] = set()
    for index, port in enumerate(ports):
        found += _port(port, len(ports) > 1, seen, f"spec.ports[{index}]")
    if spec.get("selector"):
        found += validate_labels(spec["selector"], "spec.selector")
    found += _session_affinity(spec)
    found += _cluster_ips(spec, kind)
    for index, address in enumerate(spec.get("externalIPs") or ()):
        path = f"spec.externalIPs[{index}]"
        found += ip_errors(address, path) or special_ip_errors(address, path)
    found += one_of(spec, "spec", "type", TYPES)
    found += _port_numbers(ports, kind)
    found += _load_balancer(service, spec, kind)
    return found + _traffic(spec, kind)


def _of_type(spec: JsonObject, kind: str, ports: list[JsonObject]) -> list[FieldError]:
    if kind == "ExternalName":
        return _external_name(spec)
    found: list[FieldError] = []
    if kind == "LoadBalancer":
        why = "may not expose port 10250 externally since it is used by kubelet"
        found += [invalid_value(f"spec.ports[{i}]", 10250, why) for i, p in enumerate(ports) if p.get("port") == 10250]
    if kind in ("LoadBalancer", "NodePort") and is_headless(spec):
        found.append(invalid_value("spec.clusterIPs[0]", NO_IP, f"may not be set to 'None' for {kind} services"))
    return found


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
    found += one_of(port, path, "protocol", _PROTOCOLS)
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


def _cluster_ips(spec: JsonObject, kind: str) -> list[FieldError]:
    """`clusterIP`, `clusterIPs`, `ipFamilies` and `ipFamilyPolicy` have to agree."""
    if kind == "ExternalName":
        return []
    addresses, families, path = spec.get("clusterIPs") or [], spec.get("ipFamilies") or [], "spec.clusterIPs"
    found: list[FieldError] = []
    first = spec.get("clusterIP", "")
    if addresses and not first:
        found.append(invalid_value(path, addresses, "must be empty when `clusterIP` is not specified"))
    elif addresses and addresses[0] != first:
        found.append(invalid_value(path, addresses, "first value must match `clusterIP`"))
    for index, family in enumerate(families):
        if family not in _FAMILIES:
            found.append(not_supported(f"spec.ipFamilies[{index}]", family, _FAMILIES))
        elif family in families[:index]:
            found.append(duplicate(f"spec.ipFamilies[{index}]", family))
    policy = spec.get("ipFamilyPolicy")
    if policy is not None and policy not in _POLICIES:
        found.append(not_supported("spec.ipFamilyPolicy", policy, _POLICIES))
    return found + _addresses(addresses, families, path)


def _addresses(addresses: list[str], families: list[str], path: str) -> list[FieldError]:
    if len(addresses) > 2:
        return [invalid_value(path, addresses, "may only hold up to 2 values")]
    if addresses and addresses[0] == NO_IP:
        if len(addresses) > 1:
            return [invalid_value(path, addresses, "'None' must be the first and only value")]
        return []
    found = [error for index, text in enumerate(addresses) for error in ip_errors(text, f"{path}[{index}]")]
    if found:
        return found
    if len(addresses) == 2 and is_ipv6(addresses[0]) == is_ipv6(addresses[1]):
        why = "may specify no more than one IP for each IP family"
        return [invalid_value(path, addresses, why)]
    for index, (address, family) in enumerate(zip(addresses, families, strict=False)):
        if family in _FAMILIES and (family == "IPv6") != is_ipv6(address):
            why = f"expected an {family} value as indicated by `ipFamilies[{index}]`"
            found.append(invalid_value(f"{path}[{index}]", address, why))
    return found


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


def _only_protocol_and_port(protocol: str, port: int) -> JsonObject:
    return {"Name": "", "Protocol": protocol, "AppProtocol": None, "Port": port, "TargetPort": 0, "NodePort": 0}


def _load_balancer(service: JsonObject, spec: JsonObject, kind: str) -> list[FieldError]:
    found: list[FieldError] = []
    ranges, path = spec.get("loadBalancerSourceRanges"), "spec.loadBalancerSourceRanges"
    if ranges:
        if kind != "LoadBalancer":
            found.append(forbidden_field(path, _ONLY_LOAD_BALANCER))
        for index, text in enumerate(ranges):
            found += cidr_errors(text.strip(), f"{path}[{index}]")
    elif _SOURCE_RANGES in (service["metadata"].get("annotations") or {}) and kind != "LoadBalancer":
        found.append(forbidden_field(f"metadata.annotations[{_SOURCE_RANGES}]", _ONLY_LOAD_BALANCER))
    if spec.get("allocateLoadBalancerNodePorts") is not None and kind != "LoadBalancer":
        found.append(forbidden_field("spec.allocateLoadBalancerNodePorts", _ONLY_LOAD_BALANCER))
    balancer = spec.get("loadBalancerClass")
    if balancer is not None:
        found += [invalid_value("spec.loadBalancerClass", balancer, why) for why in names.qualified_name(balancer)]
        if kind != "LoadBalancer":
            found.append(forbidden_field("spec.loadBalancerClass", _ONLY_LOAD_BALANCER))
    return found


def _traffic(spec: JsonObject, kind: str) -> list[FieldError]:
    found: list[FieldError] = []
    external = spec.get("externalTrafficPolicy", "")
    if is_externally_accessible(spec):
        found += one_of(spec, "spec", "externalTrafficPolicy", _TRAFFIC)
    elif external:
        why = "may only be set for externally-accessible services"
        found.append(invalid_value("spec.externalTrafficPolicy", external, why))
    health = spec.get("healthCheckNodePort", 0)
    if health < 0:
        found.append(invalid_value("spec.healthCheckNodePort", health, NOT_NEGATIVE))
    elif health and not (kind == "LoadBalancer" and external == "Local"):
        why = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        found.append(invalid_value("spec.healthCheckNodePort", health, why))
    if kind in ("ClusterIP", "LoadBalancer", "NodePort") or "internalTrafficPolicy" in spec:
        found += one_of(spec, "spec", "internalTrafficPolicy", _TRAFFIC)
    distribution = spec.get("trafficDistribution")
    if distribution is not None and distribution not in _DISTRIBUTIONS:
        found.append(not_supported("spec.trafficDistribution", distribution, _DISTRIBUTIONS))
    return found


def validate_service_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """Failures of the change alone: primary address and family are there to stay, unless the type was ExternalName."""
    spec, before = new["spec"], old["spec"]
    if "ExternalName" in (spec.get("type"), before.get("type")):
        return []
    found: list[FieldError] = []
    for field in ("clusterIPs", "ipFamilies"):
        values, kept = spec.get(field) or [], before.get(field) or []
        if not kept:
            continue
        if not values:
            found.append(required(f"spec.{field}[0]"))
        elif values[0] != kept[0]:
            found.append(invalid_value(f"spec.{field}[0]", values, "may not change once set"))
    if before.get("type") == spec.get("type") == "LoadBalancer" and spec.get("loadBalancerClass") != before.get(
        "loadBalancerClass"
    ):
        found.append(invalid_value("spec.loadBalancerClass", spec.get("loadBalancerClass"), "may not change once set"))
    return found

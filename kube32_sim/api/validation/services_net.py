"""Validation of networking.k8s.io (Ingress, NetworkPolicy and kin), and the warnings about Services.

Rules and words are upstream's `pkg/apis/networking/validation`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kube32_sim.api.errors import (
    FieldError,
    forbidden_field,
    invalid_value,
    not_supported,
    required,
)
from kube32_sim.api.validation import names
from kube32_sim.api.validation.services_ip import cidr_errors, parse_ip
from kube32_sim.api.validation.workloads_common import one_of, validate_label_selector

JsonObject = dict[str, Any]

_PROTOCOLS = ("SCTP", "TCP", "UDP")


_PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")
_OLD_CLASS = "kubernetes.io/ingress.class"


def validate_ingress(ingress: JsonObject, *, new: bool) -> list[FieldError]:
    """new: what an older object may still have is refused."""
    spec = ingress["spec"]
    found: list[FieldError] = []
    old_class = (ingress["metadata"].get("annotations") or {}).get(_OLD_CLASS)
    if new and old_class is not None and spec.get("ingressClassName") is not None:
        why = "can not be set when the class field is also set"
        found.append(invalid_value(f"annotations.{_OLD_CLASS}", old_class, why))
    rules, backend, path = spec.get("rules") or [], spec.get("defaultBackend"), "spec"
    if not rules and backend is None:
        why = "either `defaultBackend` or `rules` must be specified"
        found.append(invalid_value(path, _nothing_but_class(spec), why))
    if backend is not None:
        found += _backend(backend, f"{path}.defaultBackend")
    for index, rule in enumerate(rules):
        found += _ingress_rule(rule, f"{path}.rules[{index}]")
    for index, tls in enumerate(spec.get("tls") or ()):
        for place, host in enumerate(tls.get("hosts") or ()):
            found += _host(host, f"{path}.tls[{index}].hosts[{place}]")
    class_name = spec.get("ingressClassName")
    if class_name is not None:
        at = f"{path}.ingressClassName"
        found += [invalid_value(at, class_name, why) for why in names.dns1123_subdomain(class_name)]
    return found


def _nothing_but_class(spec: JsonObject) -> JsonObject:
    """A spec without rules as Go prints it."""
    return {"IngressClassName": spec.get("ingressClassName"), "DefaultBackend": None, "TLS": None, "Rules": None}


def ingress_warnings(ingress: JsonObject) -> list[str]:
    if _OLD_CLASS in (ingress["metadata"].get("annotations") or {}):
        return [f"annotation \"{_OLD_CLASS}\" is deprecated, please use 'spec.ingressClassName' instead"]
    return []


def _host(host: str, path: str) -> list[FieldError]:
    check: Callable[[str], list[str]] = names.wildcard_subdomain if "*" in host else names.dns1123_subdomain
    return [invalid_value(path, host, why) for why in check(host)]


def _ingress_rule(rule: JsonObject, path: str) -> list[FieldError]:
    host, http = rule.get("host", ""), rule.get("http")
    found: list[FieldError] = []
    if host:
        if parse_ip(host) is not None:
            found.append(invalid_value(f"{path}.host", host, "must be a DNS name, not an IP address"))
        found += _host(host, f"{path}.host")
    if http is None:
        return found
    paths = http.get("paths") or []
    if not paths:
        found.append(required(f"{path}.http.paths"))
    for index, entry in enumerate(paths):
        found += _ingress_path(entry, f"{path}.http.paths[{index}]")
    return found


_BAD_PARTS = ("//", "/./", "/../", "%2f", "%2F")
_BAD_ENDS = ("/..", "/.")


def _ingress_path(entry: JsonObject, path: str) -> list[FieldError]:
    kind, text = entry.get("pathType"), entry.get("path", "")
    at = f"{path}.path"
    found: list[FieldError] = []
    if kind is None:
        found.append(required(f"{path}.pathType", "pathType must be specified"))
    elif kind in ("Exact", "Prefix"):
        if not text.startswith("/"):
            found.append(invalid_value(at, text, "must be an absolute path"))
        found += [invalid_value(at, text, f"must not contain '{part}'") for part in _BAD_PARTS if part in text]
        found += [invalid_value(at, text, f"cannot end with '{end}'") for end in _BAD_ENDS if text.endswith(end)]
    elif kind == "ImplementationSpecific":
        if text and not text.startswith("/"):
            found.append(invalid_value(at, text, "must be an absolute path"))
    else:
        found.append(not_supported(f"{path}.pathType", kind, _PATH_TYPES))
    return found + _backend(entry.get("backend") or {}, f"{path}.backend")


def _backend(backend: JsonObject, path: str) -> list[FieldError]:
    service, resource = backend.get("service"), backend.get("resource")
    if resource is not None and service is not None:
        return [invalid_value(path, "", "cannot set both resource and service backends")]
    if resource is not None:
        return _reference(resource, f"{path}.resource")
    if service is None:
        return [invalid_value(path, "", "resource or service backend is required")]
    return _service_backend(service, f"{path}.service")


def _reference(reference: JsonObject, path: str) -> list[FieldError]:
    return [required(f"{path}.{field}") for field in ("kind", "name") if not reference.get(field)]


def _service_backend(service: JsonObject, path: str) -> list[FieldError]:
    name, port = service.get("name", ""), service.get("port") or {}
    found: list[FieldError] = []
    if name:
        found += [invalid_value(f"{path}.name", name, why) for why in names.dns1123_label(name)]
    else:
        found.append(required(f"{path}.name"))
    port_name, number = port.get("name", ""), port.get("number", 0)
    if port_name and number:
        found.append(invalid_value(path, name, "cannot set both port name & port number"))
    elif port_name:
        found += [invalid_value(f"{path}.port.name", port_name, why) for why in names.port_name(port_name)]
    elif number:
        found += [invalid_value(f"{path}.port.number", number, why) for why in names.port_number(number)]
    else:
        found.append(required(path, "port name or number is required"))
    return found


def validate_ingress_class(spec: JsonObject) -> list[FieldError]:
    controller, path = spec.get("controller", ""), "spec.controller"
    found: list[FieldError] = []
    if not controller:
        found.append(required(path))
    elif len(controller) > 250:
        found.append(FieldError("FieldValueTooLong", path, "Too long: may not be more than 250 bytes"))
    else:
        prefix, slash, rest = controller.partition("/")
        if not slash or not prefix or not rest:
            why = 'must be a domain-prefixed path (such as "acme.io/foo")'
            found.append(invalid_value(path, controller, why))
        else:
            found += [invalid_value(path, prefix, why) for why in names.dns1123_subdomain(prefix)]
    parameters = spec.get("parameters")
    return found if parameters is None else found + _class_parameters(parameters, "spec.parameters")


def _class_parameters(parameters: JsonObject, path: str) -> list[FieldError]:
    found = _reference(parameters, path)
    found += one_of(parameters, path, "scope", ("Cluster", "Namespace"))
    namespace = parameters.get("namespace")
    if parameters.get("scope") == "Namespace":
        if namespace is None:
            found.append(required(f"{path}.namespace", "`parameters.scope` is set to 'Namespace'"))
        else:
            found += [invalid_value(f"{path}.namespace", namespace, why) for why in names.dns1123_label(namespace)]
    elif namespace is not None:
        found.append(forbidden_field(f"{path}.namespace", "`parameters.scope` is set to 'Cluster'"))
    return found


def validate_network_policy(spec: JsonObject) -> list[FieldError]:
    found = validate_label_selector(spec.get("podSelector"), "spec.podSelector")
    for field, peers in (("ingress", "from"), ("egress", "to")):
        for index, rule in enumerate(spec.get(field) or ()):
            path = f"spec.{field}[{index}]"
            for place, port in enumerate(rule.get("ports") or ()):
                found += _policy_port(port, f"{path}.ports[{place}]")
            for place, peer in enumerate(rule.get(peers) or ()):
                found += _policy_peer(peer, f"{path}.{peers}[{place}]")
    types = spec.get("policyTypes") or []
    if len(types) > 2:
        why = "may not specify more than two policyTypes"
        return [*found, invalid_value("spec.policyTypes", types, why)]
    for index, kind in enumerate(types):
        if kind not in ("Egress", "Ingress"):
            found.append(not_supported(f"spec.policyTypes[{index}]", kind, ("Egress", "Ingress")))
    return found


def _policy_port(port: JsonObject, path: str) -> list[FieldError]:
    protocol, number, end = port.get("protocol"), port.get("port"), port.get("endPort")
    found: list[FieldError] = []
    if protocol is not None and protocol not in _PROTOCOLS:
        found.append(not_supported(f"{path}.protocol", protocol, _PROTOCOLS))
    if isinstance(number, str):
        found += [invalid_value(f"{path}.port", number, why) for why in names.port_name(number)]
        if end is not None:
            found.append(invalid_value(f"{path}.endPort", end, "may not be specified when `port` is non-numeric"))
    elif number is not None:
        found += [invalid_value(f"{path}.port", number, why) for why in names.port_number(number)]
        if end is not None:
            if end < number:
                found.append(invalid_value(f"{path}.endPort", end, "must be greater than or equal to `port`"))
            found += [invalid_value(f"{path}.endPort", end, why) for why in names.port_number(end)]
    elif end is not None:
        found.append(invalid_value(f"{path}.endPort", end, "may not be specified when `port` is not specified"))
    return found


def _policy_peer(peer: JsonObject, path: str) -> list[FieldError]:
    block = peer.get("ipBlock")
    found: list[FieldError] = []
    if not peer:
        found.append(required(path, "must specify a peer"))
    for field in ("podSelector", "namespaceSelector"):
        found += validate_label_selector(peer.get(field), f"{path}.{field}")
    if block is None:
        return found
    if len(peer) > 1:
        found.append(forbidden_field(path, "may not specify both ipBlock and another peer"))
    cidr, at = block.get("cidr", ""), f"{path}.ipBlock"
    if not cidr:
        return [*found, required(f"{at}.cidr")]
    found += cidr_errors(cidr, f"{at}.cidr")
    for index, text in enumerate(block.get("except") or ()):
        found += cidr_errors(text, f"{at}.except[{index}]") or _outside(text, cidr, f"{at}.except[{index}]")
    return found


def _outside(text: str, cidr: str, path: str) -> list[FieldError]:
    import ipaddress

    if cidr_errors(cidr, ""):
        return []
    inner, outer = ipaddress.ip_network(text, strict=False), ipaddress.ip_network(cidr, strict=False)
    within = (
        inner.version == outer.version
        and inner != outer
        and int(inner.network_address) in range(int(outer.network_address), int(outer.broadcast_address) + 1)
    )
    within = within and inner.prefixlen > outer.prefixlen
    return [] if within else [invalid_value(path, text, "must be a strict subset of `cidr`")]


def address_name(name: str) -> list[str]:
    """Why a name is no canonical address."""
    address = parse_ip(name)
    if address is None:
        return ["must be a valid IP address in canonical form, (e.g. 10.9.8.7 or 2001:db8::ffff)"]
    return [] if str(address) == name else [f'must be in canonical form ("{address}")']


def validate_ip_address(obj: JsonObject) -> list[FieldError]:
    reference, path = obj["spec"].get("parentRef"), "spec.parentRef"
    if reference is None:
        return [required(path)]
    return [required(f"{path}.{field}") for field in ("resource", "name") if not reference.get(field)]


def validate_service_cidr(spec: JsonObject) -> list[FieldError]:
    cidrs, path = spec.get("cidrs") or [], "spec.cidrs"
    if not cidrs:
        return [required(path, "at least one CIDR required")]
    if len(cidrs) > 2:
        return [invalid_value(path, cidrs, "may only hold up to 2 values")]
    found: list[FieldError] = []
    for index, text in enumerate(cidrs):
        found += cidr_errors(text, f"{path}[{index}]")
    if not found and len(cidrs) == 2 and (":" in cidrs[0]) == (":" in cidrs[1]):
        found.append(
            invalid_value(
                path, cidrs, "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/96"
            )
        )
    return found

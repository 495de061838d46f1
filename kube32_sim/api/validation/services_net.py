"""Validation of networking.k8s.io: Ingress, NetworkPolicy and kin.

Rules, order and words are upstream's `pkg/apis/networking/validation`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kube32_sim.api.classes import OLD_INGRESS_CLASS
from kube32_sim.api.errors import (
    FieldError,
    forbidden_field,
    go_value,
    invalid_value,
    not_supported,
    required,
    too_long,
)
from kube32_sim.api.validation import names
from kube32_sim.api.validation.addresses import (
    Network,
    canonical_cidr_errors,
    canonical_ip_errors,
    cidr_errors,
    ip_errors,
    sloppy_cidr,
    sloppy_ip,
)
from kube32_sim.api.validation.services_service import balancer_host_errors
from kube32_sim.api.validation.workloads_common import (
    IMMUTABLE,
    domain_prefixed_path,
    immutable,
    one_of,
    validate_label_selector,
)

JsonObject = dict[str, Any]

_PROTOCOLS = ("TCP", "UDP", "SCTP")
"""As the messages about NetworkPolicies have them, which are not sorted."""
_POLICY_TYPES = ("Ingress", "Egress")


_PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")


def validate_ingress(ingress: JsonObject, *, new: bool, lax_secrets: bool = False) -> list[FieldError]:
    """new: what an older object may still have is refused; lax_secrets: names of secrets are not looked at."""
    spec = ingress["spec"]
    rules, backend, path = spec.get("rules"), spec.get("defaultBackend"), "spec"
    found: list[FieldError] = []
    if not rules and backend is None:
        found.append(invalid_value(path, rules, "either `defaultBackend` or `rules` must be specified"))
    if backend is not None:
        found += _backend(backend, f"{path}.defaultBackend")
    for index, rule in enumerate(rules or ()):
        found += _ingress_rule(rule, f"{path}.rules[{index}]")
    for index, tls in enumerate(spec.get("tls") or ()):
        for place, host in enumerate(tls.get("hosts") or ()):
            found += _host(host, f"{path}.tls[{index}].hosts[{place}]")
        if not lax_secrets:
            found += _secret_name(tls.get("secretName", ""), f"{path}.tls[{index}].secretName")
    class_name = spec.get("ingressClassName")
    if class_name is not None:
        at = f"{path}.ingressClassName"
        found += [invalid_value(at, class_name, why) for why in names.dns1123_subdomain(class_name)]
    old_class = (ingress["metadata"].get("annotations") or {}).get(OLD_INGRESS_CLASS)
    if new and class_name is not None and old_class not in (None, class_name):
        why = "must match `ingressClassName` when both are specified"
        found.append(invalid_value(f"annotations.{OLD_INGRESS_CLASS}", old_class, why))
    return found


def _secret_name(name: str, path: str) -> list[FieldError]:
    return [invalid_value(path, name, why) for why in names.dns1123_subdomain(name)] if name else []


def has_odd_secrets(ingress: JsonObject) -> bool:
    return any(_secret_name(tls.get("secretName", ""), "") for tls in ingress["spec"].get("tls") or ())


def validate_ingress_status(ingress: JsonObject) -> list[FieldError]:
    found: list[FieldError] = []
    balancer = (ingress.get("status") or {}).get("loadBalancer") or {}
    for index, entry in enumerate(balancer.get("ingress") or ()):
        path = f"status.loadBalancer.ingress[{index}]"
        if entry.get("ip"):
            found += ip_errors(entry["ip"], f"{path}.ip")
        found += balancer_host_errors(entry.get("hostname", ""), f"{path}.hostname")
    return found


def ingress_warnings(ingress: JsonObject) -> list[str]:
    if OLD_INGRESS_CLASS in (ingress["metadata"].get("annotations") or {}):
        return [f"annotation \"{OLD_INGRESS_CLASS}\" is deprecated, please use 'spec.ingressClassName' instead"]
    return []


def _host(host: str, path: str) -> list[FieldError]:
    check: Callable[[str], list[str]] = names.wildcard_subdomain if "*" in host else names.dns1123_subdomain
    return [invalid_value(path, host, why) for why in check(host)]


def _ingress_rule(rule: JsonObject, path: str) -> list[FieldError]:
    host, http = rule.get("host", ""), rule.get("http")
    found: list[FieldError] = []
    if host:
        if sloppy_ip(host) is not None:
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
        return [required(f"{path}.pathType", "pathType must be specified")]
    if kind in ("Exact", "Prefix"):
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
    return _service_backend(service, path)


def _reference(reference: JsonObject, path: str) -> list[FieldError]:
    """A typed reference within a namespace: its names are such as can stand in a path."""
    group = reference.get("apiGroup")
    found = (
        [] if group is None else [invalid_value(f"{path}.apiGroup", group, w) for w in names.dns1123_subdomain(group)]
    )
    return found + _path_names(reference, path, "kind", "name")


def _path_names(owner: JsonObject, path: str, *fields: str) -> list[FieldError]:
    found: list[FieldError] = []
    for field in fields:
        value = owner.get(field, "")
        whys = names.path_segment(value)
        found += (
            [invalid_value(f"{path}.{field}", value, why) for why in whys] if value else [required(f"{path}.{field}")]
        )
    return found


def _service_backend(service: JsonObject, path: str) -> list[FieldError]:
    """path: of the backend; what is wrong with a port as a whole is told of that."""
    name, port, at = service.get("name", ""), service.get("port") or {}, f"{path}.service"
    found: list[FieldError] = []
    if name:
        found += [invalid_value(f"{at}.name", name, why) for why in names.dns1123_label(name)]
    else:
        found.append(required(f"{at}.name"))
    port_name, number = port.get("name", ""), port.get("number", 0)
    if port_name and number:
        found.append(invalid_value(path, "", "cannot set both port name & port number"))
    elif port_name:
        found += [invalid_value(f"{at}.port.name", port_name, why) for why in names.port_name(port_name)]
    elif number:
        found += [invalid_value(f"{at}.port.number", number, why) for why in names.port_number(number)]
    else:
        found.append(required(path, "port name or number is required"))
    return found


_MOST_CONTROLLER = 250


def validate_ingress_class(spec: JsonObject) -> list[FieldError]:
    controller, path = spec.get("controller", ""), "spec.controller"
    found = [too_long(path, _MOST_CONTROLLER)] if names.byte_length(controller) > _MOST_CONTROLLER else []
    found += domain_prefixed_path(controller, path)
    parameters = spec.get("parameters")
    return found if parameters is None else found + _class_parameters(parameters, "spec.parameters")


def _class_parameters(parameters: JsonObject, path: str) -> list[FieldError]:
    found = _reference(parameters, path)
    wrong = one_of(parameters, path, "scope", ("Cluster", "Namespace"))
    namespace = parameters.get("namespace")
    if wrong:
        return found + wrong
    if parameters.get("scope") == "Namespace":
        if namespace is None:
            found.append(required(f"{path}.namespace", "`parameters.scope` is set to 'Namespace'"))
        else:
            found += [invalid_value(f"{path}.namespace", namespace, why) for why in names.dns1123_label(namespace)]
    elif namespace is not None:
        found.append(forbidden_field(f"{path}.namespace", "`parameters.scope` is set to 'Cluster'"))
    return found


def validate_network_policy(spec: JsonObject, known: frozenset[str] = frozenset()) -> list[FieldError]:
    found = validate_label_selector(spec.get("podSelector"), "spec.podSelector")
    for field, peers in (("ingress", "from"), ("egress", "to")):
        for index, rule in enumerate(spec.get(field) or ()):
            path = f"spec.{field}[{index}]"
            for place, port in enumerate(rule.get("ports") or ()):
                found += _policy_port(port, f"{path}.ports[{place}]")
            for place, peer in enumerate(rule.get(peers) or ()):
                found += _policy_peer(peer, f"{path}.{peers}[{place}]", known)
    types = spec.get("policyTypes") or []
    if len(types) > 2:
        why = "may not specify more than two policyTypes"
        return [*found, invalid_value("spec.policyTypes", types, why)]
    for index, kind in enumerate(types):
        if kind not in _POLICY_TYPES:
            found.append(not_supported(f"spec.policyTypes[{index}]", kind, _POLICY_TYPES))
    return found


def _policy_port(port: JsonObject, path: str) -> list[FieldError]:
    protocol, number, end = port.get("protocol"), port.get("port"), port.get("endPort")
    found: list[FieldError] = []
    if protocol is not None and protocol not in _PROTOCOLS:
        found.append(not_supported(f"{path}.protocol", protocol, _PROTOCOLS))
    if isinstance(number, int):
        found += [invalid_value(f"{path}.port", number, why) for why in names.port_number(number)]
        if end is not None and end < number:
            found.append(invalid_value(f"{path}.endPort", end, "must be greater than or equal to `port`"))
        if end is not None:
            found += [invalid_value(f"{path}.endPort", end, why) for why in names.port_number(end)]
        return found
    if end is not None:
        lacking = "not specified" if number is None else "non-numeric"
        found.append(invalid_value(f"{path}.endPort", end, f"may not be specified when `port` is {lacking}"))
    if number is not None:
        found += [invalid_value(f"{path}.port", number, why) for why in names.port_name(number)]
    return found


_PEERS = ("podSelector", "namespaceSelector", "ipBlock")


def _policy_peer(peer: JsonObject, path: str, known: frozenset[str]) -> list[FieldError]:
    found: list[FieldError] = []
    for field in ("podSelector", "namespaceSelector"):
        found += validate_label_selector(peer.get(field), f"{path}.{field}")
    block, given = peer.get("ipBlock"), [field for field in _PEERS if peer.get(field) is not None]
    if block is not None:
        found += _ip_block(block, f"{path}.ipBlock", known)
    if not given:
        found.append(required(path, "must specify a peer"))
    elif len(given) > 1 and block is not None:
        found.append(forbidden_field(path, "may not specify both ipBlock and another peer"))
    return found


def _ip_block(block: JsonObject, path: str, known: frozenset[str]) -> list[FieldError]:
    """known: networks that the policy had before, in whatever spelling."""
    text = block.get("cidr", "")
    if not text:
        return [required(f"{path}.cidr")]
    found = [] if text in known else cidr_errors(text, f"{path}.cidr")
    outer = sloppy_cidr(text)
    if outer is None:
        return found
    for index, excepted in enumerate(block.get("except") or ()):
        at, inner = f"{path}.except[{index}]", sloppy_cidr(excepted)
        found += [] if excepted in known else cidr_errors(excepted, at)
        if inner is not None and not _strictly_within(inner, outer):
            found.append(invalid_value(at, excepted, "must be a strict subset of `cidr`"))
    return found


def _strictly_within(inner: Network, outer: Network) -> bool:
    if inner.version != outer.version or inner.prefixlen <= outer.prefixlen:
        return False
    return inner.network_address in outer


def networks_of(policy: JsonObject) -> frozenset[str]:
    blocks = [
        peer["ipBlock"]
        for field, peers in (("ingress", "from"), ("egress", "to"))
        for rule in policy["spec"].get(field) or ()
        for peer in rule.get(peers) or ()
        if peer.get("ipBlock") is not None
    ]
    return frozenset(text for block in blocks for text in (block.get("cidr", ""), *(block.get("except") or ())))


def address_name(name: str) -> list[str]:
    """Why a name is no canonical address."""
    return [error.message.removeprefix(f"Invalid value: {go_value(name)}: ") for error in canonical_ip_errors(name, "")]


def validate_ip_address(obj: JsonObject) -> list[FieldError]:
    reference, path = obj["spec"].get("parentRef"), "spec.parentRef"
    if reference is None:
        return [required(path)]
    group, namespace = reference.get("group", ""), reference.get("namespace", "")
    found: list[FieldError] = []
    if group:
        found += [invalid_value(f"{path}.group", group, why) for why in names.dns1123_subdomain(group)]
    found += _path_names(reference, path, "resource", "name")
    return found + [invalid_value(f"{path}.namespace", namespace, why) for why in names.path_segment(namespace)]


def parent_fixed(new: JsonObject, old: JsonObject) -> list[FieldError]:
    reference = new["spec"].get("parentRef")
    shown = (
        None
        if reference is None
        else {name: reference.get(name.lower(), "") for name in ("Group", "Resource", "Namespace", "Name")}
    )
    return immutable(reference, old["spec"].get("parentRef"), "spec.parentRef", shown)


def validate_service_cidr(spec: JsonObject) -> list[FieldError]:
    cidrs, path = spec.get("cidrs") or [], "spec.cidrs"
    if not cidrs:
        return [required(path, "at least one CIDR required")]
    if len(cidrs) > 2:
        return [invalid_value(path, {"CIDRs": cidrs}, "may only hold up to 2 values")]
    found: list[FieldError] = []
    for index, text in enumerate(cidrs):
        found += canonical_cidr_errors(text, f"{path}[{index}]")
    families = [network.version for network in map(sloppy_cidr, cidrs) if network is not None]
    if len(families) == 2 and families[0] == families[1]:
        why = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"
        found.append(invalid_value(path, cidrs, why))
    return found


def service_cidr_fixed(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """A range stays; one of the other family may come to it."""
    cidrs, had, path = new.get("cidrs") or [], old.get("cidrs") or [], "spec.cidrs"
    if (len(had), len(cidrs)) != (1, 2) and len(had) != len(cidrs):
        return [invalid_value(path, cidrs or None, IMMUTABLE)]
    found = [
        invalid_value(f"{path}[{index}]", text, IMMUTABLE)
        for index, (text, was) in enumerate(zip(cidrs, had, strict=False))
        if text != was
    ]
    return found if len(had) == len(cidrs) else found + validate_service_cidr(new)

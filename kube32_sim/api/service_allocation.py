"""What a Service gets that its author left out: families, cluster addresses, node ports; and what it may not have.

Rules and words are upstream's `pkg/registry/core/service/storage/alloc.go`.  `Allocators` knows who holds what.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kube32_sim.api.allocation import Allocators, node_ports
from kube32_sim.api.errors import FieldError, invalid, invalid_value
from kube32_sim.api.validation.addresses import is_ipv6
from kube32_sim.api.validation.services_addresses import NO_IP, is_headless
from kube32_sim.api.validation.services_service import needs_health_check

JsonObject = dict[str, Any]

FULL = "range is full"
TAKEN = "provided IP is already allocated"
PORT_TAKEN = "provided port is already allocated"
OTHER_RANGE = "the provided network does not match the current range"
NOT_DUAL = "this cluster is not configured for dual-stack services"
_POLICY = "spec.ipFamilyPolicy"


def allocate(obj: JsonObject, old: JsonObject | None, allocators: Allocators) -> None:
    """Give a valid Service (new, or the next state of `old`) its families, addresses and node ports, in place.

    Raises ApiError 422 in upstream's words for an address or port that is taken or outside the range.
    """
    spec, before = obj["spec"], old["spec"] if old is not None else None
    errors: list[FieldError] = []
    if spec.get("type") != "ExternalName" and not _stays_as_it_is(spec, before):
        errors = _families(spec, before, allocators) or _addresses(spec, before, allocators)
    errors = errors or _ports(spec, before, allocators)
    if errors:
        raise invalid("", "Service", obj["metadata"].get("name", ""), errors)


def _stays_as_it_is(spec: JsonObject, before: JsonObject | None) -> bool:
    """Whether nobody asks for more or fewer families than a Service that prefers two has got."""
    if before is None or spec.get("type") != before.get("type"):
        return False
    policies = {spec.get("ipFamilyPolicy"), before.get("ipFamilyPolicy") or "PreferDualStack"}
    same = all((spec.get(field) or []) == (before.get(field) or []) for field in ("clusterIPs", "ipFamilies"))
    return policies == {"PreferDualStack"} and same


# families


def _families(spec: JsonObject, before: JsonObject | None, allocators: Allocators) -> list[FieldError]:
    by_hand = is_headless(spec) and not spec.get("selector")
    if not spec.get("ipFamilyPolicy"):
        had = (before or {}).get("ipFamilyPolicy")
        spec["ipFamilyPolicy"] = had or ("RequireDualStack" if by_hand else "SingleStack")
    policy = spec["ipFamilyPolicy"]
    found = _fewer(spec, before, policy) if before is not None else []
    found += _more_than_policy(spec, policy)
    families: list[str] = list(spec.get("ipFamilies") or ())
    found += _inferred(spec, families, allocators)
    if found:
        return found
    if by_hand:
        spec["ipFamilies"] = _both(families or [allocators.family], policy)
        return []
    if policy == "RequireDualStack":
        found.append(invalid_value(_POLICY, policy, NOT_DUAL))
    for index, family in enumerate(families):
        if family != allocators.family:
            found.append(invalid_value(f"spec.ipFamilies[{index}]", family, "not configured on this cluster"))
    spec["ipFamilies"] = families or [allocators.family]
    return found


def _fewer(spec: JsonObject, before: JsonObject, policy: str) -> list[FieldError]:
    """Asking for a single stack lets go of the second family; taking it out of the lists alone does not."""
    found: list[FieldError] = []
    for field, called in (("clusterIPs", "cluster IP"), ("ipFamilies", "IP family")):
        now, was = spec.get(field) or [], before.get(field) or []
        if policy != "SingleStack":
            if 0 < len(now) < len(was):
                why = f"must be 'SingleStack' to release the secondary {called}"
                found.append(invalid_value(_POLICY, policy, why))
        elif now == was and len(now) > 1:
            spec[field] = now[:1]
    return found


def _more_than_policy(spec: JsonObject, policy: str) -> list[FieldError]:
    why = "must be 'RequireDualStack' or 'PreferDualStack' when multiple {} are specified"
    fields = (("clusterIPs", "cluster IPs"), ("ipFamilies", "IP families")) if policy == "SingleStack" else ()
    return [
        invalid_value(_POLICY, policy, why.format(called))
        for field, called in fields
        if len(spec.get(field) or ()) == 2
    ]


def _inferred(spec: JsonObject, families: list[str], allocators: Allocators) -> list[FieldError]:
    """Families that the addresses show are added to those that were named."""
    found: list[FieldError] = []
    for index, address in enumerate(spec.get("clusterIPs") or ()):
        if address == NO_IP:
            break
        family = "IPv6" if is_ipv6(address) else "IPv4"
        if index < len(families):
            continue
        if family == allocators.family:
            families.append(family)
        else:
            why = f"{family} is not configured on this cluster"
            found.append(invalid_value(f"spec.clusterIPs[{index}]", spec["clusterIPs"], why))
    return found


def _both(families: list[str], policy: str) -> list[str]:
    """Endpoints that are made by hand may have any family: headless without a selector may be of both."""
    if len(families) == 2 or policy == "SingleStack":
        return families
    return [*families, "IPv6" if families[0] == "IPv4" else "IPv4"]


# addresses


def _addresses(spec: JsonObject, before: JsonObject | None, allocators: Allocators) -> list[FieldError]:
    """Given out once: when the Service is new, or was an external name."""
    if is_headless(spec) or (before is not None and before.get("type") != "ExternalName"):
        return []
    wanted = spec.get("clusterIPs") or []
    if not wanted:
        address = allocators.free_address()
        if address is None:
            return [invalid_value("spec.clusterIPs", [], f"failed to allocate a serviceIP: {FULL}")]
        spec["clusterIP"], spec["clusterIPs"] = address, [address]
        return []
    for text in wanted:
        if why := _refused(text, allocators):
            return [invalid_value("spec.clusterIPs", wanted, f"failed to allocate IP {text}: {why}")]
    return []


def _refused(text: str, allocators: Allocators) -> str:
    within = allocators.range_of(text)
    if within is None:
        return OTHER_RANGE
    if within.number_of(text) is None:
        return f"the provided IP ({text}) is not in the valid range. The range of valid IPs is {within.network}"
    return TAKEN if allocators.has_address(text) else ""


# node ports


def _allocates(spec: JsonObject) -> bool:
    """Whether ports get node ports that nobody named."""
    return spec.get("type") == "NodePort" or spec.get("allocateLoadBalancerNodePorts", True) is not False


def _ports(spec: JsonObject, before: JsonObject | None, allocators: Allocators) -> list[FieldError]:
    if spec.get("type") not in ("NodePort", "LoadBalancer"):
        return []
    kept = set(node_ports(before)) if before is not None else set()
    taken = dict.fromkeys(node_ports(spec), "")
    free = allocators.free_ports(taken)
    if before is None:
        found = _new_ports(spec, taken, free, allocators)
    else:
        found = _changed_ports(spec, kept, taken, free, allocators)
    return found or _health_check_port(spec, before, kept, free, allocators)


def _new_ports(
    spec: JsonObject, taken: dict[int, str], free: Iterator[int], allocators: Allocators
) -> list[FieldError]:
    """Ports of one number share their node port (DNS over TCP and UDP); no others do."""
    ports = spec.get("ports") or []
    asked = {port.get("port", 0): port["nodePort"] for port in reversed(ports) if port.get("nodePort")}
    given: dict[int, int] = {}
    reserved: set[int] = set()
    for index, port in enumerate(ports):
        number, own = port.get("port", 0), port.get("nodePort", 0)
        if not own and not _allocates(spec):
            continue
        wanted = own if number in given else asked.get(number, 0)
        if number in given and own in (0, given[number]):
            port["nodePort"] = given[number]
            continue
        if wanted:
            if why := PORT_TAKEN if wanted in reserved else _port_refused(wanted, allocators):
                return [invalid_value(f"spec.ports[{index}].nodePort", wanted, why)]
        else:
            wanted = next(free, 0)
            if not wanted:
                return [_no_port_left(index)]
            taken[wanted] = ""
        reserved.add(wanted)
        port["nodePort"] = wanted
        given.setdefault(number, wanted)
    return []


def _changed_ports(
    spec: JsonObject, kept: set[int], taken: dict[int, str], free: Iterator[int], allocators: Allocators
) -> list[FieldError]:
    """Ports that came to a Service: a number it has, or has just been given, may serve another protocol as well."""
    reserved: set[int] = set()
    for index, port in enumerate(spec.get("ports") or ()):
        number = port.get("nodePort", 0)
        if number and number not in kept and number not in reserved:
            if why := _port_refused(number, allocators):
                return [invalid_value(f"spec.ports[{index}].nodePort", number, why)]
            reserved.add(number)
        elif not number and _allocates(spec):
            port["nodePort"] = next(free, 0)
            if not port["nodePort"]:
                return [_no_port_left(index)]
            taken[port["nodePort"]] = ""
    return []


def _no_port_left(index: int) -> FieldError:
    return invalid_value(f"spec.ports[{index}].nodePort", 0, f"failed to allocate a nodePort: {FULL}")


def _port_refused(number: int, allocators: Allocators) -> str:
    if not allocators.in_range(number):
        low, high = allocators.ports
        return f"provided port is not in the valid range. The range of valid ports is {low}-{high}"
    return PORT_TAKEN if allocators.has_port(number) else ""


def _health_check_port(
    spec: JsonObject, before: JsonObject | None, kept: set[int], free: Iterator[int], allocators: Allocators
) -> list[FieldError]:
    """Upstream answers 500 where it cannot be had; here that is told as what it is."""
    if not needs_health_check(spec) or (before is not None and needs_health_check(before)):
        return []
    path, number = "spec.healthCheckNodePort", spec.get("healthCheckNodePort", 0)
    if not number:
        spec["healthCheckNodePort"] = next(free, 0)
        failed = f"failed to allocate a HealthCheck NodePort 0: {FULL}"
        return [] if spec["healthCheckNodePort"] else [invalid_value(path, 0, failed)]
    own = [port.get("nodePort", 0) for port in spec.get("ports") or ()]
    why = PORT_TAKEN if number in own or number in kept else _port_refused(number, allocators)
    failed = f"failed to allocate requested HealthCheck NodePort {number}: {why}"
    return [invalid_value(path, number, failed)] if why else []

"""Cluster addresses and node ports of Services: who has which, and the next free one.

`Allocators` is told of every Service that is stored, changed or gone (`observe`); `allocate` fills in what a Service
lacks and refuses what it may not have.  Allocating takes nothing: only `observe` does, so a dry run leaves no trace and
a refused write nothing to give back.
"""

from __future__ import annotations

import ipaddress
from collections import Counter
from collections.abc import Callable, Container, Iterator
from itertools import chain
from typing import Any

from kube32_sim.api.errors import FieldError, invalid, invalid_value
from kube32_sim.api.validation.services_ip import is_ipv6, parse_ip
from kube32_sim.api.validation.services_service import NO_IP, is_headless
from kube32_sim.ids import Ids

JsonObject = dict[str, Any]

SERVICE_RANGE = "10.96.0.0/16"
NODE_PORTS = (30000, 32767)

FULL = "range is full"
TAKEN = "provided IP is already allocated"
PORT_TAKEN = "provided port is already allocated"
OTHER_RANGE = "the provided network does not match the current range"
NOT_DUAL = "this cluster is not configured for dual-stack services"


class Allocator:
    """Numbers from 0 to size-1 that may each be held by several (ports: one per protocol), by count.

    free() answers one nobody holds: from `ids` by chance, without `ids` the lowest after the last one taken.  Cost is a
    few probes while at most half of the range is taken, and one pass over it when it is nearly full.
    """

    def __init__(self, size: int, ids: Ids | None = None, reserved: int = 0) -> None:
        """reserved: how many of the lowest numbers are only given out once the others are gone."""
        self.size = size
        self._ids = ids
        self._reserved = reserved if reserved < size else 0
        self._held: Counter[int] = Counter()
        self._next = self._reserved

    def holds(self, number: int) -> bool:
        return number in self._held

    def take(self, number: int) -> None:
        self._held[number] += 1
        if number == self._next:
            self._next = number + 1 if number + 1 < self.size else self._reserved

    def give_back(self, number: int) -> None:
        self._held[number] -= 1
        if self._held[number] <= 0:
            del self._held[number]

    def free(self) -> int | None:
        """A number nobody holds; None where there is none."""
        return next(self.free_ones(lambda _: False), None)

    def free_ones(self, taken: Callable[[int], bool]) -> Iterator[int]:
        """Numbers that nobody holds and that are not `taken` when it is their turn; all of them in one pass at most."""
        in_turn = self._in_turn()
        while True:
            candidates = chain(self._by_chance(), in_turn)
            found = next((number for number in candidates if number not in self._held and not taken(number)), None)
            if found is None:
                return
            yield found

    def _by_chance(self) -> Iterator[int]:
        if self._ids is not None:
            for _ in range(8):
                yield self._reserved + self._ids.integer(self.size - self._reserved)

    def _in_turn(self) -> Iterator[int]:
        span, start = self.size - self._reserved, self._next - self._reserved
        for offset in range(span):
            yield self._reserved + (start + offset) % span
        yield from range(self._reserved)


def _reserved_part(size: int) -> int:
    """The lower part of a range, kept for addresses that users choose (upstream: between 16 and 256, a sixteenth)."""
    return 0 if size < 16 else min(max(16, size // 16), 256)


class Allocators:
    """What Services hold.  cidr: an IPv4 network; ports: the first and last node port."""

    def __init__(self, ids: Ids | None = None, cidr: str = SERVICE_RANGE, ports: tuple[int, int] = NODE_PORTS) -> None:
        self.network = ipaddress.ip_network(cidr)
        self.family = "IPv4" if self.network.version == 4 else "IPv6"
        self.ports = ports
        usable = max(self.network.num_addresses - 2, 1)
        self._base = int(self.network.network_address) + 1
        self._addresses = Allocator(usable, ids, _reserved_part(usable))
        self._node_ports = Allocator(ports[1] - ports[0] + 1, ids, min(_reserved_part(ports[1] - ports[0] + 1), 86))
        self._by_protocol: set[tuple[int, str]] = set()

    def observe(self, new: JsonObject | None, old: JsonObject | None) -> None:
        """A Service was stored: old None: created, new None: gone.  Takes and gives back what they hold."""
        before, after = self._holdings(old), self._holdings(new)
        for number in before[0] - after[0]:
            self._addresses.give_back(number)
        for number in after[0] - before[0]:
            self._addresses.take(number)
        for port in before[1] - after[1]:
            self._by_protocol.discard(port)
            self._node_ports.give_back(port[0])
        for port in after[1] - before[1]:
            self._by_protocol.add(port)
            self._node_ports.take(port[0])

    def _holdings(self, service: JsonObject | None) -> tuple[set[int], set[tuple[int, str]]]:
        if service is None:
            return set(), set()
        spec = service["spec"]
        addresses = {number for text in spec.get("clusterIPs") or () if (number := self.number_of(text)) is not None}
        ports = {(number, protocol) for number, protocol in _node_ports(spec) if self.in_range(number)}
        return addresses, {(number - self.ports[0], protocol) for number, protocol in ports}

    def number_of(self, text: str) -> int | None:
        """An address as its place in the range; None where it is outside."""
        address = parse_ip(text)
        if address is None or address.version != self.network.version or address not in self.network:
            return None
        number = int(address) - self._base
        return number if 0 <= number < self._addresses.size else None

    def in_range(self, port: int) -> bool:
        return self.ports[0] <= port <= self.ports[1]

    def has_address(self, number: int) -> bool:
        return self._addresses.holds(number)

    def has_port(self, port: int, protocol: str) -> bool:
        return (port - self.ports[0], protocol) in self._by_protocol

    def free_address(self) -> str | None:
        number = self._addresses.free()
        return None if number is None else str(ipaddress.ip_address(self._base + number))

    def free_ports(self, besides: Container[int]) -> Iterator[int]:
        """Ports nobody holds, one after the other, without those in `besides`, which may grow between them."""
        first = self.ports[0]
        return (number + first for number in self._node_ports.free_ones(lambda number: number + first in besides))


def _node_ports(spec: JsonObject) -> Iterator[tuple[int, str]]:
    for port in spec.get("ports") or ():
        if port.get("nodePort"):
            yield port["nodePort"], port.get("protocol", "TCP")
    if spec.get("healthCheckNodePort"):
        yield spec["healthCheckNodePort"], "TCP"


def allocate(obj: JsonObject, old: JsonObject | None, allocators: Allocators) -> None:
    """Give a valid Service (new, or the next state of `old`) its families, addresses and node ports, in place.

    Raises ApiError 422 in upstream's words for an address or port that is taken or outside the range.
    """
    spec = obj["spec"]
    errors: list[FieldError] = []
    if spec.get("type") != "ExternalName":
        errors = _families(spec, allocators) or _addresses(spec, old, allocators)
    errors = errors or _ports(spec, old, allocators)
    if errors:
        raise invalid("", "Service", obj["metadata"].get("name", ""), errors)


def _families(spec: JsonObject, allocators: Allocators) -> list[FieldError]:
    """Families and policy of a cluster with one family of addresses."""
    families, policy = spec.get("ipFamilies") or [], spec.get("ipFamilyPolicy")
    if is_headless(spec) and not spec.get("selector"):
        _selectorless(spec, families, policy, allocators)
        return []
    for index, family in enumerate(families):
        if family != allocators.family:
            return [invalid_value(f"spec.ipFamilies[{index}]", family, "not configured on this cluster")]
    for index, address in enumerate(spec.get("clusterIPs") or ()):
        if address != NO_IP and is_ipv6(address) != (allocators.family == "IPv6"):
            family = "IPv6" if is_ipv6(address) else "IPv4"
            why = f"{family} is not configured on this cluster"
            return [invalid_value(f"spec.clusterIPs[{index}]", spec["clusterIPs"], why)]
    if policy == "RequireDualStack":
        return [invalid_value("spec.ipFamilyPolicy", policy, NOT_DUAL)]
    spec["ipFamilies"] = [allocators.family]
    spec.setdefault("ipFamilyPolicy", "SingleStack")
    return []


def _selectorless(spec: JsonObject, families: list[str], policy: str | None, allocators: Allocators) -> None:
    """Endpoints that are made by hand may have any family: headless without a selector is both by default."""
    policy = spec["ipFamilyPolicy"] = policy or ("SingleStack" if len(families) == 1 else "RequireDualStack")
    other = "IPv6" if allocators.family == "IPv4" else "IPv4"
    if not families:
        families = [allocators.family]
    if policy != "SingleStack" and len(families) == 1:
        families = [families[0], other if families[0] == allocators.family else allocators.family]
    spec["ipFamilies"] = families


def _addresses(spec: JsonObject, old: JsonObject | None, allocators: Allocators) -> list[FieldError]:
    if is_headless(spec):
        spec["clusterIPs"] = [NO_IP]
        return []
    wanted = spec.get("clusterIPs") or []
    if not wanted:
        address = allocators.free_address()
        if address is None:
            why = f"failed to allocate a serviceIP: {FULL}"
            return [invalid_value("spec.clusterIPs", [], why)]
        spec["clusterIP"], spec["clusterIPs"] = address, [address]
        return []
    kept = (old["spec"].get("clusterIPs") or []) if old is not None else []
    for text in wanted:
        if text not in kept and (why := _refused(text, allocators)):
            return [invalid_value("spec.clusterIPs", wanted, f"failed to allocate IP {text}: {why}")]
    return []


def _refused(text: str, allocators: Allocators) -> str:
    number = allocators.number_of(text)
    if number is None:
        address = parse_ip(text)
        if address is not None and address in allocators.network:
            return f"the provided IP ({text}) is not in the valid range. The range of valid IPs is {allocators.network}"
        return OTHER_RANGE
    return TAKEN if allocators.has_address(number) else ""


def _ports(spec: JsonObject, old: JsonObject | None, allocators: Allocators) -> list[FieldError]:
    """Node ports of each port that needs one; the same number may serve several protocols."""
    if not _needs_node_ports(spec):
        return []
    kept = set(_node_ports(old["spec"])) if old is not None else set()
    taken: dict[int, set[str]] = {}
    free, same = allocators.free_ports(taken), _by_port(spec)
    for number, protocol in _node_ports(spec):
        taken.setdefault(number, set()).add(protocol)
    for index, port in enumerate(spec.get("ports") or ()):
        path, protocol, number = f"spec.ports[{index}].nodePort", port.get("protocol", "TCP"), port.get("nodePort", 0)
        if number:
            if (number, protocol) not in kept and (why := _port_refused(number, protocol, allocators)):
                return [invalid_value(path, number, why)]
            continue
        chosen = _shared_port(same[port.get("port", 0)], port.get("protocol"), taken) or next(free, None)
        if chosen is None:
            return [invalid_value(path, 0, f"failed to allocate a nodePort: {FULL}")]
        port["nodePort"] = chosen
        taken.setdefault(chosen, set()).add(protocol)
    return _health_check_port(spec, kept, free, allocators)


def _needs_node_ports(spec: JsonObject) -> bool:
    kind = spec.get("type")
    return kind == "NodePort" or (
        kind == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts", True) is not False
    )


def _by_port(spec: JsonObject) -> dict[int, list[JsonObject]]:
    """The ports of one number: at most one a protocol, as validation sees to."""
    found: dict[int, list[JsonObject]] = {}
    for port in spec.get("ports") or ():
        found.setdefault(port.get("port", 0), []).append(port)
    return found


def _shared_port(others: list[JsonObject], protocol: str | None, taken: dict[int, set[str]]) -> int | None:
    """The node port that the same port number has under another protocol (DNS over TCP and UDP)."""
    for other in others:
        number = other.get("nodePort", 0)
        if number and protocol not in taken[number]:
            return int(number)
    return None


def _port_refused(number: int, protocol: str, allocators: Allocators) -> str:
    if not allocators.in_range(number):
        low, high = allocators.ports
        return f"provided port is not in the valid range. The range of valid ports is {low}-{high}"
    return PORT_TAKEN if allocators.has_port(number, protocol) else ""


def _health_check_port(
    spec: JsonObject, kept: set[tuple[int, str]], free: Iterator[int], allocators: Allocators
) -> list[FieldError]:
    if spec.get("type") != "LoadBalancer" or spec.get("externalTrafficPolicy") != "Local":
        return []
    path, number = "spec.healthCheckNodePort", spec.get("healthCheckNodePort", 0)
    if number:
        why = "" if (number, "TCP") in kept else _port_refused(number, "TCP", allocators)
        return (
            [invalid_value(path, number, f"failed to allocate requested HealthCheck NodePort {number}: {why}")]
            if why
            else []
        )
    chosen = next(free, None)
    if chosen is None:
        return [invalid_value(path, 0, f"failed to allocate a HealthCheck NodePort: {FULL}")]
    spec["healthCheckNodePort"] = chosen
    return []

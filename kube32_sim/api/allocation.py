"""Cluster addresses and node ports of Services: who has which, and the next free one.

`Allocators` is told of every Service that is stored, changed or gone (`observe`), and of what else keeps an address
(`hold`); what a Service lacks is filled in by
`service_allocation`.  Allocating takes nothing: only `observe` does, so a dry run leaves no trace and a refused write
nothing to give back.
"""

from __future__ import annotations

import ipaddress
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator
from itertools import chain
from typing import Any

from kube32_sim.api.validation.addresses import Network, parse_ip, sloppy_cidr
from kube32_sim.ids import Ids

JsonObject = dict[str, Any]

SERVICE_RANGE = "10.96.0.0/16"
NODE_PORTS = (30000, 32767)


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


def _band(size: int, step: int, most: int) -> int:
    """The lower part of a range, kept for what users choose themselves: one step-th of it, within bounds."""
    return 0 if size <= _LEAST_BAND else min(max(_LEAST_BAND, size // step), most)


_LEAST_BAND = 16


class AddressRange:
    """The addresses of a network that Services may have: all but the first and the last."""

    def __init__(self, network: Network, ids: Ids | None) -> None:
        self.network = network
        usable = max(network.num_addresses - 2, 1)
        self._base = int(network.network_address) + 1
        self._held = Allocator(usable, ids, _band(usable, 16, 256))

    def number_of(self, text: str) -> int | None:
        """An address as its place in the range; None where it is outside."""
        address = parse_ip(text)
        if address is None or address.version != self.network.version or address not in self.network:
            return None
        number = int(address) - self._base
        return number if 0 <= number < self._held.size else None

    def hold(self, texts: Iterable[str], *, taken: bool) -> None:
        for text in texts:
            number = self.number_of(text)
            if number is not None:
                (self._held.take if taken else self._held.give_back)(number)

    def holds(self, text: str) -> bool:
        number = self.number_of(text)
        return number is not None and self._held.holds(number)

    def free(self, elsewhere: Callable[[str], bool]) -> str | None:
        """An address that nobody holds here, nor `elsewhere`."""
        numbers = self._held.free_ones(lambda number: elsewhere(self._text(number)))
        number = next(numbers, None)
        return None if number is None else self._text(number)

    def _text(self, number: int) -> str:
        return str(ipaddress.ip_address(self._base + number))


class Allocators:
    """What Services hold.  cidr: an IPv4 network; ports: the first and last node port.

    More networks come and go with the cluster's ServiceCIDRs (`add_range`, `drop_range`).
    """

    def __init__(self, ids: Ids | None = None, cidr: str = SERVICE_RANGE, ports: tuple[int, int] = NODE_PORTS) -> None:
        self._ids = ids
        self.network = ipaddress.ip_network(cidr)
        self.family = "IPv4" if self.network.version == 4 else "IPv6"
        self._ranges = {cidr: AddressRange(self.network, ids)}
        self._users = {cidr: {""}}
        """Which ServiceCIDRs name a network; "" stands for the option, which never goes."""
        self._taken: Counter[str] = Counter()
        self.ports = ports
        size = ports[1] - ports[0] + 1
        self._node_ports = Allocator(size, ids, _band(size, 32, 128))

    def add_range(self, name: str, cidr: str) -> None:
        """A ServiceCIDR of that name lets Services have addresses of a network, if it is of the cluster's family."""
        network = sloppy_cidr(cidr)
        if network is None or network.version != self.network.version:
            return
        self._users.setdefault(cidr, set()).add(name)
        if cidr not in self._ranges:
            added = self._ranges[cidr] = AddressRange(network, self._ids)
            added.hold(self._taken.elements(), taken=True)

    def drop_range(self, name: str, cidr: str) -> None:
        users = self._users.get(cidr, set())
        users.discard(name)
        if not users:
            self._ranges.pop(cidr, None)
            self._users.pop(cidr, None)

    def range_of(self, text: str) -> AddressRange | None:
        """The network that an address is in, usable or not."""
        address = parse_ip(text)
        found = (
            each for each in self._ranges.values() if address is not None and address.version == each.network.version
        )
        return next((each for each in found if address in each.network), None)

    def observe(self, new: JsonObject | None, old: JsonObject | None) -> None:
        """A Service was stored: old None: created, new None: gone.  Takes and gives back what they hold."""
        before, after = self._holdings(old), self._holdings(new)
        for text in before[0] - after[0]:
            self.hold(text, taken=False)
        for text in after[0] - before[0]:
            self.hold(text, taken=True)
        for port in before[1] - after[1]:
            self._node_ports.give_back(port)
        for port in after[1] - before[1]:
            self._node_ports.take(port)

    def _holdings(self, service: JsonObject | None) -> tuple[set[str], set[int]]:
        """A Service's addresses, and the places of its node ports in their range (one for all its protocols)."""
        if service is None:
            return set(), set()
        spec = service["spec"]
        addresses = {str(address) for text in spec.get("clusterIPs") or () if (address := parse_ip(text)) is not None}
        return addresses, {port - self.ports[0] for port in node_ports(spec) if self.in_range(port)}

    def hold(self, text: str, *, taken: bool) -> None:
        """An address is taken, or given back."""
        self._taken[text] += 1 if taken else -1
        if self._taken[text] <= 0:
            del self._taken[text]
        for each in self._ranges.values():
            each.hold((text,), taken=taken)

    def in_range(self, port: int) -> bool:
        return self.ports[0] <= port <= self.ports[1]

    def has_address(self, text: str) -> bool:
        address = parse_ip(text)
        return address is not None and str(address) in self._taken

    def has_port(self, port: int) -> bool:
        return self._node_ports.holds(port - self.ports[0])

    def free_address(self) -> str | None:
        """An address that nobody holds, of the first network that has one."""
        free = (each.free(self._taken.__contains__) for each in self._ranges.values())
        return next((text for text in free if text is not None), None)

    def free_ports(self, besides: Container[int]) -> Iterator[int]:
        """Ports nobody holds, one after the other, without those in `besides`, which may grow between them."""
        first = self.ports[0]
        return (number + first for number in self._node_ports.free_ones(lambda number: number + first in besides))


def node_ports(spec: JsonObject) -> Iterator[int]:
    """The node ports a Service has, that of its health check too."""
    for port in spec.get("ports") or ():
        if port.get("nodePort"):
            yield port["nodePort"]
    if spec.get("healthCheckNodePort"):
        yield spec["healthCheckNodePort"]

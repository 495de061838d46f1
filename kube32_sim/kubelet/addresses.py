"""IP addresses of boards and their pods: a function of the node's name, so that boards need nobody to hand them out.

`esp32-0`, `esp32-1`, … are neighbours and never share an address, nor do the boards of a mix (`esp32-s3-0`, …,
`esp32-c3-0`, …): each kind has an equal share of all addresses before it reaches the next kind's.  Boards whose names
begin otherwise start at a place of their own, which two families may share by chance.  Nodes are in 172.16.0.0/16 and
pods in 10.128.0.0/9, a /24 for each node, away from the service range.

Machines (`linux-0`, …) have blocks of their own behind those of the boards: their pods are in 100.64.0.0/10.
"""

from __future__ import annotations

import zlib
from collections.abc import Container

from kube32_sim.kubelet.boards import boards, machines

BLOCKS = 32768
"""How many /24s there are in 10.128.0.0/9."""
MACHINE_BLOCKS = 16384
"""How many there are in 100.64.0.0/10."""


def node_number(name: str) -> int:
    """Which block a node has: 0 … 32767, a machine one of the next 16384."""
    family = name.rstrip("0123456789")
    number = int(name[len(family) :][-9:] or 0)
    for first, size, kinds in ((0, BLOCKS, boards()), (BLOCKS, MACHINE_BLOCKS, machines())):
        families = [f"{kind}-" for kind in kinds]
        if family in families:
            return first + (families.index(family) * (size // len(families)) + number) % size
    return (zlib.crc32(family.encode()) + number) % BLOCKS


def node_ip(number: int) -> str:
    return f"172.16.{number // 250}.{number % 250 + 1}"


def pod_cidr(number: int) -> str:
    if number >= BLOCKS:
        machine = number - BLOCKS
        return f"100.{64 + machine // 256}.{machine % 256}.0/24"
    return f"10.{128 + number // 256}.{number % 256}.0/24"


def pod_ip(number: int, taken: Container[str]) -> str:
    """The lowest address of a node's block that no pod has; past 254 pods they share the last one."""
    prefix = pod_cidr(number).removesuffix("0/24")
    free = (f"{prefix}{host}" for host in range(1, 255))
    return next((address for address in free if address not in taken), f"{prefix}254")

"""IP addresses of boards and their pods: a function of the node's name, so that boards need nobody to hand them out.

`esp32-0`, `esp32-1`, … are neighbours and never share an address, nor do the boards of a mix (`esp32-s3-0`, …,
`esp32-c3-0`, …): each kind has an equal share of all addresses before it reaches the next kind's.  Boards whose names
begin otherwise start at a place of their own, which two families may share by chance.  Nodes are in 172.16.0.0/16 and
pods in 10.128.0.0/9, a /24 for each node, away from the service range.
"""

from __future__ import annotations

import zlib
from collections.abc import Container

from kube32_sim.kubelet.boards import profiles

BLOCKS = 32768
"""How many /24s there are in 10.128.0.0/9."""


def node_number(name: str) -> int:
    """Which block a node has, 0 … 32767."""
    family = name.rstrip("0123456789")
    digits = name[len(family) :]
    return (_place(family) + int(digits[-9:] or 0)) % BLOCKS


def _place(family: str) -> int:
    """Where the blocks of boards begin whose names begin so."""
    kinds = [f"{kind}-" for kind in profiles()]
    return kinds.index(family) * (BLOCKS // len(kinds)) if family in kinds else zlib.crc32(family.encode())


def node_ip(number: int) -> str:
    return f"172.16.{number // 250}.{number % 250 + 1}"


def pod_cidr(number: int) -> str:
    return f"10.{128 + number // 256}.{number % 256}.0/24"


def pod_ip(number: int, taken: Container[str]) -> str:
    """The lowest address of a node's block that no pod has; past 254 pods they share the last one."""
    prefix = pod_cidr(number).removesuffix("0/24")
    free = (f"{prefix}{host}" for host in range(1, 255))
    return next((address for address in free if address not in taken), f"{prefix}254")

"""Where this machine is reached: its name, and the addresses of its interfaces.

No name server is asked, for that may take long and need not be true, and nothing is sent: the system says which of its
addresses it would use to reach others, and on Linux which each interface has.
"""

from __future__ import annotations

import socket
import struct
import sys
from collections.abc import Iterator
from contextlib import suppress

from kube32_sim.hosts import address_of, spelled

_OUTSIDE = ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1"))
"""Addresses of examples, which are nobody's (RFC 5737, RFC 3849): the way to them is the way to everybody."""
_SIOCGIFADDR = 0x8915
"""Linux: the IPv4 address of an interface."""
_IFNAMSIZ = 15


def is_every_address(host: str) -> bool:
    """Whether listening there means listening on all addresses of the machine (`0.0.0.0`, `::`)."""
    address = address_of(host)
    return address is not None and address.is_unspecified


def own_name() -> str:
    """The name of this machine, "" where it has none that can stand in a URL."""
    name = spelled(socket.gethostname())
    return "" if name == "localhost" or address_of(name) is not None else name


def own_addresses() -> list[str]:
    """By which others may reach this machine, the likeliest first: no loopback, none for one link only."""
    found = dict.fromkeys(spelled(address) for address in (*_on_the_way_out(), *_of_interfaces()))
    return [
        text for text in found if (address := address_of(text)) and not (address.is_loopback or address.is_link_local)
    ]


def _on_the_way_out() -> Iterator[str]:
    for family, target in _OUTSIDE:
        with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as way:
            way.connect((target, 9))  # of datagrams that sends nothing
            yield way.getsockname()[0]


def _of_interfaces() -> Iterator[str]:
    if sys.platform != "linux":
        return
    import fcntl

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        for _, name in socket.if_nameindex():
            request = struct.pack("256s", name.encode()[:_IFNAMSIZ])
            with suppress(OSError):  # it has none
                yield socket.inet_ntoa(fcntl.ioctl(asked, _SIOCGIFADDR, request)[20:24])

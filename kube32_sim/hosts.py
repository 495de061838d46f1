"""Names and addresses of machines as URLs, Host headers and options write them: pure functions over texts.

`options` checks with them what it is given, `server/origins` what a request names.
"""

from __future__ import annotations

import ipaddress
import re

OWN_NAMES = (
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
)
"""By which every server may be reached; the last four are those of its own Service."""
Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_AUTHORITY = re.compile(r"(?:\[([^\[\]]*)\]|([^:\[\]@/]*))(?::\d*)?", re.ASCII)
_ENDS_IN_A_NUMBER = re.compile(r"(?:.*\.)?(?:\d+|0x[0-9a-f]*)", re.ASCII)
"""What browsers and libraries take for an address in an odd spelling: `127.1`, `0x7f000001`."""
_NAME = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)(?:\.(?!-)[a-z0-9_-]{1,63}(?<!-))*", re.ASCII)


def host_of(authority: str) -> str:
    """The machine in `name`, `name:port`, `1.2.3.4:port` or `[::1]:port`, in its one spelling; "" for what is none."""
    found = _AUTHORITY.fullmatch(authority)
    if found is None:
        return ""
    inner = found[1]
    return spelled(inner if inner is not None else found[2])


def spelled(host: str) -> str:
    """A name or address, IPv6 without brackets, in its one spelling; "" for what is neither."""
    address = address_of(host)
    if address is not None:
        return str(address)
    name = host.lower().removesuffix(".")
    return name if len(name) < 254 and _NAME.fullmatch(name) and not _ENDS_IN_A_NUMBER.fullmatch(name) else ""


def address_of(host: str) -> Address | None:
    """None for what is no address.  IPv4 in the clothes of IPv6 (`::ffff:127.0.0.1`) is IPv4."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def bracketed(host: str) -> str:
    """As a URL has it: IPv6 in brackets."""
    return f"[{host}]" if ":" in host else host


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach what listens there.  Of names only `localhost` is known to be that."""
    address = address_of(host)
    return host == "localhost" if address is None else address.is_loopback

"""Addresses and networks as API fields hold them: what is refused, in upstream's words."""

from __future__ import annotations

import ipaddress
import re

from kube32_sim.api.errors import FieldError, invalid_value

BAD_IP = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
BAD_CIDR = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
_LEADING_ZERO = re.compile(r"(?:^|\.)0[0-9]+(?:\.|$)").search
_DOTTED = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}").fullmatch

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def parse_ip(text: str) -> Address | None:
    """An address without a zone; None where it is none."""
    try:
        return None if "%" in text else ipaddress.ip_address(text)
    except ValueError:
        return None


def is_ipv6(text: str) -> bool:
    return isinstance(parse_ip(text), ipaddress.IPv6Address)


def ip_errors(text: str, path: str) -> list[FieldError]:
    address = parse_ip(text)
    if address is None:
        zeros = _DOTTED(text) and _LEADING_ZERO(text)
        return [invalid_value(path, text, "must not have leading 0s" if zeros else BAD_IP)]
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        return [invalid_value(path, text, "must not be an IPv4-mapped IPv6 address")]
    return []


def special_ip_errors(text: str, path: str) -> list[FieldError]:
    """Addresses that mean a machine itself or a group are no endpoints and no external addresses."""
    address = parse_ip(text)
    if address is None:
        return []
    found = []
    if address.is_unspecified:
        found.append(invalid_value(path, text, f"may not be unspecified ({text})"))
    if address.is_loopback:
        found.append(invalid_value(path, text, "may not be in the loopback range (127.0.0.0/8, ::1/128)"))
    if address.is_link_local:
        found.append(invalid_value(path, text, "may not be in the link-local range (169.254.0.0/16, fe80::/10)"))
    if address.is_multicast and ((address.version == 4 and str(address).startswith("224.0.0.")) or _is_ff02(address)):
        found.append(
            invalid_value(path, text, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)")
        )
    return found


def _is_ff02(address: Address) -> bool:
    return address.version == 6 and address.packed[:2] == b"\xff\x02"


def cidr_errors(text: str, path: str) -> list[FieldError]:
    host, slash, _ = text.partition("/")
    try:
        if not slash or "%" in text:
            raise ValueError
        ipaddress.ip_network(text, strict=False)
    except ValueError:
        zeros = _DOTTED(host) and _LEADING_ZERO(host)
        return [invalid_value(path, text, "must not have leading 0s" if zeros else BAD_CIDR)]
    return []

"""Addresses and networks as API fields hold them: what is refused, and what is only warned about, in upstream's words.

Old fields take an address in any spelling that leaves no doubt (`ip_errors`, `cidr_errors`); newer ones want it
canonical (`canonical_ip_errors`, `canonical_cidr_errors`).
"""

from __future__ import annotations

import ipaddress

from kube32_sim.api.errors import FieldError, go_value, invalid_value

BAD_IP = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
BAD_CIDR = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def parse_ip(text: str) -> Address | None:
    """An address without a zone; None where it is none."""
    try:
        return None if "%" in text else ipaddress.ip_address(text)
    except ValueError:
        return None


def _without_zeros(text: str) -> str:
    """A dotted address as old software reads it, which overlooks zeros before a number."""
    parts = text.split(".")
    if len(parts) != 4 or not all(part.isascii() and part.isdigit() for part in parts):
        return text
    return ".".join(part.lstrip("0") or "0" for part in parts)


def sloppy_ip(text: str) -> Address | None:
    """An address even if its numbers have leading zeros."""
    return parse_ip(text) or parse_ip(_without_zeros(text))


def is_ipv6(text: str) -> bool:
    return isinstance(parse_ip(text), ipaddress.IPv6Address)


def _mapped(address: Address) -> bool:
    return isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None


def ip_errors(text: str, path: str) -> list[FieldError]:
    address = parse_ip(text)
    if address is None:
        return [invalid_value(path, text, "must not have leading 0s" if sloppy_ip(text) else BAD_IP)]
    return [invalid_value(path, text, "must not be an IPv4-mapped IPv6 address")] if _mapped(address) else []


def canonical_ip_errors(text: str, path: str) -> list[FieldError]:
    found = ip_errors(text, path)
    if found or str(parse_ip(text)) == text:
        return found
    return [invalid_value(path, text, f'must be in canonical form ("{parse_ip(text)}")')]


def special_ip_errors(text: str, path: str) -> list[FieldError]:
    """Addresses that mean a machine itself or a group are no endpoints and no external addresses."""
    address = sloppy_ip(text)
    if address is None:
        return [invalid_value(path, text, "must be a valid IP address")]
    found = []
    if address.is_unspecified:
        found.append(invalid_value(path, text, f"may not be unspecified ({text})"))
    if address.is_loopback:
        found.append(invalid_value(path, text, "may not be in the loopback range (127.0.0.0/8, ::1/128)"))
    if address.is_link_local:
        found.append(invalid_value(path, text, "may not be in the link-local range (169.254.0.0/16, fe80::/10)"))
    if _link_local_group(address):
        found.append(
            invalid_value(path, text, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)")
        )
    return found


def _link_local_group(address: Address) -> bool:
    if address.version == 4:
        return address.packed[:3] == b"\xe0\x00\x00"
    return address.packed[0] == 0xFF and address.packed[1] & 0x0F == 2


def sloppy_cidr(text: str) -> Network | None:
    """A network even if bits are set behind its prefix or numbers have leading zeros; None where it is none."""
    host, slash, bits = text.partition("/")
    address = sloppy_ip(host)
    if not slash or address is None or not (bits.isascii() and bits.isdigit()):
        return None
    length = bits.lstrip("0") or "0"
    if len(length) > 3 or int(length) > address.max_prefixlen:
        return None
    return ipaddress.ip_network(f"{address}/{length}", strict=False)


def cidr_errors(text: str, path: str) -> list[FieldError]:
    network = sloppy_cidr(text)
    if network is None:
        return [invalid_value(path, text, BAD_CIDR)]
    host, _, bits = text.partition("/")
    address = parse_ip(host)
    if address is None or (len(bits) > 1 and bits[0] == "0"):
        return [invalid_value(path, text, "must not have leading 0s in IP or prefix length")]
    if _mapped(address):
        return [invalid_value(path, text, "must not have an IPv4-mapped IPv6 address")]
    if address != network.network_address:
        return [invalid_value(path, text, "must not have bits set beyond the prefix length")]
    return []


def canonical_cidr_errors(text: str, path: str) -> list[FieldError]:
    found = cidr_errors(text, path)
    if found or str(sloppy_cidr(text)) == text:
        return found
    return [invalid_value(path, text, f'must be in canonical form ("{sloppy_cidr(text)}")')]


def ip_warnings(text: str, path: str) -> list[str]:
    """About an address in an old field that is taken as it is."""
    address = sloppy_ip(text)
    if address is None:
        return []
    if parse_ip(text) is None or _mapped(address):
        plain = getattr(address, "ipv4_mapped", None) or address
        why = "will be considered invalid in a future Kubernetes release"
        return [f'{path}: non-standard IP address {go_value(text)} {why}: use "{plain}"']
    if address.version == 6 and str(address) != text:
        return [f'{path}: IPv6 address {go_value(text)} should be in RFC 5952 canonical format ("{address}")']
    return []


def cidr_warnings(text: str, path: str) -> list[str]:
    network = sloppy_cidr(text)
    if network is None or cidr_errors(text, path) or network.version == 4 or str(network) == text:
        return []
    return [f'{path}: IPv6 CIDR value {go_value(text)} should be in RFC 5952 canonical format ("{network}")']

"""`kubernetes.net.ip` and `net.cidr`: IP addresses and networks, read as Go's net/netip reads them."""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Callable

from kube32_sim.api.cel.functions.declaring import CIDR, IP, Overload, Special, function, method

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_LONGEST_PREFIX = re.compile(r"0|[1-9][0-9]{0,2}")


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _four_fault(text: str) -> str:
    """What netip says about a text with dots that is no IPv4 address."""
    fields = text.split(".")
    for index, digits in enumerate(fields):
        strange = re.search(r"[^0-9]", digits)
        if strange:
            rest = ".".join([digits[strange.start() :], *fields[index + 1 :]])
            return f"unexpected character (at {_quoted(rest)})"
        if not digits:
            rest = ".".join(fields[index:]) if index == 0 else "." + ".".join(fields[index:])
            return f"IPv4 field must have at least one digit (at {_quoted(rest)})"
        if len(digits) > 1 and digits[0] == "0":
            return "IPv4 field has octet with leading zero"
        if int(digits) > 255:
            return "IPv4 field has value >255"
    return "IPv4 address too short" if len(fields) < 4 else "IPv4 address too long"


def _fault(text: str) -> str:
    first = re.search(r"[.:%]", text)
    if first is None:
        return "unable to parse IP"
    if first[0] == ".":
        return _four_fault(text)
    if first[0] == "%":
        return "missing IPv6 address"
    return _six_fault(text)


def _six_fault(text: str) -> str:
    """The commonest of what netip says about a text with colons that is no IPv6 address."""
    groups = text.split(":")
    for index, digits in enumerate(groups):
        strange = re.search(r"[^0-9a-fA-F.]", digits)
        if strange:
            rest = ":".join([digits[strange.start() :], *groups[index + 1 :]])
            if strange.start() == 0:
                return f"each colon-separated field must have at least one digit (at {_quoted(rest)})"
            return f"unexpected character, want colon (at {_quoted(rest)})"
        if len(digits) > 4:
            rest = ":".join([digits, *groups[index + 1 :]])
            return f"each group must have 4 or less digits (at {_quoted(rest)})"
    if text.count("::") > 1 or ":::" in text:
        rest = text[text.index("::") + 2 :]
        return f"each colon-separated field must have at least one digit (at {_quoted(rest)})"
    if text.endswith(":"):
        return 'colon must be followed by more characters (at ":")'
    return "address string too short" if len(groups) < 8 else "trailing garbage after address"


def _address(text: str) -> Address:
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        why = f"ParseAddr({_quoted(text)}): {_fault(text)}"
        raise ValueError(f"IP Address {_quoted(text)} parse error during conversion from string: {why}") from None
    if isinstance(found, ipaddress.IPv6Address):
        if found.scope_id is not None:
            raise ValueError(f"IP address {_quoted(text)} with zone value is not allowed")
        if found.ipv4_mapped is not None:
            raise ValueError(f"IPv4-mapped IPv6 address {_quoted(text)} is not allowed")
    return found


def _prefix(text: str) -> tuple[Address, int]:
    """The address and the length of a CIDR."""
    start, slash, length = text.rpartition("/")
    why = ""
    if not slash:
        why = "no '/'"
    elif "%" in start:
        why = "IPv6 zones cannot be present in a prefix"
    elif not _LONGEST_PREFIX.fullmatch(length):
        why = f"bad bits after slash: {_quoted(length)}"
    if why:
        raise ValueError(_CIDR_WRONG + f"netip.ParsePrefix({_quoted(text)}): {why}")
    try:
        found = ipaddress.ip_address(start)
    except ValueError:
        inner = f"ParseAddr({_quoted(start)}): {_fault(start)}"
        raise ValueError(_CIDR_WRONG + f"netip.ParsePrefix({_quoted(text)}): {inner}") from None
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is not None:
        raise ValueError(f"IPv4-mapped IPv6 address {_quoted(text)} is not allowed")
    if int(length) > found.max_prefixlen:
        raise ValueError(_CIDR_WRONG + f"netip.ParsePrefix({_quoted(text)}): prefix length out of range")
    return found, int(length)


_CIDR_WRONG = "network address parse error during conversion from string: "


def _new_ip(text: str) -> Special:
    return Special(IP, str(_address(text)))


def _new_cidr(text: str) -> Special:
    try:
        address, length = _prefix(text)
    except ValueError as error:
        raise ValueError(_CIDR_WRONG + str(error)) from None
    return Special(CIDR, f"{address}/{length}")


def _is(read: Callable[[str], object], text: str) -> bool:
    try:
        read(text)
    except ValueError:
        return False
    return True


def _split(value: Special) -> tuple[Address, int]:
    start, _, length = value.text.partition("/")
    return ipaddress.ip_address(start), int(length)


def _network(address: Address, length: int) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    return ipaddress.ip_network((int(address), length) if address.version == 4 else (address, length), strict=False)


def _contains_ip(value: Special, other: Special | str) -> bool:
    wanted = ipaddress.ip_address(_new_ip(other).text if isinstance(other, str) else other.text)
    return wanted in _network(*_split(value))


def _contains_cidr(value: Special, other: Special | str) -> bool:
    """Whether the other, which may not be larger, lies within the network."""
    address, length = _split(value)
    inner, inner_length = _split(_new_cidr(other) if isinstance(other, str) else other)
    if address.version != inner.version:
        return False
    return inner in _network(address, length) and length <= inner_length


def _masked(value: Special) -> Special:
    address, length = _split(value)
    return Special(CIDR, f"{_network(address, length).network_address}/{length}")


def _is_link_local_multicast(address: Address) -> bool:
    if address.version == 4:
        return address in ipaddress.ip_network("224.0.0.0/24")
    return int(address) >> 112 & 0xFF0F == 0xFF02


def _is_global_unicast(address: Address) -> bool:
    """Go's: neither unspecified nor loopback nor multicast nor link-local nor the broadcast address."""
    special = address.is_unspecified or address.is_loopback or address.is_multicast or address.is_link_local
    return not special and str(address) != "255.255.255.255"


def _asked(name: str, id: str, ask: Callable[[Address], bool]) -> Overload:
    return method(name, id, (IP,), "bool", lambda value: ask(ipaddress.ip_address(value.text)))


OVERLOADS: list[Overload] = [
    function("ip", "string_to_ip", ("string",), IP, _new_ip),
    function("isIP", "is_ip", ("string",), "bool", lambda text: _is(_address, text)),
    function("ip.isCanonical", "ip_is_canonical", ("string",), "bool", lambda text: str(_address(text)) == text),
    function("string", "ip_to_string", (IP,), "string", lambda value: value.text),
    method("family", "ip_family", (IP,), "int", lambda value: ipaddress.ip_address(value.text).version),
    _asked("isUnspecified", "ip_is_unspecified", lambda address: address.is_unspecified),
    _asked("isLoopback", "ip_is_loopback", lambda address: address.is_loopback),
    _asked("isLinkLocalMulticast", "ip_is_link_local_multicast", _is_link_local_multicast),
    _asked("isLinkLocalUnicast", "ip_is_link_local_unicast", lambda address: address.is_link_local),
    _asked("isGlobalUnicast", "ip_is_global_unicast", _is_global_unicast),
    function("cidr", "string_to_cidr", ("string",), CIDR, _new_cidr),
    function("isCIDR", "is_cidr", ("string",), "bool", lambda text: _is(_prefix, text)),
    function("string", "cidr_to_string", (CIDR,), "string", lambda value: value.text),
    method("containsIP", "cidr_contains_ip_string", (CIDR, "string"), "bool", _contains_ip),
    method("containsIP", "cidr_contains_ip_ip", (CIDR, IP), "bool", _contains_ip),
    method("containsCIDR", "cidr_contains_cidr_string", (CIDR, "string"), "bool", _contains_cidr),
    method("containsCIDR", "cidr_contains_cidr", (CIDR, CIDR), "bool", _contains_cidr),
    method("ip", "cidr_ip", (CIDR,), IP, lambda value: Special(IP, str(_split(value)[0]))),
    method("prefixLength", "cidr_prefix_length", (CIDR,), "int", lambda value: _split(value)[1]),
    method("masked", "cidr_masked", (CIDR,), CIDR, _masked),
]

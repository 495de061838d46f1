"""Validation of what a Service says about its addresses: `clusterIP`, `clusterIPs`, `ipFamilies`, `ipFamilyPolicy`.

Rules, order and words are upstream's `ValidateServiceClusterIPsRelatedFields`, and those of its `ValidateServiceUpdate`
about them.  A client may give the singular field, the plural one, or both; then they have to agree.
"""

from __future__ import annotations

from typing import Any

from kube32_sim.api.errors import FieldError, duplicate, invalid_value, not_supported, required
from kube32_sim.api.validation.addresses import ip_errors, is_ipv6

JsonObject = dict[str, Any]

NO_IP = "None"
FAMILIES = ("IPv4", "IPv6")
POLICIES = ("PreferDualStack", "RequireDualStack", "SingleStack")
_IPS, _FAMILIES = "spec.clusterIPs", "spec.ipFamilies"
_FIXED = "may not change once set"


def is_headless(spec: JsonObject) -> bool:
    addresses = spec.get("clusterIPs") or [spec.get("clusterIP", "")]
    return len(addresses) == 1 and addresses[0] == NO_IP


def validate_addresses(spec: JsonObject) -> list[FieldError]:
    if spec.get("type") == "ExternalName":
        return []
    addresses, families = spec.get("clusterIPs") or [], spec.get("ipFamilies") or []
    found = _synced(spec.get("clusterIP", ""), addresses)
    for index, family in enumerate(families):
        if family not in FAMILIES:
            found.append(not_supported(f"{_FAMILIES}[{index}]", family, FAMILIES))
        if family in families[:index]:
            found.append(duplicate(f"{_FAMILIES}[{index}]", family))
    policy = spec.get("ipFamilyPolicy")
    if policy is not None and policy not in POLICIES:
        found.append(not_supported("spec.ipFamilyPolicy", policy, POLICIES))
    broken = _each(addresses)
    found += broken
    if len(addresses) > 2:
        found.append(invalid_value(_IPS, addresses, "may only hold up to 2 values"))
    return found if broken else found + _families_fit(addresses, families)


def _synced(first: str, addresses: list[str]) -> list[FieldError]:
    if not first:
        why = "must be empty when `clusterIP` is not specified"
        return [invalid_value(_IPS, addresses, why)] if addresses else []
    if not addresses:
        return [required(_IPS)]
    return [] if addresses[0] == first else [invalid_value(_IPS, addresses, "first value must match `clusterIP`")]


def _each(addresses: list[str]) -> list[FieldError]:
    found: list[FieldError] = []
    for index, text in enumerate(addresses):
        if index == 0 and text == NO_IP:
            if len(addresses) > 1:
                found.append(invalid_value(_IPS, addresses, "'None' must be the first and only value"))
        else:
            found += ip_errors(text, f"{_IPS}[{index}]")
    return found


def _families_fit(addresses: list[str], families: list[str]) -> list[FieldError]:
    found: list[FieldError] = []
    if len(addresses) > 1 and not (len(addresses) == 2 and is_ipv6(addresses[0]) != is_ipv6(addresses[1])):
        found.append(invalid_value(_IPS, addresses, "may specify no more than one IP for each IP family"))
    if addresses == [NO_IP]:
        return found
    for index, (address, family) in enumerate(zip(addresses, families, strict=False)):
        if family in FAMILIES and (family == "IPv6") != is_ipv6(address):
            why = f"expected an {family} value as indicated by `ipFamilies[{index}]`"
            found.append(invalid_value(f"{_IPS}[{index}]", address, why))
    return found


def addresses_fixed(spec: JsonObject, before: JsonObject) -> list[FieldError]:
    """Failures of a change: the primary address and family stay, unless the Service is or was an external name."""
    if "ExternalName" in (spec.get("type"), before.get("type")):
        return []
    headless, was = is_headless(spec), is_headless(before)
    if headless and was:
        return []
    found = _ips_fixed(spec, before)
    return found if headless != was else found + _families_fixed(spec, before)


def _ips_fixed(spec: JsonObject, before: JsonObject) -> list[FieldError]:
    new, old, path = spec.get("clusterIPs") or [], before.get("clusterIPs") or [], _IPS
    if len(new) == len(old):
        pairs = enumerate(zip(new, old, strict=True))
        return [invalid_value(f"{path}[{index}]", new, _FIXED) for index, (now, was) in pairs if now != was]
    found: list[FieldError] = []
    if not new:
        found.append(invalid_value(f"{path}[0]", None, "primary clusterIP can not be unset"))
    elif old and new[0] != old[0]:
        found.append(invalid_value(f"{path}[0]", new, _FIXED))
    return found + _released(spec, new, old, "clusterIP")


def _families_fixed(spec: JsonObject, before: JsonObject) -> list[FieldError]:
    new, old, path = spec.get("ipFamilies") or [], before.get("ipFamilies") or [], f"{_FAMILIES}[0]"
    if len(new) == len(old):
        return [invalid_value(path, new, _FIXED) for now, was in zip(new, old, strict=True) if now != was]
    found: list[FieldError] = []
    if len(new) < len(old) and not spec.get("clusterIPs"):
        found.append(invalid_value(path, new or None, "primary ipFamily can not be unset"))
    if new and old and new[0] != old[0]:
        found.append(invalid_value(path, spec.get("clusterIPs"), _FIXED))
    return found + _released(spec, new, old, "ipFamily")


def _released(spec: JsonObject, new: list[str], old: list[str], called: str) -> list[FieldError]:
    """The second one goes only with the policy that says so."""
    policy = spec.get("ipFamilyPolicy")
    if len(new) != 1 or len(old) < 2 or policy == "SingleStack":
        return []
    why = f"must be set to 'SingleStack' when releasing the secondary {called}"
    return [invalid_value("spec.ipFamilyPolicy", policy, why)]

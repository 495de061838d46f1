"""Parts of a pod as failures show them: upstream prints its internal structures there, with Go's names and order.

Every field is shown, the missing ones as Go's zero values: null for pointers, lists and maps, "" for strings.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

JsonObject = dict[str, Any]


def _struct(value: Mapping[str, Any] | None, texts: str, others: str = "") -> JsonObject | None:
    """A structure of strings (`texts`) and pointers (`others`), by their Go names, in that order; null for None."""
    if value is None:
        return None
    shown: JsonObject = {name: value.get(_key(name), "") for name in texts.split()}
    shown.update({name: value.get(_key(name)) for name in others.split()})
    return shown


def _key(name: str) -> str:
    """The JSON name of a Go field."""
    return _KEYS.get(name) or name[:1].lower() + name[1:]


_KEYS = {"IP": "ip", "SELinuxOptions": "seLinuxOptions"}


def seccomp_profile(profile: Mapping[str, Any] | None) -> JsonObject | None:
    return _struct(profile, "Type", "LocalhostProfile")


def _capabilities(value: Mapping[str, Any] | None) -> JsonObject | None:
    return _struct(value, "", "Add Drop")


def _windows_options(value: Mapping[str, Any] | None) -> JsonObject | None:
    if value is None:
        return None
    return {
        "GMSACredentialSpecName": value.get("gmsaCredentialSpecName"),
        "GMSACredentialSpec": value.get("gmsaCredentialSpec"),
        "RunAsUserName": value.get("runAsUserName"),
        "HostProcess": value.get("hostProcess"),
    }


def container_security(security: Mapping[str, Any]) -> JsonObject:
    """A container's whole security context."""
    return {
        "Capabilities": _capabilities(security.get("capabilities")),
        "Privileged": security.get("privileged"),
        "SELinuxOptions": _struct(security.get("seLinuxOptions"), "User Role Type Level"),
        "WindowsOptions": _windows_options(security.get("windowsOptions")),
        "RunAsUser": security.get("runAsUser"),
        "RunAsGroup": security.get("runAsGroup"),
        "RunAsNonRoot": security.get("runAsNonRoot"),
        "ReadOnlyRootFilesystem": security.get("readOnlyRootFilesystem"),
        "AllowPrivilegeEscalation": security.get("allowPrivilegeEscalation"),
        "ProcMount": security.get("procMount"),
        "SeccompProfile": seccomp_profile(security.get("seccompProfile")),
        "AppArmorProfile": _struct(security.get("appArmorProfile"), "Type", "LocalhostProfile"),
    }


def resource_claim(claim: Mapping[str, Any]) -> JsonObject | None:
    return _struct(claim, "Name", "ResourceClaimName ResourceClaimTemplateName")


def taint(value: Mapping[str, Any]) -> JsonObject | None:
    return _struct(value, "Key Value Effect", "TimeAdded")


def node_address(address: Mapping[str, Any]) -> JsonObject | None:
    return _struct(address, "Type Address")


def addresses(values: Iterable[Mapping[str, Any]]) -> list[JsonObject | None]:
    """The podIPs or hostIPs of a status."""
    return [_struct(value, "IP") for value in values]


def node_selector_term(term: Mapping[str, Any]) -> JsonObject:
    return {
        name: [_struct(each, "Key Operator", "Values") for each in term[_key(name)]] if term.get(_key(name)) else None
        for name in ("MatchExpressions", "MatchFields")
    }

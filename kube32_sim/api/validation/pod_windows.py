"""Validation of what depends on a pod's operating system: Windows' own options, and what either system cannot have."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from kube32_sim.api.errors import FieldError, forbidden_field, invalid_value, not_supported, required
from kube32_sim.api.validation.names import byte_length, dns1123_subdomain

JsonObject = dict[str, Any]

_LARGEST_CREDENTIAL_KIB = 64
_LONGEST_DOMAIN = 256
_LONGEST_USER = 104
_has_control_characters = re.compile(r"[\x00-\x1f\x7f]").search
_is_net_bios = re.compile(r'[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}').fullmatch
_PART = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_is_dns_domain = re.compile(rf"{_PART}(?:\.{_PART})*").fullmatch
_has_odd_characters = re.compile(r'["/\\:;|=,+*?<>@\[\]]').search
_is_dots_and_spaces = re.compile(r"[. ]+").fullmatch
_NOT_ON_LINUX = "windows options cannot be set for a linux pod"
_NOT_ON_WINDOWS = "cannot be set for a windows pod"
_POD_SETTINGS = (
    "securityContext.appArmorProfile securityContext.seLinuxOptions hostUsers hostPID hostIPC "
    "securityContext.seccompProfile securityContext.fsGroup securityContext.fsGroupChangePolicy "
    "securityContext.sysctls shareProcessNamespace securityContext.runAsUser securityContext.runAsGroup "
    "securityContext.supplementalGroups securityContext.supplementalGroupsPolicy securityContext.seLinuxChangePolicy"
)
_CONTAINER_SETTINGS = (
    "appArmorProfile seLinuxOptions seccompProfile capabilities readOnlyRootFilesystem privileged "
    "allowPrivilegeEscalation procMount runAsUser runAsGroup"
)
_FLAGS = frozenset(("hostPID", "hostIPC"))
"""Plain booleans upstream: false says nothing."""


def all_containers(spec: JsonObject, path: str) -> Iterator[tuple[JsonObject, str]]:
    """Every container of a spec with its path, in the order in which upstream visits them."""
    for field in ("initContainers", "containers", "ephemeralContainers"):
        for index, container in enumerate(spec.get(field) or ()):
            yield container, f"{path}.{field}[{index}]"


def validate_windows_options(options: JsonObject | None, path: str) -> list[FieldError]:
    if options is None:
        return []
    found: list[FieldError] = []
    name, credential = options.get("gmsaCredentialSpecName"), options.get("gmsaCredentialSpec")
    if name is not None:
        found += [invalid_value(f"{path}.gmsaCredentialSpecName", name, why) for why in dns1123_subdomain(name)]
    if credential is not None:
        size = byte_length(credential)
        if not size:
            why = "gmsaCredentialSpec cannot be an empty string"
            found.append(invalid_value(f"{path}.gmsaCredentialSpec", credential, why))
        elif size > _LARGEST_CREDENTIAL_KIB * 1024:
            why = f"gmsaCredentialSpec size must be under {_LARGEST_CREDENTIAL_KIB} KiB"
            found.append(invalid_value(f"{path}.gmsaCredentialSpec", credential, why))
    user = options.get("runAsUserName")
    if user is not None:
        found += [invalid_value(f"{path}.runAsUserName", user, why) for why in _wrong_user(user)]
    return found


def _wrong_user(name: str) -> list[str]:
    """Why `DOMAIN\\USER`, or just a user, is no name."""
    if not name:
        return ["runAsUserName cannot be an empty string"]
    if _has_control_characters(name):
        return ["runAsUserName cannot contain control characters"]
    if name.count("\\") > 1:
        return ["runAsUserName cannot contain more than one backslash"]
    domain, backslash, user = name.rpartition("\\")
    found: list[str] = []
    if len(domain) >= _LONGEST_DOMAIN:
        found.append(f"runAsUserName's Domain length must be under {_LONGEST_DOMAIN} characters")
    if backslash and not _is_net_bios(domain) and not _is_dns_domain(domain):
        found.append("runAsUserName's Domain doesn't match the NetBios nor the DNS format")
    if not user:
        found.append("runAsUserName's User cannot be empty")
    elif len(user) > _LONGEST_USER:
        found.append(f"runAsUserName's User length must not be longer than {_LONGEST_USER} characters")
    if _is_dots_and_spaces(user):
        found.append("runAsUserName's User cannot contain only periods or spaces")
    if _has_odd_characters(user):
        found.append("runAsUserName's User cannot contain the following characters: \"/\\:;|=,+*?<>@[]")
    return found


def _host_process(owner: JsonObject) -> bool | None:
    options = (owner.get("securityContext") or {}).get("windowsOptions") or {}
    value: bool | None = options.get("hostProcess")
    return value


def validate_host_process(spec: JsonObject, path: str) -> list[FieldError]:
    """Either all containers are host processes or none, and then they share the host's network."""
    of_pod = _host_process(spec)
    found: list[FieldError] = []
    containers = list(all_containers(spec, path))
    settings = [_host_process(container) for container, _ in containers]
    for value, (_, at) in zip(settings, containers, strict=True):
        if of_pod is not None and value is not None and value != of_pod:
            why = f"pod hostProcess value must be identical if both are specified, was {str(of_pod).lower()}"
            found.append(invalid_value(f"{at}.securityContext.windowsOptions.hostProcess", value, why))
    count = sum(1 for value in settings if (of_pod if value is None else value))
    if count and count != len(containers):
        why = "If pod contains any hostProcess containers then all containers must be HostProcess containers"
        found.append(invalid_value(path, "", why))
    if count and not spec.get("hostNetwork"):
        why = "hostNetwork must be true if pod contains any hostProcess containers"
        found.append(invalid_value(f"{path}.hostNetwork", False, why))
    return found


def validate_operating_system(spec: JsonObject, path: str) -> list[FieldError]:
    """Failures of `spec.os`, and of settings that the named system does not have."""
    name = (spec["os"] or {}).get("name")
    if not name:
        return [required(f"{path}.os.name")]
    if name not in ("linux", "windows"):
        return [not_supported(f"{path}.os", name, ("linux", "windows"))]
    return _only_for_windows(spec, path) if name == "linux" else _not_for_windows(spec, path)


def _only_for_windows(spec: JsonObject, path: str) -> list[FieldError]:
    owners = [(spec, path), *all_containers(spec, path)]
    return [
        forbidden_field(f"{at}.securityContext.windowsOptions", _NOT_ON_LINUX)
        for owner, at in owners
        if (owner.get("securityContext") or {}).get("windowsOptions") is not None
    ]


def _not_for_windows(spec: JsonObject, path: str) -> list[FieldError]:
    security = spec.get("securityContext") or {}
    found: list[FieldError] = []
    for setting in _POD_SETTINGS.split():
        field = setting.removeprefix("securityContext.")
        value = (spec if field == setting else security).get(field)
        if value is not None and (value or field not in _FLAGS) and value != []:
            found.append(forbidden_field(f"{path}.{setting}", _NOT_ON_WINDOWS))
    for container, at in all_containers(spec, path):
        settings = container.get("securityContext") or {}
        found += [
            forbidden_field(f"{at}.securityContext.{field}", _NOT_ON_WINDOWS)
            for field in _CONTAINER_SETTINGS.split()
            if settings.get(field) is not None
        ]
    return found

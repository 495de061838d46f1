"""Validation of security contexts, of the pod and of its containers."""

from __future__ import annotations

import re
from typing import Any

from kube32_sim.api.errors import (
    FieldError,
    duplicate,
    forbidden_field,
    invalid_value,
    not_supported,
    required,
    too_long,
)
from kube32_sim.api.validation import pod_shown
from kube32_sim.api.validation.names import byte_length, user_or_group_id
from kube32_sim.api.validation.pod_mounts import validate_descending
from kube32_sim.api.validation.pod_windows import all_containers, validate_windows_options

JsonObject = dict[str, Any]

_PROFILES = ("Localhost", "RuntimeDefault", "Unconfined")
_SYSCTL = "([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_is_sysctl = re.compile(_SYSCTL).fullmatch
_IPC_SYSCTLS = ("kernel.shm", "kernel.msg", "fs.mqueue.")
_LONGEST_PROFILE = 4095


def validate_pod_security(spec: JsonObject, path: str) -> list[FieldError]:
    """Failures of `spec.securityContext`, and of what upstream keeps with it; `path` is the spec's."""
    security = spec.get("securityContext") or {}
    at = f"{path}.securityContext"
    found: list[FieldError] = []
    for field in ("fsGroup", "runAsUser", "runAsGroup"):
        found += _validate_id(security, field, at)
    for index, group in enumerate(security.get("supplementalGroups") or ()):
        found += [invalid_value(f"{at}.supplementalGroups[{index}]", group, why) for why in user_or_group_id(group)]
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        why = "ShareProcessNamespace and HostPID cannot both be enabled"
        found.append(invalid_value(f"{at}.shareProcessNamespace", True, why))
    if not security:
        return found
    if sysctls := security.get("sysctls"):
        found += _validate_sysctls(sysctls, spec, f"{at}.sysctls")
    if "fsGroupChangePolicy" in security:
        found += _word(security, "fsGroupChangePolicy", ("Always", "OnRootMismatch"), at)
    found += _validate_seccomp(security.get("seccompProfile"), f"{at}.seccompProfile")
    found += validate_windows_options(security.get("windowsOptions"), f"{at}.windowsOptions")
    found += _validate_app_armor(security.get("appArmorProfile"), f"{at}.appArmorProfile")
    if "supplementalGroupsPolicy" in security:
        found += _word(security, "supplementalGroupsPolicy", ("Merge", "Strict"), at)
    if "seLinuxChangePolicy" in security:  # MountOption waits for the feature gate SELinuxMount, which is off in 1.36
        found += _word(security, "seLinuxChangePolicy", ("Recursive",), at)
    return found


def validate_container_security(security: JsonObject, host_users: bool, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    for field in ("runAsUser", "runAsGroup"):
        found += _validate_id(security, field, path)
    if "procMount" in security:
        found += _word(security, "procMount", ("Default", "Unmasked"), path)
        if security["procMount"] == "Unmasked" and host_users:
            why = "`hostUsers` must be false to use `Unmasked`"
            found.append(invalid_value(f"{path}.procMount", "Unmasked", why))
    found += _validate_seccomp(security.get("seccompProfile"), f"{path}.seccompProfile")
    if security.get("allowPrivilegeEscalation") is False:
        head = "cannot set `allowPrivilegeEscalation` to false and"
        if security.get("privileged"):
            found.append(invalid_value(path, pod_shown.container_security(security), f"{head} `privileged` to true"))
        for capability in (security.get("capabilities") or {}).get("add") or ():
            if capability == "CAP_SYS_ADMIN":
                why = f"{head} `capabilities.Add` CAP_SYS_ADMIN"
                found.append(invalid_value(path, pod_shown.container_security(security), why))
    found += validate_windows_options(security.get("windowsOptions"), f"{path}.windowsOptions")
    return found + _validate_app_armor(security.get("appArmorProfile"), f"{path}.appArmorProfile")


def _validate_id(security: JsonObject, field: str, path: str) -> list[FieldError]:
    value = security.get(field)
    if value is None:
        return []
    return [invalid_value(f"{path}.{field}", value, why) for why in user_or_group_id(value)]


def _word(owner: JsonObject, field: str, supported: tuple[str, ...], path: str) -> list[FieldError]:
    value = owner[field]
    return [] if value in supported else [not_supported(f"{path}.{field}", value, supported)]


def _validate_seccomp(profile: JsonObject | None, path: str) -> list[FieldError]:
    if profile is None:
        return []
    kind, local = profile.get("type", ""), profile.get("localhostProfile")
    found: list[FieldError] = []
    if not kind:
        found.append(required(f"{path}.type", "type is required when seccompProfile is set"))
    elif kind not in _PROFILES:
        found.append(not_supported(f"{path}.type", kind, _PROFILES))
    if kind == "Localhost":
        if local is None:
            why = "must be set when seccomp type is Localhost"
            return [*found, required(f"{path}.localhostProfile", why)]
        return found + validate_descending(local, f"{path}.localhostProfile")
    if local is not None:
        why = "can only be set when seccomp type is Localhost"
        found.append(invalid_value(f"{path}.localhostProfile", pod_shown.seccomp_profile(profile), why))
    return found


def _validate_app_armor(profile: JsonObject | None, path: str) -> list[FieldError]:
    if profile is None:
        return []
    kind, local = profile.get("type", ""), profile.get("localhostProfile")
    at = f"{path}.localhostProfile"
    if not kind:
        return [required(f"{path}.type", "type is required when appArmorProfile is set")]
    if kind not in _PROFILES:
        return [not_supported(f"{path}.type", kind, _PROFILES)]
    if kind != "Localhost":
        why = "can only be set when AppArmor type is Localhost"
        return [] if local is None else [invalid_value(at, local, why)]
    if local is None:
        return [required(at, "must be set when AppArmor type is Localhost")]
    found: list[FieldError] = []
    if local != local.strip():
        found.append(invalid_value(at, local, "must not be padded with whitespace"))
    elif not local:
        found.append(required(at, "must be set when AppArmor type is Localhost"))
    if byte_length(local) > _LONGEST_PROFILE:
        found.append(too_long(at, _LONGEST_PROFILE))
    return found


def _validate_sysctls(sysctls: list[JsonObject], spec: JsonObject, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    seen: set[str] = set()
    for index, sysctl in enumerate(sysctls):
        at, name = f"{path}[{index}].name", sysctl.get("name", "")
        if not name:
            found.append(required(at))
        elif len(name) > 253 or not _is_sysctl(name):
            why = f"must have at most 253 characters and match regex ^{_SYSCTL}$"
            found.append(invalid_value(at, name, why))
        elif name in seen:
            found.append(duplicate(at, name))
        seen.add(name)
        dotted = name.replace("/", ".")
        if spec.get("hostNetwork") and dotted.startswith("net."):
            found.append(invalid_value(at, name, "may not be specified when 'hostNetwork' is true"))
        elif spec.get("hostIPC") and (dotted == "kernel.sem" or dotted.startswith(_IPC_SYSCTLS)):
            found.append(invalid_value(at, name, "may not be specified when 'hostIPC' is true"))
    return found


def validate_host_users(spec: JsonObject, path: str) -> list[FieldError]:
    """What a pod with users of its own may not share with the host."""
    if spec.get("hostUsers") is not False:
        return []
    why = "when `hostUsers` is false"
    return [
        forbidden_field(f"{path}.{shown}", why)
        for field, shown in (("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC"))
        if spec.get(field)
    ] + [
        forbidden_field(f"{at}.volumeDevices", why)
        for container, at in all_containers(spec, path)
        if container.get("volumeDevices")
    ]

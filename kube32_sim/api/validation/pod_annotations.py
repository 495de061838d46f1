"""Validation of the annotations that mean something to pods, alone and beside the fields that took their place."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from typing import Any

from kube32_sim.api.errors import FieldError, forbidden_field, invalid_value
from kube32_sim.api.validation.pod_mounts import validate_descending
from kube32_sim.api.validation.pod_windows import all_containers

JsonObject = dict[str, Any]

MIRROR = "kubernetes.io/config.mirror"
DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/"
APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/"
_LOCAL = "localhost/"
_SECCOMP_DEFAULTS = ("runtime/default", "docker/default")
_SECCOMP_PROFILES = (*_SECCOMP_DEFAULTS, "unconfined")
_APP_ARMOR_PROFILES = ("", "runtime/default", "unconfined")
_is_whole = re.compile(r"-?[0-9]+").fullmatch
_LONGEST_NUMBER = 12


def is_deletion_cost(text: str) -> bool:
    """A 32-bit number without a plus sign or leading zeros."""
    if not _is_whole(text) or len(text) > _LONGEST_NUMBER or (text[0] == "0" and text != "0"):
        return False
    return -(2**31) <= int(text) < 2**31


def validate_pod_annotations(
    annotations: JsonObject, spec: JsonObject, path: str, excused: Collection[str] = ()
) -> list[FieldError]:
    """Failures of the annotations of a pod or a template at `path`.  excused: those that were wrong before."""
    found: list[FieldError] = []
    if MIRROR in annotations and not spec.get("nodeName"):
        why = "must set spec.nodeName if mirror pod annotation is set"
        found.append(invalid_value(f"{path}[{MIRROR}]", annotations[MIRROR], why))
    cost = annotations.get(DELETION_COST)
    if cost is not None and DELETION_COST not in excused and not is_deletion_cost(cost):
        found.append(invalid_value(f"{path}[{DELETION_COST}]", cost, "must be a 32bit integer"))
    if SECCOMP_POD in annotations:
        found += _validate_seccomp(annotations[SECCOMP_POD], f"{path}.{SECCOMP_POD}")
    for key in sorted(annotations):
        if key.startswith(SECCOMP_CONTAINER):
            found += _validate_seccomp(annotations[key], f"{path}.{key}")
    for key in sorted(annotations):
        if key.startswith(APP_ARMOR):
            found += _validate_app_armor(key, annotations[key], spec, f"{path}[{key}]")
    return found


def _validate_seccomp(profile: str, path: str) -> list[FieldError]:
    if profile in _SECCOMP_PROFILES:
        return []
    if profile.startswith(_LOCAL):
        return validate_descending(profile.removeprefix(_LOCAL), path)
    return [invalid_value(path, profile, "must be a valid seccomp profile")]


def _validate_app_armor(key: str, profile: str, spec: JsonObject, path: str) -> list[FieldError]:
    name = key.removeprefix(APP_ARMOR)
    found: list[FieldError] = []
    if all(container.get("name", "") != name for container, _ in all_containers(spec, "")):
        found.append(invalid_value(path, name, "container not found"))
    if profile not in _APP_ARMOR_PROFILES and not profile.startswith(_LOCAL):
        found.append(invalid_value(path, profile, f'invalid AppArmor profile name: "{profile}"'))
    return found


def _app_armor_profile(annotation: str) -> JsonObject | None:
    """The profile that an annotation's text names; None where it names none."""
    if annotation == "unconfined":
        return {"type": "Unconfined"}
    if annotation == "runtime/default":
        return {"type": "RuntimeDefault"}
    local = annotation.removeprefix(_LOCAL)
    if annotation.startswith(_LOCAL) and local and local == local.strip():
        return {"type": "Localhost", "localhostProfile": local}
    return None


def annotated_profiles(annotations: JsonObject, spec: JsonObject) -> Iterator[tuple[JsonObject, JsonObject | None]]:
    """(container, AppArmor profile of its annotation or None) where the pod does not say the same."""
    if not any(key.startswith(APP_ARMOR) for key in annotations) or (spec.get("os") or {}).get("name") == "windows":
        return
    of_pod = _profile(spec, "appArmorProfile")
    for container, _ in all_containers(spec, ""):
        text = annotations.get(APP_ARMOR + container.get("name", ""))
        if text is not None and (_app_armor_profile(text) is None or _app_armor_profile(text) != of_pod):
            yield container, _app_armor_profile(text)


def validate_profiles_agree(annotations: JsonObject, spec: JsonObject, path: str) -> list[FieldError]:
    """Failures of profiles that an annotation and a field tell differently; `path` is the spec's."""
    if not any("security." in key for key in annotations):
        return []
    found = _disagreement(annotations.get(SECCOMP_POD), _profile(spec, "seccompProfile"), "seccomp", path)
    containers = list(all_containers(spec, path))
    for container, at in containers:
        told = annotations.get(SECCOMP_CONTAINER + container.get("name", ""))
        found += _disagreement(told, _profile(container, "seccompProfile"), "seccomp", at)
    if (spec.get("os") or {}).get("name") == "windows":
        return found
    for container, at in containers:
        told = annotations.get(APP_ARMOR + container.get("name", ""))
        profile = _profile(container, "appArmorProfile") or _profile(spec, "appArmorProfile")
        found += _disagreement(told, profile, "apparmor", at)
    return found


def _profile(owner: JsonObject, field: str) -> JsonObject | None:
    profile: JsonObject | None = (owner.get("securityContext") or {}).get(field)
    return profile


def _disagreement(told: str | None, profile: JsonObject | None, kind: str, path: str) -> list[FieldError]:
    if told is None or profile is None:
        return []
    at = f"{path}.securityContext.{'seccompProfile' if kind == 'seccomp' else 'appArmorProfile'}"
    means: dict[str, Callable[[str], bool]] = {
        "Unconfined": lambda text: text == "unconfined",
        "RuntimeDefault": lambda text: text in (_SECCOMP_DEFAULTS if kind == "seccomp" else _SECCOMP_DEFAULTS[:1]),
        "Localhost": lambda text: text.startswith(_LOCAL),
    }
    wanted = profile.get("type", "")
    if wanted in means and not means[wanted](told):
        return [forbidden_field(f"{at}.type", f"{kind} type in annotation and field must match")]
    if wanted == "Localhost" and told.removeprefix(_LOCAL) != profile.get("localhostProfile"):
        return [forbidden_field(f"{at}.localhostProfile", f"{kind} profile in annotation and field must match")]
    return []

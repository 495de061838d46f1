"""Validation of what a container mounts: volumes as directories, and claims as block devices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kube32_sim.api.errors import (
    FieldError,
    forbidden_field,
    invalid_value,
    not_found_field,
    not_supported,
    required,
)

JsonObject = dict[str, Any]

_PROPAGATIONS = ("Bidirectional", "HostToContainer", "None")
_RECURSIONS = ("Disabled", "Enabled", "IfPossible")


def validate_mounts(
    mounts: Sequence[JsonObject], container: JsonObject, volumes: Mapping[str, JsonObject], path: str
) -> list[FieldError]:
    devices = container.get("volumeDevices") or ()
    device_names = {device.get("name", "") for device in devices}
    device_paths = {device.get("devicePath", "") for device in devices}
    found: list[FieldError] = []
    seen: set[str] = set()
    for index, mount in enumerate(mounts):
        name, target = mount.get("name", ""), mount.get("mountPath", "")
        if name and target and name in volumes and target not in seen and len(mount) == 2 and not devices:
            seen.add(target)
            continue
        at = f"{path}[{index}]"
        if not name:
            found.append(required(f"{at}.name"))
        if name not in volumes:
            found.append(not_found_field(f"{at}.name", name))
        if not target:
            found.append(required(f"{at}.mountPath"))
        if target in seen:
            found.append(invalid_value(f"{at}.mountPath", target, "must be unique"))
        seen.add(target)
        if name in device_names:
            found.append(invalid_value(f"{at}.name", name, "must not already exist in volumeDevices"))
        if target in device_paths:
            why = "must not already exist as a path in volumeDevices"
            found.append(invalid_value(f"{at}.mountPath", target, why))
        found += _validate_options(mount, container, at, path)
    return found


def _validate_options(mount: JsonObject, container: JsonObject, at: str, path: str) -> list[FieldError]:
    """Sub-paths, propagation and recursion; upstream names some of these without the mount's index."""
    found: list[FieldError] = []
    fields = [field for field in ("subPath", "subPathExpr") if mount.get(field)]
    for field in fields:
        if field == "subPathExpr" and len(fields) == 2:
            why = "subPathExpr and subPath are mutually exclusive"
            found.append(invalid_value(f"{at}.subPathExpr", mount[field], why))
        found += validate_descending(mount[field], f"{path}.{field}")
    if "mountPropagation" in mount:
        found += _validate_propagation(mount["mountPropagation"], container, f"{path}.mountPropagation")
    if mount.get("recursiveReadOnly") not in (None, "Disabled"):
        found += _validate_recursion(mount, f"{path}.recursiveReadOnly")
    return found


def validate_descending(text: str, path: str) -> list[FieldError]:
    """A path that stays below where it starts."""
    found: list[FieldError] = []
    if text.startswith("/"):
        found.append(invalid_value(path, text, "must be a relative path"))
    return found + validate_no_backsteps(text, path)


def validate_file_path(text: str, path: str) -> list[FieldError]:
    """A path of a file in a volume: relative, below it, and not one of the `..` names kept for the volume itself."""
    found = validate_descending(text, path)
    if text.startswith("..") and not text.startswith("../"):
        found.append(invalid_value(path, text, "must not start with '..'"))
    return found


def validate_no_backsteps(text: str, path: str) -> list[FieldError]:
    if ".." in text.split("/"):
        return [invalid_value(path, text, "must not contain '..'")]
    return []


def _validate_propagation(mode: str, container: JsonObject, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    if mode not in _PROPAGATIONS:
        found.append(not_supported(path, mode, _PROPAGATIONS))
    privileged = (container.get("securityContext") or {}).get("privileged")
    if mode == "Bidirectional" and not privileged:
        why = "Bidirectional mount propagation is available only to privileged containers"
        found.append(forbidden_field(path, why))
    return found


def _validate_recursion(mount: JsonObject, path: str) -> list[FieldError]:
    mode = mount["recursiveReadOnly"]
    found: list[FieldError] = []
    if mode not in _RECURSIONS:
        return [not_supported(path, mode, _RECURSIONS)]
    if not mount.get("readOnly"):
        found.append(forbidden_field(path, "may only be specified when readOnly is true"))
    if mount.get("mountPropagation", "None") != "None":
        why = "may only be specified when mountPropagation is None or not specified"
        found.append(forbidden_field(path, why))
    return found


def validate_devices(
    devices: Sequence[JsonObject], container: JsonObject, volumes: Mapping[str, JsonObject], path: str
) -> list[FieldError]:
    mounts = container.get("volumeMounts") or ()
    mount_names = {mount.get("name", "") for mount in mounts}
    mount_paths = {mount.get("mountPath", "") for mount in mounts}
    found: list[FieldError] = []
    names: set[str] = set()
    paths: set[str] = set()
    for index, device in enumerate(devices):
        at, name, target = f"{path}[{index}]", device.get("name", ""), device.get("devicePath", "")
        found += _validate_device_name(name, names, volumes, f"{at}.name")
        if not target:
            found.append(required(f"{at}.devicePath"))
        if target in paths:
            found.append(invalid_value(f"{at}.devicePath", target, "must be unique"))
        if validate_no_backsteps(target, at):
            found.append(invalid_value(f"{at}.devicePath", target, "can not contain backsteps ('..')"))
        else:
            paths.add(target)
        if name in mount_names:
            found.append(invalid_value(f"{at}.name", name, "must not already exist in volumeMounts"))
        if target in mount_paths:
            why = "must not already exist as a path in volumeMounts"
            found.append(invalid_value(f"{at}.devicePath", target, why))
        names.add(name)
    return found


def _validate_device_name(name: str, seen: set[str], volumes: Mapping[str, JsonObject], path: str) -> list[FieldError]:
    found: list[FieldError] = []
    if not name:
        found.append(required(path))
    if name and name in seen:
        found.append(invalid_value(path, name, "must be unique"))
    volume = volumes.get(name)
    if volume is None:
        found.append(not_found_field(path, name))
    elif "persistentVolumeClaim" not in volume and "ephemeral" not in volume:
        why = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
        found.append(invalid_value(path, name, why))
    return found

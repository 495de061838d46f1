"""Validation of the volumes of a pod: one source each, and what it needs.  `pod_disks` has those of volumes too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kube32_sim.api.errors import (
    FieldError,
    duplicate,
    forbidden_field,
    invalid_value,
    not_supported,
    required,
)
from kube32_sim.api.quantity import parse
from kube32_sim.api.validation.meta import validate_annotations, validate_labels
from kube32_sim.api.validation.names import dns1123_label, dns1123_subdomain
from kube32_sim.api.validation.pod_disks import DISKS, portal_too_long
from kube32_sim.api.validation.pod_env import validate_field_reference, validate_resource_reference
from kube32_sim.api.validation.pod_mounts import validate_file_path
from kube32_sim.api.validation.storage_claims import validate_claim
from kube32_sim.api.validation.storage_sources import driver_name

JsonObject = dict[str, Any]

_PULL_POLICIES = ("Always", "IfNotPresent", "Never")
VOLUME_FIELDS = (
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
)
_MODE_WRONG = "must be a number between 0 and 0777 (octal), both inclusive"
_SOURCES = (
    "emptyDir hostPath gitRepo gcePersistentDisk awsElasticBlockStore secret nfs iscsi glusterfs flocker "
    "persistentVolumeClaim rbd cinder cephfs quobyte downwardAPI fc flexVolume configMap azureFile vsphereVolume "
    "photonPersistentDisk portworxVolume azureDisk storageos projected scaleIO csi ephemeral image"
)
_ORDER = tuple(_SOURCES.split())
"""The order in which upstream looks for sources: the first one found is the one checked."""


def validate_volumes(
    volumes: Sequence[JsonObject], pod_name: str, path: str, *, is_pod: bool = False
) -> tuple[dict[str, JsonObject], list[FieldError]]:
    """(valid volume by name, failures).  pod_name is "" for templates."""
    found: list[FieldError] = []
    by_name: dict[str, JsonObject] = {}
    made = {f"{pod_name}-{volume.get('name', '')}" for volume in volumes if pod_name and "ephemeral" in volume}
    for index, volume in enumerate(volumes):
        at = f"{path}[{index}]"
        wrong = validate_volume_source(volume, pod_name, at, is_pod=is_pod)
        name = volume.get("name", "")
        if not name:
            wrong.append(required(f"{at}.name"))
        else:
            wrong += [invalid_value(f"{at}.name", name, why) for why in dns1123_label(name)]
        if name in by_name:
            wrong.append(duplicate(f"{at}.name", name))
        if not wrong:
            by_name[name] = volume
        found += wrong
        claim = (volume.get("persistentVolumeClaim") or {}).get("claimName", "")
        if claim in made:
            why = "must not reference a PVC that gets created for an ephemeral volume"
            found.append(invalid_value(f"{at}.persistentVolumeClaim.claimName", claim, why))
    return by_name, found


def validate_volume_source(volume: JsonObject, pod_name: str, path: str, *, is_pod: bool = False) -> list[FieldError]:
    kinds = [kind for kind in _ORDER if kind in volume] if len(volume) > 2 else [key for key in volume if key != "name"]
    if not kinds:
        return [required(path, "must specify a volume type")]
    found: list[FieldError] = []
    first, name = kinds[0], volume.get("name", "")
    check = _CHECKS.get(first)
    if check is not None:
        found += check(volume[first] or {}, f"{path}.{_CHECKED_AS.get(first, first)}")
    for kind in kinds:
        if kind != first:
            why = "may not specify more than 1 volume type"
            found.append(forbidden_field(f"{path}.{_FORBIDDEN_AS.get(kind, kind)}", why))
        if kind == "iscsi":
            found += portal_too_long(volume[kind] or {}, name, f"{path}.name", name)
    if first == "ephemeral" and pod_name and name:
        claim = f"{pod_name}-{name}"
        found += [invalid_value(f"{path}.name", name, f'PVC name "{claim}": {why}') for why in dns1123_subdomain(claim)]
    if first == "image" and is_pod and not (volume[first] or {}).get("reference"):
        found.insert(0, required(f"{path}.image.reference"))
    return found


_CHECKED_AS = {"gcePersistentDisk": "persistentDisk"}
_FORBIDDEN_AS = {"cephfs": "cephFS", "downwardAPI": "downwarAPI"}
"""Where upstream's paths differ from the fields."""


def _empty_dir(source: JsonObject, path: str) -> list[FieldError]:
    limit = source.get("sizeLimit")
    if limit is not None and parse(limit).nanos < 0:
        return [forbidden_field(f"{path}.sizeLimit", "SizeLimit field must be a valid resource quantity")]
    return []


def _mode(source: JsonObject, field: str, path: str) -> list[FieldError]:
    mode = source.get(field)
    return [] if mode is None or 0 <= mode <= 0o777 else [invalid_value(f"{path}.{field}", mode, _MODE_WRONG)]


def _items(source: JsonObject, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    for index, item in enumerate(source.get("items") or ()):
        at = f"{path}.items[{index}]"
        if not item.get("key"):
            found.append(required(f"{at}.key"))
        found += _file_path(item.get("path", ""), f"{at}.path")
        found += _mode(item, "mode", at)
    return found


def _file_path(text: str, path: str) -> list[FieldError]:
    return validate_file_path(text, path) if text else [required(path)]


def _secret(source: JsonObject, path: str) -> list[FieldError]:
    found = [] if source.get("secretName") else [required(f"{path}.secretName")]
    return found + _mode(source, "defaultMode", path) + _items(source, path)


def _config_map(source: JsonObject, path: str) -> list[FieldError]:
    found = [] if source.get("name") else [required(f"{path}.name")]
    return found + _mode(source, "defaultMode", path) + _items(source, path)


def _downward(source: JsonObject, path: str) -> list[FieldError]:
    found = _mode(source, "defaultMode", path)
    for item in source.get("items") or ():
        found += _downward_file(item, path)
    return found


def _downward_file(item: JsonObject, path: str) -> list[FieldError]:
    found = _file_path(item.get("path", ""), f"{path}.path")
    if "fieldRef" in item:
        found += validate_field_reference(item["fieldRef"], VOLUME_FIELDS, f"{path}.fieldRef")
        if "resourceFieldRef" in item:
            why = "fieldRef and resourceFieldRef can not be specified simultaneously"
            found.append(invalid_value(path, "resource", why))
    elif "resourceFieldRef" in item:
        found += validate_resource_reference(item["resourceFieldRef"], True, f"{path}.resourceFieldRef")
    else:
        found.append(required(path, "one of fieldRef and resourceFieldRef is required"))
    return found + _mode(item, "mode", path)


def _projected(source: JsonObject, path: str) -> list[FieldError]:
    found = _mode(source, "defaultMode", path)
    seen: set[str] = set()
    for index, part in enumerate(source.get("sources") or ()):
        at = f"{path}.sources[{index}]"
        for kind in ("secret", "configMap"):
            if kind in part:
                found += _projected_items(part[kind] or {}, seen, f"{at}.{kind}", path)
        if "downwardAPI" in part:
            for item in (part["downwardAPI"] or {}).get("items") or ():
                found += _downward_file(item, f"{at}.downwardAPI")
                found += _unique_path(item.get("path", ""), item.get("path", ""), seen, path)
        if "serviceAccountToken" in part:
            found += _token(part["serviceAccountToken"] or {}, f"{at}.serviceAccountToken", path)
        if len(part) > 1:
            found.append(forbidden_field(at, "may not specify more than 1 volume type per source"))
    return found


def _projected_items(source: JsonObject, seen: set[str], at: str, path: str) -> list[FieldError]:
    name = source.get("name", "")
    found = [] if name else [required(f"{at}.name")]
    found += _items(source, at)
    for item in source.get("items") or ():
        found += _unique_path(item.get("path", ""), name, seen, path)
    return found


def _unique_path(target: str, shown: str, seen: set[str], path: str) -> list[FieldError]:
    if target and target in seen:
        return [invalid_value(path, shown, "conflicting duplicate paths")]
    seen.add(target)
    return []


def _token(source: JsonObject, at: str, path: str) -> list[FieldError]:
    seconds = source.get("expirationSeconds", 0)
    found: list[FieldError] = []
    if seconds < 600:
        why = "may not specify a duration less than 10 minutes"
        found.append(invalid_value(f"{at}.expirationSeconds", seconds, why))
    if seconds > 1 << 32:
        why = "may not specify a duration larger than 2^32 seconds"
        found.append(invalid_value(f"{at}.expirationSeconds", seconds, why))
    return found + _file_path(source.get("path", ""), f"{path}.path")


def _csi(source: JsonObject, path: str) -> list[FieldError]:
    found, secret = driver_name(source.get("driver", ""), f"{path}.driver"), source.get("nodePublishSecretRef")
    if secret is not None and not secret.get("name"):
        found.append(required(f"{path}.nodePublishSecretRef.name"))
    elif secret is not None:
        found += [invalid_value(f"{path}.name", secret["name"], why) for why in dns1123_subdomain(secret["name"])]
    return found


def _ephemeral(source: JsonObject, path: str) -> list[FieldError]:
    template = source.get("volumeClaimTemplate")
    if template is None:
        return [required(f"{path}.volumeClaimTemplate")]
    at, metadata = f"{path}.volumeClaimTemplate", template.get("metadata") or {}
    found = validate_annotations(metadata.get("annotations") or {}, f"{at}.metadata.annotations")
    found += validate_labels(metadata.get("labels") or {}, f"{at}.metadata.labels")
    found += [
        forbidden_field(f"{at}.metadata.{field}", "cannot be set")
        for field in _METADATA_FIELDS.split()
        if metadata.get(field)
    ]
    return found + validate_claim(template.get("spec") or {}, f"{at}.spec")


_METADATA_FIELDS = (
    "name generateName namespace uid resourceVersion generation creationTimestamp deletionTimestamp "
    "deletionGracePeriodSeconds ownerReferences finalizers managedFields"
)


def _image(source: JsonObject, path: str) -> list[FieldError]:
    policy = source.get("pullPolicy", "")
    if policy in _PULL_POLICIES:
        return []
    return [not_supported(f"{path}.pullPolicy", policy, _PULL_POLICIES) if policy else required(f"{path}.pullPolicy")]


_CHECKS: dict[str, Callable[[JsonObject, str], list[FieldError]]] = {
    **DISKS,
    "emptyDir": _empty_dir,
    "secret": _secret,
    "configMap": _config_map,
    "downwardAPI": _downward,
    "projected": _projected,
    "csi": _csi,
    "ephemeral": _ephemeral,
    "image": _image,
}

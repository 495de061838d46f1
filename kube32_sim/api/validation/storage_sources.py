"""What a PersistentVolume is made of: one source, and what each kind of source needs.

Rules and words are upstream's.  What pods and PersistentVolumes have alike is in `pod_disks`.
"""

from __future__ import annotations

from typing import Any

from kube32_sim.api.errors import FieldError, forbidden_field, invalid_value, required, too_long
from kube32_sim.api.validation import names
from kube32_sim.api.validation.pod_disks import (
    BAD_INITIATOR,
    DISKS,
    Check,
    iscsi_initiator,
    iscsi_target,
    needs,
    portal_too_long,
)
from kube32_sim.api.validation.pod_mounts import validate_no_backsteps

JsonObject = dict[str, Any]

_CSI_SECRETS = (
    "controllerPublishSecretRef",
    "controllerExpandSecretRef",
    "nodePublishSecretRef",
    "nodeExpandSecretRef",
)


def driver_name(name: str, path: str) -> list[FieldError]:
    """Why a CSI driver's name is none."""
    if not name:
        return [required(path)]
    found = [too_long(path, 63)] if names.byte_length(name) > 63 else []
    return found + [invalid_value(path, name, why) for why in names.dns1123_subdomain(name.lower())]


def _secret_place(source: JsonObject, path: str) -> list[FieldError]:
    """Of a secret that belongs to no namespace: what it must say."""
    secret = source.get("secretRef")
    return [] if secret is None else needs("name", "namespace")(secret, f"{path}.secretRef")


def _glusterfs(source: JsonObject, path: str) -> list[FieldError]:
    found, namespace = DISKS["glusterfs"](source, path), source.get("endpointsNamespace")
    if namespace is None:
        return found
    empty = "if the endpointnamespace is set, it must be a valid namespace name"
    reasons = names.dns1123_label(namespace) if namespace else [empty]
    return found + [invalid_value(f"{path}.endpointsNamespace", namespace, why) for why in reasons]


def _iscsi(source: JsonObject, volume: str, path: str) -> list[FieldError]:
    found = needs("targetPortal")(source, path)
    found += portal_too_long(source, volume, f"{path}.targetportal", source.get("targetPortal", ""))
    found += iscsi_target(source, path, BAD_INITIATOR)
    if source.get("secretRef") is not None:
        found += needs("name")(source["secretRef"], f"{path}.secretRef")
    return found + iscsi_initiator(source, path, BAD_INITIATOR)


def _cinder(source: JsonObject, path: str) -> list[FieldError]:
    return needs("volumeID")(source, path) + _secret_place(source, path)


def _azure_file(source: JsonObject, path: str) -> list[FieldError]:
    wanted = ("secretNamespace",) if source.get("secretNamespace") is not None else ()
    return needs("secretName", "shareName", *wanted)(source, path)


def _storage_os(source: JsonObject, path: str) -> list[FieldError]:
    without = {field: value for field, value in source.items() if field != "secretRef"}
    return DISKS["storageos"](without, path) + _secret_place(source, path)


def _local(source: JsonObject, path: str) -> list[FieldError]:
    text, at = source.get("path", ""), f"{path}.path"
    return validate_no_backsteps(text, at) if text else [required(at)]


def _csi(source: JsonObject, path: str) -> list[FieldError]:
    found = driver_name(source.get("driver", ""), f"{path}.driver") + needs("volumeHandle")(source, path)
    for field in _CSI_SECRETS:
        if source.get(field) is not None:
            found += _secret(source[field], f"{path}.{field}")
    return found


def _secret(reference: JsonObject, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    for field, check in (("name", names.dns1123_subdomain), ("namespace", names.dns1123_label)):
        value, at = reference.get(field, ""), f"{path}.{field}"
        found += [invalid_value(at, value, why) for why in check(value)] if value else [required(at)]
    return found


_SOURCES = (
    "hostPath gcePersistentDisk awsElasticBlockStore glusterfs flocker nfs rbd quobyte cephfs iscsi cinder fc "
    "flexVolume azureFile vsphereVolume photonPersistentDisk portworxVolume azureDisk scaleIO local storageos csi"
)
SOURCES = tuple(_SOURCES.split())
"""The order in which upstream looks for sources."""
_CHECKS: dict[str, Check] = {
    **DISKS,
    "glusterfs": _glusterfs,
    "cinder": _cinder,
    "azureFile": _azure_file,
    "local": _local,
    "storageos": _storage_os,
    "csi": _csi,
}
_OTHER_PATHS = {"gcePersistentDisk": "persistentDisk"}
"""Under which names upstream tells of what is wrong in a source, where it is not its own."""


def source_of(spec: JsonObject) -> JsonObject:
    """The sources that a volume names; there should be one."""
    return {kind: spec[kind] for kind in SOURCES if spec.get(kind) is not None}


def validate_sources(spec: JsonObject, volume: str, path: str) -> list[FieldError]:
    """volume: the name of the PersistentVolume; "" for one that has none."""
    found: list[FieldError] = []
    sources = source_of(spec)
    for index, (kind, source) in enumerate(sources.items()):
        if index and kind != "flexVolume":
            at = f"{path}.{'cephFS' if kind == 'cephfs' else kind}"
            found.append(forbidden_field(at, "may not specify more than 1 volume type"))
            continue
        at = f"{path}.{_OTHER_PATHS.get(kind, kind)}"
        found += _iscsi(source, volume, at) if kind == "iscsi" else _CHECKS[kind](source, at)
        if kind == "local" and spec.get("nodeAffinity") is None:
            found.append(required(f"{path}.nodeAffinity", "Local volume requires node affinity"))
    return found if sources else [required(path, "must specify a volume type")]

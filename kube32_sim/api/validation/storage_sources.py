"""What a PersistentVolume is made of: one source, and what each kind of source needs.

Rules and words are upstream's; `CHECKS` is in the order in which it looks for them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kube32_sim.api.errors import FieldError, forbidden_field, invalid_value, not_supported, required, too_long
from kube32_sim.api.validation import names
from kube32_sim.api.validation.pod_mounts import validate_no_backsteps

JsonObject = dict[str, Any]
Check = Callable[[JsonObject, str], list[FieldError]]

_HOST_PATH_TYPES = (
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
)
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
    found = [too_long(path, 63)] if len(name.encode("utf-8", "surrogatepass")) > 63 else []
    return found + [invalid_value(path, name, why) for why in names.dns1123_subdomain(name.lower())]


def _needs(*fields: str) -> Check:
    def check(source: JsonObject, path: str) -> list[FieldError]:
        return [required(f"{path}.{field}") for field in fields if not source.get(field)]

    return check


def _host_path(source: JsonObject, path: str) -> list[FieldError]:
    if not source.get("path"):
        return [required(f"{path}.path")]
    found = validate_no_backsteps(source["path"], f"{path}.path")
    kind = source.get("type", "")
    return found if kind in _HOST_PATH_TYPES else [*found, not_supported(f"{path}.type", kind, _HOST_PATH_TYPES)]


def _nfs(source: JsonObject, path: str) -> list[FieldError]:
    found = _needs("server", "path")(source, path)
    if not source.get("path", "").startswith("/"):
        found.append(invalid_value(f"{path}.path", source.get("path", ""), "must be an absolute path"))
    return found


def _local(source: JsonObject, path: str) -> list[FieldError]:
    text, at = source.get("path", ""), f"{path}.path"
    return validate_no_backsteps(text, at) if text else [required(at)]


def _csi(source: JsonObject, path: str) -> list[FieldError]:
    found = driver_name(source.get("driver", ""), f"{path}.driver") + _needs("volumeHandle")(source, path)
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


CHECKS: dict[str, Check] = {
    "hostPath": _host_path,
    "gcePersistentDisk": _needs("pdName"),
    "awsElasticBlockStore": _needs("volumeID"),
    "glusterfs": _needs("endpoints", "path"),
    "flocker": _needs(),
    "nfs": _nfs,
    "rbd": _needs("monitors", "image"),
    "quobyte": _needs("registry", "volume"),
    "cephfs": _needs("monitors"),
    "iscsi": _needs("targetPortal", "iqn"),
    "cinder": _needs("volumeID"),
    "fc": _needs(),
    "flexVolume": _needs("driver"),
    "azureFile": _needs("secretName", "shareName"),
    "vsphereVolume": _needs("volumePath"),
    "photonPersistentDisk": _needs("pdID"),
    "portworxVolume": _needs("volumeID"),
    "azureDisk": _needs("diskName", "diskURI"),
    "scaleIO": _needs("gateway", "system", "volumeName"),
    "local": _local,
    "storageos": _needs("volumeName"),
    "csi": _csi,
}
_OTHER_PATHS = {"gcePersistentDisk": "persistentDisk"}
"""Under which names upstream tells of what is wrong in a source, where it is not its own."""


def source_of(spec: JsonObject) -> JsonObject:
    """The sources that a volume names; there should be one."""
    return {kind: spec[kind] for kind in CHECKS if spec.get(kind) is not None}


def validate_sources(spec: JsonObject, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    sources = source_of(spec)
    for index, (kind, source) in enumerate(sources.items()):
        if index and kind != "flexVolume":
            at = f"{path}.{'cephFS' if kind == 'cephfs' else kind}"
            found.append(forbidden_field(at, "may not specify more than 1 volume type"))
            continue
        found += CHECKS[kind](source, f"{path}.{_OTHER_PATHS.get(kind, kind)}")
        if kind == "local" and spec.get("nodeAffinity") is None:
            found.append(required(f"{path}.nodeAffinity", "Local volume requires node affinity"))
    return found if sources else [required(path, "must specify a volume type")]

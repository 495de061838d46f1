"""Validation of volume sources that pods and PersistentVolumes have alike, most of them deprecated: what each must say.

Where a PersistentVolume's differs, `storage_sources` says how.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from kube32_sim.api.errors import FieldError, invalid_value, not_supported, required
from kube32_sim.api.validation.names import byte_length, dns1123_label, in_range
from kube32_sim.api.validation.pod_mounts import validate_descending, validate_no_backsteps

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
_LARGEST_BYTE = 255
_LONGEST_PORTAL = 64
_LONGEST_TENANT = 64
_IQN = r"iqn\.\d{4}-\d{2}\.([[:alnum:]-.]+)(:[^,;*&$|\s]+)$"


def _is_iqn(name: str) -> bool:
    from kube32_sim.api.structural.patterns import searcher  # few volumes need it

    return searcher(_IQN)(name)


_INITIATORS: dict[str, Callable[[str], object]] = {
    "iqn": _is_iqn,
    "eui": re.compile(r"eui.[A-Za-z0-9]{16}").fullmatch,
    "naa": re.compile(r"naa.[A-Za-z0-9]{32}").fullmatch,
}
_CACHING = ("None", "ReadOnly", "ReadWrite")
_DISK_KINDS = ("Dedicated", "Managed", "Shared")
_MANAGED_URI = ("/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}",)
_BLOB_URI = ("https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd",)
BAD_INITIATOR = "must be valid format"
_NO_INITIATOR = "must be valid format starting with iqn, eui, or naa"
_PAIRS = "must be a host:port pair or multiple pairs separated by commas"


def needs(*fields: str) -> Check:
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
    found = needs("server", "path")(source, path)
    if not source.get("path", "").startswith("/"):
        found.append(invalid_value(f"{path}.path", source.get("path", ""), "must be an absolute path"))
    return found


def _byte(source: JsonObject, field: str, low: int, path: str) -> list[FieldError]:
    value = source.get(field) or 0
    if 0 <= value <= _LARGEST_BYTE:
        return []
    return [invalid_value(f"{path}.{field}", value, in_range(low, _LARGEST_BYTE))]


def _partitioned(field: str) -> Check:
    def check(source: JsonObject, path: str) -> list[FieldError]:
        return needs(field)(source, path) + _byte(source, "partition", 1, path)

    return check


def _secret_name(source: JsonObject, path: str) -> list[FieldError]:
    secret = source.get("secretRef")
    return [required(f"{path}.secretRef.name")] if secret is not None and not secret.get("name") else []


def _git_repo(source: JsonObject, path: str) -> list[FieldError]:
    return needs("repository")(source, path) + validate_descending(source.get("directory", ""), f"{path}.directory")


def _iscsi(source: JsonObject, path: str) -> list[FieldError]:
    found = needs("targetPortal")(source, path) + iscsi_target(source, path, _NO_INITIATOR)
    return found + iscsi_initiator(source, path, _NO_INITIATOR)


def iscsi_target(source: JsonObject, path: str, unknown: str) -> list[FieldError]:
    """What a portal is asked for.  unknown: what is said of a name of no known format."""
    found = _initiator(source["iqn"], f"{path}.iqn", unknown) if source.get("iqn") else [required(f"{path}.iqn")]
    found += _byte(source, "lun", 0, path)
    if (source.get("chapAuthDiscovery") or source.get("chapAuthSession")) and source.get("secretRef") is None:
        found.append(required(f"{path}.secretRef"))
    return found


def iscsi_initiator(source: JsonObject, path: str, unknown: str) -> list[FieldError]:
    name = source.get("initiatorName")
    return [] if name is None else _initiator(name, f"{path}.initiatorname", unknown)


def _initiator(name: str, path: str, unknown: str) -> list[FieldError]:
    matches = _INITIATORS.get(name[:3])
    if matches is None:
        return [invalid_value(path, name, unknown)]
    return [] if matches(name) else [invalid_value(path, name, BAD_INITIATOR)]


def portal_too_long(source: JsonObject, volume: str, path: str, shown: str) -> list[FieldError]:
    """An initiator's name is made of the volume's and the portal's, and has an end.  shown: which of them is told."""
    text = f"{volume}:{source.get('targetPortal', '')}"
    if source.get("initiatorName") is None or byte_length(text) <= _LONGEST_PORTAL:
        return []
    why = (
        "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is "
        "specified."
    )
    return [invalid_value(path, shown, why)]


def _flocker(source: JsonObject, path: str) -> list[FieldError]:
    name, uid = source.get("datasetName", ""), source.get("datasetUUID", "")
    found: list[FieldError] = []
    if not name and not uid:
        found.append(required(path, "one of datasetName and datasetUUID is required"))
    if name and uid:
        why = "datasetName and datasetUUID can not be specified simultaneously"
        found.append(invalid_value(path, "resource", why))
    if "/" in name:
        found.append(invalid_value(f"{path}.datasetName", name, "must not contain '/'"))
    return found


def _cinder(source: JsonObject, path: str) -> list[FieldError]:
    return needs("volumeID")(source, path) + _secret_name(source, path)


def _quobyte(source: JsonObject, path: str) -> list[FieldError]:
    registry = source.get("registry", "")
    found: list[FieldError] = []
    if not registry:
        found.append(required(f"{path}.registry", _PAIRS))
    elif byte_length(source.get("tenant", "")) > _LONGEST_TENANT:
        found.append(required(f"{path}.tenant", "must be a UUID and may not exceed a length of 64 characters"))
    else:
        wrong = [pair for pair in registry.split(",") if pair.count(":") != 1 and not pair.startswith("[")]
        found += [invalid_value(f"{path}.registry", registry, _PAIRS) for _ in wrong]
    return found + needs("volume")(source, path)


def _fibre_channel(source: JsonObject, path: str) -> list[FieldError]:
    names, identifiers = source.get("targetWWNs") or [], source.get("wwids") or []
    found: list[FieldError] = []
    if not names and not identifiers:
        found.append(required(f"{path}.targetWWNs", "must specify either targetWWNs or wwids, but not both"))
    if names and identifiers:
        why = "targetWWNs and wwids can not be specified simultaneously"
        found.append(invalid_value(f"{path}.targetWWNs", names, why))
    if names and source.get("lun") is None:
        found.append(required(f"{path}.lun", "lun is required if targetWWNs is specified"))
    elif names:
        found += _byte(source, "lun", 0, path)
    return found


def _flex_volume(source: JsonObject, path: str) -> list[FieldError]:
    found = needs("driver")(source, path)
    for key in sorted(source.get("options") or ()):
        namespace = f".{key.partition('/')[0].lower()}"
        if namespace.endswith((".kubernetes.io", ".k8s.io")):
            why = "kubernetes.io and k8s.io namespaces are reserved"
            found.append(invalid_value(f"{path}.options[{key}]", key, why))
    return found


def _azure_disk(source: JsonObject, path: str) -> list[FieldError]:
    found = needs("diskName", "diskURI")(source, path)
    caching, kind, uri = source.get("cachingMode"), source.get("kind"), source.get("diskURI", "")
    if caching is not None and caching not in _CACHING:
        found.append(not_supported(f"{path}.cachingMode", caching, _CACHING))
    if kind is not None and kind not in _DISK_KINDS:
        found.append(not_supported(f"{path}.kind", kind, _DISK_KINDS))
    if kind == "Managed" and not uri.startswith("/subscriptions/"):
        found.append(not_supported(f"{path}.diskURI", uri, _MANAGED_URI))
    if kind is not None and kind != "Managed" and not uri.startswith("https://"):
        found.append(not_supported(f"{path}.diskURI", uri, _BLOB_URI))
    return found


def _storage_os(source: JsonObject, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    for field in ("volumeName", "volumeNamespace"):
        if value := source.get(field):
            found += [invalid_value(f"{path}.{field}", value, why) for why in dns1123_label(value)]
        elif field == "volumeName":
            found.append(required(f"{path}.{field}"))
    return found + _secret_name(source, path)


DISKS: dict[str, Check] = {
    "hostPath": _host_path,
    "nfs": _nfs,
    "gitRepo": _git_repo,
    "gcePersistentDisk": _partitioned("pdName"),
    "awsElasticBlockStore": _partitioned("volumeID"),
    "iscsi": _iscsi,
    "glusterfs": needs("endpoints", "path"),
    "flocker": _flocker,
    "persistentVolumeClaim": needs("claimName"),
    "rbd": needs("monitors", "image"),
    "cinder": _cinder,
    "cephfs": needs("monitors"),
    "quobyte": _quobyte,
    "fc": _fibre_channel,
    "flexVolume": _flex_volume,
    "azureFile": needs("secretName", "shareName"),
    "vsphereVolume": needs("volumePath"),
    "photonPersistentDisk": needs("pdID"),
    "portworxVolume": needs("volumeID"),
    "azureDisk": _azure_disk,
    "storageos": _storage_os,
    "scaleIO": needs("gateway", "system", "volumeName"),
}
"""What a source must say, by its field."""

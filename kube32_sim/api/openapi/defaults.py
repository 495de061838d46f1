"""The defaults that OpenAPI v3 documents state: what Go has where a field is missing, and what a type says itself.

Version 2 states none.  A struct that is no pointer has `{}`, a scalar that is always written has its zero value; items
of lists and values of maps are no pointers.  Types that write themselves (times, quantities) state none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kube32_sim.api.decode.types import Struct, Type

_ZEROS: Mapping[str, Any] = {"struct": {}, "string": "", "bool": False, "int": 0, "float": 0}

_IDENTITY = ("apiVersion", "kind")
_MARKED: Mapping[str, Mapping[str, Any]] = {
    "ConfigMapEnvSource": {"name": ""},
    "ConfigMapKeySelector": {"name": ""},
    "ConfigMapProjection": {"name": ""},
    "ConfigMapVolumeSource": {"name": ""},
    "LocalObjectReference": {"name": ""},
    "SecretEnvSource": {"name": ""},
    "SecretKeySelector": {"name": ""},
    "SecretProjection": {"name": ""},
    "AzureDiskVolumeSource": {"cachingMode": "ReadWrite", "fsType": "ext4", "kind": "Shared", "readOnly": False},
    "ContainerPort": {"protocol": "TCP"},
    "GRPCAction": {"service": ""},
    "ISCSIPersistentVolumeSource": {"iscsiInterface": "default"},
    "ISCSIVolumeSource": {"iscsiInterface": "default"},
    "RBDPersistentVolumeSource": {"keyring": "/etc/ceph/keyring", "pool": "rbd", "user": "admin"},
    "RBDVolumeSource": {"keyring": "/etc/ceph/keyring", "pool": "rbd", "user": "admin"},
    "ScaleIOPersistentVolumeSource": {"fsType": "xfs", "storageMode": "ThinProvisioned"},
    "ScaleIOVolumeSource": {"fsType": "xfs", "storageMode": "ThinProvisioned"},
    "ServicePort": {"protocol": "TCP"},
}
"""Kind -> field -> the default that the field itself is marked with."""


def of_field(struct: Struct, name: str) -> Any:
    """The default of a field of a struct, None where none is stated."""
    marked = _MARKED.get(struct.name, {})
    if name in marked:
        return marked[name]
    found = struct.field(name)
    if found is None or not found.always or (struct.whole and name in _IDENTITY):
        return None
    return of_element(found.type)


def of_element(kind: Type) -> Any:
    """The default of the items of a list or the values of a map."""
    return _ZEROS.get(kind.kind)

"""Printing columns of volumes, claims, storage classes and CSI objects, and of devices that pods claim."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kube32_sim.api.classes import DEFAULT_ATTRIBUTES, DEFAULT_STORAGE, is_default, storage_class_of
from kube32_sim.api.columns.form import AGE, NAME, age_of, boolean, deleting, integer, name_of, section, text
from kube32_sim.api.tables import Cell, ColumnDefinition, Columns

JsonObject = dict[str, Any]

_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}


def _modes(modes: Sequence[str] | None) -> str:
    return ",".join(short for mode, short in _MODES.items() if mode in (modes or ()))


def _named_default(obj: JsonObject, marks: Sequence[str]) -> str:
    return f"{name_of(obj)} (default)" if is_default(obj, marks) else name_of(obj)


def _phase(obj: JsonObject) -> str:
    phase: str = "Terminating" if deleting(obj) else section(obj, "status").get("phase", "")
    return phase


def _volume(obj: JsonObject) -> Sequence[Cell]:
    spec = section(obj, "spec")
    claim = spec.get("claimRef")
    return (
        name_of(obj),
        section(spec, "capacity").get("storage", "0"),
        _modes(spec.get("accessModes")),
        spec.get("persistentVolumeReclaimPolicy", ""),
        _phase(obj),
        "" if claim is None else f"{claim.get('namespace', '')}/{claim.get('name', '')}",
        storage_class_of(obj),
        spec.get("volumeAttributesClassName", "<unset>"),
        section(obj, "status").get("reason", ""),
        age_of(obj),
        spec.get("volumeMode", "<unset>"),
    )


def _claim(obj: JsonObject) -> Sequence[Cell]:
    spec, status = section(obj, "spec"), section(obj, "status")
    volume = spec.get("volumeName") or ""
    return (
        name_of(obj),
        _phase(obj),
        volume,
        section(status, "capacity").get("storage", "0") if volume else "",
        _modes(status.get("accessModes")) if volume else "",
        storage_class_of(obj),
        spec.get("volumeAttributesClassName", "<unset>"),
        age_of(obj),
        spec.get("volumeMode", "<unset>"),
    )


def _storage_class(obj: JsonObject) -> Sequence[Cell]:
    return (
        _named_default(obj, DEFAULT_STORAGE),
        obj.get("provisioner", ""),
        obj.get("reclaimPolicy", "Delete"),
        obj.get("volumeBindingMode", "Immediate"),
        bool(obj.get("allowVolumeExpansion")),
        age_of(obj),
    )


def _attributes_class(obj: JsonObject) -> Sequence[Cell]:
    return _named_default(obj, DEFAULT_ATTRIBUTES), obj.get("driverName", ""), age_of(obj)


def _attachment(obj: JsonObject) -> Sequence[Cell]:
    spec = section(obj, "spec")
    return (
        name_of(obj),
        spec.get("attacher", ""),
        section(spec, "source").get("persistentVolumeName", ""),
        spec.get("nodeName", ""),
        bool(section(obj, "status").get("attached")),
        age_of(obj),
    )


def _csi_node(obj: JsonObject) -> Sequence[Cell]:
    return name_of(obj), len(section(obj, "spec").get("drivers") or ()), age_of(obj)


def _csi_driver(obj: JsonObject) -> Sequence[Cell]:
    spec = section(obj, "spec")
    requests = spec.get("tokenRequests")
    return (
        name_of(obj),
        spec.get("attachRequired") is not False,
        bool(spec.get("podInfoOnMount")),
        bool(spec.get("storageCapacity")),
        "<unset>" if requests is None else ",".join(request.get("audience", "") for request in requests),
        bool(spec.get("requiresRepublish")),
        ",".join(spec.get("volumeLifecycleModes") or ()) or "<none>",
        age_of(obj),
    )


def _csi_capacity(obj: JsonObject) -> Sequence[Cell]:
    return name_of(obj), obj.get("storageClassName", ""), obj.get("capacity", "<unset>")


def _name_and_age(obj: JsonObject) -> Sequence[Cell]:
    return name_of(obj), age_of(obj)


def _device_claim(obj: JsonObject) -> Sequence[Cell]:
    status = section(obj, "status")
    states = ["deleted"] if deleting(obj) else []
    if "allocation" in status:
        states.append("allocated")
        if status.get("reservedFor"):
            states.append("reserved")
    elif not states:
        states.append("pending")
    return name_of(obj), ",".join(states), age_of(obj)


def _resource_slice(obj: JsonObject) -> Sequence[Cell]:
    spec = section(obj, "spec")
    pool = section(spec, "pool").get("name", "")
    return name_of(obj), spec.get("nodeName", ""), spec.get("driver", ""), pool, age_of(obj)


_VOLUME_MODE = text("VolumeMode", "File system or block device.", wide=True)
_ATTRIBUTES = text("VolumeAttributesClass", "The class of the volume's changeable attributes.")
_STORAGE_CLASS = text("StorageClass", "The class of storage.")

COLUMNS = {
    ("", "PersistentVolume"): Columns(
        (
            NAME,
            text("Capacity", "How much it holds."),
            text("Access Modes", "How it can be mounted."),
            text("Reclaim Policy", "What happens to it when it is released."),
            text("Status", "Whether it is free, bound or released."),
            text("Claim", "The claim it is bound to."),
            _STORAGE_CLASS,
            _ATTRIBUTES,
            text("Reason", "Why it is in a failed state."),
            AGE,
            _VOLUME_MODE,
        ),
        _volume,
    ),
    ("", "PersistentVolumeClaim"): Columns(
        (
            NAME,
            text("Status", "Whether it is bound."),
            text("Volume", "The volume it is bound to."),
            text("Capacity", "How much the volume holds."),
            text("Access Modes", "How the volume can be mounted."),
            _STORAGE_CLASS,
            _ATTRIBUTES,
            AGE,
            _VOLUME_MODE,
        ),
        _claim,
    ),
    ("storage.k8s.io", "StorageClass"): Columns(
        (
            NAME,
            text("Provisioner", "Who makes volumes of the class."),
            text("ReclaimPolicy", "What happens to volumes that are released."),
            text("VolumeBindingMode", "When claims are bound."),
            text("AllowVolumeExpansion", "Whether volumes may grow."),
            AGE,
        ),
        _storage_class,
    ),
    ("storage.k8s.io", "VolumeAttributesClass"): Columns(
        (NAME, text("DriverName", "The driver the attributes are for."), AGE), _attributes_class
    ),
    ("storage.k8s.io", "VolumeAttachment"): Columns(
        (
            NAME,
            ColumnDefinition("Attacher", "The driver that attaches.", format="name"),
            text("PV", "The volume."),
            text("Node", "The node it is attached to."),
            boolean("Attached", "Whether it is attached."),
            AGE,
        ),
        _attachment,
    ),
    ("storage.k8s.io", "CSINode"): Columns(
        (NAME, integer("Drivers", "How many drivers the node has."), AGE), _csi_node
    ),
    ("storage.k8s.io", "CSIDriver"): Columns(
        (
            NAME,
            boolean("AttachRequired", "Whether volumes must be attached."),
            boolean("PodInfoOnMount", "Whether the driver wants to know the pod."),
            boolean("StorageCapacity", "Whether the driver reports capacity."),
            text("TokenRequests", "Audiences of the tokens the driver wants."),
            boolean("RequiresRepublish", "Whether volumes are published again and again."),
            text("Modes", "The kinds of volumes the driver has."),
            AGE,
        ),
        _csi_driver,
    ),
    ("storage.k8s.io", "CSIStorageCapacity"): Columns(
        (NAME, text("StorageClassName", "The class of storage."), text("Capacity", "How much is left.")), _csi_capacity
    ),
    ("resource.k8s.io", "DeviceClass"): Columns((NAME, AGE), _name_and_age),
    ("resource.k8s.io", "ResourceClaimTemplate"): Columns((NAME, AGE), _name_and_age),
    ("resource.k8s.io", "ResourceClaim"): Columns((NAME, text("State", "How far the claim is."), AGE), _device_claim),
    ("resource.k8s.io", "ResourceSlice"): Columns(
        (
            NAME,
            text("Node", "The node with the devices."),
            text("Driver", "The driver of the devices."),
            text("Pool", "The pool the devices belong to."),
            AGE,
        ),
        _resource_slice,
    ),
}

"""Storage: PersistentVolume and PersistentVolumeClaim, the kinds of storage.k8s.io, and those of resource.k8s.io.

(That volumes and claims in use are protected by a finalizer is admission's doing.)
"""

from __future__ import annotations

from typing import Any

from kube32_sim.api.errors import FieldError
from kube32_sim.api.strategies.base import Context, Strategy
from kube32_sim.api.strategies.pod_defaults import default_volume
from kube32_sim.api.strategies.spec import ALL_METADATA, SpecStrategy, Unversioned
from kube32_sim.api.validation import node_labels
from kube32_sim.api.validation import storage_claims as claims
from kube32_sim.api.validation import storage_classes as classes
from kube32_sim.api.validation import storage_devices as devices
from kube32_sim.api.validation import storage_volumes as volumes
from kube32_sim.api.validation.workloads_common import immutable

JsonObject = dict[str, Any]


class PersistentVolume(SpecStrategy):
    returns_deleted = True

    def default_spec(self, obj: JsonObject, spec: JsonObject) -> None:
        if not spec.get("persistentVolumeReclaimPolicy"):
            spec["persistentVolumeReclaimPolicy"] = "Retain"
        spec.setdefault("volumeMode", "Filesystem")
        default_volume(spec)
        status = obj.setdefault("status", {})
        if not status.get("phase"):
            status["phase"] = "Pending"

    def prepare_create(self, obj: JsonObject, context: Context) -> None:
        obj["status"] = {"phase": "Pending", "lastPhaseTransitionTime": context.now}

    def prepare_status_update(self, obj: JsonObject, old: JsonObject, context: Context) -> None:
        super().prepare_status_update(obj, old, context)
        before = old.get("status") or {}
        status = obj["status"] = _with_phase(obj["status"])
        if status["phase"] != before.get("phase"):
            status["lastPhaseTransitionTime"] = context.now
        elif "lastPhaseTransitionTime" in before:
            status.setdefault("lastPhaseTransitionTime", before["lastPhaseTransitionTime"])

    def validate(self, obj: JsonObject, context: Context) -> list[FieldError]:
        return volumes.validate_persistent_volume(obj)

    def validate_update(self, obj: JsonObject, old: JsonObject, context: Context) -> list[FieldError]:
        return self.validate(obj, context) + volumes.persistent_volume_fixed(obj, old)

    def warnings(self, obj: JsonObject, old: JsonObject | None, context: Context) -> list[str]:
        return [] if context.subresource else volumes.volume_warnings(obj)


def _with_phase(status: JsonObject) -> JsonObject:
    """A status as it is read: a phase that is not told is the first."""
    return {**status, "phase": status.get("phase") or "Pending"}


class PersistentVolumeClaim(SpecStrategy):
    returns_deleted = True

    def default_spec(self, obj: JsonObject, spec: JsonObject) -> None:
        spec.setdefault("volumeMode", "Filesystem")
        status = obj.setdefault("status", {})
        if not status.get("phase"):
            status["phase"] = "Pending"

    def reset_status(self, obj: JsonObject) -> None:
        obj["status"] = {"phase": "Pending"}

    def prepare_create(self, obj: JsonObject, context: Context) -> None:
        super().prepare_create(obj, context)
        claims.agree_on_source(obj["spec"], None)

    def prepare_update(self, obj: JsonObject, old: JsonObject, context: Context) -> None:
        super().prepare_update(obj, old, context)
        claims.agree_on_source(obj["spec"], old["spec"])

    def prepare_status_update(self, obj: JsonObject, old: JsonObject, context: Context) -> None:
        super().prepare_status_update(obj, old, context)
        obj["status"] = _with_phase(obj["status"])

    def validate(self, obj: JsonObject, context: Context) -> list[FieldError]:
        return claims.validate_claim(obj["spec"])

    def validate_update(self, obj: JsonObject, old: JsonObject, context: Context) -> list[FieldError]:
        return self.validate(obj, context) + claims.claim_fixed(obj, old)

    def validate_status_update(self, obj: JsonObject, old: JsonObject, context: Context) -> list[FieldError]:
        return claims.validate_claim_status(obj.get("status") or {})

    def warnings(self, obj: JsonObject, old: JsonObject | None, context: Context) -> list[str]:
        return [] if context.subresource else claims.deprecated_class(obj) + claims.claim_warnings(obj["spec"])


class StorageClass(Strategy):
    returns_deleted = True

    def default(self, obj: JsonObject) -> None:
        obj.setdefault("reclaimPolicy", "Delete")
        obj.setdefault("volumeBindingMode", "Immediate")

    def validate(self, obj: JsonObject, context: Context) -> list[FieldError]:
        return classes.validate_storage_class(obj)

    def validate_update(self, obj: JsonObject, old: JsonObject, context: Context) -> list[FieldError]:
        return self.validate(obj, context) + classes.storage_class_fixed(obj, old)

    def warnings(self, obj: JsonObject, old: JsonObject | None, context: Context) -> list[str]:
        return node_labels.topology_warnings(obj.get("allowedTopologies") or ())


class VolumeAttributesClass(Strategy):
    returns_deleted = True

    def validate(self, obj: JsonObject, context: Context) -> list[FieldError]:
        return classes.validate_volume_attributes_class(obj)

    def validate_update(self, obj: JsonObject, old: JsonObject, context: Context) -> list[FieldError]:
        return self.validate(obj, context) + classes.volume_attributes_class_fixed(obj, old)


class VolumeAttachment(Unversioned):
    returns_deleted = True
    status_locks = ALL_METADATA

    def reset_status(self, obj: JsonObject) -> None:
        obj["status"] = {"attached": False}

    def validate(self, obj: JsonObject, context: Context) -> list[FieldError]:
        return classes.validate_volume_attachment(obj["spec"]) + classes.validate_new_attachment(obj["spec"])

    def validate_update(self, obj: JsonObject, old: JsonObject, context: Context) -> list[FieldError]:
        found = classes.validate_volume_attachment(obj["spec"])
        return found + classes.attachment_fixed(obj["spec"], old["spec"])

    def validate_status_update(self, obj: JsonObject, old: JsonObject, context: Context) -> list[FieldError]:
        return classes.validate_attachment_status(obj.get("status") or {})


class CsiDriver(Unversioned):
    returns_deleted = True

    def default_spec(self, obj: JsonObject, spec: JsonObject) -> None:
        spec.setdefault("attachRequired", True)
        spec.setdefault("podInfoOnMount", False)
        spec.setdefault("storageCapacity", False)
        spec.setdefault("fsGroupPolicy", "ReadWriteOnceWithFSType")
        if not spec.get("volumeLifecycleModes"):
            spec["volumeLifecycleModes"] = ["Persistent"]
        spec.setdefault("requiresRepublish", False)
        spec.setdefault("seLinuxMount", False)

    def validate(self, obj: JsonObject, context: Context) -> list[FieldError]:
        return classes.validate_csi_driver(obj["spec"])

    def validate_update(self, obj: JsonObject, old: JsonObject, context: Context) -> list[FieldError]:
        return self.validate(obj, context) + classes.csi_driver_fixed(obj["spec"], old["spec"])


class CsiNode(Unversioned):
    returns_deleted = True

    def validate(self, obj: JsonObject, context: Context) -> list[FieldError]:
        return classes.validate_csi_node(obj["spec"])

    def validate_update(self, obj: JsonObject, old: JsonObject, context: Context) -> list[FieldError]:
        return self.validate(obj, context) + classes.csi_node_fixed(obj["spec"], old["spec"])


class CsiStorageCapacity(Strategy):
    unconditional_update = False

    def validate(self, obj: JsonObject, context: Context) -> list[FieldError]:
        return classes.validate_csi_storage_capacity(obj)

    def validate_update(self, obj: JsonObject, old: JsonObject, context: Context) -> list[FieldError]:
        return self.validate(obj, context) + classes.csi_storage_capacity_fixed(obj, old)

    def warnings(self, obj: JsonObject, old: JsonObject | None, context: Context) -> list[str]:
        return node_labels.selector_warnings(obj.get("nodeTopology"), "nodeTopology")


class ResourceClaim(SpecStrategy):
    """A device claim: what it asks for never changes."""

    returns_deleted = True
    status_locks = ALL_METADATA

    def default_spec(self, obj: JsonObject, spec: JsonObject) -> None:
        _default_requests(spec)

    def validate(self, obj: JsonObject, context: Context) -> list[FieldError]:
        return devices.validate_device_claim(obj["spec"])

    def validate_update(self, obj: JsonObject, old: JsonObject, context: Context) -> list[FieldError]:
        return immutable(obj["spec"], old["spec"], "spec")


def _default_requests(spec: JsonObject) -> None:
    for request in (spec.get("devices") or {}).get("requests") or ():
        if (exact := request.get("exactly")) is not None:
            _default_request(exact)
        for alternative in request.get("firstAvailable") or ():
            _default_request(alternative)


def _default_request(request: JsonObject) -> None:
    mode = request.setdefault("allocationMode", "ExactCount")
    if mode == "ExactCount" and not request.get("count"):
        request["count"] = 1


class ResourceClaimTemplate(SpecStrategy):
    returns_deleted = True

    def default_spec(self, obj: JsonObject, spec: JsonObject) -> None:
        _default_requests(spec.get("spec") or {})

    def validate(self, obj: JsonObject, context: Context) -> list[FieldError]:
        return devices.validate_device_claim(obj["spec"].get("spec") or {}, "spec.spec")

    def validate_update(self, obj: JsonObject, old: JsonObject, context: Context) -> list[FieldError]:
        return immutable(obj["spec"], old["spec"], "spec")


class DeviceClass(SpecStrategy):
    returns_deleted = True

    def validate(self, obj: JsonObject, context: Context) -> list[FieldError]:
        return devices.validate_device_class(obj["spec"])


class ResourceSlice(SpecStrategy):
    returns_deleted = True

    def validate(self, obj: JsonObject, context: Context) -> list[FieldError]:
        return devices.validate_resource_slice(obj["spec"], None)

    def validate_update(self, obj: JsonObject, old: JsonObject, context: Context) -> list[FieldError]:
        return devices.validate_resource_slice(obj["spec"], old["spec"])


_STORAGE = "storage.k8s.io"
_RESOURCE = "resource.k8s.io"

STRATEGIES: dict[tuple[str, str], Strategy] = {
    ("", "PersistentVolume"): PersistentVolume(),
    ("", "PersistentVolumeClaim"): PersistentVolumeClaim(),
    (_STORAGE, "StorageClass"): StorageClass(),
    (_STORAGE, "VolumeAttributesClass"): VolumeAttributesClass(),
    (_STORAGE, "VolumeAttachment"): VolumeAttachment(),
    (_STORAGE, "CSIDriver"): CsiDriver(),
    (_STORAGE, "CSINode"): CsiNode(),
    (_STORAGE, "CSIStorageCapacity"): CsiStorageCapacity(),
    (_RESOURCE, "ResourceClaim"): ResourceClaim(),
    (_RESOURCE, "ResourceClaimTemplate"): ResourceClaimTemplate(),
    (_RESOURCE, "DeviceClass"): DeviceClass(),
    (_RESOURCE, "ResourceSlice"): ResourceSlice(),
}

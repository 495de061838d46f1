"""Validation of storage.k8s.io and resource.k8s.io: classes, drivers, attachments.  Words are upstream's."""

from __future__ import annotations

from typing import Any

from kube32_sim.api.errors import FieldError, duplicate, forbidden_field, invalid_value, not_supported, required
from kube32_sim.api.validation import names
from kube32_sim.api.validation.workloads_common import immutable, validate_label_selector

JsonObject = dict[str, Any]

_BINDING = ("Immediate", "WaitForFirstConsumer")
_MOST_PARAMETERS = 512
_PARAMETER_BYTES = 256 * 1024


def _driver_name(name: str, path: str) -> list[FieldError]:
    if not name:
        return [required(path)]
    found = [invalid_value(path, name, why) for why in names.dns1123_subdomain(name.lower())]
    if len(name) > 63:
        found.append(FieldError("FieldValueTooLong", path, "Too long: may not be more than 63 bytes"))
    return found


def validate_storage_class(obj: JsonObject) -> list[FieldError]:
    provisioner = obj.get("provisioner", "")
    found: list[FieldError] = []
    if not provisioner:
        found.append(required("provisioner"))
    else:
        found += [invalid_value("provisioner", provisioner, why) for why in names.qualified_name(provisioner.lower())]
    found += _parameters(obj.get("parameters") or {}, "parameters")
    policy = obj.get("reclaimPolicy")
    if policy and policy not in ("Delete", "Retain"):
        found.append(not_supported("reclaimPolicy", policy, ("Delete", "Retain")))
    mode = obj.get("volumeBindingMode")
    if mode not in _BINDING:
        path = "volumeBindingMode"
        found.append(not_supported(path, mode, _BINDING) if mode else required(path))
    return found


def _parameters(parameters: JsonObject, path: str) -> list[FieldError]:
    if len(parameters) > _MOST_PARAMETERS:
        why = f"Too long: may not be more than {_MOST_PARAMETERS} items"
        return [FieldError("FieldValueTooLong", "Provisioner Parameters exceeded max allowed", why)]
    found = [invalid_value(path, key, "field can not be empty.") for key in parameters if not key]
    size = sum(len(key) + len(value) for key, value in parameters.items())
    if size > _PARAMETER_BYTES:
        found.append(FieldError("FieldValueTooLong", path, f"Too long: may not be more than {_PARAMETER_BYTES} bytes"))
    return found


def storage_class_fixed(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found: list[FieldError] = []
    if (new.get("parameters") or {}) != (old.get("parameters") or {}):
        found.append(forbidden_field("parameters", "updates to parameters are forbidden."))
    if new.get("provisioner") != old.get("provisioner"):
        found.append(forbidden_field("provisioner", "updates to provisioner are forbidden."))
    if new.get("reclaimPolicy") != old.get("reclaimPolicy"):
        found.append(forbidden_field("reclaimPolicy", "updates to reclaimPolicy are forbidden."))
    mode = new.get("volumeBindingMode")
    return found + immutable(mode, old.get("volumeBindingMode"), "volumeBindingMode")


def validate_volume_attributes_class(obj: JsonObject) -> list[FieldError]:
    found = _driver_name(obj.get("driverName", ""), "driverName")
    if not obj.get("parameters"):
        found.append(required("parameters", "must contain at least one key/value pair"))
    return found + _parameters(obj.get("parameters") or {}, "parameters")


def volume_attributes_class_fixed(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found = immutable(new.get("driverName"), old.get("driverName"), "driverName")
    if (new.get("parameters") or {}) != (old.get("parameters") or {}):
        found.append(forbidden_field("parameters", "updates to parameters are forbidden."))
    return found


def validate_volume_attachment(spec: JsonObject) -> list[FieldError]:
    attacher, path = spec.get("attacher", ""), "spec.attacher"
    found = _driver_name(attacher, path) if attacher else [required(path)]
    source = spec.get("source") or {}
    inline, volume = source.get("inlineVolumeSpec"), source.get("persistentVolumeName")
    if inline is None and volume is None:
        found.append(required("spec.source", "must specify exactly one of inlineVolumeSpec and persistentVolumeName"))
    elif inline is not None and volume is not None:
        why = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
        found.append(forbidden_field("spec.source", why))
    elif volume is not None and not volume:
        found.append(required("spec.source.persistentVolumeName", "must specify non empty persistentVolumeName"))
    if not spec.get("nodeName"):
        found.append(required("spec.nodeName"))
    return found


def validate_csi_driver(spec: JsonObject, name: str) -> list[FieldError]:
    found = _driver_name(name, "name")
    policy = spec.get("fsGroupPolicy")
    policies = ("ReadWriteOnceWithFSType", "File", "None")
    if policy is not None and policy not in policies:
        found.append(not_supported("spec.fsGroupPolicy", policy, policies))
    modes = spec.get("volumeLifecycleModes") or []
    for mode in modes:
        if mode not in ("Ephemeral", "Persistent"):
            found.append(not_supported("spec.volumeLifecycleModes", mode, ("Ephemeral", "Persistent")))
    seen: set[str] = set()
    for index, request in enumerate(spec.get("tokenRequests") or ()):
        audience = request.get("audience", "")
        if audience in seen:
            found.append(duplicate(f"spec.tokenRequests[{index}].audience", audience))
        seen.add(audience)
    return found


def csi_driver_fixed(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found: list[FieldError] = []
    for field in ("attachRequired", "volumeLifecycleModes"):
        found += immutable(new.get(field), old.get(field), f"spec.{field}")
    return found


def validate_csi_node(spec: JsonObject) -> list[FieldError]:
    found: list[FieldError] = []
    seen: set[str] = set()
    for index, driver in enumerate(spec.get("drivers") or ()):
        path, name, node = f"spec.drivers[{index}]", driver.get("name", ""), driver.get("nodeID", "")
        found += _driver_name(name, f"{path}.name")
        if name in seen:
            found.append(duplicate(f"{path}.name", name))
        seen.add(name)
        if not node:
            found.append(required(f"{path}.nodeID"))
    return found


def validate_csi_storage_capacity(obj: JsonObject) -> list[FieldError]:
    name = obj.get("storageClassName", "")
    found = [invalid_value("storageClassName", name, why) for why in names.dns1123_subdomain(name)]
    return found + validate_label_selector(obj.get("nodeTopology"), "nodeTopology")


def csi_storage_capacity_fixed(new: JsonObject, old: JsonObject) -> list[FieldError]:
    topology = immutable(new.get("nodeTopology"), old.get("nodeTopology"), "nodeTopology")
    return topology + immutable(new.get("storageClassName"), old.get("storageClassName"), "storageClassName")

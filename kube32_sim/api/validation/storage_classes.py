"""Validation of storage.k8s.io: classes, drivers, attachments.  Rules, order and words are upstream's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kube32_sim.api.errors import (
    NOT_NEGATIVE,
    FieldError,
    duplicate,
    forbidden_field,
    invalid_value,
    not_supported,
    required,
    too_long,
)
from kube32_sim.api.validation import names
from kube32_sim.api.validation.config_limits import non_negative_quantity
from kube32_sim.api.validation.storage_common import class_name
from kube32_sim.api.validation.storage_sources import driver_name
from kube32_sim.api.validation.storage_volumes import validate_inline
from kube32_sim.api.validation.workloads_common import (
    IMMUTABLE,
    immutable,
    selector_value,
    validate_label_selector,
)

JsonObject = dict[str, Any]

_BINDING = ("Immediate", "WaitForFirstConsumer")
_MOST_PARAMETERS = 512
_MOST_BYTES = 256 * 1024
_MOST_ERROR = 1024


def _text_size(texts: JsonObject) -> int:
    return sum(names.byte_length(text) for item in texts.items() for text in item)


def validate_storage_class(obj: JsonObject) -> list[FieldError]:
    found = _provisioner(obj.get("provisioner", ""), "provisioner")
    found += _parameters(obj.get("parameters") or {})
    policy = obj.get("reclaimPolicy")
    if policy and policy not in ("Delete", "Retain"):
        found.append(not_supported("reclaimPolicy", policy, ("Delete", "Retain")))
    mode = obj.get("volumeBindingMode")
    if mode not in _BINDING:
        path = "volumeBindingMode"
        found.append(required(path) if mode is None else not_supported(path, mode, _BINDING))
    return found + _topologies(obj.get("allowedTopologies") or ())


def _provisioner(name: str, path: str) -> list[FieldError]:
    if not name:
        return [required(path)]
    return [invalid_value(path, name.lower(), why) for why in names.qualified_name(name.lower())]


def _parameters(parameters: JsonObject, path: str = "parameters") -> list[FieldError]:
    if len(parameters) > _MOST_PARAMETERS:
        return [too_long(path, _MOST_PARAMETERS)]
    found = [invalid_value(path, key, "field can not be empty.") for key in parameters if not key]
    return [*found, too_long(path, _MOST_BYTES)] if _text_size(parameters) > _MOST_BYTES else found


def _topologies(terms: Sequence[JsonObject]) -> list[FieldError]:
    found: list[FieldError] = []
    seen: list[dict[str, set[str]]] = []
    for index, term in enumerate(terms):
        path, values = f"allowedTopologies[{index}].matchLabelExpressions", {}
        for place, each in enumerate(term.get("matchLabelExpressions") or ()):
            key, at = each.get("key", ""), f"{path}[{place}]"
            found += _topology(each, at)
            if key in values:
                found.append(duplicate(f"{at}.key", key))
            values[key] = set(each.get("values") or ())
        if values in seen:
            found.append(duplicate(path, ""))
        seen.append(values)
    return found


def _topology(expression: JsonObject, path: str) -> list[FieldError]:
    values, key = expression.get("values") or [], expression.get("key", "")
    found = [] if values else [required(f"{path}.values")]
    found += [
        duplicate(f"{path}.values[{index}]", value) for index, value in enumerate(values) if value in values[:index]
    ]
    return found + [invalid_value(f"{path}.key", key, why) for why in names.qualified_name(key)]


def _parameters_fixed(new: JsonObject, old: JsonObject) -> list[FieldError]:
    if (new.get("parameters") or {}) == (old.get("parameters") or {}):
        return []
    return [forbidden_field("parameters", "updates to parameters are forbidden.")]


def storage_class_fixed(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found = _parameters_fixed(new, old)
    if new.get("provisioner") != old.get("provisioner"):
        found.append(forbidden_field("provisioner", "updates to provisioner are forbidden."))
    if new.get("reclaimPolicy") != old.get("reclaimPolicy"):
        found.append(forbidden_field("reclaimPolicy", "updates to reclaimPolicy are forbidden."))
    mode = new.get("volumeBindingMode")
    return found + immutable(mode, old.get("volumeBindingMode"), "volumeBindingMode")


def validate_volume_attributes_class(obj: JsonObject) -> list[FieldError]:
    found = _provisioner(obj.get("driverName", ""), "driverName") + _parameters(obj.get("parameters") or {})
    if not obj.get("parameters"):
        found.append(required("parameters", "must contain at least one key/value pair"))
    return found


def volume_attributes_class_fixed(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found: list[FieldError] = []
    if new.get("driverName") != old.get("driverName"):
        found.append(forbidden_field("driverName", "updates to driverName are forbidden."))
    return found + _parameters_fixed(new, old)


_ONE_SOURCE = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"


def validate_volume_attachment(spec: JsonObject) -> list[FieldError]:
    attacher, node = spec.get("attacher", ""), spec.get("nodeName", "")
    found = [] if attacher else [required("spec.attacher")]
    found += _attached(spec.get("source") or {}, "spec.source")
    return found + [invalid_value("spec.nodeName", node, why) for why in names.dns1123_subdomain(node)]


def _attached(source: JsonObject, path: str) -> list[FieldError]:
    inline, volume = source.get("inlineVolumeSpec"), source.get("persistentVolumeName")
    if inline is not None and volume is not None:
        return [forbidden_field(path, _ONE_SOURCE)]
    if inline is not None:
        return validate_inline(inline, f"{path}.inlineVolumeSpec")
    if volume is None:
        return [required(path, _ONE_SOURCE)]
    return [] if volume else [required(f"{path}.persistentVolumeName", "must specify non empty persistentVolumeName")]


def validate_new_attachment(spec: JsonObject) -> list[FieldError]:
    """What version v1 wants of a new attachment, beyond what all versions do."""
    found = driver_name(spec.get("attacher", ""), "spec.attacher")
    volume, path = (spec.get("source") or {}).get("persistentVolumeName"), "spec.source.persistentVolumeName"
    if volume is None:
        return found
    return found + [invalid_value(path, volume, why) for why in names.dns1123_subdomain(volume)]


def validate_attachment_status(status: JsonObject) -> list[FieldError]:
    found: list[FieldError] = []
    if _text_size(status.get("attachmentMetadata") or {}) > _MOST_BYTES:
        found.append(too_long("status.attachmentMetadata", _MOST_BYTES))
    for field in ("attachError", "detachError"):
        error, path = status.get(field) or {}, f"status.{field}"
        if names.byte_length(error.get("message", "")) > _MOST_ERROR:
            found.append(too_long(f"{path}.message", _MOST_BYTES))
        code = error.get("errorCode")
        if code is not None and code < 0:
            found.append(invalid_value(f"{path}.errorCode", code, names.in_range(0, 2**31 - 1)))
    return found


def attachment_fixed(new: JsonObject, old: JsonObject) -> list[FieldError]:
    source = new.get("source") or {}
    shown = {
        "Attacher": new.get("attacher", ""),
        "Source": {
            "PersistentVolumeName": source.get("persistentVolumeName"),
            "InlineVolumeSpec": source.get("inlineVolumeSpec"),
        },
        "NodeName": new.get("nodeName", ""),
    }
    return immutable(new, old, "spec", shown)


_GROUP_POLICIES = ("File", "None", "ReadWriteOnceWithFSType")
_LIFECYCLES = ("Persistent", "Ephemeral")
_SHORTEST, _LONGEST = 600, 1 << 32


def validate_csi_driver(spec: JsonObject) -> list[FieldError]:
    found: list[FieldError] = []
    policy = spec.get("fsGroupPolicy")
    if policy is not None and policy not in _GROUP_POLICIES:
        found.append(not_supported("spec.fsGroupPolicy", policy, _GROUP_POLICIES))
    found += _token_requests(spec.get("tokenRequests") or ())
    for mode in spec.get("volumeLifecycleModes") or ():
        if mode not in _LIFECYCLES:
            found.append(not_supported("spec.volumeLifecycleModes", mode, _LIFECYCLES))
    period, path = spec.get("nodeAllocatableUpdatePeriodSeconds"), "spec.nodeAllocatableUpdatePeriodSeconds"
    if period is not None and period < 10:
        found.append(invalid_value(path, period, "must be greater than or equal to 10 seconds"))
    return found


def _token_requests(requests: Sequence[JsonObject]) -> list[FieldError]:
    found: list[FieldError] = []
    seen: set[str] = set()
    for index, request in enumerate(requests):
        path, audience = f"spec.tokenRequests[{index}]", request.get("audience", "")
        if audience in seen:
            found.append(duplicate(f"{path}.audience", audience))
            continue
        seen.add(audience)
        seconds, at = request.get("expirationSeconds"), f"{path}.expirationSeconds"
        if seconds is not None and seconds < _SHORTEST:
            found.append(invalid_value(at, seconds, "may not specify a duration less than 10 minutes"))
        if seconds is not None and seconds > _LONGEST:
            found.append(invalid_value(at, seconds, "may not specify a duration larger than 2^32 seconds"))
    return found


def csi_driver_fixed(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found = immutable(new.get("attachRequired"), old.get("attachRequired"), "spec.attachedRequired")
    modes = "volumeLifecycleModes"
    return found + immutable(new.get(modes), old.get(modes), f"spec.{modes}")


_LONGEST_NODE_ID = 256


def validate_csi_node(spec: JsonObject) -> list[FieldError]:
    found: list[FieldError] = []
    seen: set[str] = set()
    for index, driver in enumerate(spec.get("drivers") or ()):
        path, name, node = f"spec.drivers[{index}]", driver.get("name", ""), driver.get("nodeID", "")
        found += driver_name(name, f"{path}.name")
        if not node:
            found.append(required(f"{path}.nodeID"))
        elif names.byte_length(node) > _LONGEST_NODE_ID:
            found.append(invalid_value(f"{path}.nodeID", node, f"must be {_LONGEST_NODE_ID} characters or less"))
        count = (driver.get("allocatable") or {}).get("count", 0)
        if count < 0:
            found.append(invalid_value(f"{path}.allocatable.count", count, NOT_NEGATIVE))
        if name in seen:
            found.append(duplicate(f"{path}.name", name))
        seen.add(name)
        found += _topology_keys(driver.get("topologyKeys") or [], path)
    return found


def _topology_keys(keys: list[str], path: str) -> list[FieldError]:
    found: list[FieldError] = []
    for index, key in enumerate(keys):
        if not key:
            found.append(required(path))
        if key in keys[:index]:
            found.append(duplicate(path, key))
        found += [invalid_value(path, key, why) for why in names.qualified_name(key)]
    return found


def csi_node_fixed(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """A driver stays as it was registered; how many volumes it takes may change."""
    before = {driver.get("name"): driver for driver in old.get("drivers") or ()}
    found: list[FieldError] = []
    for driver in new.get("drivers") or ():
        had = before.get(driver.get("name"))
        if had is not None and _identity(driver) != _identity(had):
            found.append(invalid_value("spec.drivers", {**_identity(driver), "Allocatable": None}, IMMUTABLE))
    return found


def _identity(driver: JsonObject) -> JsonObject:
    fields = (("Name", "name"), ("NodeID", "nodeID"))
    return {shown: driver.get(field, "") for shown, field in fields} | {"TopologyKeys": driver.get("topologyKeys")}


def validate_csi_storage_capacity(obj: JsonObject) -> list[FieldError]:
    name, capacity = obj.get("storageClassName", ""), obj.get("capacity")
    found = validate_label_selector(obj.get("nodeTopology"), "nodeTopology")
    found += class_name(name, "storageClassName") if name else _no_class()
    return found + (non_negative_quantity(capacity, "capacity") if capacity is not None else [])


def _no_class() -> list[FieldError]:
    return [invalid_value("storageClassName", "", why) for why in names.dns1123_subdomain("")]


def csi_storage_capacity_fixed(new: JsonObject, old: JsonObject) -> list[FieldError]:
    topology, had = new.get("nodeTopology"), old.get("nodeTopology")
    found = immutable(topology, had, "nodeTopology", selector_value(topology))
    return found + immutable(new.get("storageClassName"), old.get("storageClassName"), "storageClassName")

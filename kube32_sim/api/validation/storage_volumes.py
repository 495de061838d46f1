"""Validation of PersistentVolume and PersistentVolumeClaim.  Rules, order and words are upstream's core validation."""

from __future__ import annotations

from typing import Any

from kube32_sim.api.errors import FieldError, forbidden_field, invalid_value, not_supported, required
from kube32_sim.api.validation import names
from kube32_sim.api.validation.config_limits import nanos, non_negative_quantity, validate_resource_name
from kube32_sim.api.validation.workloads_common import immutable, validate_label_selector

JsonObject = dict[str, Any]

MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_RECLAIM = ("Delete", "Recycle", "Retain")
_VOLUME_MODES = ("Block", "Filesystem")
_ONE_POD = "may not use ReadWriteOncePod with other access modes"
_NOT_POSITIVE = "must be greater than zero"
_SPEC_FIELDS = frozenset(
    (
        "accessModes",
        "capacity",
        "claimRef",
        "mountOptions",
        "nodeAffinity",
        "persistentVolumeReclaimPolicy",
        "storageClassName",
        "volumeAttributesClassName",
        "volumeMode",
    )
)


def source_of(spec: JsonObject) -> list[str]:
    """The fields that say what kind of volume a PersistentVolume is."""
    return sorted(spec.keys() - _SPEC_FIELDS)


def _access_modes(spec: JsonObject, path: str, missing: str) -> list[FieldError]:
    modes = spec.get("accessModes") or []
    found = [] if modes else [required(path, missing)]
    found += [not_supported(path, mode, MODES) for mode in modes if mode not in MODES]
    if len(modes) > 1 and "ReadWriteOncePod" in modes:
        found.append(forbidden_field(path, _ONE_POD))
    return found


def validate_persistent_volume(obj: JsonObject) -> list[FieldError]:
    spec = obj["spec"]
    found = _access_modes(spec, "spec.accessModes", "")
    capacity = spec.get("capacity") or {}
    if not capacity:
        found.append(required("spec.capacity"))
    elif "storage" not in capacity or len(capacity) > 1:
        found.append(not_supported("spec.capacity", dict(sorted(capacity.items())), ("storage",)))
    for name in sorted(capacity):
        found += _size(capacity[name], f"spec.capacity[{name}]")
    policy = spec.get("persistentVolumeReclaimPolicy", "")
    if policy and policy not in _RECLAIM:
        found.append(not_supported("spec.persistentVolumeReclaimPolicy", policy, _RECLAIM))
    sources = source_of(spec)
    if not sources:
        found.append(required("spec", "must specify a volume type"))
    found += [forbidden_field(f"spec.{each}", "may not specify more than 1 volume type") for each in sources[1:]]
    if "hostPath" in spec:
        found += _host_path(spec["hostPath"], policy)
    if "csi" in spec:
        found += [required(f"spec.csi.{each}") for each in ("driver", "volumeHandle") if not spec["csi"].get(each)]
    if "local" in spec and not (spec.get("nodeAffinity") or {}).get("required"):
        found.append(required("spec.nodeAffinity", "Local volume requires node affinity"))
    return found + _class_and_mode(spec)


def _size(value: Any, path: str) -> list[FieldError]:
    found = non_negative_quantity(value, path)
    return found or ([invalid_value(path, str(value), _NOT_POSITIVE)] if nanos(value) == 0 else [])


def _host_path(source: JsonObject, policy: str) -> list[FieldError]:
    path = source.get("path", "")
    found = [] if path else [required("spec.hostPath.path")]
    if ".." in path.split("/"):
        found.append(invalid_value("spec.hostPath.path", path, "must not contain '..'"))
    if path == "/" and policy == "Recycle":
        found.append(
            forbidden_field("spec.persistentVolumeReclaimPolicy", "may not be 'recycle' for a hostPath mount of '/'")
        )
    return found


def _class_and_mode(spec: JsonObject) -> list[FieldError]:
    found: list[FieldError] = []
    name = spec.get("storageClassName")
    if name:
        found += [invalid_value("spec.storageClassName", name, why) for why in names.dns1123_subdomain(name)]
    mode = spec.get("volumeMode")
    if mode is not None and mode not in _VOLUME_MODES:
        found.append(not_supported("spec.volumeMode", mode, _VOLUME_MODES))
    return found


def persistent_volume_fixed(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """What a volume is made of stays; so do its mode and, once set, where it is."""
    spec, before = new["spec"], old["spec"]
    found: list[FieldError] = []
    if {each: spec[each] for each in source_of(spec)} != {each: before[each] for each in source_of(before)}:
        found.append(
            forbidden_field("spec.persistentvolumesource", "spec.persistentvolumesource is immutable after creation")
        )
    found += immutable(spec.get("volumeMode"), before.get("volumeMode"), "spec.volumeMode")
    if before.get("nodeAffinity") is not None:
        affinity = spec.get("nodeAffinity")
        found += immutable(affinity, before["nodeAffinity"], "spec.nodeAffinity")
    return found


def validate_claim(spec: JsonObject, path: str = "spec") -> list[FieldError]:
    found = _access_modes(spec, f"{path}.accessModes", "at least 1 access mode is required")
    found += validate_label_selector(spec.get("selector"), f"{path}.selector")
    requests = (spec.get("resources") or {}).get("requests") or {}
    if "storage" not in requests:
        found.append(required(f"{path}.resources[storage]"))
    else:
        at = f"{path}.resources[storage]"
        found += validate_resource_name("storage", at) + _size(requests["storage"], at)
    found += _class_and_mode(spec)
    for field in ("dataSource", "dataSourceRef"):
        source = spec.get(field)
        if source is not None:
            found += _data_source(source, f"{path}.{field}")
    return found


def _data_source(source: JsonObject, path: str) -> list[FieldError]:
    found = [required(f"{path}.{field}") for field in ("name", "kind") if not source.get(field)]
    if not source.get("apiGroup") and source.get("kind") not in ("PersistentVolumeClaim", "", None):
        why = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
        found.append(invalid_value(path, source.get("kind", ""), why))
    return found


_CLAIM_MUTABLE = ("resources", "volumeAttributesClassName")
_CLAIM_FIXED = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
)


def claim_fixed(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """A claim keeps what it asked for; its size may grow once it is bound, its volume may be set once."""
    spec, before = dict(new["spec"]), dict(old["spec"])
    if not before.get("volumeName"):
        spec.pop("volumeName", None)
    if "storageClassName" not in before:
        spec.pop("storageClassName", None)
    bound = (old.get("status") or {}).get("phase") == "Bound"
    found: list[FieldError] = []
    left, right = (_fixed_part(each, bound) for each in (spec, before))
    if left != right:
        found.append(forbidden_field("spec", _CLAIM_FIXED))
    asked, had = _storage(new["spec"]), _storage(old["spec"])
    if bound and asked is not None and had is not None and nanos(asked) < nanos(had):
        capacity = ((old.get("status") or {}).get("capacity") or {}).get("storage")
        if capacity is None or nanos(asked) <= nanos(capacity):
            why = "field can not be less than status.capacity"
            found.append(forbidden_field("spec.resources.requests.storage", why))
    return found


def _fixed_part(spec: JsonObject, bound: bool) -> JsonObject:
    return {key: value for key, value in spec.items() if not (bound and key in _CLAIM_MUTABLE)}


def _storage(spec: JsonObject) -> Any:
    return ((spec.get("resources") or {}).get("requests") or {}).get("storage")


def claim_warnings(spec: JsonObject, path: str = "spec") -> list[str]:
    """Sizes in fractions of bytes are taken, and mean nothing."""
    found: list[str] = []
    resources = spec.get("resources") or {}
    for field in ("requests", "limits"):
        value = (resources.get(field) or {}).get("storage")
        if value is not None and nanos(value) % 10**9:
            at = f"{path}.resources.{field}[storage]"
            found.append(f'{at}: fractional byte value "{value}" is invalid, must be an integer')
    return found

"""Validation of PersistentVolume.  Rules, order and words are upstream's core validation."""

from __future__ import annotations

import posixpath
from typing import Any

from kube32_sim.api.errors import FieldError, forbidden_field, invalid_value, not_supported, required
from kube32_sim.api.quantity import NANO
from kube32_sim.api.validation.config_limits import nanos
from kube32_sim.api.validation.node_labels import node_affinity_warnings
from kube32_sim.api.validation.pod_scheduling import validate_node_selector
from kube32_sim.api.validation.storage_claims import claim_warnings as claim_warnings
from kube32_sim.api.validation.storage_claims import deprecated_class
from kube32_sim.api.validation.storage_claims import validate_claim as validate_claim
from kube32_sim.api.validation.storage_common import VOLUME_MODES, access_modes, class_name, positive
from kube32_sim.api.validation.storage_sources import SOURCES, source_of, validate_sources
from kube32_sim.api.validation.workloads_common import IMMUTABLE, immutable

JsonObject = dict[str, Any]

_RECLAIM = ("Delete", "Recycle", "Retain")
_INLINE = "may not be specified in the context of inline volumes"


def validate_persistent_volume(obj: JsonObject) -> list[FieldError]:
    spec = obj["spec"]
    found = [] if spec.get("accessModes") else [required("spec.accessModes")]
    found += access_modes(spec, "spec.accessModes")
    found += _capacity(spec.get("capacity") or {})
    policy = spec.get("persistentVolumeReclaimPolicy", "")
    if policy and policy not in _RECLAIM:
        found.append(not_supported("spec.persistentVolumeReclaimPolicy", policy, _RECLAIM))
    found += _node_affinity(spec.get("nodeAffinity"), "spec.nodeAffinity")
    found += validate_sources(spec, obj["metadata"].get("name", ""), "spec")
    if policy == "Recycle" and _is_root((spec.get("hostPath") or {}).get("path", "")):
        why = "may not be 'recycle' for a hostPath mount of '/'"
        found.append(forbidden_field("spec.persistentVolumeReclaimPolicy", why))
    found += class_name(spec.get("storageClassName"), "spec.storageClassName")
    mode = spec.get("volumeMode")
    if mode is not None and mode not in VOLUME_MODES:
        found.append(not_supported("spec.volumeMode", mode, VOLUME_MODES))
    return found + _attributes_class(spec)


def _is_root(path: str) -> bool:
    return bool(path) and posixpath.normpath(path) in ("/", "//")


def _capacity(capacity: JsonObject) -> list[FieldError]:
    found = [] if capacity else [required("spec.capacity")]
    if "storage" not in capacity or len(capacity) > 1:
        found.append(not_supported("spec.capacity", dict(sorted(capacity.items())) or None, ("storage",)))
    for name in sorted(capacity):
        path, value = f"spec.capacity[{name}]", capacity[name]
        if nanos(value) < 0:
            whole = -(-nanos(value) // NANO)  # upstream rounds away from nothing
            found.append(invalid_value(path, whole, "must be a valid resource quantity"))
        found += positive(value, path)
    return found


def _node_affinity(affinity: JsonObject | None, path: str) -> list[FieldError]:
    if affinity is None:
        return []
    needed = affinity.get("required")
    if needed is None:
        return [required(f"{path}.required", "must specify required node constraints")]
    return validate_node_selector(needed, f"{path}.required")


def _attributes_class(spec: JsonObject) -> list[FieldError]:
    name, path = spec.get("volumeAttributesClassName"), "spec.volumeAttributesClassName"
    if name is None:
        return []
    found = class_name(name, path) if name else [required(path, "an empty string is disallowed")]
    if spec.get("csi") is None:
        found.append(required("spec.csi", "has to be specified when using volumeAttributesClassName"))
    return found


def validate_inline(spec: JsonObject, path: str) -> list[FieldError]:
    """Failures of a volume that is described within a VolumeAttachment."""
    found = [forbidden_field(f"{path}.{field}", _INLINE) for field in ("claimRef", "capacity") if spec.get(field)]
    if spec.get("csi") is None:
        found.append(required(f"{path}.csi", "has to be specified in the context of inline volumes"))
    if not spec.get("accessModes"):
        found.append(required(f"{path}.accessModes"))
    found += access_modes(spec, f"{path}.accessModes")
    if spec.get("persistentVolumeReclaimPolicy", "Retain") not in ("", "Retain"):
        why = "may only be Retain in the context of inline volumes"
        found.append(forbidden_field(f"{path}.persistentVolumeReclaimPolicy", why))
    if spec.get("nodeAffinity") is not None:
        found.append(forbidden_field(f"{path}.nodeAffinity", _INLINE))
    found += validate_sources(spec, "", path)
    if spec.get("storageClassName"):
        found.append(forbidden_field(f"{path}.storageClassName", _INLINE))
    return found


def persistent_volume_fixed(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """What a volume is made of stays; so do its mode and, once set, where it is.

    (Upstream tells of mode and place without the spec they are in.)
    """
    spec, before = new["spec"], old["spec"]
    found: list[FieldError] = []
    if _fixed_source(spec, before) != source_of(before):
        why = "spec.persistentvolumesource is immutable after creation"
        found.append(forbidden_field("spec.persistentvolumesource", why))
    found += immutable(spec.get("volumeMode"), before.get("volumeMode"), "volumeMode")
    affinity, had = spec.get("nodeAffinity"), before.get("nodeAffinity")
    if had is not None and affinity != had:
        why = f"{IMMUTABLE}, except for updating from beta label to GA"
        found.append(invalid_value("nodeAffinity", _affinity_value(affinity), why))
    if before.get("volumeAttributesClassName") is not None and spec.get("volumeAttributesClassName") is None:
        why = "update from non-nil value to nil is forbidden"
        found.append(forbidden_field("spec.volumeAttributesClassName", why))
    return found


def _fixed_source(spec: JsonObject, before: JsonObject) -> JsonObject:
    """A secret for growing may come later."""
    source, added = source_of(spec), "controllerExpandSecretRef"
    csi, had = source.get("csi"), before.get("csi")
    if csi is not None and had is not None and added not in had and added in csi:
        source["csi"] = {key: value for key, value in csi.items() if key != added}
    return source


def _affinity_value(affinity: JsonObject | None) -> Any:
    """Node affinity as Go prints its internal type."""
    if affinity is None:
        return None
    terms = (affinity.get("required") or {}).get("nodeSelectorTerms")
    shown = terms and [
        {field: _requirements(term.get(field[0].lower() + field[1:])) for field in ("MatchExpressions", "MatchFields")}
        for term in terms
    ]
    return {"Required": None if "required" not in affinity else {"NodeSelectorTerms": shown}}


def _requirements(given: list[JsonObject] | None) -> Any:
    return given and [
        {"Key": each.get("key", ""), "Operator": each.get("operator", ""), "Values": each.get("values")}
        for each in given
    ]


_RECYCLE = "The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning."
_OLD_OPTIONS = "volume.beta.kubernetes.io/mount-options"
_GONE = {
    "cephfs": ("v1.28", "v1.31"),
    "photonPersistentDisk": ("v1.11", "v1.16"),
    "scaleIO": ("v1.16", "v1.22"),
    "storageos": ("v1.22", "v1.25"),
    "glusterfs": ("v1.25", "v1.26"),
    "flocker": ("v1.22", "v1.25"),
    "quobyte": ("v1.22", "v1.25"),
    "rbd": ("v1.28", "v1.31"),
}
"""Sources that no kubelet mounts any more: since when deprecated, since when gone."""


def volume_warnings(obj: JsonObject) -> list[str]:
    annotations, spec = obj["metadata"].get("annotations") or {}, obj["spec"]
    found = deprecated_class(obj)
    if _OLD_OPTIONS in annotations:
        why = 'deprecated since v1.31; use "mountOptions" attribute instead'
        found.append(f"metadata.annotations[{_OLD_OPTIONS}]: {why}")
    if spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        found.append(f"spec.persistentVolumeReclaimPolicy: {_RECYCLE}")
    found += node_affinity_warnings(spec.get("nodeAffinity"), "spec.nodeAffinity")
    for kind in SOURCES:
        if kind in _GONE and spec.get(kind) is not None:
            since, gone = _GONE[kind]
            shown = "storageOS" if kind == "storageos" else kind
            found.append(f"spec.{shown}: deprecated in {since}, non-functional in {gone}+")
    return found

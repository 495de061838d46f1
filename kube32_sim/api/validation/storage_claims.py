"""Validation of PersistentVolumeClaim.  Rules, order and words are upstream's core validation."""

from __future__ import annotations

from typing import Any

from kube32_sim.api.classes import OLD_STORAGE_CLASS
from kube32_sim.api.errors import FieldError, forbidden_field, invalid_value, not_supported, required
from kube32_sim.api.quantity import NANO
from kube32_sim.api.validation import names
from kube32_sim.api.validation.config_limits import nanos
from kube32_sim.api.validation.storage_common import VOLUME_MODES, access_modes, class_name, positive
from kube32_sim.api.validation.workloads_common import immutable, validate_label_selector

JsonObject = dict[str, Any]

_SNAPSHOTS = "snapshot.storage.k8s.io"
_SIZE = "spec.resources.requests.storage"
_CLASS = "spec.volumeAttributesClassName"


def validate_claim(spec: JsonObject, path: str = "spec") -> list[FieldError]:
    found: list[FieldError] = []
    if not spec.get("accessModes"):
        found.append(required(f"{path}.accessModes", "at least 1 access mode is required"))
    found += validate_label_selector(spec.get("selector"), f"{path}.selector")
    found += access_modes(spec, f"{path}.accessModes")
    size, at = _size(spec), f"{path}.resources[storage]"
    found += [required(at)] if size is None else positive(size, at)
    found += class_name(spec.get("storageClassName"), f"{path}.storageClassName")
    mode = spec.get("volumeMode")
    if mode is not None and mode not in VOLUME_MODES:
        found.append(not_supported(f"{path}.volumeMode", mode, VOLUME_MODES))
    found += _data_sources(spec, path)
    return found + class_name(spec.get("volumeAttributesClassName"), f"{path}.volumeAttributesClassName")


def _size(spec: JsonObject) -> Any:
    return ((spec.get("resources") or {}).get("requests") or {}).get("storage")


def _data_sources(spec: JsonObject, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None:
        found += _data_source(source, f"{path}.dataSource")
    if reference is not None:
        at, namespace = f"{path}.dataSourceRef", reference.get("namespace", "")
        found += _data_source(reference, at)
        whys = names.dns1123_label(namespace) if namespace else ()
        found += [invalid_value(f"{at}.namespace", namespace, why) for why in whys]
        if source is not None and namespace:
            why = "may not be specified when dataSourceRef.namespace is specified"
            found.append(invalid_value(path, {}, why))
        elif source is not None and any(source.get(key) != reference.get(key) for key in ("apiGroup", "kind", "name")):
            found.append(invalid_value(path, {}, "must match dataSourceRef"))
    return found


def _data_source(source: JsonObject, path: str) -> list[FieldError]:
    found = [required(f"{path}.{field}") for field in ("name", "kind") if not source.get(field)]
    group, kind = source.get("apiGroup", ""), source.get("kind", "")
    if not group and kind != "PersistentVolumeClaim":
        why = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
        found.append(invalid_value(path, kind, why))
    whys = names.dns1123_subdomain(group) if group else ()
    return found + [invalid_value(f"{path}.apiGroup", group, why) for why in whys]


def agree_on_source(spec: JsonObject, before: JsonObject | None) -> None:
    """`dataSource` is the old form of `dataSourceRef`: what one says the other says too, within a namespace.

    A new claim's old form names a claim or a snapshot or is dropped; its new form stays within the namespace or is.
    """
    had = before or {}
    if not had.get("dataSource") and not had.get("dataSourceRef"):
        if not _is_old_kind(spec.get("dataSource")):
            spec.pop("dataSource", None)
        if (spec.get("dataSourceRef") or {}).get("namespace"):
            spec.pop("dataSourceRef")
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None and reference is None:
        spec["dataSourceRef"] = dict(source)
    elif reference is not None and source is None and not reference.get("namespace"):
        spec["dataSource"] = dict(reference)


def _is_old_kind(source: JsonObject | None) -> bool:
    if source is None:
        return True
    group, kind = source.get("apiGroup", ""), source.get("kind", "")
    return (group, kind) in (("", "PersistentVolumeClaim"), (_SNAPSHOTS, "VolumeSnapshot"))


_FIXED = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"


def claim_fixed(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """A claim keeps what it asked for; its size may grow once it is bound, its volume and class may be set once."""
    spec, before = dict(new["spec"]), dict(old["spec"])
    found = _class_annotation(new, old, spec, before)
    if not before.get("volumeName"):
        spec.pop("volumeName", None)
        before.pop("volumeName", None)
    if (new.get("status") or {}).get("phase") == "Bound":
        spec["resources"] = _sized_as(spec, before)
        if spec.get("volumeAttributesClassName") is not None:
            spec.pop("volumeAttributesClassName")
            before.pop("volumeAttributesClassName", None)
    if _given(spec) != _given(before):
        found.append(forbidden_field("spec", _FIXED))
    found += _smaller(new, old)
    found += immutable(new["spec"].get("volumeMode"), old["spec"].get("volumeMode"), "volumeMode")
    return found + _attributes_class_fixed(new["spec"], old["spec"])


def _given(spec: JsonObject) -> JsonObject:
    return {key: value for key, value in spec.items() if value not in ({}, [])}


def _class_annotation(new: JsonObject, old: JsonObject, spec: JsonObject, before: JsonObject) -> list[FieldError]:
    """The class was once an annotation; it may become the field of the same value, and a missing one may be set."""
    name, had = _annotation(new), _annotation(old)
    if "storageClassName" in before or "storageClassName" not in spec:
        return _annotation_fixed(name, had)
    if had is None:
        spec.pop("storageClassName")
        return _annotation_fixed(name, had)
    if spec["storageClassName"] == had:
        spec.pop("storageClassName")
        return [] if name is None else _annotation_fixed(name, had)
    return _annotation_fixed(name, had)


def _annotation(claim: JsonObject) -> str | None:
    return (claim["metadata"].get("annotations") or {}).get(OLD_STORAGE_CLASS)


def _annotation_fixed(name: str | None, had: str | None) -> list[FieldError]:
    return immutable(name or "", had or "", f"metadata.annotations.{OLD_STORAGE_CLASS}")


def _sized_as(spec: JsonObject, before: JsonObject) -> JsonObject:
    """Resources of a bound claim as if it still asked for the size it had."""
    resources = dict(spec.get("resources") or {})
    size = _size(before)
    if resources.get("requests") and size is not None:
        resources["requests"] = {**resources["requests"], "storage": size}
    return resources


def _smaller(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """A size that could not be reached may be taken back, but not below what the volume has."""
    asked, had = _nanos(_size(new["spec"])), _nanos(_size(old["spec"]))
    got = _nanos(((old.get("status") or {}).get("capacity") or {}).get("storage"))
    return (
        [forbidden_field(_SIZE, "field can not be less than status.capacity")] if asked < had and asked <= got else []
    )


def _nanos(size: Any) -> int:
    return 0 if size is None else nanos(size)


def _attributes_class_fixed(spec: JsonObject, before: JsonObject) -> list[FieldError]:
    name, had = spec.get("volumeAttributesClassName"), before.get("volumeAttributesClassName")
    if name == had or had is None or name:
        return []
    to = "nil" if name is None else "an empty string"
    return [forbidden_field(_CLASS, f"update from non-nil value to {to} is forbidden")]


_RESIZES = (
    "ControllerResizeInProgress",
    "ControllerResizeInfeasible",
    "NodeResizeInProgress",
    "NodeResizeInfeasible",
    "NodeResizePending",
)


def validate_claim_status(status: JsonObject) -> list[FieldError]:
    found: list[FieldError] = []
    for field in ("capacity", "allocatedResources"):
        for name, value in sorted((status.get(field) or {}).items()):
            if nanos(value) < 0:
                whole = -(-nanos(value) // NANO)
                path = f"status.{field}[{name}]"
                found.append(invalid_value(path, whole, "must be a valid resource quantity"))
    path = "status.allocatedResourceStatus"
    for name, state in sorted((status.get("allocatedResourceStatuses") or {}).items()):
        if "/" not in name and name != "storage":
            found.append(not_supported(path, name, ("storage",)))
        if state not in _RESIZES:
            found.append(not_supported(path, name, sorted(_RESIZES)))
    return found


def deprecated_class(obj: JsonObject) -> list[str]:
    """Of a claim or a volume: that it names its class as was the use before there was a field."""
    if _annotation(obj) is None:
        return []
    return [
        f'metadata.annotations[{OLD_STORAGE_CLASS}]: deprecated since v1.8; use "storageClassName" attribute instead'
    ]


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

"""Validation of a resize: what may change through the subresource of that name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kube32_sim.api.errors import FieldError, forbidden_field, invalid_value
from kube32_sim.api.strategies.pod_qos import qos_class
from kube32_sim.api.validation.pod import MIRROR, validate_pod_object
from kube32_sim.api.validation.pod_update import ratchet

JsonObject = dict[str, Any]

_RESIZABLE = ("cpu", "memory")


def validate_resize(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """Only cpu and memory change, none of them is taken away, and the QoS class stays."""
    spec, before = new["spec"], old["spec"]
    if MIRROR in (old["metadata"].get("annotations") or {}):
        return [forbidden_field("", "static pods cannot be resized")]
    if (before.get("os") or {}).get("name") == "windows":
        return [forbidden_field("", "windows pods cannot be resized")]
    found = validate_pod_object(new, ratchet(old))
    if old.get("status", {}).get("qosClass", qos_class(before)) != qos_class(spec):
        why = "Pod QOS Class may not change as a result of resizing"
        found.append(invalid_value("spec", new.get("status", {}).get("qosClass", ""), why))
    found += _validate_pod_level(spec, before)
    moved = [
        wrong
        for field in ("containers", "initContainers")
        for wrong in _validate_same_containers(spec.get(field) or (), before.get(field) or (), field)
    ]
    if moved:
        return found + moved
    pairs = {
        field: list(zip(spec.get(field) or (), before.get(field) or (), strict=True))
        for field in ("initContainers", "containers")
    }
    for field, both in pairs.items():
        for index, (now, then) in enumerate(both):
            found += _validate_kept(now, then, f"spec.{field}[{index}].resources")
    for now, then in pairs["containers"]:
        found += _validate_rest(now, then, "spec", "only cpu and memory resources are mutable")
    why = "only cpu and memory resources for init or sidecar containers are mutable"
    for index, (now, then) in enumerate(pairs["initContainers"]):
        found += _validate_rest(now, then, f"spec.initContainers[{index}]", why)
    return found


def _validate_same_containers(new: Sequence[JsonObject], old: Sequence[JsonObject], field: str) -> list[FieldError]:
    if len(new) != len(old):
        return [forbidden_field(f"spec.{field}", f"{field} may not be added or removed on resize")]
    return [
        forbidden_field(f"spec.{field}[{index}].name", f"{field} may not be renamed or reordered on resize")
        for index, (now, then) in enumerate(zip(new, old, strict=True))
        if now.get("name") != then.get("name")
    ]


def _validate_pod_level(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """What the pod as a whole has: of that, too, nothing is taken away, and only some of it changes."""
    resources, before = new.get("resources"), old.get("resources")
    if before is not None and resources is None:
        return [forbidden_field("spec.resources", "pod-level resources cannot be removed")]
    found = _validate_kept(new, old, "spec.resources", "pod-level resource")
    shown = {
        field: {key: value for key, value in _fixed(each)["resources"].items() if value}
        for field, each in (("new", new), ("old", old))
    }
    if shown["new"] != shown["old"]:
        found.append(forbidden_field("spec", "only cpu and memory resources are mutable at pod-level"))
    return found


def _validate_kept(new: JsonObject, old: JsonObject, path: str, what: str = "resource") -> list[FieldError]:
    resources, before = new.get("resources") or {}, old.get("resources") or {}
    return [
        forbidden_field(f"{path}.{kind}", f"{what} {kind} cannot be removed")
        for kind in ("requests", "limits")
        if (before.get(kind) or {}).keys() - (resources.get(kind) or {}).keys()
    ]


def _validate_rest(new: JsonObject, old: JsonObject, path: str, why: str) -> list[FieldError]:
    return [] if _fixed(new) == _fixed(old) else [forbidden_field(path, why)]


def _fixed(container: JsonObject) -> JsonObject:
    """All of a container but what a resize may change."""
    resources = container.get("resources") or {}
    kept = {
        kind: {name: amount for name, amount in (resources.get(kind) or {}).items() if name not in _RESIZABLE}
        for kind in ("requests", "limits")
    }
    return {**container, "resources": kept}

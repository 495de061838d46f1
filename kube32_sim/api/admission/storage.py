"""Claims, volumes and ingresses: protected while in use, and of the default class where they name none."""

from __future__ import annotations

from typing import Any

from kube32_sim.api.admission.config import AdmissionConfig
from kube32_sim.api.admission.refusal import refuse
from kube32_sim.api.classes import (
    DEFAULT_INGRESS,
    DEFAULT_STORAGE,
    OLD_INGRESS_CLASS,
    OLD_STORAGE_CLASS,
    is_default,
    storage_class_of,
)
from kube32_sim.api.quantity import parse
from kube32_sim.api.strategies.base import Context

JsonObject = dict[str, Any]

_PROTECTION = {
    "persistentvolumeclaims": "kubernetes.io/pvc-protection",
    "persistentvolumes": "kubernetes.io/pv-protection",
    "volumeattributesclasses": "kubernetes.io/vac-protection",
}


def protect(verb: str, obj: JsonObject, old: JsonObject | None, context: Context, config: AdmissionConfig) -> None:
    """StorageObjectInUseProtection: a finalizer keeps what may be in use."""
    if verb == "create":
        finalizers = obj["metadata"].setdefault("finalizers", [])
        if _PROTECTION[context.row.plural] not in finalizers:
            finalizers.append(_PROTECTION[context.row.plural])


def _default_of(storage: tuple[str, str], marks: tuple[str, ...], context: Context) -> str | None:
    """The default class's name: the newest of those marked so, then the first by name."""
    marked = [each for each in context.cluster.list(storage) if is_default(each, marks)]
    newest = max((each["metadata"].get("creationTimestamp", "") for each in marked), default=None)
    names = [each["metadata"]["name"] for each in marked if each["metadata"].get("creationTimestamp", "") == newest]
    return min(names, default=None)


def default_class(
    verb: str, obj: JsonObject, old: JsonObject | None, context: Context, config: AdmissionConfig
) -> None:
    """DefaultStorageClass: for claims that name no class (an empty name is one: no class at all)."""
    annotations = obj["metadata"].get("annotations") or {}
    if verb != "create" or "storageClassName" in obj["spec"] or OLD_STORAGE_CLASS in annotations:
        return
    name = _default_of(("storage.k8s.io", "storageclasses"), DEFAULT_STORAGE, context)
    if name is not None:
        obj["spec"]["storageClassName"] = name


def default_ingress_class(
    verb: str, obj: JsonObject, old: JsonObject | None, context: Context, config: AdmissionConfig
) -> None:
    """DefaultIngressClass: for ingresses that name no class."""
    annotations = obj["metadata"].get("annotations") or {}
    spec = obj.setdefault("spec", {})
    if verb != "create" or "ingressClassName" in spec or OLD_INGRESS_CLASS in annotations:
        return
    name = _default_of(("networking.k8s.io", "ingressclasses"), DEFAULT_INGRESS, context)
    if name is not None:
        spec["ingressClassName"] = name


_STORAGE_CLASSES = ("storage.k8s.io", "storageclasses")
_NO_GROWTH = (
    "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize"
)


def check_growth(obj: JsonObject, old: JsonObject, context: Context) -> None:
    """PersistentVolumeClaimResize: 403 where a claim grows that is not bound, or whose class does not let it."""
    if _size(obj) <= _size(old):
        return
    if (old.get("status") or {}).get("phase") != "Bound":
        raise refuse(context, obj, "Only bound persistent volume claims can be expanded")
    name = storage_class_of(obj)
    found = context.cluster.get(_STORAGE_CLASSES, "", name) if name and name == storage_class_of(old) else None
    if found is None or not found.get("allowVolumeExpansion"):
        raise refuse(context, obj, _NO_GROWTH)


def _size(claim: JsonObject) -> int:
    requests = (claim["spec"].get("resources") or {}).get("requests") or {}
    return parse(requests["storage"]).nanos if "storage" in requests else 0

"""Claims, volumes and ingresses: protected while in use, and of the default class where they name none."""

from __future__ import annotations

from typing import Any

from kube32_sim.api.admission.config import AdmissionConfig
from kube32_sim.api.strategies.base import Context

JsonObject = dict[str, Any]

_PROTECTION = {
    "persistentvolumeclaims": "kubernetes.io/pvc-protection",
    "persistentvolumes": "kubernetes.io/pv-protection",
}
_DEFAULT_STORAGE = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
_DEFAULT_INGRESS = ("ingressclass.kubernetes.io/is-default-class",)
_OLD_STORAGE_CLASS = "volume.beta.kubernetes.io/storage-class"
_OLD_INGRESS_CLASS = "kubernetes.io/ingress.class"


def protect(verb: str, obj: JsonObject, old: JsonObject | None, context: Context, config: AdmissionConfig) -> None:
    """StorageObjectInUseProtection: a finalizer keeps what may be in use."""
    if verb == "create":
        finalizers = obj["metadata"].setdefault("finalizers", [])
        if _PROTECTION[context.row.plural] not in finalizers:
            finalizers.append(_PROTECTION[context.row.plural])


def _default_of(storage: tuple[str, str], annotations: tuple[str, ...], context: Context) -> str | None:
    """The default class's name: the newest of those marked so, then the first by name."""
    marked = [
        each
        for each in context.cluster.list(storage)
        if any((each["metadata"].get("annotations") or {}).get(key) == "true" for key in annotations)
    ]
    newest = max((each["metadata"].get("creationTimestamp", "") for each in marked), default=None)
    names = [each["metadata"]["name"] for each in marked if each["metadata"].get("creationTimestamp", "") == newest]
    return min(names, default=None)


def default_class(
    verb: str, obj: JsonObject, old: JsonObject | None, context: Context, config: AdmissionConfig
) -> None:
    """DefaultStorageClass: for claims that name no class (an empty name is one: no class at all)."""
    annotations = obj["metadata"].get("annotations") or {}
    if verb != "create" or "storageClassName" in obj["spec"] or _OLD_STORAGE_CLASS in annotations:
        return
    name = _default_of(("storage.k8s.io", "storageclasses"), _DEFAULT_STORAGE, context)
    if name is not None:
        obj["spec"]["storageClassName"] = name


def default_ingress_class(
    verb: str, obj: JsonObject, old: JsonObject | None, context: Context, config: AdmissionConfig
) -> None:
    """DefaultIngressClass: for ingresses that name no class."""
    annotations = obj["metadata"].get("annotations") or {}
    spec = obj.setdefault("spec", {})
    if verb != "create" or "ingressClassName" in spec or _OLD_INGRESS_CLASS in annotations:
        return
    name = _default_of(("networking.k8s.io", "ingressclasses"), _DEFAULT_INGRESS, context)
    if name is not None:
        spec["ingressClassName"] = name

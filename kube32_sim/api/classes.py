"""How objects name their class, and how a class says that it is the default: also by the annotations of old."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

JsonObject = dict[str, Any]

OLD_STORAGE_CLASS = "volume.beta.kubernetes.io/storage-class"
OLD_INGRESS_CLASS = "kubernetes.io/ingress.class"

DEFAULT_STORAGE = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")
DEFAULT_ATTRIBUTES = ("volumeattributesclass.alpha.kubernetes.io/is-default-class",)
DEFAULT_INGRESS = ("ingressclass.kubernetes.io/is-default-class",)


def storage_class_of(obj: JsonObject) -> str:
    """The class of a volume or a claim; "" for none.  The annotation comes first, even an empty one (upstream's
    `GetPersistentVolumeClass`, `GetPersistentVolumeClaimClass`).
    """
    annotations = obj["metadata"].get("annotations") or {}
    if OLD_STORAGE_CLASS in annotations:
        return str(annotations[OLD_STORAGE_CLASS])
    return str((obj.get("spec") or {}).get("storageClassName") or "")


def is_default(obj: JsonObject, marks: Iterable[str]) -> bool:
    """Whether a class has one of the `marks` of the default."""
    annotations = obj["metadata"].get("annotations") or {}
    return any(annotations.get(mark) == "true" for mark in marks)

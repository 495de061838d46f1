"""Claims, volumes and classes that are being deleted go once nothing uses them: their finalizers are taken away then.

Admission gives each its finalizer (`api/admission/storage.py`); without this loop none could ever be deleted.

    PersistentVolumeClaim     in use while a pod that has a node names it
    PersistentVolume          in use while it is Bound
    VolumeAttributesClass     in use while a claim or a volume names it

The rules are those of Kubernetes' protection controllers.  Keys: `claim/NAMESPACE/NAME`, `volume/NAME`, `class/NAME`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kube32_sim.api.pod_state import terminating
from kube32_sim.client import PODS, Resource
from kube32_sim.runtime.actions import Patch, Plan, View

JsonObject = dict[str, Any]

CLAIMS = Resource("", "v1", "persistentvolumeclaims")
VOLUMES = Resource("", "v1", "persistentvolumes")
CLASSES = Resource("storage.k8s.io", "v1", "volumeattributesclasses")
_FINALIZERS = {
    CLAIMS: "kubernetes.io/pvc-protection",
    VOLUMES: "kubernetes.io/pv-protection",
    CLASSES: "kubernetes.io/vac-protection",
}


def _held(resource: Resource, obj: JsonObject | None) -> bool:
    """Whether it is being deleted and its protection is what keeps it, or is among what does."""
    return obj is not None and terminating(obj) and _FINALIZERS[resource] in obj["metadata"].get("finalizers", ())


def _release(resource: Resource, obj: JsonObject) -> Plan:
    metadata = obj["metadata"]
    others = [each for each in metadata["finalizers"] if each != _FINALIZERS[resource]]
    told = {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"], "finalizers": others}
    return Plan((Patch(resource, metadata.get("namespace", ""), metadata["name"], {"metadata": told}),))


def claims_of(pod: JsonObject) -> Iterable[str]:
    """Names of the claims that a pod mounts, those made for its ephemeral volumes too."""
    for volume in (pod.get("spec") or {}).get("volumes") or ():
        if "persistentVolumeClaim" in volume:
            yield volume["persistentVolumeClaim"]["claimName"]
        elif "ephemeral" in volume:
            yield f"{pod['metadata']['name']}-{volume['name']}"


def plan_claim(claim: JsonObject | None, pods: Iterable[JsonObject]) -> Plan:
    """claim; pods of its namespace.  A pod without a node does not count: no kubelet starts it with such a claim."""
    if claim is None or not _held(CLAIMS, claim):
        return Plan()
    name = claim["metadata"]["name"]
    used = any(pod["spec"].get("nodeName") and name in claims_of(pod) for pod in pods)
    return Plan() if used else _release(CLAIMS, claim)


def plan_volume(volume: JsonObject | None) -> Plan:
    """A PersistentVolume."""
    if volume is None or not _held(VOLUMES, volume) or (volume.get("status") or {}).get("phase") == "Bound":
        return Plan()
    return _release(VOLUMES, volume)


def class_named(obj: JsonObject) -> str:
    """The VolumeAttributesClass of a claim (the one it has, or is to get) or of a volume; "" where it names none."""
    status = obj.get("status") or {}
    return obj["spec"].get("volumeAttributesClassName") or status.get("currentVolumeAttributesClassName") or ""


def plan_class(found: JsonObject | None, users: Iterable[JsonObject]) -> Plan:
    """A VolumeAttributesClass; all claims and volumes."""
    if found is None or not _held(CLASSES, found):
        return Plan()
    name = found["metadata"]["name"]
    return Plan() if any(class_named(each) == name for each in users) else _release(CLASSES, found)


class VolumeProtection:
    """See `runtime.actions.Loop`."""

    name = "volume-protection"
    watches = (CLAIMS, VOLUMES, CLASSES, PODS)

    def keys(self, resource: Resource, obj: JsonObject, view: View) -> Iterable[str]:
        metadata = obj["metadata"]
        if resource == PODS:
            names = list(claims_of(obj))
            if names and view.get(PODS, metadata["namespace"], metadata["name"]) is None:
                yield from (f"claim/{metadata['namespace']}/{name}" for name in names)
        elif resource == CLASSES:
            yield f"class/{metadata['name']}"
        else:
            yield (
                f"claim/{metadata['namespace']}/{metadata['name']}"
                if resource == CLAIMS
                else f"volume/{metadata['name']}"
            )
            if class_named(obj):
                yield f"class/{class_named(obj)}"

    def plan(self, key: str, view: View, now: float) -> Plan:
        kind, _, rest = key.partition("/")
        if kind == "claim":
            namespace, _, name = rest.partition("/")
            claim = view.get(CLAIMS, namespace, name)
            return plan_claim(claim, view.list(PODS, namespace) if _held(CLAIMS, claim) else ())
        if kind == "volume":
            return plan_volume(view.get(VOLUMES, "", rest))
        found = view.get(CLASSES, "", rest)
        return plan_class(found, (*view.list(CLAIMS), *view.list(VOLUMES)) if _held(CLASSES, found) else ())

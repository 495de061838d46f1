"""The scale subresource: a Scale (autoscaling/v1) made of a Deployment, ReplicaSet, StatefulSet or
ReplicationController, and put back into one.  Pure; the write itself is an ordinary update of the object.
"""

from __future__ import annotations

from typing import Any

from kube32_sim.api.errors import MODIFIED, NOT_NEGATIVE, bad_request, conflict, invalid, invalid_value
from kube32_sim.api.resources import ResourceType
from kube32_sim.api.selectors import label_selector, label_set

JsonObject = dict[str, Any]

API_VERSION, KIND = "autoscaling/v1", "Scale"
_METADATA = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


def scale_of(row: ResourceType, obj: JsonObject) -> JsonObject:
    """The Scale of an object, with apiVersion and kind; `spec.replicas` is left out where it is 0, as Go does."""
    metadata, spec = obj["metadata"], obj.get("spec") or {}
    replicas = spec.get("replicas", 1)
    return {
        "kind": KIND,
        "apiVersion": API_VERSION,
        "metadata": {key: metadata[key] for key in _METADATA if key in metadata},
        "spec": {"replicas": replicas} if replicas else {},
        "status": {"replicas": (obj.get("status") or {}).get("replicas", 0), "selector": _selector_text(row, spec)},
    }


def _selector_text(row: ResourceType, spec: JsonObject) -> str:
    selector = spec.get("selector")
    return label_set(selector).text if row.kind == "ReplicationController" else label_selector(selector).text


def apply_scale(row: ResourceType, obj: JsonObject, scale: JsonObject) -> JsonObject:
    """`obj` (changed in place) with the replicas of a decoded Scale.

    Raises ApiError: 400 for another object's Scale, 409 for one of another state, 422 for a negative number.
    """
    metadata, asked = obj["metadata"], scale.get("metadata") or {}
    name = metadata.get("name", "")
    _check_identity(metadata, asked, name)
    replicas = (scale.get("spec") or {}).get("replicas", 0)
    if replicas < 0:
        raise invalid("autoscaling", KIND, name, [invalid_value("spec.replicas", replicas, NOT_NEGATIVE)])
    version, uid = asked.get("resourceVersion", ""), asked.get("uid", "")
    if uid not in ("", metadata.get("uid")):
        why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {metadata.get('uid', '')}"
        raise conflict(row.group, f"{row.plural}/scale", name, why)
    if version not in ("", "0", metadata.get("resourceVersion")):
        raise conflict(row.group, row.plural, name, MODIFIED)
    obj.setdefault("spec", {})["replicas"] = replicas
    return obj


def _check_identity(metadata: JsonObject, asked: JsonObject, name: str) -> None:
    given = asked.get("name", "")
    if not given:
        raise bad_request(f"the name of the object ({name} based on URL) was undeterminable: name must be provided")
    if given != name:
        raise bad_request(f"the name of the object ({given}) does not match the name on the URL ({name})")
    if asked.get("namespace", metadata.get("namespace")) != metadata.get("namespace"):
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")

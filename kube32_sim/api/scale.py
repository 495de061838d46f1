"""The scale subresource: a Scale (autoscaling/v1) made of a Deployment, ReplicaSet, StatefulSet,
ReplicationController or custom object, and put back into one.  Pure; the write itself is an ordinary update of the
object.
"""

from __future__ import annotations

from typing import Any

from kube32_sim.api.customs.scaling import AccessError, number_at, text_at
from kube32_sim.api.errors import (
    MODIFIED,
    NOT_NEGATIVE,
    bad_request,
    conflict,
    invalid,
    invalid_value,
    path_not_found,
    scale_missing,
)
from kube32_sim.api.resources import ResourceType
from kube32_sim.api.selectors import label_selector, label_set

JsonObject = dict[str, Any]

API_VERSION, KIND = "autoscaling/v1", "Scale"
UNSET = -(1 << 31)
"""The replicas of a Scale that is about to be changed, where the custom object has none."""
_METADATA = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


def scale_of(row: ResourceType, obj: JsonObject, unset: int | None = None) -> JsonObject:
    """The Scale of an object, with apiVersion and kind; `spec.replicas` is left out where it is 0, as Go does.

    unset: the replicas of a custom object that does not say how many it wants; None: its Scale is refused.
    """
    if row.custom is not None:
        return _custom_scale(row, obj, unset)
    spec = obj.get("spec") or {}
    status = {"replicas": (obj.get("status") or {}).get("replicas", 0), "selector": _selector_text(row, spec)}
    return _scale(obj["metadata"], spec.get("replicas", 1), status)


def _scale(metadata: JsonObject, replicas: int, status: JsonObject) -> JsonObject:
    return {
        "kind": KIND,
        "apiVersion": API_VERSION,
        "metadata": {key: metadata[key] for key in _METADATA if key in metadata},
        "spec": {"replicas": replicas} if replicas else {},
        "status": status,
    }


def replicas_path(row: ResourceType) -> tuple[str, ...]:
    """The names of the fields that lead to the replicas of an object."""
    paths = row.custom.scale if row.custom is not None else None
    return paths.replicas if paths is not None else ("spec", "replicas")


def _custom_scale(row: ResourceType, obj: JsonObject, unset: int | None) -> JsonObject:
    """Of a custom object, by the paths that its definition gives; raises ApiError where that has no replicas."""
    paths = row.custom.scale if row.custom is not None else None
    if paths is None:
        raise path_not_found()
    try:
        replicas = number_at(obj, paths.replicas)
        status: JsonObject = {"replicas": number_at(obj, paths.status) or 0}
        selector = text_at(obj, paths.selector) if paths.selector else None
    except AccessError as error:
        raise bad_request(str(error)) from None
    if selector:
        status["selector"] = selector
    if replicas is None and unset is None:
        raise scale_missing(row.group, row.plural, obj["metadata"].get("name", ""), ".".join(("", *paths.replicas)))
    return _scale(obj["metadata"], (unset or 0) if replicas is None else replicas, status)


def _selector_text(row: ResourceType, spec: JsonObject) -> str:
    selector = spec.get("selector")
    return label_set(selector).text if row.kind == "ReplicationController" else label_selector(selector).text


def apply_scale(row: ResourceType, obj: JsonObject, scale: JsonObject) -> JsonObject:
    """`obj` (changed in place) with the replicas of a decoded Scale.

    Raises ApiError: 400 for another object's Scale and one without replicas, 409 for one of another state, 422 for a
    negative number.
    """
    metadata, asked = obj["metadata"], scale.get("metadata") or {}
    name = metadata.get("name", "")
    _check_identity(metadata, asked, name)
    replicas = (scale.get("spec") or {}).get("replicas", 0)
    if row.custom is not None and replicas == UNSET:
        raise bad_request(f'the spec replicas field ".{".".join(replicas_path(row))}" cannot be empty')
    if replicas < 0 and row.custom is None:
        raise invalid("autoscaling", KIND, name, [invalid_value("spec.replicas", replicas, NOT_NEGATIVE)])
    version, uid = asked.get("resourceVersion", ""), asked.get("uid", "")
    if uid not in ("", metadata.get("uid")):
        why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {metadata.get('uid', '')}"
        raise conflict(row.group, f"{row.plural}/scale", name, why)
    if version not in ("", "0", metadata.get("resourceVersion")):
        raise conflict(row.group, row.plural, name, MODIFIED)
    *above, last = replicas_path(row)
    part = obj
    for field in above:
        part[field] = part.get(field) or {}
        part = part[field]
    part[last] = replicas
    return obj


def _check_identity(metadata: JsonObject, asked: JsonObject, name: str) -> None:
    given = asked.get("name", "")
    if not given:
        raise bad_request(f"the name of the object ({name} based on URL) was undeterminable: name must be provided")
    if given != name:
        raise bad_request(f"the name of the object ({given}) does not match the name on the URL ({name})")
    if asked.get("namespace", metadata.get("namespace")) != metadata.get("namespace"):
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")

"""Warnings about annotations that are to steer the simulation and will not: misspelt, malformed, or in a wrong place.

And about the one that is missing where containers are to come to an end: in a cluster they would by themselves.  Which
there are is in `api/steering.py`.  The boards tell the same by events, where they come upon them.
"""

from __future__ import annotations

from typing import Any

from kube32_sim.api.admission.pod_security import TEMPLATES
from kube32_sim.api.steering import KNOWN, RUN_SECONDS, problems

JsonObject = dict[str, Any]

_PODS, _JOBS = ("", "pods"), ("batch", "jobs")
_KINDS = {_PODS: "Pod", ("", "nodes"): "Node"}


def warnings(storage: tuple[str, str], kind: str, obj: JsonObject, old: JsonObject | None) -> list[str]:
    """About a new object, or about what a change (of `old`) brings."""
    found = _problems(storage, kind, obj)
    if old is None:
        return found + _without_end(storage, obj)
    if not found:
        return found
    before = _problems(storage, kind, old)
    return [problem for problem in found if problem not in before]


def _problems(storage: tuple[str, str], kind: str, obj: JsonObject) -> list[str]:
    if storage in _KINDS:
        return problems(_KINDS[storage], obj["metadata"])
    path = TEMPLATES.get(storage)
    if path is None:
        return []
    annotations = obj["metadata"].get("annotations") or {}
    where = ".".join((*path, "metadata.annotations"))
    misplaced = [
        f"annotation {name} does nothing on a {kind}; it belongs into {where}"
        for name in annotations
        if name in KNOWN["Pod"]
    ]
    template: Any = obj
    for key in path:
        template = (template or {}).get(key)
    inside = problems("Pod", (template or {}).get("metadata") or {})
    return misplaced + [f"{where}: {problem}" for problem in inside]


def _without_end(storage: tuple[str, str], obj: JsonObject) -> list[str]:
    """Of a new Job, or of a new pod that is to end some day; that an owner has one is told where that is created."""
    if storage not in (_PODS, _JOBS) or obj["metadata"].get("ownerReferences"):
        return []
    spec = obj.get("spec") or {}
    if storage == _PODS:
        return [f"{RUN_SECONDS} is not set: the containers run until the pod is deleted"] if _lasts(obj) else []
    if spec.get("activeDeadlineSeconds") is not None or not _lasts(spec.get("template") or {}):
        return []
    return [f"spec.template.metadata.annotations: {RUN_SECONDS} is not set: the Job's pods run until they are deleted"]


def _lasts(pod: JsonObject) -> bool:
    """Whether containers of a pod, or a template, are there to end and never will (see `kubelet/behaviour.py`)."""
    spec = pod.get("spec") or {}
    if spec.get("restartPolicy") not in ("Never", "OnFailure") or spec.get("activeDeadlineSeconds") is not None:
        return False
    if RUN_SECONDS in ((pod.get("metadata") or {}).get("annotations") or {}):
        return False
    return any(not container.get("stdinOnce") for container in spec.get("containers") or ())

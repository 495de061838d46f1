"""Warnings about annotations that are to steer the simulation and will not: misspelt, malformed, or in a wrong place.

Which there are is in `api/steering.py`.  The boards tell the same by events, where they come upon them.
"""

from __future__ import annotations

from typing import Any

from kube32_sim.api.admission.pod_security import TEMPLATES
from kube32_sim.api.steering import KNOWN, problems

JsonObject = dict[str, Any]

_KINDS = {("", "pods"): "Pod", ("", "nodes"): "Node"}


def warnings(storage: tuple[str, str], kind: str, obj: JsonObject, old: JsonObject | None) -> list[str]:
    """About a new object, or about what a change (of `old`) brings."""
    found = _problems(storage, kind, obj)
    if not found or old is None:
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

"""RuntimeClass: what the class of its container runtime adds to a new pod: overhead, a node selector, tolerations."""

from __future__ import annotations

from typing import Any

from kube32_sim.api.admission.config import AdmissionConfig
from kube32_sim.api.admission.refusal import refuse
from kube32_sim.api.quantity import parse
from kube32_sim.api.strategies.base import Context

JsonObject = dict[str, Any]

RUNTIME_CLASSES = ("node.k8s.io", "runtimeclasses")


def _class_of(obj: JsonObject, context: Context) -> JsonObject:
    """The pod's class; empty where it names none.  403 for a name that is none's."""
    name = obj["spec"].get("runtimeClassName")
    if name is None:
        return {}
    found = context.cluster.get(RUNTIME_CLASSES, "", name)
    if found is None:
        raise refuse(context, obj, f'pod rejected: RuntimeClass "{name}" not found')
    return found


def mutate(verb: str, obj: JsonObject, old: JsonObject | None, context: Context, config: AdmissionConfig) -> None:
    if verb != "create":
        return
    spec, found = obj["spec"], _class_of(obj, context)
    fixed = _overhead(found)
    if fixed:
        if spec.get("overhead") and not _equal(spec["overhead"], fixed):
            raise refuse(context, obj, _DIFFERENT)
        spec["overhead"] = dict(fixed)
    scheduling = found.get("scheduling") or {}
    _select_nodes(obj, scheduling.get("nodeSelector") or {}, context)
    _tolerate(spec, scheduling.get("tolerations") or [])


_DIFFERENT = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
_WITHOUT_CLASS = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"


def _overhead(found: JsonObject) -> JsonObject:
    fixed: JsonObject = (found.get("overhead") or {}).get("podFixed") or {}
    return fixed


def _equal(one: JsonObject, other: JsonObject) -> bool:
    return {name: parse(text).nanos for name, text in one.items()} == {
        name: parse(text).nanos for name, text in other.items()
    }


def _select_nodes(obj: JsonObject, selector: JsonObject, context: Context) -> None:
    spec = obj["spec"]
    if not selector:
        return
    given = spec.get("nodeSelector") or {}
    for key, value in sorted(selector.items()):
        if given.get(key, value) != value:
            why = (
                f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; pod.spec.nodeSelector[{key}] = "
                f"{given[key]}"
            )
            raise refuse(context, obj, why)
    spec["nodeSelector"] = {**given, **selector}


def _tolerate(spec: JsonObject, tolerations: list[JsonObject]) -> None:
    given = spec.get("tolerations") or []
    added = [toleration for toleration in tolerations if toleration not in given]
    if added:
        spec["tolerations"] = [*given, *added]


def validate(obj: JsonObject, context: Context) -> None:
    """403 for overhead that is not the class's."""
    given, fixed = obj["spec"].get("overhead") or {}, _overhead(_class_of(obj, context))
    if fixed and not _equal(given, fixed):
        raise refuse(context, obj, _DIFFERENT)
    if given and not fixed:
        raise refuse(context, obj, _WITHOUT_CLASS)

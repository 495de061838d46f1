"""Pods: what becomes of one when it is created, changed, reported on and deleted.

Defaults are in `pod_defaults`, the rules on fields in `validation.pod*`; here they are put into the order of a write.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kube32_sim.api.errors import FieldError
from kube32_sim.api.strategies.base import Context, Strategy
from kube32_sim.api.strategies.pod_defaults import default_pod
from kube32_sim.api.strategies.pod_preparation import merge_label_keys, profiles_from_annotations
from kube32_sim.api.strategies.pod_qos import qos_class
from kube32_sim.api.strategies.spec import keep_all_but_status
from kube32_sim.api.validation.names import dns1123_subdomain
from kube32_sim.api.validation.pod import validate_pod
from kube32_sim.api.validation.pod import validate_pod_template as validate_pod_template
from kube32_sim.api.validation.pod_resize import validate_resize
from kube32_sim.api.validation.pod_status import pod_status_warnings, validate_pod_status
from kube32_sim.api.validation.pod_update import validate_ephemeral_update, validate_pod_update
from kube32_sim.api.validation.pod_warnings import pod_template_warnings as pod_template_warnings
from kube32_sim.api.validation.pod_warnings import pod_warnings

JsonObject = dict[str, Any]

FINISHED = ("Succeeded", "Failed")


class PodStrategy(Strategy):
    returns_deleted = True

    def default(self, obj: JsonObject) -> None:
        default_pod(obj)
        status = obj.get("status")
        if status and "podIP" in status:
            agree_on_addresses(status)

    def grace_period(self, obj: JsonObject, requested: int | None) -> int | None:
        """As asked, or the pod's own; none where no board runs it or it has ended."""
        if not obj["spec"].get("nodeName") or obj.get("status", {}).get("phase") in FINISHED:
            return 0
        period = obj["spec"].get("terminationGracePeriodSeconds", 0) if requested is None else requested
        return 1 if period < 0 else int(period)

    def prepare_create(self, obj: JsonObject, context: Context) -> None:
        obj["metadata"]["generation"] = 1
        status: JsonObject = {"phase": "Pending", "qosClass": qos_class(obj["spec"])}
        if obj["spec"].get("schedulingGates"):
            status["conditions"] = [
                {
                    "type": "PodScheduled",
                    "status": "False",
                    "lastTransitionTime": context.now,
                    "reason": "SchedulingGated",
                    "message": "Scheduling is blocked due to non-empty scheduling gates",
                }
            ]
        obj["status"] = status
        merge_label_keys(obj)
        profiles_from_annotations(obj)

    def prepare_update(self, obj: JsonObject, old: JsonObject, context: Context) -> None:
        obj["status"] = old.get("status", {})
        if context.subresource == "ephemeralcontainers":
            obj["spec"] = _with_ephemeral(obj, old)
            obj["metadata"] = _kept_metadata(obj, old)
        elif context.subresource == "resize":
            obj["spec"] = _with_resources(obj, old)
            obj["metadata"] = _kept_metadata(obj, old)
        generation = old["metadata"].get("generation", 1)
        changed = obj["spec"] != old["spec"]
        obj["metadata"]["generation"] = generation + 1 if changed else generation

    def prepare_status_update(self, obj: JsonObject, old: JsonObject, context: Context) -> None:
        """Status and metadata change, but for owners; what a report leaves out of what was observed stays."""
        keep_all_but_status(obj, old, "ownerReferences")
        status, before = obj["status"], old.get("status", {})
        for field in ("qosClass", "observedGeneration"):
            if field in before and not status.get(field):
                status[field] = before[field]
        _keep_observed(status.get("conditions") or (), before.get("conditions") or ())

    def validate_name(self, name: str, *, prefix: bool) -> list[str]:
        return dns1123_subdomain(name, prefix=prefix)

    def validate(self, obj: JsonObject, context: Context) -> list[FieldError]:
        return validate_pod(obj)

    def validate_update(self, obj: JsonObject, old: JsonObject, context: Context) -> list[FieldError]:
        if context.subresource == "ephemeralcontainers":
            return validate_ephemeral_update(obj, old)
        if context.subresource == "resize":
            return validate_resize(obj, old)
        return validate_pod_update(obj, old)

    def validate_status_update(self, obj: JsonObject, old: JsonObject, context: Context) -> list[FieldError]:
        return validate_pod_status(obj, old)

    def warnings(self, obj: JsonObject, old: JsonObject | None, context: Context) -> list[str]:
        """About new pods, and about addresses in reports: what changes a pod is hardly ever a person."""
        if context.subresource == "status":
            return pod_status_warnings(obj)
        return pod_warnings(obj) if old is None else []


def agree_on_addresses(status: JsonObject) -> None:
    """podIP rules over podIPs: a list that does not start with it becomes that one address."""
    address = status["podIP"]
    if address:
        addresses = status.get("podIPs")
        if not addresses or addresses[0].get("ip") != address:
            status["podIPs"] = [{"ip": address}]


def _keep_observed(conditions: Sequence[JsonObject], old: Sequence[JsonObject]) -> None:
    """A condition that does not say which generation it is about is about the one it was about."""
    observed: dict[str, list[int]] = {}
    for condition in old:
        observed.setdefault(condition.get("type", ""), []).append(condition.get("observedGeneration", 0))
    for condition in conditions:
        generations = observed.get(condition.get("type", ""))
        generation = generations.pop(0) if generations else 0
        if generation and not condition.get("observedGeneration"):
            condition["observedGeneration"] = generation


def _with_ephemeral(obj: JsonObject, old: JsonObject) -> JsonObject:
    spec = {key: value for key, value in old["spec"].items() if key != "ephemeralContainers"}
    if containers := obj["spec"].get("ephemeralContainers"):
        spec["ephemeralContainers"] = containers
    return spec


def _with_resources(obj: JsonObject, old: JsonObject) -> JsonObject:
    """The old spec with the resources of the new one, of the pod and of containers where those are the same."""
    spec = {key: value for key, value in old["spec"].items() if key != "resources"}
    if "resources" in obj["spec"]:
        spec["resources"] = obj["spec"]["resources"]
    for field in ("containers", "initContainers"):
        new, before = obj["spec"].get(field) or [], old["spec"].get(field) or []
        if [each.get("name") for each in new] != [each.get("name") for each in before]:
            spec[field] = new
        elif before:
            spec[field] = [_resized(now, then) for now, then in zip(new, before, strict=True)]
    return spec


def _resized(new: JsonObject, old: JsonObject) -> JsonObject:
    kept = {key: value for key, value in old.items() if key not in _RESIZED}
    return kept | {key: new[key] for key in _RESIZED if key in new}


_RESIZED = ("resources", "resizePolicy")


def _kept_metadata(obj: JsonObject, old: JsonObject) -> JsonObject:
    """A subresource that changes the spec leaves metadata alone, apart from what the write itself brings."""
    kept = dict(old["metadata"])
    for key in ("resourceVersion", "managedFields"):
        if key in obj["metadata"]:
            kept[key] = obj["metadata"][key]
    return kept


STRATEGIES: dict[tuple[str, str], Strategy] = {("", "Pod"): PodStrategy()}

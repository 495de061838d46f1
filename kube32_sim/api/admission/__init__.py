"""Admission: what a write is changed by and refused for beyond its own kind's rules.

The registry calls `mutate` before preparation and validation, and `validate` after them.  Plugins are plain functions
over objects and `Context`, listed here in upstream's order for the types they concern; a refusal is an ApiError.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kube32_sim.api import idle
from kube32_sim.api.admission import (
    lifecycle,
    limit_ranger,
    nodes,
    pod_security,
    priority,
    quota,
    service_account,
    steering,
    storage,
    tolerations,
)
from kube32_sim.api.admission.config import AdmissionConfig as AdmissionConfig
from kube32_sim.api.strategies.base import Context

JsonObject = dict[str, Any]

Mutator = Callable[[str, JsonObject, JsonObject | None, Context, AdmissionConfig], None]

_MUTATORS: Mapping[tuple[str, str], tuple[Mutator, ...]] = {
    ("", "pods"): (limit_ranger.mutate, service_account.mutate, priority.mutate, tolerations.mutate),
    ("", "nodes"): (nodes.taint_new,),
    ("", "persistentvolumeclaims"): (storage.default_class, storage.protect),
    ("", "persistentvolumes"): (storage.protect,),
    ("networking.k8s.io", "ingresses"): (storage.default_ingress_class,),
}
_PODS = ("", "pods")
_CLAIMS = ("", "persistentvolumeclaims")
_PRIORITY_CLASSES = ("scheduling.k8s.io", "priorityclasses")


def mutate(
    verb: str, obj: JsonObject, old: JsonObject | None, context: Context, config: AdmissionConfig
) -> Sequence[str]:
    """Change an object as admission does; answers warnings.  verb: create or update.  Raises ApiError to refuse."""
    lifecycle.check_namespace(verb, obj, context)
    if context.subresource:
        return ()
    storage = context.row.storage
    for mutator in _MUTATORS.get(storage, ()):
        mutator(verb, obj, old, context, config)
    found: Sequence[str] = ()
    if (verb == "create" and storage == _PODS) or storage in pod_security.TEMPLATES:
        found = pod_security.warnings(obj, context)
    if verb == "create" and config.idle_warnings:
        found = (*found, *idle.warnings(storage, obj))
    if config.steering_warnings:
        found = (*found, *steering.warnings(storage, context.row.kind, obj, old))
    return found


def validate(verb: str, obj: JsonObject, old: JsonObject | None, context: Context, config: AdmissionConfig) -> None:
    """Refuse an object by raising ApiError.  verb: create, update or delete (obj: what is to go)."""
    if verb == "delete":
        lifecycle.check_delete(context)
        return
    if context.subresource:
        return
    storage = context.row.storage
    if storage in (_PODS, _CLAIMS):
        limit_ranger.validate(verb, obj, context)
    if verb == "create" and storage == _PODS:
        pod_security.validate(obj, context)
    if storage == _PRIORITY_CLASSES:
        priority.validate(obj, context)
    if verb == "create" and config.resource_quota and context.row.namespaced:
        quota.check(obj, context)

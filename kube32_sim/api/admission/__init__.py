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
    pod_topology,
    priority,
    quota,
    runtime_class,
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
    ("", "pods"): (
        *(limit_ranger.mutate, service_account.mutate, priority.mutate, tolerations.mutate),
        *(runtime_class.mutate, pod_topology.mutate),
    ),
    ("", "nodes"): (nodes.taint_new,),
    ("", "persistentvolumeclaims"): (storage.default_class, storage.protect),
    ("", "persistentvolumes"): (storage.protect,),
    ("storage.k8s.io", "volumeattributesclasses"): (storage.protect,),
    ("networking.k8s.io", "ingresses"): (storage.default_ingress_class,),
}
_PODS = ("", "pods")
_NAMESPACES = ("", "namespaces")
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
    if old is not None and storage == _NAMESPACES:
        found = pod_security.namespace_warnings(obj, old, context)
    if verb == "create" and config.idle_warnings:
        found = (*found, *idle.warnings(storage, obj))
    return found


def remarks(obj: JsonObject, old: JsonObject | None, context: Context, config: AdmissionConfig) -> Sequence[str]:
    """Warnings about an object as it will be stored, when all others have changed it who may."""
    if context.subresource or not config.steering_warnings:
        return ()
    return steering.warnings(context.row.storage, context.row.kind, obj, old)


def validate(verb: str, obj: JsonObject, old: JsonObject | None, context: Context, config: AdmissionConfig) -> None:
    """Refuse an object by raising ApiError.  verb: create, update or delete (obj: what is to go)."""
    if verb == "delete":
        lifecycle.check_delete(context)
        return
    where = context.row.storage
    if context.subresource:
        if where == _PODS and context.subresource == "ephemeralcontainers":
            _check_security(obj, old, context)
        return
    if where in (_PODS, _CLAIMS):
        limit_ranger.validate(verb, obj, context)
    if where == _PODS:
        _check_security(obj, old, context)
        if verb == "create":
            runtime_class.validate(obj, context)
    if where == _NAMESPACES:
        pod_security.validate_namespace(obj, old, context)
    if where == _PRIORITY_CLASSES:
        priority.validate(obj, context)
    if where == _CLAIMS and old is not None:
        storage.check_growth(obj, old, context)
    check_quota(obj, old, context, config)


def check_quota(obj: JsonObject, old: JsonObject | None, context: Context, config: AdmissionConfig) -> None:
    """The last of `validate`, for who decides on a quota when others may have used it up since."""
    if config.resource_quota and context.row.namespaced:
        quota.check(obj, old, context, by_status=config.quota_by_status)


def _check_security(obj: JsonObject, old: JsonObject | None, context: Context) -> None:
    if old is None or pod_security.is_significant(obj, old):
        pod_security.validate(obj, context)

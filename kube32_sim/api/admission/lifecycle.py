"""NamespaceLifecycle: objects live in namespaces that are there and not ending; some namespaces never go."""

from __future__ import annotations

from typing import Any

from kube32_sim.api.admission.refusal import refuse
from kube32_sim.api.errors import forbidden, not_found
from kube32_sim.api.strategies.base import Context

JsonObject = dict[str, Any]

NAMESPACES = ("", "namespaces")
_NEVER_DELETED = {
    **{
        ("", "namespaces", name): "this namespace may not be deleted"
        for name in ("default", "kube-system", "kube-public")
    },
    **{
        ("scheduling.k8s.io", "priorityclasses", name): "this is a system priority class and cannot be deleted"
        for name in ("system-cluster-critical", "system-node-critical")
    },
}
_REVIEWS = frozenset(("LocalSubjectAccessReview", "Binding"))


def check_namespace(verb: str, obj: JsonObject, context: Context) -> None:
    """404 where the namespace is missing, 403 for something new in one that is being terminated."""
    if not context.row.namespaced or context.row.kind in _REVIEWS:
        return
    namespace = context.cluster.get(NAMESPACES, "", context.namespace)
    if namespace is None:
        if verb == "create":
            raise not_found("", "namespaces", context.namespace)
        return
    if verb == "create" and namespace.get("status", {}).get("phase") == "Terminating":
        where = context.namespace
        why = f"unable to create new content in namespace {where} because it is being terminated"
        error = refuse(context, obj, why)
        cause = {
            "reason": "NamespaceTerminating",
            "message": f"namespace {where} is being terminated",
            "field": "metadata.namespace",
        }
        error.details = {**(error.details or {}), "causes": [cause]}
        raise error


def check_delete(context: Context) -> None:
    group, plural = context.row.storage
    why = _NEVER_DELETED.get((group, plural, context.name))
    if why is not None:
        raise forbidden(group, plural, context.name, why)

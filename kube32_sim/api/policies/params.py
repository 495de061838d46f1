"""The objects of parameters that a policy is evaluated with: what its paramKind and the paramRef of a binding mean.

Upstream's `apiserver/pkg/admission/plugin/policy/generic`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kube32_sim.api import conversion
from kube32_sim.api.groupkinds import split_version
from kube32_sim.api.resources import ResourceTable, ResourceType
from kube32_sim.api.selectors import label_selector
from kube32_sim.api.strategies.base import Lookup

JsonObject = dict[str, Any]


class Misconfigured(ValueError):
    """A policy or binding that cannot be used as it is, in upstream's words."""


def params_row(kind: JsonObject, table: ResourceTable) -> ResourceType:
    """The type that a paramKind names; raises Misconfigured."""
    group, version = split_version(kind["apiVersion"])
    row = table.by_kind(group, version, kind["kind"])
    if row is None or not row.stored:
        named = f"{group}/{version}, Kind={kind['kind']}"
        raise Misconfigured(f"failed to find resource referenced by paramKind: '{named}'")
    return row


def find_params(
    row: ResourceType, reference: JsonObject, namespace: str, cluster: Lookup
) -> Sequence[JsonObject | None]:
    """The objects that a paramRef means, with apiVersion and kind; raises Misconfigured.

    namespace: of the request.  No objects: there are none, and the binding allows that.
    """
    where = _namespace(row, reference, namespace)
    found = _found(row, reference, where, cluster)
    if not found and reference.get("parameterNotFoundAction") == "Deny":
        raise Misconfigured("no params found for policy binding with `Deny` parameterNotFoundAction")
    return [{"apiVersion": row.api_version, "kind": row.kind, **conversion.to_view(row, obj)} for obj in found]


def _namespace(row: ResourceType, reference: JsonObject, namespace: str) -> str:
    given: str = reference.get("namespace") or ""
    if not row.namespaced:
        if given:
            raise Misconfigured("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
        return ""
    if not (given or namespace):
        raise Misconfigured("cannot use namespaced paramRef in policy binding that matches cluster-scoped resources")
    return given or namespace


def _found(row: ResourceType, reference: JsonObject, namespace: str, cluster: Lookup) -> Sequence[JsonObject]:
    if reference.get("name"):
        one = cluster.get(row.storage, namespace, reference["name"])
        return [] if one is None else [one]
    selector = label_selector(reference.get("selector"))
    everything = cluster.list(row.storage, namespace)
    return [one for one in everything if selector.matches(one["metadata"].get("labels") or {})]

"""Fields that nobody comes to own by a write, because the server sets them itself or the endpoint leaves them alone.

Upstream calls the latter a strategy's reset fields: the status at the object's own address, the spec at that of its
status.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from kube32_sim.api.managed.fieldset import FieldSet, field, union
from kube32_sim.api.resources import ResourceType

_OF_THE_SERVER = (
    "name",
    "namespace",
    "creationTimestamp",
    "selfLink",
    "uid",
    "clusterName",
    "generation",
    "managedFields",
    "resourceVersion",
)
STRIPPED: FieldSet = {
    field("apiVersion"): {},
    field("kind"): {},
    field("metadata"): {field(name): {} for name in _OF_THE_SERVER},
}

_STATUS: FieldSet = {field("status"): {}}
_SPEC: FieldSet = {field("spec"): {}}
_SPEC_AND_METADATA: FieldSet = {**_SPEC, field("metadata"): {}}

_AT_STATUS: dict[tuple[str, str], FieldSet] = {
    ("", "pods"): {**_SPEC, field("metadata"): {field("deletionTimestamp"): {}, field("ownerReferences"): {}}},
    ("apps", "deployments"): {**_SPEC, field("metadata"): {field("labels"): {}}},
    ("apiextensions.k8s.io", "customresourcedefinitions"): _SPEC_AND_METADATA,
    ("flowcontrol.apiserver.k8s.io", "flowschemas"): _SPEC_AND_METADATA,
    ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations"): _SPEC_AND_METADATA,
}
"""Where writing the status leaves more alone than the spec."""

ONLY: dict[str, Any] = {
    "ephemeralcontainers": {field("spec"): {field("ephemeralContainers"): {}}},
    "approval": {field("status"): {field("conditions"): {}}},
    "finalize": {field("spec"): {field("finalizers"): {}}},
}
"""Subresources by which nothing else than these fields (and metadata) comes to be owned."""


@cache
def ignored(row: ResourceType, subresource: str) -> FieldSet:
    """Fields whose change makes nobody their owner."""
    if subresource == "status":
        reset = _SPEC_AND_METADATA if row.names_in_list else _AT_STATUS.get(row.storage, _SPEC)
    elif not subresource and row.subresource("status") is not None:
        reset = _STATUS
    else:
        reset = {}
    return union(STRIPPED, reset)

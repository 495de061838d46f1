"""Fields that nobody comes to own by a write, because the server sets them itself or the endpoint leaves them alone.

Upstream calls the latter a strategy's reset fields: the status at the object's own address, the spec at that of its
status.  Two endpoints of pods say the other way round what alone they change.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from kube32_sim.api.managed.fieldset import NOTHING, FieldSet, field, union, within, without
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

_EXCEPT: dict[tuple[tuple[str, str], str], FieldSet] = {
    (("", "pods"), "status"): {
        **_SPEC,
        field("metadata"): {field("deletionTimestamp"): {}, field("ownerReferences"): {}},
    },
    (("", "namespaces"), "finalize"): _STATUS,
    (("apps", "deployments"), "status"): {**_SPEC, field("metadata"): {field("labels"): {}}},
    (("certificates.k8s.io", "certificatesigningrequests"), ""): {**_SPEC, **_STATUS},
    (("certificates.k8s.io", "certificatesigningrequests"), "status"): {
        **_SPEC,
        field("status"): {field("conditions"): {}},
    },
    (("certificates.k8s.io", "certificatesigningrequests"), "approval"): {
        **_SPEC,
        field("status"): {field("certificate"): {}},
    },
    (("admissionregistration.k8s.io", "validatingadmissionpolicies"), "status"): _SPEC_AND_METADATA,
    (("apiextensions.k8s.io", "customresourcedefinitions"), "status"): _SPEC_AND_METADATA,
    (("apiregistration.k8s.io", "apiservices"), "status"): _SPEC_AND_METADATA,
    (("flowcontrol.apiserver.k8s.io", "flowschemas"), "status"): _SPEC_AND_METADATA,
    (("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations"), "status"): _SPEC_AND_METADATA,
    (("storage.k8s.io", "volumeattachments"), "status"): _SPEC_AND_METADATA,
    (("networking.k8s.io", "servicecidrs"), ""): {},
    (("networking.k8s.io", "servicecidrs"), "status"): {},
}
"""(storage, subresource) -> what is left alone there, where it is not just the status or the spec."""

_OF_CONTAINERS: FieldSet = {"*": {field("resources"): {}, field("resizePolicy"): {}}}
_ONLY: dict[str, FieldSet] = {
    "ephemeralcontainers": {field("spec"): {field("ephemeralContainers"): {}}},
    "resize": {field("spec"): {field("containers"): _OF_CONTAINERS, field("initContainers"): _OF_CONTAINERS}},
}
"""Subresources by which nothing else than these fields comes to be owned."""


class Told(NamedTuple):
    """What of a set of fields a write counts for: nothing of `never`, and of `only` where that is not empty."""

    never: FieldSet
    only: FieldSet = NOTHING

    def of(self, fields: FieldSet) -> FieldSet:
        if not fields:
            return fields
        left = without(fields, self.never)
        return within(left, self.only) if self.only else left


def told(row: ResourceType, subresource: str) -> Told:
    """What counts of a write through an endpoint."""
    endpoint = (row.storage, subresource)
    return _told(subresource, endpoint if endpoint in _EXCEPT else None, row.subresource("status") is not None)


@cache  # not by rows: those of custom types come and go
def _told(subresource: str, endpoint: tuple[tuple[str, str], str] | None, has_status: bool) -> Told:
    if subresource in _ONLY:
        return Told(STRIPPED, _ONLY[subresource])
    if endpoint is not None:
        return Told(union(STRIPPED, _EXCEPT[endpoint]))
    reset = _SPEC if subresource == "status" else _STATUS if has_status else {}
    return Told(union(STRIPPED, reset))

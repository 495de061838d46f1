"""Which kinds a Kubernetes API server knows by name, and which of them are forms of the same thing.

Only for messages about bodies whose apiVersion or kind is not the one the path asks for.
"""

from __future__ import annotations

from kube32_sim.api import schema
from kube32_sim.api.errors import ApiError

#: Where a "no kind is registered" message says it looked.
_SCHEME = "pkg/api/legacyscheme/scheme.go:30"

#: Versions that are known by name but no longer in the OpenAPI document: group/version -> kinds.
_FORMER = {
    "admissionregistration.k8s.io/v1beta1": "MutatingWebhookConfiguration ValidatingWebhookConfiguration",
    "apiextensions.k8s.io/v1beta1": "CustomResourceDefinition",
    "apiregistration.k8s.io/v1beta1": "APIService",
    "apps/v1beta1": "ControllerRevision Deployment Scale StatefulSet",
    "apps/v1beta2": "ControllerRevision DaemonSet Deployment ReplicaSet Scale StatefulSet",
    "autoscaling/v2beta1": "HorizontalPodAutoscaler",
    "autoscaling/v2beta2": "HorizontalPodAutoscaler",
    "batch/v1beta1": "CronJob",
    "certificates.k8s.io/v1beta1": "CertificateSigningRequest",
    "coordination.k8s.io/v1beta1": "Lease",
    "discovery.k8s.io/v1beta1": "EndpointSlice",
    "events.k8s.io/v1beta1": "Event",
    "extensions/v1beta1": "DaemonSet Deployment Ingress NetworkPolicy ReplicaSet Scale",
    "networking.k8s.io/v1beta1": "Ingress IngressClass",
    "policy/v1beta1": "Eviction PodDisruptionBudget",
    "rbac.authorization.k8s.io/v1alpha1": "ClusterRole ClusterRoleBinding Role RoleBinding",
    "rbac.authorization.k8s.io/v1beta1": "ClusterRole ClusterRoleBinding Role RoleBinding",
    "scheduling.k8s.io/v1beta1": "PriorityClass",
    "storage.k8s.io/v1beta1": "CSIDriver CSINode StorageClass VolumeAttachment",
}

#: Where upstream keeps the internal form of a kind that several groups have.
_HOMES = {
    "DaemonSet": "apps",
    "Deployment": "apps",
    "Event": "core",
    "Eviction": "policy",
    "Ingress": "networking",
    "NetworkPolicy": "networking",
    "ReplicaSet": "apps",
    "Scale": "autoscaling",
}


def split_version(api_version: str) -> tuple[str, str]:
    """`apps/v1` -> (`apps`, `v1`), `v1` -> (``, `v1`)."""
    group, _, version = api_version.rpartition("/")
    return group, version


def is_registered(group: str, version: str, kind: str) -> bool:
    known = schema.is_registered(group, version, kind)
    return known or kind in _FORMER.get(f"{group}/{version}", "").split()


def internal_name(group: str, kind: str) -> str:
    """The Go type that every version of a kind is converted to: `core.ConfigMap`."""
    home = _HOMES.get(kind) or group.partition(".")[0] or "core"
    return f"{home}.{kind}"


def mismatch(api_version: str, kind: str, group: str, expected_kind: str) -> str | None:
    """Why a body of this kind cannot become the expected one; None where upstream would convert it."""
    body_group, version = split_version(api_version)
    if not is_registered(body_group, version, kind):
        return not_registered(api_version, kind)
    internal = internal_name(group, expected_kind)
    if internal_name(body_group, kind) == internal:
        return None
    return f"converting ({version}.{kind}) to ({internal}): unknown conversion"


def not_registered(api_version: str, kind: str) -> str:
    return f'no kind "{kind}" is registered for version "{api_version}" in scheme "{_SCHEME}"'


def other_version(api_version: str, expected: str) -> ApiError:
    """400 for a body in another version than the path's."""
    from kube32_sim.api.errors import bad_request

    return bad_request(
        f"the API version in the data ({api_version}) does not match the expected API version ({expected})"
    )

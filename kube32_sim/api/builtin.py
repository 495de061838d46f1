"""The built-in rows of the resource table: every generally available type of Kubernetes 1.36, and the simulator's own.

Only facts are here, groups in the order of a real server's discovery; what a kind does is in `strategies`, how it is
printed in `columns`.  A new type is one more `_Kind` line; rows made at run time are plain `ResourceType`s.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from kube32_sim.api import own
from kube32_sim.api.columns import columns_for
from kube32_sim.api.resources import ALL_VERBS, ResourceTable, ResourceType, Subresource
from kube32_sim.api.strategies import strategy_for

READ_WRITE = ("get", "patch", "update")
CREATE = ("create",)
CONNECT = ("create", "get")
PROXY = ("create", "delete", "get", "patch", "update")


@dataclass(frozen=True, slots=True)
class _Sub:
    """A subresource as written below; kind "" means the parent's."""

    name: str
    verbs: tuple[str, ...] = READ_WRITE
    kind: str = ""
    group: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True)
class _Kind:
    """One type as written below.  short: its short names, space-separated; fields likewise."""

    kind: str
    short: str = ""
    category: str = ""
    namespaced: bool = True
    subs: tuple[_Sub, ...] = ()
    fields: str = ""
    indexed: tuple[str, ...] = ()
    generation: bool = False
    verbs: tuple[str, ...] = ALL_VERBS
    stored: bool = True
    storage_group: str | None = None


@dataclass(frozen=True, slots=True)
class _Version:
    group: str
    version: str
    schemas: str
    kinds: tuple[_Kind, ...]


_STATUS = (_Sub("status"),)
_SCALE = (_Sub("scale", READ_WRITE, "Scale", "autoscaling", "v1"), *_STATUS)
_CONTENT = ("create", "delete", "get", "list", "patch", "update", "watch")
_UNWATCHED = ("create", "delete", "get", "list", "patch", "update")
_OBJECT = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_EVENT_FIELDS = " ".join([*(f"involvedObject.{part}" for part in _OBJECT), "reason reportingComponent source type"])
_NEW_EVENT_FIELDS = " ".join([*(f"regarding.{part}" for part in _OBJECT), "reason reportingController type"])
_POD_FIELDS = (
    "spec.nodeName spec.restartPolicy spec.schedulerName spec.serviceAccountName spec.hostNetwork "
    "status.phase status.podIP status.podIPs status.nominatedNodeName"
)
_POD_SUBS = (
    _Sub("attach", CONNECT, "PodAttachOptions"),
    _Sub("binding", CREATE, "Binding"),
    _Sub("ephemeralcontainers"),
    _Sub("eviction", CREATE, "Eviction", "policy", "v1"),
    _Sub("exec", CONNECT, "PodExecOptions"),
    _Sub("log", ("get",)),
    _Sub("portforward", CONNECT, "PodPortForwardOptions"),
    _Sub("proxy", PROXY, "PodProxyOptions"),
    _Sub("resize"),
    _Sub("status"),
)

_CORE = (
    _Kind("Binding", verbs=CREATE, stored=False),
    _Kind("ComponentStatus", "cs", namespaced=False, verbs=("get", "list")),
    _Kind("ConfigMap", "cm"),
    _Kind("Endpoints", "ep"),
    _Kind("Event", "ev", fields=_EVENT_FIELDS),
    _Kind("LimitRange", "limits"),
    _Kind(
        "Namespace",
        "ns",
        namespaced=False,
        subs=(_Sub("finalize", ("update",)), *_STATUS),
        fields="status.phase",
        verbs=_CONTENT,
    ),
    _Kind(
        "Node",
        "no",
        namespaced=False,
        subs=(_Sub("proxy", PROXY, "NodeProxyOptions"), *_STATUS),
        fields="spec.unschedulable",
    ),
    _Kind("PersistentVolume", "pv", namespaced=False, subs=_STATUS),
    _Kind("PersistentVolumeClaim", "pvc", subs=_STATUS),
    _Kind("Pod", "po", "all", subs=_POD_SUBS, fields=_POD_FIELDS, indexed=("spec.nodeName",), generation=True),
    _Kind("PodTemplate", generation=True),
    _Kind("ReplicationController", "rc", "all", subs=_SCALE, fields="status.replicas", generation=True),
    _Kind("ResourceQuota", "quota", subs=_STATUS),
    _Kind("Secret", fields="type"),
    _Kind(
        "Service",
        "svc",
        "all",
        subs=(_Sub("proxy", PROXY, "ServiceProxyOptions"), *_STATUS),
        fields="spec.clusterIP spec.type",
    ),
    _Kind("ServiceAccount", "sa", subs=(_Sub("token", CREATE, "TokenRequest", "authentication.k8s.io", "v1"),)),
)

_APPS = (
    _Kind("ControllerRevision"),
    _Kind("DaemonSet", "ds", "all", subs=_STATUS, generation=True),
    _Kind("Deployment", "deploy", "all", subs=_SCALE, generation=True),
    _Kind("ReplicaSet", "rs", "all", subs=_SCALE, fields="status.replicas", generation=True),
    _Kind("StatefulSet", "sts", "all", subs=_SCALE, generation=True),
)

_AUTHORIZATION = (
    _Kind("LocalSubjectAccessReview", verbs=CREATE, stored=False),
    _Kind("SelfSubjectAccessReview", namespaced=False, verbs=CREATE, stored=False),
    _Kind("SelfSubjectRulesReview", namespaced=False, verbs=CREATE, stored=False),
    _Kind("SubjectAccessReview", namespaced=False, verbs=CREATE, stored=False),
)

_NETWORKING = (
    _Kind("Ingress", "ing", subs=_STATUS, generation=True),
    _Kind("IngressClass", namespaced=False, generation=True),
    _Kind(
        "IPAddress",
        "ip",
        namespaced=False,
        fields="spec.parentRef.group spec.parentRef.resource spec.parentRef.namespace spec.parentRef.name",
    ),
    _Kind("NetworkPolicy", "netpol", generation=True),
    _Kind("ServiceCIDR", namespaced=False, subs=_STATUS),
)

_EXTENSION = "api-extensions"
_ADMISSION = (
    _Kind("MutatingAdmissionPolicy", "", _EXTENSION, namespaced=False, generation=True),
    _Kind("MutatingAdmissionPolicyBinding", "", _EXTENSION, namespaced=False, generation=True),
    _Kind("MutatingWebhookConfiguration", "", _EXTENSION, namespaced=False, generation=True),
    _Kind("ValidatingAdmissionPolicy", "", _EXTENSION, namespaced=False, subs=_STATUS, generation=True),
    _Kind("ValidatingAdmissionPolicyBinding", "", _EXTENSION, namespaced=False, generation=True),
    _Kind("ValidatingWebhookConfiguration", "", _EXTENSION, namespaced=False, generation=True),
)

_STORAGE = (
    _Kind("CSIDriver", namespaced=False, generation=True),
    _Kind("CSINode", namespaced=False),
    _Kind("CSIStorageCapacity"),
    _Kind("StorageClass", "sc", namespaced=False),
    _Kind("VolumeAttachment", namespaced=False, subs=_STATUS),
    _Kind("VolumeAttributesClass", "vac", namespaced=False),
)

_RESOURCE = (
    _Kind("DeviceClass", namespaced=False, generation=True),
    _Kind("ResourceClaim", subs=_STATUS),
    _Kind("ResourceClaimTemplate"),
    _Kind("ResourceSlice", namespaced=False, fields="spec.nodeName spec.driver", generation=True),
)

_RBAC = (
    _Kind("ClusterRole", namespaced=False),
    _Kind("ClusterRoleBinding", namespaced=False),
    _Kind("Role"),
    _Kind("RoleBinding"),
)

_HPA = _Kind("HorizontalPodAutoscaler", "hpa", "all", subs=_STATUS)
_NEW_EVENT = _Kind("Event", "ev", fields=_NEW_EVENT_FIELDS, storage_group="")
_CSR_SUBS = (_Sub("approval"), _Sub("status"))
_FLOW = (
    _Kind("FlowSchema", namespaced=False, subs=_STATUS, generation=True),
    _Kind("PriorityLevelConfiguration", namespaced=False, subs=_STATUS, generation=True),
)
_OWN = (
    _Kind(
        "Clock", namespaced=False, subs=(_Sub("advance", CREATE, "ClockAdvance"),), verbs=("get", "list"), stored=False
    ),
    _Kind("Recording", namespaced=False, verbs=CREATE, stored=False),
    _Kind("Explanation", namespaced=False, verbs=CREATE, stored=False),
    _Kind("Fork", namespaced=False, verbs=("create", "delete", "get", "list"), stored=False),
    _Kind("FaultScenario", namespaced=False, verbs=_UNWATCHED, stored=False),
    _Kind("Snapshot", namespaced=False, verbs=CREATE, stored=False),
    _Kind("SchedulingPreview", namespaced=False, verbs=CREATE, stored=False),
)
_CRD = _Kind("CustomResourceDefinition", "crd crds", _EXTENSION, namespaced=False, subs=_STATUS, generation=True)

_VERSIONS = (
    _Version("", "v1", "io.k8s.api.core.v1", _CORE),
    _Version(
        "apiregistration.k8s.io",
        "v1",
        "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1",
        (_Kind("APIService", "", _EXTENSION, namespaced=False, subs=_STATUS),),
    ),
    _Version("apps", "v1", "io.k8s.api.apps.v1", _APPS),
    _Version("events.k8s.io", "v1", "io.k8s.api.events.v1", (_NEW_EVENT,)),
    _Version(
        "authentication.k8s.io",
        "v1",
        "io.k8s.api.authentication.v1",
        (
            _Kind("SelfSubjectReview", namespaced=False, verbs=CREATE, stored=False),
            _Kind("TokenReview", namespaced=False, verbs=CREATE, stored=False),
        ),
    ),
    _Version("authorization.k8s.io", "v1", "io.k8s.api.authorization.v1", _AUTHORIZATION),
    _Version("autoscaling", "v2", "io.k8s.api.autoscaling.v2", (_HPA,)),
    _Version("autoscaling", "v1", "io.k8s.api.autoscaling.v1", (_HPA,)),
    _Version(
        "batch",
        "v1",
        "io.k8s.api.batch.v1",
        (
            _Kind("CronJob", "cj", "all", subs=_STATUS, generation=True),
            _Kind("Job", "", "all", subs=_STATUS, fields="status.successful", generation=True),
        ),
    ),
    _Version(
        "certificates.k8s.io",
        "v1",
        "io.k8s.api.certificates.v1",
        (_Kind("CertificateSigningRequest", "csr", namespaced=False, subs=_CSR_SUBS, fields="spec.signerName"),),
    ),
    _Version("networking.k8s.io", "v1", "io.k8s.api.networking.v1", _NETWORKING),
    _Version(
        "policy",
        "v1",
        "io.k8s.api.policy.v1",
        (_Kind("PodDisruptionBudget", "pdb", subs=_STATUS, generation=True),),
    ),
    _Version("rbac.authorization.k8s.io", "v1", "io.k8s.api.rbac.v1", _RBAC),
    _Version("storage.k8s.io", "v1", "io.k8s.api.storage.v1", _STORAGE),
    _Version("admissionregistration.k8s.io", "v1", "io.k8s.api.admissionregistration.v1", _ADMISSION),
    _Version(
        "apiextensions.k8s.io",
        "v1",
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1",
        (_CRD,),
    ),
    _Version(
        "scheduling.k8s.io",
        "v1",
        "io.k8s.api.scheduling.v1",
        (_Kind("PriorityClass", "pc", namespaced=False, generation=True),),
    ),
    _Version("coordination.k8s.io", "v1", "io.k8s.api.coordination.v1", (_Kind("Lease"),)),
    _Version("node.k8s.io", "v1", "io.k8s.api.node.v1", (_Kind("RuntimeClass", namespaced=False),)),
    _Version("discovery.k8s.io", "v1", "io.k8s.api.discovery.v1", (_Kind("EndpointSlice", generation=True),)),
    _Version("flowcontrol.apiserver.k8s.io", "v1", "io.k8s.api.flowcontrol.v1", _FLOW),
    _Version("resource.k8s.io", "v1", "io.k8s.api.resource.v1", _RESOURCE),
    _Version(own.GROUP, own.VERSION, own.PREFIX, _OWN),
)

GROUP_ORDER = tuple(dict.fromkeys(version.group for version in _VERSIONS))
"""The built-in groups in order of their priority; other groups come after them, by name."""

_DEPRECATED = {
    ("", "v1", "componentstatuses"): "v1 ComponentStatus is deprecated in v1.19+",
    ("", "v1", "endpoints"): "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
}


def deprecation(row: ResourceType) -> str | None:
    """The text of the `Warning` header that every answer about this type carries."""
    if row.custom is not None:
        return row.custom.deprecation
    return _DEPRECATED.get((row.group, row.version, row.plural))


def plural_of(kind: str) -> str:
    """The plural that Kubernetes' own kinds have: `Pod` -> pods, `NetworkPolicy` -> networkpolicies."""
    lower = kind.lower()
    if lower == "endpoints":
        return lower
    if lower.endswith("s"):
        return f"{lower}es"
    return f"{lower[:-1]}ies" if lower.endswith("y") else f"{lower}s"


def _row(version: _Version, kind: _Kind) -> ResourceType:
    plural = plural_of(kind.kind)
    group = version.group if kind.storage_group is None else kind.storage_group
    return ResourceType(
        group=version.group,
        version=version.version,
        kind=kind.kind,
        plural=plural,
        singular=kind.kind.lower(),
        namespaced=kind.namespaced,
        schema=f"{version.schemas}.{kind.kind}",
        short_names=tuple(kind.short.split()),
        categories=tuple(kind.category.split()),
        verbs=kind.verbs,
        subresources=tuple(Subresource(s.name, s.verbs, s.kind or kind.kind, s.group, s.version) for s in kind.subs),
        storage=(group, plural) if kind.stored else ("", ""),
        fields=tuple(kind.fields.split()),
        indexed=kind.indexed,
        generation=kind.generation,
        strategy=strategy_for(version.group, kind.kind),
        columns=columns_for(version.group, kind.kind),
    )


def _rows(versions: Iterable[_Version]) -> Iterator[ResourceType]:
    return (_row(version, kind) for version in versions for kind in version.kinds)


@cache
def _builtin_rows() -> tuple[ResourceType, ...]:
    return tuple(_rows(_VERSIONS))


def builtin_table() -> ResourceTable:
    """A fresh table with all built-in rows (fresh, because custom resources are added to it)."""
    return ResourceTable(_builtin_rows())

"""What acts on each type that is served, for docs/compatibility.md; the types that nothing acts on are `api/idle.py`'s.

`test_compatibility.py` sees to it that every type is in one of the tables, and none in two.
"""

from __future__ import annotations

from collections.abc import Mapping

Key = tuple[str, str]
"""(group, plural): of stored objects, as `ResourceType.storage`."""

_COMPUTED = "computed from Services and pods; writes are refused (405) while the loop `endpoints` runs"
_RBAC = "what they allow ServiceAccounts may do, with `--authorization-mode=RBAC` all callers"
_REVIEWED = "answered as `--authorization-mode` has it"

ACTED_ON: Mapping[Key, str] = {
    ("", "pods"): "the scheduler places them, boards run them; lost ones are evicted, finished ones collected",
    ("", "nodes"): "boards register them and report; without a renewed Lease a node counts as lost",
    ("coordination.k8s.io", "leases"): "boards renew those of their nodes",
    ("", "namespaces"): "emptied when they are deleted, then gone",
    ("", "serviceaccounts"): "every namespace gets `default`; tokens are issued",
    ("", "services"): "get addresses and node ports, and Endpoints",
    ("", "endpoints"): _COMPUTED,
    ("discovery.k8s.io", "endpointslices"): _COMPUTED,
    ("", "events"): "recorded by whatever acts, gone after an hour; `v1` and `events.k8s.io/v1` are two views of them",
    ("", "limitranges"): "pods and claims are given defaults, and refused where they go beyond limits",
    ("", "resourcequotas"): "what a namespace has no room for is refused; use is counted",
    ("apps", "deployments"): "kube32's own rule: they make their pods themselves, without ReplicaSets",
    ("apps", "daemonsets"): "a pod on every node",
    ("batch", "jobs"): "pods until they have completed, with back-off and policies",
    ("rbac.authorization.k8s.io", "roles"): _RBAC,
    ("rbac.authorization.k8s.io", "rolebindings"): _RBAC,
    ("rbac.authorization.k8s.io", "clusterroles"): f"{_RBAC}; those with an `aggregationRule` are made of others",
    ("rbac.authorization.k8s.io", "clusterrolebindings"): _RBAC,
    ("policy", "poddisruptionbudgets"): "status is kept, evictions go by it",
    ("apiextensions.k8s.io", "customresourcedefinitions"): "their resources are served",
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations"): "their webhooks are called",
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"): "their webhooks are called",
    ("admissionregistration.k8s.io", "validatingadmissionpolicies"): "writes are refused or warned of by them",
    ("admissionregistration.k8s.io", "validatingadmissionpolicybindings"): "put policies to use",
    ("admissionregistration.k8s.io", "mutatingadmissionpolicies"): "objects are changed by them as they are written",
    ("admissionregistration.k8s.io", "mutatingadmissionpolicybindings"): "put policies to use",
    ("scheduling.k8s.io", "priorityclasses"): "pods get their priorities",
    ("storage.k8s.io", "storageclasses"): "claims get the default class",
    ("networking.k8s.io", "ingressclasses"): "Ingresses get the default class",
    ("networking.k8s.io", "ipaddresses"): "kept for cluster addresses of Services, which never get those of your own",
    ("networking.k8s.io", "servicecidrs"): "Services get their cluster addresses from them",
}

DATA: Mapping[Key, str] = {
    ("", "configmaps"): "",
    ("", "secrets"): "",
    ("", "podtemplates"): "",
    ("apps", "controllerrevisions"): "",
}
"""Plain data: what reads them are users, and containers, which do not run here."""

SILENT: Mapping[Key, str] = {
    ("", "componentstatuses"): "the list is empty",
    ("flowcontrol.apiserver.k8s.io", "flowschemas"): "limit nothing",
    ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations"): "limit nothing",
    ("node.k8s.io", "runtimeclasses"): "no containers run",
    ("storage.k8s.io", "csidrivers"): "no volumes are attached",
    ("storage.k8s.io", "csinodes"): "no volumes are attached",
    ("storage.k8s.io", "csistoragecapacities"): "no volumes are provisioned",
    ("storage.k8s.io", "volumeattachments"): "no volumes are attached",
    ("storage.k8s.io", "volumeattributesclasses"): "no volumes are changed",
    ("resource.k8s.io", "deviceclasses"): "no devices are allocated",
    ("resource.k8s.io", "resourceclaimtemplates"): "no claims are made of them",
    ("resource.k8s.io", "resourceslices"): "no devices are allocated",
}
"""Stored only, and no warning says so: what a cluster's machinery writes and reads."""

ANSWERED: Mapping[Key, str] = {
    ("", "bindings"): "binds a pod to a node",
    ("authentication.k8s.io", "selfsubjectreviews"): "tells who asks",
    ("authentication.k8s.io", "tokenreviews"): "tells whose a token is",
    ("authorization.k8s.io", "localsubjectaccessreviews"): _REVIEWED,
    ("authorization.k8s.io", "selfsubjectaccessreviews"): _REVIEWED,
    ("authorization.k8s.io", "selfsubjectrulesreviews"): _REVIEWED,
    ("authorization.k8s.io", "subjectaccessreviews"): _REVIEWED,
    ("sim.kube32.io", "clocks"): "tells the cluster's time and moves a virtual clock",
    ("sim.kube32.io", "recordings"): "tells what clients write and where pods go",
    ("sim.kube32.io", "explanations"): "tells why a pod is where it is",
    ("sim.kube32.io", "forks"): "branches the cluster, with a server of its own",
    ("sim.kube32.io", "faultscenarios"): "makes requests fail, late or cut off, for clients to be tried with",
    ("sim.kube32.io", "snapshots"): "loads the state of another cluster",
    ("sim.kube32.io", "schedulingpreviews"): "tells where pods would go ([preview.md](preview.md))",
}
"""Nothing is stored, a request is answered."""

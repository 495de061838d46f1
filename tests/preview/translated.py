"""Kestrel's node and pod specs as the Kubernetes objects that mean the same."""

from __future__ import annotations

from typing import Any

import pytest

from kube32_sim.preview.kestrel import KestrelPlacer
from kube32_sim.preview.placements import ClusterState, Placement, PreviewError, WantedPod

JsonObject = dict[str, Any]

TOPOLOGY_KEYS = {"node": "kubernetes.io/hostname", "zone": "topology.kubernetes.io/zone"}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
KINDS = {"pod_affinity": "podAffinity", "pod_anti_affinity": "podAntiAffinity"}


def amounts(spec: JsonObject) -> JsonObject:
    return {"cpu": f"{spec['cpu']}m", "memory": f"{spec['mem']}Mi"}


def node_object(name: str, spec: JsonObject, **more: Any) -> JsonObject:
    labels = {**spec.get("labels", {}), TOPOLOGY_KEYS["node"]: name, TOPOLOGY_KEYS["zone"]: spec["zone"]}
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": {"taints": spec.get("taints", []), **more},
        "status": {"allocatable": amounts(spec)},
    }


def pod_object(name: str, spec: JsonObject, **metadata: Any) -> JsonObject:
    resources = {"requests": amounts(spec["requests"])}
    if "limits" in spec:
        resources["limits"] = amounts({"cpu": 0, "mem": 0, **spec["limits"]})
    affinity = {
        KINDS[kind]: {REQUIRED: [term_object(term) for term in terms]}
        for kind, terms in spec.get("affinity", {}).items()
    }
    return {
        "metadata": {"name": name, "namespace": "default", "labels": spec.get("labels", {}), **metadata},
        "spec": {
            "containers": [{"name": "c", "image": "i", "resources": resources}],
            "nodeSelector": spec.get("selector", {}),
            "tolerations": spec.get("tolerations", []),
            "priority": spec.get("priority", 0),
            "preemptionPolicy": spec.get("preemption", "PreemptLowerPriority"),
            "affinity": affinity,
        },
    }


def term_object(term: JsonObject) -> JsonObject:
    return {"labelSelector": {"matchLabels": term["match"]}, "topologyKey": TOPOLOGY_KEYS[term["topology"]]}


def on_node(pod: JsonObject, node: str, start: str = "") -> JsonObject:
    """The pod as it is once it has been bound; start: its status.startTime."""
    status = {"phase": "Running", **({"startTime": start} if start else {})}
    return {**pod, "spec": {**pod["spec"], "nodeName": node}, "status": status}


def state_of(operations: list[Any], *pods: JsonObject) -> ClusterState:
    """The nodes that operations add, and pods."""
    nodes = [node_object(*arguments) for name, *arguments in operations if name == "add_node"]
    return ClusterState(nodes, pods)


def wanted_of(operations: list[Any]) -> list[WantedPod]:
    """The pods that operations submit."""
    return [WantedPod(pod_object(*arguments)) for name, *arguments in operations if name == "submit"]


def placements(state: ClusterState, *pods: JsonObject, details: bool = False) -> list[Placement]:
    wanted = [WantedPod(pod) for pod in pods]
    placer = KestrelPlacer(state, wanted)
    return [placer.place(pod, details=details) for pod in wanted]


def previewed(operations: list[Any]) -> list[Placement]:
    """What is previewed of the pods that operations submit, on the nodes that they add."""
    return placements(state_of(operations), *(pod.obj for pod in wanted_of(operations)))


# as they are written in Kubernetes


def container(requests: Any = None, limits: Any = None, **more: Any) -> JsonObject:
    resources = {"requests": requests or {}, "limits": limits or {}}
    return {"name": "c", "image": "i", "resources": resources, **more}


def pod(*containers: JsonObject, labels: Any = None, namespace: str = "default", **spec: Any) -> JsonObject:
    metadata = {"name": "p", "namespace": namespace, "labels": labels or {}}
    return {"metadata": metadata, "spec": {"containers": list(containers) or [container()], **spec}}


def affinity(*terms: JsonObject, kind: str = "podAntiAffinity") -> JsonObject:
    return {kind: {REQUIRED: list(terms)}}


def term(match: Any = None, topology: str = "node", **more: Any) -> JsonObject:
    return {"labelSelector": {"matchLabels": match or {}}, "topologyKey": TOPOLOGY_KEYS[topology], **more}


def refusal(state: ClusterState, *pods: WantedPod) -> list[str]:
    """Lines of the error."""
    with pytest.raises(PreviewError) as refused:
        KestrelPlacer(state, pods)
    return str(refused.value).splitlines()

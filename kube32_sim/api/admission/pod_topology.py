"""PodTopologyLabels: a pod that has its node says where that is, by the node's labels for zone and region."""

from __future__ import annotations

from typing import Any

from kube32_sim.api.admission.config import AdmissionConfig
from kube32_sim.api.strategies.base import Context

JsonObject = dict[str, Any]

_NODES = ("", "nodes")
_COPIED = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")


def labels_of(node_name: str, context: Context) -> dict[str, str]:
    """What a pod on that node is labelled with."""
    node = context.cluster.get(_NODES, "", node_name)
    labels = ((node or {}).get("metadata") or {}).get("labels") or {}
    return {key: labels[key] for key in _COPIED if key in labels}


def mutate(verb: str, obj: JsonObject, old: JsonObject | None, context: Context, config: AdmissionConfig) -> None:
    if verb == "create":
        label(obj, context)


def label(pod: JsonObject, context: Context) -> None:
    """Label a pod that has a node; a label that it has stays as it is."""
    name = (pod.get("spec") or {}).get("nodeName")
    if name and (labels := labels_of(name, context)):
        metadata = pod["metadata"]
        metadata["labels"] = labels | (metadata.get("labels") or {})

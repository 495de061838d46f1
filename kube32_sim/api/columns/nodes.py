"""Printing columns of nodes, leases, runtime classes and namespaces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kube32_sim.api.columns.form import AGE, NAME, age_of, condition_status, name_of, section, text
from kube32_sim.api.tables import Cell, Columns

JsonObject = dict[str, Any]
ROLE_PREFIX = "node-role.kubernetes.io/"
ROLE_LABEL = "kubernetes.io/role"


def _status(node: JsonObject) -> str:
    ready = condition_status(section(node, "status").get("conditions") or (), "Ready")
    words = {"": "Unknown", "True": "Ready"}.get(ready, "NotReady")
    return f"{words},SchedulingDisabled" if section(node, "spec").get("unschedulable") else words


def _roles(node: JsonObject) -> str:
    labels = section(node, "metadata", "labels")
    roles = {key.removeprefix(ROLE_PREFIX) for key in labels if key.startswith(ROLE_PREFIX)}
    roles.add(labels.get(ROLE_LABEL, ""))
    return ",".join(sorted(roles - {""})) or "<none>"


def _address(status: JsonObject, kind: str) -> str:
    addresses = status.get("addresses") or ()
    return next((a.get("address", "") for a in addresses if a.get("type") == kind), "<none>")


def _kernel(info: JsonObject) -> str:
    version, architecture = info.get("kernelVersion"), info.get("architecture")
    if not version:
        return "<unknown>"
    return f"{version} ({architecture})" if architecture else version


def _node(node: JsonObject) -> Sequence[Cell]:
    status = section(node, "status")
    info = section(status, "nodeInfo")
    return (
        name_of(node),
        _status(node),
        _roles(node),
        age_of(node),
        info.get("kubeletVersion", ""),
        _address(status, "InternalIP"),
        _address(status, "ExternalIP"),
        info.get("osImage") or "<unknown>",
        _kernel(info),
        info.get("containerRuntimeVersion") or "<unknown>",
    )


def _namespace(obj: JsonObject) -> Sequence[Cell]:
    return name_of(obj), section(obj, "status").get("phase", ""), age_of(obj)


def _lease(obj: JsonObject) -> Sequence[Cell]:
    return name_of(obj), section(obj, "spec").get("holderIdentity", ""), age_of(obj)


def _runtime_class(obj: JsonObject) -> Sequence[Cell]:
    return name_of(obj), obj.get("handler", ""), age_of(obj)


COLUMNS = {
    ("", "Node"): Columns(
        (
            NAME,
            text("Status", "Whether the node is ready, and takes pods."),
            text("Roles", "The node's roles, by its labels."),
            AGE,
            text("Version", "The version of the node's kubelet."),
            text("Internal-IP", "The node's first internal address.", wide=True),
            text("External-IP", "The node's first external address.", wide=True),
            text("OS-Image", "The operating system the node reports.", wide=True),
            text("Kernel-Version", "The kernel the node reports, and its architecture.", wide=True),
            text("Container-Runtime", "The container runtime the node reports.", wide=True),
        ),
        _node,
    ),
    ("", "Namespace"): Columns((NAME, text("Status", "Whether the namespace is active."), AGE), _namespace),
    ("coordination.k8s.io", "Lease"): Columns((NAME, text("Holder", "Who holds the lease."), AGE), _lease),
    ("node.k8s.io", "RuntimeClass"): Columns(
        (NAME, text("Handler", "The runtime's configuration."), AGE), _runtime_class
    ),
}

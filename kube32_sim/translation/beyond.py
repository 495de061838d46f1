"""What a pod's spec can say about its placement and Kestrel cannot, field by field.

Of affinity only what is about nodes; `terms` has what is about pods.  Anything here matters when a pod is placed, and
not while it stays where it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from kube32_sim.api.pod_state import SCHEDULER_NAMES
from kube32_sim.translation.amounts import RESOURCES, asked_for

JsonObject = dict[str, Any]

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
EFFECTS = ("NoSchedule", "NoExecute")


class Problem(NamedTuple):
    """field: its path.  beyond: whether the profile cannot say it; else it is wrong in itself."""

    field: str
    why: str
    beyond: bool = True

    def __str__(self) -> str:
        return f"{self.field}: {self.why}"


def beyond(field: str, what: str) -> Problem:
    return Problem(field, f"Kestrel {what}")


FIELDS = {
    "topologySpreadConstraints": "does not spread pods",
    "resourceClaims": "knows no devices",
    "schedulingGroup": "places pods one by one",
}
"""Fields of the spec that decide where a pod may be placed, whatever they hold."""

ONLY_NEW = {
    "nodeName": "chooses the node itself",
    "schedulingGates": "has no gates and would place the pod at once",
    "runtimeClassName": "knows no RuntimeClasses, which add overhead, a node selector and tolerations",
}
"""The same, of pods that are not created yet: of the others they are done with."""

VOLUMES = frozenset(
    [
        "persistentVolumeClaim",
        "ephemeral",
        "awsElasticBlockStore",
        "azureDisk",
        "azureFile",
        "cinder",
        "gcePersistentDisk",
        "iscsi",
        "portworxVolume",
        "rbd",
        "vsphereVolume",
    ]
)
"""Volumes that are not on every node, cannot be on several at once, or of which a node takes so many only."""


def of_new_pods(spec: JsonObject) -> Iterator[Problem]:
    for field, what in ONLY_NEW.items():
        if spec.get(field):
            yield beyond(f"spec.{field}", what)


def of_any_pod(spec: JsonObject) -> Iterator[Problem]:
    for field, what in FIELDS.items():
        if spec.get(field):
            yield beyond(f"spec.{field}", what)
    if (spec.get("schedulerName") or "") not in SCHEDULER_NAMES:
        yield beyond("spec.schedulerName", f"is not the scheduler {spec['schedulerName']!r}")
    if (spec.get("affinity") or {}).get("nodeAffinity") and not only_node(spec):
        yield beyond("spec.affinity.nodeAffinity", "has node selectors only")
    yield from _of_tolerations(spec)
    yield from _of_containers(spec)
    for index, volume in enumerate(spec.get("volumes") or ()):
        for kind in sorted(VOLUMES & volume.keys()):
            yield beyond(
                f"spec.volumes[{index}].{kind}", "does not look at volumes, and this one may tie pods to nodes"
            )


def only_node(spec: JsonObject) -> str:
    """The node of a pod that is made for one node, as a DaemonSet's are, or ""; that is all its node affinity says."""
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    terms = (affinity.get(REQUIRED) or {}).get("nodeSelectorTerms") or []
    if affinity.get(PREFERRED) or len(terms) != 1 or terms[0].get("matchExpressions"):
        return ""
    fields = terms[0].get("matchFields") or []
    if len(fields) != 1 or fields[0].get("key") != "metadata.name" or fields[0].get("operator") != "In":
        return ""
    names = fields[0].get("values") or []
    return str(names[0]) if len(names) == 1 else ""


def _of_tolerations(spec: JsonObject) -> Iterator[Problem]:
    for index, toleration in enumerate(spec.get("tolerations") or ()):
        field = f"spec.tolerations[{index}]"
        operator = toleration.get("operator") or "Equal"
        if operator not in ("Equal", "Exists"):
            yield beyond(f"{field}.operator", "knows the operators Equal and Exists only")
        elif operator == "Equal" and not toleration.get("key"):
            yield Problem(f"{field}.key", "may be empty with the operator Exists only", beyond=False)


def _of_containers(spec: JsonObject) -> Iterator[Problem]:
    for field, name, amount in asked_for(spec):
        if name not in RESOURCES and str(amount) != "0":
            yield beyond(field, "counts cpu and memory only")
    for kind in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(kind) or ()):
            for place, port in enumerate(container.get("ports") or ()):
                field = f"spec.{kind}[{index}].ports[{place}]"
                if port.get("hostPort"):
                    yield beyond(f"{field}.hostPort", "does not count ports of nodes")
                elif spec.get("hostNetwork"):
                    yield beyond(f"{field}.containerPort", "does not count ports of nodes (spec.hostNetwork)")

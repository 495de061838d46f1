"""What a real cluster's objects are changed into, so that the simulator's loops go on with them as they are.

kube32 has no ReplicaSets: a Deployment owns its pods, and the label `pod-template-hash` tells the template by a hash of
its own; so do the pods of a DaemonSet by `controller-revision-hash`.  Without a translation every Deployment would make
all its pods anew.  ReplicaSets and ControllerRevisions stay, as objects that nothing acts on.

Nodes of a real cluster have no board behind them: an annotation says as what they run here (`kubelet/played`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from kube32_controllers.daemonset import HASH_LABEL as DAEMON_HASH
from kube32_controllers.deployment_controller import HASH_LABEL as DEPLOYMENT_HASH
from kube32_controllers.pod_control import controlling, template_hash

from kube32_sim.api.resources import ResourceType
from kube32_sim.api.rollouts import ROLLED_OUT
from kube32_sim.api.steering import FAULT, RUNS_AS
from kube32_sim.kubelet.node_keeper import is_ready
from kube32_sim.kubelet.played import description

JsonObject = dict[str, Any]

NODES, PODS = ("", "nodes"), ("", "pods")
DEPLOYMENTS, DAEMON_SETS = ("apps", "deployments"), ("apps", "daemonsets")
REPLICA_SETS, REVISIONS = ("apps", "replicasets"), ("apps", "controllerrevisions")


@dataclass(frozen=True, slots=True)
class _Template:
    """Which template a pod was made of: the owner it is to have, and what its hash label is to be."""

    owner: JsonObject
    hash: str


class Translator:
    """Of one load: `see` every object of the kinds it goes by, then `translate` each."""

    def __init__(self) -> None:
        self._deployments: dict[str, _Template] = {}
        self._by_name: dict[tuple[str, str], _Template] = {}
        self._replica_sets: dict[str, tuple[str, str]] = {}
        """(uid of the Deployment, hash of the template), by uid."""
        self._daemon_sets: dict[str, str] = {}
        """The hash of the template, by uid."""
        self._newest: dict[str, tuple[int, str]] = {}
        """Number and hash label of the newest ControllerRevision, by the owner's uid."""
        self.moved = 0
        """Pods that their Deployment owns now."""

    def see(self, row: ResourceType, obj: JsonObject) -> None:
        metadata = obj["metadata"]
        uid = metadata.get("uid", "")
        if row.storage == DEPLOYMENTS:
            owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": metadata["name"], "uid": uid}
            found = _Template(owner, template_hash(obj["spec"]["template"]))
            self._deployments[uid] = self._by_name[metadata["namespace"], metadata["name"]] = found
        elif row.storage == REPLICA_SETS:
            above = controlling(obj)
            if above is not None and above["kind"] == "Deployment":
                self._replica_sets[uid] = above["uid"], template_hash(_without_hash(obj["spec"]["template"]))
        elif row.storage == DAEMON_SETS:
            self._daemon_sets[uid] = template_hash(obj["spec"]["template"])
        elif row.storage == REVISIONS:
            above = controlling(obj)
            if above is not None:
                label = (metadata.get("labels") or {}).get(DAEMON_HASH, "")
                known = self._newest.get(above["uid"], (-1, ""))
                self._newest[above["uid"]] = max(known, (int(obj.get("revision") or 0), label))

    def changes(self, row: ResourceType, *, owned: bool) -> bool:
        """Whether `translate` may change an object of the type."""
        return row.storage == DEPLOYMENTS or (owned and row.storage == PODS)

    def translate(self, row: ResourceType, obj: JsonObject) -> None:
        """Change an object in place."""
        if row.storage == PODS:
            above = controlling(obj)
            if above is not None and above["kind"] == "ReplicaSet":
                self._own(obj, above)
            elif above is not None and above["kind"] == "DaemonSet":
                self._mark_daemon(obj, above["uid"])
        elif row.storage == DEPLOYMENTS:
            self._note_rollout(obj)

    def _own(self, pod: JsonObject, above: JsonObject) -> None:
        found = self._template_of(pod, above)
        if found is None:
            return
        metadata = pod["metadata"]
        others = [owner for owner in metadata["ownerReferences"] if owner is not above]
        metadata["ownerReferences"] = [{**found.owner, "controller": True, "blockOwnerDeletion": True}, *others]
        metadata["labels"] = {**(metadata.get("labels") or {}), DEPLOYMENT_HASH: found.hash}
        self.moved += 1

    def _template_of(self, pod: JsonObject, above: JsonObject) -> _Template | None:
        known = self._replica_sets.get(above["uid"])
        if known is not None:
            deployment = self._deployments.get(known[0])
            return None if deployment is None else _Template(deployment.owner, known[1])
        # Without the ReplicaSet: it is named after its Deployment, and has what is the current template.
        return self._by_name.get((pod["metadata"]["namespace"], above["name"].rpartition("-")[0]))

    def _mark_daemon(self, pod: JsonObject, uid: str) -> None:
        wanted = self._daemon_sets.get(uid)
        labels = pod["metadata"].get("labels") or {}
        newest = self._newest.get(uid, (0, labels.get(DAEMON_HASH, "")))[1]
        if wanted is not None and labels.get(DAEMON_HASH) == newest != wanted:
            pod["metadata"]["labels"] = {**labels, DAEMON_HASH: wanted}

    def _note_rollout(self, deployment: JsonObject) -> None:
        """What its controller has seen has its revision already."""
        metadata = deployment["metadata"]
        annotations = metadata.get("annotations") or {}
        seen = (deployment.get("status") or {}).get("observedGeneration", 0)
        known = self._deployments.get(metadata.get("uid", ""))
        if known is not None and ROLLED_OUT not in annotations and seen and seen >= metadata.get("generation", 0):
            metadata["annotations"] = {**annotations, ROLLED_OUT: known.hash}


def _without_hash(template: JsonObject) -> JsonObject:
    """The Deployment's template that a ReplicaSet's was made of."""
    metadata = template.get("metadata") or {}
    labels = {key: value for key, value in (metadata.get("labels") or {}).items() if key != DEPLOYMENT_HASH}
    return {**template, "metadata": {**metadata, "labels": labels}}


def adopt(node: JsonObject, played: Iterable[str]) -> bool:
    """Say in a node's annotations as what it is run; answers whether it is off, as it was when it was saved.

    played: the names of the nodes that boards run already.
    """
    metadata = node["metadata"]
    if metadata["name"] in played:
        return False
    annotations = dict(metadata.get("annotations") or {})
    off = not is_ready(node) and FAULT not in annotations
    if off:
        annotations[FAULT] = "stopped"
    annotations.setdefault(RUNS_AS, description(node))
    metadata["annotations"] = annotations
    return off

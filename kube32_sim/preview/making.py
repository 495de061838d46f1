"""The pods that an object makes, as the controllers of a cluster would, while none of them is there yet.

Their own functions make the pods wherever kube32-sim has the controller; ReplicaSets, StatefulSets and
ReplicationControllers follow kube-controller-manager.  Names and admission are the business of `workloads`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from kube32_controllers.daemonset import NodePods, daemon_pod, hostname_of, wanted_nodes
from kube32_controllers.deployment_controller import HASH_LABEL
from kube32_controllers.job_pods import completions, indexed, job_pod
from kube32_controllers.job_policies import FAILURES, per_index
from kube32_controllers.pod_control import pod_from_template, template_hash

from kube32_sim.preview.placements import JsonObject
from kube32_sim.runtime.actions import reference

TEMPLATE_LABEL = HASH_LABEL
"""What tells the pods of a Deployment's ReplicaSets apart, and ends the names of those."""
REVISION_LABEL = "controller-revision-hash"
POD_NAME_LABEL = "statefulset.kubernetes.io/pod-name"
POD_INDEX_LABEL = "apps.kubernetes.io/pod-index"
BORNE = tuple(
    {"key": f"node.kubernetes.io/{what}", "operator": "Exists", "effect": effect}
    for what, effect in (
        ("not-ready", "NoExecute"),
        ("unreachable", "NoExecute"),
        ("disk-pressure", "NoSchedule"),
        ("memory-pressure", "NoSchedule"),
        ("pid-pressure", "NoSchedule"),
        ("unschedulable", "NoSchedule"),
    )
)
"""Tolerations that kube-controller-manager gives to the pods of DaemonSets."""


@dataclass(frozen=True, slots=True)
class Making:
    """number: of pods.  pod: makes one, 0 the first, without its name.  why_none: what a number of 0 comes from.

    prefix: of names that are generated.  name: the names where they are not.  alike: all pods are the same but for
    their names.  volumes_from: as a `WantedPod`'s.
    """

    number: int
    pod: Callable[[int], JsonObject]
    why_none: str
    prefix: str = ""
    name: Callable[[int], str] | None = None
    alike: bool = True
    volumes_from: Sequence[str] = ()


def making(obj: JsonObject, nodes: Sequence[JsonObject], *, of_kubernetes: bool = False) -> Making:
    """What an accepted object of a kind in `objects.WORKLOADS` makes on a cluster of these nodes.

    of_kubernetes: where kube-controller-manager does otherwise than kube32 (with DaemonSets), as it does.
    """
    maker = _MAKERS[obj["kind"]]
    return (_OF_KUBERNETES.get(obj["kind"], maker) if of_kubernetes else maker)(obj, nodes)


def _about(obj: JsonObject) -> JsonObject:
    return reference(obj["apiVersion"], obj["kind"], obj)


def _prefix(obj: JsonObject) -> str:
    return f"{obj['metadata']['name']}-"


def _pod(obj: JsonObject, nodes: Sequence[JsonObject]) -> Making:
    prefix, name = obj["metadata"].get("generateName", ""), obj["metadata"]["name"]
    return Making(1, lambda _: obj, "", prefix, None if prefix else lambda _: name)


def _deployment(obj: JsonObject, nodes: Sequence[JsonObject]) -> Making:
    made = _replicated(obj, {TEMPLATE_LABEL: template_hash(obj["spec"]["template"])})
    return replace(made, number=0, why_none="spec.paused is true") if obj["spec"].get("paused") else made


def _replica_set(obj: JsonObject, nodes: Sequence[JsonObject]) -> Making:
    return _replicated(obj, {})


def _replicated(obj: JsonObject, labels: dict[str, str]) -> Making:
    spec, about, prefix = obj["spec"], _about(obj), _prefix(obj)

    def pod(index: int) -> JsonObject:
        return pod_from_template(spec["template"], about, prefix, labels)

    return Making(spec["replicas"], pod, "spec.replicas is 0", prefix)


def _stateful_set(obj: JsonObject, nodes: Sequence[JsonObject]) -> Making:
    spec, about, prefix = obj["spec"], _about(obj), _prefix(obj)
    start = spec.get("ordinals", {}).get("start", 0)
    revision = f"{prefix}{template_hash(spec['template'])}"

    def pod(index: int) -> JsonObject:
        return _stateful_pod(obj, about, start + index, revision)

    return Making(
        spec["replicas"],
        pod,
        "spec.replicas is 0",
        name=lambda index: f"{prefix}{start + index}",
        alike=False,
        volumes_from=_volumes_from(spec),
    )


def _stateful_pod(obj: JsonObject, about: JsonObject, ordinal: int, revision: str) -> JsonObject:
    """A pod with an identity: its name is its hostname, and names the claims that are its own."""
    name = f"{_prefix(obj)}{ordinal}"
    labels = {REVISION_LABEL: revision, POD_NAME_LABEL: name, POD_INDEX_LABEL: str(ordinal)}
    pod = pod_from_template(obj["spec"]["template"], about, _prefix(obj), labels)
    spec = pod["spec"]
    spec["hostname"] = name
    if obj["spec"].get("serviceName"):
        spec["subdomain"] = obj["spec"]["serviceName"]
    claims = _claims(obj["spec"])
    if claims:
        own = [{"name": claim, "persistentVolumeClaim": {"claimName": f"{claim}-{name}"}} for claim in claims]
        spec["volumes"] = own + [volume for volume in spec.get("volumes") or () if volume["name"] not in claims]
    return pod


def _claims(spec: JsonObject) -> list[str]:
    return [claim["metadata"]["name"] for claim in spec.get("volumeClaimTemplates") or ()]


def _volumes_from(spec: JsonObject) -> list[str]:
    """Of the volumes that `_stateful_pod` gives, in their order."""
    claims, volumes = _claims(spec), spec["template"]["spec"].get("volumes") or ()
    there = [index for index, volume in enumerate(volumes) if volume["name"] not in claims]
    own = [f"spec.volumeClaimTemplates[{index}]" for index in range(len(claims))]
    return own + [f"spec.template.spec.volumes[{index}]" for index in there]


def _daemon_set(obj: JsonObject, nodes: Sequence[JsonObject]) -> Making:
    about, current = _about(obj), template_hash(obj["spec"]["template"])
    places = [
        NodePods(node["metadata"]["name"], hostname_of(node), None, False, (), ()) for node in wanted_nodes(obj, nodes)
    ]

    def pod(index: int) -> JsonObject:
        return daemon_pod(obj, places[index], current, about)

    return Making(len(places), pod, "the labels of no node match its nodeSelector", _prefix(obj), alike=False)


def _daemon_set_of_kubernetes(obj: JsonObject, nodes: Sequence[JsonObject]) -> Making:
    """A pod is tied to its node by the node's name, tolerates what the node's condition brings, and is not made for a
    node with a taint that it does not tolerate."""
    from kube32_sim.kestrel.filters import untolerated
    from kube32_sim.translation.kubernetes import kestrel_node, tolerations

    about, current = _about(obj), template_hash(obj["spec"]["template"])
    borne = [*(obj["spec"]["template"]["spec"].get("tolerations") or ()), *BORNE]
    places = [
        node["metadata"]["name"]
        for node in wanted_nodes(obj, nodes)
        if untolerated(kestrel_node(node)[0].taints, tuple(tolerations(borne))) is None
    ]

    def pod(index: int) -> JsonObject:
        made = pod_from_template(obj["spec"]["template"], about, _prefix(obj), {REVISION_LABEL: current})
        spec = made["spec"]
        spec["tolerations"] = borne
        term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [places[index]]}]}
        node_affinity = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
        given = spec.get("affinity") or {}
        if not given.get("nodeAffinity"):  # else it is refused, as it stands in the manifest
            spec["affinity"] = {**given, "nodeAffinity": node_affinity}
        return made

    return Making(len(places), pod, "no node matches its nodeSelector and taints", _prefix(obj), alike=False)


def _job(obj: JsonObject, nodes: Sequence[JsonObject]) -> Making:
    return _job_of(obj, completions(obj))


def _job_of_kubernetes(obj: JsonObject, nodes: Sequence[JsonObject]) -> Making:
    """Without completions it is a work queue."""
    return _job_of(obj, obj["spec"].get("completions", obj["spec"]["parallelism"]))


def _job_of(obj: JsonObject, wanted: int) -> Making:
    spec, about, has_indexes = obj["spec"], _about(obj), indexed(obj)
    annotations = {FAILURES: "0"} if per_index(obj) else {}
    number = min(spec["parallelism"], wanted)
    why_none = "spec.parallelism or spec.completions is 0"
    if spec.get("suspend"):
        number, why_none = 0, "spec.suspend is true"

    def pod(index: int) -> JsonObject:
        return job_pod(obj, about, index if has_indexes else -1, annotations)

    return Making(number, pod, why_none, _prefix(obj), alike=not has_indexes)


_OF_KUBERNETES: Mapping[str, Callable[[JsonObject, Sequence[JsonObject]], Making]] = {
    "DaemonSet": _daemon_set_of_kubernetes,
    "Job": _job_of_kubernetes,
}
_MAKERS: Mapping[str, Callable[[JsonObject, Sequence[JsonObject]], Making]] = {
    "Pod": _pod,
    "Deployment": _deployment,
    "ReplicaSet": _replica_set,
    "ReplicationController": _replica_set,
    "StatefulSet": _stateful_set,
    "DaemonSet": _daemon_set,
    "Job": _job,
}

"""Does a cluster do what the preview says?  A private simulator gets the same state, and the pods are created in it.

Nothing is written anywhere else.  Each pod takes the whole way of a create request, with admission and the scheduler.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from kube32_sim.client import NAMESPACES, PODS
from kube32_sim.preview.boards import at_rest, revision_of
from kube32_sim.preview.kube32 import Kube32Placer
from kube32_sim.preview.placements import ClusterState, Placement, WantedPod

if TYPE_CHECKING:
    from kube32_sim.cluster import Cluster

JsonObject = dict[str, Any]

STORAGES = {
    "nodes": ("", "nodes"),
    "pods": ("", "pods"),
    "priority_classes": ("scheduling.k8s.io", "priorityclasses"),
    "limit_ranges": ("", "limitranges"),
}


async def differences(
    placements: Sequence[Placement], state: ClusterState, profile: str = Kube32Placer.profile
) -> list[str]:
    """One line for each pod that goes elsewhere than the preview says, or is refused in other words."""
    from kube32_sim.cluster import Cluster
    from kube32_sim.options import ServeOptions

    # On a clock that stands still nothing moves but what is created.
    options = ServeOptions(port=0, nodes=0, controllers="scheduler", clock="virtual", scheduler_profile=profile)
    state = at_rest(state, Kube32Placer.profile)  # what runs is in the nodes' reports still, by either profile
    async with Cluster(options) as cluster:
        await _load(cluster, _by_revision(state) if profile == Kube32Placer.profile else _by_age(state))
        wanted = {placement.pod.namespace for placement in placements}
        await _make_namespaces(cluster, wanted if state.namespaces is None else wanted & {*state.namespaces})
        if profile == Kube32Placer.profile:
            found = [await _difference(cluster, placement) for placement in placements]
        else:
            from kube32_sim.commands.evicting import Trial

            found = await Trial(cluster, state).differences(placements)
    return [line for line in found if line]


Stored = tuple[tuple[str, str], JsonObject]


def _by_revision(state: ClusterState) -> list[Stored]:
    """In the order in which everything was written, as the scheduler compares revisions.

    A pod that is not newer than its node is in the node's report, also where the two are of the same time.
    """
    there = [(storage, obj) for name, storage in STORAGES.items() for obj in getattr(state, name)]
    return sorted(there, key=lambda one: (revision_of(one[1]), one[0] == STORAGES["nodes"]))


def _by_age(state: ClusterState) -> list[Stored]:
    """Pods as they came to their nodes, without those that wait for one; reports include all that run.

    To Kestrel a pod that is being deleted counts as any other, until it has gone.
    """
    from kube32_controllers.scheduler_cache import waits_for_node

    from kube32_sim.translation.kubernetes import age

    pods = sorted((_staying(pod) for pod in state.pods if not waits_for_node(pod)), key=age)
    others = [
        (STORAGES[name], obj) for name in ("priority_classes", "limit_ranges", "nodes") for obj in getattr(state, name)
    ]
    return [*((STORAGES["pods"], pod) for pod in pods), *others]


def _staying(pod: JsonObject) -> JsonObject:
    return {**pod, "metadata": {key: value for key, value in pod["metadata"].items() if not key.startswith("deletion")}}


async def _load(cluster: Cluster, there: Iterable[Stored]) -> None:
    """Store everything as it is, in this order."""
    for storage, obj in there:
        metadata = {key: value for key, value in obj["metadata"].items() if key != "resourceVersion"}
        key = "/".join(filter(None, (metadata.get("namespace"), metadata["name"])))
        plain = {name: value for name, value in obj.items() if name not in ("apiVersion", "kind")}
        if cluster.store.get(storage, key) is None:
            await cluster.store.create(storage, key, {**plain, "metadata": metadata})


async def _make_namespaces(cluster: Cluster, names: Iterable[str]) -> None:
    there = {obj["metadata"]["name"] for obj in (await cluster.client.list(NAMESPACES)).items}
    for name in sorted(set(names) - there):
        await cluster.client.create(NAMESPACES, "", {"metadata": {"name": name}})


async def _difference(cluster: Cluster, placement: Placement) -> str:
    from kube32_sim.api.errors import ApiError

    pod = placement.pod
    try:
        created = await create(cluster, pod)
    except ApiError as error:
        return f"{pod.namespace}/{pod.name}: refused: {error.message}"
    went = created["spec"].get("nodeName", "")
    return elsewhere(placement, went) or ("" if went else otherwise(placement, created))


async def create(cluster: Cluster, pod: WantedPod) -> JsonObject:
    """As a client would send it; under a name that is surely free."""
    metadata = {key: value for key, value in pod.obj["metadata"].items() if key != "name"}
    obj = {"metadata": {**metadata, "generateName": "preview-"}, "spec": pod.obj["spec"]}
    return await cluster.client.create(PODS, pod.namespace, obj)


def elsewhere(placement: Placement, went: str) -> str:
    """The line about a pod that went to another node than previewed, or ""."""
    if went == placement.node:
        return ""
    pod = placement.pod
    return f"{pod.namespace}/{pod.name}: previewed on {placement.node or '<none>'}, went to {went or '<none>'}"


def otherwise(placement: Placement, waiting: JsonObject) -> str:
    """The line about a pod that fits nowhere, as previewed, and is told so in other words, or ""."""
    conditions = waiting.get("status", {}).get("conditions", ())
    message = next((one.get("message", "") for one in conditions if one["type"] == "PodScheduled"), "")
    if not message or message == placement.message:
        return ""
    pod = placement.pod
    return f"{pod.namespace}/{pod.name}: previewed with {placement.message!r}, refused with {message!r}"

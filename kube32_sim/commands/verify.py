"""Does a cluster do what the preview says?  A private simulator gets the same state, and the pods are created in it.

Nothing is written anywhere else.  Each pod takes the whole way of a create request, with admission and the scheduler.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from kube32_sim.client import NAMESPACES, PODS
from kube32_sim.preview.boards import at_rest, revision_of
from kube32_sim.preview.kube32 import Kube32Placer
from kube32_sim.preview.placements import ClusterState, Placement

if TYPE_CHECKING:
    from kube32_sim.cluster import Cluster

JsonObject = dict[str, Any]

STORAGES = {
    "nodes": ("", "nodes"),
    "pods": ("", "pods"),
    "priority_classes": ("scheduling.k8s.io", "priorityclasses"),
    "limit_ranges": ("", "limitranges"),
}


async def differences(placements: Sequence[Placement], state: ClusterState) -> list[str]:
    """One line for each pod that goes elsewhere than the preview says, or is refused in other words."""
    from kube32_sim.cluster import Cluster
    from kube32_sim.options import ServeOptions

    # On a clock that stands still nothing moves but what is created.
    state = at_rest(state, Kube32Placer.profile)
    options = ServeOptions(port=0, nodes=0, controllers="scheduler", clock="virtual")
    async with Cluster(options) as cluster:
        await _load(cluster, state)
        wanted = {placement.pod.namespace for placement in placements}
        await _make_namespaces(cluster, wanted if state.namespaces is None else wanted & {*state.namespaces})
        found = [await _difference(cluster, placement) for placement in placements]
    return [line for line in found if line]


async def _load(cluster: Cluster, state: ClusterState) -> None:
    """Store everything as it is, in the order in which it was written: the scheduler compares revisions.

    A pod that is not newer than its node is in the node's report, also where the two are of the same time.
    """
    there = [(storage, obj) for name, storage in STORAGES.items() for obj in getattr(state, name)]
    for storage, obj in sorted(there, key=lambda one: (revision_of(one[1]), one[0] == STORAGES["nodes"])):
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
    metadata = {key: value for key, value in pod.obj["metadata"].items() if key != "name"}
    # As a client would send it; under a name that is surely free.
    obj = {"metadata": {**metadata, "generateName": "preview-"}, "spec": pod.obj["spec"]}
    try:
        created = await cluster.client.create(PODS, pod.namespace, obj)
    except ApiError as error:
        return f"{pod.namespace}/{pod.name}: refused: {error.message}"
    went = created["spec"].get("nodeName", "")
    if went != placement.node:
        return f"{pod.namespace}/{pod.name}: previewed on {placement.node or '<none>'}, went to {went or '<none>'}"
    conditions = created.get("status", {}).get("conditions", ())
    message = next((one.get("message", "") for one in conditions if one["type"] == "PodScheduled"), "")
    if not went and message and message != placement.message:
        return f"{pod.namespace}/{pod.name}: previewed with {placement.message!r}, refused with {message!r}"
    return ""

"""Does a cluster that schedules by Kestrel's rules do what the preview says, evictions included?

In Kestrel's contract the pods that are evicted are off at once and look for a new place one after the other; a cluster
deletes them, and whoever owns them makes others.  Here they are taken off their node when the server begins to delete
them, and let go again one by one, so that the two can be compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kube32_sim.api.errors import ApiError
from kube32_sim.api.pod_state import finished, terminating
from kube32_sim.client import PODS
from kube32_sim.commands.verify import create, elsewhere, otherwise
from kube32_sim.preview.placements import ClusterState, Placement
from kube32_sim.translation.kubernetes import age
from kube32_sim.translation.terms import name_of

if TYPE_CHECKING:
    from kube32_sim.cluster import Cluster

JsonObject = dict[str, Any]

STORAGE = ("", "pods")
PARKED = [{"name": "sim.kube32.io/evicted"}]
"""The scheduling gates of an evicted pod whose turn has not come."""
PASS = "1s"
"""After so much time the scheduler has looked at everything again."""


class Trial:
    """cluster: of that state, on a virtual clock, with nothing but the scheduler."""

    def __init__(self, cluster: Cluster, state: ClusterState) -> None:
        self._cluster = cluster
        bound = (pod for pod in state.pods if pod["spec"].get("nodeName") and not finished(pod))
        self._came = {name_of(pod): number for number, pod in enumerate(sorted(bound, key=age))}
        self._previewed = {name: name for name in self._came}
        """By the name in the cluster the name in the preview."""

    async def differences(self, placements: Sequence[Placement]) -> list[str]:
        """A line for each pod that fares otherwise, looked at when all have been created, as the preview has it."""
        names: list[str] = []
        lines: list[str] = []
        for placement in placements:
            name, line = await self._create(placement)
            names.append(name)
            lines.append(line)
        for index, (name, placement) in enumerate(zip(names, placements, strict=True)):
            if not lines[index]:
                pod = self._pod(name) if name else None
                lines[index] = elsewhere(placement, pod["spec"].get("nodeName", "") if pod is not None else "")
        return lines

    async def _create(self, placement: Placement) -> tuple[str, str]:
        """(name in the cluster, "" where it is not there any more; a line about what was otherwise)."""
        wanted = placement.pod
        try:
            created = await create(self._cluster, wanted)
        except ApiError as error:
            return "", f"{wanted.namespace}/{wanted.name}: refused: {error.message}"
        name = name_of(created)
        if not created["spec"].get("nodeName") and not created["status"].get("nominatedNodeName"):
            line = otherwise(placement, created) if not placement.node and not placement.note else ""
            await self._cluster.client.delete(PODS, wanted.namespace, created["metadata"]["name"])
            return "", line
        self._came[name] = len(self._came)
        self._previewed[name] = f"{wanted.namespace}/{wanted.name}"
        victims = await self._make_way() if not created["spec"].get("nodeName") else {}
        previewed = {victim.pod: victim.node for victim in placement.victims}
        if victims == previewed:
            return name, ""
        says, does = _shown(previewed), _shown(victims)
        return name, f"{wanted.namespace}/{wanted.name}: previewed evicting {says}, evicted {does}"

    async def _make_way(self) -> dict[str, str]:
        """Have the victims go, the pod come, and the victims look for a place; answers where each is now."""
        await self._cluster.advance(PASS)
        victims = [stored.object() for stored in self._cluster.store.list(STORAGE) if terminating(stored.object())]
        order = sorted(victims, key=lambda pod: (-(pod["spec"].get("priority") or 0), self._came[name_of(pod)]))
        for victim in order:
            await self._change(victim, _evicted)
        await self._cluster.advance(PASS)
        places = {}
        for victim in order:
            await self._change(victim, _let_go)
            await self._cluster.advance(PASS)
            now = self._pod(name_of(victim))
            places[self._previewed[name_of(victim)]] = node = now["spec"].get("nodeName", "") if now else ""
            if not node:
                await self._change(victim, _evicted)
        return places

    async def _change(self, pod: JsonObject, change: Any) -> None:
        await self._cluster.store.update(STORAGE, name_of(pod), lambda stored: change(stored.copy()))

    def _pod(self, name: str) -> JsonObject | None:
        stored = self._cluster.store.get(STORAGE, name)
        return None if stored is None else stored.object()


def _evicted(pod: JsonObject) -> JsonObject:
    metadata = {key: value for key, value in pod["metadata"].items() if not key.startswith("deletion")}
    metadata["generation"] = metadata.get("generation", 0) + 1
    spec = {key: value for key, value in pod["spec"].items() if key != "nodeName"}
    return {**pod, "metadata": metadata, "spec": {**spec, "schedulingGates": PARKED}, "status": {"phase": "Pending"}}


def _let_go(pod: JsonObject) -> JsonObject:
    """A victim never preempts, whatever its spec says."""
    spec = {key: value for key, value in pod["spec"].items() if key != "schedulingGates"}
    metadata = {**pod["metadata"], "generation": pod["metadata"].get("generation", 0) + 1}
    return {**pod, "metadata": metadata, "spec": {**spec, "preemptionPolicy": "Never"}}


def _shown(places: dict[str, str]) -> str:
    def one(item: tuple[str, str]) -> str:
        return f"{item[0]} (then on {item[1] or '<none>'})"

    return ", ".join(map(one, sorted(places.items()))) or "nobody"

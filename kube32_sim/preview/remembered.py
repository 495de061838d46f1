"""What the profile `kestrel` makes of the nodes and pods that are stored, kept for as long as they stay as they are.

To translate a cluster takes much longer than to place a pod, and between two previews little of it changes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from kube32_sim.api.pod_state import finished
from kube32_sim.kestrel.models import Node
from kube32_sim.preview.boards import relieved_nodes
from kube32_sim.preview.placements import JsonObject
from kube32_sim.storage.interface import Store
from kube32_sim.storage.objects import StoredObject
from kube32_sim.translation.beyond import Problem
from kube32_sim.translation.kubernetes import Reading, Translation, kestrel_node, translation

NODES, PODS = ("", "nodes"), ("", "pods")


class Remembered(Reading):
    """pods, nodes: as they are stored now; of boards what they report is put as if no pod ran on them."""

    at_rest = True

    def __init__(self, store: Store) -> None:
        self._store = store
        self._pods: dict[str, tuple[int, JsonObject]] = {}
        self._nodes: dict[str, tuple[int, JsonObject]] = {}
        self._relieved: dict[str, tuple[tuple[int, ...], JsonObject]] = {}
        self._read_pods: dict[int, Translation] = {}
        self._read_nodes: dict[int, tuple[Node, list[Problem]]] = {}
        self.pods: list[JsonObject] = []
        self.nodes: list[JsonObject] = []

    def look(self) -> None:
        """Bring everything up to date."""
        self._pods = _objects(self._store.list(PODS), self._pods)
        self._nodes = _objects(self._store.list(NODES), self._nodes)
        self.pods = [obj for _, obj in self._pods.values()]
        self.nodes = self._at_rest([obj for _, obj in self._nodes.values()])
        alive = {id(obj) for obj in (*self.pods, *self.nodes)}
        self._read_pods = {key: read for key, read in self._read_pods.items() if key in alive}
        self._read_nodes = {key: read for key, read in self._read_nodes.items() if key in alive}

    @property
    def size(self) -> int:
        """How many objects are kept."""
        return len(self._pods) + len(self._nodes)

    def _at_rest(self, nodes: list[JsonObject]) -> list[JsonObject]:
        there: dict[str, list[JsonObject]] = {}
        for pod in self.pods:
            if not finished(pod):
                there.setdefault(pod["spec"].get("nodeName", ""), []).append(pod)
        relieved: dict[str, tuple[tuple[int, ...], JsonObject]] = {}
        for node in nodes:
            name = node["metadata"]["name"]
            pods = there.get(name, [])
            made_of = (id(node), *map(id, pods))
            before = self._relieved.get(name)
            if before is None or before[0] != made_of:
                before = made_of, relieved_nodes([node], pods)[0]
            relieved[name] = before
        self._relieved = relieved
        return [node for _, node in relieved.values()]

    def node(self, obj: JsonObject) -> tuple[Node, list[Problem]]:
        found = self._read_nodes.get(id(obj))
        if found is None:
            found = kestrel_node(obj)
            if obj is self._relieved.get(obj["metadata"]["name"], ((), None))[1]:
                self._read_nodes[id(obj)] = found
        return replace(found[0]), found[1]  # pods come to the node, and take of it

    def pod(self, obj: JsonObject) -> Translation:
        found = self._read_pods.get(id(obj))
        if found is None:
            found = translation(obj)
            metadata = obj["metadata"]
            if obj is self._pods.get(f"{metadata['namespace']}/{metadata['name']}", (0, None))[1]:
                self._read_pods[id(obj)] = found
        return found


def _objects(
    stored: Iterable[StoredObject], before: dict[str, tuple[int, JsonObject]]
) -> dict[str, tuple[int, JsonObject]]:
    """By key: what was decoded once is the same object as long as it has its revision."""
    found = {}
    for one in stored:
        kept = before.get(one.key)
        found[one.key] = kept if kept is not None and kept[0] == one.revision else (one.revision, one.object())
    return found

"""However nodes and pods came, changed and went: the picture is the one that reading them anew would make."""

from __future__ import annotations

import random
from itertools import count
from typing import Any

import pytest
from kube32_controllers.kestrel_cache import KestrelCache
from kube32_controllers.kestrel_pods import read_pod

from tests.kestrel.sequences import FLAVOURS, Writer
from tests.preview.translated import node_object, pod_object

JsonObject = dict[str, Any]


class Churn:
    """Nodes and pods that change at random, as a store would tell of them."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.writer = Writer(FLAVOURS["mixed"], random.Random(f"churn:{seed}"))
        self.cache = KestrelCache()
        self.nodes: dict[str, tuple[JsonObject, int]] = {}
        self.pods: dict[str, tuple[JsonObject, int]] = {}
        self.revisions, self.uids = count(1), count(1)

    def step(self) -> None:
        self.rng.choice((self.put_node, self.drop_node, self.new_pod, self.new_pod, self.move_pod, self.drop_pod))()

    def put_node(self) -> None:
        name = f"n{self.rng.randrange(5)}"
        node = node_object(name, self.writer.node_spec(), unschedulable=self.rng.random() < 0.1)
        if self.rng.random() < 0.2:
            node["spec"]["providerID"] = f"kube32-sim://linux/{name}"
        if self.rng.random() < 0.2:
            del node["metadata"]["labels"]["topology.kubernetes.io/zone"]
        self.nodes[name] = node, next(self.revisions)
        self.cache.put_node(*self.nodes[name])

    def drop_node(self) -> None:
        if self.nodes and self.rng.random() < 0.5:
            name = self.rng.choice(list(self.nodes))
            del self.nodes[name]
            self.cache.drop_node(name)

    def new_pod(self) -> None:
        name = f"p{self.rng.randrange(12)}"
        self.pods.pop(name, None)  # one of that name may be another, of which nobody was told that it went
        uid = f"uid-{next(self.uids)}"
        pod = pod_object(name, self.writer.pod_spec(), uid=uid, generation=1, creationTimestamp="2026-01-01T00:00:00Z")
        self.store(name, pod)

    def move_pod(self) -> None:
        if not self.pods:
            return
        name = self.rng.choice(list(self.pods))
        pod = self.pods[name][0]
        change, node = self.rng.random(), f"n{self.rng.randrange(6)}"
        spec = {key: value for key, value in pod["spec"].items() if key != "nodeName"}
        metadata, status = pod["metadata"], {"phase": "Pending"}
        if change < 0.4:
            spec["nodeName"] = node
        elif change < 0.6:
            status["nominatedNodeName"] = node
        elif change < 0.8:
            spec, status = pod["spec"], {"phase": self.rng.choice(("Running", "Running", "Succeeded"))}
        else:
            labels = self.writer.pod_labels()
            spec, metadata = pod["spec"], {**metadata, "labels": labels}
        if "nodeName" not in spec and "nodeName" in pod["spec"]:
            metadata = {**metadata, "generation": metadata["generation"] + 1}
        self.store(name, {**pod, "metadata": metadata, "spec": spec, "status": status})

    def store(self, name: str, pod: JsonObject) -> None:
        self.pods[name] = pod, next(self.revisions)
        self.cache.put_pod(*self.pods[name])

    def drop_pod(self) -> None:
        if self.pods:
            name = self.rng.choice(list(self.pods))
            del self.pods[name]
            self.cache.drop_pod(f"default/{name}")

    def anew(self) -> KestrelCache:
        made = KestrelCache()
        for name in sorted(self.pods):
            made.put_pod(*self.pods[name])
        for name in sorted(self.nodes):
            made.put_node(*self.nodes[name])
        return made

    def probe(self) -> JsonObject:
        """A pod whose place says much; of which none is evicted depends on ages, which reading anew does not know."""
        spec = {**self.writer.pod_spec(), "preemption": "Never"}
        return pod_object("probe", spec, uid="probe", generation=1)


@pytest.mark.parametrize("seed", range(20))
def test_the_picture_is_as_read_anew(seed: int) -> None:
    churn = Churn(seed)
    for number in range(150):
        churn.step()
        if number % 10:
            continue
        anew = churn.anew()
        assert churn.cache.table.nodes == anew.table.nodes
        assert churn.cache.waiting.keys() == anew.waiting.keys()
        for _ in range(5):
            pod = read_pod(churn.probe(), 0, 0, None)
            assert churn.cache.decide_for(pod) == anew.decide_for(pod)
        for key in sorted(anew.waiting):
            mine, theirs = churn.cache.waiting[key], anew.waiting[key]
            place = churn.cache.decide_for(mine).node
            assert place == anew.decide_for(theirs).node
            if place is not None:
                assert churn.cache.misfit_of(mine, place) == ""


def test_looking_for_a_place_changes_nothing() -> None:
    churn = Churn(7)
    for _ in range(200):
        churn.step()
        before = {name: node.free for name, node in churn.cache.table.nodes.items()}, churn.cache.position
        for record in churn.cache.waiting.values():
            churn.cache.decide_for(record)
        assert before == ({name: node.free for name, node in churn.cache.table.nodes.items()}, churn.cache.position)

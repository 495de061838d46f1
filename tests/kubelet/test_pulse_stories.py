"""Boards whose heartbeats are pulses and boards that write each in the ordinary way live the same lives.

Random stories in which others change, delete and make anew the Nodes and Leases of boards, told twice.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from random import Random
from typing import Any

import aiohttp
import pytest

from kube32_sim.api.errors import ApiError
from kube32_sim.client import DEPLOYMENTS, LEASES, NODES, PODS
from kube32_sim.clock import rfc3339, rfc3339_micro
from kube32_sim.cluster import Cluster
from kube32_sim.local_client import LocalClient
from kube32_sim.storage.interface import Compacted
from kube32_sim.storage.objects import StoredObject
from kube32_sim.storage.watching import Selection
from tests.support.objects import node, pod, pod_spec

JsonObject = dict[str, Any]

STEPS = 40
BOARDS = 3
STORAGES = [(resource.group, resource.plural) for resource in (NODES, LEASES, PODS)]
FORMS = (
    "application/json;as=Table;g=meta.k8s.io;v=v1",
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
    "application/json",
)
LISTS = (
    "/api/v1/nodes",
    "/api/v1/nodes?labelSelector=colour%3Dred",
    "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases?fieldSelector=metadata.name%3Desp32-1",
)


REVISION = re.compile('"resourceVersion":"[^"]*",?')


class Lines:
    """The encoder of a watch whose lines are compared."""

    key = "lines"

    def encode(self, kind: str, stored: StoredObject) -> str:
        return f"{kind} {stored.key} {stored.raw.decode()}"

    def join(self, frames: Any) -> Any:
        return frames


class Red:
    """A selector of labels."""

    text, everything = "colour=red", False

    def matches(self, values: Any) -> bool:
        return values.get("colour") == "red"


class Story:
    def __init__(self, cluster: Cluster, seed: int) -> None:
        self.cluster = cluster
        self.client = cluster.client
        self.dice = Random(seed)
        self.told: list[str] = []
        self.watched: list[list[str]] = []
        """What each watch tells, which includes every revision of every Node, Lease and Pod."""
        self.past: list[tuple[int, list[bytes]]] = []
        """Revisions, and the Nodes at that time."""
        self.pods = 0

    def board(self) -> str:
        return f"esp32-{self.dice.randrange(BOARDS)}"

    # what may happen

    async def labels(self) -> None:
        patch = {"metadata": {"labels": {"colour": self.dice.choice(("red", "blue", None))}}}
        await self.client.patch(NODES, "", self.board(), patch)

    async def fault(self) -> None:
        fault = self.dice.choice(("stopped", "partitioned", None, None))
        patch = {"metadata": {"annotations": {"sim.kube32.io/fault": fault}}}
        await self.client.patch(NODES, "", self.board(), patch)

    async def status(self) -> None:
        """Somebody writes what only the board should."""
        moment = rfc3339(self.cluster.clock.now() - self.dice.choice((0, 0, 30)))
        conditions = [
            {"type": "Ready", "status": "False", "reason": "Mine", "lastHeartbeatTime": moment},
            {"type": "MemoryPressure", "status": "True", "message": "full", "lastHeartbeatTime": moment},
            {"type": "DiskPressure", "status": "False", "message": "none", "lastHeartbeatTime": moment},
            {"type": "Odd", "status": "True", "lastHeartbeatTime": moment},
        ]
        amount: JsonObject = {"esp32.io/gpio": self.dice.choice(("1", None)), "memory": "1Ki"}
        status = self.dice.choice(
            ({"allocatable": amount}, {"capacity": amount}, {"conditions": [self.dice.choice(conditions)]})
        )
        name = self.board()
        await self.client.patch(NODES, "", name, {"status": status}, subresource="status", kind="strategic")

    async def cordon(self) -> None:
        spec = {"unschedulable": self.dice.choice((True, None))}
        await self.client.patch(NODES, "", self.board(), {"spec": spec})

    async def lease(self) -> None:
        later = rfc3339_micro(self.cluster.clock.now() + self.dice.choice((-30, 30)))
        spec: JsonObject = self.dice.choice(
            ({"leaseDurationSeconds": 4}, {"leaseDurationSeconds": 40}, {"renewTime": None}, {"renewTime": later})
        )
        metadata = {"annotations": {"renewTime": self.dice.choice(("now", None))}}
        patch = self.dice.choice(({"spec": spec}, {"metadata": metadata}, {"metadata": {"ownerReferences": None}}))
        await self.client.patch(LEASES, "kube-node-lease", self.board(), patch)

    async def lease_away(self) -> None:
        await self.client.delete(LEASES, "kube-node-lease", self.board())

    async def node_away(self) -> None:
        name = self.board()
        await self.client.delete(NODES, "", name)
        if self.dice.random() < 0.7:
            await self.cluster.advance(self.dice.choice((0.0, 0.3, 20.0)))
            await self.client.create(NODES, "", node(name))

    async def more_pods(self) -> None:
        self.pods += 1
        metadata = {"annotations": {"sim.kube32.io/run-seconds": str(self.dice.randrange(1, 60))}}
        bound = {"nodeName": self.board()} if self.dice.random() < 0.3 else {}
        made = pod(f"p-{self.pods}", spec={"restartPolicy": self.dice.choice(("Never", "Always")), **bound}, **metadata)
        await self.client.create(PODS, "default", made)

    async def fewer_pods(self) -> None:
        await self.client.delete(PODS, "default", f"p-{self.dice.randrange(1, self.pods + 2)}")

    async def scale(self) -> None:
        await self.client.patch(DEPLOYMENTS, "default", "web", {"spec": {"replicas": self.dice.randrange(12)}})

    async def forget(self) -> None:
        self.cluster.store.compact(self.cluster.store.revision - self.dice.randrange(50))

    # telling

    async def tell(self) -> None:
        happenings: tuple[Callable[[], Awaitable[None]], ...] = (
            *(self.labels, self.fault, self.fault, self.status, self.status, self.cordon, self.lease, self.lease),
            *(
                self.lease_away,
                self.node_away,
                self.more_pods,
                self.more_pods,
                self.fewer_pods,
                self.scale,
                self.forget,
            ),
        )
        template = {"metadata": {"labels": {"app": "web"}}, "spec": pod_spec()}
        spec = {"replicas": 4, "selector": {"matchLabels": {"app": "web"}}, "template": template}
        await self.client.create(DEPLOYMENTS, "default", {"metadata": {"name": "web"}, "spec": spec})
        self.watch()
        async with aiohttp.ClientSession(self.cluster.url) as http:
            for number in range(STEPS):
                happening = self.dice.choice(happenings)
                self.told.append(f"{number} at {self.cluster.clock.now()}: {happening.__name__}")
                with suppress(ApiError):  # what is not there cannot be changed
                    await happening()
                await self.cluster.advance(round(self.dice.choice((0, 0.4, 3, 11, 45)) * self.dice.random(), 3))
                await self.look(http)
        self.end()
        for lines in self.watched:
            self.told += sorted(lines, key=lambda line: line.split(" ", 2)[1])

    def watch(self) -> None:
        ways = (Selection(), Selection(name="esp32-1"), Selection(labels=Red()))
        for storage in STORAGES:
            for selection in ways:
                lines: list[str] = []
                self.cluster.hub.join(storage, selection, Lines(), lines.extend, lambda: None).go_live()
                self.watched.append(lines)

    async def look(self, http: aiohttp.ClientSession) -> None:
        """As kubectl does, and into the past."""
        path, form = self.dice.choice(LISTS), self.dice.choice(FORMS)
        async with http.get(path, headers={"Accept": form}) as answer:
            self.told.append(await answer.text())
        store = self.cluster.store
        revision, nodes = self.dice.choice(self.past) if self.past else (0, [])
        with suppress(Compacted):
            assert [stored.raw for stored in store.snapshot(STORAGES[0], "", revision)] == nodes
            self.told.append(f"{len(store.events_since(STORAGES[1], revision))} events since {revision}")
        self.past.append((store.revision, [stored.raw for stored in store.list(STORAGES[0])]))
        store.check()

    def end(self) -> None:
        store = self.cluster.store
        for storage in sorted(store.storages()):
            self.told += [f"{storage} {stored.key} {stored.raw.decode()}" for stored in store.list(storage)]


async def told(seed: int) -> list[str]:
    async with Cluster(nodes=BOARDS, clock="virtual", seed=seed) as cluster:
        story = Story(cluster, seed)
        await story.tell()
        its_port = re.compile(rf"\b{cluster.port}\b")  # wherever the API server tells of itself
        return [REVISION.sub("", its_port.sub("6443", line)) for line in story.told]


@pytest.mark.parametrize("seed", range(4))
async def test_with_pulses_and_without_them_everything_is_the_same(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """But for resourceVersions: of two boards that report at the same instant either may come first."""
    quick = await told(seed)
    monkeypatch.setattr(LocalClient, "pulse", lambda *_: None)
    slow = await told(seed)
    different = next((place for place, pair in enumerate(zip(quick, slow, strict=False)) if pair[0] != pair[1]), None)
    assert different is None, (quick[different - 1], quick[different], slow[different])
    assert len(quick) == len(slow)

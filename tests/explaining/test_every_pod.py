"""Every pod that ever was has a chain that begins with its creation and ends where it is, the same in every run."""

from __future__ import annotations

import pytest

from kube32_sim.client import PODS
from kube32_sim.cluster import Cluster
from kube32_sim.explaining.notes import Notes
from kube32_sim.explaining.story import causes_of
from kube32_sim.registry.journal import CREATED
from kube32_sim.registry.journal import PODS as POD_STORAGE
from tests.support.churn import Round


async def stories(seed: int) -> list[str]:
    """All chains after a round of everything that comes and goes; asserted to be whole."""
    async with Cluster(nodes=4, clock="virtual", seed=seed) as cluster:
        nodes: dict[str, str] = {}

        def follow(event: object) -> None:
            stored = event.stored  # type: ignore[attr-defined]
            if node := stored.value("spec.nodeName"):
                nodes[stored.uid] = node

        cluster.store.subscribe(follow, [POD_STORAGE])
        await Round(cluster, 1).run()
        there = {one["metadata"]["uid"] for one in (await cluster.client.list(PODS)).items}
        notes = Notes(cluster.journal)
        pods = [noted for noted in cluster.journal if noted.storage == POD_STORAGE and noted.did == CREATED]
        assert len(pods) > 30
        lines = []
        for noted in pods:
            links = causes_of(notes, noted.uid)
            own = [link for link in links if link.about.uid == noted.uid]
            assert own[0].revision == noted.revision
            assert own[0].reason in ("Created", "ScaledUp", "Missing", "RolledOut")
            assert next((link.node for link in reversed(own) if link.node), "") == nodes.get(noted.uid, ""), noted.name
            assert all(earlier < place for place, link in enumerate(links) for earlier in link.because)
            assert noted.uid in there or own[-1].reason not in ("Scheduled", "Evicted"), noted.name
            lines += [f"{noted.name}: {link}" for link in links]
        return lines


@pytest.mark.parametrize("seed", [0, 3])
async def test_every_pod_has_a_whole_chain_and_the_same_again(seed: int) -> None:
    assert await stories(seed) == await stories(seed)

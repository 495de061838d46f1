"""What a replica had begun when it ended, the leader does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import pytest
import pytest_asyncio

from kube32_sim.api.customs.naming import is_true
from kube32_sim.client import Resource
from kube32_sim.cluster import Cluster
from kube32_sim.election import Election
from kube32_sim.options import ServeOptions
from kube32_sim.registry import unfinished_types
from tests.support.definitions import custom, definition, served
from tests.support.etcd import Etcd
from tests.support.waiting import eventually

DEFINITIONS = Resource("apiextensions.k8s.io", "v1", "customresourcedefinitions")
STORED = (DEFINITIONS.group, DEFINITIONS.plural)
ELECTION = Election(leader_elect_lease_duration=2.0, leader_elect_renew_deadline=1.5, leader_elect_retry_period=0.2)
NAME = "widgets.example.com"


@pytest_asyncio.fixture
async def pair(
    etcd: Etcd, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[list[Cluster]]:
    """The leader and another."""
    monkeypatch.setattr(unfinished_types, "LOOK_EVERY", 0.1)
    options = ServeOptions(port=0, nodes=0, store=f"{etcd.url}/{request.node.name}", election=ELECTION)
    async with Cluster(options) as leader:
        assert leader.candidate is not None
        elector = leader.candidate.elector
        await eventually(lambda: elector.leading, "the first leads")
        other = Cluster(options)
        await other.start()
        try:
            yield [leader, other]
        finally:
            await other.stop()


def known(cluster: Cluster) -> dict[str, Any] | None:
    stored = cluster.store.get(STORED, NAME)
    return None if stored is None else stored.object()


async def test_a_definition_whose_objects_have_to_go_first(pair: list[Cluster]) -> None:
    leader, other = pair
    await other.client.create(DEFINITIONS, "", definition())
    await eventually(lambda: served() in _rows(leader), "the leader serves the type")
    await leader.client.create(served(), "default", custom("held", metadata={"finalizers": ["example.com/hold"]}))
    await eventually(lambda: other.store.count((served().group, served().plural)) == 1, "the object is known")
    await other.client.delete(DEFINITIONS, "", NAME)
    await eventually(lambda: (known(leader) or {"metadata": {}})["metadata"].get("deletionTimestamp"), "it is to go")
    await other.stop()
    assert known(leader) is not None, "nobody has let its object go yet"
    await leader.client.patch(served(), "default", "held", {"metadata": {"finalizers": None}})
    await eventually(lambda: known(leader) is None, "the leader lets it go")
    assert served() not in _rows(leader)


async def test_a_definition_that_nobody_looked_at(pair: list[Cluster]) -> None:
    """It is stored, and the server that stored it ended before it could say whether its names are accepted."""
    leader, other = pair
    other.hooks._followers.clear()
    await other.client.create(DEFINITIONS, "", definition())
    await eventually(lambda: served() in _rows(leader) and served() in _rows(other), "both serve the type")


async def test_names_are_given_once(pair: list[Cluster]) -> None:
    """Two definitions of one kind, at two replicas in the same moment."""
    for number in range(4):
        kind = f"Kind{number}"
        made = [definition(f"{letter}{number}s", kind) for letter in "ab"]
        await asyncio.gather(
            *(cluster.client.create(DEFINITIONS, "", one) for cluster, one in zip(pair, made, strict=True))
        )

        def accepted(cluster: Cluster, names: list[str]) -> list[str]:
            found = [cluster.store.get(STORED, name) for name in names]
            return [one.name for one in found if one is not None and is_true(one.object(), "NamesAccepted")]

        names = [one["metadata"]["name"] for one in made]
        for cluster in pair:
            await eventually(partial(_told, cluster, names), "both have a status")
        assert len(accepted(pair[0], names)) == 1
        assert accepted(pair[0], names) == accepted(pair[1], names)


def _told(cluster: Cluster, names: list[str]) -> bool:
    found = [cluster.store.get(STORED, name) for name in names]
    return all(one is not None and one.object().get("status", {}).get("conditions") for one in found)


def _rows(cluster: Cluster) -> set[Resource]:
    rows = cluster.registry.table.rows(served().group)
    return {Resource(row.group, row.version, row.plural) for row in rows}

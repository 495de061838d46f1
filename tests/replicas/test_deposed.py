"""A leader that does not know that it is one no more: whatever its loops try to write fails."""

from __future__ import annotations

import asyncio
import logging

import pytest

from kube32_sim.client import Resource
from kube32_sim.cluster import Cluster
from kube32_sim.election import Election
from kube32_sim.options import ServeOptions
from kube32_sim.runtime.leader_election import Elector
from tests.support.etcd import Etcd
from tests.support.waiting import eventually

DEPLOYMENTS = ("apps", "deployments")
WEBS = Resource("apps", "v1", "deployments")
PODS = ("", "pods")
ELECTION = Election(leader_elect_lease_duration=1.0, leader_elect_renew_deadline=0.8, leader_elect_retry_period=0.2)
SPEC = {"containers": [{"name": "c", "image": "i"}]}


def options(etcd: Etcd, prefix: str, **more: object) -> ServeOptions:
    store = f"{etcd.url}/{prefix}"
    given = {"port": 0, "nodes": 1, "reconcile_interval": 0.05, "store": store, "election": ELECTION, **more}
    return ServeOptions(**given)  # type: ignore[arg-type]


async def test_it_writes_nothing(etcd: Etcd, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """Its loops go on, for it never looks at the lease again: without fencing each pod would be made twice."""
    caplog.set_level(logging.DEBUG, "kube32_sim.runtime.loop")
    async with Cluster(options(etcd, "deposed")) as old:
        assert old.candidate is not None
        blind = old.candidate.elector
        await eventually(lambda: blind.leading, "the first leads")
        await eventually(lambda: old.store.count(("", "nodes")) == 1, "its board is there")
        tried, looks = Elector._try, asyncio.Event()

        async def never(elector: Elector, patience: float) -> bool:
            if elector is blind:
                await looks.wait()
            return await tried(elector, patience)

        monkeypatch.setattr(Elector, "_try", never)
        async with Cluster(options(etcd, "deposed")) as new:
            assert new.candidate is not None
            second = new.candidate.elector
            await eventually(lambda: second.leading, "the second leads")
            assert blind.leading
            made: list[str] = []
            new.store.subscribe(lambda event: made.append(event.stored.name) if event.type == "ADDED" else None, [PODS])
            labels = {"app": "web"}
            template = {"metadata": {"labels": labels}, "spec": SPEC}
            spec = {"replicas": 5, "selector": {"matchLabels": labels}, "template": template}
            web = {"metadata": {"name": "web"}, "spec": spec}
            await old.client.create(WEBS, "default", web)

            def available() -> bool:
                stored = new.store.get(DEPLOYMENTS, "default/web")
                return stored is not None and stored.object()["status"].get("availableReplicas") == 5

            await eventually(available, "the second's loops and boards do the work")
            await eventually(lambda: "no longer the leader" in caplog.text, "the first has tried")
            assert blind.leading
            assert len(made) == 5
            looks.set()
            await eventually(lambda: not blind.leading, "it looks, and stops")

"""A start does not depend on what webhooks and policies make of the writes of boards: these try again; it is told."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest

from kube32_sim.client import LEASES, NODES, Resource
from kube32_sim.cluster import Cluster
from kube32_sim.kubelet import process
from kube32_sim.kubelet.agent import Pace
from kube32_sim.leading import LocalBoards
from tests.support.etcd import Etcd
from tests.support.restarting import Outliving
from tests.support.waiting import eventually
from tests.support.webhook import VALIDATING, Hook, rule

POLICIES = Resource("admissionregistration.k8s.io", "v1", "validatingadmissionpolicies")
BINDINGS = Resource("admissionregistration.k8s.io", "v1", "validatingadmissionpolicybindings")
NODE_WRITES = rule(["nodes", "nodes/status"], ["UPDATE"])
LEASE_WRITES = rule(["leases"], ["CREATE", "UPDATE"], "coordination.k8s.io")
EVERYTHING = rule(["*/*"], ["*"], "*", "*")
SOON = 20.0
"""Seconds after which a start counts as one that does not end."""


async def refuse(cluster: Cluster, found: dict[str, Any]) -> None:
    hook = {
        "name": "away.example.com",
        "clientConfig": {"url": "https://127.0.0.1:1/x"},
        "rules": [found],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    await cluster.client.create(VALIDATING, "", {"metadata": {"name": "away"}, "webhooks": [hook]})


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [text for record in caplog.records if "cannot register yet" in (text := record.getMessage())]


@pytest.mark.parametrize("found", [NODE_WRITES, LEASE_WRITES, EVERYTHING], ids=["nodes", "leases", "everything"])
async def test_a_webhook_that_is_away(tmp_path: Path, caplog: pytest.LogCaptureFixture, found: dict[str, Any]) -> None:
    async with Outliving(tmp_path, nodes=2, clock="real") as kept:
        await refuse(kept.cluster, found)
        async with asyncio.timeout(SOON):
            cluster = await kept.restart()
        (line,) = told(caplog)
        assert line.startswith("2 of 2 boards cannot register yet, and try again: esp32-0: ")
        assert "away.example.com" in line
        (local,) = (part for part in cluster._stack if isinstance(part, LocalBoards))
        boards = local._made()._boards
        assert not any(board.registered.is_set() for board in boards)
        await cluster.client.delete(VALIDATING, "", "away")
        await eventually(lambda: all(board.registered.is_set() for board in boards), "they have come nevertheless")


async def test_a_policy(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with Outliving(tmp_path, nodes=1) as kept:
        client = kept.cluster.client
        spec = {
            "matchConstraints": {"resourceRules": [NODE_WRITES]},
            "validations": [{"expression": "false", "message": "not now"}],
        }
        await client.create(POLICIES, "", {"metadata": {"name": "never"}, "spec": spec})
        binding = {"policyName": "never", "validationActions": ["Deny"]}
        await client.create(BINDINGS, "", {"metadata": {"name": "never"}, "spec": binding})
        async with asyncio.timeout(SOON):
            cluster = await kept.restart()
        (line,) = told(caplog)
        assert "not now" in line
        await cluster.client.delete(BINDINGS, "", "never")
        before = (await cluster.client.get(LEASES, "kube-node-lease", "esp32-0"))["spec"]["renewTime"]
        await cluster.advance("20s")
        assert (await cluster.client.get(LEASES, "kube-node-lease", "esp32-0"))["spec"]["renewTime"] > before


async def test_a_webhook_that_never_answers(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "PATIENCE", 0.1)
    silent = asyncio.Event()

    async def answer(_: Any) -> dict[str, Any]:
        await silent.wait()
        return {"allowed": True}

    async with Hook().serving() as hook, Outliving(tmp_path, nodes=2, clock="real") as kept:
        await hook.configure(kept.cluster, VALIDATING, "silent", NODE_WRITES, answer=answer, timeoutSeconds=30)
        async with asyncio.timeout(SOON):
            await kept.restart()
        assert told(caplog) == [
            "2 of 2 boards cannot register yet, and try again: esp32-0: no answer yet",
        ]
        silent.set()


async def test_a_leader_of_several(etcd: Etcd, caplog: pytest.LogCaptureFixture) -> None:
    options: dict[str, Any] = {"port": 0, "clock": "real", "store": f"{etcd.url}/refused"}
    caplog.set_level(logging.INFO)
    async with Cluster(nodes=0, **options) as cluster:
        await refuse(cluster, rule(["nodes", "nodes/status"], ["CREATE", "UPDATE"]))
    async with Cluster(nodes=1, **options) as cluster:
        await eventually(lambda: bool(told(caplog)), "what refuses them is told")
        assert cluster.candidate is not None
        assert cluster.candidate.elector.leading
        await cluster.client.delete(VALIDATING, "", "away")
        nodes = ("", "nodes")
        await eventually(lambda: cluster.store.count(nodes) == 1, "the board has come nevertheless")
    assert [line.partition(":")[0] for line in told(caplog)] == ["1 of 1 boards cannot register yet, and try again"]


async def test_boards_of_another_process(caplog: pytest.LogCaptureFixture) -> None:
    async with Cluster(nodes=0, clock="real") as cluster:
        await refuse(cluster, rule(["nodes"], ["CREATE"]))
        boards = asyncio.create_task(process.run_boards([cluster.access], ["desk"], "esp32-s3", Pace()))
        await eventually(lambda: bool(told(caplog)), "what refuses them is told")
        await cluster.client.delete(VALIDATING, "", "away")
        await eventually(lambda: cluster.store.count(("", "nodes")) == 1, "the board has come nevertheless")
        boards.cancel()
        await asyncio.gather(boards, return_exceptions=True)
    (line,) = told(caplog)
    assert "desk: " in line
    assert "away.example.com" in line


async def test_where_nothing_refuses_them_they_are_there(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with Outliving(tmp_path, nodes=50, clock="real") as kept:
        assert len((await kept.cluster.client.list(NODES)).items) == 50
    assert told(caplog) == []

"""A server with loops and boards is killed with -9 while workloads come, change and go: all ends exactly as wanted.

What a watcher outside was told of a pod stays true: it is bound once, its containers are not started anew, and what has
ended has ended.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from kube32_sim.api.builtin import builtin_table
from kube32_sim.api.errors import ApiError
from kube32_sim.client import DAEMONSETS, DEPLOYMENTS, JOBS, NODES, PODS, SERVICES, Client, Unreachable
from kube32_sim.clock import RealClock
from kube32_sim.http_client import HttpClient
from kube32_sim.kubeconfig import Access
from kube32_sim.storage.sqlite.store import SqliteStore
from tests.support.objects import service
from tests.support.scenario import template, workload
from tests.support.servers import doomed_server, running_server
from tests.support.waiting import eventually

JsonObject = dict[str, Any]
FAST = ("--reconcile-interval", "50ms", "--lease-check-interval", "100ms", "--nodes", "linux=3")
SMALL = {"kubernetes.io/os": "linux"}
DEPLOYED, JOB_NAMES = [f"d{number}" for number in range(4)], [f"j{number}" for number in range(4)]
COMPLETIONS = 4


@dataclass
class Life:
    """What was told of one pod."""

    node: str = ""
    phase: str = ""
    started: dict[str, str] = field(default_factory=dict)
    """On each node."""
    restarts: int = 0

    def hear(self, pod: JsonObject) -> None:
        node, status = pod["spec"].get("nodeName", ""), pod.get("status") or {}
        assert not (self.node and node and node != self.node), f"bound to {self.node}, and to {node}"
        assert self.phase not in ("Succeeded", "Failed") or status["phase"] == self.phase, f"it was {self.phase}"
        if node and status.get("startTime"):
            assert self.started.setdefault(node, status["startTime"]) == status["startTime"], "it was started anew"
        restarts = sum(each["restartCount"] for each in status.get("containerStatuses") or ())
        assert not restarts, "its containers were started anew"
        self.node, self.phase = node, status["phase"]


@dataclass
class Wanted:
    """What was asked for, by name.  unsure: what nobody has acknowledged, and is asked for again."""

    deployments: dict[str, tuple[int, str]] = field(default_factory=dict)
    jobs: set[str] = field(default_factory=set)
    lives: dict[str, Life] = field(default_factory=dict)
    acts: int = 0


async def act(client: Client, wanted: Wanted, chance: random.Random) -> None:
    """One thing that a user does; after it, `wanted` says what there should be."""
    name, job = chance.choice(DEPLOYED), chance.choice(JOB_NAMES)
    manner = chance.choice(("deploy", "deploy", "deploy", "remove", "run", "run", "forget"))
    if manner == "deploy":
        want = wanted.deployments[name] = chance.randrange(1, 6), chance.choice("abc")
        await deploy(client, name, *want)
    elif manner == "remove":
        await gone(client.delete(DEPLOYMENTS, "default", name))
        wanted.deployments.pop(name, None)
    elif manner == "run":
        wanted.jobs.add(job)
        await run(client, job)
    else:
        policy = chance.choice(("Foreground", "Background"))
        await gone(client.delete(JOBS, "default", job, options={"propagationPolicy": policy}))
        wanted.jobs.discard(job)
    wanted.acts += 1


async def gone(deletion: Any) -> None:
    try:
        await deletion
    except ApiError as error:
        if error.code != 404:
            raise


async def deploy(client: Client, name: str, replicas: int, image: str) -> None:
    made = workload(name, template(name, image, nodeSelector=SMALL), replicas=replicas)
    try:
        await client.create(DEPLOYMENTS, "default", made)
    except ApiError as error:
        if error.reason != "AlreadyExists":
            raise
        await client.patch(DEPLOYMENTS, "default", name, {"spec": made["spec"]})


async def run(client: Client, name: str) -> None:
    short = template(name, annotations={"sim.kube32.io/run-seconds": "0.2"}, restartPolicy="Never", nodeSelector=SMALL)
    job = {"metadata": {"name": name}, "spec": {"completions": COMPLETIONS, "parallelism": 2, "template": short}}
    with suppress(ApiError):  # it is there already, or on its way out
        await client.create(JOBS, "default", job)


async def follow(client: Client, since: str, wanted: Wanted) -> None:
    with suppress(Unreachable):
        async with client.watch(PODS, "default", resource_version=since) as events:
            async for event in events:
                hear(wanted, event.object)


def hear(wanted: Wanted, pod: JsonObject) -> None:
    uid = pod["metadata"]["uid"]
    try:
        wanted.lives.setdefault(uid, Life()).hear(pod)
    except AssertionError as error:
        raise AssertionError(f"pod {pod['metadata']['name']} ({uid}): {error}") from None


async def one_round(url: str, pid: int, wanted: Wanted, seed: str) -> None:
    chance = random.Random(seed)
    async with HttpClient(Access(url)) as client:
        there = await client.list(PODS, "default")
        for pod in there.items:
            hear(wanted, pod)
        watching = asyncio.create_task(follow(client, there.resource_version, wanted))
        for _ in range(chance.randrange(1, 25)):
            await act(client, wanted, chance)
            if chance.random() < 0.2:
                heard = len(wanted.lives)
                with suppress(AssertionError):  # not every act makes a pod
                    await eventually(lambda: len(wanted.lives) > heard or watching.done(), "a new pod", 0.5)  # noqa: B023
        last = asyncio.create_task(act(client, wanted, chance))
        for _ in range(chance.randrange(40)):
            await asyncio.sleep(0)
        os.kill(pid, signal.SIGKILL)
        with suppress(Unreachable):
            await last
        await watching


async def check_the_end(url: str, wanted: Wanted) -> None:
    async with HttpClient(Access(url)) as client:
        for name, want in wanted.deployments.items():  # the last act was perhaps never heard of
            await deploy(client, name, *want)
        for name in sorted({each["metadata"]["name"] for each in (await client.list(DEPLOYMENTS)).items}):
            if name not in wanted.deployments:
                await gone(client.delete(DEPLOYMENTS, "default", name))
        complaints = [""]
        async with asyncio.timeout(60):
            while complaints:
                complaints = await differences(client, wanted)
                await asyncio.sleep(0.05)


async def differences(client: Client, wanted: Wanted) -> list[str]:
    """What is not yet as it should be."""
    pods = (await client.list(PODS, "default")).items
    for pod in pods:
        hear(wanted, pod)
    found: dict[str, list[JsonObject]] = {}
    for pod in pods:
        found.setdefault(pod["metadata"]["labels"]["app"], []).append(pod)
    complaints = [f"{pod['metadata']['name']} is going" for pod in pods if "deletionTimestamp" in pod["metadata"]]
    for name in DEPLOYED:
        replicas, image = wanted.deployments.get(name, (0, ""))
        is_now = [(each["spec"]["containers"][0]["image"], each["status"]["phase"]) for each in found.get(name, ())]
        if is_now != [(image, "Running")] * replicas:
            complaints.append(f"{name} is {is_now}, and not {replicas} of {image}")
    jobs = {each["metadata"]["name"]: each for each in (await client.list(JOBS, "default")).items}
    for name in JOB_NAMES:
        phases = Counter(each["status"]["phase"] for each in found.get(name, ()))
        if phases != ({"Succeeded": COMPLETIONS} if name in jobs else {}):
            complaints.append(f"the pods of {name} are {phases}")
        if name in jobs and jobs[name]["status"].get("succeeded") != COMPLETIONS:
            complaints.append(f"{name}: {jobs[name]['status']}")
    nodes = {each["metadata"]["name"] for each in (await client.list(NODES)).items}
    if Counter(each["spec"].get("nodeName") for each in found.get("agent", ())) != dict.fromkeys(nodes, 1):
        complaints.append("not one agent on each node")
    return complaints


async def crash_again_and_again(directory: Path, rounds: int) -> Wanted:
    wanted = Wanted()
    options = (*FAST, "--store", f"sqlite:{directory / 'store'}")
    for number in range(rounds):
        with doomed_server(directory, *options) as server:
            if number == 0:
                async with HttpClient(Access(server.url)) as client:
                    agent = workload("agent", template("agent", nodeSelector=SMALL))
                    await client.create(DAEMONSETS, "default", agent)
                    for name in DEPLOYED:
                        await client.create(SERVICES, "default", service(name, {"app": name}))
            await one_round(server.url, server.pid, wanted, f"round {number}")
    with running_server(directory, *options) as server:
        await check_the_end(server.url, wanted)
    check_the_store(directory / "store")
    return wanted


def check_the_store(path: Path) -> None:
    store = SqliteStore(path, builtin_table(), RealClock())
    store.check()
    addresses = Counter(each.object()["spec"]["clusterIP"] for each in store.list(("", "services")))
    assert max(addresses.values()) == 1
    pods = [each.object() for each in store.list(("", "pods"))]
    running = Counter(pod["status"]["podIP"] for pod in pods if pod["status"]["phase"] == "Running")
    assert max(running.values()) == 1
    for pod in pods:
        for owner in pod["metadata"]["ownerReferences"]:
            assert store.by_uid(owner["uid"]) is not None, f"{pod['metadata']['name']} has lost its owner"


async def test_everything_ends_as_wanted(tmp_path: Path) -> None:
    wanted = await crash_again_and_again(tmp_path, 3)
    assert wanted.acts > 20


@pytest.mark.soak
async def test_everything_ends_as_wanted_after_many_crashes(tmp_path: Path) -> None:
    wanted = await crash_again_and_again(tmp_path, 25)
    assert len(wanted.lives) > 100

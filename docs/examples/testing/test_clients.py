"""One test for each way of talking to the cluster of a test."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest

from kube32_sim.testing import Kube32, matching

POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "led"},
    "spec": {"containers": [{"name": "led", "image": "blinky:1.4"}]},
}
RUNS = matching({"status": {"phase": "Running"}, "spec": {"containers": [{"name": "led"}]}})


def test_the_official_client(kube32: Kube32) -> None:
    from kubernetes import client, config

    with config.new_client_from_config() as api:
        core = client.CoreV1Api(api)
        core.create_namespaced_pod("default", POD)
        kube32.wait_for("pod/led", "condition=Ready")
        assert core.read_namespaced_pod("led", "default").status.phase == "Running"


@pytest.mark.asyncio
async def test_its_asynchronous_sister(kube32: Kube32) -> None:
    from kubernetes_asyncio import client, config

    await config.load_kube_config()
    async with client.ApiClient() as api:
        core = client.CoreV1Api(api)
        await core.create_namespaced_pod("default", POD)
        await kube32.aio.wait_for("pod/led", "condition=Ready")
        assert (await core.read_namespaced_pod("led", "default")).status.phase == "Running"


def test_lightkube(kube32: Kube32) -> None:
    from lightkube import Client
    from lightkube.resources.core_v1 import Pod

    client = Client()
    client.create(Pod.from_dict(POD))
    kube32.wait_for("pod/led", "condition=Ready")
    assert client.get(Pod, "led").status.phase == "Running"


def test_kr8s(kube32: Kube32) -> None:
    from kr8s.objects import Pod

    pod = Pod(POD)
    pod.create()
    kube32.wait_for("pod/led", "condition=Ready")
    pod.refresh()
    assert pod.raw.to_dict() == RUNS


@pytest.mark.asyncio
async def test_kr8s_that_is_awaited(kube32: Kube32) -> None:
    from kr8s.asyncio.objects import Pod

    pod = await Pod(POD)
    await pod.create()
    await kube32.aio.wait_for("pod/led", "condition=Ready")
    await pod.refresh()
    assert pod.raw.to_dict() == RUNS


def test_kubectl(kube32: Kube32) -> None:
    subprocess.run(["kubectl", "run", "led", "--image=blinky:1.4"], check=True)
    kube32.wait_for("pod/led", "condition=Ready")
    assert kube32.get("pod/led") == RUNS

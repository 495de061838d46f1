"""How a cluster is tested against in the test's own process, on a virtual clock, through clients of any kind.

    python3 run.py test docs/operators/test_with_cluster.py

Elsewhere after `pip install PATH-OF-THE-CLONE kubernetes pytest pytest-asyncio`.  The cluster runs in the test's event
loop, so clients that wait for answers do so in a thread; a program under test is a process, with $KUBECONFIG.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from kubernetes import client, config

from kube32_sim import Cluster
from kube32_sim.kubeconfig import write_kubeconfig

POD = {"metadata": {"name": "led"}, "spec": {"containers": [{"name": "led", "image": "blinky:1.4"}]}}


@pytest.mark.asyncio
async def test_a_pod_runs(tmp_path: Path) -> None:
    async with Cluster(nodes=2, clock="virtual", tls_self_signed=True) as cluster:
        kubeconfig = write_kubeconfig(tmp_path / "kubeconfig", cluster.access)
        with config.new_client_from_config(str(kubeconfig)) as api:
            core = client.CoreV1Api(api)
            await asyncio.to_thread(core.create_namespaced_pod, "default", POD)
            await cluster.advance("10s")
            pod = await asyncio.to_thread(core.read_namespaced_pod, "led", "default")
            assert pod.status.phase == "Running"

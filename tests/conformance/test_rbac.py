"""The recorded server went by RBAC: cases that differ without it agree with it, step by step."""

from __future__ import annotations

import asyncio
from pathlib import Path

from kube32_sim.cluster import Cluster
from kube32_sim.options import ServeOptions
from tests.conformance.kubectl_player import RELEASE, load_commands, play_commands
from tests.conformance.player import load_cases, play
from tests.support import clients


def options() -> ServeOptions:
    return ServeOptions(port=0, nodes=0, controllers="none", authorization_mode="RBAC")


async def test_an_account_without_bindings_may_do_nothing() -> None:
    case = load_cases()["subresources/serviceaccount-token"]
    async with Cluster(options()) as cluster:
        result = await asyncio.to_thread(play, case, cluster.url)
    assert result.differing == {}


async def test_a_stranger_may_do_nothing() -> None:
    case = load_commands()["kubectl/discovery"]
    async with Cluster(options()) as cluster:
        kubectl = Path(await asyncio.to_thread(clients.kubectl, RELEASE))
        result = await asyncio.to_thread(play_commands, case, cluster.url, kubectl)
    assert result.differing == {}

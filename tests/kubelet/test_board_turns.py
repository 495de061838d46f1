"""A board with very many pods that are due at once keeps nobody from being answered."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kube32_sim import Cluster
from kube32_sim.client import PODS
from kube32_sim.kubelet.agent import STRIDE, Board

SPEC = {"nodeName": "linux-0", "containers": [{"name": "c", "image": "i"}]}


async def test_others_have_turns_between_its_pods(monkeypatch: pytest.MonkeyPatch) -> None:
    turns, tended = 0, list[int]()
    tend = Board._tend

    async def tend_and_note(board: Board, *entries: Any) -> None:
        tended.append(turns)
        await tend(board, *entries)

    async def others() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    async with Cluster(nodes=1, board="linux", clock="virtual") as cluster:
        await cluster.settle()
        for number in range(STRIDE * 5):
            await cluster.client.create(PODS, "default", {"metadata": {"name": f"p{number}"}, "spec": SPEC})
        monkeypatch.setattr(Board, "_tend", tend_and_note)
        task = asyncio.create_task(others())
        await cluster.settle()
        task.cancel()
        assert len(tended) >= STRIDE * 5
        assert max(map(tended.count, tended)) <= STRIDE
        pods = (await cluster.client.list(PODS, "default")).items
        assert {pod["status"]["phase"] for pod in pods} == {"Running"}

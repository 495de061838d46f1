"""How a server ends: at once, whoever is connected, and with what was promised."""

from __future__ import annotations

import asyncio
import signal
import time
from pathlib import Path

import pytest

from kube32_sim.client import Resource
from kube32_sim.cluster import Cluster
from tests.support.servers import start_command
from tests.support.wire import connected

MAPS = Resource("", "v1", "configmaps")
PATH = "/api/v1/namespaces/default/configmaps"
LARGE = '{"metadata":{"generateName":"m-"},"data":{"x":"%s"}}' % ("x" * 900_000)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_process_with_open_watches_ends_within_two_seconds(tmp_path: Path, number: signal.Signals) -> None:
    """Whether they are idle, not read at all, idle connections, or half a request."""
    process = start_command(["serve", "--port", "0", "--kubeconfig", str(tmp_path / "k")], tmp_path / "log")
    assert process.stdout is not None
    with process.stdout as stdout:
        port = int(stdout.readline().rpartition(":")[2])
        async with connected(port) as idle, connected(port, room=4096) as lazy, connected(port) as half:
            for _ in range(8):
                assert (await half("POST", PATH, LARGE.encode())).status == 201
            events = await idle.watch("/api/v1/nodes?watch=true")
            await lazy.watch(f"{PATH}?watch=true")
            await half.send(b"POST /api/v1/namespaces HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
            started = time.monotonic()
            process.send_signal(number)
            seen = [event["type"] async for event in events]
            code = await asyncio.to_thread(process.wait, 20)
        took = time.monotonic() - started
    assert code == 0
    assert set(seen) <= {"ADDED", "MODIFIED"}
    assert took < 2.0
    assert "Traceback" not in (tmp_path / "log").read_text()


async def test_an_answer_under_way_is_finished(bare: Cluster) -> None:
    for number in range(8):
        await bare.client.create(MAPS, "default", {"metadata": {"name": f"m{number}"}, "data": {"x": "x" * 900_000}})
    async with connected(bare.port, room=4096) as wire:
        await wire.ask("GET", PATH)
        answer = await wire.begin()
        stopping = asyncio.create_task(bare.stop())
        body = await wire.rest()
        await stopping
    assert len(body) == int(answer.header("content-length"))


async def test_a_stopped_cluster_takes_no_connections(bare: Cluster) -> None:
    async with connected(bare.port) as wire:
        assert (await wire("GET", "/readyz")).body == b"ok"
        await bare.stop()
        assert await wire.rest() == b""
    with pytest.raises(ConnectionRefusedError):
        async with connected(bare.port):
            pass

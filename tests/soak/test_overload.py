"""More of everything than a server should get: watchers, writers, readers who do not read, heads that do not end.

It stays small, answers others in time, cuts off who does not read, and ends when it is told to.  The load comes from
this process; how long others wait is measured by a process of its own (`benchmarks/probe`).
"""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.support.http import Http
from tests.support.objects import config_map
from tests.support.servers import CLONE, Server, command_environment, put_away, running_server, start_command
from tests.support.waiting import eventually
from tests.support.wire import Wire, connected

MAPS = "/api/v1/namespaces/default/configmaps"
WATCHERS, WRITERS, SLOW, HALF_OPEN = 1000, 200, 20, 200
SECONDS = 15.0
MOST_MEMORY = 400 << 20
BACKLOG = 1 << 20
"""Bytes that may wait for one watcher; with what the kernel takes, that is soon more than is written."""
END_SECONDS = 5.0
NOISE = 0.02
"""Seconds that a busy machine may add to any wait."""


@pytest.fixture
def many_files() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def memory(pid: int) -> int:
    """Bytes that are resident."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize()


def cpu(pid: int) -> float:
    return time.clock_gettime((~pid << 3) | 2)  # the kernel's name for "CPU time of this process"


async def p99(port: int, seconds: float) -> float:
    """Seconds within which 99 of 100 requests for one object are answered, one at a time."""
    command = ("-m", "benchmarks.probe", str(port), str(seconds), "/api/v1/namespaces/default")
    environment = command_environment(PYTHONDONTWRITEBYTECODE="1")
    probe = await asyncio.create_subprocess_exec(
        sys.executable, *command, cwd=CLONE, env=environment, stdout=asyncio.subprocess.PIPE
    )
    out, _ = await probe.communicate()
    assert probe.returncode == 0
    return float(out.split()[1])


async def write(wire: Wire, number: int) -> None:
    """Create and delete, for ever; every answer is a good one."""
    while True:
        assert (await wire("POST", MAPS, config_map(f"m{number}", text="x" * 2000))).status == 201
        assert (await wire("DELETE", f"{MAPS}/m{number}")).status == 200


async def swallow(wire: Wire) -> None:
    """A watcher who reads all there is."""
    async for _ in wire.chunks():
        pass


async def begin_writers(stack: AsyncExitStack, port: int, count: int, first: int = 0) -> list[asyncio.Task[None]]:
    wires = [await stack.enter_async_context(connected(port)) for _ in range(count)]
    return [asyncio.create_task(write(wire, number)) for number, wire in enumerate(wires, first)]


async def end(tasks: list[asyncio.Task[None]]) -> None:
    """They were all still at it."""
    over = [task for task in tasks if task.done()]
    for task in tasks:
        task.cancel()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert not over, results


async def open_watches(stack: AsyncExitStack, port: int, count: int, namespace: str, room: int = 0) -> list[Wire]:
    wires = []
    for _ in range(count):
        wire = await stack.enter_async_context(connected(port, room=room))
        await wire.ask("GET", f"/api/v1/namespaces/{namespace}/configmaps?watch=1")
        assert (await wire.begin()).status == 200
        wires.append(wire)
    return wires


async def calm(port: int) -> float:
    """How long others wait beside ten writers."""
    async with AsyncExitStack() as stack:
        writers = await begin_writers(stack, port, 10)
        found = await p99(port, 4.0)
        await end(writers)
    return found


async def overload(server: Server, port: int) -> tuple[float, int]:
    """(how long others wait, how many of the slow were cut off)."""
    async with AsyncExitStack() as stack:
        for _ in range(HALF_OPEN):
            wire = await stack.enter_async_context(connected(port))
            await wire.send(b"POST /api/v1/namespaces HTTP/1.1\r\nHost: 127.0.0.1\r\nX-")
        readers = await open_watches(stack, port, WATCHERS, "kube-system")
        watchers = [asyncio.create_task(swallow(wire)) for wire in readers]
        slow = await open_watches(stack, port, SLOW, "default", room=4096)
        for _ in range(SLOW):
            wire = await stack.enter_async_context(connected(port, room=4096))
            await wire.ask("GET", "/api/v1/configmaps")
        writers = await begin_writers(stack, port, WRITERS, first=1000)
        waited = await p99(port, SECONDS)
        await end(writers)
        assert memory(server.pid) < MOST_MEMORY
        await end(watchers)
        cut = sum([await is_cut(wire) for wire in slow])
    return waited, cut


async def is_cut(wire: Wire) -> bool:
    """Whether the stream of one who reads at last ends."""
    try:
        async with asyncio.timeout(2.0):
            await swallow(wire)
    except (ConnectionError, asyncio.IncompleteReadError):
        return True
    except TimeoutError:
        return False
    return True


@pytest.mark.soak
@pytest.mark.usefixtures("many_files")
@pytest.mark.parametrize("store", ["memory", "sqlite"])
async def test_a_crowd_of_all_kinds(tmp_path: Path, store: str) -> None:
    place = "memory" if store == "memory" else f"sqlite:{tmp_path / 'state'}"
    options = ("--nodes", "0", "--store", place, "--max-watch-backlog-bytes", str(BACKLOG))
    with running_server(tmp_path, *options) as server:
        port = urlsplit(server.url).port or 0
        usual = await calm(port)
        waited, cut = await overload(server, port)
        assert cut == SLOW, "who does not read is cut off"
        assert waited <= 5 * usual + NOISE, f"others waited {1000 * waited:.0f} ms, {1000 * usual:.0f} ms in calm"
        await eventually(lambda: len(os.listdir(f"/proc/{server.pid}/fd")) < 100, "all connections closed")


@pytest.mark.soak
@pytest.mark.usefixtures("many_files")
async def test_it_ends_in_time_though_thousands_hold_on(tmp_path: Path) -> None:
    log = tmp_path / "log"
    process = start_command(["serve", "--port", "0", "--kubeconfig", str(tmp_path / "kubeconfig"), "--nodes", "2"], log)
    try:
        assert process.stdout is not None
        port = urlsplit(process.stdout.readline().split()[-1]).port or 0
        async with AsyncExitStack() as stack:
            await open_watches(stack, port, WATCHERS, "default")
            for _ in range(HALF_OPEN):
                wire = await stack.enter_async_context(connected(port))
                await wire.send(b"GET / HT")
            writers = await begin_writers(stack, port, WRITERS)
            await asyncio.sleep(0)
            begun = time.monotonic()
            process.send_signal(signal.SIGTERM)
            code = await asyncio.to_thread(process.wait, 30)
            lasted = time.monotonic() - begun
            for task in writers:
                task.cancel()
            await asyncio.gather(*writers, return_exceptions=True)
        assert code == 0, log.read_text()
        assert lasted < END_SECONDS
        assert "Traceback" not in log.read_text()
    finally:
        put_away(process)


@pytest.mark.soak
@pytest.mark.usefixtures("many_files")
async def test_out_of_file_descriptors_it_goes_on_serving(tmp_path: Path) -> None:
    """Who comes then is turned away, or waits; who is there is served; and it does not run hot."""
    with running_server(tmp_path, "--nodes", "0") as server:
        port = urlsplit(server.url).port or 0
        open_now = len(os.listdir(f"/proc/{server.pid}/fd"))
        resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (open_now + 30, open_now + 30))
        async with connected(port) as there:
            assert (await there("GET", "/readyz")).status == 200
            async with AsyncExitStack() as stack:
                for _ in range(100):
                    await stack.enter_async_context(connected(port))
                assert (await there("GET", "/api/v1/namespaces/default")).status == 200
                before = cpu(server.pid)
                await asyncio.sleep(1.0)
                assert cpu(server.pid) - before < 0.5
            assert (await there("GET", "/readyz")).status == 200
        later = Http(server.url)
        await eventually(lambda: len(os.listdir(f"/proc/{server.pid}/fd")) < open_now + 20, "room again")
        assert await asyncio.to_thread(later.get, "/readyz") == "ok"
        later.close()

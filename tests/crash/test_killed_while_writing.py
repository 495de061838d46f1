"""A server is killed with -9 while many write: nothing acknowledged is lost, nothing else is half there.

Round after round on the same file; in each, the moment is another one by chance (seeded): after so many writes, or
while the server is starting.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from kube32_sim.api.builtin import builtin_table
from kube32_sim.clock import RealClock
from kube32_sim.storage.sqlite.store import SqliteStore
from tests.support.crashing import Truth, Writer, everything, read, watch
from tests.support.servers import doomed_server, put_away, running_server, start_command

BARE = ("--controllers", "none", "--nodes", "0")
WRITERS = 8


async def look(url: str, truth: Truth, since: int) -> int:
    """What is there is as it should be, and so is all that happened after a revision; answers the newest one."""
    revision, found = await everything(url)
    assert revision >= truth.newest, f"revisions went back from {truth.newest} to {revision}"
    truth.check(found)
    newest = max((state.revision for state in found.values()), default=0)
    if newest > since:
        replayed = Truth()
        async with asyncio.timeout(20):
            await watch(url, since, replayed, until=newest)
        for number, happened in replayed.history.items():
            truth.learn(number, happened)
        told = {number for number in truth.history if since < number <= newest}
        assert told <= replayed.history.keys(), "something that was told of is not in the history any more"
    truth.check_reads()
    return revision


async def write_until_killed(url: str, pid: int, truth: Truth, seed: str, since: int) -> None:
    wrote = asyncio.Event()
    moment = random.Random(seed)
    tasks = [asyncio.create_task(watch(url, since, truth)), asyncio.create_task(read(url, truth))]
    tasks += [asyncio.create_task(Writer(number, seed, truth).write(url, wrote)) for number in range(WRITERS)]
    wanted = truth.acknowledged + moment.randrange(5, 400)
    while truth.acknowledged < wanted and not any(task.done() for task in tasks):
        wrote.clear()
        with suppress(TimeoutError):
            await asyncio.wait_for(wrote.wait(), 20)
    for _ in range(moment.randrange(50)):
        await asyncio.sleep(0)
    os.kill(pid, signal.SIGKILL)
    await asyncio.gather(*tasks)
    assert truth.acknowledged >= wanted


def killed_while_starting(directory: Path, options: tuple[str, ...], seconds: float) -> None:
    command = ["serve", "--port", "0", "--kubeconfig", str(directory / "kubeconfig"), *options]
    process = start_command(command, directory / "server.log")
    try:
        with suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
    finally:
        put_away(process)


async def crash_again_and_again(directory: Path, rounds: int) -> Truth:
    truth, since = Truth(), 1
    options = (*BARE, "--store", f"sqlite:{directory / 'store'}")
    for number in range(rounds):
        seed = f"round {number}"
        if number % 4 == 3:
            seconds = random.Random(seed).uniform(0.1, 1.2)
            await asyncio.to_thread(killed_while_starting, directory, options, seconds)
        with doomed_server(directory, *options) as server:
            since = await look(server.url, truth, since)
            await write_until_killed(server.url, server.pid, truth, seed, since)
    with running_server(directory, *options) as server:
        await look(server.url, truth, since)
    store = SqliteStore(directory / "store", builtin_table(), RealClock())
    store.check()
    await store.close()
    return truth


async def test_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    truth = await crash_again_and_again(tmp_path, 5)
    assert truth.acknowledged > 200


@pytest.mark.soak
async def test_nothing_acknowledged_is_lost_in_fifty_rounds(tmp_path: Path) -> None:
    truth = await crash_again_and_again(tmp_path, 50)
    assert truth.acknowledged > 5000
    assert truth.unanswered > 50

"""The processes that are measured: how they are started, what they use, how they end.

CPU time is read from the process's CPU clock, in nanoseconds, all threads together, user and system; memory from /proc.
Linux only.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
START_SECONDS = 30.0
ADDRESS = re.compile(rb"http://127\.0\.0\.1:(\d+)")


class Process:
    """A child process.  port: where it listens, 0 where it does not say so.  log: the file its stderr goes to."""

    def __init__(self, child: asyncio.subprocess.Process, log: Path, started: float) -> None:
        self._child = child
        self._log = log
        self.started = started
        self.port = 0
        self._clock = (~child.pid << 3) | 2  # the kernel's name for "CPU time of this process" (CPUCLOCK_SCHED)

    def cpu(self) -> float:
        """CPU seconds used so far."""
        return time.clock_gettime(self._clock)

    def memory(self) -> tuple[float, float]:
        """(resident, proportional) MB: pages shared with other processes whole, and by share."""
        text = Path(f"/proc/{self._child.pid}/smaps_rollup").read_text()
        found = dict(re.findall(r"^(Rss|Pss): +(\d+) kB", text, re.MULTILINE))
        return int(found["Rss"]) / 1024, int(found["Pss"]) / 1024

    async def wait_for_address(self) -> None:
        """Until it prints its address."""
        assert self._child.stdout is not None
        while True:
            line = await asyncio.wait_for(self._child.stdout.readline(), START_SECONDS)
            if not line:
                raise RuntimeError(f"{self._log} says why the process ended:\n{self._log.read_text()[-2000:]}")
            found = ADDRESS.search(line)
            if found is not None:
                self.port = int(found[1])
                return

    def log(self) -> str:
        """What it has told so far."""
        return self._log.read_text()

    def send(self, number: int) -> None:
        """A signal."""
        self._child.send_signal(number)

    async def stop(self) -> None:
        if self._child.returncode is None:
            self._child.terminate()
        await asyncio.wait_for(self._child.wait(), START_SECONDS)


class Processes:
    """Everything that was started, and a folder for what it writes."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="benchmarks-")
        self._running: list[Process] = []

    async def start(self, *arguments: str, address: bool = True) -> Process:
        """`python -m ARGUMENTS`; address: wait until it says where it listens."""
        log = Path(self._folder.name) / f"{len(os.listdir(self._folder.name))}.log"
        paths = [str(ROOT), str(ROOT / "controllers"), os.environ.get("PYTHONPATH", "")]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in paths if path)}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # a start that compiles everything is the first one only
        started = time.perf_counter()
        with log.open("wb") as stderr:
            child = await asyncio.create_subprocess_exec(
                sys.executable, "-m", *arguments, stdout=asyncio.subprocess.PIPE, stderr=stderr, env=environment
            )
        process = Process(child, log, started)
        self._running.append(process)
        if address:
            await process.wait_for_address()
        return process

    async def serve(self, *options: str) -> Process:
        """The simulator on a free port."""
        kubeconfig = str(Path(self._folder.name) / "kubeconfig")
        return await self.start("kube32_sim", "serve", "--port", "0", "--kubeconfig", kubeconfig, *options)

    async def boards(self, server: Process, count: int, name: str = "board") -> Process:
        """Simulated boards board-0, board-1, … in a process of their own."""
        url = f"http://127.0.0.1:{server.port}"
        options = ("--server", url, "--name", name, "--count", str(count))
        return await self.start("kube32_sim", "kubelet", *options, address=False)

    async def stop(self, process: Process) -> None:
        self._running.remove(process)
        await process.stop()

    async def close(self) -> None:
        while self._running:
            await self._running.pop().stop()
        self._folder.cleanup()

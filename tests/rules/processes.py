"""The second world of the rules: a server, and each board a process of its own, over HTTP and on the real clock.

Timeouts are short, but none is so short that a machine which is busy for a second or two would break it.  A server is
started once for each set of options and shared; every test has boards and a namespace of its own.
"""

from __future__ import annotations

import asyncio
import itertools
import signal
import subprocess
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kube32_sim.api.errors import ApiError
from kube32_sim.client import NAMESPACES, NODES, PODS
from kube32_sim.http_client import HttpClient
from kube32_sim.kubeconfig import Access
from tests.rules.world import T, Timings, is_ready
from tests.support.servers import Server, running_server, start_command

TIMINGS = Timings(lease=3, eviction=1, toleration=2, reconcile=0.1, lease_check=0.05)
SERVER_OPTIONS = (
    "--reconcile-interval", f"{TIMINGS.reconcile}s",
    "--lease-check-interval", f"{TIMINGS.lease_check}s",
    "--eviction-timeout", f"{TIMINGS.eviction}s",
    "--default-toleration-seconds", f"{TIMINGS.toleration}",
)  # fmt: skip
BOARD_OPTIONS: tuple[str, ...] = ()

PATIENCE = 40.0
"""Seconds that `until` waits beyond what it is told: far more than anything takes, however slow the machine is."""

POLL_EVERY = 0.05


class BoardProcess:
    """`kube32-sim kubelet` for one board."""

    def __init__(self, name: str, server: Server, directory: Path, *options: str) -> None:
        self.name = name
        self.log = directory / f"{name}.log"
        self._arguments = ["kubelet", "--server", server.url, "--name", name, *options]
        self._process: subprocess.Popen[str] | None = None

    @property
    def runs(self) -> bool:
        return self._process is not None

    def start(self) -> None:
        """Start it, again perhaps; its log begins anew."""
        assert self._process is None
        self._process = start_command(self._arguments, self.log)

    def pause(self) -> None:
        """It hangs: it keeps its connections, and neither says nor hears anything."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def kill(self) -> None:
        """It is gone without a word."""
        self._signal(signal.SIGKILL)
        self._end()

    def stop(self) -> None:
        """It is asked to end, and must do so cleanly."""
        self._signal(signal.SIGCONT)
        self._signal(signal.SIGTERM)
        code, text = self._end(), self.log.read_text()
        assert code == 0, f"SIGTERM is no clean end for {self.name}: exit code {code}; its log:\n{text}"
        assert "Traceback" not in text, f"{self.name} had an accident; its log:\n{text}"

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None, f"{self.name} does not run"
        self._process.send_signal(number)

    def _end(self) -> int:
        assert self._process is not None
        process, self._process = self._process, None
        try:
            return process.wait(timeout=PATIENCE)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
            assert process.stdout is not None
            process.stdout.close()


@dataclass
class ProcessWorld:
    """boards: the processes by the names of their nodes."""

    client: HttpClient
    server: Server
    namespace: str
    boards: Mapping[str, BoardProcess]
    timings: Timings = TIMINGS

    @property
    def nodes(self) -> tuple[str, ...]:
        return tuple(self.boards)

    async def now(self) -> float:
        return time.time()

    async def wait(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def until(self, condition: Callable[[], Awaitable[T]], what: str, within: float) -> T:
        deadline = time.monotonic() + within + PATIENCE
        while not (found := await condition()):
            if time.monotonic() > deadline:
                raise TimeoutError(f"{what} is not true within {within:g} s and {PATIENCE:g} more; it is {found!r}")
            await asyncio.sleep(POLL_EVERY)
        return found

    async def unplug(self, node: str) -> None:
        self.boards[node].pause()

    async def plug_in(self, node: str) -> None:
        self.boards[node].resume()

    async def ready(self) -> None:
        """Answers when every board that runs is registered and Ready."""
        names = {name for name, board in self.boards.items() if board.runs}

        async def all_ready() -> bool:
            found = (await self.client.list(NODES)).items
            return names <= {node["metadata"]["name"] for node in found if is_ready(node)}

        await self.until(all_ready, f"nodes {', '.join(sorted(names))} are Ready", 0)


@dataclass
class Servers:
    """Servers that several tests share, by their options."""

    directory: Path
    _started: dict[tuple[str, ...], Server] = field(default_factory=dict)
    _stack: ExitStack = field(default_factory=ExitStack)
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def get(self, *options: str) -> Server:
        if options not in self._started:
            directory = self.directory / f"server-{len(self._started)}"
            directory.mkdir()
            self._started[options] = self._stack.enter_context(running_server(directory, "--nodes", "0", *options))
        return self._started[options]

    def number(self) -> int:
        """Another one each time."""
        return next(self._numbers)

    def stop(self) -> None:
        """Each must end cleanly, without an accident in its log."""
        self._stack.close()


@asynccontextmanager
async def process_world(servers: Servers, options: Mapping[str, Any]) -> AsyncIterator[ProcessWorld]:
    """options: fields of `ServeOptions`, but for the times, which are `TIMINGS` in this world."""
    given = dict(options)
    count, board = given.pop("nodes", 2), given.pop("board", "esp32-s3")
    server = servers.get(*SERVER_OPTIONS, *_words(given))
    name = f"rules-{servers.number()}"
    names = [f"{name}-{number}" for number in range(count)]
    with running_boards(server, servers.directory, names, "--board", board, *BOARD_OPTIONS) as boards:
        async with HttpClient(Access(server.url)) as client:
            world = ProcessWorld(client, server, name, boards)
            await client.create(NAMESPACES, "", {"metadata": {"name": name}})
            await world.ready()
            yield world
            await _clean(world)
    text = server.log.read_text()
    assert "Traceback" not in text, f"the server had an accident; its log:\n{text}"


@contextmanager
def running_boards(
    server: Server, directory: Path, names: Sequence[str], *options: str
) -> Iterator[dict[str, BoardProcess]]:
    """Boards by name, started; those that run at the end must end cleanly."""
    boards = {name: BoardProcess(name, server, directory, *options) for name in names}
    with ExitStack() as stack:
        for board in boards.values():
            board.start()
            stack.callback(lambda board=board: board.stop() if board.runs else None)  # type: ignore[misc]
        yield boards


async def _clean(world: ProcessWorld) -> None:
    """Nothing of this test may be in the way of the next one."""
    client, namespace = world.client, world.namespace
    await client.delete(NAMESPACES, "", namespace)
    for name in world.nodes:
        await _delete(world, NODES, "", name)  # its pods go with it: nobody ends them

    async def gone() -> bool:
        for pod in (await client.list(PODS, namespace)).items:
            await _delete(world, PODS, namespace, pod["metadata"]["name"], gracePeriodSeconds=0)
        return namespace not in {one["metadata"]["name"] for one in (await client.list(NAMESPACES)).items}

    await world.until(gone, f"namespace {namespace} is gone", 0)
    left = [pod["metadata"]["name"] for pod in (await client.list(PODS)).items]
    assert left == [], "a test that runs everywhere works in world.namespace"


async def _delete(world: ProcessWorld, resource: Any, namespace: str, name: str, **options: Any) -> None:
    try:
        await world.client.delete(resource, namespace, name, options=options)
    except ApiError as error:
        if error.code != 404:
            raise


def _words(options: Mapping[str, Any]) -> tuple[str, ...]:
    """Options of the command line for fields of `ServeOptions`."""
    times = [name for name in options if name.endswith(("_interval", "_timeout", "_seconds"))]
    assert times == [], "a test that runs everywhere takes the times of its world: world.timings"
    return tuple(word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", str(value)))

"""The second world of the rules: a server, and each board a process of its own, over HTTP and on the real clock.

Timeouts are short, but none is so short that a machine which is busy for a second or two would break it.  A server is
started once for each set of options; so are boards, but after a test that did something to them others are.  Every test
has a namespace of its own.
"""

from __future__ import annotations

import asyncio
import itertools
import signal
import subprocess
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from kube32_sim.api.errors import ApiError
from kube32_sim.client import NAMESPACES, NODES, PODS, Resource
from kube32_sim.http_client import HttpClient
from kube32_sim.kubeconfig import Access
from tests.rules.world import JsonObject, T, Timings, is_ready
from tests.support.servers import Server, put_away, running_server, start_command

TIMINGS = Timings(lease=3, eviction=1, toleration=2, reconcile=0.1, lease_check=0.05)
SERVER_OPTIONS = (
    "--reconcile-interval", f"{TIMINGS.reconcile}s",
    "--lease-check-interval", f"{TIMINGS.lease_check}s",
    "--eviction-timeout", f"{TIMINGS.eviction}s",
    "--default-toleration-seconds", f"{TIMINGS.toleration}",
)  # fmt: skip
BOARD_OPTIONS = ("--node-lease-duration-seconds", f"{TIMINGS.lease}")

PATIENCE = 40.0
"""Seconds that `until` waits beyond what it is told: far more than anything takes, however slow the machine is."""

POLL_EVERY = 0.05


class BoardProcess:
    """`kube32-sim kubelet` for one board."""

    def __init__(self, name: str, url: str, directory: Path, *options: str) -> None:
        self.name = name
        self.log = directory / f"{name}.log"
        self._arguments = ["kubelet", "--server", url, "--name", name, *options]
        self._process: subprocess.Popen[str] | None = None

    @property
    def runs(self) -> bool:
        """It was started, and nobody has ended it; AssertionError where it ended by itself."""
        if self._process is None:
            return False
        if self._process.poll() is not None:
            raise AssertionError(f"{self.name} ended with exit code {self._end()}; its log:\n{self.log.read_text()}")
        return True

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
            put_away(process)


Boards = dict[str, BoardProcess]
"""By the names of their nodes."""


class ProcessWorld:
    """touched: something was done to one of the boards, so that they are not for the next test."""

    timings = TIMINGS

    def __init__(self, client: HttpClient, namespace: str, boards: Boards) -> None:
        self.client = client
        self.namespace = namespace
        self.nodes = tuple(boards)
        self._boards = boards
        self.touched = False

    @property
    def boards(self) -> Boards:
        """To do something to."""
        self.touched = True
        return self._boards

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

        async def all_ready() -> bool:
            names = {name for name, board in self._boards.items() if board.runs}
            found = (await self.client.list(NODES)).items
            return names <= {node["metadata"]["name"] for node in found if is_ready(node)}

        await self.until(all_ready, f"nodes {', '.join(self.nodes)} are Ready", 0)


class Servers:
    """Servers that several tests share, by their options; and the boards of the last test, if they are as new."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._started: dict[tuple[str, ...], Server] = {}
        self._stack = ExitStack()
        self._numbers = itertools.count()
        self._spare: tuple[tuple[Any, ...], Boards] | None = None

    def get(self, *options: str) -> Server:
        if options not in self._started:
            directory = self.directory / f"server-{len(self._started)}"
            directory.mkdir()
            self._started[options] = self._stack.enter_context(running_server(directory, "--nodes", "0", *options))
        return self._started[options]

    def number(self) -> int:
        """Another one each time."""
        return next(self._numbers)

    def take(self, server: Server, count: int, profile: str) -> Boards | None:
        """Boards that run already, if there are such."""
        if self._spare is None or self._spare[0] != (server, count, profile):
            return None
        boards, self._spare = self._spare[1], None
        return boards

    def keep(self, server: Server, profile: str, boards: Boards) -> None:
        self._spare = ((server, len(boards), profile), boards)

    def spare(self) -> tuple[Server | None, Boards]:
        """Take whatever boards still run."""
        (key, boards), self._spare = self._spare or ((None,), {}), None
        return key[0], boards

    def stop(self) -> None:
        """Each must end cleanly, without an accident in its log."""
        with self._stack:
            stop_boards(self.spare()[1])


def stop_boards(boards: Boards) -> None:
    """All are asked to end, one of them failing or not."""
    with ExitStack() as stack:
        for board in boards.values():
            if board.runs:
                stack.callback(board.stop)


@contextmanager
def running_boards(url: str, directory: Path, names: Iterable[str], *options: str) -> Iterator[Boards]:
    """Boards by name, started; those that run at the end must end cleanly."""
    boards = start_boards(url, directory, names, *options)
    try:
        yield boards
    finally:
        stop_boards(boards)


def start_boards(url: str, directory: Path, names: Iterable[str], *options: str) -> Boards:
    boards = {name: BoardProcess(name, url, directory, *options) for name in names}
    for board in boards.values():
        board.start()
    return boards


@asynccontextmanager
async def process_world(servers: Servers, options: Mapping[str, Any]) -> AsyncIterator[ProcessWorld]:
    """options: fields of `ServeOptions`, but for the times, which are `TIMINGS` in this world."""
    given = dict(options)
    count, profile = given.pop("nodes", 2), given.pop("board", "esp32-s3")
    server = servers.get(*SERVER_OPTIONS, *_words(given))
    _check_log(server)
    name = f"rules-{servers.number()}"
    async with HttpClient(Access(server.url)) as client:
        boards = servers.take(server, count, profile)
        if boards is None:
            await _remove_spare(servers)
            names = [f"{name}-{number}" for number in range(count)]
            boards = start_boards(server.url, servers.directory, names, "--board", profile, *BOARD_OPTIONS)
        world = ProcessWorld(client, name, boards)
        as_new = None
        try:
            await client.create(NAMESPACES, "", {"metadata": {"name": name}})
            await world.ready()
            as_new = await _pictures(world)
            yield world
        finally:
            servers.keep(server, profile, boards)
            await _clean(world)
            if not await _are_again(world, as_new):
                await _remove_spare(servers)
    _check_log(server)


def _check_log(server: Server) -> None:
    text = server.log.read_text()
    assert "Traceback" not in text, f"the server had an accident; its log:\n{text}"


def _words(options: Mapping[str, Any]) -> tuple[str, ...]:
    """Options of the command line for fields of `ServeOptions`."""
    times = [name for name in options if name.endswith(("_interval", "_timeout", "_seconds"))]
    assert times == [], "a test that runs everywhere takes the times of its world: world.timings"
    return tuple(word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", str(value)))


# so that nothing of a test is in the way of the next one


async def _clean(world: ProcessWorld) -> None:
    """The test's namespace is gone when this answers."""
    client, namespace = world.client, world.namespace
    await _delete(client, NAMESPACES, "", namespace)

    async def gone() -> bool:
        for pod in (await client.list(PODS, namespace)).items:  # there may be no board any more that would end it
            await _delete(client, PODS, namespace, pod["metadata"]["name"], gracePeriodSeconds=0)
        return namespace not in {one["metadata"]["name"] for one in (await client.list(NAMESPACES)).items}

    await world.until(gone, f"namespace {namespace} is gone", 0)
    left = [pod["metadata"]["name"] for pod in (await client.list(PODS)).items]
    assert left == [], "a test that runs everywhere works in world.namespace"


async def _pictures(world: ProcessWorld) -> list[JsonObject]:
    """Its nodes, without what changes by itself."""
    nodes = (await world.client.list(NODES)).items
    for node in nodes:
        node["metadata"] = {key: node["metadata"].get(key) for key in ("uid", "labels", "annotations")}
        node["status"] = {"allocatable": node["status"].get("allocatable"), "ready": is_ready(node)}
    return nodes


async def _are_again(world: ProcessWorld, as_new: list[JsonObject] | None) -> bool:
    """Whether the boards have run all the time, and are soon as they were before the test."""
    if world.touched or as_new is None:
        return False
    for _ in range(20):
        if await _pictures(world) == as_new:
            return True
        await world.wait(POLL_EVERY)
    return False


async def _remove_spare(servers: Servers) -> None:
    """The boards that still run end, and their nodes are gone."""
    server, boards = servers.spare()
    stop_boards(boards)
    if server is not None:
        async with HttpClient(Access(server.url)) as client:
            for name in boards:
                await _delete(client, NODES, "", name)


async def _delete(client: HttpClient, resource: Resource, namespace: str, name: str, **options: Any) -> None:
    try:
        await client.delete(resource, namespace, name, options=options)
    except ApiError as error:
        if error.code != 404:
            raise

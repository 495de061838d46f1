"""The real helm, each test with a home of its own."""

from __future__ import annotations

import json
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_OWN_END = re.compile(r"^I\d{4} .* reflector\.go:\d+\] .*: context canceled\\\"\) .*\n?", re.MULTILINE)


def remarks(stderr: str) -> str:
    """What helm has to say, without one thing that it says of itself: client-go 0.37 notes at times that a watch of its
    own ended because it had cancelled it (`context canceled` is the client's context; no server can cause it).
    """
    return _OWN_END.sub("", stderr)


@dataclass(frozen=True)
class Helm:
    """helm with a kubeconfig, a namespace and a home; call it with helm's arguments.  major: which helm it is."""

    binary: str
    major: int
    kubeconfig: Path
    home: Path
    namespace: str

    def __call__(self, *arguments: str) -> str:
        """stdout of a command that must succeed."""
        done = self.run(*arguments)
        assert done.returncode == 0, f"helm {' '.join(arguments)}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout

    def quietly(self, *arguments: str) -> str:
        """stdout of a command that must succeed and have nothing to remark."""
        done = self.run(*arguments)
        told = remarks(done.stderr)
        assert (done.returncode, told) == (0, ""), f"helm {' '.join(arguments)}\n{done.stdout}{done.stderr}"
        return done.stdout

    def fails(self, *arguments: str) -> str:
        """stderr of a command that must not succeed."""
        done = self.run(*arguments)
        assert done.returncode != 0, f"helm {' '.join(arguments)} succeeded:\n{done.stdout}"
        return done.stderr

    def json(self, *arguments: str) -> Any:
        return json.loads(self.quietly(*arguments, "-o", "json"))

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("KUBE", "HELM", "XDG"))}
        return subprocess.run(
            [self.binary, f"--kubeconfig={self.kubeconfig}", f"--namespace={self.namespace}", *arguments],
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env=kept | {"HOME": str(self.home)},
            cwd=self.home,
            timeout=60,
        )
